/* Writes frames; synop/frame.h describes the format.
 *
 * The wire has column after column, since a column without values is then one byte; tables have row after row, since
 * samplers fill and people read them so.
 *
 * A frame that would be too large has fewer rows, the first ones of each table. The tables whose rows users make are
 * cut first, to the same number of rows, so that no user's jobs or processes displace the machine's values. If the
 * frame is still too large, the largest other table is cut, then the next one. */
#include <msgpack.h>

#include "synop/frame.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/data/frame_format.h"
#include "synop/wire.h"

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

/* Writes, in place of a table that does not fit even without rows, its error and no values. */
static void
table_pack_refused (struct msgpack_packer *packer, const struct table *table, size_t index)
{
  static const char text[] = "the values do not fit a frame";
  size_t of_node = group_node_metrics (table->group);

  msgpack_pack_array (packer, TABLE_FIELDS);
  msgpack_pack_uint64 (packer, index);
  msgpack_pack_int64 (packer, table->period_ns < 0 ? 0 : table->period_ns);
  wire_pack_text (packer, text, sizeof text - 1);
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

static void
head_pack (struct msgpack_packer *packer, const struct frame_header *header, const struct schema *schema)
{
  msgpack_pack_array (packer, FRAME_FIELDS);
  msgpack_pack_uint32 (packer, FRAME_VERSION);
  wire_pack_text (packer, header->node, strlen (header->node));
  msgpack_pack_uint64 (packer, header->session);
  msgpack_pack_uint64 (packer, header->sequence);
  msgpack_pack_int64 (packer, header->monotonic_ns);
  msgpack_pack_int64 (packer, header->wall_ns);
  wire_pack_binary (packer, schema->hash, sizeof schema->hash);
}

/* The tables of a frame that is being written. */
struct writing {
  struct buffer *out;
  struct msgpack_packer packer;
  const struct schema *schema;
  const struct table *const *tables;
  size_t count;
  size_t bytes_max;
  size_t body, end;               /* where the tables begin in `out`; limit of its length */
  size_t rows[SCHEMA_GROUPS_MAX]; /* limit of each table's rows */
};

/* The table cut to its first rows; it shares all memory with the whole one. */
static struct table
table_cut (const struct table *whole, size_t rows, size_t bytes_max)
{
  struct table cut = *whole;

  if (whole->rows <= rows)
    return cut;
  cut.rows = rows;
  int used = snprintf (cut.error, sizeof cut.error, "%zu of %zu rows do not fit a frame of %zu bytes",
                       whole->rows - rows, whole->rows, bytes_max);
  if (whole->error[0])
    snprintf (cut.error + used, sizeof cut.error - (size_t) used, "; %.*s", (int) sizeof cut.error - used - 3,
              whole->error);
  return cut;
}

/* False: they do not fit. */
static bool
tables_pack (struct writing *writing)
{
  size_t cells = 0, index = 0;

  writing->out->length = writing->body;
  msgpack_pack_array (&writing->packer, writing->count);
  for (size_t i = 0; i < writing->count; i++) {
    struct table table = table_cut (writing->tables[i], writing->rows[i], writing->bytes_max);

    index = group_index (writing->schema, table.group, index);
    cells += table.rows * table.group->metric_count;
    if (cells > FRAME_CELLS_MAX)
      return false;
    table_pack (&writing->packer, &table, index);
    if (writing->out->length > writing->end)
      return false;
  }
  return true;
}

static void
set_rows (struct writing *writing, size_t only, size_t rows)
{
  for (size_t i = 0; i < writing->count; i++)
    if (only == SIZE_MAX ? writing->tables[i]->group->of_users : i == only)
      writing->rows[i] = rows;
}

/* Cuts the table `only`, or for SIZE_MAX all tables of users, to nearly as many rows as fit. False: it does not fit
 * without rows either. */
static bool
tables_pack_cut (struct writing *writing, size_t only)
{
  size_t fits = 0, over = 0;

  for (size_t i = 0; i < writing->count; i++)
    if ((only == SIZE_MAX ? writing->tables[i]->group->of_users : i == only) && writing->tables[i]->rows > over)
      over = writing->tables[i]->rows;
  set_rows (writing, only, 0);
  if (!tables_pack (writing))
    return false;
  while (over - fits > 1 + over / 64) {
    size_t middle = fits + (over - fits) / 2;

    set_rows (writing, only, middle);
    if (tables_pack (writing))
      fits = middle;
    else
      over = middle;
  }
  set_rows (writing, only, fits);
  return tables_pack (writing);
}

/* The largest table that has not been cut; SIZE_MAX: none has rows. */
static size_t
largest_table (struct writing *writing)
{
  size_t largest = SIZE_MAX, most = 0;

  for (size_t i = 0; i < writing->count; i++) {
    if (writing->rows[i] == 0 || writing->tables[i]->rows == 0)
      continue;
    writing->out->length = writing->body;
    table_pack (&writing->packer, writing->tables[i], 0);
    if (writing->out->length > most) {
      most = writing->out->length;
      largest = i;
    }
  }
  return largest;
}

static bool
tables_pack_largest_cut (struct writing *writing)
{
  for (size_t largest; (largest = largest_table (writing)) != SIZE_MAX;)
    if (tables_pack_cut (writing, largest))
      return true;
  return false;
}

/* Writes the errors alone, of as many tables as fit. */
static void
tables_pack_refused (struct writing *writing)
{
  size_t index = 0;

  for (size_t count = writing->count;; count--) {
    writing->out->length = writing->body;
    msgpack_pack_array (&writing->packer, count);
    for (size_t i = 0; i < count; i++) {
      index = group_index (writing->schema, writing->tables[i]->group, index);
      table_pack_refused (&writing->packer, writing->tables[i], index);
    }
    if (count == 0 || writing->out->length <= writing->end)
      return;
  }
}

void
frame_write_within (struct buffer *out, const struct frame_header *header, const struct schema *schema,
                    const struct table *const *tables, size_t count, size_t bytes_max)
{
  struct writing writing = { .out = out,
                             .schema = schema,
                             .tables = tables,
                             .count = count,
                             .bytes_max = bytes_max,
                             .end = out->length + bytes_max };

  assert (count <= SCHEMA_GROUPS_MAX);
  for (size_t i = 0; i < count; i++)
    writing.rows[i] = SIZE_MAX;
  wire_packer (&writing.packer, out);
  head_pack (&writing.packer, header, schema);
  writing.body = out->length;
  if (!tables_pack (&writing) && !tables_pack_cut (&writing, SIZE_MAX) && !tables_pack_largest_cut (&writing))
    tables_pack_refused (&writing);
}

void
frame_write (struct buffer *out, const struct frame_header *header, const struct schema *schema,
             const struct table *const *tables, size_t count)
{
  frame_write_within (out, header, schema, tables, count, FRAME_BYTES_MAX);
}
