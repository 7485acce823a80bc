/* Rows of folders, columns of files; see folder_rows.h. */
#include "agent/groups/folder_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/source/parse.h"
#include "synop/file.h"
#include "synop/globs.h"
#include "synop/memory.h"

#define TEXT_MAX 256
#define ALL_SAMPLES 6 /* one sample in so many reads all files */

struct folder_rows *
folder_rows_create (const struct folder_rows_type *type, const char *root)
{
  struct folder_rows *rows = memory_new (1, sizeof *rows);

  rows->type = type;
  rows->root = memory_string (root);
  folder_watch_init (&rows->watch, root, type->folder);
  table_init (&rows->last, type->group);
  return rows;
}

void
folder_rows_destroy (void *state)
{
  struct folder_rows *rows = state;

  folder_watch_free (&rows->watch);
  names_free (&rows->names);
  table_free (&rows->last);
  free (rows->root);
  free (rows);
}

static void
names_look (struct folder_rows *rows)
{
  if (folder_changed (&rows->watch))
    names_read (&rows->names, rows->type->prefix, rows->root, "%s", rows->type->folder);
}

/* Whether there is a row. A folder without the file of the group's first metric is none. */
bool
folder_rows_may_block (void *state)
{
  struct folder_rows *rows = state;
  char path[1024];

  names_look (rows);
  for (size_t i = 0; i < rows->names.count; i++) {
    snprintf (path, sizeof path, "%s%s/%s/%s", rows->root, rows->type->folder, rows->names.list[i],
              rows->type->group->metrics[0].source);
    if (access (path, F_OK) == 0)
      return true;
  }
  return false;
}

static bool
folder_rows_read_file (const struct folder_rows *rows, const char *name, const struct metric *metric,
                       char text[TEXT_MAX])
{
  return fact_text (text, TEXT_MAX, rows->root, "%s/%s/%s", rows->type->folder, name, metric->source);
}

/* "12", "-1", "0x1003". */
static bool
number_read (const char *text, enum metric_kind kind, struct value *value)
{
  struct scan scan = scan_over (text, strlen (text));

  if (scan_prefix (&scan, "0x")) {
    value->type = VALUE_UINT;
    return scan_hex (&scan, &value->as.u) && scan_length (&scan) == 0;
  }
  return scan_value (&scan, kind, value) && value->type != VALUE_MISSING && scan_length (&scan) == 0;
}

static void
value_set (const struct folder_rows *rows, const char *name, size_t column, const char *text, struct table *table,
           size_t row)
{
  const struct metric *metric = &rows->type->group->metrics[column];
  struct value value;

  if (metric->kind == TEXT)
    table_set_text (table, row, column, text, strlen (text));
  else if (number_read (text, metric->kind, &value))
    *table_value (table, row, column) = value;
  else
    table_complain (table, "%s%s/%s/%s: %s", rows->root, rows->type->folder, name, metric->source,
                    file_error_text (EBADMSG));
}

static void
value_keep (const struct folder_rows *rows, size_t column, struct table *table, size_t row, size_t last)
{
  const struct value *value = table_get (&rows->last, last, column);
  size_t length;

  if (value->type == VALUE_TEXT)
    table_set_text (table, row, column, table_text (&rows->last, value, &length), value->length);
  else
    *table_value (table, row, column) = *value;
}

/* Has the first metric, a text or a number, changed since all files were read? */
static bool
is_changed (const struct folder_rows *rows, const struct table *table, size_t row, size_t last)
{
  const struct value *now = table_get (table, row, 0), *then = table_get (&rows->last, last, 0);
  size_t length, before;

  if (now->type != then->type || now->type != VALUE_TEXT)
    return now->type != then->type || now->as.u != then->as.u;
  const char *text = table_text (table, now, &length), *old = table_text (&rows->last, then, &before);
  return length != before || memcmp (text, old, length) != 0;
}

/* False: all files have to be read. */
static bool
row_sample (const struct folder_rows *rows, const char *name, bool all, struct table *table)
{
  const struct group *group = rows->type->group;
  const char *label = name + rows->type->skip;
  size_t row, last = SIZE_MAX;
  char text[TEXT_MAX];

  if (!folder_rows_read_file (rows, name, &group->metrics[0], text))
    return true;
  row = table_add_row (table, label, strlen (label));
  if (row == SIZE_MAX)
    return true;
  value_set (rows, name, 0, text, table, row);
  if (!all)
    last = table_find_row (&rows->last, label, strlen (label), row);
  if (!all && (last == SIZE_MAX || is_changed (rows, table, row, last)))
    return false;
  for (size_t i = 1; i < group->metric_count; i++)
    if (!all && i >= rows->type->live)
      value_keep (rows, i, table, row, last);
    else if (group->metrics[i].source && folder_rows_read_file (rows, name, &group->metrics[i], text))
      value_set (rows, name, i, text, table, row);
  return true;
}

static bool
rows_sample (const struct folder_rows *rows, const char *exclude, bool all, struct table *table)
{
  table_begin (table);
  for (size_t i = 0; i < rows->names.count; i++)
    if (!globs_list_matches (exclude, rows->names.list[i]) && !row_sample (rows, rows->names.list[i], all, table))
      return false;
  return true;
}

void
folder_rows_sample (struct folder_rows *rows, const char *exclude, struct table *table)
{
  names_look (rows);
  if (rows->age > 0 && rows_sample (rows, exclude, false, table)) {
    rows->age = (rows->age + 1) % ALL_SAMPLES;
    return;
  }
  rows_sample (rows, exclude, true, table);
  table_copy (&rows->last, table);
  rows->age = table->error[0] ? 0 : 1; /* after an error all files are read again */
}

int
folder_rows_sample_all (void *state, struct table *table)
{
  folder_rows_sample (state, "", table);
  return 0;
}
