/* `aggregator replay`: the lines of the stream, from the history. */
#ifndef SYNOP_AGGREGATOR_REPLAY_H
#define SYNOP_AGGREGATOR_REPLAY_H

#include "aggregator/config/options.h"
#include "aggregator/history/history_read.h"

int replay_run (const struct options *options); /* the exit code */

/* What the commands that read a history have in common: the interval, and how far the work has come, on a terminal. */
int replay_interval (const struct options *options, const char *section, struct history_query *query,
                     struct error *error);

struct replay_progress {
  const char *what;
  bool shown; /* standard error is a terminal, and standard output is not */
  int percent;
};
void replay_progress_init (struct replay_progress *progress, const char *what);
void replay_progress_tell (struct replay_progress *progress, double part);
void replay_progress_end (struct replay_progress *progress);
/* Says in the log what was broken: the exit code. */
int replay_broken (const char *path, size_t broken);

#endif
