/* Blocks of the tiers (tier_store.h): made of the parts of an hour, a batch of nodes at a time; and merged with what comes
 * later, one metric of a batch at a time, when their hour or day is over. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/array.h"
#include "synop/log.h"
#include "synop/memory.h"

#define MERGE_AFTER 900 /* s after the end of an hour or a day */

static int64_t
span_of (enum tier tier)
{
  return tier == TIER_MINUTES ? HOUR_S : DAY_S;
}

/* What is broken is dropped with the rest; its minutes are made again, and with them their hour. */
static int
mend_broken (struct history_store *store, const struct block_key *key, int64_t last, const char *why,
             struct error *error)
{
  store->tiers->counts.broken++;
  log_warning ("%s of %lld were damaged: %s", key->tier == TIER_MINUTES ? "minutes" : "hours", (long long) key->start,
               why);
  return key->tier == TIER_MINUTES
             ? tier_want_repair (store, key->start, key->batch, key->metric ? key->metric : 1, last, error)
             : 0;
}

void
tier_bind_key (sqlite3_stmt *statement, const struct block_key *key)
{
  const int64_t numbers[] = { key->tier, key->start, key->metric, key->rows, key->batch };

  for (int i = 0; i < 5; i++)
    sqlite3_bind_int64 (statement, i + 1, numbers[i]);
}

/* `part` 0: the merged one; else the next free one. */
static int
add_block (struct history_store *store, const struct block_key *key, bool merged, const struct buffer *data,
           struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *last = tiers->statements[TIER_LAST_PART], *add = tiers->statements[TIER_ADD_BLOCK];
  int64_t part = 0;

  if (!merged) {
    tier_bind_key (last, key);
    part = sqlite3_step (last) == SQLITE_ROW ? sqlite3_column_int64 (last, 0) + 1 : -1;
    sqlite3_reset (last);
    if (part < 0)
      return history_store_fail (store, error);
  }
  tier_bind_key (add, key);
  sqlite3_bind_int64 (add, 6, part);
  sqlite3_bind_blob64 (add, 7, data->data, data->length, SQLITE_STATIC);
  return tier_run (store, TIER_ADD_BLOCK, error) < 0 ? -1 : 0;
}

int
tier_drop_parts (struct history_store *store, const struct block_key *key, struct error *error)
{
  tier_bind_key (store->tiers->statements[TIER_DROP_PARTS], key);
  return tier_run (store, TIER_DROP_PARTS, error) < 0 ? -1 : 0;
}

int
tier_add_blocks (struct history_store *store, struct tier_grid *grid, struct block_key key, bool merged, uint32_t time,
                 struct error *error)
{
  struct tier_store *tiers = store->tiers;
  int result = 0;

  buffer_clear (&tiers->bytes);
  if (key.metric == 0)
    return tier_grid_write_all (grid, time, tiers->writer, &tiers->bytes)
               ? add_block (store, &key, merged, &tiers->bytes, error)
               : 0;
  for (size_t i = 0; i < grid->count && result == 0; i++) {
    buffer_clear (&tiers->bytes);
    key.metric = grid->sections[i].metric;
    key.rows = grid->sections[i].rows;
    if (tier_grid_write (grid, &grid->sections[i], time, tiers->writer, &tiers->bytes))
      result = add_block (store, &key, merged, &tiers->bytes, error);
  }
  return result;
}

/* ---- of what is staged ---- */

struct staged_row {
  struct tier_grid *grid;
  const struct held_map *map;
  int64_t node;
};

static void
take_staged (void *context, const struct tier_series *series)
{
  struct staged_row *row = context;
  int64_t metric = series->metric < row->map->count ? row->map->ids[series->metric] : 0;

  if (metric)
    tier_grid_add (row->grid, metric, row->node, series);
}

int
tier_drop_row (struct history_store *store, enum tier_statement which, int64_t id, struct error *error)
{
  sqlite3_bind_int64 (store->tiers->statements[which], 1, id);
  return tier_run (store, which, error) < 0 ? -1 : 0;
}

/* Takes what is staged into the grid until there is enough; each row is deleted. */
static int
take_all_staged (struct history_store *store, int64_t start, int64_t batch, struct error *error)
{
  const struct block_key key = { .tier = TIER_MINUTES, .start = start, .metric = 1, .batch = batch };
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_STAGED_OF];
  int64_t *ids = NULL;
  size_t count = 0, capacity = 0;
  int code, result = 0;

  sqlite3_bind_int64 (statement, 1, start);
  sqlite3_bind_int64 (statement, 2, batch);
  while (result == 0 && tiers->grid->cells < TIER_CELLS_MAX && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    struct staged_row row = { .grid = tiers->grid, .node = sqlite3_column_int64 (statement, 1) };
    struct error why = { "its metrics are unknown" };
    if (sqlite3_column_bytes (statement, 2) == SCHEMA_HASH_SIZE)
      row.map = tier_map (store, sqlite3_column_blob (statement, 2));
    if (!row.map ||
        tier_reader_read (tiers->reader, sqlite3_column_blob (statement, 3),
                          (size_t) sqlite3_column_bytes (statement, 3), 0, UINT32_MAX, &row, take_staged, &why) < 0)
      result = mend_broken (store, &key, TIER_METRICS_MAX, why.text, error);
    *array_add (ids, count, capacity) = sqlite3_column_int64 (statement, 0);
  }
  if (result == 0 && tiers->grid->cells < TIER_CELLS_MAX && code != SQLITE_DONE)
    result = history_store_fail (store, error);
  sqlite3_reset (statement);
  for (size_t i = 0; i < count && result == 0; i++)
    result = tier_drop_row (store, TIER_DROP_STAGED, ids[i], error);
  free (ids);
  return result;
}

/* ---- parts ---- */

int
tier_add_part (struct history_store *store, struct tier_grid *grid, int64_t start, int64_t batch, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_ADD_PART];

  buffer_clear (&tiers->bytes);
  if (!tier_grid_write_all (grid, 0, tiers->writer, &tiers->bytes))
    return 0;
  sqlite3_bind_int64 (statement, 1, start);
  sqlite3_bind_int64 (statement, 2, batch);
  sqlite3_bind_blob64 (statement, 3, tiers->bytes.data, tiers->bytes.length, SQLITE_STATIC);
  return tier_run (store, TIER_ADD_PART, error) < 0 ? -1 : 0;
}

int
tier_parts_make (struct history_store *store, int64_t now_s, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_OLDEST_STAGED];
  int code = sqlite3_step (statement), result;
  int64_t start = sqlite3_column_int64 (statement, 0), batch = sqlite3_column_int64 (statement, 1);
  int64_t at = sqlite3_column_int64 (statement, 2);

  sqlite3_reset (statement);
  if (code != SQLITE_ROW)
    return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
  if (at > now_s - TIER_WAIT && at < now_s + TIER_WAIT)
    return 0;
  tier_grid_clear (tiers->grid);
  result = take_all_staged (store, start, batch, error);
  if (result == 0)
    result = tier_add_part (store, tiers->grid, start, batch, error);
  tier_grid_clear (tiers->grid);
  return result < 0 ? -1 : 1;
}

static void
take_any (void *context, const struct tier_series *series)
{
  tier_grid_add (context, series->metric, series->node, series);
}

/* Takes parts into the grid until there is enough; each is deleted. */
static int
take_all_parts (struct history_store *store, int64_t start, int64_t batch, struct error *error)
{
  const struct block_key key = { .tier = TIER_MINUTES, .start = start, .metric = 1, .batch = batch };
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_PARTS_OF_BATCH];
  int code = SQLITE_ROW, result = 0;

  while (code == SQLITE_ROW && result == 0 && tiers->grid->cells < TIER_CELLS_MAX) {
    int64_t id;
    struct error why;
    sqlite3_bind_int64 (statement, 1, start);
    sqlite3_bind_int64 (statement, 2, batch);
    code = sqlite3_step (statement);
    id = sqlite3_column_int64 (statement, 0);
    if (code == SQLITE_ROW &&
        tier_reader_read (tiers->reader, sqlite3_column_blob (statement, 1),
                          (size_t) sqlite3_column_bytes (statement, 1), 0, UINT32_MAX, tiers->grid, take_any, &why) < 0)
      result = mend_broken (store, &key, TIER_METRICS_MAX, why.text, error);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      result = history_store_fail (store, error);
    sqlite3_reset (statement);
    if (result == 0 && code == SQLITE_ROW)
      result = tier_drop_row (store, TIER_DROP_PART, id, error);
  }
  return result;
}

int
tier_has_blocks (struct history_store *store, int64_t start, int64_t batch, bool *whole, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[TIER_BLOCKS_OF];
  int code;

  sqlite3_bind_int64 (statement, 1, start);
  sqlite3_bind_int64 (statement, 2, batch);
  code = sqlite3_step (statement);
  if (code == SQLITE_ROW)
    *whole = sqlite3_column_int64 (statement, 1) == 0;
  sqlite3_reset (statement);
  return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : history_store_fail (store, error);
}

/* What the grid has of an hour goes into its day. */
static int
add_hour (struct history_store *store, const struct tier_grid *grid, struct block_key key, struct error *error)
{
  struct tier_grid *hours = store->tiers->hours;
  int64_t day = key.start - ((key.start % DAY_S) + DAY_S) % DAY_S;
  int result;

  tier_grid_clear (hours);
  tier_grid_add_all (hours, grid, 0);
  result = tier_add_blocks (
      store, hours, (struct block_key){ .tier = TIER_HOURS, .start = day, .metric = key.metric, .batch = key.batch },
      false, (uint32_t) ((key.start - day) / HOUR_S), error);
  tier_grid_clear (hours);
  return result;
}

int
tier_blocks_of_parts (struct history_store *store, int64_t start, int64_t batch, bool over, struct error *error)
{
  struct block_key key = { .tier = TIER_MINUTES, .start = start, .batch = batch };
  struct tier_grid *grid = store->tiers->grid;
  int result, there = 1;
  bool whole;

  tier_grid_clear (grid);
  result = take_all_staged (store, start, batch, error);
  if (result == 0)
    result = take_all_parts (store, start, batch, error);
  whole = grid->cells < store->tiers->whole_most;
  if (result == 0)
    there = result = tier_has_blocks (store, start, batch, &whole, error);
  there |= !over;
  key.metric = whole ? 0 : TIER_ONE;
  if (result >= 0)
    result = tier_add_blocks (store, grid, key, !there, 0, error);
  if (result == 0 && !there)
    result = add_hour (store, grid, key, error);
  if (result == 0)
    result = grid->count > 0;
  tier_grid_clear (grid);
  return result;
}

int
tier_blocks_make (struct history_store *store, int64_t now_s, bool now, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[TIER_OLDEST_PART];
  int64_t over = now_s - MERGE_AFTER - HOUR_S + 1, start, batch;
  int code;

  sqlite3_bind_int64 (statement, 1, now ? INT64_MAX : over);
  code = sqlite3_step (statement);
  start = sqlite3_column_int64 (statement, 0);
  batch = sqlite3_column_int64 (statement, 1);
  sqlite3_reset (statement);
  if (code != SQLITE_ROW)
    return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
  return tier_blocks_of_parts (store, start, batch, start < over, error) < 0 ? -1 : 1;
}

/* ---- merged ---- */

struct merging {
  struct tier_store *tiers;
  const struct block_key *key;
  bool merged; /* the part that is read is: its hours are made */
};

static void
take_part (void *context, const struct tier_series *series)
{
  struct merging *merging = context;

  int64_t metric = merging->key->metric ? merging->key->metric : series->metric;

  tier_grid_add (merging->tiers->grid, metric, series->node, series);
  if (!merging->merged && merging->key->tier == TIER_MINUTES)
    tier_grid_add (merging->tiers->hours, metric, series->node, series);
}

static int
take_parts (struct history_store *store, const struct block_key *key, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_PARTS_OF];
  int64_t *ids = NULL;
  size_t count = 0, capacity = 0;
  int code, result = 0;

  tier_bind_key (statement, key);
  while (result == 0 && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    struct merging merging = { tiers, key, sqlite3_column_int64 (statement, 1) == 0 };
    struct error why;
    if (tier_reader_read (tiers->reader, sqlite3_column_blob (statement, 2),
                          (size_t) sqlite3_column_bytes (statement, 2), 0, UINT32_MAX, &merging, take_part, &why) < 0)
      result = mend_broken (store, key, key->metric ? key->metric : TIER_METRICS_MAX, why.text, error);
    *array_add (ids, count, capacity) = sqlite3_column_int64 (statement, 0);
  }
  if (result == 0 && code != SQLITE_DONE)
    result = history_store_fail (store, error);
  sqlite3_reset (statement);
  for (size_t i = 0; i < count && result == 0; i++)
    result = tier_drop_row (store, TIER_DROP_BLOCK, ids[i], error);
  free (ids);
  return result;
}

static int
merge (struct history_store *store, struct block_key key, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  int result;

  tier_grid_clear (tiers->grid);
  tier_grid_clear (tiers->hours);
  result = take_parts (store, &key, error);
  if (result == 0)
    result = tier_add_blocks (store, tiers->grid, key, true, 0, error);
  if (result == 0 && tiers->hours->count) {
    int64_t day = key.start - ((key.start % DAY_S) + DAY_S) % DAY_S;
    uint32_t hour = (uint32_t) ((key.start - day) / HOUR_S);
    key.tier = TIER_HOURS;
    key.start = day;
    result = tier_add_blocks (store, tiers->hours, key, false, hour, error);
  }
  tier_grid_clear (tiers->grid);
  tier_grid_clear (tiers->hours);
  return result;
}

int
tier_blocks_merge (struct history_store *store, int64_t now_s, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[TIER_UNMERGED];

  for (enum tier tier = TIER_MINUTES; tier <= TIER_HOURS; tier++) {
    struct block_key key;
    int code;
    sqlite3_bind_int64 (statement, 1, tier);
    sqlite3_bind_int64 (statement, 2, now_s - MERGE_AFTER - span_of (tier) + 1);
    code = sqlite3_step (statement);
    key = (struct block_key){ (enum tier) sqlite3_column_int (statement, 0), sqlite3_column_int64 (statement, 1),
                              sqlite3_column_int64 (statement, 2), sqlite3_column_int (statement, 3),
                              sqlite3_column_int64 (statement, 4) };
    sqlite3_reset (statement);
    if (code == SQLITE_ROW)
      return merge (store, key, error) < 0 ? -1 : 1;
    if (code != SQLITE_DONE)
      return history_store_fail (store, error);
  }
  return 0;
}
