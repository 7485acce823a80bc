/* The shares of nodes in the history's file, and what is deleted when there is too much. For the files of the store
 * only. */
#ifndef SYNOP_AGGREGATOR_HISTORY_ROOMS_H
#define SYNOP_AGGREGATOR_HISTORY_ROOMS_H

#include "aggregator/history/history_store_private.h"

/* Makes the tables and triggers in a file that has none, which takes a while for a large one. */
int history_rooms_open (struct history_store *store, struct error *error);
/* Deletes some of what is over the room for events or for jobs; of chunks, if more than max_size bytes are used. 1:
 * there may be more. */
int history_rooms_trim (struct history_store *store, uint64_t max_size, uint64_t used, const struct history_cut *on_cut,
                        struct error *error);

#endif
