/* See history_view.h. */
#include "aggregator/history/history_view.h"

#include <inttypes.h>

#include "aggregator/history/history_private.h"
#include "synop/log.h"

#define AT(member) .offset = offsetof (struct history_settings, member)

static int
check_filled (const char *value, struct error *error)
{
  return *value ? 0 : error_set (error, "must not be empty");
}

static const struct option options[] = {
  { "history", "enabled", "history-enabled", OPTION_BOOLEAN, AT (enabled), .fallback = "yes",
    .help = "Whether what comes is kept, to be shown again and to lose nothing in a restart." },
  { "history", "path", "history", OPTION_PATH, AT (path), .fallback = "/var/lib/synop/history.db",
    .check = check_filled, .help = "The history's file, a SQLite database." },
  { "history", "max_age", "history-max-age", OPTION_DURATION, AT (max_age_ns), .fallback = "30d", .minimum = "1m",
    .maximum = "3650d", .reload = OPTIONS_RELOADED, .help = "What is older is deleted." },
  { "history", "minutes_max_age", "", OPTION_DURATION, AT (minutes_max_age_ns), .fallback = "90d", .minimum = "1h",
    .maximum = "36500d", .reload = OPTIONS_RELOADED,
    .help = "The same of minutes: of each the count, sum, minimum and maximum of every metric." },
  { "history", "hours_max_age", "", OPTION_DURATION, AT (hours_max_age_ns), .fallback = "1826d", .minimum = "1d",
    .maximum = "36500d", .reload = OPTIONS_RELOADED, .help = "The same of hours." },
  { "history", "max_size", "history-max-size", OPTION_SIZE, AT (max_size), .fallback = "10G", .minimum = "1M",
    .maximum = "100000G", .reload = OPTIONS_RELOADED,
    .help = "Bytes that the history may take; over them the oldest of the node that has most is deleted." },
  { "history", "chunk_frames", "", OPTION_SIZE, AT (chunk_frames), .fallback = "64", .minimum = "1", .maximum = "4096",
    .help = "Frames of a node that are compressed and written together." },
  { "history", "chunk_time", "", OPTION_DURATION, AT (chunk_ns), .fallback = "60s", .minimum = "100ms", .maximum = "1h",
    .help = "They are written so long after the first of them came, at the latest." },
  { "history", "queue", "", OPTION_SIZE, AT (queue), .fallback = "256M", .minimum = "1M", .maximum = "64G",
    .help = "Bytes that may wait to be written; over them frames are not stored, which is an event." },
};

static const char *const counters[] = { "frames_stored",     "frames_not_stored", "chunks",       "frames_over_share",
                                        "chunks_over_share", "tiers_left_out",    "tiers_broken", NULL };

static int
open_history (const struct view_context *context, void **state, struct error *error)
{
  const struct history_settings *settings = context->options;
  struct history *history;

  (void) error; /* errors of the file become events */
  if (!settings->enabled)
    return 0;
  history = *state = history_create (&(struct history_options){ .path = settings->path,
                                                                .max_age_ns = settings->max_age_ns,
                                                                .minutes_max_age_ns = settings->minutes_max_age_ns,
                                                                .hours_max_age_ns = settings->hours_max_age_ns,
                                                                .max_size = settings->max_size,
                                                                .chunk_frames = (size_t) settings->chunk_frames,
                                                                .chunk_ns = settings->chunk_ns,
                                                                .queue_bytes = settings->queue });
  history->context = context;
  return 0;
}

static void
history_view_reload (void *state)
{
  struct history *history = state;
  const struct history_settings *settings = history->context->options;

  history_set_limits (history, &(struct history_options){ .max_age_ns = settings->max_age_ns,
                                                          .minutes_max_age_ns = settings->minutes_max_age_ns,
                                                          .hours_max_age_ns = settings->hours_max_age_ns,
                                                          .max_size = settings->max_size });
}

static void
keep_frame (void *history, const struct cluster_frame *frame)
{
  history_put_frame (history, frame);
}

static void
keep_tick (void *history, const struct cluster_tick_line *tick)
{
  history_put_tick (history, tick);
}

static void
keep_event (void *history, const struct event *event)
{
  history_put_event (history, event);
}

static void
keep_job_line (void *history, const struct job_line *line)
{
  history_put_job_line (history, line);
}

static void
keep_job_row (void *history, const struct job_row *row)
{
  history_put_job (history, row);
}

static void
report_event (void *state, const struct event *event)
{
  struct history *history = state;

  history_put_event (history, event);
  view_event (history->context, event);
}

static void
poll_history (void *history, struct instant now)
{
  history_poll (history, now.wall_ns, history, report_event);
}

static void
history_view_count (void *history, uint64_t *values)
{
  struct history_counts counts;

  history_count (history, &counts);
  values[0] = counts.frames_stored;
  values[1] = counts.frames_not_stored;
  values[2] = counts.chunks;
  values[3] = counts.frames_over_share;
  values[4] = counts.chunks_over_share;
  values[5] = counts.tiers_left_out;
  values[6] = counts.tiers_broken;
}

/* Writes the last data; logs whatever was printed and could not be stored. */
static int
close_history (void *state)
{
  struct history *history = state;
  struct history_rest rest = { 0 };

  history_finish (history, &rest);
  if (rest.failed)
    log_error ("%s; %" PRIu64 " frames and %" PRIu64
               " events that were printed are not stored; when it is started again "
               "it fetches the frames that the agents hold still",
               rest.problem.text, rest.frames, rest.events);
  else if (rest.frames)
    log_warning ("%s: %" PRIu64 " frames that were printed are missing in it: there was no room for them to wait",
                 history->path, rest.frames);
  history_destroy (history);
  return rest.failed ? -1 : 0;
}

const struct view history_view = {
  .name = "history",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct history_settings),
  .counters = counters,
  .open = open_history,
  .reload = history_view_reload,
  .frame = keep_frame,
  .tick = keep_tick,
  .event = keep_event,
  .job = keep_job_line,
  .job_row = keep_job_row,
  .poll = poll_history,
  .count = history_view_count,
  .close = close_history,
};
