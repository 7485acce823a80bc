/* Cluster time: the aggregator's own clock, and the models of the nodes' clocks.
 *
 * Cluster time runs with the aggregator's CLOCK_MONOTONIC and shows its wall clock: the difference between the two
 * is taken at the start and kept until somebody sets the wall clock. The models map a node's CLOCK_MONOTONIC to the
 * aggregator's, so setting a wall clock changes no mapping. */
#include <math.h>
#include <stdlib.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"

#define EPOCH_SLACK (10 * NS_PER_MS) /* the thread may be preempted between reading the two clocks */
#define EPOCH_LOOKS 2
#define WALL_STEP (50 * NS_PER_MS)        /* a wall clock that moved by more than slewing and this was set */
#define SLEW_PARTS 1000                   /* one in: how fast a clock may be slewed, twice what the kernel does */
#define CLOCK_EVENT_EVERY (10 * NS_PER_S) /* between two events about one node's clocks, however often they jump */
#define DELAY_SLACK (100 * NS_PER_MS) /* a frame that took longer than this and than usual casts doubt on the mapping */
#define DELAY_TIMES 8
#define BOUND_USABLE NS_PER_S     /* a mapping with a larger bound is not used */
#define SAME_BOOT (10 * NS_PER_S) /* a boot takes longer, and no wall clock that is kept right is off by this */

int64_t
cluster_time (const struct cluster *cluster, int64_t monotonic_ns)
{
  return monotonic_ns + cluster->epoch_ns;
}

bool
cluster_time_of_node (const struct cluster *cluster, const struct node *node, int64_t node_ns, int64_t *time_ns,
                      int64_t *bound_ns)
{
  const struct clock_model *model = &node->clock.model;

  if (!clock_model_usable (model) || clock_model_bound_ns (model, node_ns) >= BOUND_USABLE)
    return false;
  *time_ns = cluster_time (cluster, clock_model_cluster_ns (model, node_ns));
  *bound_ns = clock_model_bound_ns (model, node_ns);
  return true;
}

bool
cluster_node_time (const struct cluster *cluster, const struct node *node, int64_t time_ns, int64_t *node_ns)
{
  const struct clock_model *model = &node->clock.model;

  if (!clock_model_usable (model))
    return false;
  *node_ns = clock_model_node_ns (model, time_ns - cluster->epoch_ns);
  return clock_model_bound_ns (model, *node_ns) < BOUND_USABLE;
}

static void
report_step (struct cluster *cluster, const struct node *node, const char *clock, int64_t by_ns, int64_t wall_ns)
{
  cluster_event (cluster, &(struct event){ .type = EVENT_CLOCK_STEP,
                                           .wall_ns = wall_ns,
                                           .node = node ? node->name : NULL,
                                           .reason = clock,
                                           .seconds = (double) by_ns / NS_PER_S });
}

void
cluster_keep_epoch (struct cluster *cluster, struct instant now)
{
  int64_t epoch = now.wall_ns - now.monotonic_ns, by = epoch - cluster->epoch_ns;

  if (!cluster->epoch_known) {
    cluster->epoch_known = true;
    cluster->epoch_ns = epoch;
    return;
  }
  if (llabs (by) <= EPOCH_SLACK) {
    cluster->epoch_off = 0;
    return;
  }
  if (++cluster->epoch_off < EPOCH_LOOKS)
    return;
  cluster->epoch_off = 0;
  cluster->epoch_ns = epoch;
  report_step (cluster, NULL, "aggregator", by, now.wall_ns);
  ticks_restart (cluster->ticks, now.wall_ns);
  for (size_t i = 0; i < cluster->node_count; i++) {
    cluster->nodes[i]->clock.wall_offset_ns -= by; /* it was the aggregator's clock that moved */
    cluster_report_clock (cluster, cluster->nodes[i]);
  }
}

/* The times that a node sends may be anything: sums of them must not overflow. */
static int64_t
clamp (int64_t value)
{
  const int64_t most = INT64_MAX / 4;

  return value > most ? most : value < -most ? -most : value;
}

/* ---- the node's CLOCK_MONOTONIC ---- */

void
cluster_report_clock (struct cluster *cluster, const struct node *node)
{
  const struct clock_model *model = &node->clock.model;
  struct control_clock clock = { .soon = node->clock.soon };

  if (!cluster->options.output.clock)
    return;
  if (clock_model_usable (model)) {
    clock.node_ns = model->reference_ns;
    clock.cluster_ns = cluster_time (cluster, clock_model_cluster_ns (model, model->reference_ns));
    clock.bound_ns = clock_model_bound_ns (model, model->reference_ns);
    clock.drift = model->frequency;
  }
  cluster->options.output.clock (cluster->options.output.context, node->name,
                                 node->sessions[0].routing_length ? node->sessions[0].id : 0,
                                 clock_model_usable (model) ? &clock : NULL);
}

void
cluster_clock_begin (struct cluster *cluster, struct node *node)
{
  clock_model_init (&node->clock.model);
  node->clock.probed_ns = 0;
  node->clock.soon = false;
  node->clock.wall_at_ns = 0;
  cluster_report_clock (cluster, node);
}

/* Whether an event of this kind may be reported now; if so, it counts as reported. */
static bool
may_report (int64_t *reported_ns, int64_t now_ns)
{
  if (*reported_ns && now_ns - *reported_ns < CLOCK_EVENT_EVERY)
    return false;
  *reported_ns = now_ns;
  return true;
}

void
cluster_take_probe (struct cluster *cluster, struct node *node, const struct control *probe, struct instant received)
{
  struct clock_model *model = &node->clock.model;
  bool known = clock_model_usable (model);
  int64_t before;
  enum clock_verdict verdict;

  if (probe->session != node->sessions[0].id)
    return;
  node->clock.probed_ns = received.monotonic_ns;
  if (!probe->has_last)
    return;
  before = known ? clock_model_cluster_ns (model, clamp (probe->last[3])) : 0;
  verdict = clock_model_add (
      model,
      &(struct clock_probe){ .t1 = probe->last[0], .t2 = probe->last[1], .t3 = probe->last[2], .t4 = probe->last[3] });
  if (verdict == CLOCK_REFUSED)
    return;
  node->clock.soon = verdict != CLOCK_FITS;
  if (verdict == CLOCK_STEPPED) {
    node->clock.wall_at_ns = 0; /* it was measured with the old mapping */
    if (known && may_report (&node->clock.step_reported_ns, received.monotonic_ns))
      report_step (cluster, node, "monotonic", before - clock_model_cluster_ns (model, probe->last[3]),
                   received.wall_ns);
  }
  cluster_report_clock (cluster, node);
}

/* ---- frames, and the node's wall clock ---- */

/* A step is reported as a step, not as an offset too. */
static void
watch_wall_clock (struct cluster *cluster, struct node *node, const struct cluster_frame *frame)
{
  struct node_clock *clock = &node->clock;
  int64_t offset = frame->wall_offset_ns, node_ns = frame->header->monotonic_ns;
  int64_t by = offset - clock->wall_offset_ns, since = llabs (node_ns - clock->wall_at_ns);
  bool stepped = clock->wall_at_ns && llabs (by) > WALL_STEP + since / SLEW_PARTS + frame->bound_ns;
  bool off = llabs (offset) - frame->bound_ns > cluster->options.clock_limit_ns;

  if (stepped) {
    if (may_report (&clock->step_reported_ns, frame->received.monotonic_ns))
      report_step (cluster, node, "wall", by, frame->received.wall_ns);
  } else if (off && !clock->off && may_report (&clock->offset_reported_ns, frame->received.monotonic_ns)) {
    cluster_event (cluster, &(struct event){ .type = EVENT_CLOCK_OFFSET,
                                             .wall_ns = frame->received.wall_ns,
                                             .node = node->name,
                                             .seconds = (double) offset / NS_PER_S });
  }
  /* Hysteresis: off until it is within half of the limit, so that a clock near the limit makes no flood of events. */
  clock->off = off || (clock->off && llabs (offset) > cluster->options.clock_limit_ns / 2);
  clock->wall_at_ns = node_ns;
}

/* Checks the mapping by the receipt of the frame, which was sampled before. A mapping by which it was sampled later
 * is wrong, whatever its bound: the clock stepped, or is slewed faster than oscillators drift. A mapping by which
 * the frame took far longer than this node's frames do may be wrong, but mostly the frame was delayed, so the
 * mapping stays. Both ask for probes soon. */
static bool
hold_against_receipt (struct cluster *cluster, struct node *node, struct cluster_frame *frame)
{
  struct node_clock *clock = &node->clock;
  int64_t delay = cluster_time (cluster, frame->received.monotonic_ns) - frame->time_ns;
  bool early = delay < -frame->bound_ns;
  bool long_ago = delay > frame->bound_ns + DELAY_SLACK + DELAY_TIMES * clock->delay_ns;

  if (!early && !long_ago) {
    int64_t usual = delay > 0 ? delay : 0;
    clock->delay_ns += (usual - clock->delay_ns) / 8;
    return true;
  }
  if (!clock->soon) {
    clock->soon = true;
    cluster_report_clock (cluster, node);
  }
  return !early;
}

/* Maps the frame's time, if the model is of the frame's clock and good enough. Bound, drift and age are those of
 * now. */
static bool
map_frame (const struct cluster *cluster, const struct node *node, bool same_clock, struct cluster_frame *frame)
{
  const struct clock_model *model = &node->clock.model;
  int64_t node_ns = clamp (frame->header->monotonic_ns);
  bool timed = same_clock && clock_model_usable (model) && clock_model_bound_ns (model, node_ns) < BOUND_USABLE;

  frame->drift_ppb = model->frequency_known ? llround (-model->frequency * 1e9) : INT64_MIN;
  frame->probe_age_ms = node->clock.probed_ns
                            ? llround ((double) (frame->received.monotonic_ns - node->clock.probed_ns) / NS_PER_MS)
                            : -1;
  frame->bound_ns = timed ? clock_model_bound_ns (model, node_ns) : -1;
  if (timed)
    frame->time_ns = cluster_time (cluster, clock_model_cluster_ns (model, node_ns));
  return timed;
}

void
cluster_place_frame (struct cluster *cluster, struct node *node, struct cluster_frame *frame)
{
  bool timed = map_frame (cluster, node, true, frame);

  if (timed && !hold_against_receipt (cluster, node, frame)) {
    timed = false;
    frame->bound_ns = -1;
  }
  if (!timed)
    frame->time_ns = cluster_time (cluster, frame->received.monotonic_ns);
  frame->wall_offset_ns = clamp (frame->header->wall_ns) - frame->time_ns;
  if (timed)
    watch_wall_clock (cluster, node, frame);
  else
    node->clock.wall_at_ns = 0; /* the receipt may be any time late: no reference for the next frame */
  node->clock.wall_offset_ns = frame->wall_offset_ns;
  node->sampled_ns = clamp (frame->header->monotonic_ns);
  node->clock.boot_ns = clamp (frame->header->wall_ns) - clamp (frame->header->monotonic_ns);
}

void
cluster_place_late (const struct cluster *cluster, const struct node *node, struct cluster_frame *frame)
{
  int64_t wall_ns = clamp (frame->header->wall_ns), boot_ns = wall_ns - clamp (frame->header->monotonic_ns);
  bool same_clock = frame->header->session == node->sessions[0].id ||
                    (node->clock.boot_ns && llabs (boot_ns - node->clock.boot_ns) < SAME_BOOT);

  if (!map_frame (cluster, node, same_clock, frame))
    frame->time_ns = wall_ns - node->clock.wall_offset_ns;
  frame->wall_offset_ns = wall_ns - frame->time_ns;
}

/* ---- ticks ---- */

void
cluster_close_ticks (struct cluster *cluster, struct instant now)
{
  ticks_advance (cluster->ticks, cluster_time (cluster, now.monotonic_ns));
}

int64_t
cluster_next_tick (const struct cluster *cluster)
{
  int64_t next = ticks_next_ns (cluster->ticks);

  return next == INT64_MAX ? next : next - cluster->epoch_ns;
}
