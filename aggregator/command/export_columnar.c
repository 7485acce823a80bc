/* Parquet and Arrow: a folder with a file for each table; see aggregator/columnar/columnar.h.
 *
 * Types come from what a metric is, so that a table has the same ones whatever its values: counters are integers, unless
 * they are shown as shares or means; gauges are doubles; gauges of 0 and 1 that no fold adds up are booleans; texts are
 * texts. What is missing is null, also the error of a sample that has none. A counter over 2^63 - 1, which nothing reaches,
 * is missing. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/columnar/columnar.h"
#include "aggregator/command/export.h"
#include "aggregator/command/export_folder.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct output {
  struct export_folder *folder;
  struct columnar_pool *pool;
  const char *ending;
};

struct columnar_table {
  struct export_file *file;
  struct columnar *columnar;
  const struct group *group;
  enum columnar_type *types; /* of the metrics */
  struct columnar_cell *cells;
};

static void *
output_create (const char *path, const struct columnar_form *form, const char *ending, struct error *error)
{
  struct export_folder *folder = export_folder_create (path, error);
  struct output *output;

  if (!folder)
    return NULL;
  output = memory_new (1, sizeof *output);
  *output = (struct output){ folder, columnar_pool_create (form), ending };
  return output;
}

static void *
parquet_create (const char *path, struct error *error)
{
  return output_create (path, &columnar_parquet, "parquet", error);
}

static void *
arrow_create (const char *path, struct error *error)
{
  return output_create (path, &columnar_arrow, "arrow", error);
}

static int
output_destroy (void *context, bool whole, struct error *error)
{
  struct output *output = context;
  int result = export_folder_destroy (output->folder, whole, error);

  columnar_pool_destroy (output->pool);
  free (output);
  return result;
}

/* ---- columns ---- */

static enum columnar_type
metric_type (const struct metric *metric)
{
  if (metric->kind == TEXT)
    return COLUMNAR_TEXT;
  if (metric->kind == COUNTER)
    return metric->flags & METRIC_SHARE || metric->per > 1 || metric->fold == FOLD_MEAN ? COLUMNAR_DOUBLE
                                                                                        : COLUMNAR_INT64;
  return metric->unit == UNIT_BOOLEAN && metric->fold != FOLD_SUM && metric->fold != FOLD_MEAN ? COLUMNAR_BOOL
                                                                                               : COLUMNAR_DOUBLE;
}

/* The fixed columns are time, node, the label if there are rows, period and error. */
static enum columnar_type
fixed_type (size_t column, size_t fixed)
{
  return column == 0 ? COLUMNAR_TIME : column == fixed - 2 ? COLUMNAR_DOUBLE : COLUMNAR_TEXT;
}

static int
file_put (void *file, const void *bytes, size_t length, struct error *error)
{
  return export_file_add (file, bytes, length, error);
}

static void *
table_begin_writing (void *context, const char *name, const struct group *group, struct error *error)
{
  struct output *output = context;
  size_t count = export_columns (group), fixed = count - group->metric_count;
  struct export_file *file = export_file_create (output->folder, name, output->ending, error);
  struct columnar_column *columns;
  struct export_column *named;
  struct columnar_table *table;

  if (!file)
    return NULL;
  table = memory_new (1, sizeof *table);
  table->file = file;
  table->group = group;
  table->types = memory_new (group->metric_count, sizeof table->types[0]);
  table->cells = memory_new (count, sizeof table->cells[0]);
  columns = memory_new (count, sizeof columns[0]);
  named = memory_new (count, sizeof named[0]);
  for (size_t i = 0; i < count; i++) {
    const struct metric *metric = i < fixed ? NULL : &group->metrics[i - fixed];
    named[i] = export_column (group, i);
    columns[i] = (struct columnar_column){ .name = named[i].name,
                                           .type = metric ? metric_type (metric) : fixed_type (i, fixed),
                                           .label = i == 1, /* the node */
                                           .unit = named[i].unit,
                                           .help = metric ? metric->help : "" };
    if (metric)
      table->types[i - fixed] = columns[i].type;
  }
  table->columnar = columnar_create (output->pool, &(struct columnar_plan){ group->name, group->help, columns, count },
                                     &(struct columnar_sink){ file, file_put });
  free (columns);
  free (named);
  return table;
}

/* ---- rows ---- */

static struct columnar_cell
text_cell (const char *text, size_t length)
{
  return (struct columnar_cell){ .known = true, .length = (uint32_t) length, .as.text = text };
}

static struct columnar_cell
metric_cell (enum columnar_type type, const struct table *table, const struct value *value)
{
  const struct columnar_cell null = { .known = false };
  const char *text;
  size_t length;

  if (value->type == VALUE_MISSING || (value->type == VALUE_TEXT) != (type == COLUMNAR_TEXT))
    return null;
  switch (type) {
  case COLUMNAR_TEXT:
    text = table_text (table, value, &length);
    return text_cell (text, length);
  case COLUMNAR_INT64:
    if (value->type == VALUE_REAL || (value->type == VALUE_UINT && value->as.u > INT64_MAX))
      return null;
    return (struct columnar_cell){ .known = true, .as.whole = value->as.i };
  case COLUMNAR_BOOL:
    return (struct columnar_cell){ .known = true, .as.whole = value_number (value) != 0 };
  default:
    return (struct columnar_cell){ .known = true, .as.real = value_number (value) };
  }
}

static int
table_row (void *context, const struct export_row *row, struct error *error)
{
  struct columnar_table *table = context;
  struct columnar_cell *cell = table->cells;
  const char *fault = row->table->error;

  *cell++ = (struct columnar_cell){ .known = true, .as.whole = row->time_ns };
  *cell++ = text_cell (row->node, strlen (row->node));
  if (export_has_label (table->group))
    *cell++ = row->label ? text_cell (row->label, row->label_length) : (struct columnar_cell){ .known = false };
  *cell++ = (struct columnar_cell){ .known = row->period_ns != 0, .as.real = (double) row->period_ns / NS_PER_S };
  *cell++ = *fault ? text_cell (fault, strlen (fault)) : (struct columnar_cell){ .known = false };
  for (size_t i = 0; i < table->group->metric_count; i++)
    *cell++ = metric_cell (table->types[i], row->table, &row->values[i]);
  return columnar_add (table->columnar, table->cells, error);
}

static int
table_swap_names (void *one, void *other, struct error *error)
{
  struct columnar_table *table = one, *with = other;

  (void) error;
  export_file_swap (table->file, with->file);
  return 0;
}

static int
table_end (void *context, bool whole, struct error *error)
{
  struct columnar_table *table = context;
  int result = whole ? columnar_finish (table->columnar, error) : 0;

  columnar_destroy (table->columnar);
  free (table->types);
  free (table->cells);
  free (table);
  return result;
}

const struct export_format export_parquet = { parquet_create,   table_begin_writing, table_row,
                                              table_swap_names, table_end,           output_destroy };
const struct export_format export_arrow = { arrow_create,     table_begin_writing, table_row,
                                            table_swap_names, table_end,           output_destroy };
