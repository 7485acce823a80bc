/* Writes frames. The format stands in synop/frame.h.
 *
 * Columns lie one behind the other on the wire, since a column that nobody has is then one byte; tables hold rows, since
 * that is how people read and samplers find them. */
#include <msgpack.h>

#include "synop/frame.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/frame_format.h"
#include "synop/wire.h"

#define FRAME_REFUSED_MAX 700 /* bytes of a table that is refused: 512 metrics, the error */

static bool
kind_takes (enum metric_kind kind, enum value_type type)
{
  switch (kind) {
  case COUNTER:
    return type == VALUE_UINT;
  case GAUGE:
    return type == VALUE_UINT || type == VALUE_INT || type == VALUE_REAL;
  default:
    return type == VALUE_TEXT;
  }
}

static void
value_pack (struct msgpack_packer *packer, const struct table *table, enum metric_kind kind, const struct value *value)
{
  size_t length;
  const char *text;

  if (!kind_takes (kind, value->type)) {
    msgpack_pack_nil (packer);
    return;
  }
  switch (value->type) {
  case VALUE_UINT:
    msgpack_pack_uint64 (packer, value->as.u);
    return;
  case VALUE_INT:
    msgpack_pack_int64 (packer, value->as.i);
    return;
  case VALUE_REAL:
    if (isfinite (value->as.d))
      msgpack_pack_double (packer, value->as.d);
    else
      msgpack_pack_nil (packer);
    return;
  case VALUE_TEXT:
    text = table_text (table, value, &length);
    wire_pack_text (packer, text, length);
    return;
  default:
    msgpack_pack_nil (packer);
  }
}

/* Is the label of each row its number? */
static bool
labels_are_numbers (const struct table *table)
{
  for (size_t row = 0; row < table->rows; row++) {
    char number[FRAME_NUMBER_SIZE];
    size_t length;
    const char *label = table_label (table, row, &length);

    if (frame_number_label (row, number) != length || memcmp (number, label, length) != 0)
      return false;
  }
  return true;
}

static void
labels_pack (struct msgpack_packer *packer, const struct table *table)
{
  if (table->rows == 0 || group_node_metrics (table->group) == table->group->metric_count) {
    msgpack_pack_nil (packer);
  } else if (labels_are_numbers (table)) {
    msgpack_pack_uint64 (packer, table->rows);
  } else {
    msgpack_pack_array (packer, table->rows);
    for (size_t row = 0; row < table->rows; row++) {
      size_t length;
      const char *label = table_label (table, row, &length);

      wire_pack_text (packer, label, length);
    }
  }
}

/* `whole`: not nil, even if all values are missing. True when it is not nil. */
static bool
column_pack (struct msgpack_packer *packer, const struct table *table, size_t column, bool whole)
{
  size_t stride = table->group->metric_count;
  enum metric_kind kind = table->group->metrics[column].kind;
  size_t row = 0;

  while (row < table->rows && !kind_takes (kind, table->cells[row * stride + column].type))
    row++;
  if (row == table->rows && !whole) {
    msgpack_pack_nil (packer);
    return false;
  }
  msgpack_pack_array (packer, table->rows);
  for (row = 0; row < table->rows; row++)
    value_pack (packer, table, kind, &table->cells[row * stride + column]);
  return true;
}

static void
table_pack (struct msgpack_packer *packer, const struct table *table, size_t index)
{
  const struct group *group = table->group;
  size_t of_node = group_node_metrics (group);
  size_t columns_left = group->metric_count - of_node;
  bool has_column = table->rows == 0;

  msgpack_pack_array (packer, TABLE_FIELDS);
  msgpack_pack_uint64 (packer, index);
  msgpack_pack_int64 (packer, table->period_ns < 0 ? 0 : table->period_ns);
  if (table->error[0] == 0)
    msgpack_pack_nil (packer);
  else
    wire_pack_text (packer, table->error, strlen (table->error));
  labels_pack (packer, table);
  msgpack_pack_array (packer, of_node);
  for (size_t i = 0; i < group->metric_count; i++)
    if ((group->metrics[i].flags & METRIC_OF_NODE) != 0)
      value_pack (packer, table, group->metrics[i].kind, &table->node[i]);
  msgpack_pack_array (packer, columns_left);
  for (size_t i = 0; i < group->metric_count; i++)
    if ((group->metrics[i].flags & METRIC_OF_NODE) == 0)
      has_column |= column_pack (packer, table, i, --columns_left == 0 && !has_column);
}

/* In place of a table that is too large: the error, and no values. */
static void
table_pack_refused (struct msgpack_packer *packer, const struct table *table, size_t index)
{
  char text[sizeof table->error];
  size_t of_node = group_node_metrics (table->group);

  snprintf (text, sizeof text, "%zu rows of %zu values do not fit a frame", table->rows, table->group->metric_count);
  msgpack_pack_array (packer, TABLE_FIELDS);
  msgpack_pack_uint64 (packer, index);
  msgpack_pack_int64 (packer, table->period_ns < 0 ? 0 : table->period_ns);
  wire_pack_text (packer, text, strlen (text));
  msgpack_pack_nil (packer);
  msgpack_pack_array (packer, of_node);
  for (size_t i = 0; i < of_node; i++)
    msgpack_pack_nil (packer);
  msgpack_pack_array (packer, table->group->metric_count - of_node);
  for (size_t i = of_node; i < table->group->metric_count; i++)
    msgpack_pack_nil (packer);
}

static size_t
group_index (const struct schema *schema, const struct group *group, size_t hint)
{
  for (size_t i = hint; i < schema->group_count; i++)
    if (schema->groups[i] == group)
      return i;
  for (size_t i = 0; i < hint; i++)
    if (schema->groups[i] == group)
      return i;
  assert (!"a table's group is one of the schema");
  return 0;
}

void
frame_write (struct buffer *out, const struct frame_header *header, const struct schema *schema,
             const struct table *const *tables, size_t count)
{
  struct msgpack_packer packer;
  size_t start = out->length;
  size_t cells = 0;
  size_t index = 0;

  wire_packer (&packer, out);
  msgpack_pack_array (&packer, FRAME_FIELDS);
  msgpack_pack_uint32 (&packer, FRAME_VERSION);
  wire_pack_text (&packer, header->node, strlen (header->node));
  msgpack_pack_uint64 (&packer, header->session);
  msgpack_pack_uint64 (&packer, header->sequence);
  msgpack_pack_int64 (&packer, header->monotonic_ns);
  msgpack_pack_int64 (&packer, header->wall_ns);
  wire_pack_binary (&packer, schema->hash, sizeof schema->hash);
  msgpack_pack_array (&packer, count);
  for (size_t i = 0; i < count; i++) {
    const struct table *table = tables[i];
    size_t before = out->length;
    /* What is held back for the tables still to come, should none of them fit. */
    size_t limit = FRAME_BYTES_MAX - FRAME_REFUSED_MAX * (count - i - 1);

    index = group_index (schema, table->group, index);
    if (table->rows * table->group->metric_count <= FRAME_CELLS_MAX - cells) {
      table_pack (&packer, table, index);
      if (out->length - start <= limit) {
        cells += table->rows * table->group->metric_count;
        continue;
      }
      out->length = before;
    }
    table_pack_refused (&packer, table, index);
  }
}
