/* Fuzzes the ring's file: whatever it holds, the agent opens it or leaves it alone, and goes on. The checksums are made
 * right first, else nothing behind them would be reached. Links libagent. */
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/uplink/ring.h"
#include "agent/uplink/ring_file.h"
#include "synop/clock.h"
#include "synop/log.h"

#define SUM crypto_shorthash_BYTES
#define RECORD 24 /* sum, mark, length, serial: see ring_store.c */

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* The first byte says how many records are to be found: each has a distance from the one before, and its length. */
static void
mend (uint8_t *file, size_t size, unsigned records)
{
  uint8_t *key = file + 16;
  size_t at = RING_FILE_HEAD;
  uint32_t mark, length;

  crypto_shorthash (file + 32, file, 32, key);
  memcpy (&mark, key, sizeof mark);
  mark = ~mark;
  for (; records > 0 && size - at >= RECORD; records--) {
    memcpy (file + at + SUM, &mark, sizeof mark);
    memcpy (&length, file + at + SUM + 4, sizeof length);
    length %= 512;
    if (length > size - at - RECORD)
      return;
    memcpy (file + at + SUM + 4, &length, sizeof length);
    crypto_shorthash (file + at, file + at + SUM, RECORD - SUM + length, key);
    at += (RECORD + length + 7) & ~(size_t) 7;
    if (at > size)
      return;
  }
}

/* Its hash is that of no bytes, so of none that a file may hold. */
static char schema_bytes[600];
static const struct schema schema_of_frames = { .hash = { 7 },
                                                .encoded = { .data = schema_bytes, .length = sizeof schema_bytes } };

static void
use (struct ring *ring)
{
  struct control_held held[CONTROL_HELD_MAX];
  size_t count = ring_sessions (ring, 0, held, CONTROL_HELD_MAX);
  struct ring_frame frame;
  uint8_t all[65536];
  const void *bytes;
  size_t length;

  if (ring_schema (ring, schema_of_frames.hash, &bytes, &length) && bytes)
    memcpy (all, bytes, length);
  for (size_t i = 0; i < count; i++)
    for (uint64_t next = held[i].first; ring_next (ring, held[i].session, next, held[i].last, SIZE_MAX, &frame);
         next = frame.sequence + 1) {
      if (frame.bytes)
        memcpy (all, frame.bytes, frame.length); /* all of it is there */
      if (frame.sequence == held[i].last)
        break;
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char path[128];
  uint8_t *file = calloc (1, RING_FILE_HEAD + size + 1);
  size_t length = size;

  if (size > 42) { /* the rest of the head's page is not read */
    memcpy (file, data + 1, 40);
    memcpy (file + RING_FILE_HEAD, data + 41, size - 41);
    length = RING_FILE_HEAD + size - 41;
    if (data[0] & 0x80) {
      memcpy (file, "synopRNG\1\0\0\0", 12);
      mend (file, length, data[0] & 0x7f);
    }
  } else
    memcpy (file, data, size);
  snprintf (path, sizeof path, "%s/synop-fuzz-ring.%d", getenv ("TMPDIR") ? getenv ("TMPDIR") : "/tmp",
            (int) getpid ());

  FILE *out = fopen (path, "we");
  if (!out || fwrite (file, 1, length, out) != length || fclose (out) != 0)
    abort ();

  log_set_level (LOG_LEVEL_ERROR);
  struct ring *ring = ring_create (&(struct ring_options){ path, 8192, INT64_MAX / 4, "n1" }, 0, 0);
  uint8_t frame[700] = { 1 };

  use (ring);
  for (uint64_t i = 1; i < 40; i++) {
    int64_t now_ns = (int64_t) i * 10 * NS_PER_S;

    if (i == 10 && size > 0 && truncate (path, data[size - 1] * 50) < 0) /* it is looked for each minute */
      abort ();
    ring_keep_schema (ring, &schema_of_frames);
    ring_add (ring, &(struct ring_frame){ 7, i, frame, (size_t) i * 17 }, now_ns, now_ns);
    use (ring);
  }
  ring_destroy (ring);
  unlink (path);
  free (file);
  return 0;
}
