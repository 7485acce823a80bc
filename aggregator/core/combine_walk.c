/* The walk over a combined report: which groups and definitions are in it, and the values of each metric. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/combine_private.h"
#include "synop/memory.h"

static int
compare_values (const void *a, const void *b)
{
  const struct value *one = a, *other = b;
  return value_less (other, one) - value_less (one, other);
}

static void
sort_values (const struct combined_metric *metric)
{
  if (metric->values) /* else all are equal */
    qsort (metric->values, metric->count, sizeof *metric->values, compare_values);
}

/* Nearest rank: the least value that at least `percent` of the nodes do not exceed. */
static struct value
percentile (const struct combined_metric *metric, unsigned percent)
{
  size_t rank = ((size_t) metric->count * percent + 99) / 100;
  return metric->values ? metric->values[rank - 1] : metric->min;
}

/* Do more nodes have another definition of the same name in the same group (or as many nodes one that came first)?
 * All definitions of a name are in one run of slots, since the hash is of group and name alone. */
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

/* Would both be written under one key? A group without a section is written under its own name, others under that of
 * their section. */
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

/* Which groups are written: in order of their number of nodes, then of arrival; a group is left out if it collides
 * with one that is written. The caller frees it. */
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

/* ---- values ---- */

static struct combine_end
end_of_rows (const struct combined_row *row)
{
  return (struct combine_end){ row->value, row->node, row->label.data, row->label.length };
}

static double
sum_of (const struct combined_metric *metric)
{
  return metric->whole ? (double) metric->whole_sum : metric->sum;
}

static void
show_metric (const struct combined_metric *metric, const struct combine_group *group, const struct combine_walk *walk)
{
  const struct combined_rows *rows = metric->rows;
  struct combine_metric shown = { .name = metric->name,
                                  .kind = metric->kind,
                                  .unit = metric->unit,
                                  .fold = metric->fold,
                                  .flags = metric->flags,
                                  .nodes = metric->count,
                                  .rows = rows ? rows->count : 0 };

  if (metric->whole)
    shown.sum = (struct value){ .type = VALUE_INT, .as.i = metric->whole_sum };
  else
    shown.sum = (struct value){ .type = VALUE_REAL, .as.d = metric->sum };
  shown.mean = sum_of (metric) / metric->count;
  shown.min = rows ? end_of_rows (&rows->min) : (struct combine_end){ metric->min, metric->min_node, NULL, 0 };
  shown.max = rows ? end_of_rows (&rows->max) : (struct combine_end){ metric->max, metric->max_node, NULL, 0 };
  if (!walk->plain && combine_has_percentiles (metric)) {
    sort_values (metric);
    shown.p50 = percentile (metric, 50);
    shown.p95 = percentile (metric, 95);
  }
  walk->metric (walk->context, group, &shown);
}

/* ---- what is derived ---- */

/* The counter of that name that is written; NULL: there is none. */
static const struct combined_metric *
counter_find (const struct combine *combine, const struct combined_group *group, const char *name)
{
  for (uint32_t i = group->first_metric; i != COMBINE_NONE; i = combine->metrics[i].next) {
    const struct combined_metric *metric = &combine->metrics[i];
    if (metric->count > 0 && metric->kind == COUNTER && metric->fold == FOLD_SUM && !(metric->flags & COMBINE_FLAGS) &&
        strcmp (metric->name, name) == 0 && !metric_is_outvoted (combine, i))
      return metric;
  }
  return NULL;
}

/* A ratio of sums over other nodes would be none: both have to be of as many. */
static void
walk_derived (const struct combine *combine, const struct combined_group *group, const struct combine_group *shown,
              const struct combine_walk *walk)
{
  const struct derived *derived;

  for (size_t at = 0; (derived = derived_next (group->name, &at));) {
    const struct combined_metric *of = counter_find (combine, group, derived->of),
                                 *over = derived->over ? counter_find (combine, group, derived->over) : NULL;
    double divisor = over ? sum_of (over) : (group->period_min + group->period_max) / 2;

    if (of && (!derived->over || (over && over->count == of->count)) && divisor > 0)
      walk->derived (walk->context, shown,
                     &(struct combine_derived){ derived, of->count, sum_of (of) / divisor * derived->times });
  }
}

/* ---- the walk ---- */

/* The metrics of the node (of_node) or those of the rows. */
static void
walk_metrics (const struct combine *combine, const struct combined_group *group, const struct combine_group *shown,
              bool of_node, const struct combine_walk *walk, uint64_t *left_out)
{
  for (uint32_t i = group->first_metric; i != COMBINE_NONE; i = combine->metrics[i].next) {
    const struct combined_metric *metric = &combine->metrics[i];
    if (metric->count == 0 || ((metric->flags & METRIC_OF_NODE) != 0) != of_node)
      continue;
    if (metric_is_outvoted (combine, i))
      *left_out += metric->count;
    else
      show_metric (metric, shown, walk);
  }
}

static void
walk_group (const struct combine *combine, const struct combined_group *group, const struct combine_walk *walk,
            uint64_t *left_out)
{
  bool has_fold = group->fold_name[0] && !combine_key_is_taken (group->fold_name);
  const struct combine_group shown = { .name = group->name,
                                       .section = group->section,
                                       .fold_name = has_fold ? group->fold_name : "",
                                       .nodes = group->nodes,
                                       .errors = group->errors,
                                       .period_min = group->period_min,
                                       .period_max = group->period_max };

  if (walk->group)
    walk->group (walk->context, &shown);
  walk_metrics (combine, group, &shown, true, walk, left_out);
  if (!has_fold)
    return;
  walk_metrics (combine, group, &shown, false, walk, left_out);
  if (walk->derived)
    walk_derived (combine, group, &shown, walk);
}

static bool
section_is_new (const struct combined_group *groups, const bool *shown, size_t index)
{
  for (size_t i = 0; i < index; i++)
    if (shown[i] && strcmp (groups[i].section, groups[index].section) == 0)
      return false;
  return true;
}

uint64_t
combine_walk (const struct combine *combine, const struct combine_walk *walk)
{
  const struct combined_group *groups = combine->groups;
  bool *shown = groups_kept (combine);
  uint64_t left_out = combine->left_out;

  for (size_t i = 0; i < combine->group_count; i++) {
    if (!shown[i])
      left_out += group_values (combine, &groups[i]);
    shown[i] = shown[i] && (!walk->only || walk->only (walk->only_context, groups[i].name));
  }
  for (size_t i = 0; i < combine->group_count; i++)
    if (shown[i] && section_is_new (groups, shown, i))
      for (size_t j = i; j < combine->group_count; j++)
        if (shown[j] && strcmp (groups[j].section, groups[i].section) == 0)
          walk_group (combine, &groups[j], walk, &left_out);
  free (shown);
  return left_out;
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
