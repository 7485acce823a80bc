/* One sample of one group.
 *
 * Values lie row by row in one array of 16-byte cells; labels and text values lie one behind the other in `text`, named
 * by offset, since that array moves when it grows. A zeroed cell is a missing value. */
#include "synop/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

/* A table that holds more than this many times what was in it last is made anew, unless it is small. */
#define KEEP_TIMES 4
#define KEEP_ROWS 1024
#define KEEP_TEXT (64 * 1024)

void
table_init (struct table *table, const struct group *group)
{
  *table = (struct table){ .group = group };
  table->node = memory_new (group->metric_count, sizeof *table->node);
}

void
table_free (struct table *table)
{
  free (table->node);
  free (table->cells);
  free (table->labels);
  free (table->text);
  *table = (struct table){ 0 };
}

/* Gives back what a far larger sample left behind. */
static void
table_shrink (struct table *table)
{
  if (table->row_capacity > KEEP_ROWS && table->row_capacity / KEEP_TIMES > table->rows) {
    free (table->labels);
    free (table->cells);
    table->labels = NULL;
    table->cells = NULL;
    table->row_capacity = 0;
  }
  if (table->text_capacity > KEEP_TEXT && table->text_capacity / KEEP_TIMES > table->text_length) {
    free (table->text);
    table->text = NULL;
    table->text_capacity = 0;
  }
}

size_t
table_bytes (const struct table *table)
{
  return table->group->metric_count * sizeof *table->node +
         table->row_capacity * (table->group->metric_count * sizeof *table->cells + sizeof *table->labels) +
         table->text_capacity;
}

bool
table_counts (const struct table *table)
{
  if (!table->error[0] || table->rows > 0)
    return true;
  for (size_t i = 0; i < table->group->metric_count; i++)
    if (table->node[i].type != VALUE_MISSING)
      return true;
  return false;
}

void
table_begin (struct table *table)
{
  table_shrink (table);
  table->rows = 0;
  table->text_length = 0;
  table->error[0] = 0;
  memset (table->node, 0, table->group->metric_count * sizeof *table->node);
}

static size_t
table_text_add (struct table *table, const char *text, size_t length)
{
  size_t offset = table->text_length;

  if (length > table->text_capacity - offset) {
    size_t capacity = table->text_capacity < 64 ? 64 : table->text_capacity;

    while (capacity < offset + length)
      capacity *= 2;
    table->text = memory_resize (table->text, capacity, 1);
    table->text_capacity = capacity;
  }
  if (length != 0)
    memcpy (table->text + offset, text, length);
  table->text_length += length;
  return offset;
}

static void
table_rows_reserve (struct table *table, size_t rows)
{
  size_t capacity = table->row_capacity < 4 ? 4 : table->row_capacity;

  while (capacity < rows)
    capacity *= 2;
  table->labels = memory_resize (table->labels, capacity, sizeof *table->labels);
  table->cells = memory_resize (table->cells, capacity * table->group->metric_count, sizeof *table->cells);
  table->row_capacity = capacity;
}

size_t
table_add_row (struct table *table, const char *label, size_t label_length)
{
  size_t row = table->rows;
  size_t columns = table->group->metric_count;

  if (row >= TABLE_ROWS_MAX) {
    snprintf (table->error, sizeof table->error, "more than %d rows", TABLE_ROWS_MAX);
    return SIZE_MAX;
  }
  if (label_length > TABLE_LABEL_MAX)
    label_length = TABLE_LABEL_MAX;
  if (row == table->row_capacity)
    table_rows_reserve (table, row + 1);
  table->labels[row].offset = (uint32_t) table_text_add (table, label, label_length);
  table->labels[row].length = (uint32_t) label_length;
  memset (table->cells + row * columns, 0, columns * sizeof *table->cells);
  table->rows = row + 1;
  return row;
}

const char *
table_label (const struct table *table, size_t row, size_t *length)
{
  assert (row < table->rows);
  *length = table->labels[row].length;
  return *length == 0 ? "" : table->text + table->labels[row].offset;
}

static bool
table_label_is (const struct table *table, size_t row, const char *label, size_t length)
{
  return table->labels[row].length == length &&
         (length == 0 || memcmp (table->text + table->labels[row].offset, label, length) == 0);
}

size_t
table_find_row (const struct table *table, const char *label, size_t length, size_t hint)
{
  if (hint >= table->rows)
    hint = 0;
  for (size_t row = hint; row < table->rows; row++)
    if (table_label_is (table, row, label, length))
      return row;
  for (size_t row = 0; row < hint; row++)
    if (table_label_is (table, row, label, length))
      return row;
  return SIZE_MAX;
}

struct value *
table_value (struct table *table, size_t row, size_t column)
{
  assert (column < table->group->metric_count);
  if (row == TABLE_NODE)
    return table->node + column;
  assert (row < table->rows);
  return table->cells + row * table->group->metric_count + column;
}

const struct value *
table_get (const struct table *table, size_t row, size_t column)
{
  return table_value ((struct table *) table, row, column);
}

void
table_set_uint (struct table *table, size_t row, size_t column, uint64_t value)
{
  *table_value (table, row, column) = (struct value){ .type = VALUE_UINT, .as.u = value };
}

void
table_set_int (struct table *table, size_t row, size_t column, int64_t value)
{
  *table_value (table, row, column) = (struct value){ .type = VALUE_INT, .as.i = value };
}

void
table_set_real (struct table *table, size_t row, size_t column, double value)
{
  struct value *cell = table_value (table, row, column);

  *cell = isnan (value) ? (struct value){ .type = VALUE_MISSING } : (struct value){ .type = VALUE_REAL, .as.d = value };
}

void
table_set_text (struct table *table, size_t row, size_t column, const char *text, size_t length)
{
  struct value *cell = table_value (table, row, column);

  if (length > TABLE_TEXT_MAX)
    length = TABLE_TEXT_MAX;
  *cell = (struct value){ .type = VALUE_TEXT,
                          .length = (uint32_t) length,
                          .as.offset = table_text_add (table, text, length) };
}

const char *
table_text (const struct table *table, const struct value *value, size_t *length)
{
  assert (value->type == VALUE_TEXT);
  *length = value->length;
  return *length == 0 ? "" : table->text + value->as.offset;
}

void
table_copy (struct table *to, const struct table *from)
{
  if (to == from)
    return;
  if (to->group != from->group) {
    table_free (to);
    table_init (to, from->group);
  }
  table_begin (to);
  to->monotonic_ns = from->monotonic_ns;
  to->sequence = from->sequence;
  to->period_ns = from->period_ns;
  memcpy (to->error, from->error, sizeof to->error);
  if (from->text_length != 0)
    table_text_add (to, from->text, from->text_length);
  if (from->rows > to->row_capacity)
    table_rows_reserve (to, from->rows);

  size_t columns = from->group->metric_count;

  memcpy (to->node, from->node, columns * sizeof *to->node);
  if (from->rows != 0) {
    memcpy (to->labels, from->labels, from->rows * sizeof *to->labels);
    memcpy (to->cells, from->cells, from->rows * columns * sizeof *to->cells);
  }
  to->rows = from->rows;
}

void
table_swap (struct table *one, struct table *other)
{
  struct table kept = *one;

  *one = *other;
  *other = kept;
}
