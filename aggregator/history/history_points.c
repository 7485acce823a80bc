/* See history_points.h. */
#include "aggregator/history/history_points.h"

#include "aggregator/history/history_points_frames.h"
#include "aggregator/history/history_points_tier.h"

int
history_points (struct history_file *file, enum history_tier tier, const struct points_query *query,
                const struct points_into *into, size_t *broken, struct error *error)
{
  *broken = 0;
  return tier == HISTORY_FRAMES ? history_frames_points (file, query, into, broken, error)
                                : history_points_tier (file, tier, query, into, broken, error);
}

int
history_points_metrics (struct history_file *file, enum history_tier tier, const struct points_metrics *into,
                        struct error *error)
{
  return tier == HISTORY_FRAMES ? history_frames_metrics (file, into, error)
                                : history_points_tier_metrics (file, tier, into, error);
}

bool
history_points_range (struct history_file *file, enum history_tier tier, int64_t *from_ns, int64_t *to_ns)
{
  return tier == HISTORY_FRAMES ? history_frames_range (file, from_ns, to_ns)
                                : history_points_tier_range (file, tier, from_ns, to_ns);
}
