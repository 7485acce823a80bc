/* The progress of reading a history, shown on a terminal. */
#ifndef SYNOP_AGGREGATOR_REPLAY_PROGRESS_H
#define SYNOP_AGGREGATOR_REPLAY_PROGRESS_H

#include <stdbool.h>

struct replay_progress {
  const char *title;
  bool shown; /* standard error is a terminal, and standard output is not */
  int percent;
};
void replay_progress_init (struct replay_progress *progress, const char *title);
void replay_progress_show (struct replay_progress *progress, double part);
void replay_progress_end (struct replay_progress *progress);

#endif
