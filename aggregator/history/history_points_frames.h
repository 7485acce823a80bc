/* Points from the frames themselves; see history_points.h, whose functions these are for HISTORY_FRAMES. */
#ifndef SYNOP_AGGREGATOR_HISTORY_POINTS_FRAMES_H
#define SYNOP_AGGREGATOR_HISTORY_POINTS_FRAMES_H

#include "aggregator/history/history_points.h"

int history_frames_points (struct history_file *file, const struct points_query *query, const struct points_into *into,
                           size_t *broken, struct error *error);
/* Of these chunks; frees the list. */
int history_chunk_points (struct history_file *file, struct chunk_list *list, const struct points_query *query,
                          const struct points_into *into, size_t *broken, struct error *error);
int history_combined_points (struct history_file *file, const struct points_query *query,
                             const struct points_into *into, size_t *broken, struct error *error);
int history_frames_metrics (struct history_file *file, const struct points_metrics *into, struct error *error);
bool history_frames_range (struct history_file *file, int64_t *from_ns, int64_t *to_ns);

#endif
