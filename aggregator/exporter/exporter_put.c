/* What the main thread puts into the exporter. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/exporter/exporter_private.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

/* A frame as it is read needs no head but its size, eight fields, and how many tables it has: one. */
static const char frame_head[] = { (char) 0x98, (char) 0x91 };

/* ---- nodes ---- */

/* Where the node is, or would be. */
static size_t
node_place (const struct exporter *exporter, const char *name, bool *found)
{
  size_t low = 0, high = exporter->node_count;

  *found = false;
  while (low < high && !*found) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp (name, exporter->nodes[middle]->state.name);
    if (order == 0) {
      *found = true;
      return middle;
    }
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

struct exporter_node *
exporter_find (struct exporter *exporter, const char *name)
{
  bool found;
  size_t place = node_place (exporter, name, &found);

  return found ? exporter->nodes[place] : NULL;
}

static struct exporter_node *
node_take (struct exporter *exporter, const char *name)
{
  bool found;
  size_t place = node_place (exporter, name, &found);
  struct exporter_node *node;

  if (found)
    return exporter->nodes[place];
  if (exporter->node_count == exporter->node_room) {
    exporter->node_room = exporter->node_room * 2 + 16;
    exporter->nodes = memory_resize (exporter->nodes, exporter->node_room, sizeof (struct exporter_node *));
  }
  node = memory_new (1, sizeof *node);
  node->users = 1;
  strncpy (node->state.name, name, FRAME_NODE_MAX);
  memmove (exporter->nodes + place + 1, exporter->nodes + place,
           (exporter->node_count - place) * sizeof (struct exporter_node *));
  exporter->nodes[place] = node;
  exporter->node_count++;
  return node;
}

static void
state_fill (struct exporter_state *state, const struct cluster *cluster, const struct node *node, int64_t monotonic_ns)
{
  const struct clock_model *model = &node->clock.model;

  state->state = node->state;
  state->received = node->received;
  state->lost = node->lost;
  state->missing = node->replay.missing.frames;
  state->rejected = node->rejected;
  state->seen_ns = node->state == NODE_NEVER ? 0 : cluster_time (cluster, node->seen_ns);
  state->offset_ns = node->clock.wall_offset_ns;
  state->clocked = clock_model_usable (model);
  if (state->clocked)
    state->bound_ns = clock_model_bound_ns (model, clock_model_node_ns (model, monotonic_ns));
  state->drift_known = model->frequency_known;
  state->drift = -model->frequency;
}

void
exporter_put_nodes (struct exporter *exporter, const struct cluster *cluster, int64_t monotonic_ns)
{
  size_t count = cluster_node_count (cluster), kept = 0;

  pthread_mutex_lock (&exporter->lock);
  exporter->epoch_ns = cluster_time (cluster, 0);
  for (size_t i = 0; i < count; i++) {
    const struct node *node = cluster_node (cluster, i);
    state_fill (&node_take (exporter, node->name)->state, cluster, node, monotonic_ns);
  }
  for (size_t i = 0; i < exporter->node_count; i++)
    if (exporter->node_count > count && !cluster_find (cluster, exporter->nodes[i]->state.name))
      exporter_node_leave (exporter, exporter->nodes[i]);
    else
      exporter->nodes[kept++] = exporter->nodes[i];
  exporter->node_count = kept;
  pthread_mutex_unlock (&exporter->lock);
}

/* ---- frames ---- */

static struct exporter_schema *
schema_take (struct exporter *exporter, const struct schema *schema)
{
  struct exporter_schema *found = exporter->schemas;
  struct error error;

  while (found && memcmp (found->schema->hash, schema->hash, SCHEMA_HASH_SIZE) != 0)
    found = found->next;
  if (!found) {
    found = memory_new (1, sizeof *found);
    found->schema = schema_read (schema->encoded.data, schema->encoded.length, &error);
    if (!found->schema) { /* it was read before */
      log_error ("a schema cannot be read again: %s", error.text);
      abort ();
    }
    found->next = exporter->schemas;
    exporter->schemas = found;
    exporter->schemas_size += naming_schema_size (schema);
  }
  found->users++;
  return found;
}

/* Who is being written still has the node as it was. */
static void
node_set_schema (struct exporter *exporter, struct exporter_node *node, const struct schema *schema)
{
  size_t count = node->schema ? node->schema->schema->group_count : 0;

  for (size_t i = 0; i < count; i++) {
    buffer_free (&node->groups[i].now.bytes);
    buffer_free (&node->groups[i].before.bytes);
  }
  free (node->groups);
  exporter_schema_leave (exporter, node->schema);
  node->schema = schema_take (exporter, schema);
  node->groups = memory_new (schema->group_count, sizeof node->groups[0]);
  node->time_ns = 0;
}

static void
group_put (struct exporter_group *group, const struct cluster_frame *frame, const struct report_group *pair)
{
  const struct table *table = pair->now;

  if (frame->late && frame->time_ns <= group->now.time_ns)
    return;
  if (pair->before && pair->before->sequence == group->now.sequence) {
    struct exporter_table other = group->before;
    group->before = group->now;
    group->now = other;
  }
  buffer_clear (&group->now.bytes);
  if (group->now.bytes.capacity < sizeof frame_head + table->length)
    buffer_reserve (&group->now.bytes, sizeof frame_head + table->length);
  memcpy (group->now.bytes.data, frame_head, sizeof frame_head);
  memcpy (group->now.bytes.data + sizeof frame_head, (const char *) frame->bytes + table->offset, table->length);
  group->now.bytes.length = sizeof frame_head + table->length;
  group->now.sequence = table->sequence;
  group->now.monotonic_ns = table->monotonic_ns;
  group->now.time_ns = frame->time_ns;
  group->version++;
}

void
exporter_put_frame (struct exporter *exporter, const struct cluster_frame *frame)
{
  struct exporter_node *node;

  pthread_mutex_lock (&exporter->lock);
  node = node_take (exporter, frame->node->name);
  if (!node->schema || memcmp (node->schema->schema->hash, frame->schema->hash, SCHEMA_HASH_SIZE) != 0) {
    if (frame->late && node->schema)
      goto out; /* of an agent before */
    node_set_schema (exporter, node, frame->schema);
  }
  for (size_t i = 0; i < frame->schema->group_count; i++)
    if (frame->groups[i].now)
      group_put (&node->groups[i], frame, &frame->groups[i]);
  if (frame->time_ns > node->time_ns || !frame->late)
    node->time_ns = frame->time_ns;
out:
  pthread_mutex_unlock (&exporter->lock);
}

/* ---- combined reports ---- */

#define WANTED (600 * NS_PER_S) /* they are made so long after a scrape that had them */

const char *const exporter_stats[EXPORTER_STATS] = { "sum", "mean", "min", "max", "p50", "p95" };

static double
number_of (const struct value *value, double factor)
{
  return value->type == VALUE_MISSING ? (double) NAN : value_number (value) * factor;
}

/* Takes the name over. */
static struct exporter_combined_metric *
combined_new (struct exporter_combined *combined, const char *group, struct buffer *name)
{
  struct exporter_combined_metric *made;

  buffer_add (name, "", 1);
  if (combined->count == combined->room) {
    combined->room = combined->room * 2 + 256;
    combined->metrics = memory_resize (combined->metrics, combined->room, sizeof *combined->metrics);
  }
  made = &combined->metrics[combined->count++];
  made->group = memory_string (group);
  made->name = name->data;
  for (size_t i = 0; i < EXPORTER_STATS; i++)
    made->stats[i] = (double) NAN;
  return made;
}

static void
combined_add (void *context, const struct combine_group *group, const struct combine_metric *metric)
{
  bool share = (metric->flags & METRIC_SHARE) != 0, rate = metric->kind == COUNTER && !share;
  double period = (group->period_min + group->period_max) / 2, factor;
  struct exporter_combined_metric *made;
  struct buffer name = { 0 };

  naming_rule_name (&name, "synop_cluster", group->name, metric->name, share ? GAUGE : metric->kind,
                    share ? UNIT_PERCENT : metric->unit, &factor);
  if (rate) {
    buffer_add_string (&name, "_per_second");
    factor = period > 0 ? factor / period : (double) NAN;
  }
  made = combined_new (context, group->name, &name);
  if (metric->fold == FOLD_SUM)
    made->stats[0] = number_of (&metric->sum, factor);
  made->stats[1] = metric->mean * factor;
  made->stats[2] = number_of (&metric->min.value, factor);
  made->stats[3] = number_of (&metric->max.value, factor);
  made->stats[4] = number_of (&metric->p50, factor);
  made->stats[5] = number_of (&metric->p95, factor);
}

/* Ratios alone: what is derived over the time is there already, as a counter's rate. */
static void
combined_derived_add (void *context, const struct combine_group *group, const struct combine_derived *derived)
{
  struct buffer name = { 0 };

  if (!derived->derived->over)
    return;
  buffer_printf (&name, "synop_cluster_%s_%s", group->name, derived->derived->name);
  combined_new (context, group->name, &name)->stats[1] = derived->value;
}

static int
combined_compare (const void *one, const void *other)
{
  return strcmp (((const struct exporter_combined_metric *) one)->name,
                 ((const struct exporter_combined_metric *) other)->name);
}

/* Two of one name, of sections that differ, would be one series twice: the first stays. */
static void
combined_unique (struct exporter_combined *combined)
{
  size_t kept = 0;

  if (combined->count > 1)
    qsort (combined->metrics, combined->count, sizeof *combined->metrics, combined_compare);
  for (size_t i = 0; i < combined->count; i++)
    if (kept > 0 && strcmp (combined->metrics[kept - 1].name, combined->metrics[i].name) == 0) {
      free (combined->metrics[i].group);
      free (combined->metrics[i].name);
    } else {
      combined->metrics[kept++] = combined->metrics[i];
    }
  combined->count = kept;
}

void
exporter_put_tick (struct exporter *exporter, const struct cluster_tick_line *line)
{
  const struct tick_line *tick = line->tick;
  struct exporter_combined *combined = memory_new (1, sizeof *combined), *before;
  const struct combine_walk walk = { .context = combined, .metric = combined_add, .derived = combined_derived_add };
  int64_t wanted_ns;

  *combined = (struct exporter_combined){ .users = 1,
                                          .time_ns = tick->time_ns,
                                          .spread_ns = tick->spread_ns,
                                          .bound_ns = tick->bound_ns,
                                          .reporting = tick->reporting,
                                          .waited_for = tick->waited_for };
  pthread_mutex_lock (&exporter->lock);
  wanted_ns = exporter->wanted_ns;
  pthread_mutex_unlock (&exporter->lock);
  if (wanted_ns != 0 && tick->time_ns - wanted_ns < WANTED) {
    combine_walk (tick->combine, &walk);
    combined_unique (combined);
  }
  pthread_mutex_lock (&exporter->lock);
  before = exporter->combined;
  exporter->combined = combined;
  exporter_combined_leave (before);
  pthread_mutex_unlock (&exporter->lock);
}

/* ---- counters ---- */

void
exporter_begin_counters (struct exporter *exporter)
{
  exporter->filling.count = 0;
}

void
exporter_put_counter (struct exporter *exporter, const char *name, bool total, uint64_t value)
{
  if (exporter->filling.count < EXPORTER_COUNTERS_MAX)
    exporter->filling.list[exporter->filling.count++] = (struct exporter_counter){ name, total, value };
}

void
exporter_end_counters (struct exporter *exporter, int64_t uptime_ns)
{
  exporter->filling.uptime_ns = uptime_ns;
  pthread_mutex_lock (&exporter->lock);
  exporter->counters = exporter->filling;
  pthread_mutex_unlock (&exporter->lock);
}
