/* CSV and JSON: a folder with a file for each table. A file is open only while some of it is written, since there may be more
 * of them than a process may have open.
 *
 * CSV: RFC 4180; what is missing is empty. A text that a spreadsheet would take for a formula has an apostrophe before it.
 * Beside GROUP.csv lies GROUP.units.json, {"rx_bytes":"bytes",...}, of the columns that have a unit.
 * JSON: {"schema":{"fields":[{"name","type","unit"}...],"pandas_version"},"data":[{...}...]}, a Table Schema as
 * pandas.read_json (path, orient="table") reads it; a row a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/command/export.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define WAITING_MAX ((size_t) 16 * 1024 * 1024) /* bytes that wait in all tables together, */
#define WRITE_AT 65536                          /* and in one of few tables */
#define FORMULA "=+-@\t\r"                      /* characters with which one begins */

struct folder {
  char *path;
  bool made;           /* by us */
  struct buffer files; /* paths of those that were made, each with its NUL */
  size_t tables;
};

struct text_table {
  struct folder *folder;
  char *path, *name;
  const struct group *group;
  struct json json; /* rows that wait */
  uint64_t rows;
};

static void *
folder_create (const char *path, struct error *error)
{
  struct folder *folder;
  bool made = mkdir (path, 0777) == 0;

  if (!made && errno != EEXIST) {
    error_set (error, "%s: %s", path, strerror (errno));
    return NULL;
  }
  folder = memory_new (1, sizeof *folder);
  folder->path = memory_string (path);
  folder->made = made;
  return folder;
}

static int
folder_destroy (void *context, bool whole, struct error *error)
{
  struct folder *folder = context;

  (void) error;
  for (size_t at = 0; !whole && at < folder->files.length; at += strlen (folder->files.data + at) + 1)
    unlink (folder->files.data + at);
  if (!whole && folder->made)
    rmdir (folder->path);
  buffer_free (&folder->files);
  free (folder->path);
  free (folder);
  return 0;
}

static int
text_table_fail (const struct text_table *table, struct error *error)
{
  return error_set (error, "%s: %s", table->path, strerror (errno));
}

static int
write_out (struct text_table *table, struct error *error)
{
  size_t length = table->json.out.length;
  FILE *file = length ? fopen (table->path, "r+e") : NULL; /* it exists */
  bool written;

  if (length == 0)
    return 0;
  if (!file)
    return text_table_fail (table, error);
  written = fseeko (file, 0, SEEK_END) == 0 && fwrite (table->json.out.data, 1, length, file) == length;
  if (!written)
    text_table_fail (table, error);
  if (fclose (file) != 0 && written) {
    text_table_fail (table, error);
    written = false;
  }
  json_clear (&table->json);
  return written ? 0 : -1;
}

/* Writes the waiting rows when they are many; the more tables, the sooner. */
static int
write_full (struct text_table *table, struct error *error)
{
  size_t at = WAITING_MAX / table->folder->tables;

  return table->json.out.length < (at < WRITE_AT ? at : WRITE_AT) ? 0 : write_out (table, error);
}

static void
text_table_free (struct text_table *table)
{
  json_free (&table->json);
  free (table->path);
  free (table->name);
  free (table);
}

static struct text_table *
table_create (struct folder *folder, const char *name, const char *ending, const struct group *group,
              struct error *error)
{
  struct text_table *table = memory_new (1, sizeof *table);
  FILE *file;

  table->folder = folder;
  table->name = memory_string (name);
  table->path = memory_format ("%s/%s.%s", folder->path, name, ending);
  table->group = group;
  file = fopen (table->path, "wxe");
  if (file && fclose (file) == 0) {
    buffer_add (&folder->files, table->path, strlen (table->path) + 1);
    folder->tables++;
    return table;
  }
  text_table_fail (table, error);
  text_table_free (table);
  return NULL;
}

/* Both files are our own. */
static int
table_swap_names (void *one, void *other, struct error *error)
{
  struct text_table *table = one, *with = other;
  char *aside = memory_format ("%s.%ld", table->path, (long) getpid ()), *path = table->path, *name = table->name;
  int result = 0;

  if (rename (table->path, aside) < 0 || rename (with->path, table->path) < 0 || rename (aside, with->path) < 0)
    result = text_table_fail (table, error);
  table->path = with->path;
  with->path = path;
  table->name = with->name;
  with->name = name;
  free (aside);
  return result;
}

static int
table_destroy (struct text_table *table, struct error *error)
{
  int result = write_out (table, error);

  text_table_free (table);
  return result;
}

/* ---- CSV ---- */

static void
csv_text (struct buffer *out, const char *text, size_t length)
{
  bool quoted = false, formula = length && memchr (FORMULA, text[0], sizeof FORMULA - 1);

  for (size_t i = 0; i < length && !quoted; i++)
    quoted = strchr (",\"\r\n", text[i]) != NULL;
  if (!quoted) {
    buffer_add_string (out, formula ? "'" : "");
    buffer_add (out, text, length);
    return;
  }
  buffer_add_string (out, formula ? "\"'" : "\"");
  for (size_t i = 0; i < length; i++)
    buffer_add (out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
  buffer_add (out, "\"", 1);
}

static void *
csv_begin (void *folder, const char *name, const struct group *group, struct error *error)
{
  struct text_table *table = table_create (folder, name, "csv", group, error);
  struct buffer *out;

  if (!table)
    return NULL;
  out = &table->json.out;
  for (size_t i = 0; i < export_columns (group); i++) {
    struct export_column column = export_column (group, i);
    if (i)
      buffer_add (out, ",", 1);
    csv_text (out, column.name, strlen (column.name));
  }
  buffer_add (out, "\n", 1);
  return table;
}

static int
csv_row (void *context, const struct export_row *row, struct error *error)
{
  struct text_table *table = context;
  struct json *json = &table->json;
  struct buffer *out = &json->out;
  char time[CLOCK_TEXT_SIZE];

  buffer_add (out, time, clock_text (row->time_ns, time));
  buffer_add (out, ",", 1);
  csv_text (out, row->node, strlen (row->node));
  if (export_has_label (table->group)) {
    buffer_add (out, ",", 1);
    csv_text (out, row->label ? row->label : "", row->label ? row->label_length : 0);
  }
  buffer_add (out, ",", 1);
  json->comma = false;
  if (row->period_ns)
    json_real_places (json, (double) row->period_ns / NS_PER_S, 9);
  buffer_add (out, ",", 1);
  csv_text (out, row->table->error, strlen (row->table->error));
  for (size_t i = 0; i < table->group->metric_count; i++) {
    const struct value *value = &row->values[i];
    size_t length;
    const char *text;
    buffer_add (out, ",", 1);
    json->comma = false;
    if (value->type == VALUE_TEXT) {
      text = table_text (row->table, value, &length);
      csv_text (out, text, length);
    } else if (value->type != VALUE_MISSING) {
      report_number_write (json, &table->group->metrics[i], value);
    }
  }
  buffer_add (out, "\n", 1);
  return write_full (table, error);
}

/* By now the table has its final name. */
static int
write_units (const struct text_table *table, struct error *error)
{
  struct text_table *units = table_create (table->folder, table->name, "units.json", table->group, error);

  if (!units)
    return -1;
  json_object (&units->json);
  for (size_t i = 0; i < export_columns (table->group); i++) {
    struct export_column column = export_column (table->group, i);
    if (*column.unit)
      json_text (json_key (&units->json, column.name), column.unit);
  }
  json_object_end (&units->json);
  buffer_add_string (&units->json.out, "\n");
  return table_destroy (units, error);
}

static int
csv_end (void *table, struct error *error)
{
  struct error later;
  int units = write_units (table, error), result = table_destroy (table, units < 0 ? &later : error);

  return units < 0 ? units : result;
}

const struct export_format export_csv = {
  folder_create, csv_begin, csv_row, table_swap_names, csv_end, folder_destroy
};

/* ---- JSON ---- */

/* "number" for all numbers: pandas has no column of integers with a hole. */
static const char *
field_type (const struct group *group, size_t column)
{
  size_t fixed = export_columns (group) - group->metric_count;

  if (column == 0)
    return "datetime";
  if (column < fixed)
    return column == fixed - 2 ? "number" : "string";
  return group->metrics[column - fixed].kind == TEXT ? "string" : "number";
}

static void *
json_begin (void *folder, const char *name, const struct group *group, struct error *error)
{
  struct text_table *table = table_create (folder, name, "json", group, error);
  struct json *json;

  if (!table)
    return NULL;
  json = &table->json;
  json_object (json);
  json_object (json_key (json, "schema"));
  json_array (json_key (json, "fields"));
  for (size_t i = 0; i < export_columns (group); i++) {
    struct export_column column = export_column (group, i);
    json_object (json);
    json_text (json_key (json, "name"), column.name);
    json_text (json_key (json, "type"), field_type (group, i));
    if (i == 0)
      json_text (json_key (json, "tz"), "UTC");
    if (*column.unit)
      json_text (json_key (json, "unit"), column.unit);
    json_object_end (json);
  }
  json_array_end (json);
  json_text (json_key (json, "pandas_version"), "1.4.0");
  json_object_end (json);
  json_array (json_key (json, "data"));
  return table;
}

static void
json_member (struct text_table *table, size_t *column)
{
  json_key (&table->json, export_column (table->group, (*column)++).name);
}

static int
json_row (void *context, const struct export_row *row, struct error *error)
{
  struct text_table *table = context;
  struct json *json = &table->json;
  size_t column = 0, length;

  json->comma = false;
  buffer_add_string (&json->out, table->rows++ ? ",\n" : "\n");
  json_object (json);
  json_member (table, &column);
  json_time (json, row->time_ns);
  json_member (table, &column);
  json_text (json, row->node);
  if (export_has_label (table->group)) {
    json_member (table, &column);
    if (row->label)
      json_text_n (json, row->label, row->label_length);
    else
      json_null (json);
  }
  json_member (table, &column);
  if (row->period_ns)
    json_real_places (json, (double) row->period_ns / NS_PER_S, 9);
  else
    json_null (json);
  json_member (table, &column);
  json_text (json, row->table->error);
  for (size_t i = 0; i < table->group->metric_count; i++) {
    const struct value *value = &row->values[i];
    json_member (table, &column);
    if (value->type == VALUE_TEXT) {
      const char *text = table_text (row->table, value, &length);
      json_text_n (json, text, length);
    } else {
      report_number_write (json, &table->group->metrics[i], value);
    }
  }
  json_object_end (json);
  return write_full (table, error);
}

static int
json_end (void *context, struct error *error)
{
  struct text_table *table = context;

  buffer_add_string (&table->json.out, "\n]}\n");
  return table_destroy (table, error);
}

const struct export_format export_json = { folder_create,    json_begin, json_row,
                                           table_swap_names, json_end,   folder_destroy };
