/* See thrift.h. */
#include "aggregator/columnar/thrift.h"

#include <assert.h>
#include <string.h>

static void
byte_add (struct buffer *out, unsigned byte)
{
  buffer_add (out, &(uint8_t){ (uint8_t) byte }, 1);
}

void
varint_add (struct buffer *out, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    byte_add (out, (unsigned) (value & 0x7f) | 0x80);
  byte_add (out, (unsigned) value);
}

static void
zigzag_add (struct buffer *out, int64_t value)
{
  varint_add (out, ((uint64_t) value << 1) ^ (uint64_t) (value >> 63));
}

/* All ids of Parquet's structs are less than 15 apart. */
static void
field (struct thrift *thrift, unsigned id, enum thrift_type type)
{
  unsigned *last;

  if (id == THRIFT_ITEM)
    return;
  last = &thrift->last[thrift->depth - 1];
  assert (id > *last && id - *last < 15);
  byte_add (&thrift->out, (id - *last) << 4 | type);
  *last = id;
}

void
thrift_open (struct thrift *thrift, unsigned id)
{
  field (thrift, id, THRIFT_STRUCT);
  assert (thrift->depth < THRIFT_DEPTH);
  thrift->last[thrift->depth++] = 0;
}

void
thrift_close (struct thrift *thrift)
{
  byte_add (&thrift->out, 0);
  thrift->depth--;
}

void
thrift_nothing (struct thrift *thrift, unsigned id)
{
  thrift_open (thrift, id);
  thrift_close (thrift);
}

void
thrift_list (struct thrift *thrift, unsigned id, enum thrift_type type, size_t count)
{
  field (thrift, id, THRIFT_LIST);
  byte_add (&thrift->out, (count < 15 ? (unsigned) count : 15) << 4 | type);
  if (count >= 15)
    varint_add (&thrift->out, count);
}

void
thrift_bool (struct thrift *thrift, unsigned id, bool value)
{
  field (thrift, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void
thrift_i32 (struct thrift *thrift, unsigned id, int32_t value)
{
  field (thrift, id, THRIFT_I32);
  zigzag_add (&thrift->out, value);
}

void
thrift_i64 (struct thrift *thrift, unsigned id, int64_t value)
{
  field (thrift, id, THRIFT_I64);
  zigzag_add (&thrift->out, value);
}

void
thrift_binary (struct thrift *thrift, unsigned id, const void *bytes, size_t length)
{
  field (thrift, id, THRIFT_BINARY);
  varint_add (&thrift->out, length);
  buffer_add (&thrift->out, bytes, length);
}

void
thrift_text (struct thrift *thrift, unsigned id, const char *text)
{
  thrift_binary (thrift, id, text, strlen (text));
}
