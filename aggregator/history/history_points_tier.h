/* history_points of minutes and hours. What is not packed into blocks yet is read too, so nothing that is stored is missing. */
#ifndef SYNOP_AGGREGATOR_HISTORY_POINTS_TIER_H
#define SYNOP_AGGREGATOR_HISTORY_POINTS_TIER_H

#include "aggregator/history/history_points.h"

int history_points_tier (struct history_file *file, enum history_tier tier, const struct points_query *query,
                         const struct points_into *into, size_t *broken, struct error *error);
/* Of the frames of these chunks, which are in no point yet; frees the list. */
int history_points_unfolded (struct history_file *file, struct chunk_list *list, int64_t span_ns,
                             const struct points_query *query, const struct points_into *into, size_t *broken,
                             struct error *error);
int history_points_tier_metrics (struct history_file *file, enum history_tier tier, const struct points_metrics *into,
                                 struct error *error);
bool history_points_tier_range (struct history_file *file, enum history_tier tier, int64_t *from_ns, int64_t *to_ns);
bool history_points_tier_has (struct history_file *file, const char *table); /* is that table there? */

#endif
