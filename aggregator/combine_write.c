/* The combined report as JSON. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/combine_internal.h"

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
  return combine_less (other, one) - combine_less (one, other);
}

/* Nearest rank: the least value that at least `percent` of the nodes do not exceed. */
static const struct value *
percentile (const struct combined_metric *metric, unsigned percent)
{
  size_t rank = ((size_t) metric->count * percent + 99) / 100;
  return &metric->values[rank - 1];
}

static void
write_metric (struct json *json, const struct combined_metric *metric)
{
  json_key (json, metric->name);
  json_object (json);
  json_key (json, "nodes");
  json_uint (json, metric->count);
  if (metric->count > 0) {
    if (metric->fold == FOLD_SUM) {
      json_key (json, "sum");
      if (metric->whole)
        json_int (json, metric->whole_sum);
      else
        json_real (json, metric->sum);
    }
    json_key (json, "mean");
    json_real (json, (metric->whole ? (double) metric->whole_sum : metric->sum) / metric->count);
    write_value (json, "min", &metric->min);
    json_key (json, "min_node");
    json_text (json, metric->min_node);
    write_value (json, "max", &metric->max);
    json_key (json, "max_node");
    json_text (json, metric->max_node);
    if (combine_has_percentiles (metric)) {
      qsort (metric->values, metric->count, sizeof *metric->values, compare_values);
      write_value (json, "p50", percentile (metric, 50));
      write_value (json, "p95", percentile (metric, 95));
    }
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

static bool
group_is_outvoted (const struct combine *combine, size_t index)
{
  const struct combined_group *group = &combine->groups[index];
  for (size_t i = 0; i < combine->group_count; i++) {
    const struct combined_group *other = &combine->groups[i];
    if (i != index && groups_collide (group, other) &&
        (other->nodes > group->nodes || (other->nodes == group->nodes && i < index)))
      return true;
  }
  return false;
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
    if (((metric->flags & METRIC_OF_NODE) != 0) != of_node)
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

/* Which groups are written, and of them the one whose turn it is. */
struct selection {
  const struct combine *combine;
  bool (*only) (const void *context, const char *group);
  const void *context;
};

static bool
group_is_written (const struct selection *selection, size_t index)
{
  const struct combined_group *group = &selection->combine->groups[index];

  return group->nodes > 0 && (!selection->only || selection->only (selection->context, group->name)) &&
         !group_is_outvoted (selection->combine, index);
}

static bool
section_is_new (const struct selection *selection, size_t index)
{
  const struct combined_group *groups = selection->combine->groups;

  for (size_t i = 0; i < index; i++)
    if (strcmp (groups[i].section, groups[index].section) == 0 && group_is_written (selection, i))
      return false;
  return true;
}

void
combine_write (const struct combine *combine, struct json *json, bool (*only) (const void *context, const char *group),
               const void *context, uint64_t *left_out)
{
  const struct selection selection = { combine, only, context };
  uint64_t out = combine->left_out;

  for (size_t i = 0; i < combine->group_count; i++)
    if (group_is_outvoted (combine, i))
      out += group_values (combine, &combine->groups[i]);
  for (size_t i = 0; i < combine->group_count; i++) {
    const char *section = combine->groups[i].section;
    if (!group_is_written (&selection, i) || !section_is_new (&selection, i))
      continue;
    if (section[0]) {
      json_key (json, section);
      json_object (json);
    }
    for (size_t j = i; j < combine->group_count; j++)
      if (strcmp (combine->groups[j].section, section) == 0 && group_is_written (&selection, j))
        write_group (combine, &combine->groups[j], json, &out);
    if (section[0])
      json_object_end (json);
  }
  if (left_out)
    *left_out = out;
}

bool
combine_has (const struct combine *combine, bool (*only) (const void *context, const char *group), const void *context)
{
  const struct selection selection = { combine, only, context };

  for (size_t i = 0; i < combine->group_count; i++)
    if (group_is_written (&selection, i))
      return true;
  return false;
}
