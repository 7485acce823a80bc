/* Adding up a tick. A map from schema to metrics is made once for each schema and tick: each value of a frame then
 * costs an array access. Names are copied, since a node and its schema may go while a tick is open. */
#include "aggregator/core/combine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "aggregator/core/combine_private.h"
#include "synop/memory.h"

struct combine *
combine_create (void)
{
  struct combine *combine = memory_new (1, sizeof *combine);

  crypto_shorthash_keygen (combine->key);
  return combine;
}

static void
rows_free (struct combined_rows *rows)
{
  if (!rows)
    return;
  buffer_free (&rows->min.label);
  buffer_free (&rows->max.label);
  free (rows);
}

void
combine_clear (struct combine *combine)
{
  for (size_t i = 0; i < combine->metric_count; i++) {
    free (combine->metrics[i].values);
    rows_free (combine->metrics[i].rows);
  }
  for (size_t i = 0; i < combine->map_count; i++)
    free (combine->maps[i].metrics);
  for (size_t i = 0; i < combine->text_count; i++)
    free (combine->texts[i]);
  combine->metric_count = combine->group_count = combine->map_count = combine->text_count = 0;
  combine->left_out = 0;
  if (combine->slot_count > 0)
    memset (combine->slots, 0, combine->slot_count * sizeof *combine->slots);
}

void
combine_destroy (struct combine *combine)
{
  if (!combine)
    return;
  combine_clear (combine);
  free (combine->metrics);
  free (combine->groups);
  free (combine->maps);
  free (combine->texts);
  free (combine->slots);
  free (combine->scratch);
  free (combine->ranges);
  free (combine);
}

static const char *
text_keep (struct combine *combine, const char *text)
{
  if (combine->text_count == combine->text_capacity) {
    combine->text_capacity = combine->text_capacity * 2 + 64;
    combine->texts = memory_resize (combine->texts, combine->text_capacity, sizeof *combine->texts);
  }
  return combine->texts[combine->text_count++] = memory_string (text);
}

static uint32_t
group_find (struct combine *combine, const struct group *group)
{
  for (size_t i = 0; i < combine->group_count; i++) {
    const struct combined_group *have = &combine->groups[i];
    if (strcmp (have->name, group->name) == 0 && strcmp (have->section, group->section) == 0 &&
        strcmp (have->fold_name, group->fold_name) == 0)
      return (uint32_t) i;
  }
  if (combine->group_count == combine->group_capacity) {
    combine->group_capacity = combine->group_capacity * 2 + 16;
    combine->groups = memory_resize (combine->groups, combine->group_capacity, sizeof *combine->groups);
  }
  struct combined_group *made = &combine->groups[combine->group_count];
  *made = (struct combined_group){ .name = text_keep (combine, group->name),
                                   .section = text_keep (combine, group->section),
                                   .fold_name = text_keep (combine, group->fold_name),
                                   .first_metric = COMBINE_NONE };
  return (uint32_t) combine->group_count++;
}

static bool
metric_is (const struct combined_metric *have, uint32_t group, const struct metric *metric)
{
  return have->group == group && have->kind == metric->kind && have->unit == metric->unit &&
         have->fold == metric->fold && have->flags == (metric->flags & COMBINE_FLAGS) &&
         strcmp (have->name, metric->name) == 0;
}

/* Keyed, so that nobody can choose names that collide. */
static size_t
metric_hash (const struct combine *combine, uint32_t group, const struct metric *metric)
{
  uint64_t hash;

  crypto_shorthash ((unsigned char *) &hash, (const unsigned char *) metric->name, strlen (metric->name), combine->key);
  return (size_t) (hash ^ group * UINT64_C (0x9e3779b97f4a7c15));
}

/* The slots hold indices + 1 into metrics; at most half of them are taken. */
static void
slots_grow (struct combine *combine)
{
  size_t count = combine->slot_count ? combine->slot_count * 2 : 1024;
  uint32_t *slots = memory_new (count, sizeof *slots);
  for (size_t i = 0; i < combine->metric_count; i++) {
    size_t at = combine->metrics[i].hash & (count - 1);
    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = (uint32_t) i + 1;
  }
  free (combine->slots);
  combine->slots = slots;
  combine->slot_count = count;
}

/* A new definition counts against the quota. */
static uint32_t
metric_find (struct combine *combine, uint32_t group, const struct metric *metric, size_t *quota)
{
  if (combine->metric_count * 2 >= combine->slot_count)
    slots_grow (combine);
  size_t hash = metric_hash (combine, group, metric), at = hash & (combine->slot_count - 1);
  for (; combine->slots[at]; at = (at + 1) & (combine->slot_count - 1))
    if (metric_is (&combine->metrics[combine->slots[at] - 1], group, metric))
      return combine->slots[at] - 1;
  if (combine->metric_count == COMBINE_METRICS_MAX || *quota == 0)
    return COMBINE_NONE;
  --*quota;
  if (combine->metric_count == combine->metric_capacity) {
    combine->metric_capacity = combine->metric_capacity * 2 + 256;
    combine->metrics = memory_resize (combine->metrics, combine->metric_capacity, sizeof *combine->metrics);
  }
  uint32_t index = (uint32_t) combine->metric_count++;
  struct combined_metric *made = &combine->metrics[index];
  *made = (struct combined_metric){ .name = text_keep (combine, metric->name),
                                    .hash = hash,
                                    .group = group,
                                    .kind = metric->kind,
                                    .unit = metric->unit,
                                    .fold = metric->fold,
                                    .flags = metric->flags & COMBINE_FLAGS,
                                    .next = COMBINE_NONE,
                                    .whole = true };
  combine->slots[at] = index + 1;
  struct combined_group *owner = &combine->groups[group];
  if (owner->first_metric == COMBINE_NONE)
    owner->first_metric = index;
  else
    combine->metrics[owner->last_metric].next = index;
  owner->last_metric = index;
  return index;
}

/* Is it a number that is combined over nodes? */
static bool
metric_counts (const struct metric *metric)
{
  return metric->kind != TEXT && metric->fold != FOLD_NONE;
}

/* A metric with a name that the report itself uses is left out. */
static uint32_t
metric_place (struct combine *combine, uint32_t index, const struct group *group, const struct metric *metric,
              size_t *quota)
{
  if (!metric_counts (metric))
    return COMBINE_NOTHING;
  if (combine_key_is_taken (metric->flags & METRIC_OF_NODE ? metric->name : group->fold_name))
    return COMBINE_NONE;
  return metric_find (combine, index, metric, quota);
}

/* Where each group and metric of a schema goes in this tick. Group i's metrics begin at map->first[i]. */
static const struct combine_map *
map_find (struct combine *combine, const struct schema *schema)
{
  for (size_t i = combine->map_count; i-- > 0;)
    if (memcmp (combine->maps[i].hash, schema->hash, SCHEMA_HASH_SIZE) == 0)
      return &combine->maps[i];
  if (combine->map_count == combine->map_capacity) {
    combine->map_capacity = combine->map_capacity * 2 + 4;
    combine->maps = memory_resize (combine->maps, combine->map_capacity, sizeof *combine->maps);
  }
  size_t total = schema->group_count, quota = COMBINE_NODE_METRICS_MAX;
  for (size_t g = 0; g < schema->group_count; g++)
    total += schema->groups[g]->metric_count;
  struct combine_map *map = &combine->maps[combine->map_count++];
  memcpy (map->hash, schema->hash, SCHEMA_HASH_SIZE);
  map->metrics = memory_new (total, sizeof *map->metrics);
  size_t at = 0;
  for (size_t g = 0; g < schema->group_count; g++) {
    const struct group *group = schema->groups[g];
    uint32_t index = group_find (combine, group);
    map->metrics[at++] = index;
    for (size_t m = 0; m < group->metric_count; m++)
      map->metrics[at++] = metric_place (combine, index, group, &group->metrics[m], &quota);
  }
  return map;
}

/* The list is made when the first value differs from those before. */
static void
value_keep (struct combined_metric *metric, const struct value *value)
{
  bool same = metric->count == 0 || (metric->min.type == value->type && metric->min.as.u == value->as.u);
  if (!metric->values && same)
    return;
  if (metric->count >= metric->value_capacity) {
    bool first = !metric->values;
    metric->value_capacity = metric->count * 2 + 8;
    metric->values = memory_resize (metric->values, metric->value_capacity, sizeof *metric->values);
    for (uint32_t i = 0; first && i < metric->count; i++)
      metric->values[i] = metric->min;
  }
  metric->values[metric->count] = *value;
}

static void
metric_add (struct combine *combine, uint32_t index, const struct value *value, const char *node)
{
  struct combined_metric *metric = &combine->metrics[index];
  double number = value_number (value);
  if (value->type == VALUE_REAL || (value->type == VALUE_UINT && value->as.u > INT64_MAX))
    metric->whole = false;
  else if (__builtin_add_overflow (metric->whole_sum, value->as.i, &metric->whole_sum))
    metric->whole = false; /* a VALUE_UINT up to INT64_MAX has the same as.i */
  if (combine_has_percentiles (metric))
    value_keep (metric, value);
  metric->sum += number;
  if (metric->count == 0 || value_less (value, &metric->min)) {
    metric->min = *value;
    metric->min_node = node;
  }
  if (metric->count == 0 || value_less (&metric->max, value)) {
    metric->max = *value;
    metric->max_node = node;
  }
  metric->count++;
}

static void
row_take (struct combined_row *end, const struct value *value, const char *node, const struct table *table, size_t row)
{
  size_t length;
  const char *label = table_label (table, row, &length);

  end->value = *value;
  end->node = node;
  buffer_clear (&end->label);
  buffer_add (&end->label, label, length);
}

static void
range_add (struct combined_metric *metric, const struct report_range *range, const char *node,
           const struct table *table)
{
  struct combined_rows *rows = metric->rows;
  bool first = !rows;
  if (range->rows == 0)
    return;
  if (first)
    rows = metric->rows = memory_new (1, sizeof *rows);
  if (first || value_less (&range->min, &rows->min.value))
    row_take (&rows->min, &range->min, node, table, range->min_row);
  if (first || value_less (&rows->max.value, &range->max))
    row_take (&rows->max, &range->max, node, table, range->max_row);
  rows->count += range->rows;
}

/* An infinite value (rows that add up to more than a double holds) counts as missing: it can neither be added up nor
 * sorted. */
static bool
value_counts (const struct value *value)
{
  return value->type != VALUE_MISSING && (value->type != VALUE_REAL || isfinite (value->as.d));
}

/* The values of one group, `at` being where its metrics go. */
static void
values_add (struct combine *combine, const uint32_t *at, const struct table *now, const char *node)
{
  bool by_rows = now->group->flags & GROUP_ROWS;
  for (size_t m = 0; m < now->group->metric_count; m++) {
    const struct value *value = &combine->scratch[m];
    if (at[m] == COMBINE_NOTHING)
      continue;
    if (by_rows && at[m] != COMBINE_NONE)
      range_add (&combine->metrics[at[m]], &combine->ranges[m], node, now);
    if (!value_counts (value))
      continue;
    if (at[m] == COMBINE_NONE)
      combine->left_out++;
    else
      metric_add (combine, at[m], value, node);
  }
}

static void
group_add (struct combine *combine, const uint32_t *at, const struct report_group *pair, const char *node,
           size_t *searched)
{
  struct combined_group *group = &combine->groups[at[0]];
  double period = (double) report_elapsed_ns (pair) * 1e-9;
  size_t count = pair->now->group->metric_count;
  group->period_min = group->nodes == 0 || period < group->period_min ? period : group->period_min;
  group->period_max = group->nodes == 0 || period > group->period_max ? period : group->period_max;
  group->nodes++;
  group->errors += pair->now->error[0] != '\0';
  if (count > combine->scratch_capacity) {
    combine->scratch = memory_resize (combine->scratch, count, sizeof *combine->scratch);
    combine->ranges = memory_resize (combine->ranges, count, sizeof *combine->ranges);
    combine->scratch_capacity = count;
  }
  report_cluster_values (pair, combine->scratch, combine->ranges, searched);
  values_add (combine, at + 1, pair->now, node);
}

void
combine_add (struct combine *combine, const char *node, const struct schema *schema, const struct report_group *groups)
{
  const struct combine_map *map = map_find (combine, schema);
  const char *name = text_keep (combine, node);
  const uint32_t *at = map->metrics;
  size_t searched = 0;
  for (size_t g = 0; g < schema->group_count; at += 1 + schema->groups[g]->metric_count, g++)
    if (groups[g].now && !(schema->groups[g]->flags & GROUP_ONCE))
      group_add (combine, at, &groups[g], name, &searched);
}
