/* CSV and JSON: a folder with a file for each table.
 *
 * CSV: RFC 4180; what is missing is empty. A text that a spreadsheet would take for a formula has an apostrophe before it.
 * Beside GROUP.csv lies GROUP.units.json, {"rx_bytes":"bytes",...}, of the columns that have a unit.
 * JSON: {"schema":{"fields":[{"name","type","unit"}...],"pandas_version"},"data":[{...}...]}, a Table Schema as
 * pandas.read_json (path, orient="table") reads it; a row a line. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/command/export.h"
#include "aggregator/command/export_folder.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define WAITING_MAX ((size_t) 16 * 1024 * 1024) /* bytes that wait in all tables together, */
#define WRITE_AT 65536                          /* and in one of few tables */
#define FORMULA "=+-@\t\r"                      /* characters with which one begins */

struct text_table {
  struct export_file *file;
  const struct group *group;
  struct json json; /* rows that wait */
  uint64_t rows;
};

static void *
folder_create (const char *path, struct error *error)
{
  return export_folder_create (path, error);
}

static int
folder_destroy (void *folder, bool whole, struct error *error)
{
  return export_folder_destroy (folder, whole, error);
}

static int
write_out (struct text_table *table, struct error *error)
{
  int result = export_file_add (table->file, table->json.out.data, table->json.out.length, error);

  json_clear (&table->json);
  return result;
}

/* Writes the waiting rows when they are many; the more tables, the sooner. */
static int
write_full (struct text_table *table, struct error *error)
{
  size_t at = WAITING_MAX / export_folder_files (table->file->folder);

  return table->json.out.length < (at < WRITE_AT ? at : WRITE_AT) ? 0 : write_out (table, error);
}

static struct text_table *
table_create (struct export_folder *folder, const char *name, const char *ending, const struct group *group,
              struct error *error)
{
  struct export_file *file = export_file_create (folder, name, ending, error);
  struct text_table *table;

  if (!file)
    return NULL;
  table = memory_new (1, sizeof *table);
  table->file = file;
  table->group = group;
  return table;
}

static int
table_swap_names (void *one, void *other, struct error *error)
{
  struct text_table *table = one, *with = other;

  (void) error;
  export_file_swap (table->file, with->file);
  return 0;
}

static int
table_destroy (struct text_table *table, bool whole, struct error *error)
{
  int result = whole ? write_out (table, error) : 0;

  json_free (&table->json);
  free (table);
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
  struct text_table *units = table_create (table->file->folder, table->file->name, "units.json", table->group, error);

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
  return table_destroy (units, true, error);
}

static int
csv_end (void *table, bool whole, struct error *error)
{
  bool units = whole && write_units (table, error) == 0;

  return table_destroy (table, units, error) == 0 && units == whole ? 0 : -1;
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
json_end (void *context, bool whole, struct error *error)
{
  struct text_table *table = context;

  buffer_add_string (&table->json.out, "\n]}\n");
  return table_destroy (table, whole, error);
}

const struct export_format export_json = { folder_create,    json_begin, json_row,
                                           table_swap_names, json_end,   folder_destroy };
