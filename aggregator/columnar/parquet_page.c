/* Pages of Parquet: README.md, "Data Pages"; parquet.thrift, struct PageHeader; Encodings.md.
 *
 * A page of data (DATA_PAGE, version 1, which every reader knows) is the definition levels, 1 or 0 of a null, as runs behind
 * their length, and the values that are not null: PLAIN, or the numbers of texts in the dictionary (RLE_DICTIONARY). Both
 * together are compressed with zstd. When a chunk has too many different texts, its further pages are PLAIN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/columnar/hybrid.h"
#include "aggregator/columnar/parquet_private.h"
#include "synop/memory.h"

#define DICTIONARY_TEXTS 65536                      /* of a chunk, */
#define DICTIONARY_BYTES ((size_t) 2 * 1024 * 1024) /* and of their memory */
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

/* ---- statistics ---- */

static int
compare_texts (const char *one, size_t one_length, const char *other, size_t other_length)
{
  int order = memcmp (one, other, one_length < other_length ? one_length : other_length);

  return order ? order : one_length < other_length ? -1 : one_length > other_length;
}

static void
keep_text (struct buffer *kept, const char *text, size_t length)
{
  buffer_clear (kept);
  buffer_add (kept, text, length);
}

static void
range_take_text (struct parquet_range *range, const char *text, size_t length)
{
  const struct buffer *min = &range->min_text, *max = &range->max_text;

  if (!range->known || compare_texts (text, length, min->data, min->length) < 0)
    keep_text (&range->min_text, text, length);
  if (!range->known || compare_texts (text, length, max->data, max->length) > 0)
    keep_text (&range->max_text, text, length);
  range->known = true;
}

/* NaN has no order, and is left out; a zero may be either: parquet.thrift, TypeDefinedOrder. */
static void
range_take_real (struct parquet_range *range, double value)
{
  if (isnan (value))
    return;
  if (!range->known || value < range->min.real)
    range->min.real = value;
  if (!range->known || value > range->max.real)
    range->max.real = value;
  range->min.real = range->min.real == 0 ? -0.0 : range->min.real;
  range->max.real = range->max.real == 0 ? 0.0 : range->max.real;
  range->known = true;
}

static void
range_take_whole (struct parquet_range *range, int64_t value)
{
  if (!range->known || value < range->min.whole)
    range->min.whole = value;
  if (!range->known || value > range->max.whole)
    range->max.whole = value;
  range->known = true;
}

/* ---- values ---- */

static void
levels_add (struct buffer *out, const struct columnar_values *values, size_t rows)
{
  uint32_t *levels = memory_new (rows, sizeof *levels), length;
  size_t from = out->length;

  for (size_t i = 0; i < rows; i++)
    levels[i] = (uint32_t) values->known.data[i];
  buffer_add (out, &(uint32_t){ 0 }, sizeof length);
  hybrid_add (out, levels, rows, 1);
  length = (uint32_t) (out->length - from - sizeof length);
  memcpy (out->data + from, &length, sizeof length);
  free (levels);
}

static void
wholes_add (struct buffer *out, const struct columnar_values *values, size_t rows, struct parquet_range *range)
{
  const int64_t *wholes = (const int64_t *) (const void *) values->fixed.data;

  for (size_t i = 0; i < rows; i++)
    if (values->known.data[i]) {
      range_take_whole (range, wholes[i]);
      buffer_add (out, &wholes[i], sizeof wholes[i]);
    }
}

static void
reals_add (struct buffer *out, const struct columnar_values *values, size_t rows, struct parquet_range *range)
{
  const double *reals = (const double *) (const void *) values->fixed.data;

  for (size_t i = 0; i < rows; i++)
    if (values->known.data[i]) {
      range_take_real (range, reals[i]);
      buffer_add (out, &reals[i], sizeof reals[i]);
    }
}

static void
truths_add (struct buffer *out, const struct columnar_values *values, size_t rows, struct parquet_range *range)
{
  char *truths = memory_new (rows, 1);
  size_t count = 0;

  for (size_t i = 0; i < rows; i++)
    if (values->known.data[i]) {
      range_take_whole (range, values->fixed.data[i]);
      truths[count++] = values->fixed.data[i];
    }
  bits_add (out, truths, count);
  free (truths);
}

static void
plain_text_add (struct buffer *out, const char *text, size_t length)
{
  buffer_add (out, &(uint32_t){ (uint32_t) length }, sizeof (uint32_t));
  buffer_add (out, text, length);
}

static void
texts_add (struct buffer *out, const struct columnar_values *values, size_t rows)
{
  const char *text;
  size_t length;

  for (size_t i = 0; i < rows; i++)
    if (values->known.data[i]) {
      text = columnar_text (values, i, &length);
      plain_text_add (out, text, length);
    }
}

/* The numbers of the texts, behind the number of their bits. False: there are too many texts for the dictionary, and nothing
 * is added. */
static bool
coded_add (struct buffer *out, const struct columnar_values *values, size_t rows, struct parquet_chunk *chunk)
{
  struct dictionary *dictionary = &chunk->dictionary;
  uint32_t *numbers = memory_new (rows, sizeof *numbers), before;
  size_t count = 0, length;
  bool fits = true;
  unsigned width;

  for (size_t i = 0; i < rows && fits; i++)
    if (values->known.data[i]) {
      const char *text = columnar_text (values, i, &length);
      before = dictionary->count;
      numbers[count++] = dictionary_index (dictionary, text, length);
      if (dictionary->count > before)
        range_take_text (&chunk->range, text, length);
      fits = dictionary->count <= DICTIONARY_TEXTS && dictionary->bytes <= DICTIONARY_BYTES;
    }
  if (fits) {
    width = hybrid_width (dictionary->count ? dictionary->count - 1 : 0);
    buffer_add (out, &(uint8_t){ (uint8_t) width }, 1);
    hybrid_add (out, numbers, count, width);
  }
  free (numbers);
  return fits;
}

/* Returns the encoding. */
static int32_t
values_add (struct buffer *out, const struct columnar_values *values, size_t rows, enum columnar_type type,
            struct parquet_chunk *chunk)
{
  const char *text;
  size_t length;

  switch (type) {
  case COLUMNAR_DOUBLE:
    reals_add (out, values, rows, &chunk->range);
    return PARQUET_PLAIN;
  case COLUMNAR_BOOL:
    truths_add (out, values, rows, &chunk->range);
    return PARQUET_PLAIN;
  case COLUMNAR_TEXT:
    if (!chunk->plain && coded_add (out, values, rows, chunk)) {
      chunk->coded = true;
      return PARQUET_RLE_DICTIONARY;
    }
    chunk->plain = true;
    if (!chunk->coded)
      dictionary_free (&chunk->dictionary);
    for (size_t i = 0; i < rows; i++)
      if (values->known.data[i]) {
        text = columnar_text (values, i, &length);
        range_take_text (&chunk->range, text, length);
      }
    texts_add (out, values, rows);
    return PARQUET_PLAIN;
  default:
    wholes_add (out, values, rows, &chunk->range);
    return PARQUET_PLAIN;
  }
}

/* ---- pages ---- */

/* Adds a page to `out`; `count` values of that encoding. */
static void
page_add (struct buffer *out, struct parquet_chunk *chunk, struct columnar_pool *pool, const struct buffer *raw,
          int type, size_t count, int32_t encoding)
{
  struct buffer packed = { 0 };
  struct thrift header = { 0 };

  columnar_pack (pool, &packed, raw->data, raw->length);
  thrift_open (&header, THRIFT_ITEM);
  thrift_i32 (&header, 1, type);
  thrift_i32 (&header, 2, (int32_t) raw->length);
  thrift_i32 (&header, 3, (int32_t) packed.length);
  thrift_open (&header, type == DATA_PAGE ? 5 : 7);
  thrift_i32 (&header, 1, (int32_t) count);
  thrift_i32 (&header, 2, encoding);
  if (type == DATA_PAGE) {
    thrift_i32 (&header, 3, PARQUET_RLE); /* definition levels */
    thrift_i32 (&header, 4, PARQUET_RLE); /* repetition levels: there are none */
  }
  thrift_close (&header);
  thrift_close (&header);
  buffer_add (out, header.out.data, header.out.length);
  buffer_add (out, packed.data, packed.length);
  chunk->raw_bytes += header.out.length + raw->length;
  buffer_free (&header.out);
  buffer_free (&packed);
}

static size_t
chunk_bytes (const struct parquet_chunk *chunk)
{
  return chunk->pages.length + chunk->dictionary.bytes;
}

size_t
parquet_page_add (struct parquet_chunk *chunk, struct columnar *table, size_t column)
{
  const struct columnar_values *values = &table->values[column];
  size_t before = chunk_bytes (chunk);
  struct buffer raw = { 0 };
  int32_t encoding;

  levels_add (&raw, values, table->rows);
  encoding = values_add (&raw, values, table->rows, table->columns[column].type, chunk);
  page_add (&chunk->pages, chunk, table->pool, &raw, DATA_PAGE, table->rows, encoding);
  chunk->nulls += values->nulls;
  buffer_free (&raw);
  return chunk_bytes (chunk) - before;
}

void
parquet_dictionary_page (struct parquet_chunk *chunk, struct columnar_pool *pool, struct buffer *out)
{
  struct buffer raw = { 0 };

  for (const struct dictionary_text *text = chunk->dictionary.texts; text; text = text->hh.next)
    plain_text_add (&raw, text->text, text->length);
  page_add (out, chunk, pool, &raw, DICTIONARY_PAGE, chunk->dictionary.count, PARQUET_PLAIN);
  buffer_free (&raw);
}
