/* What the main thread puts into a page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/page/page_private.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

/* A frame as it is read needs no head but its size, eight fields, and how many tables it has: one. */
static const char frame_head[] = { (char) 0x98, (char) 0x91 };

/* ---- nodes ---- */

/* Where the node is, or would be. */
static size_t
node_place (const struct page *page, const char *name, bool *found)
{
  size_t low = 0, high = page->node_count;

  *found = false;
  while (low < high && !*found) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp (name, page->nodes[middle]->state.name);
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

struct page_node *
page_find (struct page *page, const char *name)
{
  bool found;
  size_t place = node_place (page, name, &found);

  return found ? page->nodes[place] : NULL;
}

static struct page_node *
node_take (struct page *page, const char *name)
{
  bool found;
  size_t place = node_place (page, name, &found);
  struct page_node *node;

  if (found)
    return page->nodes[place];
  if (page->node_count == page->node_room) {
    page->node_room = page->node_room * 2 + 16;
    page->nodes = memory_resize (page->nodes, page->node_room, sizeof (struct page_node *));
  }
  node = memory_new (1, sizeof *node);
  node->users = 1;
  strncpy (node->state.name, name, FRAME_NODE_MAX);
  memmove (page->nodes + place + 1, page->nodes + place, (page->node_count - place) * sizeof (struct page_node *));
  page->nodes[place] = node;
  page->node_count++;
  return node;
}

static void
state_fill (struct page_state *state, const struct cluster *cluster, const struct node *node, int64_t monotonic_ns)
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
page_put_nodes (struct page *page, const struct cluster *cluster, int64_t monotonic_ns)
{
  size_t count = cluster_node_count (cluster), kept = 0;

  pthread_mutex_lock (&page->lock);
  page->epoch_ns = cluster_time (cluster, 0);
  for (size_t i = 0; i < count; i++) {
    const struct node *node = cluster_node (cluster, i);
    state_fill (&node_take (page, node->name)->state, cluster, node, monotonic_ns);
  }
  for (size_t i = 0; i < page->node_count; i++)
    if (page->node_count > count && !cluster_find (cluster, page->nodes[i]->state.name))
      page_node_leave (page, page->nodes[i]);
    else
      page->nodes[kept++] = page->nodes[i];
  page->node_count = kept;
  pthread_mutex_unlock (&page->lock);
}

/* ---- frames ---- */

static struct page_schema *
schema_take (struct page *page, const struct schema *schema)
{
  struct page_schema *found = page->schemas;
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
    found->next = page->schemas;
    page->schemas = found;
    page->schemas_size += naming_schema_size (schema);
  }
  found->users++;
  return found;
}

/* Who is being written still has the node as it was. */
static void
node_set_schema (struct page *page, struct page_node *node, const struct schema *schema)
{
  size_t count = node->schema ? node->schema->schema->group_count : 0;

  for (size_t i = 0; i < count; i++) {
    buffer_free (&node->groups[i].now.bytes);
    buffer_free (&node->groups[i].before.bytes);
  }
  free (node->groups);
  page_schema_leave (page, node->schema);
  node->schema = schema_take (page, schema);
  node->groups = memory_new (schema->group_count, sizeof node->groups[0]);
  node->time_ns = 0;
}

static void
group_put (struct page_group *group, const struct cluster_frame *frame, const struct report_group *pair)
{
  const struct table *table = pair->now;

  if (frame->late && frame->time_ns <= group->now.time_ns)
    return;
  if (pair->before && pair->before->sequence == group->now.sequence) {
    struct page_table other = group->before;
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
page_put_frame (struct page *page, const struct cluster_frame *frame)
{
  struct page_node *node;

  pthread_mutex_lock (&page->lock);
  node = node_take (page, frame->node->name);
  if (!node->schema || memcmp (node->schema->schema->hash, frame->schema->hash, SCHEMA_HASH_SIZE) != 0) {
    if (frame->late && node->schema)
      goto out; /* of an agent before */
    node_set_schema (page, node, frame->schema);
  }
  for (size_t i = 0; i < frame->schema->group_count; i++)
    if (frame->groups[i].now)
      group_put (&node->groups[i], frame, &frame->groups[i]);
  if (frame->time_ns > node->time_ns || !frame->late)
    node->time_ns = frame->time_ns;
out:
  pthread_mutex_unlock (&page->lock);
}

/* ---- combined reports ---- */

#define WANTED (600 * NS_PER_S) /* they are made so long after a page was asked for that has them */

const char *const page_stats[PAGE_STATS] = { "sum", "mean", "min", "max", "p50", "p95" };

static double
number_of (const struct value *value, double factor)
{
  return value->type == VALUE_MISSING ? (double) NAN : value_number (value) * factor;
}

/* Takes the name over. */
static struct page_combined_metric *
combined_new (struct page_combined *combined, const char *group, struct buffer *name)
{
  struct page_combined_metric *made;

  buffer_add (name, "", 1);
  if (combined->count == combined->room) {
    combined->room = combined->room * 2 + 256;
    combined->metrics = memory_resize (combined->metrics, combined->room, sizeof *combined->metrics);
  }
  made = &combined->metrics[combined->count++];
  made->group = memory_string (group);
  made->name = name->data;
  for (size_t i = 0; i < PAGE_STATS; i++)
    made->stats[i] = (double) NAN;
  return made;
}

static void
combined_add (void *context, const struct combine_group *group, const struct combine_metric *metric)
{
  bool share = (metric->flags & METRIC_SHARE) != 0, rate = metric->kind == COUNTER && !share;
  double period = (group->period_min + group->period_max) / 2, factor;
  struct page_combined_metric *made;
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
  return strcmp (((const struct page_combined_metric *) one)->name,
                 ((const struct page_combined_metric *) other)->name);
}

/* Two of one name, of sections that differ, would be one series twice: the first stays. */
static void
combined_unique (struct page_combined *combined)
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
page_put_tick (struct page *page, const struct cluster_tick_line *line)
{
  const struct tick_line *tick = line->tick;
  struct page_combined *combined = memory_new (1, sizeof *combined), *before;
  const struct combine_walk walk = { .context = combined, .metric = combined_add, .derived = combined_derived_add };
  int64_t wanted_ns;

  *combined = (struct page_combined){ .users = 1,
                                      .time_ns = tick->time_ns,
                                      .spread_ns = tick->spread_ns,
                                      .bound_ns = tick->bound_ns,
                                      .reporting = tick->reporting,
                                      .waited_for = tick->waited_for };
  pthread_mutex_lock (&page->lock);
  wanted_ns = page->wanted_ns;
  pthread_mutex_unlock (&page->lock);
  if (wanted_ns != 0 && tick->time_ns - wanted_ns < WANTED) {
    combine_walk (tick->combine, &walk);
    combined_unique (combined);
  }
  pthread_mutex_lock (&page->lock);
  before = page->combined;
  page->combined = combined;
  page_combined_leave (before);
  pthread_mutex_unlock (&page->lock);
}

/* ---- counters ---- */

void
page_begin_counters (struct page *page)
{
  page->filling.count = 0;
}

void
page_put_counter (struct page *page, const char *name, bool total, uint64_t value)
{
  if (page->filling.count < PAGE_COUNTERS_MAX)
    page->filling.list[page->filling.count++] = (struct page_counter){ name, total, value };
}

void
page_end_counters (struct page *page, int64_t uptime_ns)
{
  page->filling.uptime_ns = uptime_ns;
  pthread_mutex_lock (&page->lock);
  page->counters = page->filling;
  pthread_mutex_unlock (&page->lock);
}
