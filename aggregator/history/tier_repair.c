/* Makes again what was damaged or lost of the tiers (tier_store.h): minutes of an hour and a batch of nodes from their frames,
 * a chunk at a time, and with them their hour; hours from the minutes.
 *
 * Frames of an hour may be deleted already, and of what is in the file a part may be lost: of each minute that counts which has
 * more samples. So nothing is worse than before, however often it is done. */
#include <stdlib.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define CELLS_MAX (1 << 19) /* of the frames in memory: over that fewer metrics at once */

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
      tier_grid_add (taking->grid, taking->metric ? taking->metric : series->metric, series->node, &one);
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
                        0, UINT32_MAX, &taking, take_part, NULL);
  sqlite3_reset (statement);
  return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
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
    result = tier_drop_parts (store, &key, error);
  if (result == 0)
    result = tier_add_blocks (store, hours, key, true, 0, error);
  tier_grid_destroy (hours);
  return result;
}

/* ---- hours ---- */

int
tier_repair_hours (struct history_store *store, const struct block_key *key, struct error *error)
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
    result = tier_drop_parts (store, key, error);
  if (result == 0)
    result = tier_add_blocks (store, hours, *key, true, 0, error);
  tier_grid_destroy (hours);
  return result;
}

/* ---- minutes ---- */

int
tier_want_repair (struct history_store *store, int64_t start, int64_t batch, int64_t first, int64_t last,
                  struct error *error)
{
  struct tier_repair *repair = &store->tiers->repair;
  sqlite3_stmt *statement = store->tiers->statements[TIER_WANT_REPAIR];
  const int64_t numbers[] = { start, batch, first, last };

  if (batch < 0) /* combined reports are made of nothing that is stored */
    return 0;
  repair->again |= repair->open && repair->start == start && repair->batch == batch;
  for (int i = 0; i < 4; i++)
    sqlite3_bind_int64 (statement, i + 1, numbers[i]);
  return tier_run (store, TIER_WANT_REPAIR, error) < 0 ? -1 : 0;
}

void
tier_repair_reset (struct tier_store *tiers)
{
  struct tier_repair *repair = &tiers->repair;

  tier_grid_clear (repair->grid);
  repair->open = repair->again = false;
  repair->count = repair->at = repair->section = 0;
}

/* The chunks of the hour that are folded already. */
static int
list_chunks (struct history_store *store, struct error *error)
{
  struct tier_repair *repair = &store->tiers->repair;
  sqlite3_stmt *statement = store->tiers->statements[TIER_CHUNKS_OF];
  int code = SQLITE_DONE;

  for (int64_t node = repair->batch * TIER_BATCH; node < (repair->batch + 1) * TIER_BATCH && code == SQLITE_DONE;
       node++) {
    sqlite3_bind_int64 (statement, 1, node);
    sqlite3_bind_int64 (statement, 2, repair->start * NS_PER_S);
    sqlite3_bind_int64 (statement, 3, (repair->start + HOUR_S) * NS_PER_S);
    while ((code = sqlite3_step (statement)) == SQLITE_ROW)
      *array_add (repair->chunks, repair->count, repair->capacity) = sqlite3_column_int64 (statement, 0);
    if (code != SQLITE_DONE)
      history_store_fail (store, error);
    sqlite3_reset (statement);
  }
  return code == SQLITE_DONE ? 1 : -1;
}

/* What is staged and in parts is made into blocks first: the chunks that are listed then are in these, and in no part. */
static int
begin_repair (struct history_store *store, struct error *error)
{
  struct tier_repair *repair = &store->tiers->repair;
  sqlite3_stmt *next = store->tiers->statements[TIER_NEXT_REPAIR];
  int code = sqlite3_step (next), more = 1;

  *repair = (struct tier_repair){ .chunks = repair->chunks,
                                  .capacity = repair->capacity,
                                  .grid = repair->grid,
                                  .open = true,
                                  .start = sqlite3_column_int64 (next, 0),
                                  .batch = sqlite3_column_int64 (next, 1),
                                  .first = sqlite3_column_int64 (next, 2),
                                  .last = sqlite3_column_int64 (next, 3),
                                  .end = sqlite3_column_int64 (next, 3) };
  sqlite3_reset (next);
  if (code != SQLITE_ROW) {
    repair->open = false;
    return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
  }
  while (more == 1)
    more = tier_blocks_of_parts (store, repair->start, repair->batch, false, error);
  return more < 0 ? -1 : list_chunks (store, error);
}

static void
take_frames (void *context, int64_t metric, int64_t node, const struct tier_series *series)
{
  const struct tier_repair *repair = context;

  if (metric >= repair->first && metric <= repair->last)
    tier_grid_add (repair->grid, metric, node, series);
}

/* Over the limit it begins once more with half of the metrics. */
static int
fold_chunk (struct history_store *store, struct error *error)
{
  struct tier_repair *repair = &store->tiers->repair;
  const struct tier_stored into = { repair, repair->start, take_frames, NULL };

  if (tier_fold_stored (store, repair->chunks[repair->at++], &into, error) < 0)
    return -1;
  if (repair->grid->cells > CELLS_MAX && repair->last > repair->first) {
    int64_t most = repair->first;
    for (size_t i = 0; i < repair->grid->count; i++)
      most = repair->grid->sections[i].metric > most ? repair->grid->sections[i].metric : most;
    repair->last = repair->first + (most - repair->first) / 2;
    repair->at = 0;
    tier_grid_clear (repair->grid);
  }
  return 1;
}

/* A section, or all of them if the block has all metrics. */
static int
write_section (struct history_store *store, struct error *error)
{
  struct tier_repair *repair = &store->tiers->repair;
  const struct grid_section *section = &repair->grid->sections[repair->section];
  struct block_key key = { TIER_MINUTES, repair->start, section->metric, section->rows, repair->batch };
  struct tier_grid *grid = store->tiers->grid;
  int result;

  if (repair->whole)
    key.metric = key.rows = 0;
  tier_grid_clear (grid);
  result = take_parts (store, &key, grid, -1, false, error);
  do
    tier_grid_put_fuller (grid, repair->grid, &repair->grid->sections[repair->section++]);
  while (repair->whole && repair->section < repair->grid->count);
  if (result == 0)
    result = tier_drop_parts (store, &key, error);
  if (result == 0)
    result = tier_add_blocks (store, grid, key, true, 0, error);
  if (result == 0)
    result = replace_hour (store, key, grid, error);
  tier_grid_clear (grid);
  return result < 0 ? -1 : 1;
}

static int
end_repair (struct history_store *store, struct error *error)
{
  struct tier_repair done = store->tiers->repair;
  sqlite3_stmt *statement = store->tiers->statements[TIER_REPAIRED];

  tier_repair_reset (store->tiers);
  if (done.again)
    return 1;
  sqlite3_bind_int64 (statement, 1, done.start);
  sqlite3_bind_int64 (statement, 2, done.batch);
  if (tier_run (store, TIER_REPAIRED, error) < 0)
    return -1;
  if (done.last < done.end && tier_want_repair (store, done.start, done.batch, done.last + 1, done.end, error) < 0)
    return -1;
  return 1;
}

int
tier_repair (struct history_store *store, struct error *error)
{
  struct tier_repair *repair = &store->tiers->repair;

  if (!repair->open)
    return begin_repair (store, error);
  if (repair->at < repair->count)
    return fold_chunk (store, error);
  if (repair->section == 0)
    repair->whole = repair->last == repair->end && repair->grid->cells < store->tiers->whole_most;
  if (repair->section == 0 && tier_has_blocks (store, repair->start, repair->batch, &repair->whole, error) < 0)
    return -1;
  return repair->section < repair->grid->count ? write_section (store, error) : end_repair (store, error);
}
