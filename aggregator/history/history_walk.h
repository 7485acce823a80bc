/* The frames of some nodes, one node after the other, each node's in order of time, whenever they came. For who adds up:
 * history_read tells them in the order in which they were printed, where late ones stand among live ones. */
#ifndef SYNOP_AGGREGATOR_HISTORY_WALK_H
#define SYNOP_AGGREGATOR_HISTORY_WALK_H

#include "aggregator/history/history_read.h"

struct history_walk {
  int64_t from_ns, to_ns;   /* what has its time from the one to the other, both included */
  const char *const *nodes; /* in order of strcmp, each once */
  size_t node_count;
  struct history_into into; /* its `frame` alone is called, */
  size_t *node;             /* when this says of which of the nodes the frame is; may be NULL */
};

/* 0; 1 when it was ended; -1 and error when the file cannot be read. A chunk that is broken is told in the log and
 * left out: `broken` counts them. */
int history_walk (struct history_file *file, const struct history_walk *walk, size_t *broken, struct error *error);

#endif
