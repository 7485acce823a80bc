/* Retention of the tiers (tier_store.h): by age; and by size, since they may take a fifth of the file: the hours half of that,
 * over which their oldest go, and the oldest minutes where all are over it. */
#include "aggregator/history/tier_store_private.h"
#include "synop/clock.h"

#define ROOM_PART 5 /* one in, of max_size */

static int
drop (struct history_store *store, enum tier_statement which, enum tier tier, int64_t before_s, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[which];

  sqlite3_bind_int64 (statement, 1, tier);
  if (which == TIER_OLD_BLOCKS)
    sqlite3_bind_int64 (statement, 2, before_s);
  return tier_run (store, which, error) < 0 ? -1 : sqlite3_changes (store->database) > 0;
}

int
tier_sizes_read (struct history_store *store, const struct tier_limits *limits, struct tier_sizes *sizes,
                 struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[TIER_SIZES];
  int code = sqlite3_step (statement);

  *sizes = (struct tier_sizes){ .all = sqlite3_column_int64 (statement, 0),
                                .hours = sqlite3_column_int64 (statement, 1),
                                .staged = sqlite3_column_int64 (statement, 2),
                                .room = (int64_t) (limits->max_size / ROOM_PART) };
  sqlite3_reset (statement);
  return code == SQLITE_ROW ? 0 : history_store_fail (store, error);
}

int
tier_trim (struct history_store *store, const struct tier_limits *limits, const struct tier_sizes *sizes,
           struct error *error)
{
  int more = drop (store, TIER_OLD_BLOCKS, TIER_MINUTES, limits->minutes_before_ns / NS_PER_S - HOUR_S, error);

  if (more == 0)
    more = drop (store, TIER_OLD_BLOCKS, TIER_HOURS, limits->hours_before_ns / NS_PER_S - DAY_S, error);
  if (more != 0 || sizes->all <= sizes->room)
    return more;
  if (sizes->hours > sizes->room / 2)
    return drop (store, TIER_OLDEST_BLOCKS, TIER_HOURS, 0, error);
  return drop (store, TIER_OLDEST_BLOCKS, TIER_MINUTES, 0, error);
}
