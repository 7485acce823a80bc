/* Writes the runtimes of accelerators in the shape of neuron-monitor: a runtime of all groups together; see report.h.
 *
 * In each table the rows of a runtime are neighbours. Rows of it behind another runtime's count as a new runtime: a
 * node that sends rows in disorder must not cause a search. */
#include <stdlib.h>
#include <string.h>

#include "common/data/report_private.h"
#include "synop/memory.h"
#include "synop/schema.h"

#define SEARCH_MAX (UINT32_C (1) << 20) /* rows compared in a frame, beside those at their expected place */

/* A group of the section. */
struct runtime_sheet {
  struct sheet sheet;
  struct report_search then; /* of its rows in the table before */
  size_t next;               /* the first row after the last that was written */
  bool *written;             /* for each row */
  size_t error;              /* column of REPORT_ROW_ERROR; SIZE_MAX: none */
  bool direct;               /* its rows are runtimes, without parts */
};

/* The rows of a runtime in a table: from `first` until `end`; none when they are equal. */
struct run {
  size_t first, end;
};

static const char *
runtime_of (const struct table *table, size_t row, size_t *length)
{
  size_t whole;
  const char *label = table_label (table, row, &whole), *slash = memchr (label, '/', whole);

  *length = slash ? (size_t) (slash - label) : whole;
  return label;
}

static bool
row_is_of (const struct runtime_sheet *sheet, size_t row, const char *runtime, size_t length)
{
  size_t have;
  const char *label = runtime_of (sheet->sheet.now, row, &have);

  return !sheet->written[row] && have == length && memcmp (label, runtime, length) == 0;
}

static struct run
run_find (struct runtime_sheet *sheet, const char *runtime, size_t length)
{
  size_t rows = sheet->sheet.now->rows, first = sheet->next, end;

  if (first >= rows || !row_is_of (sheet, first, runtime, length)) {
    if (*sheet->sheet.searched > SEARCH_MAX)
      return (struct run){ 0, 0 };
    *sheet->sheet.searched += rows;
    for (first = 0; first < rows && !row_is_of (sheet, first, runtime, length);)
      first++;
  }
  for (end = first; end < rows && row_is_of (sheet, end, runtime, length); end++)
    sheet->written[end] = true;
  if (end > first)
    sheet->next = end;
  return (struct run){ first, end };
}

/* Writes the members of a row, without its error. */
static void
values_write (struct runtime_sheet *own, size_t row)
{
  const struct sheet *sheet = &own->sheet;
  size_t then = report_row_before (sheet->now, sheet->before, row, &own->then);

  for (size_t i = 0; i < sheet->group->metric_count; i++) {
    const struct metric *metric = &sheet->group->metrics[i];

    if ((metric->flags & METRIC_OF_NODE) != 0 || i == own->error)
      continue;

    struct value value = report_value (metric, table_get (sheet->now, row, i),
                                       then == SIZE_MAX ? NULL : table_get (sheet->before, then, i), sheet->elapsed_ns);

    json_key (sheet->json, metric->name);
    sheet_value_write (sheet, metric, &value);
  }
}

/* The first error of the rows, else the table's. */
static void
error_write (const struct runtime_sheet *own, struct run run)
{
  const struct table *now = own->sheet.now;

  json_key (own->sheet.json, "error");
  for (size_t row = run.first; own->error != SIZE_MAX && row < run.end; row++) {
    const struct value *value = table_get (now, row, own->error);
    size_t length;

    if (value->type == VALUE_TEXT) {
      const char *text = table_text (now, value, &length);

      json_text_n (own->sheet.json, text, length);
      return;
    }
  }
  json_text (own->sheet.json, now->error);
}

/* A row of the runtime itself, among rows of parts, has only an error. */
static void
parts_write (struct runtime_sheet *own, struct run run)
{
  struct json *json = own->sheet.json;

  json_object (json_key (json, own->sheet.group->rows_name));
  for (size_t row = run.first; row < run.end; row++) {
    size_t whole, length;
    const char *label = table_label (own->sheet.now, row, &whole);

    runtime_of (own->sheet.now, row, &length);
    if (length == whole)
      continue;
    json_object (json_key_n (json, label + length + 1, whole - length - 1));
    values_write (own, row);
    json_object_end (json);
  }
  json_object_end (json);
}

static void
group_write (struct runtime_sheet *own, struct run run)
{
  struct json *json = own->sheet.json;

  json_object (json_key (json, own->sheet.group->name));
  sheet_period_write (&own->sheet);
  error_write (own, run);
  if (own->direct)
    values_write (own, run.first);
  else
    parts_write (own, run);
  json_object_end (json);
}

static void
runtime_write (struct runtime_sheet *sheets, size_t count, const char *runtime, size_t length)
{
  struct json *json = sheets[0].sheet.json;
  struct run runs[SCHEMA_GROUPS_MAX];
  size_t info = SIZE_MAX;

  for (size_t i = 0; i < count; i++) {
    runs[i] = run_find (&sheets[i], runtime, length);
    if (runs[i].first < runs[i].end && strcmp (sheets[i].sheet.group->name, REPORT_RUNTIME_INFO) == 0)
      info = i;
  }
  json_object (json);
  json_text_n (json_key (json, "runtime"), runtime, length);
  if (info != SIZE_MAX) {
    values_write (&sheets[info], runs[info].first);
    error_write (&sheets[info], runs[info]);
  } else {
    json_text (json_key (json, "error"), "");
  }
  json_object (json_key (json, "report"));
  for (size_t i = 0; i < count; i++)
    if (i != info && runs[i].first < runs[i].end)
      group_write (&sheets[i], runs[i]);
  json_object_end (json);
  json_object_end (json);
}

/* Writes the error of groups that have no rows. */
static void
nothing_write (struct json *json, const struct runtime_sheet *sheets, size_t count)
{
  size_t i = 0;

  while (i < count && (sheets[i].sheet.now->rows != 0 || !*sheets[i].sheet.now->error))
    i++;
  if (i == count)
    return;
  json_object (json);
  json_null (json_key (json, "runtime"));
  json_text (json_key (json, "error"), sheets[i].sheet.now->error);
  json_object (json_key (json, "report"));
  json_object_end (json);
  json_object_end (json);
}

static struct runtime_sheet
sheet_make (struct json *json, const struct report_group *pair, size_t *searched)
{
  const struct group *group = pair->now->group;
  struct runtime_sheet sheet = { .sheet = sheet_of (json, pair, searched),
                                 .then = { .searched = searched },
                                 .error = SIZE_MAX,
                                 .direct = group->row && strcmp (group->row, REPORT_RUNTIME_ROW) == 0 };

  for (size_t i = 0; i < group->metric_count; i++)
    if (group->metrics[i].kind == TEXT && strcmp (group->metrics[i].name, REPORT_ROW_ERROR) == 0)
      sheet.error = i;
  return sheet;
}

void
report_runtimes_write (struct json *json, const struct selection *selection, size_t first, size_t *searched)
{
  struct runtime_sheet sheets[SCHEMA_GROUPS_MAX];
  size_t count = 0, rows = 0;
  bool *written;

  for (size_t i = first; i < selection->count && count < SCHEMA_GROUPS_MAX; i++)
    if (selection_shows (selection, i) && selection_same_section (selection, first, i)) {
      sheets[count++] = sheet_make (json, &selection->groups[i], searched);
      rows += selection->groups[i].now->rows;
    }
  written = memory_new (rows, sizeof *written);
  for (size_t i = 0, before = 0; i < count; before += sheets[i++].sheet.now->rows)
    sheets[i].written = written + before;

  json_array (json);
  for (size_t i = 0; i < count; i++)
    for (size_t row = 0; row < sheets[i].sheet.now->rows; row++)
      if (!sheets[i].written[row]) {
        size_t length;
        const char *runtime = runtime_of (sheets[i].sheet.now, row, &length);

        sheets[i].next = row;
        runtime_write (sheets, count, runtime, length);
      }
  nothing_write (json, sheets, count);
  json_array_end (json);
  free (written);
}
