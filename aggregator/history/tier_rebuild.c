/* Looks at blocks of the tiers (tier_store.h) one after the other, again and again, and rebuilds those that are damaged: minutes
 * from the frames, and from these their hour; hours from the minutes. What is not there any more is left out. */
#include <stdlib.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/log.h"

#define LOOK_AT 64 /* blocks at once */

/* ---- minutes ---- */

struct rebuilding {
  struct history_store *store;
  const struct block_key *key;
  const struct held_map *map;
  int64_t node;
};

static void
take_series (void *context, const struct tier_series *series)
{
  struct rebuilding *rebuilding = context;
  const struct block_key *key = rebuilding->key;

  if (series->metric < rebuilding->map->count && rebuilding->map->ids[series->metric] == key->metric &&
      (series->label != NULL) == key->rows)
    tier_grid_add (rebuilding->store->tiers->grid, key->metric, rebuilding->node, series);
}

static int
take_folded (void *context, const struct tier_list *metrics, int64_t node, const struct tier_folded *folded,
             struct error *error)
{
  struct rebuilding *rebuilding = context;
  struct tier_store *tiers = rebuilding->store->tiers;

  if (tier_make_map (rebuilding->store, node, metrics, error) < 0)
    return -1;
  rebuilding->map = tier_map (rebuilding->store, metrics->hash);
  rebuilding->node = node;
  for (size_t i = 0; i < folded->count; i++)
    if (folded->staged[i].start == rebuilding->key->start)
      tier_reader_read (tiers->reader, folded->staged[i].data.data, folded->staged[i].data.length, 0, UINT32_MAX,
                        rebuilding, take_series, NULL);
  return 0;
}

static int
fold_node (struct rebuilding *rebuilding, int64_t node, struct error *error)
{
  struct history_store *store = rebuilding->store;
  sqlite3_stmt *statement = store->tiers->statements[TIER_CHUNKS_OF];
  int64_t *ids = NULL;
  size_t count = 0, capacity = 0;
  int code, result = 0;

  sqlite3_bind_int64 (statement, 1, node);
  sqlite3_bind_int64 (statement, 2, rebuilding->key->start * NS_PER_S);
  sqlite3_bind_int64 (statement, 3, (rebuilding->key->start + HOUR_S) * NS_PER_S);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    *array_add (ids, count, capacity) = sqlite3_column_int64 (statement, 0);
  if (code != SQLITE_DONE)
    result = history_store_fail (store, error);
  sqlite3_reset (statement);
  for (size_t i = 0; i < count && result == 0; i++)
    result = tier_fold_stored (store, ids[i], rebuilding, take_folded, error);
  free (ids);
  return result;
}

/* ---- parts ---- */

struct taking {
  struct tier_grid *grid;
  int64_t metric;
  int64_t without; /* points of this time; -1: none */
};

static void
take_part (void *context, const struct tier_series *series)
{
  const struct taking *taking = context;
  struct tier_series one = *series;

  for (size_t i = 0; i < series->count; i++) {
    one.times = series->times + i;
    one.cells = series->cells + i;
    one.count = 1;
    if (taking->without < 0 || series->times[i] != (uint32_t) taking->without)
      tier_grid_add (taking->grid, taking->metric, series->node, &one);
  }
}

/* Takes the parts of a block that can be read. */
static int
take_parts (struct history_store *store, const struct block_key *key, struct tier_grid *grid, int64_t without,
            bool merged_only, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_PARTS_OF];
  struct taking taking = { grid, key->metric, without };
  int code;

  tier_bind_key (statement, key);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    if (!merged_only || sqlite3_column_int64 (statement, 1) == 0)
      tier_reader_read (tiers->reader, sqlite3_column_blob (statement, 2), (size_t) sqlite3_column_bytes (statement, 2),
                        0, 0, &taking, take_part, NULL);
  sqlite3_reset (statement);
  return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
}

static int
drop_parts (struct history_store *store, const struct block_key *key, struct error *error)
{
  tier_bind_key (store->tiers->statements[TIER_DROP_PARTS], key);
  return tier_run (store, TIER_DROP_PARTS, error) < 0 ? -1 : 0;
}

/* The hour that the grid's minutes make takes the place of what the day had. */
static int
replace_hour (struct history_store *store, struct block_key key, struct tier_grid *minutes, struct error *error)
{
  struct tier_grid *hours = tier_grid_create (24);
  int64_t day = key.start - ((key.start % DAY_S) + DAY_S) % DAY_S;
  uint32_t hour = (uint32_t) ((key.start - day) / HOUR_S);
  int result;

  key.tier = TIER_HOURS;
  key.start = day;
  result = take_parts (store, &key, hours, hour, false, error);
  tier_grid_add_all (hours, minutes, hour);
  if (result == 0)
    result = drop_parts (store, &key, error);
  if (result == 0)
    result = tier_add_blocks (store, hours, key, true, 0, error);
  tier_grid_destroy (hours);
  return result;
}

/* All of what was staged is made into blocks first: then the frames are what the parts of this one have. */
static int
rebuild_minutes (struct history_store *store, const struct block_key *key, struct error *error)
{
  struct rebuilding rebuilding = { .store = store, .key = key };
  struct tier_grid *grid = store->tiers->grid;
  int result = 0;

  do {
    tier_grid_clear (grid);
    result = tier_take_staged (store, key->start, key->batch, error);
    if (result == 0 && grid->count)
      result = tier_add_blocks (store, grid, *key, false, 0, error);
  } while (result == 0 && grid->count);
  tier_grid_clear (grid);
  for (int64_t node = key->batch * TIER_BATCH; result == 0 && key->batch >= 0 && node < (key->batch + 1) * TIER_BATCH;
       node++)
    result = fold_node (&rebuilding, node, error);
  if (result == 0 && grid->count == 0) /* the frames are gone: what can be read stays */
    result = take_parts (store, key, grid, -1, false, error);
  if (result == 0)
    result = drop_parts (store, key, error);
  if (result == 0)
    result = tier_add_blocks (store, grid, *key, true, 0, error);
  if (result == 0 && grid->count)
    result = replace_hour (store, *key, grid, error);
  tier_grid_clear (grid);
  return result;
}

/* ---- hours ---- */

static int
rebuild_hours (struct history_store *store, const struct block_key *key, struct error *error)
{
  struct tier_grid *hours = tier_grid_create (24), *minutes = store->tiers->grid;
  int result = 0;

  for (uint32_t hour = 0; hour < 24 && result == 0; hour++) {
    struct block_key of = *key;
    of.tier = TIER_MINUTES;
    of.start = key->start + hour * HOUR_S;
    tier_grid_clear (minutes);
    result = take_parts (store, &of, minutes, -1, true, error);
    tier_grid_add_all (hours, minutes, hour);
  }
  tier_grid_clear (minutes);
  if (result == 0)
    result = drop_parts (store, key, error);
  if (result == 0)
    result = tier_add_blocks (store, hours, *key, true, 0, error);
  tier_grid_destroy (hours);
  return result;
}

/* ---- looking ---- */

static void
take_nothing (void *context, const struct tier_series *series)
{
  (void) context;
  (void) series;
}

/* 1: the block in `key` is broken. */
static int
find_broken (struct history_store *store, struct block_key *key, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_NEXT_BLOCKS];
  bool broken = false, any = false;
  int code;

  sqlite3_bind_int64 (statement, 1, tiers->looked);
  sqlite3_bind_int (statement, 2, LOOK_AT);
  while (!broken && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    any = true;
    tiers->looked = sqlite3_column_int64 (statement, 0);
    *key = (struct block_key){ (enum tier) sqlite3_column_int (statement, 1), sqlite3_column_int64 (statement, 2),
                               sqlite3_column_int64 (statement, 3), sqlite3_column_int (statement, 4),
                               sqlite3_column_int64 (statement, 5) };
    broken = tier_reader_read (tiers->reader, sqlite3_column_blob (statement, 6),
                               (size_t) sqlite3_column_bytes (statement, 6), 0, 0, NULL, take_nothing, NULL) < 0;
  }
  if (!broken && code != SQLITE_DONE)
    history_store_fail (store, error);
  sqlite3_reset (statement);
  if (!any)
    tiers->looked = 0; /* from the beginning */
  return broken ? 1 : code == SQLITE_DONE ? 0 : -1;
}

int
tier_look (struct history_store *store, struct error *error)
{
  struct block_key key;
  int found = find_broken (store, &key, error), result;
  char at[CLOCK_TEXT_SIZE];

  if (found <= 0)
    return found;
  store->tiers->counts.broken++;
  clock_text (key.start * NS_PER_S, at);
  log_warning ("%s from %.16sZ were damaged; they are made again", key.tier == TIER_MINUTES ? "minutes" : "hours", at);
  result = key.tier == TIER_MINUTES ? rebuild_minutes (store, &key, error) : rebuild_hours (store, &key, error);
  return result < 0 ? -1 : 1;
}
