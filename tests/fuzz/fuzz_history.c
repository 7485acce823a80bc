/* Fuzzes the reader of a history's chunks. What can be read, packed and unpacked again, must be the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_record.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
read_records (const struct chunk *chunk)
{
  for (size_t i = 0; i < chunk->count; i++) {
    struct frame_record frame;
    struct tick_record tick;
    size_t length;
    const void *bytes = chunk_message (chunk, i, &length);
    frame_record_read (&frame, bytes, length, INT64_MAX);
    tick_record_read (&tick, bytes, length);
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct chunk chunk = { 0 }, again = { 0 };
  struct buffer packed = { 0 };
  struct error error = { "" };

  chunk_unpack (&chunk, data, size, &error); /* almost never past zstd's checksum */
  chunk_free (&chunk);
  if (chunk_read (&chunk, data, size, &error) == 0) {
    read_records (&chunk);
    chunk_pack (&chunk, &packed);
    if (chunk_unpack (&again, packed.data, packed.length, &error) < 0 || again.count != chunk.count ||
        again.bytes.length != chunk.bytes.length ||
        (chunk.bytes.length && memcmp (again.bytes.data, chunk.bytes.data, chunk.bytes.length) != 0))
      abort ();
  } else if (!error.text[0]) {
    abort ();
  }
  chunk_free (&chunk);
  chunk_free (&again);
  buffer_free (&packed);
  return 0;
}
