/* Reads a history: frames, combined reports and events of an interval, in the order in which they were printed. */
#ifndef SYNOP_AGGREGATOR_HISTORY_READ_H
#define SYNOP_AGGREGATOR_HISTORY_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/replay_progress.h"
#include "aggregator/views/view.h"
#include "synop/globs.h"

/* The receiver: a view, of which `frame`, `tick`, `event`, `job` and sometimes `flush` are called. Types of data for
 * which it has no function are not read. */
struct history_into {
  const struct view *view;
  void *state;
  const bool *ended;                /* checked after each call: true ends the reading; may be NULL */
  struct replay_progress *progress; /* may be NULL */
};

struct history_query {
  int64_t from_ns, to_ns;    /* from the first until before the second */
  const struct globs *nodes; /* NULL: all */
};

/* 0; 1: the receiver ended it; -1 and error: the file cannot be read. A broken chunk is logged, left out, and
 * counted in `broken`. */
int history_read (struct history_file *file, const struct history_query *query, const struct history_into *into,
                  size_t *broken, struct error *error);

#endif
