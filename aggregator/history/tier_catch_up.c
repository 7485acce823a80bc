/* Folds chunks that are in no block yet (tier_store.h), those of an hour and a batch of nodes at a time, a chunk a step, and
 * writes them as a part in the last: in memory until then. What a chunk has of the hour behind is staged.
 *
 * Chunks wait for more of their batch, since parts of more are smaller: ten minutes, or longer where there are so few that
 * readers have little to unpack. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define MARK_EVERY 60   /* s */
#define CHUNKS_MAX 1500 /* that wait, if they are of a minute each */

/* The last chunk that has waited for long enough: all that there were when the file was opened, and then those that there
 * were so long ago. */
static int64_t
last_due (struct history_store *store, int64_t nodes, int64_t now_s)
{
  struct tier_catching *catching = &store->tiers->catching;
  int64_t wait = MARK_EVERY * CHUNKS_MAX / (nodes + 1);
  int64_t last = history_store_last_chunk (store);

  if (now_s < catching->marked) /* somebody set the clock */
    catching->marked = now_s;
  for (int i = 0; i <= TIER_WAIT_MOST / MARK_EVERY && catching->marked <= now_s - MARK_EVERY; i++) {
    memmove (catching->marks + 1, catching->marks, sizeof catching->marks - sizeof catching->marks[0]);
    catching->marks[0] = last;
    catching->marked += MARK_EVERY;
  }
  if (catching->marked <= now_s - MARK_EVERY)
    catching->marked = now_s;
  wait = wait < TIER_WAIT ? TIER_WAIT : wait > TIER_WAIT_MOST ? TIER_WAIT_MOST : wait;
  return catching->marks[wait / MARK_EVERY - 1];
}

static void
reset (struct tier_catching *catching)
{
  for (size_t i = 0; i < catching->piece_count; i++)
    buffer_free (&catching->pieces[i].staged.data);
  tier_grid_clear (catching->grid);
  catching->open = false;
  catching->count = catching->at = catching->piece_count = 0;
}

void
tier_catching_free (struct tier_catching *catching)
{
  reset (catching);
  tier_grid_destroy (catching->grid);
  free (catching->chunks);
  free (catching->pieces);
}

static int
list_chunks (struct history_store *store, struct error *error)
{
  struct tier_catching *catching = &store->tiers->catching;
  sqlite3_stmt *statement = store->tiers->statements[TIER_UNFOLDED_OF];
  int code = SQLITE_DONE;

  for (int64_t node = catching->batch * TIER_BATCH; node < (catching->batch + 1) * TIER_BATCH && code == SQLITE_DONE;
       node++) {
    sqlite3_bind_int64 (statement, 1, node);
    sqlite3_bind_int64 (statement, 2, catching->start * NS_PER_S);
    sqlite3_bind_int64 (statement, 3, (catching->start + HOUR_S) * NS_PER_S);
    while ((code = sqlite3_step (statement)) == SQLITE_ROW)
      *array_add (catching->chunks, catching->count, catching->capacity) = sqlite3_column_int64 (statement, 0);
    if (code != SQLITE_DONE)
      history_store_fail (store, error);
    sqlite3_reset (statement);
  }
  return code == SQLITE_DONE ? 1 : -1;
}

static int
begin (struct history_store *store, int64_t now_s, struct error *error)
{
  struct tier_catching *catching = &store->tiers->catching;
  sqlite3_stmt *next = store->tiers->statements[TIER_NEXT_UNFOLDED];
  int64_t time, node, nodes;
  int code;

  if (history_store_select (store, "SELECT count (*) FROM nodes", &nodes, error) < 0)
    return -1;
  sqlite3_bind_int64 (next, 1, last_due (store, nodes, now_s));
  code = sqlite3_step (next);
  time = sqlite3_column_int64 (next, 0);
  node = sqlite3_column_int64 (next, 1);
  sqlite3_reset (next);
  if (code != SQLITE_ROW)
    return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
  catching->open = true;
  catching->start = time / NS_PER_S - (time % NS_PER_S < 0);
  catching->start -= (catching->start % HOUR_S + HOUR_S) % HOUR_S;
  catching->batch = tier_batch (node);
  return list_chunks (store, error);
}

static void
take_series (void *context, int64_t metric, int64_t node, const struct tier_series *series)
{
  struct tier_catching *catching = context;

  tier_grid_add (catching->grid, metric, node, series);
}

static void
take_other (void *context, int64_t node, const uint8_t hash[SCHEMA_HASH_SIZE], struct tier_staged *staged)
{
  struct tier_catching *catching = context;
  struct tier_piece *piece = array_add (catching->pieces, catching->piece_count, catching->piece_capacity);

  *piece = (struct tier_piece){ .node = node, .staged = *staged };
  memcpy (piece->hash, hash, SCHEMA_HASH_SIZE);
  staged->data = (struct buffer){ 0 };
}

static int
fold_next (struct history_store *store, struct error *error)
{
  struct tier_catching *catching = &store->tiers->catching;
  const struct tier_stored into = { catching, catching->start, take_series, take_other };

  if (tier_fold_stored (store, catching->chunks[catching->at++], &into, error) < 0)
    return -1;
  if (catching->grid->cells > TIER_CELLS_MAX)
    catching->count = catching->at; /* the others are next */
  return 1;
}

static int
write_all (struct history_store *store, struct error *error)
{
  struct tier_catching *catching = &store->tiers->catching;
  int result = tier_add_part (store, catching->grid, catching->start, catching->batch, error);

  for (size_t i = 0; i < catching->piece_count && result == 0; i++)
    result =
        tier_stage_row (store, catching->pieces[i].node, catching->pieces[i].hash, &catching->pieces[i].staged, error);
  for (size_t i = 0; i < catching->count && result == 0; i++)
    result = tier_drop_row (store, TIER_FOLDED, catching->chunks[i], error);
  reset (catching);
  return result < 0 ? -1 : 1;
}

int
tier_catch_up (struct history_store *store, int64_t now_s, struct error *error)
{
  const struct tier_catching *catching = &store->tiers->catching;

  if (!catching->open)
    return begin (store, now_s, error);
  return catching->at < catching->count ? fold_next (store, error) : write_all (store, error);
}
