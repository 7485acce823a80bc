/* The combined report as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/combine_private.h"
#include "synop/memory.h"

static void
write_value (struct json *json, const char *key, const struct value *value)
{
  json_key (json, key);
  if (value->type == VALUE_UINT)
    json_uint (json, value->as.u);
  else if (value->type == VALUE_INT)
    json_int (json, value->as.i);
  else
    json_real (json, value->as.d);
}

static int
compare_values (const void *a, const void *b)
{
  const struct value *one = a, *other = b;
  return value_less (other, one) - value_less (one, other);
}

/* Nearest rank: the least value that at least `percent` of the nodes do not exceed. */
static const struct value *
percentile (const struct combined_metric *metric, unsigned percent)
{
  size_t rank = ((size_t) metric->count * percent + 99) / 100;
  return metric->values ? &metric->values[rank - 1] : &metric->min;
}

/* "min" and "max", and where they are: `row` NULL where that is a whole node. */
static void
write_end (struct json *json, const char *name, const struct value *value, const char *node, const struct buffer *row)
{
  char key[16];

  write_value (json, name, value);
  snprintf (key, sizeof key, "%s_node", name);
  json_key (json, key);
  json_text (json, node);
  if (row == NULL)
    return;
  snprintf (key, sizeof key, "%s_row", name);
  json_key (json, key);
  json_text_n (json, row->data, row->length);
}

static void
write_metric (struct json *json, const struct combined_metric *metric)
{
  const struct combined_rows *rows = metric->rows;

  json_key (json, metric->name);
  json_object (json);
  json_key (json, "nodes");
  json_uint (json, metric->count);
  if (rows != NULL) {
    json_key (json, "rows");
    json_uint (json, rows->count);
  }
  if (metric->fold == FOLD_SUM) {
    json_key (json, "sum");
    if (metric->whole)
      json_int (json, metric->whole_sum);
    else
      json_real (json, metric->sum);
  }
  json_key (json, "mean");
  json_real (json, (metric->whole ? (double) metric->whole_sum : metric->sum) / metric->count);
  if (rows != NULL) {
    write_end (json, "min", &rows->min.value, rows->min.node, &rows->min.label);
    write_end (json, "max", &rows->max.value, rows->max.node, &rows->max.label);
  } else {
    write_end (json, "min", &metric->min, metric->min_node, NULL);
    write_end (json, "max", &metric->max, metric->max_node, NULL);
  }
  if (combine_has_percentiles (metric)) {
    if (metric->values)
      qsort (metric->values, metric->count, sizeof *metric->values, compare_values);
    write_value (json, "p50", percentile (metric, 50));
    write_value (json, "p95", percentile (metric, 95));
  }
  json_object_end (json);
}

/* Is there another definition of the same name, in the same group, that more nodes hold (or as many, and it came first)?
 * All of one name lie in one run of slots, since the hash is of group and name alone. */
static bool
metric_is_outvoted (const struct combine *combine, uint32_t index)
{
  const struct combined_metric *metric = &combine->metrics[index];
  size_t mask = combine->slot_count - 1;

  for (size_t at = metric->hash & mask; combine->slots[at]; at = (at + 1) & mask) {
    uint32_t i = combine->slots[at] - 1;
    const struct combined_metric *other = &combine->metrics[i];
    if (i != index && other->group == metric->group && strcmp (other->name, metric->name) == 0 &&
        (other->count > metric->count || (other->count == metric->count && i < index)))
      return true;
  }
  return false;
}

/* Would both be written under one key? A group in no section has the name of its own, another one that of its section. */
static bool
groups_collide (const struct combined_group *one, const struct combined_group *other)
{
  if (strcmp (one->section, other->section) == 0)
    return strcmp (one->name, other->name) == 0;
  return (!one->section[0] && strcmp (one->name, other->section) == 0) ||
         (!other->section[0] && strcmp (other->name, one->section) == 0);
}

struct rank {
  uint32_t nodes, index;
};

static int
compare_ranks (const void *a, const void *b)
{
  const struct rank *one = a, *other = b;
  if (one->nodes != other->nodes)
    return one->nodes < other->nodes ? 1 : -1;
  return (one->index > other->index) - (one->index < other->index);
}

/* Whether each group is written: those of most nodes, then of the first come, come first, and only one that is written
 * keeps another out. For the caller to free. */
static bool *
groups_kept (const struct combine *combine)
{
  size_t count = combine->group_count;
  bool *kept = memory_new (count + 1, sizeof *kept);
  struct rank *ranks = memory_new (count + 1, sizeof *ranks);

  for (uint32_t i = 0; i < count; i++)
    ranks[i] = (struct rank){ combine->groups[i].nodes, i };
  qsort (ranks, count, sizeof *ranks, compare_ranks);
  for (size_t i = 0; i < count && ranks[i].nodes > 0; i++) {
    const struct combined_group *group = &combine->groups[ranks[i].index];
    bool free_key = true;
    for (size_t j = 0; j < i && free_key; j++)
      free_key = !kept[ranks[j].index] || !groups_collide (group, &combine->groups[ranks[j].index]);
    kept[ranks[i].index] = free_key;
  }
  free (ranks);
  return kept;
}

static uint64_t
group_values (const struct combine *combine, const struct combined_group *group)
{
  uint64_t values = 0;
  for (uint32_t i = group->first_metric; i != COMBINE_NONE; i = combine->metrics[i].next)
    values += combine->metrics[i].count;
  return values;
}

/* The metrics of the node (of_node) or those of the rows. */
static void
write_metrics (const struct combine *combine, const struct combined_group *group, bool of_node, struct json *json,
               uint64_t *left_out)
{
  for (uint32_t i = group->first_metric; i != COMBINE_NONE; i = combine->metrics[i].next) {
    const struct combined_metric *metric = &combine->metrics[i];
    if (metric->count == 0 || ((metric->flags & METRIC_OF_NODE) != 0) != of_node)
      continue;
    if (metric_is_outvoted (combine, i))
      *left_out += metric->count;
    else
      write_metric (json, metric);
  }
}

static void
write_group (const struct combine *combine, const struct combined_group *group, struct json *json, uint64_t *left_out)
{
  json_key (json, group->name);
  json_object (json);
  json_key (json, "nodes");
  json_uint (json, group->nodes);
  json_key (json, "errors");
  json_uint (json, group->errors);
  json_key (json, "period");
  json_object (json);
  json_key (json, "min");
  json_real (json, group->period_min);
  json_key (json, "max");
  json_real (json, group->period_max);
  json_object_end (json);
  write_metrics (combine, group, true, json, left_out);
  if (group->fold_name[0] && !combine_key_is_taken (group->fold_name)) {
    json_key (json, group->fold_name);
    json_object (json);
    write_metrics (combine, group, false, json, left_out);
    json_object_end (json);
  }
  json_object_end (json);
}

static bool
section_is_new (const struct combined_group *groups, const bool *written, size_t index)
{
  for (size_t i = 0; i < index; i++)
    if (written[i] && strcmp (groups[i].section, groups[index].section) == 0)
      return false;
  return true;
}

void
combine_write (const struct combine *combine, struct json *json, bool (*only) (const void *context, const char *group),
               const void *context, uint64_t *left_out)
{
  const struct combined_group *groups = combine->groups;
  bool *written = groups_kept (combine);
  uint64_t out = combine->left_out;

  for (size_t i = 0; i < combine->group_count; i++) {
    if (!written[i])
      out += group_values (combine, &groups[i]);
    written[i] = written[i] && (!only || only (context, groups[i].name));
  }
  for (size_t i = 0; i < combine->group_count; i++) {
    const char *section = groups[i].section;
    if (!written[i] || !section_is_new (groups, written, i))
      continue;
    if (section[0]) {
      json_key (json, section);
      json_object (json);
    }
    for (size_t j = i; j < combine->group_count; j++)
      if (written[j] && strcmp (groups[j].section, section) == 0)
        write_group (combine, &groups[j], json, &out);
    if (section[0])
      json_object_end (json);
  }
  free (written);
  if (left_out)
    *left_out = out;
}

bool
combine_has (const struct combine *combine, bool (*only) (const void *context, const char *group), const void *context)
{
  bool *kept = groups_kept (combine), has = false;

  for (size_t i = 0; i < combine->group_count && !has; i++)
    has = kept[i] && (!only || only (context, combine->groups[i].name));
  free (kept);
  return has;
}
