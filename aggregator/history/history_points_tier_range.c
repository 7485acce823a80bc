/* See history_points_tier.h: from when to when there are minutes and hours. */
#include <stdlib.h>

#include "aggregator/history/history_points_tier.h"
#include "aggregator/history/tier_fold.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define HOUR "3600000000000"
#define SPAN "600000000000" /* HISTORY_SPAN_NS */
#define NONE (INT64_C (1) << 62)

/* The first and the last hour that a table has; tier_blocks of minutes that are in no hour yet, and of hours, are for hours. */
static const struct {
  const char *table, *first, *last;
  bool minutes, hours;
} sources[] = {
  { "tier_blocks", "min (start) FROM tier_blocks WHERE tier = 0", "max (start) FROM tier_blocks WHERE tier = 0", true,
    false },
  { "tier_blocks", "min (start) FROM tier_blocks INDEXED BY tier_blocks_unmerged WHERE part > 0 AND tier = 0",
    "max (start) FROM tier_blocks INDEXED BY tier_blocks_unmerged WHERE part > 0 AND tier = 0", false, true },
  { "tier_blocks", "min (start) FROM tier_blocks WHERE tier = 1", "max (start) + 82800 FROM tier_blocks WHERE tier = 1",
    false, true },
  { "tier_staged", "min (start) FROM tier_staged", "max (start) FROM tier_staged", true, true },
  { "tier_parts", "min (start) FROM tier_parts", "max (start) FROM tier_parts", true, true },
  { "unfolded", "min (time) / " HOUR " * 3600 FROM unfolded", "(max (time) + " SPAN ") / " HOUR " * 3600 FROM unfolded",
    true, true },
};

bool
history_points_tier_has (struct history_file *file, const char *table)
{
  int64_t tables = 0;
  char *select = memory_format ("SELECT count (*) FROM sqlite_master WHERE name = '%s'", table);
  int result = history_file_number (file, select, &tables, NULL);

  free (select);
  return result == 0 && tables > 0;
}

static int64_t
hour_of (struct history_file *file, const char *select)
{
  char *text = memory_format ("SELECT ifnull ((SELECT %s), 1 << 62)", select);
  int64_t number = NONE;

  if (history_file_number (file, text, &number, NULL) < 0)
    number = NONE;
  free (text);
  return number;
}

bool
history_points_tier_range (struct history_file *file, enum history_tier tier, int64_t *from_ns, int64_t *to_ns)
{
  int64_t from = NONE, to = -NONE;

  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
    int64_t first, last;
    if (!(tier == HISTORY_MINUTES ? sources[i].minutes : sources[i].hours) ||
        !history_points_tier_has (file, sources[i].table))
      continue;
    first = hour_of (file, sources[i].first);
    last = hour_of (file, sources[i].last);
    from = first < from ? first : from;
    to = last != NONE && last > to ? last : to;
  }
  if (tier == HISTORY_FRAMES || from == NONE)
    return false;
  *from_ns = from * NS_PER_S;
  *to_ns = (to + HOUR_S) * NS_PER_S;
  return true;
}
