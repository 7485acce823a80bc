/* See ring.h. ring_store.c handles the layout of frames in the file; ring.c decides what is kept, and where: in the file,
 * or in memory while there is none. */
#include "agent/uplink/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/uplink/ring_store.h"
#include "synop/clock.h"
#include "synop/error.h"
#include "synop/log.h"
#include "synop/memory.h"

#define CHECK_PERIOD (60 * NS_PER_S)

struct ring {
  struct ring_options options; /* with copies of its texts */
  struct ring_store store;
  int64_t check_ns; /* the next check whether there is a file */
  struct error trouble;
};

bool
ring_is_file (const struct ring *ring)
{
  return ring->store.file.fd >= 0;
}

static void
ring_warn (struct ring *ring)
{
  log_warning ("ring: %s%s", ring->trouble.text,
               ring_is_file (ring) ? "" : "; until then frames are kept in memory, and lost when the agent ends");
}

static void
ring_welcome_file (struct ring *ring)
{
  if (ring->trouble.text[0])
    ring_warn (ring); /* it was repaired */
  else
    log_info ("ring: %s holds %zu frames", ring->options.path, ring->store.count);
}

/* ---- from the file to memory, and back ---- */

/* Saves what can be read of the file. */
static void
ring_abandon_file (struct ring *ring, const char *why)
{
  struct ring_store memory;

  error_set (&ring->trouble, "%s: %s; make it writable or set [ring] path", ring->options.path, why);
  ring_store_in_memory (&memory, ring->options.size);
  ring_store_copy (&ring->store, &memory, NULL);
  ring_store_free (&ring->store);
  ring->store = memory;
  ring_warn (ring);
}

/* Moves frames from memory into the file. The file may hold frames already: earlier ones, when its disk was mounted late, or
 * those that were saved when it was abandoned. Then it is rewritten, so that each frame is in it once and in order. */
static int
ring_move_into (struct ring *ring, struct ring_store *file)
{
  struct ring_store all;

  ring_store_in_memory (&all, ring->options.size);
  ring_store_copy (file, &all, &ring->store);
  if (all.count == file->count) { /* no frame is in both */
    ring_store_free (&all);
    return ring_store_copy (&ring->store, file, NULL);
  }
  ring_store_copy (&ring->store, &all, NULL);
  ring_store_free (&ring->store);
  ring->store = all;
  return ring_store_clear (file) < 0 ? -1 : ring_store_copy (&ring->store, file, NULL);
}

static void
ring_return_to_file (struct ring *ring, int64_t now_ns, int64_t wall_ns)
{
  struct ring_store file;
  struct error trouble;

  if (ring_store_open (&file, &ring->options, now_ns, wall_ns, &trouble) < 0) {
    if (strcmp (trouble.text, ring->trouble.text) != 0)
      log_info ("ring: now %s", trouble.text);
    ring->trouble = trouble;
  } else if (ring_move_into (ring, &file) < 0) {
    ring_store_free (&file);
  } else {
    ring_store_free (&ring->store);
    ring->store = file;
    ring->trouble = trouble;
    ring_welcome_file (ring);
  }
}

static void
ring_check_file (struct ring *ring, int64_t now_ns, int64_t wall_ns)
{
  ring->check_ns = now_ns + CHECK_PERIOD;
  if (ring_is_file (ring) && ring_file_is_at (&ring->store.file, ring->options.path))
    return;
  if (ring_is_file (ring))
    ring_abandon_file (ring, "it was removed, replaced or cut short");
  ring_return_to_file (ring, now_ns, wall_ns);
}

/* ---- what others use ---- */

void
ring_add (struct ring *ring, const struct ring_frame *frame, int64_t now_ns, int64_t wall_ns)
{
  ring_store_drop_before (&ring->store, now_ns - ring->options.max_age_ns);
  if (now_ns >= ring->check_ns)
    ring_check_file (ring, now_ns, wall_ns);
  if (ring_store_put (&ring->store, frame, now_ns) == 0)
    return;
  ring_abandon_file (ring, strerror (errno));
  ring_store_put (&ring->store, frame, now_ns);
}

void
ring_keep_schema (struct ring *ring, const struct schema *schema)
{
  const struct buffer *bytes = &schema->encoded;

  if (ring_store_keep_schema (&ring->store, schema->hash, bytes->data, bytes->length) == 0)
    return;
  ring_abandon_file (ring, strerror (errno));
  ring_store_keep_schema (&ring->store, schema->hash, bytes->data, bytes->length);
}

bool
ring_schema (struct ring *ring, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes, size_t *length)
{
  return ring_store_schema_poll (&ring->store, hash, bytes, length);
}

struct ring *
ring_create (const struct ring_options *options, int64_t now_ns, int64_t wall_ns)
{
  struct ring *ring = memory_new (1, sizeof *ring);

  ring->options = *options;
  ring->options.path = memory_string (options->path);
  ring->options.node = memory_string (options->node);
  ring->check_ns = options->path[0] ? now_ns + CHECK_PERIOD : INT64_MAX;
  if (!options->path[0])
    ring_store_in_memory (&ring->store, options->size);
  else if (ring_store_open (&ring->store, options, now_ns, wall_ns, &ring->trouble) == 0)
    ring_welcome_file (ring);
  else {
    ring_store_in_memory (&ring->store, options->size);
    ring_warn (ring);
  }
  return ring;
}

void
ring_destroy (struct ring *ring)
{
  if (!ring)
    return;
  ring_store_free (&ring->store);
  free ((char *) ring->options.path);
  free ((char *) ring->options.node);
  free (ring);
}

bool
ring_next (struct ring *ring, uint64_t session, uint64_t from, uint64_t to, size_t most, struct ring_frame *frame)
{
  return ring_store_next (&ring->store, session, from, to, most, frame);
}

size_t
ring_sessions (struct ring *ring, int64_t now_ns, struct control_held *sessions, size_t max)
{
  ring_store_drop_before (&ring->store, now_ns - ring->options.max_age_ns);
  return ring_store_sessions (&ring->store, sessions, max);
}

size_t
ring_count (const struct ring *ring)
{
  return ring->store.count;
}

const char *
ring_trouble (const struct ring *ring)
{
  return ring->trouble.text;
}
