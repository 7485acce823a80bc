/* A history played again: frames, combined reports and events of an interval, in the order in which they were printed. */
#ifndef SYNOP_AGGREGATOR_HISTORY_READ_H
#define SYNOP_AGGREGATOR_HISTORY_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/replay_progress.h"
#include "aggregator/views/view.h"
#include "synop/globs.h"

/* Who gets it: a view, of which `frame`, `tick`, `event`, `job`, and now and then `flush` are called. What it has no
 * function for is not read. */
struct history_into {
  const struct view *view;
  void *state;
  const bool *ended;                /* looked at after each call: true ends the reading; NULL: nothing does */
  struct replay_progress *progress; /* NULL: nobody looks */
};

struct history_query {
  int64_t from_ns, to_ns;    /* what has its time from the one until before the other */
  const struct globs *nodes; /* NULL: all */
};

/* 0; 1 when it was ended; -1 and error when the file cannot be read. A chunk that is broken is told in the log and
 * left out: `broken` counts them. */
int history_read (struct history_file *file, const struct history_query *query, const struct history_into *into,
                  size_t *broken, struct error *error);

#endif
