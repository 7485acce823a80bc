/* See arrow_schema.h. Fields of a table are in the order of its declaration; a union is two: its type, and its table. */
#include "aggregator/columnar/arrow_schema.h"

#include "aggregator/columnar/flatbuffer.h"

#define COUNT_OF(array) (sizeof (array) / sizeof (array)[0])

enum { TYPE_INT = 2, TYPE_FLOAT, TYPE_UTF8 = 5, TYPE_BOOL, TYPE_TIMESTAMP = 10 }; /* Type */
#define DOUBLE_PRECISION 2
#define NANOSECOND 3

static void
pairs_add (struct buffer *out, size_t place, const char *const pairs[][2], size_t count)
{
  size_t known = 0, first;

  for (size_t i = 0; i < count; i++)
    known += *pairs[i][1] != '\0';
  first = flat_offsets (out, place, known);
  for (size_t i = 0; i < count; i++)
    if (*pairs[i][1]) {
      static const struct flat_field fields[] = { { FLAT_OFFSET }, { FLAT_OFFSET } };
      size_t pair = flat_table (out, first, fields, COUNT_OF (fields));
      first += FLAT_OFFSET;
      flat_text (out, flat_place (out, pair, 0), pairs[i][0]);
      flat_text (out, flat_place (out, pair, 1), pairs[i][1]);
    }
}

/* The table of a type in the union Type. */
static void
type_add (struct buffer *out, size_t place, enum columnar_type type)
{
  const struct flat_field whole[] = { { 4, 64 }, { 1, 1 } }, real[] = { { 2, DOUBLE_PRECISION } },
                          time[] = { { 2, NANOSECOND }, { FLAT_OFFSET } };
  size_t table;

  switch (type) {
  case COLUMNAR_INT64:
    flat_table (out, place, whole, COUNT_OF (whole));
    break;
  case COLUMNAR_DOUBLE:
    flat_table (out, place, real, COUNT_OF (real));
    break;
  case COLUMNAR_TIME:
    table = flat_table (out, place, time, COUNT_OF (time));
    flat_text (out, flat_place (out, table, 1), "UTC");
    break;
  default:
    flat_table (out, place, NULL, 0);
  }
}

static void
field_add (struct buffer *out, size_t place, const struct columnar_column *column, size_t id)
{
  static const uint8_t types[COLUMNAR_TYPES] = { [COLUMNAR_INT64] = TYPE_INT,
                                                 [COLUMNAR_DOUBLE] = TYPE_FLOAT,
                                                 [COLUMNAR_BOOL] = TYPE_BOOL,
                                                 [COLUMNAR_TEXT] = TYPE_UTF8,
                                                 [COLUMNAR_TIME] = TYPE_TIMESTAMP };
  /* name, nullable, type, dictionary, children, custom_metadata */
  const struct flat_field fields[] = {
    { FLAT_OFFSET }, { 1, 1 },       { 1, types[column->type] }, { FLAT_OFFSET }, { column->label ? FLAT_OFFSET : 0 },
    { FLAT_OFFSET }, { FLAT_OFFSET }
  };
  const struct flat_field dictionary[] = { { 8, id }, { FLAT_OFFSET } }, index[] = { { 4, 32 }, { 1, 1 } };
  const char *const pairs[][2] = { { "unit", column->unit }, { "help", column->help } };
  size_t field = flat_table (out, place, fields, COUNT_OF (fields)), encoding;

  flat_text (out, flat_place (out, field, 0), column->name);
  type_add (out, flat_place (out, field, 3), column->type);
  if (column->label) {
    encoding = flat_table (out, flat_place (out, field, 4), dictionary, COUNT_OF (dictionary));
    flat_table (out, flat_place (out, encoding, 1), index, COUNT_OF (index));
  }
  flat_offsets (out, flat_place (out, field, 5), 0);
  pairs_add (out, flat_place (out, field, 6), pairs, COUNT_OF (pairs));
}

void
arrow_schema_add (struct buffer *out, size_t place, const struct columnar *table)
{
  /* endianness: little; fields; custom_metadata */
  static const struct flat_field fields[] = { { 0 }, { FLAT_OFFSET }, { FLAT_OFFSET } };
  const char *const pairs[][2] = { { "name", table->name }, { "help", table->help } };
  size_t schema = flat_table (out, place, fields, COUNT_OF (fields));
  size_t first = flat_offsets (out, flat_place (out, schema, 1), table->column_count);

  for (size_t i = 0; i < table->column_count; i++)
    field_add (out, first + i * FLAT_OFFSET, &table->columns[i], i);
  pairs_add (out, flat_place (out, schema, 2), pairs, COUNT_OF (pairs));
}

size_t
arrow_message_begin (struct buffer *out, enum arrow_header header, size_t body_length)
{
  /* version, header, bodyLength */
  const struct flat_field fields[] = { { 2, ARROW_V5 }, { 1, header }, { FLAT_OFFSET }, { 8, body_length } };

  return flat_place (out, flat_table (out, flat_begin (out), fields, COUNT_OF (fields)), 2);
}

void
arrow_message_add (struct buffer *out, const struct buffer *message)
{
  size_t filled = (message->length + 7) / 8 * 8;

  flat_number (out, UINT32_MAX, 4);
  flat_number (out, filled, 4);
  buffer_add (out, message->data, message->length);
  flat_number (out, 0, (unsigned) (filled - message->length));
}

void
arrow_schema_message (struct buffer *out, const struct columnar *table)
{
  struct buffer message = { 0 };

  arrow_schema_add (&message, arrow_message_begin (&message, ARROW_SCHEMA, 0), table);
  arrow_message_add (out, &message);
  buffer_free (&message);
}
