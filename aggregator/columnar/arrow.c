/* Arrow's IPC file: Columnar.html, "IPC File Format", of which Feather version 2 is another name.
 *
 *   ARROW1 0 0, the schema, record batches, dictionaries, the mark of the end, the footer, its length, ARROW1
 *
 * A block is a record batch at once, so nothing but dictionaries is kept. These come behind the batches, when all texts are
 * known: readers of files find them by the footer. Each buffer of a batch is compressed by itself with zstd ("Compression"):
 * its length as it was, or -1 when it stands as it is, then its bytes. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/columnar/arrow_schema.h"
#include "aggregator/columnar/columnar_private.h"
#include "aggregator/columnar/dictionary.h"
#include "aggregator/columnar/flatbuffer.h"
#include "aggregator/columnar/hybrid.h"
#include "synop/memory.h"

#define COUNT_OF(array) (sizeof (array) / sizeof (array)[0])
#define MAGIC "ARROW1"
#define ZSTD_CODEC 1
#define RAW (-1) /* in place of a length: the buffer is not compressed */

struct arrow {
  bool begun;
  struct dictionary *dictionaries;          /* one for each column */
  struct buffer records, dictionary_places; /* structs Block of File.fbs */
};

/* A batch that is being made. */
struct batch {
  struct columnar_pool *pool;
  size_t rows;
  struct buffer nodes, buffers; /* structs FieldNode and Buffer of Message.fbs */
  struct buffer body;
};

static void *
arrow_create (struct columnar *table)
{
  struct arrow *arrow = memory_new (1, sizeof *arrow);

  arrow->dictionaries = memory_new (table->column_count, sizeof arrow->dictionaries[0]);
  return arrow;
}

static void
arrow_destroy (struct columnar *table)
{
  struct arrow *arrow = table->state;

  for (size_t i = 0; i < table->column_count; i++)
    dictionary_free (&arrow->dictionaries[i]);
  free (arrow->dictionaries);
  buffer_free (&arrow->records);
  buffer_free (&arrow->dictionary_places);
  free (arrow);
}

/* ---- a batch ---- */

static void
buffer_put (struct batch *batch, const void *bytes, size_t length)
{
  size_t from = batch->body.length, packed;

  if (length) {
    flat_number (&batch->body, length, sizeof (int64_t));
    packed = columnar_pack (batch->pool, &batch->body, bytes, length);
    if (packed >= length) {
      batch->body.length = from;
      flat_number (&batch->body, (uint64_t) RAW, sizeof (int64_t));
      buffer_add (&batch->body, bytes, length);
    }
  }
  flat_number (&batch->buffers, from, sizeof (int64_t));
  flat_number (&batch->buffers, batch->body.length - from, sizeof (int64_t));
  while (batch->body.length % 8)
    flat_number (&batch->body, 0, 1);
}

static void
bits_put (struct batch *batch, const struct buffer *bytes)
{
  struct buffer bits = { 0 };

  bits_add (&bits, bytes->data, bytes->length);
  buffer_put (batch, bits.data, bits.length);
  buffer_free (&bits);
}

/* "Variable-size Binary Layout": where each begins, and where the last ends, then the bytes. */
static void
texts_put (struct batch *batch, const struct columnar_values *values)
{
  struct buffer offsets = { 0 };

  flat_number (&offsets, 0, sizeof (uint32_t));
  buffer_add (&offsets, values->fixed.data, values->fixed.length);
  buffer_put (batch, offsets.data, offsets.length);
  buffer_put (batch, values->text.data, values->text.length);
  buffer_free (&offsets);
}

/* "Dictionary-encoded Layout": the number of each text. */
static void
labels_put (struct batch *batch, const struct columnar_values *values, struct dictionary *dictionary)
{
  struct buffer numbers = { 0 };
  const char *text;
  size_t length;

  for (size_t i = 0; i < batch->rows; i++) {
    text = columnar_text (values, i, &length);
    flat_number (&numbers, values->known.data[i] ? dictionary_index (dictionary, text, length) : 0, sizeof (int32_t));
  }
  buffer_put (batch, numbers.data, numbers.length);
  buffer_free (&numbers);
}

/* "Physical Memory Layout"; a bitmap of a column without nulls is left out. */
static void
column_put (struct batch *batch, const struct columnar_column *column, const struct columnar_values *values,
            struct dictionary *dictionary)
{
  static const struct buffer none;

  flat_number (&batch->nodes, batch->rows, sizeof (int64_t));
  flat_number (&batch->nodes, values->nulls, sizeof (int64_t));
  bits_put (batch, values->nulls ? &values->known : &none);
  if (column->type == COLUMNAR_BOOL)
    bits_put (batch, &values->fixed);
  else if (column->label)
    labels_put (batch, values, dictionary);
  else if (column->type == COLUMNAR_TEXT)
    texts_put (batch, values);
  else
    buffer_put (batch, values->fixed.data, values->fixed.length);
}

static void
batch_free (struct batch *batch)
{
  buffer_free (&batch->nodes);
  buffer_free (&batch->buffers);
  buffer_free (&batch->body);
}

/* ---- messages ---- */

/* Table RecordBatch. */
static void
batch_add (struct buffer *out, size_t place, const struct batch *batch)
{
  /* length, nodes, buffers, compression: its codec and method */
  const struct flat_field fields[] = { { 8, batch->rows }, { FLAT_OFFSET }, { FLAT_OFFSET }, { FLAT_OFFSET } },
                          compression[] = { { 1, ZSTD_CODEC } };
  size_t table = flat_table (out, place, fields, COUNT_OF (fields)), pair = 2 * sizeof (int64_t);

  flat_vector (out, flat_place (out, table, 1), batch->nodes.length / pair, pair);
  buffer_add (out, batch->nodes.data, batch->nodes.length);
  flat_vector (out, flat_place (out, table, 2), batch->buffers.length / pair, pair);
  buffer_add (out, batch->buffers.data, batch->buffers.length);
  flat_table (out, flat_place (out, table, 3), compression, COUNT_OF (compression));
}

/* Writes the message and the body, and notes where for the footer. */
static int
message_put (struct columnar *table, const struct buffer *message, const struct buffer *body, struct buffer *places,
             struct error *error)
{
  struct buffer out = { 0 };
  int result;

  arrow_message_add (&out, message);
  flat_number (places, table->written, sizeof (int64_t));
  flat_number (places, out.length, sizeof (int64_t)); /* an int32_t and what aligns the next */
  flat_number (places, body->length, sizeof (int64_t));
  result = columnar_put (table, out.data, out.length, error);
  if (result == 0)
    result = columnar_put (table, body->data, body->length, error);
  buffer_free (&out);
  return result;
}

static int
begin (struct columnar *table, struct error *error)
{
  struct arrow *arrow = table->state;
  struct buffer out = { 0 };
  int result;

  if (arrow->begun)
    return 0;
  arrow->begun = true;
  buffer_add (&out, MAGIC "\0", 8);
  arrow_schema_message (&out, table);
  result = columnar_put (table, out.data, out.length, error);
  buffer_free (&out);
  return result;
}

static int
arrow_block (struct columnar *table, struct error *error)
{
  struct arrow *arrow = table->state;
  struct batch batch = { .pool = table->pool, .rows = table->rows };
  struct buffer message = { 0 };
  int result = begin (table, error);

  for (size_t i = 0; i < table->column_count; i++)
    column_put (&batch, &table->columns[i], &table->values[i], &arrow->dictionaries[i]);
  batch_add (&message, arrow_message_begin (&message, ARROW_RECORDS, batch.body.length), &batch);
  if (result == 0)
    result = message_put (table, &message, &batch.body, &arrow->records, error);
  buffer_free (&message);
  batch_free (&batch);
  return result;
}

static int
arrow_flush (struct columnar *table, struct error *error)
{
  return begin (table, error);
}

/* ---- the end ---- */

/* A batch of one column, the texts. */
static int
dictionary_put (struct columnar *table, size_t column, struct error *error)
{
  struct arrow *arrow = table->state;
  struct dictionary *dictionary = &arrow->dictionaries[column];
  const struct columnar_column texts = { .type = COLUMNAR_TEXT };
  const struct flat_field fields[] = { { 8, column }, { FLAT_OFFSET } }; /* id, data */
  struct batch batch = { .pool = table->pool, .rows = dictionary->count };
  struct columnar_values values = { 0 };
  struct buffer message = { 0 };
  size_t place;
  int result;

  for (const struct dictionary_text *text = dictionary->texts; text; text = text->hh.next) {
    buffer_add (&values.text, text->text, text->length);
    flat_number (&values.fixed, values.text.length, sizeof (uint32_t));
  }
  column_put (&batch, &texts, &values, NULL);
  place = arrow_message_begin (&message, ARROW_DICTIONARY, batch.body.length);
  place = flat_place (&message, flat_table (&message, place, fields, COUNT_OF (fields)), 1);
  batch_add (&message, place, &batch);
  result = message_put (table, &message, &batch.body, &arrow->dictionary_places, error);
  buffer_free (&message);
  buffer_free (&values.text);
  buffer_free (&values.fixed);
  batch_free (&batch);
  return result;
}

static void
places_add (struct buffer *out, size_t place, const struct buffer *places)
{
  size_t size = 3 * sizeof (int64_t);

  flat_vector (out, place, places->length / size, size);
  buffer_add (out, places->data, places->length);
}

static int
arrow_finish (struct columnar *table, struct error *error)
{
  /* version, schema, dictionaries, recordBatches */
  static const struct flat_field fields[] = { { 2, ARROW_V5 }, { FLAT_OFFSET }, { FLAT_OFFSET }, { FLAT_OFFSET } };
  struct arrow *arrow = table->state;
  struct buffer footer = { 0 }, out = { 0 };
  size_t root;
  int result = 0;

  for (size_t i = 0; i < table->column_count && result == 0; i++)
    if (table->columns[i].label)
      result = dictionary_put (table, i, error);
  root = flat_table (&footer, flat_begin (&footer), fields, COUNT_OF (fields));
  arrow_schema_add (&footer, flat_place (&footer, root, 1), table);
  places_add (&footer, flat_place (&footer, root, 2), &arrow->dictionary_places);
  places_add (&footer, flat_place (&footer, root, 3), &arrow->records);
  flat_number (&out, UINT32_MAX, 8); /* the mark of the end: a message without a length */
  buffer_add (&out, footer.data, footer.length);
  flat_number (&out, footer.length, sizeof (int32_t));
  buffer_add_string (&out, MAGIC);
  if (result == 0)
    result = columnar_put (table, out.data, out.length, error);
  buffer_free (&footer);
  buffer_free (&out);
  return result;
}

const struct columnar_form columnar_arrow = { arrow_create, arrow_block, arrow_flush, arrow_finish, arrow_destroy };
