/* See flatbuffer.h. */
#include "aggregator/columnar/flatbuffer.h"

#include <assert.h>
#include <string.h>

#define FIELDS_MAX 8

/* This machine's numbers lie as FlatBuffers', Arrow's and Parquet's do. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lowest byte comes first");

void
flat_number (struct buffer *out, uint64_t value, unsigned size)
{
  buffer_add (out, &value, size);
}

/* Zeros, until `before` more bytes would end at a multiple of `size`. */
static void
align (struct buffer *out, size_t before, size_t size)
{
  while ((out->length + before) % size)
    flat_number (out, 0, 1);
}

static void
point (struct buffer *out, size_t place, size_t target)
{
  uint32_t distance = (uint32_t) (target - place);

  memcpy (out->data + place, &distance, sizeof distance);
}

size_t
flat_begin (struct buffer *out)
{
  assert (out->length == 0);
  flat_number (out, 0, FLAT_OFFSET);
  return 0;
}

size_t
flat_table (struct buffer *out, size_t place, const struct flat_field *fields, size_t count)
{
  uint16_t at[FIELDS_MAX] = { 0 };
  size_t size = FLAT_OFFSET, vtable, table;

  assert (count <= FIELDS_MAX);
  for (size_t i = 0; i < count; i++)
    if (fields[i].size) {
      size = (size + fields[i].size - 1) / fields[i].size * fields[i].size;
      at[i] = (uint16_t) size;
      size += fields[i].size;
    }
  align (out, 0, sizeof (uint16_t));
  vtable = out->length;
  flat_number (out, (count + 2) * sizeof (uint16_t), sizeof (uint16_t));
  flat_number (out, size, sizeof (uint16_t));
  buffer_add (out, at, count * sizeof at[0]);
  align (out, 0, sizeof (uint64_t));
  table = out->length;
  flat_number (out, table - vtable, FLAT_OFFSET);
  for (size_t i = 0; i < count; i++)
    if (fields[i].size) {
      while (out->length < table + at[i])
        flat_number (out, 0, 1);
      flat_number (out, fields[i].value, fields[i].size);
    }
  point (out, place, table);
  return table;
}

size_t
flat_place (const struct buffer *out, size_t table, unsigned field)
{
  uint32_t back;
  uint16_t at;

  memcpy (&back, out->data + table, sizeof back);
  memcpy (&at, out->data + table - back + (2 + field) * sizeof at, sizeof at);
  assert (at);
  return table + at;
}

size_t
flat_vector (struct buffer *out, size_t place, size_t count, size_t size)
{
  align (out, sizeof (uint32_t), size % 8 ? sizeof (uint32_t) : sizeof (uint64_t));
  point (out, place, out->length);
  flat_number (out, count, sizeof (uint32_t));
  return out->length;
}

size_t
flat_offsets (struct buffer *out, size_t place, size_t count)
{
  size_t first = flat_vector (out, place, count, FLAT_OFFSET);

  for (size_t i = 0; i < count; i++)
    flat_number (out, 0, FLAT_OFFSET);
  return first;
}

void
flat_text (struct buffer *out, size_t place, const char *text)
{
  size_t length = strlen (text);

  flat_vector (out, place, length, 1);
  buffer_add (out, text, length + 1);
}
