/* History: what came, kept in SQLite and compressed, so that it can be shown again and a restart loses nothing.
 *
 * The core puts frames, events and ticks in the order in which they are printed; a thread of its own writes them, so that
 * a slow disk never holds up the intake. Frames are gathered into chunks (history_chunk.h) of consecutive frames of one
 * session. What is in a chunk that was written survives kill -9; what was not is still in the agents' rings, to be
 * fetched after a restart from what history_each_range tells. A frame is stored once, however often it is put.
 *
 * While the disk is full, read-only or the file is broken the stream goes on: frames wait in bounded memory, over it they
 * are not stored and counted, and each minute it is tried again. Of that memory, and of the file, each node has a share
 * (history_shares.h, history_rooms.c): who sends more than there is room for loses of its own. */
#ifndef SYNOP_AGGREGATOR_HISTORY_H
#define SYNOP_AGGREGATOR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/core/event.h"
#include "aggregator/views/job_line.h"
#include "aggregator/views/job_row.h"

struct history;

struct history_options {
  const char *path;
  int64_t max_age_ns; /* older chunks are deleted */
  uint64_t max_size;  /* bytes of the file; over it the oldest of the node that has most is deleted */
  size_t chunk_frames;
  int64_t chunk_ns;   /* a chunk is written so long after its first frame came, at the latest */
  size_t queue_bytes; /* what may wait, in chunks that are open and in the queue */
  int64_t retry_ns;   /* after a failure; 0: a minute */
  int64_t end_ns;     /* how long the end may take; 0: 30 s */
};

/* Opens the file, or makes it. It never fails: what is wrong comes out of history_poll, and is tried again. */
struct history *history_create (const struct history_options *options);
/* Writes everything that waits, as far as the time allows, then ends. */
void history_destroy (struct history *history);
/* The same, but for the freeing: how much of it was not written, with what there was no room for. Nothing but
 * history_destroy may follow. */
struct history_rest {
  bool failed; /* not all was written: `problem` */
  uint64_t frames, events;
  struct error problem;
};
void history_finish (struct history *history, struct history_rest *rest);
void history_set_limits (struct history *history, int64_t max_age_ns, uint64_t max_size);

/* Which frames were stored when it was opened: for each node and session the ranges of consecutive sequence numbers, in
 * order, of the last day. */
void history_each_range (const struct history *history, void *context,
                         void (*range) (void *context, const char *node, uint64_t session, uint64_t first,
                                        uint64_t last));

/* The bytes of a schema that was put, or was stored when it was opened: of those the newest. NULL: it is not there. Valid
 * until a frame is put. */
const struct buffer *history_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE]);

/* None of these blocks for the disk. Times are taken from the frames and events themselves. */
void history_put_frame (struct history *history, const struct cluster_frame *frame);
void history_put_event (struct history *history, const struct event *event);
/* A line about a job, and what is kept of jobs. */
void history_put_job_line (struct history *history, const struct job_line *line);
void history_put_job (struct history *history, const struct job_row *row);
void history_put_tick (struct history *history, const struct cluster_tick_line *line);

/* Waits until all that was put is written. False: it could not be; it is tried again later. */
bool history_flush (struct history *history);

/* Asks for the same, but only for what lies before `to_ns`, and without waiting: a ticket. Chunks that are closed early
 * compress worse, so readers that ask often have to wait for their turn: three at once, then one in ten seconds. */
uint64_t history_flush_begin (struct history *history, int64_t to_ns);
/* The last ticket that is done; 0: none is. `problem`: why it could not be written, or "". */
uint64_t history_flush_done (struct history *history, struct error *problem);
/* Is this one done, and all of it written? It takes nothing from who waits for the descriptor. */
bool history_flush_is_written (struct history *history, uint64_t ticket);
int history_flush_fd (const struct history *history); /* readable when one is done, until history_flush_done */

const char *history_path (const struct history *history);
/* Which file is written: false when none could be opened yet. */
bool history_identity (struct history *history, uint64_t *device, uint64_t *inode);

/* Gives events about the history itself: why it cannot be written, or that it can be again, and who was held back. To be
 * called now and then. */
void history_poll (struct history *history, int64_t wall_ns, void *context,
                   void (*tell) (void *context, const struct event *event));

/* Most of the room that this node has for what waits to be written is taken: nothing should come now that can come later. */
bool history_is_crowded (struct history *history, const char *node);

struct history_counts {
  uint64_t frames_stored, frames_not_stored; /* not stored: there was no room, or the frame is stored already */
  uint64_t frames_over_share;                /* of these, since their node had far more waiting than others */
  uint64_t chunks_over_share;                /* deleted, since their node had far more in the file than others */
  uint64_t chunks, bytes;                    /* written */
};
void history_count (struct history *history, struct history_counts *counts);

#endif
