/* The last frames of this node, so that the aggregator can ask again for what it missed.
 *
 * They lie in a file, so that they outlive the agent: frames of earlier sessions stay until they are too old, or until
 * their place is needed. While there can be no file they are in memory; it is tried again each minute, and takes them
 * over when it can be made. */
#ifndef SYNOP_AGENT_RING_H
#define SYNOP_AGENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/control.h"
#include "synop/schema.h"

struct ring;

struct ring_options {
  const char *path; /* "": in memory */
  size_t size;      /* bytes for frames */
  int64_t max_age_ns;
  const char *node; /* frames of another node that the file holds are left out: nobody would take them */
};

struct ring_frame {
  uint64_t session, sequence;
  const void *bytes; /* valid until the ring is used again; NULL: see ring_next */
  size_t length;
};

/* `now_ns` is CLOCK_MONOTONIC, `wall_ns` tells how old the frames in the file are. What is wrong with the file, and what
 * to do, is logged when it begins, and its end too. */
struct ring *ring_create (const struct ring_options *options, int64_t now_ns, int64_t wall_ns);
void ring_destroy (struct ring *ring);

void ring_add (struct ring *ring, const struct ring_frame *frame, int64_t now_ns, int64_t wall_ns);
/* The schema of the frames that are added next: it is kept as long as one of them is. Called before each of them it
 * costs nothing where it is there already. */
void ring_keep_schema (struct ring *ring, const struct schema *schema);
/* A schema that frames in the ring have. False: it is not there. True and NULL: it is being read; ask again a moment later.
 * Valid until the ring is used again. */
bool ring_schema (struct ring *ring, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes, size_t *length);
/* The first frame of at most `most` bytes that is held of `from` to `to` of a session; the others are not read. False:
 * none of them is. Finding it takes no longer than the logarithm of how many are held, for each session, and waits for no
 * disk: what is not in memory a thread reads. Its `bytes` are NULL meanwhile; ask again a moment later. */
bool ring_next (struct ring *ring, uint64_t session, uint64_t from, uint64_t to, size_t most, struct ring_frame *frame);
/* The sessions of which frames are held, the newest first. Returns how many there are, at most `max`. */
size_t ring_sessions (struct ring *ring, int64_t now_ns, struct control_held *sessions, size_t max);

size_t ring_count (const struct ring *ring);
bool ring_is_file (const struct ring *ring);
const char *ring_trouble (const struct ring *ring); /* what is wrong with the file, or was mended in it; or "" */

#endif
