/* Impossible values; see bounds.h.
 *
 * The limits are kept in the samplers' raw units, so that a value costs one comparison. Of the table before, the raw
 * counters are kept, row by row, with a hash of each row's label. */
#include "agent/sampling/bounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/hash.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/report.h"

#define NONE UINT64_MAX                  /* no counter before */
#define COUNTER_END (UINT64_C (1) << 63) /* nothing has counted that far */
#define LAG_NS (2 * NS_PER_S)            /* hardware and drivers update counters late */
#define TICKS_NS (20 * NS_PER_MS)        /* two ticks at 100 Hz: CPU time is counted in them */
#define SHARE_SLACK 20                   /* a share may exceed its limit by 1/20, as in report_value.c */
#define SEARCH_MAX (UINT32_C (1) << 16)  /* rows compared in a table, beside those at their expected place */
#define KEEP_ROWS 1024                   /* above it, memory is freed when only a quarter is used */

/* A metric, in raw numbers. */
struct column {
  const struct metric *metric;
  size_t index; /* in the group */
  bool counter, share;
  bool logged; /* an impossible value was logged */
  double least, most;
  size_t of;                 /* column of the gauge that the bound depends on; SIZE_MAX: none */
  double of_most, of_factor; /* the bound while that gauge is known: of_most, or of_factor times its raw number */
};

/* The counters of the table before. During a check the rows before `row` are those of the new table, and the rest of
 * the table before begins at `next`. */
struct past {
  uint64_t *labels; /* hashes; not used of the node */
  int64_t *moved;   /* of each row: when the table was begun in which a counter last moved */
  uint64_t *counters;
  size_t rows, next, capacity;
};

/* The metrics of the node, or those of the rows. */
struct part {
  struct column *columns; /* those that other bounds depend on come first */
  size_t count, counters;
  struct past past;
};

struct bounds {
  const struct group *group;
  struct part node, rows;
  uint64_t about; /* identifies the findings in `text`; 0: none */
  char text[200];
};

/* ---- the limits, in raw numbers ---- */

/* The metric's unit as a raw number. */
static double
raw_unit (const struct metric *metric)
{
  return (metric->per ? metric->per : 1) / (double) (metric->times ? metric->times : 1);
}

static struct column
column_of (const struct group *group, size_t index)
{
  const struct metric *metric = &group->metrics[index], *of = bounds_of (group, metric);
  struct column column = { .metric = metric, .index = index, .of = SIZE_MAX };

  double unit = raw_unit (metric);

  column.counter = metric->kind == COUNTER;
  column.share = metric->flags & METRIC_SHARE;
  if (!bounds_limits (metric, &column.least, &column.most)) {
    column.least = -HUGE_VAL;
    column.most = HUGE_VAL;
  }
  column.least *= unit;
  column.most *= unit;
  if (of) {
    column.of = (size_t) (of - group->metrics);
    column.of_most = metric->bound.most * unit;
    column.of_factor = metric->bound.times / raw_unit (of) * unit;
  }
  return column;
}

static void
part_init (struct part *part, const struct group *group, uint32_t of_node)
{
  part->columns = memory_new (group->metric_count, sizeof *part->columns);
  for (int depends = 0; depends < 2; depends++)
    for (size_t i = 0; i < group->metric_count; i++) {
      const struct metric *metric = &group->metrics[i];

      if (metric->kind == TEXT || (metric->flags & METRIC_OF_NODE) != of_node || (metric->bound.of != NULL) != depends)
        continue;
      part->columns[part->count++] = column_of (group, i);
      part->counters += metric->kind == COUNTER;
    }
}

static void
part_free (struct part *part)
{
  free (part->columns);
  free (part->past.labels);
  free (part->past.moved);
  free (part->past.counters);
}

/* ---- the rows before ---- */

static void
past_resize (struct part *part, size_t capacity)
{
  struct past *past = &part->past;

  past->labels = memory_resize (past->labels, capacity, sizeof *past->labels);
  past->moved = memory_resize (past->moved, capacity, sizeof *past->moved);
  past->counters = memory_resize (past->counters, capacity * part->counters, sizeof *past->counters);
  past->capacity = capacity;
}

static void
past_move (struct part *part, size_t to, size_t from, size_t rows)
{
  struct past *past = &part->past;
  size_t width = part->counters;

  memmove (past->labels + to, past->labels + from, rows * sizeof *past->labels);
  memmove (past->moved + to, past->moved + from, rows * sizeof *past->moved);
  memmove (past->counters + to * width, past->counters + from * width, rows * width * sizeof *past->counters);
}

static void
past_begin_row (struct part *part, size_t row, uint64_t label)
{
  part->past.labels[row] = label;
  part->past.moved[row] = 0;
  for (size_t i = 0; i < part->counters; i++)
    part->past.counters[row * part->counters + i] = NONE;
}

/* Aligns a row of the past with the table's: its old counters are those of its label. Rows keep their order: a row
 * that is passed over is gone, or comes later and is new then. */
static void
past_align (struct part *part, size_t row, uint64_t label, size_t *searched)
{
  struct past *past = &part->past;
  size_t at = past->next;

  for (; at < past->rows && past->labels[at] != label && *searched <= SEARCH_MAX; ++*searched)
    at++;
  if (at < past->rows && past->labels[at] == label) {
    if (at != row)
      past_move (part, row, at, 1);
    past->next = at + 1;
    return;
  }
  if (row == past->next) { /* no row is gone before it: make room */
    if (*searched > SEARCH_MAX)
      past->rows = row;
    if (past->rows == past->capacity)
      past_resize (part, past->capacity ? 2 * past->capacity : 4);
    past_move (part, row + 1, row, past->rows - row);
    past->rows++;
    past->next++;
  }
  past_begin_row (part, row, label);
}

static void
past_end (struct part *part, size_t rows)
{
  struct past *past = &part->past;

  past->rows = rows;
  past->next = 0;
  if (past->capacity > KEEP_ROWS && past->capacity / 4 > rows)
    past_resize (part, KEEP_ROWS > rows ? KEEP_ROWS : rows);
}

struct bounds *
bounds_create (const struct group *group)
{
  struct bounds *bounds = memory_new (1, sizeof *bounds);

  bounds->group = group;
  part_init (&bounds->node, group, METRIC_OF_NODE);
  part_init (&bounds->rows, group, 0);
  if (bounds->node.counters > 0) {
    past_resize (&bounds->node, 1);
    past_begin_row (&bounds->node, 0, 0);
  }
  return bounds;
}

void
bounds_destroy (struct bounds *bounds)
{
  if (!bounds)
    return;
  part_free (&bounds->node);
  part_free (&bounds->rows);
  free (bounds);
}

/* ---- the check ---- */

/* An impossible value and its limit, in raw numbers; a counter's per second. */
struct finding {
  struct column *column;
  size_t row;
  double number, limit;
  bool in_all; /* the counter's total, not its change */
};

struct findings {
  struct finding first;
  size_t count;
};

struct check {
  struct table *table;
  int64_t begin_ns, end_ns;
  size_t searched;
  struct findings findings;
};

static void
findings_add (struct findings *findings, const struct finding *first, size_t count)
{
  if (findings->count == 0 && count > 0)
    findings->first = *first;
  findings->count += count;
}

static double
column_most (const struct column *column, const struct value *cells)
{
  double of, most;

  if (column->of == SIZE_MAX || cells[column->of].type == VALUE_MISSING)
    return column->most;
  of = value_number (&cells[column->of]);
  most = of * column->of_factor;
  return of <= 0 ? column->most : most > column->of_most ? most : column->of_most;
}

/* False: impossible. */
static bool
gauge_check (const struct column *column, const struct value *cells, struct finding *finding)
{
  double number = value_number (&cells[column->index]), most = column_most (column, cells);

  if (number >= column->least && number <= most)
    return true;
  *finding = (struct finding){ .number = number, .limit = number < column->least ? column->least : most };
  return false;
}

/* The change of a row's counters from those before. */
struct progress {
  double elapsed_ns;
  double granted_ns[2]; /* the time in which they may have grown: [true] for shares, [false] for others */
  bool moved, fell;
};

static struct progress
progress_of (double elapsed_ns)
{
  double slack = elapsed_ns / SHARE_SLACK;

  return (struct progress){ .elapsed_ns = elapsed_ns,
                            .granted_ns[true] = elapsed_ns + (slack > TICKS_NS ? slack : TICKS_NS),
                            .granted_ns[false] = elapsed_ns + LAG_NS };
}

/* The same. */
static bool
counter_check (const struct column *column, const struct value *cells, uint64_t *past, struct progress *progress,
               struct finding *finding)
{
  uint64_t now = cells[column->index].as.u, before = *past, change;
  double most;

  if (now >= COUNTER_END) {
    *past = NONE;
    *finding = (struct finding){ .number = (double) now, .limit = (double) COUNTER_END, .in_all = true };
    return false;
  }
  *past = now;
  if (now == before)
    return true;
  progress->moved = true;
  if (before == NONE)
    return true;
  change = now - before;
  if (now < before && !report_counter_change (column->metric, now, before, &change)) {
    progress->fell = true;
    return true;
  }
  most = column_most (column, cells);
  if ((double) change * NS_PER_S <= most * progress->granted_ns[column->share])
    return true;
  *finding = (struct finding){ .limit = most };
  finding->number = (double) change * NS_PER_S / fmax (progress->elapsed_ns, TICKS_NS);
  return false;
}

/* The values of a row, or of the node. */
static void
cells_check (struct check *check, struct part *part, size_t row, size_t past_row)
{
  struct value *cells = table_value (check->table, row, 0);
  uint64_t *past = part->counters > 0 ? part->past.counters + past_row * part->counters : NULL;
  struct progress progress = { 0 };
  struct findings all = { 0 }, standing = {
    0
  }; /* standing: totals alone, since changes mean nothing in a row where a counter fell */
  struct finding finding;

  if (part->counters > 0)
    progress = progress_of ((double) (check->end_ns - part->past.moved[past_row]));
  for (size_t i = 0; i < part->count; i++) {
    struct column *column = &part->columns[i];
    struct value *value = &cells[column->index];
    bool good = true;

    if (column->counter && value->type == VALUE_UINT)
      good = counter_check (column, cells, past++, &progress, &finding);
    else if (column->counter)
      *past++ = NONE;
    else if (value->type != VALUE_MISSING)
      good = gauge_check (column, cells, &finding);
    if (good)
      continue;
    value->type = VALUE_MISSING;
    finding.column = column;
    finding.row = row;
    findings_add (&all, &finding, 1);
    findings_add (&standing, &finding, !column->counter || finding.in_all);
  }
  if (progress.moved)
    part->past.moved[past_row] = check->begin_ns;
  if (progress.fell)
    all = standing;
  findings_add (&check->findings, &all.first, all.count);
}

static void
rows_check (struct check *check, struct part *part)
{
  for (size_t row = 0; row < check->table->rows; row++) {
    size_t length;
    const char *label = table_label (check->table, row, &length);

    if (part->counters > 0)
      past_align (part, row, hash_add (HASH_START, label, length), &check->searched);
    cells_check (check, part, row, row);
  }
  if (part->counters > 0)
    past_end (part, check->table->rows);
}

/* ---- reporting ---- */

static double
shown_times (const struct metric *metric, bool in_all)
{
  return (metric->flags & METRIC_SHARE && !in_all ? 100 : 1) / raw_unit (metric);
}

/* Formats the sentence, which stays while the same columns are wrong: a number that varies is not a new finding. */
static void
bounds_phrase (struct bounds *bounds, const struct check *check)
{
  const struct finding *first = &check->findings.first;
  const struct metric *metric = first->column->metric;
  double times = shown_times (metric, first->in_all);
  const char *label = "";
  size_t length = 0;
  uint64_t about;
  char unit[48], more[32] = "";

  if (first->row != TABLE_NODE)
    label = table_label (check->table, first->row, &length);
  about = hash_add (HASH_START, label, length) ^ (first->column->index + 1) ^ (uint64_t) check->findings.count << 32;
  if (about == bounds->about)
    return;
  bounds->about = about;
  bounds_unit (unit, sizeof unit, metric, first->in_all);
  if (check->findings.count > 1)
    snprintf (more, sizeof more, ", and %zu more", check->findings.count - 1);
  snprintf (bounds->text, sizeof bounds->text, "impossible values are left out: %.33s%s%.*s, %.5g%s (at %s %.5g)%s",
            metric->name, first->row == TABLE_NODE ? "" : " of ", length < 32 ? (int) length : 32, label,
            first->number * times, unit, first->number < first->limit ? "least" : "most", first->limit * times, more);
}

static void
bounds_report (struct bounds *bounds, const struct check *check)
{
  struct table *table = check->table;
  size_t length = strlen (table->error);

  if (check->findings.count == 0) {
    bounds->about = 0;
    return;
  }
  bounds_phrase (bounds, check);
  if (length != 0 && length + 2 + strlen (bounds->text) < sizeof table->error) {
    memcpy (table->error + length, "; ", 2);
    memcpy (table->error + length + 2, bounds->text, strlen (bounds->text) + 1);
  } else
    table_complain (table, "%s", bounds->text);
  if (!check->findings.first.column->logged)
    log_warning ("group %s: %s", bounds->group->name, bounds->text);
  check->findings.first.column->logged = true;
}

void
bounds_check (struct bounds *bounds, struct table *table, int64_t begin_ns, int64_t end_ns)
{
  struct check check = { .table = table, .begin_ns = begin_ns, .end_ns = end_ns };

  if (!table_is_comparable (table))
    return;
  if (bounds->node.count > 0)
    cells_check (&check, &bounds->node, TABLE_NODE, 0);
  if (bounds->rows.count > 0)
    rows_check (&check, &bounds->rows);
  bounds_report (bounds, &check);
}
