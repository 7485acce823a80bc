/* The frames of some nodes, one node after the other, each node's in order of time, whenever they came. For who adds up:
 * history_read tells them in the order in which they were printed, where late ones stand among live ones. */
#ifndef SYNOP_AGGREGATOR_HISTORY_WALK_H
#define SYNOP_AGGREGATOR_HISTORY_WALK_H

#include "aggregator/core/cluster.h"
#include "aggregator/history/history_file.h"

struct history_walk {
  int64_t from_ns, to_ns;   /* what has its time from the one to the other, both included */
  const char *const *nodes; /* in order of strcmp, each once */
  size_t node_count;
  void *context;
  /* A frame is valid during the call only. Another value than 0 ends the walk. */
  int (*frame) (void *context, size_t node, const struct cluster_frame *frame);
  void (*progress) (void *context, double part); /* 0 to 1; may be NULL */
};

/* 0; 1 when `frame` ended it; -1 and error when the file cannot be read. A chunk that is broken is told in the log and
 * left out: `broken` counts them. */
int history_walk (struct history_file *file, const struct history_walk *walk, size_t *broken, struct error *error);

#endif
