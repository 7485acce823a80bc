/* The frames of some nodes, one node after the other, each node's in order of time, late or not. For sums;
 * history_read has the order in which they were printed, with late frames among live ones. */
#ifndef SYNOP_AGGREGATOR_HISTORY_WALK_H
#define SYNOP_AGGREGATOR_HISTORY_WALK_H

#include "aggregator/history/history_read.h"

struct walk_chunk {
  const struct chunk_row *row;
  size_t node;
  int64_t began; /* the first known time of its session */
  bool skipped;  /* it is not read */
};

struct history_walk {
  int64_t from_ns, to_ns;   /* from the first to the second, both included */
  const char *const *nodes; /* in order of strcmp, each once */
  size_t node_count;
  struct history_into into; /* only its `frame` is called; */
  size_t *node;             /* set before each call: which of the nodes the frame is of; may be NULL */
  /* Each is shown a node's chunks, none if it has none: `look` those of all nodes before the first one is read; `choose`
   * before those of the node are read, and it, and `frame` later, may set which are skipped. NULL: none. */
  void (*look) (void *state, size_t node, const struct walk_chunk *chunks, size_t count);
  void (*choose) (void *state, size_t node, struct walk_chunk *chunks, size_t count);
};

/* 0; 1: the receiver ended it; -1 and error: the file cannot be read. A broken chunk is logged, left out, and
 * counted in `broken`. */
int history_walk (struct history_file *file, const struct history_walk *walk, size_t *broken, struct error *error);

#endif
