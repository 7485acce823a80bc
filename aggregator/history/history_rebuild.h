/* Rebuilds a frame with its tables, each with its base: the table that changes are computed against. The stored
 * record says which frame the base is in; mostly it is the last rebuilt one, else it is fetched from the file. So a
 * line is the same as when it was printed, wherever a reader begins, and for late frames too. */
#ifndef SYNOP_AGGREGATOR_HISTORY_REBUILD_H
#define SYNOP_AGGREGATOR_HISTORY_REBUILD_H

#include "aggregator/core/cluster.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_record.h"

struct rebuild;

struct rebuild *rebuild_create (struct history_file *file);
void rebuild_leave_before (struct rebuild *rebuild); /* nobody needs the tables before: they are NULL */
void rebuild_destroy (struct rebuild *rebuild);      /* NULL is fine */

/* Valid until the next call. -1: the frame is broken, or its schema is missing. */
int rebuild_frame (struct rebuild *rebuild, const struct frame_header *header, const struct frame_record *record,
                   const void *bytes, size_t length, struct cluster_frame *frame, struct error *error);

#endif
