/* Frames as records in a ring's file, or in memory, and the list of them. ring.c decides what is kept, and where. */
#ifndef SYNOP_AGENT_RING_STORE_H
#define SYNOP_AGENT_RING_STORE_H

#include "agent/uplink/ring.h"
#include "agent/uplink/ring_file.h"
#include "agent/uplink/ring_schemas.h"
#include "synop/buffer.h"

struct ring_entry {
  uint64_t session, sequence, serial;
  int64_t at_ns; /* when it was added, on this session's CLOCK_MONOTONIC */
  uint32_t offset, length;
};

struct ring_store {
  struct ring_file file;
  struct ring_entry *entries; /* a circular queue: the oldest is at `head` */
  size_t head, count, capacity;
  size_t at; /* where the next record goes */
  size_t written, hint;
  uint64_t serial; /* of the newest record */
  struct ring_schemas schemas;
  struct buffer record;
};

/* -1: the file cannot be used; nothing is open. 0: `warning` is "", or says what was repaired. Lists the frames in the
 * file, but those of another node, or older than `max_age_ns`. */
int ring_store_open (struct ring_store *store, const struct ring_options *options, int64_t now_ns, int64_t wall_ns,
                     struct error *warning);
void ring_store_in_memory (struct ring_store *store, size_t size);
void ring_store_free (struct ring_store *store);

/* Drops the oldest to make room. -1 (errno): it could not be written. A frame larger than the store is left out. */
int ring_store_put (struct ring_store *store, const struct ring_frame *frame, int64_t at_ns);
/* Keeps a schema as long as frames of it are held. -1 (errno): it could not be written. */
int ring_store_keep_schema (struct ring_store *store, const uint8_t hash[SCHEMA_HASH_SIZE], const void *bytes,
                            size_t length);
/* False: there is none. Valid until the store is used again. */
bool ring_store_schema (struct ring_store *store, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes,
                        size_t *length);
/* The same, but never waits for a disk: true and NULL while it is being read. */
bool ring_store_schema_poll (struct ring_store *store, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes,
                             size_t *length);
/* Puts all frames but those that `but` holds (NULL: none). */
int ring_store_copy (struct ring_store *from, struct ring_store *to, const struct ring_store *but);
/* Drops all frames, in the file too. */
int ring_store_clear (struct ring_store *store);
void ring_store_drop_before (struct ring_store *store, int64_t at_ns);

bool ring_store_next (struct ring_store *store, uint64_t session, uint64_t from, uint64_t to, size_t most,
                      struct ring_frame *frame);
size_t ring_store_sessions (const struct ring_store *store, struct control_held *sessions, size_t max);

#endif
