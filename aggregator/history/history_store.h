/* The file of the history: its tables, and the writing side. Readers: history_read.h.
 *
 *   nodes    id, name                                     schemas  hash, bytes
 *   events   number, time, node (its id or NULL), type, line, sum (of these: history_event_sum; NULL: unknown)
 *   chunks   node, session, first and last sequence, first and last time (cluster ns), first and last number, data
 *
 *   jobs, job_nodes, job_ends, job_marks                  job_store.h
 *   schema_uses  node, hash, last (cluster ns)            until when a node used a schema
 *   uses         room, owner (a node), bytes, untold      history_rooms.c
 *   cursors      name, chunk, until, time, part, event    history_cursor.h
 *   tier_..., unfolded                                    tier_store.h
 *
 * A chunk of frames holds, packed as in history_chunk.h, for each frame a record (history_record.h) and the frame
 * itself; its sequence numbers have no gap. Ticks are in chunks of node 0, session 0, a record each; their sequence
 * numbers are the numbers of their lines. Rows are added, and deleted when they are too old; none is ever changed. */
#ifndef SYNOP_AGGREGATOR_HISTORY_STORE_H
#define SYNOP_AGGREGATOR_HISTORY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/schema.h"

#define HISTORY_APPLICATION 0x73796e6f               /* "syno": SQLite's application_id */
#define HISTORY_FORMAT 2                             /* user_version; 1: without tiers */
#define HISTORY_SPAN_NS (INT64_C (600) * 1000000000) /* longest time from a chunk's first frame to its last */

struct history_store;
struct job_row; /* jobs.h */

/* Opens the file or makes it. NULL: the error has the reason, and what to do. */
struct history_store *history_store_open (const char *path, struct error *error);
void history_store_close (struct history_store *store); /* NULL is fine */

struct chunk_row {
  int64_t id;       /* when read */
  const char *node; /* "" of ticks */
  uint64_t session, first, last;
  int64_t first_time, last_time, first_number, last_number;
};

/* A transaction: after an error nothing of it is written. */
int history_store_begin (struct history_store *store, struct error *error);
int history_store_end (struct history_store *store, struct error *error); /* it is on the disk then */
void history_store_undo (struct history_store *store);

/* Writes a chunk, with the schema of its frames; NULL: ticks. 1: some of its frames are stored already, and nothing
 * was done. */
int history_store_chunk (struct history_store *store, const struct chunk_row *row,
                         const uint8_t schema_hash[SCHEMA_HASH_SIZE], const struct buffer *schema,
                         const struct buffer *packed, struct error *error);
int64_t history_store_last_chunk (const struct history_store *store); /* the id of the chunk that was written last */
/* Is this frame stored? */
bool history_store_has (struct history_store *store, const char *node, uint64_t session, uint64_t sequence);
int history_store_event (struct history_store *store, int64_t number, int64_t time_ns, const char *node,
                         const char *type, const char *line, size_t length, struct error *error);
int history_store_job (struct history_store *store, const struct job_row *row, struct error *error);
/* FNV-1a of a row of `events`: its number and time (8 bytes each, little-endian), then node ("" for none), type and
 * line, each with a NUL behind it; as SQLite's signed number. */
int64_t history_event_sum (int64_t number, int64_t time_ns, const char *node, const char *type, const char *line,
                           size_t length);

/* The highest number among the last rows. */
int64_t history_store_number (struct history_store *store);
/* The time of the newest chunk or event, in ns since 1970; 0: none. */
int64_t history_store_newest (struct history_store *store);
/* Lists ranges of consecutive frames in chunks that begin at `since_ns` or later, in order of node, session,
 * sequence; of each node those of its last 4096 chunks. */
int history_store_ranges (struct history_store *store, int64_t since_ns, void *context,
                          void (*range) (void *context, const char *node, uint64_t session, uint64_t first,
                                         uint64_t last),
                          struct error *error);

/* Called for chunks that were deleted though others have older ones, since their node has far more than others. */
struct history_cut {
  void *context;
  void (*over_share) (void *context, const char *node, uint64_t chunks);
};
/* Deletes some data from before `before_ns`, or over its room (history_rooms.c). 1: there may be more. `cut` may be
 * NULL. */
int history_store_trim (struct history_store *store, int64_t before_ns, uint64_t max_size,
                        const struct history_cut *cut, struct error *error);
/* Returns up to so many pages to the file system when many are free. */
int history_store_shrink (struct history_store *store, unsigned pages, struct error *error);

#endif
