/* A chunk of history: a list of messages of one kind, packed.
 *
 * Frames of a node are nearly alike: the same keys and labels in the same order, and numbers that change a little.
 * So a message is split into a form, which most messages share, and its numbers, which go into columns
 * (history_number.h); zstd then compresses all of it, with a checksum that shows damage. Packing checks itself: a
 * chunk that would not come back byte for byte is stored without forms. */
#ifndef SYNOP_AGGREGATOR_HISTORY_CHUNK_H
#define SYNOP_AGGREGATOR_HISTORY_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

#define CHUNK_MESSAGES_MAX 65536
#define CHUNK_BYTES_MAX ((size_t) 4 * 1024 * 1024) /* of all messages of a chunk */

struct chunk {
  struct buffer bytes; /* the messages in a row */
  size_t *ends;        /* where each ends */
  size_t count, capacity;
};

void chunk_free (struct chunk *chunk);
void chunk_clear (struct chunk *chunk);
void chunk_add (struct chunk *chunk, const void *bytes, size_t length);
static inline const void *
chunk_message (const struct chunk *chunk, size_t index, size_t *length)
{
  size_t from = index ? chunk->ends[index - 1] : 0;

  *length = chunk->ends[index] - from;
  return *length ? chunk->bytes.data + from : "";
}

struct chunk_look; /* history_form.h */

/* Adds the compressed chunk to `out`. The chunk must be within the limits above. */
void chunk_pack (const struct chunk *chunk, struct buffer *out);
/* Unpacks into an empty chunk. The bytes may be anything: memory is bounded by the limits. */
int chunk_unpack (struct chunk *chunk, const void *bytes, size_t length, struct error *error);
/* The same, and `look` is shown the parts of its messages, unless they cannot be parted. */
int chunk_unpack_parts (struct chunk *chunk, const void *bytes, size_t length, const struct chunk_look *look);

/* The two steps of that: zstd (by a context that may be used again, or NULL), into an emptied buffer, and then forms and
 * columns. */
struct ZSTD_DCtx_s;
int chunk_inflate (struct buffer *raw, struct ZSTD_DCtx_s *zstd, const void *bytes, size_t length, struct error *error);
int chunk_read (struct chunk *chunk, const void *bytes, size_t length, struct error *error);

void chunk_pack_whole (const struct chunk *chunk, struct buffer *out); /* without forms, for tests */

#endif
