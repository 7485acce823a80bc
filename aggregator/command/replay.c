/* See replay.h. */
#include "aggregator/command/replay.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/command/catch_up.h"
#include "aggregator/command/filters.h"
#include "aggregator/command/when.h"
#include "aggregator/history/history_view.h"
#include "aggregator/stream/node_line.h"
#include "aggregator/stream/standard_output.h"
#include "aggregator/stream/stream.h"
#include "aggregator/stream/tick_line.h"
#include "synop/clock.h"
#include "synop/log.h"

#define WRITE_AT 65536

struct replay {
  struct stream_choice choice;
  struct json json;
  struct buffer out;
  struct replay_progress progress;
  int code; /* of writing */
};

/* ---- for the others that read a history too ---- */

const char *
replay_path (const struct options *options)
{
  const struct history_settings *settings = options_of_view (options, &history_view);

  return settings->path;
}

int
replay_interval (const struct options *options, const char *section, struct history_query *query, struct error *error)
{
  bool all = options->command == COMMAND_EXPORT && options->format == FORMAT_MSGPACK;
  int64_t now = clock_wall ();
  char from[CLOCK_TEXT_SIZE], to[CLOCK_TEXT_SIZE];
  struct error why;

  query->from_ns = all ? INT64_MIN : now - 3600 * NS_PER_S;
  query->to_ns = all ? INT64_MAX : now;
  if (*options->from && when_parse (options->from, now, &query->from_ns, &why) < 0)
    return config_error (options->config, section, "from", error, "%s", why.text);
  if (*options->to && when_parse (options->to, now, &query->to_ns, &why) < 0)
    return config_error (options->config, section, "to", error, "%s", why.text);
  if (query->from_ns < query->to_ns)
    return 0;
  clock_text (query->from_ns, from);
  clock_text (query->to_ns, to);
  return config_error (options->config, section, "from", error, "must be before --to, but they are %s and %s", from,
                       to);
}

int
replay_broken (const char *path, size_t broken)
{
  if (broken)
    log_error ("%s: %zu chunks or events are broken; \"synop-aggregator check\" tells more", path, broken);
  return broken ? 1 : 0;
}

/* ---- lines ---- */

/* 1: it cannot be written any more. */
static int
flush (struct replay *replay)
{
  struct pollfd reader = { .fd = STDOUT_FILENO };

  if (poll (&reader, 1, 0) > 0 && reader.revents & POLLERR) /* nobody reads it any more */
    return 1;
  replay->code = standard_output_text (&replay->out);
  buffer_clear (&replay->out);
  return replay->code;
}

static int
show (struct replay *replay, const struct stream_line *line)
{
  if (!stream_choice_wants (&replay->choice, line))
    return 0;
  json_clear (&replay->json);
  line->write (line->context, &replay->json,
               stream_choice_parts (&replay->choice, line) ? &replay->choice.groups : NULL);
  buffer_add (&replay->out, replay->json.out.data, replay->json.out.length);
  return replay->out.length >= WRITE_AT ? flush (replay) : 0;
}

static int
show_frame (void *context, const struct cluster_frame *frame)
{
  struct stream_line line = node_line (frame);

  return show (context, &line);
}

static int
show_tick (void *context, const struct cluster_tick_line *tick)
{
  struct stream_line line = tick_line (tick);

  return show (context, &line);
}

static int
show_event (void *context, const struct stored_event *event)
{
  struct replay *replay = context;

  if (!globs_match (&replay->choice.types, strcmp (event->type, JOB_LINE_TYPE) == 0 ? JOB_LINE_TYPE : "event"))
    return 0;
  buffer_add (&replay->out, event->line, event->length);
  return replay->out.length >= WRITE_AT ? flush (replay) : 0;
}

static void
show_progress (void *context, double part)
{
  struct replay *replay = context;

  replay_progress_tell (&replay->progress, part);
}

/* Only what is asked for is read. */
static struct history_sink
sink_of (struct replay *replay)
{
  const struct stream_choice *choice = &replay->choice;

  return (struct history_sink){
    .context = replay,
    .frame = globs_match (&choice->types, "node") ? show_frame : NULL,
    .tick = globs_match (&choice->types, "cluster") && !choice->nodes.count ? show_tick : NULL,
    .event = globs_match (&choice->types, "event") || globs_match (&choice->types, JOB_LINE_TYPE) ? show_event : NULL,
    .progress = show_progress,
  };
}

int
replay_run (const struct options *options)
{
  struct stream_filter filter = { options->node, options->group, options->type };
  struct replay replay = { 0 };
  struct history_query query = { .nodes = &replay.choice.nodes };
  struct history_file *file = NULL;
  struct history_sink sink;
  struct error error;
  size_t broken = 0;
  int result;

  if (replay_interval (options, "replay", &query, &error) < 0) {
    log_error ("%s", error.text);
    return 2;
  }
  stream_choice_init (&replay.choice, &filter);
  replay_progress_init (&replay.progress, "replay");
  sink = sink_of (&replay);
  catch_up (options, query.to_ns);
  file = history_file_open (replay_path (options), &error);
  if (file)
    filters_check_history (options, file, &query);
  result = file ? history_read (file, &query, &sink, &broken, &error) : -1;
  replay_progress_end (&replay.progress);
  if (result < 0)
    log_error ("%s", error.text);
  if (result <= 0 && replay.out.length)
    flush (&replay);
  history_file_close (file);
  stream_choice_free (&replay.choice);
  json_free (&replay.json);
  buffer_free (&replay.out);
  return result < 0 ? 1 : replay.code ? replay.code : replay_broken (replay_path (options), broken);
}
