/* The footer of Parquet: parquet.thrift, struct FileMetaData and what it is made of; LogicalTypes.md. Numbers are the ids of
 * fields there.
 *
 * Every column is OPTIONAL, so that a null is a null. Units and helps are in the key "synop", as JSON: {"table":"network",
 * "help":"...","columns":{"rx_bytes":{"unit":"bytes","help":"..."},...}}, and in "ARROW:schema", where readers that are made
 * of Arrow look: the message of Arrow's schema in base64. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/columnar/arrow_schema.h"
#include "aggregator/columnar/parquet_private.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "synop/version.h"

#define OPTIONAL 1 /* FieldRepetitionType */
#define UTF8 0     /* ConvertedType */
#define VERSION 2  /* of the format: it has nanoseconds and RLE_DICTIONARY */

static const int32_t types[COLUMNAR_TYPES] = { [COLUMNAR_INT64] = PARQUET_INT64,
                                               [COLUMNAR_DOUBLE] = PARQUET_DOUBLE,
                                               [COLUMNAR_BOOL] = PARQUET_BOOLEAN,
                                               [COLUMNAR_TEXT] = PARQUET_BYTES,
                                               [COLUMNAR_TIME] = PARQUET_INT64 };

/* ---- row groups ---- */

static void
bound_add (struct thrift *thrift, unsigned id, enum columnar_type type, const void *number, const struct buffer *text)
{
  if (type == COLUMNAR_TEXT)
    thrift_binary (thrift, id, text->data, text->length);
  else
    thrift_binary (thrift, id, number, type == COLUMNAR_BOOL ? 1 : sizeof (int64_t));
}

static void
statistics_add (struct thrift *thrift, const struct parquet_chunk *chunk, enum columnar_type type)
{
  const struct parquet_range *range = &chunk->range;

  thrift_open (thrift, 12);
  thrift_i64 (thrift, 3, (int64_t) chunk->nulls);
  if (range->known) {
    bound_add (thrift, 5, type, &range->max, &range->max_text);
    bound_add (thrift, 6, type, &range->min, &range->min_text);
  }
  thrift_close (thrift);
}

static void
encodings_add (struct thrift *thrift, const struct parquet_chunk *chunk)
{
  thrift_list (thrift, 2, THRIFT_I32, chunk->coded ? 3 : 2);
  thrift_i32 (thrift, THRIFT_ITEM, PARQUET_RLE);   /* of levels */
  thrift_i32 (thrift, THRIFT_ITEM, PARQUET_PLAIN); /* of the dictionary too */
  if (chunk->coded)
    thrift_i32 (thrift, THRIFT_ITEM, PARQUET_RLE_DICTIONARY);
}

/* struct ColumnChunk, with its ColumnMetaData. */
static void
chunk_add (struct thrift *thrift, const struct parquet_chunk *chunk, const struct columnar_column *column,
           const struct parquet_place *place, size_t rows)
{
  thrift_open (thrift, THRIFT_ITEM);
  thrift_i64 (thrift, 2, (int64_t) place->from);
  thrift_open (thrift, 3);
  thrift_i32 (thrift, 1, types[column->type]);
  encodings_add (thrift, chunk);
  thrift_list (thrift, 3, THRIFT_BINARY, 1);
  thrift_text (thrift, THRIFT_ITEM, column->name);
  thrift_i32 (thrift, 4, PARQUET_ZSTD);
  thrift_i64 (thrift, 5, (int64_t) rows);
  thrift_i64 (thrift, 6, (int64_t) chunk->raw_bytes);
  thrift_i64 (thrift, 7, (int64_t) (place->to - place->from));
  thrift_i64 (thrift, 9, (int64_t) place->data);
  if (chunk->coded)
    thrift_i64 (thrift, 11, (int64_t) place->from);
  statistics_add (thrift, chunk, column->type);
  thrift_close (thrift);
  thrift_close (thrift);
}

void
parquet_group_add (struct parquet *parquet, const struct columnar *table, const struct parquet_place *places)
{
  struct thrift thrift = { .out = parquet->groups };
  size_t raw = 0, last = table->column_count - 1;

  thrift_open (&thrift, THRIFT_ITEM);
  thrift_list (&thrift, 1, THRIFT_STRUCT, table->column_count);
  for (size_t i = 0; i < table->column_count; i++) {
    chunk_add (&thrift, &parquet->chunks[i], &table->columns[i], &places[i], parquet->rows);
    raw += parquet->chunks[i].raw_bytes;
  }
  thrift_i64 (&thrift, 2, (int64_t) raw);
  thrift_i64 (&thrift, 3, (int64_t) parquet->rows);
  thrift_i64 (&thrift, 5, (int64_t) places[0].from);
  thrift_i64 (&thrift, 6, (int64_t) (places[last].to - places[0].from));
  thrift_close (&thrift);
  parquet->groups = thrift.out;
  parquet->group_count++;
}

/* ---- the footer ---- */

/* struct SchemaElement, with the union LogicalType. */
static void
column_add (struct thrift *thrift, const struct columnar_column *column)
{
  thrift_open (thrift, THRIFT_ITEM);
  thrift_i32 (thrift, 1, types[column->type]);
  thrift_i32 (thrift, 3, OPTIONAL);
  thrift_text (thrift, 4, column->name);
  if (column->type == COLUMNAR_TEXT) {
    thrift_i32 (thrift, 6, UTF8);
    thrift_open (thrift, 10);
    thrift_nothing (thrift, 1); /* STRING */
    thrift_close (thrift);
  } else if (column->type == COLUMNAR_TIME) {
    thrift_open (thrift, 10);
    thrift_open (thrift, 8);       /* TIMESTAMP */
    thrift_bool (thrift, 1, true); /* isAdjustedToUTC */
    thrift_open (thrift, 2);
    thrift_nothing (thrift, 3); /* NANOS */
    thrift_close (thrift);
    thrift_close (thrift);
    thrift_close (thrift);
  }
  thrift_close (thrift);
}

static void
pair_add (struct thrift *thrift, const char *key, const char *value)
{
  thrift_open (thrift, THRIFT_ITEM);
  thrift_text (thrift, 1, key);
  thrift_text (thrift, 2, value);
  thrift_close (thrift);
}

static void
synop_add (struct thrift *thrift, const struct columnar *table)
{
  struct json json = { 0 };

  json_object (&json);
  json_text (json_key (&json, "table"), table->name);
  json_text (json_key (&json, "help"), table->help);
  json_object (json_key (&json, "columns"));
  for (size_t i = 0; i < table->column_count; i++) {
    const struct columnar_column *column = &table->columns[i];
    json_object (json_key_n (&json, column->name, strlen (column->name)));
    if (*column->unit)
      json_text (json_key (&json, "unit"), column->unit);
    if (*column->help)
      json_text (json_key (&json, "help"), column->help);
    json_object_end (&json);
  }
  json_object_end (&json);
  json_object_end (&json);
  pair_add (thrift, "synop", buffer_text (&json.out));
  json_free (&json);
}

static void
arrow_add (struct thrift *thrift, const struct columnar *table)
{
  struct buffer message = { 0 };
  size_t size;
  char *text;

  arrow_schema_message (&message, table);
  size = sodium_base64_encoded_len (message.length, sodium_base64_VARIANT_ORIGINAL);
  text = memory_new (size, 1);
  sodium_bin2base64 (text, size, (const unsigned char *) message.data, message.length, sodium_base64_VARIANT_ORIGINAL);
  pair_add (thrift, "ARROW:schema", text);
  free (text);
  buffer_free (&message);
}

/* struct FileMetaData, how long it is, PAR1. */
void
parquet_footer_add (struct buffer *out, const struct parquet *parquet, const struct columnar *table)
{
  struct thrift thrift = { 0 };

  thrift_open (&thrift, THRIFT_ITEM);
  thrift_i32 (&thrift, 1, VERSION);
  thrift_list (&thrift, 2, THRIFT_STRUCT, table->column_count + 1);
  thrift_open (&thrift, THRIFT_ITEM); /* the root */
  thrift_text (&thrift, 4, "schema");
  thrift_i32 (&thrift, 5, (int32_t) table->column_count);
  thrift_close (&thrift);
  for (size_t i = 0; i < table->column_count; i++)
    column_add (&thrift, &table->columns[i]);
  thrift_i64 (&thrift, 3, (int64_t) parquet->all_rows);
  thrift_list (&thrift, 4, THRIFT_STRUCT, parquet->group_count);
  buffer_add (&thrift.out, parquet->groups.data, parquet->groups.length);
  thrift_list (&thrift, 5, THRIFT_STRUCT, 2);
  synop_add (&thrift, table);
  arrow_add (&thrift, table);
  thrift_text (&thrift, 6, "synop version " SYNOP_VERSION);
  thrift_list (&thrift, 7, THRIFT_STRUCT, table->column_count); /* ColumnOrder: as the type says */
  for (size_t i = 0; i < table->column_count; i++) {
    thrift_open (&thrift, THRIFT_ITEM);
    thrift_nothing (&thrift, 1);
    thrift_close (&thrift);
  }
  thrift_close (&thrift);
  buffer_add (out, thrift.out.data, thrift.out.length);
  buffer_add (out, &(uint32_t){ (uint32_t) thrift.out.length }, sizeof (uint32_t));
  buffer_add_string (out, PARQUET_MAGIC);
  buffer_free (&thrift.out);
}
