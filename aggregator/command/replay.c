/* See commands.h. */
#include "aggregator/command/commands.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/history/history_view.h"
#include "aggregator/query/when.h"
#include "aggregator/stream/stream_view.h"
#include "synop/clock.h"
#include "synop/log.h"

/* ---- shared with other commands that read a history ---- */

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

void
command_interval (struct reach_question *question, const struct history_query *query)
{
  char text[CLOCK_TEXT_SIZE];

  clock_text (query->from_ns, text);
  reach_parameter (question, "from", text);
  clock_text (query->to_ns, text);
  reach_parameter (question, "to", text);
}

int
replay_broken (const char *path, const char *what, size_t broken)
{
  if (broken)
    log_error ("%s: %zu %s are broken; \"synop-aggregator check\" lists them", path, broken, what);
  return broken ? 1 : 0;
}

/* ---- lines ---- */

/* The stream has one reader here, standard output, which may be slow. */
struct replay {
  struct outlet *outlet;
  bool ended;
  int code; /* of writing */
};

static void
write_lines (void *context)
{
  struct replay *replay = context;
  struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
  int result;

  while (!replay->ended && (result = outlet_flush (replay->outlet)) != 0) {
    replay->ended = result < 0;
    if (result > 0)
      poll (&output, 1, -1);
    else if (result != -EPIPE)
      log_error ("standard output: %s", strerror (-result));
    replay->code = result < 0 && result != -EPIPE;
  }
}

/* The stream's view, without kinds of lines that the filter excludes: those are not read either. */
static struct view
view_of (const struct stream_choice *choice)
{
  struct view view = stream_view;

  if (!globs_match (&choice->types, "node"))
    view.frame = NULL;
  if (!globs_match (&choice->types, "cluster") || choice->nodes.count)
    view.tick = NULL;
  if (!globs_match (&choice->types, "event"))
    view.event = NULL;
  if (!globs_match (&choice->types, JOB_LINE_TYPE))
    view.job = NULL;
  return view;
}

static int
show_history (const struct options *options, struct history_file *file, struct history_query *query, size_t *broken,
              struct error *error)
{
  struct stream_filter filter = { options->node, options->group, options->type };
  struct replay replay = { 0 };
  struct replay_progress progress;
  struct stream *stream = stream_create ();
  struct stream_choice choice;
  struct stream_reader *reader;
  uint64_t dropped = 0;
  struct view view;
  int result;

  stream_choice_init (&choice, &filter);
  query->nodes = &choice.nodes;
  filters_check_history (options, file, query);
  view = view_of (&choice);
  replay.outlet = outlet_create (STDOUT_FILENO, OUTLET_OPEN, SIZE_MAX, &dropped);
  reader = stream_attach (stream, &filter, &viewer_all, replay.outlet, write_lines, &replay);
  replay_progress_init (&progress, "replay");
  result = history_read (file, query, &(struct history_into){ &view, stream, &replay.ended, &progress }, broken, error);
  replay_progress_end (&progress);
  stream_detach (reader);
  outlet_destroy (replay.outlet);
  stream_destroy (stream);
  stream_choice_free (&choice);
  return result < 0 ? result : replay.code;
}

static int
replay_near (const struct options *options, struct history_query *query)
{
  struct history_file *file;
  struct error error;
  size_t broken = 0;
  int result;

  catch_up (options, query->to_ns);
  file = history_file_open (replay_path (options), &error);
  result = file ? show_history (options, file, query, &broken, &error) : -1;
  history_file_close (file);
  if (result < 0)
    log_error ("%s", error.text);
  return result ? 1 : replay_broken (replay_path (options), "chunks or events", broken);
}

static int
replay_far (const struct options *options, const struct reach *reach, const struct history_query *query)
{
  struct reach_question question = { 0 };
  int code;

  reach_path (&question, "lines");
  command_interval (&question, query);
  reach_parameter (&question, "node", options->node);
  reach_parameter (&question, "group", options->group);
  reach_parameter (&question, "type", options->type);
  reach_parameter (&question, "format", "lines");
  code = reach_print (reach, &question);
  reach_question_free (&question);
  return code;
}

int
replay_run (const struct options *options)
{
  struct history_query query = { 0 };
  struct reach reach;
  struct error error;
  int code;

  if (replay_interval (options, "replay", &query, &error) < 0) {
    log_error ("%s", error.text);
    return 2;
  }
  reach_init (&reach, options);
  code = reach_is_far (&reach, replay_path (options)) ? replay_far (options, &reach, &query)
                                                      : replay_near (options, &query);
  reach_free (&reach);
  return code;
}
