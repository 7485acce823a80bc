/* Families that come of no table: the nodes' states, combined reports, the aggregator's counters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/exporter/exporter_private.h"
#include "synop/clock.h"
#include "synop/version.h"

static void
sample (struct exporter_families *at, struct buffer *out, const struct metric_family *family, const char *label,
        const char *value, double number)
{
  const struct exposition_label labels[] = { { label, value } };

  exposition_sample (out, at->format, family, labels, label ? 1 : 0, number, 0);
}

/* ---- nodes ---- */

static double
seconds (int64_t ns)
{
  return (double) ns / NS_PER_S;
}

static double
node_up (const struct exporter_state *state)
{
  return state->state == NODE_UP;
}

static double
node_seen (const struct exporter_state *state)
{
  return state->seen_ns == 0 ? (double) NAN : seconds (state->seen_ns);
}

static double
node_offset (const struct exporter_state *state)
{
  return state->clocked ? seconds (state->offset_ns) : (double) NAN;
}

static double
node_bound (const struct exporter_state *state)
{
  return state->clocked ? seconds (state->bound_ns) : (double) NAN;
}

static double
node_drift (const struct exporter_state *state)
{
  return state->drift_known ? state->drift : (double) NAN;
}

static double
node_received (const struct exporter_state *state)
{
  return (double) state->received;
}

static double
node_lost (const struct exporter_state *state)
{
  return (double) state->lost;
}

static double
node_missing (const struct exporter_state *state)
{
  return (double) state->missing;
}

static double
node_rejected (const struct exporter_state *state)
{
  return (double) state->rejected;
}

/* NaN: a node has none. */
static const struct node_family {
  struct metric_family family;
  double (*value) (const struct exporter_state *state); /* NULL: a series for each state */
} node_families[] = {
  { { "synop_node_up", "1 while frames of the node come, else 0.", FAMILY_GAUGE }, node_up },
  { { "synop_node_state", "1 for the state that the node is in.", FAMILY_GAUGE }, NULL },
  { { "synop_node_last_seen_timestamp_seconds", "When the node's last frame came, in cluster time.", FAMILY_GAUGE },
    node_seen },
  { { "synop_node_clock_offset_seconds", "By which the node's wall clock is ahead of cluster time.", FAMILY_GAUGE },
    node_offset },
  { { "synop_node_clock_bound_seconds", "How far off the node's time may be at most.", FAMILY_GAUGE }, node_bound },
  { { "synop_node_clock_drift_ratio", "How much faster the node's clock runs.", FAMILY_GAUGE }, node_drift },
  { { "synop_node_frames_total", "Frames of the node that came.", FAMILY_COUNTER }, node_received },
  { { "synop_node_frames_lost_total", "Frames of the node that never came, and that nobody has.", FAMILY_COUNTER },
    node_lost },
  { { "synop_node_frames_missing", "Frames of the node that are being asked for again.", FAMILY_GAUGE }, node_missing },
  { { "synop_node_messages_rejected_total", "Messages of the node that were refused.", FAMILY_COUNTER },
    node_rejected },
};
#define NODE_FAMILIES (sizeof node_families / sizeof node_families[0])

static void
node_samples (struct exporter_families *at, struct buffer *out, const struct node_family *family,
              const struct exporter_state *state)
{
  double number;

  if (family->value) {
    number = family->value (state);
    if (!isnan (number))
      sample (at, out, &family->family, "node", state->name, number);
    return;
  }
  for (enum node_state one = 0; one < NODE_STATES; one++) {
    const struct exposition_label labels[] = { { "node", state->name }, { "state", node_state_name (one) } };
    exposition_sample (out, at->format, &family->family, labels, 2, state->state == one, 0);
  }
}

static bool
nodes_next (struct exporter_families *at, struct buffer *out, size_t limit)
{
  for (; at->family < NODE_FAMILIES && at->state_count > 0; at->family++, at->item = 0) {
    for (; at->item < at->state_count; at->item++) {
      if (out->length >= limit)
        return true;
      if (at->item == 0)
        exposition_family (out, at->format, &node_families[at->family].family);
      node_samples (at, out, &node_families[at->family], &at->states[at->item]);
    }
  }
  return false;
}

/* ---- combined reports ---- */

static bool
combined_next (struct exporter_families *at, struct buffer *out, size_t limit)
{
  for (; at->combined && at->item < at->combined->count; at->item++) {
    const struct exporter_combined_metric *metric = &at->combined->metrics[at->item];
    const struct metric_family family = { metric->name, "Over all nodes, in the last combined report.", FAMILY_GAUGE };

    if (out->length >= limit)
      return true;
    if (at->only && !at->only (at->context, metric->group))
      continue;
    exposition_family (out, at->format, &family);
    for (size_t i = 0; i < EXPORTER_STATS; i++)
      if (!isnan (metric->stats[i]))
        sample (at, out, &family, "stat", exporter_stats[i], metric->stats[i]);
  }
  return false;
}

/* ---- the aggregator ---- */

static void
gauge (struct exporter_families *at, struct buffer *out, const char *name, const char *help, double number)
{
  const struct metric_family family = { name, help, FAMILY_GAUGE };

  exposition_family (out, at->format, &family);
  sample (at, out, &family, NULL, NULL, number);
}

static void
tick_samples (struct exporter_families *at, struct buffer *out)
{
  const struct exporter_combined *tick = at->combined;

  if (!tick)
    return;
  gauge (at, out, "synop_aggregator_tick_timestamp_seconds", "The last tick, in cluster time.",
         seconds (tick->time_ns));
  gauge (at, out, "synop_aggregator_tick_spread_seconds",
         "Between the first and the last instant at which nodes sampled for the last tick.", seconds (tick->spread_ns));
  if (tick->bound_ns >= 0)
    gauge (at, out, "synop_aggregator_tick_bound_seconds",
           "How far off the time of a node of the last tick may be at most.", seconds (tick->bound_ns));
  gauge (at, out, "synop_aggregator_tick_nodes_reporting", "Nodes that are in the last combined report.",
         (double) tick->reporting);
  gauge (at, out, "synop_aggregator_tick_nodes_late", "Nodes that the last combined report waited for in vain.",
         (double) tick->waited_for);
}

static void
counter_sample (struct exporter_families *at, struct buffer *out, const struct exporter_counter *counter)
{
  char name[128], help[160];
  const struct metric_family family = { name, help, counter->total ? FAMILY_COUNTER : FAMILY_GAUGE };

  snprintf (name, sizeof name, "synop_aggregator_%s%s", counter->name, counter->total ? "_total" : "");
  snprintf (help, sizeof help, "Counter %s of the aggregator's status.", counter->name);
  exposition_family (out, at->format, &family);
  sample (at, out, &family, NULL, NULL, (double) counter->value);
}

static void
aggregator_samples (struct exporter_families *at, struct buffer *out)
{
  static const struct metric_family info = { "synop_aggregator_info", "The aggregator's version.", FAMILY_INFO };

  if (!at->counters)
    return;
  exposition_family (out, at->format, &info);
  sample (at, out, &info, "version", SYNOP_VERSION, 1);
  gauge (at, out, "synop_aggregator_uptime_seconds", "How long the aggregator has run.",
         seconds (at->counters->uptime_ns));
  tick_samples (at, out);
  for (size_t i = 0; i < at->counters->count; i++)
    counter_sample (at, out, &at->counters->list[i]);
}

bool
exporter_families_next (struct exporter_families *at, struct buffer *out, size_t limit)
{
  enum { NODES, COMBINED, AGGREGATOR, END };

  if (at->part == NODES) {
    if (nodes_next (at, out, limit))
      return true;
    at->part = COMBINED;
    at->item = 0;
  }
  if (at->part == COMBINED) {
    if (combined_next (at, out, limit))
      return true;
    at->part = AGGREGATOR;
  }
  if (at->part == AGGREGATOR)
    aggregator_samples (at, out);
  at->part = END;
  return false;
}
