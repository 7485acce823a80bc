/* The history as a view: it keeps everything that is reported. The state is a struct history. Its options are the commands'
 * too, which read the file. */
#ifndef SYNOP_AGGREGATOR_HISTORY_VIEW_H
#define SYNOP_AGGREGATOR_HISTORY_VIEW_H

#include <stdbool.h>

#include "aggregator/views/view.h"

struct history_settings {
  bool enabled;
  char *path;
  int64_t max_age_ns, chunk_ns;
  uint64_t max_size, queue, chunk_frames;
};

extern const struct view history_view;

#endif
