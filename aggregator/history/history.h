/* History: frames, ticks, events and jobs, compressed in an SQLite file, so that they can be shown again and a restart
 * loses nothing.
 *
 * The core puts frames, events and ticks in the order in which they are printed; a thread of its own writes them, so
 * that a slow disk never delays the intake. Frames are gathered into chunks (history_chunk.h) of consecutive frames of
 * one session. A chunk that was written survives kill -9; what was not written is still in the agents' rings, and
 * requested after a restart, from what history_each_range lists. A frame is stored once, however often it is put.
 *
 * While the disk is full or read-only or the file is broken the stream goes on: frames wait in bounded memory,
 * without room there they are counted and not stored, and each minute the writer tries again. Each node has a share
 * of that memory and of the file (history_shares.h, history_rooms.c): a node that sends more than there is room for
 * loses its own data. */
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
  int64_t max_age_ns;                           /* older chunks are deleted */
  int64_t minutes_max_age_ns, hours_max_age_ns; /* the same of tiers; 0: they are kept */
  uint64_t max_size;                            /* bytes of the file; over it the node that has most loses its oldest */
  size_t chunk_frames;
  int64_t chunk_ns;   /* the longest time from a chunk's first frame to its writing */
  size_t queue_bytes; /* room for what waits, in open chunks and in the queue */
  int64_t retry_ns;   /* after a failure; 0: a minute */
  int64_t end_ns;     /* how long history_finish may take; 0: 30 s */
};

/* Opens the file, or makes it. It never fails: history_poll reports errors, and the writer tries again. */
struct history *history_create (const struct history_options *options);
/* Writes all that waits, as far as the time allows, then ends. */
void history_destroy (struct history *history);
/* The same without freeing: how much was not written, including what there was no room for. Only history_destroy may
 * follow. */
struct history_rest {
  bool failed; /* not all was written; `problem`: why */
  uint64_t frames, events;
  struct error problem;
};
void history_finish (struct history *history, struct history_rest *rest);
/* `limits`: of the ages and the size. */
void history_set_limits (struct history *history, const struct history_options *limits);

/* The frames that were stored when it was opened: for each node and session the ranges of consecutive sequence
 * numbers of the last day, in order. */
void history_each_range (const struct history *history, void *context,
                         void (*range) (void *context, const char *node, uint64_t session, uint64_t first,
                                        uint64_t last));

/* The bytes of a schema that was put, or was among the newest stored when it was opened. NULL: it is neither. Valid
 * until a frame is put. */
const struct buffer *history_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE]);

/* None of these waits for the disk. Times are those of the frames and events themselves. */
void history_put_frame (struct history *history, const struct cluster_frame *frame);
void history_put_event (struct history *history, const struct event *event);
/* A line about a job, and a row about a job. */
void history_put_job_line (struct history *history, const struct job_line *line);
void history_put_job (struct history *history, const struct job_row *row);
void history_put_tick (struct history *history, const struct cluster_tick_line *line);

/* Waits until all that was put is written. False: it could not be written; the writer tries again later. */
bool history_flush (struct history *history);

/* Requests the same without waiting, and only for what is before `to_ns`: returns a ticket. Chunks that are closed
 * early compress worse, so readers that do this often have to wait: three at once, then one in ten seconds. */
uint64_t history_flush_begin (struct history *history, int64_t to_ns);
/* The last ticket that is done; 0: none. `problem`: why it could not be written, or "". */
uint64_t history_flush_done (struct history *history, struct error *problem);
/* Is this one done, and all of it written? It takes nothing from who waits for the descriptor. */
bool history_flush_is_written (struct history *history, uint64_t ticket);
int history_flush_fd (const struct history *history); /* readable once a ticket is done, until history_flush_done */

const char *history_path (const struct history *history);
/* The file that is written. False: none could be opened yet. */
bool history_identity (struct history *history, uint64_t *device, uint64_t *inode);

/* Reports events about the history itself: why it cannot be written, that it can be again, and which nodes are over
 * their shares. To be called several times a second. */
void history_poll (struct history *history, int64_t wall_ns, void *context,
                   void (*report) (void *context, const struct event *event));

/* Is most of the room used that this node has for data that waits? Then replay should wait too. */
bool history_is_nearly_full (struct history *history, const char *node);

struct history_counts {
  uint64_t frames_stored, frames_not_stored; /* not stored: without room, or stored already */
  uint64_t frames_over_share;                /* of these, of nodes that had far more waiting than others */
  uint64_t chunks_over_share;                /* deleted, of nodes that had far more in the file than others */
  uint64_t chunks, bytes;                    /* written */
  uint64_t tiers_left_out;                   /* values of rows and metrics over their bounds */
  uint64_t tiers_broken;                     /* blocks that were damaged */
};
void history_count (struct history *history, struct history_counts *counts);

#endif
