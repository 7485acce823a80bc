/* What is to be sent next: the frames of the chunks that were committed behind a place, a bounded number of them, in order of
 * time. Of a node's frames only those are there that have a table which is due (send_is_due), or facts.
 *
 * In order of time, so that many nodes' frames go in one request: a chunk holds many frames of one. */
#ifndef SYNOP_AGGREGATOR_SEND_WINDOW_H
#define SYNOP_AGGREGATOR_SEND_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_cursor.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_record.h"
#include "synop/frame.h"
#include "synop/globs.h"

#define SEND_WINDOW_CHUNKS 256 /* at most */

struct send_frame {
  int64_t time_ns, chunk;
  size_t record, record_length, frame, frame_length; /* where in the bytes */
};

struct send_window {
  struct buffer bytes;
  struct send_frame *frames;
  size_t count, capacity;
  struct chunk chunk;     /* at hand */
  struct chunk_list list; /* of the last load */
  uint64_t broken;        /* chunks that could not be read, ever */
};

/* A sample each `every_ns`: of a group that is sampled more often the one at, or next behind, each multiple of it in
 * cluster time. It depends on the table alone, so that the same ones are chosen however often, and in whatever order, frames
 * are read. */
bool send_is_due (int64_t time_ns, int64_t table_period_ns, int64_t every_ns);

/* Of the chunks behind place->chunk: those up to place->until, when there are any; else the next, and place->until is the
 * last of them. None: place->until stays. */
int send_window_load (struct send_window *window, struct history_file *file, const struct globs *nodes,
                      int64_t every_ns, struct history_place *place, struct error *error);
/* Of some chunks of a node, for what was sent before. */
void send_window_read (struct send_window *window, struct history_file *file, const struct chunk_list *list,
                       int64_t every_ns);
void send_window_free (struct send_window *window);

struct send_frame_parts {
  struct frame_header header;
  struct frame_record record;
  const void *bytes;
  size_t length;
};
int send_window_frame (const struct send_window *window, const struct send_frame *frame,
                       struct send_frame_parts *parts);

#endif
