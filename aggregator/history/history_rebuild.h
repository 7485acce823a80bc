/* From what is stored back to what views take: a frame with its tables, each beside the table that it was compared with.
 * Which one that was is stored with the frame; it is usually the last one that was rebuilt, and else fetched from the
 * file. So a line comes out as it was, wherever a reader begins, and whatever was late. */
#ifndef SYNOP_AGGREGATOR_HISTORY_REBUILD_H
#define SYNOP_AGGREGATOR_HISTORY_REBUILD_H

#include "aggregator/core/cluster.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_record.h"

struct rebuild;

struct rebuild *rebuild_create (struct history_file *file);
void rebuild_leave_before (struct rebuild *rebuild); /* nobody needs the tables before: they are NULL */
void rebuild_destroy (struct rebuild *rebuild);      /* NULL is fine */

/* Valid until the next call. -1 when the frame is broken, or its schema is missing. */
int rebuild_frame (struct rebuild *rebuild, const struct frame_header *header, const struct frame_record *record,
                   const void *bytes, size_t length, struct cluster_frame *frame, struct error *error);

#endif
