/* A history played again: frames, combined reports and events of an interval, in the order in which they were printed. */
#ifndef SYNOP_AGGREGATOR_HISTORY_READ_H
#define SYNOP_AGGREGATOR_HISTORY_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/history/history_file.h"
#include "synop/globs.h"

/* NULL functions are fine. What they are given is valid during the call only. Another value than 0 ends the reading. */
struct history_sink {
  void *context;
  int (*frame) (void *context, const struct cluster_frame *frame);
  int (*tick) (void *context, const struct cluster_tick_line *line);
  int (*event) (void *context, const struct stored_event *event);
  void (*progress) (void *context, double part); /* 0 to 1 */
};

struct history_query {
  int64_t from_ns, to_ns;    /* what has its time from the one until before the other */
  const struct globs *nodes; /* NULL: all */
};

/* 0; 1 when the sink ended it; -1 and error when the file cannot be read. A chunk that is broken is told in the log and
 * left out: `broken` counts them. */
int history_read (struct history_file *file, const struct history_query *query, const struct history_sink *sink,
                  size_t *broken, struct error *error);

#endif
