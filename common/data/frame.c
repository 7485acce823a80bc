/* Reads foreign frames without trust. The header describes the format.
 *
 * The bytes are read twice by the same code: first without storing, to check all of them, then into the tables. */
#include "synop/frame.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/data/frame_format.h"
#include "common/data/labels.h"
#include "synop/wire.h"

int
node_name_check (const char *name, size_t length, struct error *error)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

  if (length == 0 || length > FRAME_NODE_MAX)
    return error_set (error, "a node's name has 1 to %d characters, not %zu", FRAME_NODE_MAX, length);
  if (name[0] == '.' || name[0] == '-')
    return error_set (error, "a node's name does not begin with '%c'", name[0]);
  for (size_t i = 0; i < length; i++)
    if (name[i] == 0 || strchr (allowed, name[i]) == NULL)
      return error_set (error, "the node's name \"%.*s\" is not made of letters, digits, '.', '_' and '-'",
                        (int) length, name);
  return 0;
}

size_t
frame_number_label (size_t row, char text[FRAME_NUMBER_SIZE])
{
  size_t length = 1;

  for (size_t rest = row / 10; rest != 0; rest /= 10)
    length++;
  for (size_t i = length; i-- > 0; row /= 10)
    text[i] = (char) ('0' + row % 10);
  return length;
}

static int
frame_read_head (struct wire *wire, struct frame_header *header, struct error *error)
{
  uint32_t fields = wire_array (wire, UINT32_MAX);
  uint64_t version = wire_uint (wire, UINT64_MAX);
  size_t node_length, hash_length;

  if (!wire->bad && version != FRAME_VERSION)
    return error_set (error, "version %llu of frames is not known", (unsigned long long) version);

  const char *node = wire_text (wire, &node_length, 4096);

  if (!wire->bad && node_name_check (node, node_length, error) != 0)
    return error_prefix (error, "frame: ");
  if (fields < FRAME_FIELDS || node_length > FRAME_NODE_MAX)
    wire->bad = true;
  else
    memcpy (header->node, node, node_length);
  header->session = wire_uint (wire, UINT64_MAX);
  header->sequence = wire_uint (wire, INT64_MAX);
  header->monotonic_ns = (int64_t) wire_uint (wire, INT64_MAX);
  header->wall_ns = wire_int (wire);

  const uint8_t *hash = wire_binary (wire, &hash_length, SCHEMA_HASH_SIZE);

  if (wire->bad || hash_length != SCHEMA_HASH_SIZE)
    return error_set (error, "the frame's header is broken");
  memcpy (header->schema, hash, SCHEMA_HASH_SIZE);
  if (header->session == 0 || header->sequence == 0)
    return error_set (error, "the frame's session or sequence is 0");
  return 0;
}

int
frame_read_header (const void *bytes, size_t length, struct frame_header *header, struct error *error)
{
  struct wire wire = wire_over (bytes, length);

  *header = (struct frame_header){ 0 };
  if (length > FRAME_BYTES_MAX)
    return error_set (error, "the frame has %zu bytes, over the limit of %d", length, FRAME_BYTES_MAX);
  if (frame_read_head (&wire, header, error) != 0)
    return -1;
  header->tables_offset = (size_t) (wire.at - (const uint8_t *) bytes);
  return 0;
}

/* A table that is being read. `table` is NULL while it is only checked. */
struct intake {
  struct wire *wire;
  const struct group *group;
  struct table *table;
  const struct table *last; /* the group's table before; NULL: none */
  size_t rows;
  bool has_column; /* a column is present, so each row takes a byte */
};

/* Reads a value, into `cell` when there is a table. */
static inline void
value_read (struct intake *intake, const struct metric *metric, struct value *cell)
{
  struct wire_token token = wire_next (intake->wire);
  struct table *table = intake->table;

  if (token.type == WIRE_NIL)
    return;
  if (token.type == WIRE_UINT && metric->kind != TEXT) {
    if (table != NULL)
      *cell = (struct value){ .type = VALUE_UINT, .as.u = token.as.u };
  } else if (token.type == WIRE_INT && metric->kind == GAUGE) {
    if (table != NULL)
      *cell = (struct value){ .type = VALUE_INT, .as.i = token.as.i };
  } else if (token.type == WIRE_REAL && metric->kind == GAUGE) {
    if (table != NULL && isfinite (token.as.d))
      *cell = (struct value){ .type = VALUE_REAL, .as.d = token.as.d };
  } else if (token.type == WIRE_TEXT && metric->kind == TEXT && token.length <= TABLE_TEXT_MAX) {
    if (table != NULL)
      *cell = table_keep_text (table, (const char *) token.as.bytes, token.length);
  } else {
    intake->wire->bad = true;
  }
}

static struct table_label
label_at (const char *base, const char *label, size_t length)
{
  return (struct table_label){ .offset = (uint32_t) (label - base), .length = (uint32_t) length };
}

/* Skips an array of texts that equals the labels of the table before, as most do: those were checked. False: it
 * differs, and nothing is read. */
static bool
labels_stand (struct intake *intake)
{
  struct wire ahead = *intake->wire;

  for (size_t row = 0; row < intake->rows; row++) {
    size_t length;
    const char *label = wire_text (&ahead, &length, TABLE_LABEL_MAX);

    if (!table_row_is (intake->last, row, label, length))
      return false;
  }
  *intake->wire = ahead;
  return true;
}

/* Checks an array of texts: none may occur twice. */
static void
labels_check (struct intake *intake)
{
  const char *base = (const char *) intake->wire->at;
  struct label_set *seen = label_set_create (intake->rows);

  for (size_t row = 0; row < intake->rows && !intake->wire->bad; row++) {
    size_t length;
    const char *label = wire_text (intake->wire, &length, TABLE_LABEL_MAX);

    if (!intake->wire->bad &&
        (!label_is_sound (label, length) || !label_set_add (seen, base, label_at (base, label, length))))
      intake->wire->bad = true;
  }
  label_set_destroy (seen);
}

static void
labels_take (struct intake *intake)
{
  for (size_t row = 0; row < intake->rows; row++) {
    size_t length;
    const char *label = wire_text (intake->wire, &length, TABLE_LABEL_MAX);

    table_add_row (intake->table, label, length);
  }
}

/* nil, a count, or an array of texts. */
static void
labels_read (struct intake *intake)
{
  struct wire_token token = wire_next (intake->wire);
  uint64_t rows = token.type == WIRE_UINT ? token.as.u : token.type == WIRE_ARRAY ? token.length : 0;

  if (rows > TABLE_ROWS_MAX || (token.type != WIRE_NIL && token.type != WIRE_UINT && token.type != WIRE_ARRAY)) {
    intake->wire->bad = true;
    return;
  }
  intake->rows = (size_t) rows;
  if (token.type == WIRE_ARRAY) {
    if (intake->table != NULL)
      labels_take (intake);
    else if (intake->last == NULL || !labels_stand (intake))
      labels_check (intake);
    return;
  }
  for (size_t row = 0; intake->table != NULL && row < intake->rows; row++) {
    char number[FRAME_NUMBER_SIZE];
    table_add_row (intake->table, number, frame_number_label (row, number));
  }
}

/* An array of one value for each metric of the node; returns how many those are. */
static size_t
node_values_read (struct intake *intake)
{
  const struct group *group = intake->group;
  struct wire *wire = intake->wire;
  struct value *cells = intake->table == NULL ? NULL : table_cells (intake->table, TABLE_NODE);
  size_t count = wire_array (wire, SCHEMA_METRICS_MAX), of_node = 0;

  for (size_t column = 0; column < group->metric_count && !wire->bad; column++)
    if ((group->metrics[column].flags & METRIC_OF_NODE) != 0) {
      value_read (intake, &group->metrics[column], cells == NULL ? NULL : &cells[column]);
      of_node++;
    }
  if (count != of_node)
    wire->bad = true;
  return of_node;
}

/* An array of one value for each row. */
static void
column_read (struct intake *intake, size_t column)
{
  const struct group *group = intake->group;
  struct wire *wire = intake->wire;
  struct value *cell = intake->table == NULL || intake->rows == 0 ? NULL : table_cells (intake->table, 0) + column;

  if (wire_array (wire, TABLE_ROWS_MAX) != intake->rows)
    wire->bad = true;
  intake->has_column = true;
  for (size_t row = 0; row < intake->rows && !wire->bad; row++)
    value_read (intake, &group->metrics[column], cell == NULL ? NULL : cell + row * group->metric_count);
}

/* An array of one column for each of the `left` other metrics. */
static void
columns_read (struct intake *intake, size_t left)
{
  const struct group *group = intake->group;
  struct wire *wire = intake->wire;

  if (wire_array (wire, SCHEMA_METRICS_MAX) != left)
    wire->bad = true;
  for (size_t column = 0; left > 0 && !wire->bad; column++)
    if ((group->metrics[column].flags & METRIC_OF_NODE) == 0) {
      left--;
      if (!wire_nil (wire))
        column_read (intake, column);
    }
  if (intake->rows != 0 && !intake->has_column)
    wire->bad = true; /* else a few bytes could claim any number of rows */
}

static void
error_text_read (struct intake *intake)
{
  size_t length;

  if (wire_nil (intake->wire))
    return;

  const char *text = wire_text (intake->wire, &length, TABLE_TEXT_MAX);

  if (intake->table != NULL)
    snprintf (intake->table->error, sizeof intake->table->error, "%.*s", (int) length, text);
}

/* Reads the fields of a table behind its group index. False when they are broken. */
static bool
table_read (struct intake *intake, uint32_t fields)
{
  struct wire *wire = intake->wire;
  int64_t period_ns = (int64_t) wire_uint (wire, INT64_MAX);

  error_text_read (intake);
  labels_read (intake);
  columns_read (intake, intake->group->metric_count - node_values_read (intake));
  wire_skip_items (wire, fields - TABLE_FIELDS);
  if (intake->table != NULL)
    intake->table->period_ns = period_ns;
  return !wire->bad;
}

/* Reads all tables, or only checks them. */
static int
tables_read (struct wire *wire, const void *bytes, const struct frame_header *header, const struct schema *schema,
             const struct frame_sink *sink, bool check, struct error *error)
{
  bool seen[SCHEMA_GROUPS_MAX] = { false };
  size_t cells = 0;
  uint32_t count = wire_array (wire, SCHEMA_GROUPS_MAX);

  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *begin = wire->at;
    uint32_t fields = wire_array (wire, UINT32_MAX);
    size_t group = (size_t) wire_uint (wire, SCHEMA_GROUPS_MAX);

    if (wire->bad || fields < TABLE_FIELDS || group >= schema->group_count)
      return error_set (error, "table %u of the frame is broken, or of no group of its schema", (unsigned) i);
    if (seen[group])
      return error_set (error, "the frame holds group %s twice", schema->groups[group]->name);
    seen[group] = true;

    struct intake intake = { .wire = wire, .group = schema->groups[group] };

    if (!check)
      intake.table = sink->take (sink->context, group);
    else if (sink->last != NULL)
      intake.last = sink->last (sink->context, group);
    if (intake.table != NULL) {
      assert (intake.table->group->metric_count == intake.group->metric_count);
      intake.table->monotonic_ns = header->monotonic_ns;
      intake.table->sequence = header->sequence;
    }
    if (!table_read (&intake, fields))
      return error_set (error, "the frame's table of group %s is broken, or over a limit", intake.group->name);
    cells += intake.rows * intake.group->metric_count;
    if (cells > FRAME_CELLS_MAX)
      return error_set (error, "the frame has more than %d values", FRAME_CELLS_MAX);
    if (intake.table != NULL) {
      intake.table->offset = (size_t) (begin - (const uint8_t *) bytes);
      intake.table->length = (size_t) (wire->at - begin);
    }
    if (intake.table != NULL && sink->done != NULL)
      sink->done (sink->context, group, intake.table);
  }
  return 0;
}

int
frame_read_tables (const void *bytes, size_t length, const struct frame_header *header, const struct schema *schema,
                   const struct frame_sink *sink, struct error *error)
{
  struct wire wire = wire_over (bytes, length);
  uint32_t fields = wire_array (&wire, UINT32_MAX);

  if (wire.bad || fields < FRAME_FIELDS || header->tables_offset > length)
    return error_set (error, "the frame's header is broken");
  wire.at = (const uint8_t *) bytes + header->tables_offset;

  struct wire tables = wire;

  if (tables_read (&wire, bytes, header, schema, sink, true, error) != 0)
    return -1;
  wire_skip_items (&wire, fields - FRAME_FIELDS);
  if (wire.bad || wire.at != wire.end)
    return error_set (error, "there is something broken behind the frame's tables");
  return tables_read (&tables, bytes, header, schema, sink, false, error);
}
