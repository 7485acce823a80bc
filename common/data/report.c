/* Writes tables in the shape of neuron-monitor's reports. The hot path of both programs: one walk over the cells, and
 * no memory but the line's own.
 *
 * The fold of the rows comes before the rows but is known only after them, so it is written behind them and the two
 * are exchanged within the line. */
#include "synop/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/report_private.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/schema.h"

#define PERIOD_PLACES 9
#define DERIVED_PLACES 6

static bool
is_set (const char *name)
{
  return name != NULL && name[0] != 0;
}

void
sheet_value_write (const struct sheet *sheet, const struct metric *metric, const struct value *value)
{
  size_t length;
  const char *text;

  if (value->type != VALUE_TEXT) {
    report_number_write (sheet->json, metric, value);
    return;
  }
  text = table_text (sheet->now, value, &length);
  json_text_n (sheet->json, text, length);
}

/* ---- what is derived of counters ---- */

/* `value` gives the change of a column, shown as a report does. */
static void
derived_write (const struct sheet *sheet, struct value (*value) (const void *context, size_t column),
               const void *context)
{
  for (size_t i = 0; i < sheet->derived.count; i++) {
    const struct derived *derived = sheet->derived.items[i].derived;
    struct value of = value (context, sheet->derived.items[i].of), over = { .type = VALUE_REAL };

    if (derived->over)
      over = value (context, sheet->derived.items[i].over);
    else
      over.as.d = (double) sheet->elapsed_ns / (double) NS_PER_S;
    json_real_places (json_key (sheet->json, derived->name), value_double (&of) / value_double (&over) * derived->times,
                      DERIVED_PLACES);
  }
}

/* ---- the fold of the rows ---- */

struct folded {
  const struct group *group;
  const struct report_fold *folds;
};

static struct value
folded_value (const void *context, size_t column)
{
  const struct folded *folded = context;

  return report_fold_value (&folded->folds[column], folded->group->metrics[column].fold);
}

static void
folds_write (const struct sheet *sheet, const struct report_fold *folds)
{
  const struct group *group = sheet->group;

  json_object (json_key (sheet->json, group->fold_name));
  for (size_t i = 0; i < group->metric_count; i++)
    if (report_folds (&group->metrics[i])) {
      struct value value = report_fold_value (&folds[i], group->metrics[i].fold);

      json_key (sheet->json, group->metrics[i].name);
      sheet_value_write (sheet, &group->metrics[i], &value);
    }
  derived_write (sheet, folded_value, &(struct folded){ group, folds });
  json_object_end (sheet->json);
}

/* ---- rows ---- */

/* Writes one member of an object, from a row's values and those of the row before. `before` and `folds` may be NULL. */
static inline void
metric_write (const struct sheet *sheet, size_t i, const struct value *now, const struct value *before,
              struct report_fold *folds)
{
  const struct metric *metric = &sheet->group->metrics[i];
  struct value value = report_value (metric, &now[i], before == NULL ? NULL : &before[i], sheet->elapsed_ns);

  if (folds != NULL)
    report_fold_add (&folds[i], metric->fold, &value);
  json_key (sheet->json, metric->name);
  sheet_value_write (sheet, metric, &value);
}

struct change {
  const struct sheet *sheet;
  const struct value *now, *before;
};

static struct value
change_value (const void *context, size_t column)
{
  const struct change *change = context;

  return report_value (&change->sheet->group->metrics[column], &change->now[column],
                       change->before ? &change->before[column] : NULL, change->sheet->elapsed_ns);
}

/* Writes the members of a row's object. `folds` may be NULL. */
static void
row_values_write (const struct sheet *sheet, size_t row, size_t before, struct report_fold *folds)
{
  const struct value *now = table_cells (sheet->now, row);
  const struct value *then = before == SIZE_MAX ? NULL : table_cells (sheet->before, before);

  for (size_t i = 0; i < sheet->group->metric_count; i++)
    if ((sheet->group->metrics[i].flags & METRIC_OF_NODE) == 0)
      metric_write (sheet, i, now, then, folds);
  derived_write (sheet, change_value, &(struct change){ sheet, now, then });
}

/* `folds` NULL: the row does not count. */
static void
row_write (const struct sheet *sheet, size_t row, size_t before, struct report_fold *folds)
{
  size_t length;
  const char *label = table_label (sheet->now, row, &length);

  json_object (json_key_n (sheet->json, label, length));
  row_values_write (sheet, row, before, folds);
  json_object_end (sheet->json);
}

/* Exchanges the part from `start` to `middle` with the part behind it. */
static void
buffer_exchange (struct buffer *buffer, size_t start, size_t middle)
{
  size_t tail = buffer->length - middle;
  char *spare = buffer_reserve (buffer, tail);

  memcpy (spare, buffer->data + middle, tail);
  memmove (buffer->data + start + tail, buffer->data + start, middle - start);
  memcpy (buffer->data + start, spare, tail);
}

static void
rows_write (const struct sheet *sheet)
{
  struct report_fold folds[SCHEMA_METRICS_MAX];
  size_t start = sheet->json->out.length;
  struct report_search search = { .searched = sheet->searched };
  struct report_gates gates = report_gates_of (sheet->group);

  assert (sheet->group->metric_count <= SCHEMA_METRICS_MAX);
  memset (folds, 0, sheet->group->metric_count * sizeof folds[0]);
  json_object (json_key (sheet->json, sheet->group->rows_name));
  for (size_t row = 0; row < sheet->now->rows; row++)
    row_write (sheet, row, report_row_before (sheet->now, sheet->before, row, &search),
               report_row_counts (&gates, sheet->now, row) ? folds : NULL);
  json_object_end (sheet->json);

  /* Both parts begin with a comma, since they follow the error. */
  size_t middle = sheet->json->out.length;

  if (is_set (sheet->group->fold_name)) {
    folds_write (sheet, folds);
    buffer_exchange (&sheet->json->out, start, middle);
  }
}

/* ---- groups and sections ---- */

static void
node_values_write (const struct sheet *sheet)
{
  const struct value *now = table_cells (sheet->now, TABLE_NODE);
  const struct value *before = sheet->before == NULL ? NULL : table_cells (sheet->before, TABLE_NODE);

  for (size_t i = 0; i < sheet->group->metric_count; i++)
    if ((sheet->group->metrics[i].flags & METRIC_OF_NODE) != 0)
      metric_write (sheet, i, now, before, NULL);
}

struct sheet
sheet_of (struct json *json, const struct report_group *pair, size_t *searched)
{
  struct sheet sheet = { .json = json,
                         .group = pair->now->group,
                         .now = pair->now,
                         .before = report_before (pair),
                         .elapsed_ns = report_elapsed_ns (pair),
                         .searched = searched };

  derived_find (&sheet.derived, sheet.group);
  return sheet;
}

void
sheet_period_write (const struct sheet *sheet)
{
  if ((sheet->group->flags & GROUP_ONCE) == 0)
    json_real_places (json_key (sheet->json, "period"), (double) sheet->elapsed_ns / (double) NS_PER_S, PERIOD_PLACES);
}

/* Writes the members that each group's object begins with. */
static void
head_write (const struct sheet *sheet)
{
  sheet_period_write (sheet);
  json_text (json_key (sheet->json, "error"), sheet->now->error);
}

static void
group_write (struct json *json, const struct report_group *pair, size_t *searched)
{
  struct sheet sheet = sheet_of (json, pair, searched);

  json_object (json_key (json, sheet.group->name));
  head_write (&sheet);
  node_values_write (&sheet);
  if (is_set (sheet.group->rows_name))
    rows_write (&sheet);
  json_object_end (json);
}

bool
selection_shows (const struct selection *selection, size_t i)
{
  const struct table *now = selection->groups[i].now;

  return now != NULL && (selection->only == NULL || selection->only (selection->context, now->group->name));
}

bool
selection_same_section (const struct selection *selection, size_t one, size_t other)
{
  const char *a = selection->groups[one].now->group->section, *b = selection->groups[other].now->group->section;

  return a == b || strcmp (a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/* Searches from the last group on: groups of a section are mostly neighbours. */
static bool
section_is_written (const struct selection *selection, size_t i)
{
  for (size_t j = i; j-- > 0;)
    if (selection_shows (selection, j) && selection_same_section (selection, i, j))
      return true;
  return false;
}

/* ---- jobs: the other way round, a row of all groups together ---- */

/* A group of the jobs' section. */
struct job_sheet {
  struct sheet sheet;
  struct report_search then; /* of its rows in the table before */
  size_t expected;           /* row of the next job */
  bool *written;             /* for each row */
};

/* The row of a job that is not written yet; SIZE_MAX: none. */
static size_t
job_row (struct job_sheet *jobs, const char *label, size_t length)
{
  const struct table *now = jobs->sheet.now;
  size_t found = report_row_find (now, label, length, jobs->expected, jobs->sheet.searched);

  if (found == SIZE_MAX || jobs->written[found])
    return SIZE_MAX;
  jobs->expected = found + 1;
  return found;
}

static void
job_group_write (struct job_sheet *jobs, size_t row)
{
  const struct sheet *sheet = &jobs->sheet;

  jobs->written[row] = true;
  json_object (json_key (sheet->json, sheet->group->name));
  head_write (sheet);
  row_values_write (sheet, row, report_row_before (sheet->now, sheet->before, row, &jobs->then), NULL);
  json_object_end (sheet->json);
}

/* Writes the job of a row, with the later groups' rows of that job. The first error of its groups is the job's. */
static void
job_write (struct job_sheet *jobs, size_t count, size_t row)
{
  struct json *json = jobs->sheet.json;
  size_t length, rows[SCHEMA_GROUPS_MAX];
  const char *label = table_label (jobs->sheet.now, row, &length), *error = "";

  for (size_t i = 0; i < count; i++) {
    rows[i] = i == 0 ? row : job_row (&jobs[i], label, length);
    if (rows[i] != SIZE_MAX && !*error)
      error = jobs[i].sheet.now->error;
  }
  json_object (json);
  json_text_n (json_key (json, "job_id"), label, length);
  json_text (json_key (json, "error"), error);
  json_object (json_key (json, "report"));
  for (size_t i = 0; i < count; i++)
    if (rows[i] != SIZE_MAX)
      job_group_write (&jobs[i], rows[i]);
  json_object_end (json);
  json_object_end (json);
}

/* Writes the error of groups that have no rows. */
static void
job_error_write (struct json *json, const struct job_sheet *jobs, size_t count)
{
  size_t i = 0;

  while (i < count && (jobs[i].sheet.now->rows != 0 || !*jobs[i].sheet.now->error))
    i++;
  if (i == count)
    return;
  json_object (json);
  json_null (json_key (json, "job_id"));
  json_text (json_key (json, "error"), jobs[i].sheet.now->error);
  json_object (json_key (json, "report"));
  json_object_end (json);
  json_object_end (json);
}

static void
jobs_write (struct json *json, const struct selection *selection, size_t first, size_t *searched)
{
  struct job_sheet jobs[SCHEMA_GROUPS_MAX];
  size_t count = 0, rows = 0;
  bool *written;

  for (size_t i = first; i < selection->count && count < SCHEMA_GROUPS_MAX; i++)
    if (selection_shows (selection, i) && selection_same_section (selection, first, i)) {
      jobs[count++] = (struct job_sheet){ .sheet = sheet_of (json, &selection->groups[i], searched),
                                          .then = { .searched = searched } };
      rows += selection->groups[i].now->rows;
    }
  written = memory_new (rows, sizeof *written);
  for (size_t i = 0, before = 0; i < count; before += jobs[i++].sheet.now->rows)
    jobs[i].written = written + before;

  json_array (json);
  for (size_t i = 0; i < count; i++)
    for (size_t row = 0; row < jobs[i].sheet.now->rows; row++)
      if (!jobs[i].written[row])
        job_write (&jobs[i], count - i, row);
  job_error_write (json, jobs, count);
  json_array_end (json);
  free (written);
}

void
report_write (struct json *json, const struct report_group *groups, size_t count,
              bool (*only) (const void *context, const char *group), const void *context)
{
  struct selection selection = { groups, count, only, context };
  size_t searched = 0;

  for (size_t i = 0; i < count; i++) {
    if (!selection_shows (&selection, i))
      continue;
    if (!is_set (groups[i].now->group->section)) {
      group_write (json, &groups[i], &searched);
      continue;
    }
    if (section_is_written (&selection, i))
      continue;
    json_key (json, groups[i].now->group->section);
    if (strcmp (groups[i].now->group->section, REPORT_JOBS) == 0) {
      jobs_write (json, &selection, i, &searched);
      continue;
    }
    if (strcmp (groups[i].now->group->section, REPORT_RUNTIMES) == 0) {
      report_runtimes_write (json, &selection, i, &searched);
      continue;
    }
    json_object (json);
    for (size_t j = i; j < count; j++)
      if (selection_shows (&selection, j) && selection_same_section (&selection, i, j))
        group_write (json, &groups[j], &searched);
    json_object_end (json);
  }
}
