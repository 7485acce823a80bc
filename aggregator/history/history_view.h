/* The history as a view: it stores every report. The state is a struct history. The commands that read the file have
 * its options too. */
#ifndef SYNOP_AGGREGATOR_HISTORY_VIEW_H
#define SYNOP_AGGREGATOR_HISTORY_VIEW_H

#include <stdbool.h>

#include "aggregator/views/view.h"

struct history_settings {
  bool enabled;
  char *path;
  int64_t max_age_ns, minutes_max_age_ns, hours_max_age_ns, chunk_ns;
  uint64_t max_size, queue, chunk_frames;
};

extern const struct view history_view;

#endif
