/* See now_view.h. */
#include "aggregator/now/now_view.h"

#include "aggregator/core/node.h"

static int
open_now (const struct view_context *context, void **state, struct error *error)
{
  (void) error;
  *state = now_create (context->cluster);
  return 0;
}

static int
close_now (void *now)
{
  now_destroy (now);
  return 0;
}

/* A frame that is not the node's last changes no value of now. */
static void
frame_now (void *now, const struct cluster_frame *frame)
{
  if (frame->header->sequence == frame->node->sessions[0].sequence)
    now_frame (now, frame->node);
}

static void
tick_now (void *now, const struct cluster_tick_line *line)
{
  now_tick (now, line->tick->time_ns, line->tick->period_ns);
}

static void
poll_now (void *now, struct instant instant)
{
  now_poll (now, instant);
}

static void
flush_now (void *now)
{
  now_flush (now);
}

static const char *const counters[] = { "watch_readers", "watch_metrics", "watch_lines_skipped", NULL };

static void
count_now (void *state, uint64_t *values)
{
  struct now_counts counts = now_count (state);

  values[0] = counts.readers;
  values[1] = counts.metrics;
  values[2] = counts.skipped;
}

const struct view now_view = {
  .name = "now",
  .counters = counters,
  .levels = 3, /* watch_readers, watch_metrics */
  .open = open_now,
  .frame = frame_now,
  .tick = tick_now,
  .poll = poll_now,
  .flush = flush_now,
  .count = count_now,
  .close = close_now,
};
