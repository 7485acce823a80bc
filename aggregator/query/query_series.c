/* What is made of the finished series: a fold, a ranking, what is missing; see query_private.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_private.h"
#include "synop/array.h"
#include "synop/memory.h"

void
series_free (struct query_series *series)
{
  free (series->node);
  free (series->row);
  free (series->values);
}

/* ---- fold ---- */

static void
fold_value (struct query_value *to, const struct query_value *value, enum query_fold fold, size_t known)
{
  if (known == 0) {
    *to = *value;
    return;
  }
  to->count += value->count;
  to->min = fmin (to->min, value->min);
  to->max = fmax (to->max, value->max);
  if (fold == QUERY_SUM || fold == QUERY_MEAN)
    to->value += value->value;
  else if (fold == QUERY_MIN ? value->value < to->value : value->value > to->value)
    to->value = value->value;
}

void
series_fold (struct query_answer *answer)
{
  struct query_series all = { .node = memory_string (""), .values = memory_new (answer->steps, sizeof all.values[0]) };

  for (size_t step = 0; step < answer->steps; step++) {
    size_t known = 0;
    for (size_t i = 0; i < answer->series_count; i++) {
      const struct query_value *value = &answer->series[i].values[step];
      if (value->count)
        fold_value (&all.values[step], value, answer->fold, known++);
    }
    if (known && answer->fold == QUERY_MEAN)
      all.values[step].value /= (double) known;
    if (answer->fold == QUERY_SUM) /* nobody knows when which of them was least */
      all.values[step].min = all.values[step].max = (double) NAN;
  }
  answer->folded = answer->series_count;
  for (size_t i = 0; i < answer->series_count; i++)
    series_free (&answer->series[i]);
  answer->series_count = 0;
  if (answer->folded)
    *array_add (answer->series, answer->series_count, answer->series_room) = all;
  else
    series_free (&all);
}

/* ---- over all steps ---- */

static void
measure (struct query_series *series, size_t steps)
{
  size_t known = 0;
  double sum = 0;

  series->min = series->max = (double) NAN;
  for (size_t i = 0; i < steps; i++) {
    double value = series->values[i].value;
    if (series->values[i].count == 0)
      continue;
    sum += value;
    if (known++ == 0)
      series->min = series->max = value;
    else if (value < series->min)
      series->min = value;
    else if (value > series->max)
      series->max = value;
  }
  series->missing = steps - known;
  series->mean = known ? sum / (double) known : (double) NAN;
}

static bool
is_gap (const struct query_answer *answer, size_t step)
{
  for (size_t i = 0; i < answer->series_count; i++)
    if (answer->series[i].values[step].count)
      return false;
  return true;
}

void
series_measure (struct query_answer *answer)
{
  for (size_t i = 0; i < answer->series_count; i++)
    measure (&answer->series[i], answer->steps);
  for (size_t step = 0; step < answer->steps; step++) {
    int64_t from = answer->from_ns + (int64_t) step * answer->step_ns;
    struct query_gap *last = answer->gap_count ? &answer->gaps[answer->gap_count - 1] : NULL;
    if (!is_gap (answer, step))
      continue;
    if (last && last->to_ns == from)
      last->to_ns += answer->step_ns;
    else
      *array_add (answer->gaps, answer->gap_count, answer->gap_room) =
          (struct query_gap){ from, from + answer->step_ns };
  }
}

/* ---- order ---- */

static int
compare_names (const void *one, const void *other)
{
  const struct query_series *a = one, *b = other;
  int order = strverscmp (a->node, b->node);

  return order ? order : strverscmp (a->row ? a->row : "", b->row ? b->row : "");
}

/* The greatest mean first; unknown ones last. */
static int
compare_means (const void *one, const void *other)
{
  const struct query_series *a = one, *b = other;

  if (isnan (a->mean) || isnan (b->mean))
    return isnan (a->mean) - isnan (b->mean);
  return a->mean > b->mean ? -1 : a->mean < b->mean ? 1 : compare_names (one, other);
}

static int
compare_means_up (const void *one, const void *other)
{
  const struct query_series *a = one, *b = other;

  if (isnan (a->mean) || isnan (b->mean))
    return isnan (a->mean) - isnan (b->mean);
  return a->mean < b->mean ? -1 : a->mean > b->mean ? 1 : compare_names (one, other);
}

void
series_sort (struct query_answer *answer)
{
  if (answer->series_count)
    qsort (answer->series, answer->series_count, sizeof answer->series[0], compare_names);
}

void
series_rank (struct query_answer *answer, size_t count, bool bottom)
{
  if (answer->series_count)
    qsort (answer->series, answer->series_count, sizeof answer->series[0], bottom ? compare_means_up : compare_means);
  answer->ranked = true;
  while (answer->series_count > count) {
    series_free (&answer->series[--answer->series_count]);
    answer->left_out++;
  }
}
