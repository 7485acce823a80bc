/* One sample of one group.
 *
 * Values are stored row by row in one array of 16-byte cells; labels one behind the other in `names`, text values in
 * `text`, both by offset, since these arrays move when they grow. A zeroed cell is a missing value.
 *
 * Labels mostly equal those of the sample before, in the same order: then each is compared with that one, and kept.
 * Only from the first that differs on they are looked up. */
#include "synop/table.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/labels.h"
#include "synop/memory.h"

/* A table with more memory than this many times its last content is allocated anew, unless it is small. */
#define KEEP_TIMES 4
#define KEEP_ROWS 1024
#define KEEP_TEXT (64 * 1024)

#define COMPLAINT_MORE (sizeof " (and 4294967295 more)") /* room for this behind the first complaint */

void
table_init (struct table *table, const struct group *group)
{
  *table = (struct table){ .group = group, .node_count = group->metric_count };
  while (table->node_count > 0 && (group->metrics[table->node_count - 1].flags & METRIC_OF_NODE) == 0)
    table->node_count--;
  table->node = memory_new (group->metric_count, sizeof *table->node);
}

void
table_free (struct table *table)
{
  free (table->node);
  free (table->cells);
  free (table->labels);
  free (table->names.data);
  free (table->text.data);
  label_set_destroy (table->seen);
  *table = (struct table){ 0 };
}

static bool
text_is_far_too_large (const struct table_text *text)
{
  return text->capacity > KEEP_TEXT && text->capacity / KEEP_TIMES > text->length;
}

static void
text_free (struct table_text *text)
{
  free (text->data);
  *text = (struct table_text){ 0 };
}

/* Frees memory that a far larger sample needed. */
static void
table_shrink (struct table *table)
{
  if ((table->row_capacity > KEEP_ROWS && table->row_capacity / KEEP_TIMES > table->rows) ||
      text_is_far_too_large (&table->names)) {
    free (table->labels);
    free (table->cells);
    text_free (&table->names);
    table->labels = NULL;
    table->cells = NULL;
    table->row_capacity = table->known = 0;
  }
  if (text_is_far_too_large (&table->text))
    text_free (&table->text);
}

size_t
table_bytes (const struct table *table)
{
  return table->group->metric_count * sizeof *table->node +
         table->row_capacity * (table->group->metric_count * sizeof *table->cells + sizeof *table->labels) +
         table->names.capacity + table->text.capacity + label_set_bytes (table->seen);
}

void
table_begin (struct table *table)
{
  table_shrink (table);
  label_set_destroy (table->seen);
  table->seen = NULL;
  table->rows = 0;
  table->text.length = 0;
  table->error[0] = 0;
  table->complaints = 0;
  memset (table->node, 0, table->node_count * sizeof *table->node);
}

int
table_complain (struct table *table, const char *format, ...)
{
  size_t room = sizeof table->error - COMPLAINT_MORE;
  va_list arguments;

  if (!table->error[0]) {
    va_start (arguments, format);
    vsnprintf (table->error, room, format, arguments);
    va_end (arguments);
    return -1;
  }
  if (table->complaints++ == 0)
    table->first_length = strnlen (table->error, room - 1);
  snprintf (table->error + table->first_length, COMPLAINT_MORE, " (and %u more)", table->complaints);
  return -1;
}

bool
table_has_values (const struct table *table)
{
  bool any = table->rows > 0;

  for (size_t i = 0; i < table->node_count && !any; i++)
    any = table->node[i].type != VALUE_MISSING;
  return any;
}

bool
table_is_comparable (const struct table *table)
{
  return !table->error[0] || table_has_values (table);
}

static size_t
text_add (struct table_text *text, const char *bytes, size_t length)
{
  size_t offset = text->length;

  if (length > text->capacity - offset || text->data == NULL) {
    size_t capacity = text->capacity < 64 ? 64 : text->capacity;

    while (capacity < offset + length)
      capacity *= 2;
    text->data = memory_resize (text->data, capacity, 1);
    text->capacity = capacity;
  }
  if (length != 0)
    memcpy (text->data + offset, bytes, length);
  text->length += length;
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
  label_set_destroy (table->seen); /* it is too small now */
  table->seen = NULL;
}

/* ---- labels ---- */

static bool
label_is (const struct table *table, size_t row, const char *label, size_t length)
{
  return table->labels[row].length == length &&
         memcmp (table->names.data + table->labels[row].offset, label, length) == 0;
}

/* The end of the labels of the first rows. */
static size_t
names_end (const struct table *table, size_t rows)
{
  return rows == 0 ? 0 : table->labels[rows - 1].offset + table->labels[rows - 1].length;
}

/* From the next row on, labels differ from the sample before. */
static void
labels_diverge (struct table *table)
{
  table->known = table->rows;
  table->names.length = names_end (table, table->rows);
  table->seen = label_set_create (table->row_capacity);
  for (size_t row = 0; row < table->rows; row++)
    label_set_add (table->seen, table->names.data, table->labels[row]);
}

/* Did the next row have that label in the sample before? */
static bool
label_is_known (const struct table *table, const char *label, size_t length)
{
  return table->rows < table->known && label_is (table, table->rows, label, length);
}

/* Gives the next row a label that it did not have before. False when another row has it. */
static bool
label_add (struct table *table, const char *label, size_t length)
{
  struct table_label *added;

  if (table->rows == table->row_capacity)
    table_rows_reserve (table, table->rows + 1);
  if (table->seen == NULL)
    labels_diverge (table);
  added = &table->labels[table->rows];
  added->offset = (uint32_t) text_add (&table->names, label, length);
  added->length = (uint32_t) length;
  if (!label_set_add (table->seen, table->names.data, *added)) {
    table->names.length = added->offset;
    return false;
  }
  table->known++;
  return true;
}

size_t
table_add_row (struct table *table, const char *label, size_t label_length)
{
  size_t row = table->rows;
  char mended[TABLE_LABEL_MAX];
  size_t columns = table->group->metric_count;
  bool known = label_is_known (table, label, label_length);

  if (row >= TABLE_ROWS_MAX) {
    snprintf (table->error, sizeof table->error, "more than %d rows", TABLE_ROWS_MAX);
    return SIZE_MAX;
  }
  if (!known && !label_is_sound (label, label_length)) {
    label_length = label_mend (mended, label, label_length);
    label = mended;
    known = label_is_known (table, label, label_length);
  }
  if (!known && !label_add (table, label, label_length)) {
    table_complain (table, "%s \"%.*s\" is there twice", table->group->row, (int) label_length, label);
    return SIZE_MAX;
  }
  memset (table->cells + row * columns, 0, columns * sizeof *table->cells);
  table->rows = row + 1;
  return row;
}

const char *
table_label (const struct table *table, size_t row, size_t *length)
{
  assert (row < table->rows);
  *length = table->labels[row].length;
  return *length == 0 ? "" : table->names.data + table->labels[row].offset;
}

bool
table_row_is (const struct table *table, size_t row, const char *label, size_t length)
{
  return row < table->rows && label_is (table, row, label, length);
}

size_t
table_find_row (const struct table *table, const char *label, size_t length, size_t hint)
{
  if (hint >= table->rows)
    hint = 0;
  for (size_t row = hint; row < table->rows; row++)
    if (label_is (table, row, label, length))
      return row;
  for (size_t row = 0; row < hint; row++)
    if (label_is (table, row, label, length))
      return row;
  return SIZE_MAX;
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

struct value
table_keep_text (struct table *table, const char *text, size_t length)
{
  if (length > TABLE_TEXT_MAX)
    length = TABLE_TEXT_MAX;
  return (struct value){ .type = VALUE_TEXT,
                         .length = (uint32_t) length,
                         .as.offset = text_add (&table->text, text, length) };
}

void
table_set_text (struct table *table, size_t row, size_t column, const char *text, size_t length)
{
  *table_value (table, row, column) = table_keep_text (table, text, length);
}

void
table_set_string (struct table *table, size_t row, size_t column, const char *text)
{
  if (text && text[0])
    table_set_text (table, row, column, text, strlen (text));
}

const char *
table_text (const struct table *table, const struct value *value, size_t *length)
{
  assert (value->type == VALUE_TEXT);
  *length = value->length;
  return *length == 0 ? "" : table->text.data + value->as.offset;
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
  to->names.length = 0;
  if (from->rows != 0)
    text_add (&to->names, from->names.data, names_end (from, from->rows));
  if (from->text.length != 0)
    text_add (&to->text, from->text.data, from->text.length);
  if (from->rows > to->row_capacity)
    table_rows_reserve (to, from->rows);

  size_t columns = from->group->metric_count;

  memcpy (to->node, from->node, from->node_count * sizeof *to->node);
  if (from->rows != 0) {
    memcpy (to->labels, from->labels, from->rows * sizeof *to->labels);
    memcpy (to->cells, from->cells, from->rows * columns * sizeof *to->cells);
  }
  to->rows = to->known = from->rows;
}

void
table_copy_rows (struct table *to, const struct table *from, const bool *keep)
{
  size_t columns = from->group->metric_count;

  table_copy (to, from);
  memset (to->node, 0, to->node_count * sizeof *to->node);
  to->rows = 0;
  for (size_t row = 0; row < from->rows; row++) {
    if (!keep[row])
      continue;
    to->labels[to->rows] = from->labels[row];
    memcpy (to->cells + to->rows * columns, from->cells + row * columns, columns * sizeof *to->cells);
    to->rows++;
  }
  to->known = to->rows;
}

void
table_swap (struct table *one, struct table *other)
{
  struct table kept = *one;

  *one = *other;
  *other = kept;
}
