/* Patterns of --node and --group that match nothing. What they would show stays away without a word, so whoever misspelt
 * one is told; it is no error, since a node or group may come later. */
#ifndef SYNOP_AGGREGATOR_FILTERS_H
#define SYNOP_AGGREGATOR_FILTERS_H

#include "aggregator/config/options.h"
#include "aggregator/history/history_read.h"

/* Of the stream: asks the aggregator which groups and nodes there are. Who does not answer is told by the caller. */
void filters_check_stream (const struct options *options);
/* Of a history, and its interval. */
void filters_check_history (const struct options *options, struct history_file *file,
                            const struct history_query *query);

#endif
