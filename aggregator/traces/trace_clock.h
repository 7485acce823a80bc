/* By how much nodes' wall clocks were ahead of cluster time when they were traced: from the history, or from a file. */
#ifndef SYNOP_AGGREGATOR_TRACE_CLOCK_H
#define SYNOP_AGGREGATOR_TRACE_CLOCK_H

#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "synop/error.h"

struct trace_offset {
  int64_t offset_ns, bound_ns; /* bound: -1: not known */
};

/* Of the frame that was sampled nearest to that time by the node's own wall clock. -1 and error: the history cannot be read,
 * or has none of the node within a day. */
int trace_clock_history (struct history_file *file, const char *node, int64_t wall_ns, struct trace_offset *offset,
                         struct error *error);

/* A file with lines "NODE SECONDS"; # begins a comment. -1 and error, with the line: it cannot be read, or has not the node. */
int trace_clock_file (const char *path, const char *node, struct trace_offset *offset, struct error *error);

#endif
