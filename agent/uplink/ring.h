/* The last frames of this node, so that the aggregator can ask again for what it missed.
 *
 * They lie in a file, so that they outlive the agent: frames of earlier sessions stay until they are too old, or until
 * their space is needed. While there can be no file they are in memory; creating it is tried again each minute, and then
 * they are moved into it. */
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
  const char *node; /* frames of another node in the file are left out: no aggregator would accept them */
};

struct ring_frame {
  uint64_t session, sequence;
  const void *bytes; /* valid until the ring is used again; NULL: see ring_next */
  size_t length;
};

/* `now_ns` is CLOCK_MONOTONIC; `wall_ns` gives the age of the frames in the file. Trouble with the file, and its remedy, is
 * logged when it begins and when it ends. */
struct ring *ring_create (const struct ring_options *options, int64_t now_ns, int64_t wall_ns);
void ring_destroy (struct ring *ring);

void ring_add (struct ring *ring, const struct ring_frame *frame, int64_t now_ns, int64_t wall_ns);
/* Sets the schema of the frames that are added next: it is kept as long as one of them is. Cheap if it is kept already, so
 * it is called before each of them. */
void ring_keep_schema (struct ring *ring, const struct schema *schema);
/* The schema with that hash, of frames in the ring. False: there is none. True and NULL: it is being read; call again a
 * moment later. Valid until the ring is used again. */
bool ring_schema (struct ring *ring, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes, size_t *length);
/* The first frame held of `from` to `to` of a session, of at most `most` bytes; larger ones are not read. False: there is
 * none. The search takes logarithmic time in the number of frames, for each session, and never waits for a disk: a thread
 * reads what is not in memory. `bytes` is NULL meanwhile; call again from that frame on a
 * moment later. */
bool ring_next (struct ring *ring, uint64_t session, uint64_t from, uint64_t to, size_t most, struct ring_frame *frame);
/* The sessions whose frames are held, the newest first. Returns their number, at most `max`. */
size_t ring_sessions (struct ring *ring, int64_t now_ns, struct control_held *sessions, size_t max);

size_t ring_count (const struct ring *ring);
bool ring_is_file (const struct ring *ring);
const char *ring_trouble (const struct ring *ring); /* what is wrong with the file, or was repaired; or "" */

#endif
