/* See history_chunk.h. Lengths, counts and indexes are varints.
 *
 *   chunk   = zstd of: 0, count of messages, [length...], messages      unchanged
 *           | zstd of: 1, count of forms, [length, form]..., count of shapes, [count of parts, [form...]]...,
 *                      count of messages, [shape...], length of modes, of firsts, modes, firsts, rest
 *   form    = msgpack with c1 (never used in msgpack) in place of each number that varies, and of nil
 *   shape   = the forms of the parts of a message
 *   columns = for each form, for each of its c1: one number for each use of the form, in order
 *
 * A message is an array. Its parts are the tables of a frame, that is, each item of an array in it, and the bytes
 * before, between and behind them. The first number of a part stays in its form: it is the group of a table, so that
 * groups do not share columns. A number that is not written in the shortest way stays too. */
#include "aggregator/history/history_chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/history_form.h"
#include "synop/array.h"

#define LEVEL 6
#define WHOLE 0
#define COLUMNS 1

/* ---- a chunk in memory ---- */

void
chunk_free (struct chunk *chunk)
{
  buffer_free (&chunk->bytes);
  free (chunk->ends);
  *chunk = (struct chunk){ 0 };
}

void
chunk_clear (struct chunk *chunk)
{
  buffer_clear (&chunk->bytes);
  chunk->count = 0;
}

void
chunk_end_message (struct chunk *chunk)
{
  *array_add (chunk->ends, chunk->count, chunk->capacity) = chunk->bytes.length;
}

void
chunk_add (struct chunk *chunk, const void *bytes, size_t length)
{
  buffer_add (&chunk->bytes, bytes, length);
  chunk_end_message (chunk);
}

static void
write_whole (const struct chunk *chunk, struct buffer *out)
{
  buffer_add (out, &(char){ WHOLE }, 1);
  varint_write (out, chunk->count);
  for (size_t i = 0; i < chunk->count; i++)
    varint_write (out, chunk->ends[i] - (i ? chunk->ends[i - 1] : 0));
  buffer_add (out, chunk->bytes.data, chunk->bytes.length);
}

static bool
comes_back (const struct chunk *chunk, const struct buffer *raw)
{
  struct chunk again = { 0 };
  bool same = raw->length <= CHUNK_RAW_MAX && chunk_read (&again, raw->data, raw->length, NULL) == 0 &&
              again.count == chunk->count && again.bytes.length == chunk->bytes.length &&
              memcmp (again.bytes.data, chunk->bytes.data, chunk->bytes.length) == 0 &&
              memcmp (again.ends, chunk->ends, chunk->count * sizeof chunk->ends[0]) == 0;

  chunk_free (&again);
  return same;
}

static void
compress (const struct buffer *raw, struct buffer *out)
{
  size_t room = ZSTD_compressBound (raw->length), length;
  ZSTD_CCtx *zstd = ZSTD_createCCtx ();

  if (!zstd)
    abort ();
  ZSTD_CCtx_setParameter (zstd, ZSTD_c_compressionLevel, LEVEL);
  ZSTD_CCtx_setParameter (zstd, ZSTD_c_checksumFlag, 1);
  length = ZSTD_compress2 (zstd, buffer_reserve (out, room), room, raw->data, raw->length);
  if (ZSTD_isError (length)) /* not for want of room: zstd has no memory */
    abort ();
  out->length += length;
  ZSTD_freeCCtx (zstd);
}

void
chunk_pack (const struct chunk *chunk, struct buffer *out)
{
  struct buffer raw = { 0 };

  buffer_add (&raw, &(char){ COLUMNS }, 1);
  if (chunk->count == 0 || !chunk_split (chunk, &raw, NULL) || !comes_back (chunk, &raw)) {
    buffer_clear (&raw);
    write_whole (chunk, &raw);
  }
  compress (&raw, out);
  buffer_free (&raw);
}

void
chunk_pack_whole (const struct chunk *chunk, struct buffer *out)
{
  struct buffer raw = { 0 };

  write_whole (chunk, &raw);
  compress (&raw, out);
  buffer_free (&raw);
}

static int
broken (struct error *error)
{
  return error_set (error, "the chunk is broken");
}

static int
read_whole (struct chunk *chunk, struct wire *wire)
{
  size_t count = (size_t) varint_read (wire, CHUNK_MESSAGES_MAX), total = 0;

  for (size_t i = 0; i < count && !wire->bad; i++) {
    total += (size_t) varint_read (wire, CHUNK_BYTES_MAX);
    chunk->bytes.length = total; /* the bytes follow */
    chunk_end_message (chunk);
  }
  chunk->bytes.length = 0;
  if (wire->bad || total != (size_t) (wire->end - wire->at) || total > CHUNK_BYTES_MAX)
    return -1;
  buffer_add (&chunk->bytes, wire->at, total);
  return 0;
}

int
chunk_read (struct chunk *chunk, const void *bytes, size_t length, struct error *error)
{
  struct wire wire = wire_over (bytes, length);
  uint8_t kind = length ? *wire.at++ : UINT8_MAX;
  int result = kind == WHOLE ? read_whole (chunk, &wire) : kind == COLUMNS ? chunk_join (chunk, &wire, NULL) : -1;

  return result == 0 ? 0 : broken (error);
}

int
chunk_inflate (struct buffer *raw, ZSTD_DCtx *zstd, const void *bytes, size_t length, struct error *error)
{
  char *to;
  unsigned long long size = ZSTD_getFrameContentSize (bytes, length);
  size_t got;

  buffer_clear (raw);
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > CHUNK_RAW_MAX)
    return broken (error);
  to = buffer_reserve (raw, (size_t) size + 1);
  got = zstd ? ZSTD_decompressDCtx (zstd, to, (size_t) size, bytes, length)
             : ZSTD_decompress (to, (size_t) size, bytes, length);
  if (ZSTD_isError (got) || got != size)
    return error_set (error, "the chunk is broken: %s", ZSTD_isError (got) ? ZSTD_getErrorName (got) : "cut short");
  raw->length = (size_t) size;
  return 0;
}

int
chunk_unpack (struct chunk *chunk, const void *bytes, size_t length, struct error *error)
{
  struct buffer raw = { 0 };
  int result = chunk_inflate (&raw, NULL, bytes, length, error);

  if (result == 0)
    result = chunk_read (chunk, raw.data, raw.length, error);
  buffer_free (&raw);
  return result;
}

int
chunk_unpack_parts (struct chunk *chunk, const void *bytes, size_t length, const struct chunk_look *look)
{
  struct buffer raw = { 0 };
  int result = chunk_inflate (&raw, NULL, bytes, length, NULL);

  if (result == 0 && raw.length && raw.data[0] == COLUMNS) {
    struct wire wire = wire_over (raw.data + 1, raw.length - 1);
    result = chunk_join (chunk, &wire, look);
  } else if (result == 0) {
    result = chunk_read (chunk, raw.data, raw.length, NULL);
    if (result == 0)
      chunk_split (chunk, NULL, look);
  }
  buffer_free (&raw);
  return result;
}

bool
chunk_read_parts (struct parts *parts, struct wire *wire)
{
  *parts = (struct parts){ 0 };
  if (wire->at == wire->end || *wire->at != COLUMNS)
    return false;
  wire->at++;
  return parts_read (parts, wire);
}
