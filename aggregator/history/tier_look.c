/* Looks at blocks of the tiers (tier_store.h) one after the other, again and again. Those that are damaged are dropped, and made
 * again (tier_repair.c). */
#include <stdlib.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/log.h"

#define LOOK_AT 64           /* blocks at once, */
#define LOOK_BYTES (1 << 19) /* of so many bytes, or one */

static void
take_nothing (void *context, const struct tier_series *series)
{
  (void) context;
  (void) series;
}

static bool
is_broken (struct tier_store *tiers, sqlite3_stmt *row, int column)
{
  return tier_reader_read (tiers->reader, sqlite3_column_blob (row, column),
                           (size_t) sqlite3_column_bytes (row, column), 0, UINT32_MAX, NULL, take_nothing, NULL) < 0;
}

/* 1: the block in `key` is. */
static int
find_broken (struct history_store *store, struct block_key *key, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_NEXT_BLOCKS];
  bool broken = false, any = false;
  int64_t bytes = 0;
  int code = SQLITE_DONE;

  sqlite3_bind_int64 (statement, 1, tiers->looked);
  sqlite3_bind_int (statement, 2, LOOK_AT);
  while (!broken && bytes < LOOK_BYTES && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    any = true;
    tiers->looked = sqlite3_column_int64 (statement, 0);
    *key = (struct block_key){ (enum tier) sqlite3_column_int (statement, 1), sqlite3_column_int64 (statement, 2),
                               sqlite3_column_int64 (statement, 3), sqlite3_column_int (statement, 4),
                               sqlite3_column_int64 (statement, 5) };
    broken = is_broken (tiers, statement, 6);
    bytes += sqlite3_column_bytes (statement, 6);
  }
  if (code != SQLITE_DONE && code != SQLITE_ROW)
    history_store_fail (store, error);
  sqlite3_reset (statement);
  if (!any)
    tiers->looked = 0; /* from the beginning */
  return broken ? 1 : code == SQLITE_DONE || code == SQLITE_ROW ? 0 : -1;
}

/* All of the hour and batch that are broken: their frames are read once for all of them. */
static int
drop_broken (struct history_store *store, const struct block_key *key, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_BLOCKS_OF];
  int64_t *ids = NULL, first = INT64_MAX, last = 0;
  size_t count = 0, capacity = 0;
  int code, result = 0;

  sqlite3_bind_int64 (statement, 1, key->start);
  sqlite3_bind_int64 (statement, 2, key->batch);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    if (is_broken (tiers, statement, 2)) {
      int64_t metric = sqlite3_column_int64 (statement, 1);
      first = metric == 0 ? 1 : metric < first ? metric : first;
      last = metric == 0 ? TIER_METRICS_MAX : metric > last ? metric : last;
      *array_add (ids, count, capacity) = sqlite3_column_int64 (statement, 0);
    }
  if (code != SQLITE_DONE)
    result = history_store_fail (store, error);
  sqlite3_reset (statement);
  for (size_t i = 0; i < count && result == 0; i++)
    result = tier_drop_row (store, TIER_DROP_BLOCK, ids[i], error);
  free (ids);
  tiers->counts.broken += count;
  return result == 0 && count ? tier_want_repair (store, key->start, key->batch, first, last, error) : result;
}

int
tier_look (struct history_store *store, struct error *error)
{
  struct block_key key;
  int found = find_broken (store, &key, error), result;
  char at[CLOCK_TEXT_SIZE];

  if (found <= 0)
    return found;
  clock_text (key.start * NS_PER_S, at);
  log_warning ("%s from %.16sZ were damaged; they are made again", key.tier == TIER_MINUTES ? "minutes" : "hours", at);
  if (key.tier == TIER_MINUTES) {
    result = drop_broken (store, &key, error);
  } else {
    store->tiers->counts.broken++;
    result = tier_repair_hours (store, &key, error);
  }
  return result < 0 ? -1 : 1;
}
