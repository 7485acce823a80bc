/* `aggregator replay`: the lines of the stream, from the history. */
#ifndef SYNOP_AGGREGATOR_REPLAY_H
#define SYNOP_AGGREGATOR_REPLAY_H

#include "aggregator/config/options.h"
#include "aggregator/history/history_read.h"
#include "aggregator/history/replay_progress.h"

int replay_run (const struct options *options); /* the exit code */

const char *replay_path (const struct options *options); /* of the history */
/* The interval, for the commands that read a history. */
int replay_interval (const struct options *options, const char *section, struct history_query *query,
                     struct error *error);

/* Says in the log what was broken: the exit code. */
int replay_broken (const char *path, size_t broken);

#endif
