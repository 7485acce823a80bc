/* From rows to the node: folds, and each metric's value of the node as a whole. */
#include <assert.h>
#include <string.h>

#include "common/data/report_private.h"
#include "synop/schema.h"

#define SEARCH_MAX (UINT32_C (1) << 20) /* labels compared in a frame, beside those at their expected place */

const struct table *
report_before (const struct report_group *pair)
{
  if (pair->before == NULL || pair->before->group != pair->now->group ||
      pair->before->monotonic_ns >= pair->now->monotonic_ns)
    return NULL;
  return pair->before;
}

int64_t
report_elapsed_ns (const struct report_group *pair)
{
  const struct table *before = report_before (pair);

  return before == NULL ? pair->now->period_ns : pair->now->monotonic_ns - before->monotonic_ns;
}

/* Rows rarely move, so the next row is mostly the one behind the last found. A sender of ever new labels must not
 * cause a search of rows times rows: after SEARCH_MAX they count as new. */
size_t
report_row_find (const struct table *table, const char *label, size_t length, size_t expected, size_t *searched)
{
  size_t found;

  if (*searched > SEARCH_MAX)
    return SIZE_MAX;
  found = table_find_row (table, label, length, expected);
  if (found != expected)
    *searched += table->rows;
  return found;
}

size_t
report_row_before (const struct table *now, const struct table *before, size_t row, struct report_search *search)
{
  size_t length;

  if (before == NULL)
    return SIZE_MAX;

  const char *label = table_label (now, row, &length);
  size_t found = report_row_find (before, label, length, search->expected, search->searched);

  if (found != SIZE_MAX)
    search->expected = found + 1;
  return found;
}

bool
report_folds (const struct metric *metric)
{
  return (metric->flags & METRIC_OF_NODE) == 0 && metric->kind != TEXT && metric->fold != FOLD_NONE;
}

static void
fold_add_real (struct report_fold *fold, enum metric_fold kind, double number)
{
  if (!fold->real) {
    fold->real = true;
    fold->number = (double) fold->whole;
  }
  if (fold->count == 0 || (kind == FOLD_MAX && number > fold->number) || (kind == FOLD_MIN && number < fold->number))
    fold->number = number;
  else if (kind == FOLD_SUM || kind == FOLD_MEAN)
    fold->number += number;
}

static void
fold_add_whole (struct report_fold *fold, enum metric_fold kind, __int128 whole)
{
  if (fold->count == 0 || (kind == FOLD_MAX && whole > fold->whole) || (kind == FOLD_MIN && whole < fold->whole))
    fold->whole = whole;
  else if (kind == FOLD_SUM || kind == FOLD_MEAN)
    fold->whole += whole;
}

void
report_fold_add (struct report_fold *fold, enum metric_fold kind, const struct value *value)
{
  if (value->type == VALUE_MISSING || value->type == VALUE_TEXT)
    return;

  __int128 whole = value->type == VALUE_UINT ? (__int128) value->as.u : (__int128) value->as.i;

  if (value->type == VALUE_REAL)
    fold_add_real (fold, kind, value->as.d);
  else if (fold->real)
    fold_add_real (fold, kind, (double) whole);
  else
    fold_add_whole (fold, kind, whole);
  fold->count++;
}

struct value
report_fold_value (const struct report_fold *fold, enum metric_fold kind)
{
  if (fold->count == 0)
    return (struct value){ .type = VALUE_MISSING };

  double number = fold->real ? fold->number : (double) fold->whole;

  if (kind == FOLD_MEAN)
    return (struct value){ .type = VALUE_REAL, .as.d = number / (double) fold->count };
  if (!fold->real && fold->whole >= 0 && fold->whole <= UINT64_MAX)
    return (struct value){ .type = VALUE_UINT, .as.u = (uint64_t) fold->whole };
  if (!fold->real && fold->whole < 0 && fold->whole >= INT64_MIN)
    return (struct value){ .type = VALUE_INT, .as.i = (int64_t) fold->whole };
  return (struct value){ .type = VALUE_REAL, .as.d = number };
}

/* ---- which rows count ---- */

struct report_gates
report_gates_of (const struct group *group)
{
  struct report_gates gates = { SIZE_MAX, SIZE_MAX };

  for (size_t i = 0; i < group->metric_count; i++) {
    if ((group->metrics[i].flags & METRIC_COUNTS) != 0)
      gates.counts = i;
    if ((group->metrics[i].flags & METRIC_SHARED) != 0)
      gates.shared = i;
  }
  return gates;
}

/* Reads a row's flag; `otherwise` when it is missing. */
static bool
row_says (const struct table *table, size_t row, size_t column, bool otherwise)
{
  const struct value *value = column == SIZE_MAX ? NULL : table_get (table, row, column);

  if (value == NULL || value->type == VALUE_MISSING || value->type == VALUE_TEXT)
    return otherwise;
  return value_number (value) > 0;
}

bool
report_row_counts (const struct report_gates *gates, const struct table *table, size_t row)
{
  return row_says (table, row, gates->counts, true);
}

/* ---- the node as a whole ---- */

static void
range_add (struct report_range *range, const struct value *value, size_t row)
{
  if (value->type == VALUE_MISSING || value->type == VALUE_TEXT)
    return;
  if (range->rows++ == 0) {
    range->min = range->max = *value;
    range->min_row = range->max_row = row;
  } else if (value_less (value, &range->min)) {
    range->min = *value;
    range->min_row = row;
  } else if (value_less (&range->max, value)) {
    range->max = *value;
    range->max_row = row;
  }
}

/* `ranges` NULL: as the node shows the rows; else for the cluster's sums. */
static void
rows_fold (const struct report_group *pair, struct report_fold *folds, struct report_range *ranges, size_t *searched)
{
  const struct table *now = pair->now, *before = report_before (pair);
  const struct group *group = now->group;
  int64_t elapsed_ns = report_elapsed_ns (pair);
  struct report_search search = { .searched = searched };
  struct report_gates gates = report_gates_of (group);
  bool ranged = ranges != NULL && (group->flags & GROUP_ROWS) != 0;

  for (size_t row = 0; row < now->rows; row++) {
    size_t then = report_row_before (now, before, row, &search);
    bool folded = ranges == NULL || !row_says (now, row, gates.shared, false);

    if (!report_row_counts (&gates, now, row))
      continue;

    const struct value *cells = table_cells (now, row);
    const struct value *cells_then = then == SIZE_MAX ? NULL : table_cells (before, then);

    for (size_t i = 0; i < group->metric_count; i++) {
      if (!report_folds (&group->metrics[i]))
        continue;
      struct value value =
          report_value (&group->metrics[i], &cells[i], cells_then == NULL ? NULL : &cells_then[i], elapsed_ns);

      if (folded)
        report_fold_add (&folds[i], group->metrics[i].fold, &value);
      if (ranged)
        range_add (&ranges[i], &value, row);
    }
  }
}

void
report_cluster_values (const struct report_group *pair, struct value *values, struct report_range *ranges,
                       size_t *searched)
{
  const struct group *group = pair->now->group;
  const struct table *before = report_before (pair);
  const struct value *cells = table_cells (pair->now, TABLE_NODE);
  const struct value *cells_before = before == NULL ? NULL : table_cells (before, TABLE_NODE);
  int64_t elapsed_ns = report_elapsed_ns (pair);
  bool has_rows = pair->now->rows > 0;
  struct report_fold folds[SCHEMA_METRICS_MAX];

  assert (group->metric_count <= SCHEMA_METRICS_MAX);
  if (ranges != NULL && (group->flags & GROUP_ROWS) != 0)
    memset (ranges, 0, group->metric_count * sizeof ranges[0]);
  if (has_rows) {
    memset (folds, 0, group->metric_count * sizeof folds[0]);
    rows_fold (pair, folds, ranges, searched);
  }
  for (size_t i = 0; i < group->metric_count; i++) {
    const struct metric *metric = &group->metrics[i];

    if (metric->kind != TEXT && (metric->flags & METRIC_OF_NODE) != 0)
      values[i] = report_value (metric, &cells[i], cells_before == NULL ? NULL : &cells_before[i], elapsed_ns);
    else if (metric->kind != TEXT && has_rows)
      values[i] = report_fold_value (&folds[i], metric->fold);
    else
      values[i] = (struct value){ .type = VALUE_MISSING };
  }
}

void
report_node_values (const struct report_group *pair, struct value *values, size_t *searched)
{
  report_cluster_values (pair, values, NULL, searched);
}

struct value
report_node_value (const struct report_group *pair, size_t column, size_t *searched)
{
  const struct table *now = pair->now, *before = report_before (pair);
  const struct metric *metric = &now->group->metrics[column];
  struct report_search search = { .searched = searched };
  struct report_gates gates = report_gates_of (now->group);
  int64_t elapsed_ns = report_elapsed_ns (pair);
  struct report_fold fold = { 0 };

  if (metric->kind != TEXT && (metric->flags & METRIC_OF_NODE) != 0)
    return report_value (metric, &table_cells (now, TABLE_NODE)[column],
                         before == NULL ? NULL : &table_cells (before, TABLE_NODE)[column], elapsed_ns);
  for (size_t row = 0; report_folds (metric) && row < now->rows; row++) {
    size_t then = metric->kind == COUNTER ? report_row_before (now, before, row, &search) : SIZE_MAX;

    if (!report_row_counts (&gates, now, row))
      continue;

    struct value value = report_value (metric, &table_cells (now, row)[column],
                                       then == SIZE_MAX ? NULL : &table_cells (before, then)[column], elapsed_ns);

    report_fold_add (&fold, metric->fold, &value);
  }
  return report_fold_value (&fold, metric->fold);
}
