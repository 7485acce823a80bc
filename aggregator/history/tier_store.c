/* See tier_store.h. */
#include "aggregator/history/tier_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define BLOCK_LEVEL 9 /* of zstd */
#define MAPS_MAX 256  /* kept in memory */

#define BLOCK_KEY "tier = ? AND start = ? AND metric = ? AND rows = ? AND batch = ?"

static const char *const texts[TIER_STATEMENTS] = {
  [TIER_ADD_METRIC] = "INSERT INTO tier_metrics VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  [TIER_FIND_MAP] = "SELECT ids FROM tier_maps WHERE hash = ?",
  [TIER_ADD_MAP] = "INSERT OR REPLACE INTO tier_maps VALUES (?, ?)",
  [TIER_STAGE] = "INSERT INTO tier_staged VALUES (NULL, ?, ?, ?, ?, ?, ?)",
  [TIER_FOLDED] = "DELETE FROM unfolded WHERE chunk = ?",
  [TIER_OLDEST_STAGED] = "SELECT start, batch, at FROM tier_staged ORDER BY id LIMIT 1",
  [TIER_STAGED_OF] = "SELECT id, node, map, data FROM tier_staged WHERE start = ? AND batch = ? ORDER BY node, id",
  [TIER_DROP_STAGED] = "DELETE FROM tier_staged WHERE id = ?",
  [TIER_ADD_PART] = "INSERT INTO tier_parts VALUES (NULL, ?, ?, ?)",
  [TIER_OLDEST_PART] = "SELECT start, batch FROM tier_parts WHERE start < ? ORDER BY start, batch LIMIT 1",
  [TIER_PARTS_OF_BATCH] = "SELECT id, data FROM tier_parts WHERE start = ? AND batch = ?",
  [TIER_DROP_PART] = "DELETE FROM tier_parts WHERE id = ?",
  [TIER_LAST_PART] = "SELECT ifnull (max (part), 0) FROM tier_blocks WHERE " BLOCK_KEY,
  [TIER_ADD_BLOCK] = "INSERT INTO tier_blocks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
  [TIER_UNMERGED] = "SELECT tier, start, metric, rows, batch FROM tier_blocks INDEXED BY tier_blocks_unmerged WHERE "
                    "part > 0 AND tier = ? AND start < ?"
                    " ORDER BY tier, start, metric, rows, batch LIMIT 1",
  [TIER_PARTS_OF] = "SELECT id, part, data FROM tier_blocks WHERE " BLOCK_KEY,
  [TIER_DROP_BLOCK] = "DELETE FROM tier_blocks WHERE id = ?",
  [TIER_NEXT_UNFOLDED] = "SELECT time, node FROM unfolded CROSS JOIN chunks ON chunks.id = chunk WHERE chunk <= ?"
                         " ORDER BY chunk LIMIT 1",
  [TIER_UNFOLDED_OF] = "SELECT id FROM chunks WHERE node = ? AND first_time >= ? AND first_time < ? AND"
                       " EXISTS (SELECT 1 FROM unfolded WHERE chunk = id) ORDER BY first_time, id",
  [TIER_CHUNK] = "SELECT node, session, first, last, data, first_time FROM chunks WHERE id = ?",
  [TIER_CHUNK_WITH] = "SELECT id, first, last, data FROM chunks WHERE node = ? AND session = ? AND first <= ?"
                      " ORDER BY first DESC LIMIT 1",
  [TIER_SCHEMA] = "SELECT bytes FROM schemas WHERE hash = ?",
  [TIER_OLD_BLOCKS] = "DELETE FROM tier_blocks WHERE id IN (SELECT id FROM tier_blocks WHERE tier = ? AND start < ?"
                      " LIMIT 256)",
  [TIER_SIZES] = "SELECT ifnull (sum (bytes), 0), ifnull (sum (bytes * (owner = 1)), 0),"
                 " ifnull (sum (bytes * (owner = 2)), 0) FROM uses WHERE room = 'tiers'",
  [TIER_NEXT_BLOCKS] = "SELECT id, tier, start, metric, rows, batch, data FROM tier_blocks WHERE id > ? ORDER BY id"
                       " LIMIT ?",
  [TIER_BLOCKS_OF] = "SELECT id, metric, data FROM tier_blocks WHERE tier = 0 AND start = ? AND batch = ?",
  [TIER_DROP_PARTS] = "DELETE FROM tier_blocks WHERE " BLOCK_KEY,
  [TIER_DROP_MAPS] = "DELETE FROM tier_maps WHERE hash NOT IN (SELECT map FROM tier_staged)",
  [TIER_CHUNKS_OF] = "SELECT id FROM chunks WHERE node = ?1 AND first_time >= ?2 - 600000000000 AND first_time < ?3 AND"
                     " last_time >= ?2 AND NOT EXISTS (SELECT 1 FROM unfolded WHERE chunk = id)"
                     " ORDER BY first_time, id",
  [TIER_WANT_REPAIR] = "INSERT INTO tier_repairs VALUES (?, ?, ?, ?) ON CONFLICT (start, batch) DO UPDATE SET"
                       " first = min (first, excluded.first), last = max (last, excluded.last)",
  [TIER_NEXT_REPAIR] = "SELECT start, batch, first, last FROM tier_repairs ORDER BY start DESC, batch LIMIT 1",
  [TIER_REPAIRED] = "DELETE FROM tier_repairs WHERE start = ? AND batch = ?",
  [TIER_OLDEST_BLOCKS] = "DELETE FROM tier_blocks WHERE id IN (SELECT id FROM tier_blocks WHERE tier = ? ORDER BY start"
                         " LIMIT 16)",
};

/* ---- metrics ---- */

static struct held_metric *
metric_key (const struct tier_metric *metric)
{
  const struct metric *of = &metric->metric;
  char *text = memory_format ("%s/%s/%s/%u/%u/%u/%u/%u/%u", metric->group, metric->section, of->name, of->kind,
                              of->unit, of->fold, of->flags, of->times, of->per);
  size_t length = strlen (text);
  struct held_metric *held = memory_new (1, sizeof *held + length + 1);

  memcpy (held->key, text, length);
  held->length = length;
  free (text);
  return held;
}

/* Adds it; false: there is one like it already, or it is over a limit. */
static void
hold_metric (struct tier_store *tiers, struct held_metric *held, int64_t owner)
{
  struct metric_owner *of;

  HASH_ADD_KEYPTR (hh, tiers->metrics, held->key, held->length, held);
  HASH_FIND (hh, tiers->owners, &owner, sizeof owner, of);
  if (!of) {
    of = memory_new (1, sizeof *of);
    of->node = owner;
    HASH_ADD (hh, tiers->owners, node, sizeof of->node, of);
  }
  of->count++;
}

static int
load_metrics (struct history_store *store, struct error *error)
{
  static const char text[] = "SELECT id, owner, section, family, name, kind, unit, fold, flags, times, per"
                             " FROM tier_metrics ORDER BY id";
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (store->database, text, -1, &statement, NULL);

  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step (statement);
    if (code != SQLITE_ROW)
      break;
    struct tier_metric metric = { .section = (const char *) sqlite3_column_text (statement, 2),
                                  .group = (const char *) sqlite3_column_text (statement, 3),
                                  .metric = { .name = (const char *) sqlite3_column_text (statement, 4),
                                              .kind = (enum metric_kind) sqlite3_column_int (statement, 5),
                                              .unit = (enum metric_unit) sqlite3_column_int (statement, 6),
                                              .fold = (enum metric_fold) sqlite3_column_int (statement, 7),
                                              .flags = (uint32_t) sqlite3_column_int64 (statement, 8),
                                              .times = (uint32_t) sqlite3_column_int64 (statement, 9),
                                              .per = (uint32_t) sqlite3_column_int64 (statement, 10) } };
    struct held_metric *held = metric_key (&metric);
    held->id = sqlite3_column_int64 (statement, 0);
    hold_metric (store->tiers, held, sqlite3_column_int64 (statement, 1));
  }
  if (code != SQLITE_DONE)
    history_store_fail (store, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

/* The id of a metric, which is added if it is new; 0: it is over a limit. */
static int
find_metric (struct history_store *store, const struct tier_metric *metric, int64_t owner, int64_t *id,
             struct error *error)
{
  struct tier_store *tiers = store->tiers;
  struct held_metric *held = metric_key (metric), *found;
  const struct metric *of = &metric->metric;
  sqlite3_stmt *statement = tiers->statements[TIER_ADD_METRIC];
  struct metric_owner *brought;

  HASH_FIND (hh, tiers->metrics, held->key, held->length, found);
  HASH_FIND (hh, tiers->owners, &owner, sizeof owner, brought);
  *id = found ? found->id : 0;
  if (found || HASH_COUNT (tiers->metrics) >= TIER_METRICS_MAX ||
      (brought && brought->count >= TIER_OWNER_METRICS_MAX)) {
    free (held);
    return 0;
  }
  *id = held->id = (int64_t) HASH_COUNT (tiers->metrics) + 1;
  hold_metric (tiers, held, owner);
  const int64_t numbers[] = { of->kind, of->unit, of->fold, of->flags, of->times, of->per };
  const char *const words[] = { metric->section, metric->group, of->name };
  sqlite3_bind_int64 (statement, 1, *id);
  sqlite3_bind_int64 (statement, 2, owner);
  for (int i = 0; i < 3; i++)
    sqlite3_bind_text (statement, 3 + i, words[i], -1, SQLITE_STATIC);
  for (int i = 0; i < 6; i++)
    sqlite3_bind_int64 (statement, 6 + i, numbers[i]);
  sqlite3_bind_text (statement, 12, of->help ? of->help : "", -1, SQLITE_STATIC);
  return tier_run (store, TIER_ADD_METRIC, error) < 0 ? -1 : 0;
}

/* ---- maps ---- */

void
tier_drop_maps (struct tier_store *tiers)
{
  struct held_map *map, *next;

  HASH_ITER (hh, tiers->maps, map, next)
  {
    HASH_DEL (tiers->maps, map);
    free (map);
  }
}

static struct held_map *
hold_map (struct tier_store *tiers, const uint8_t hash[SCHEMA_HASH_SIZE], const void *ids, size_t length)
{
  struct wire wire = wire_over (ids, length);
  struct held_map *map = memory_new (1, sizeof *map + length * sizeof map->ids[0]); /* each takes a byte or more */

  if (HASH_COUNT (tiers->maps) >= MAPS_MAX)
    tier_drop_maps (tiers);
  memcpy (map->hash, hash, SCHEMA_HASH_SIZE);
  while (wire.at < wire.end && !wire.bad)
    map->ids[map->count++] = (int64_t) varint_read (&wire, TIER_METRICS_MAX);
  HASH_ADD (hh, tiers->maps, hash, SCHEMA_HASH_SIZE, map);
  return map;
}

const struct held_map *
tier_map (struct history_store *store, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_FIND_MAP];
  struct held_map *map;

  HASH_FIND (hh, tiers->maps, hash, SCHEMA_HASH_SIZE, map);
  if (map)
    return map;
  sqlite3_bind_blob (statement, 1, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  if (sqlite3_step (statement) == SQLITE_ROW)
    map = hold_map (tiers, hash, sqlite3_column_blob (statement, 0), (size_t) sqlite3_column_bytes (statement, 0));
  sqlite3_reset (statement);
  return map;
}

int
tier_make_map (struct history_store *store, int64_t node, const struct tier_list *metrics, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[TIER_ADD_MAP];
  struct buffer ids = { 0 };
  int result = 0;

  if (tier_map (store, metrics->hash))
    return 0;
  for (size_t i = 0; i < metrics->count && result == 0; i++) {
    struct tier_metric metric;
    int64_t id = 0;
    if (metrics->metric (metrics->context, i, &metric)) {
      result = find_metric (store, &metric, node, &id, error);
      store->tiers->counts.left_out += id == 0;
    }
    varint_write (&ids, (uint64_t) id);
  }
  if (result == 0) {
    sqlite3_bind_blob (statement, 1, metrics->hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
    sqlite3_bind_blob64 (statement, 2, ids.data ? ids.data : "", ids.length, SQLITE_STATIC);
    result = tier_run (store, TIER_ADD_MAP, error) < 0 ? -1 : 0;
  }
  if (result == 0)
    hold_map (store->tiers, metrics->hash, ids.data, ids.length);
  buffer_free (&ids);
  return result;
}

/* ---- a schema's metrics ---- */

static bool
schema_metric (void *context, size_t index, struct tier_metric *metric)
{
  const struct schema *schema = context;
  size_t g = 0;

  while (index >= schema->groups[g]->metric_count)
    index -= schema->groups[g++]->metric_count;
  *metric =
      (struct tier_metric){ schema->groups[g]->section, schema->groups[g]->name, schema->groups[g]->metrics[index] };
  return metric->metric.kind != TEXT && !(schema->groups[g]->flags & GROUP_ONCE);
}

struct tier_list
tier_schema_list (const struct schema *schema)
{
  struct tier_list list = { .context = (void *) schema, .metric = schema_metric };

  memcpy (list.hash, schema->hash, SCHEMA_HASH_SIZE);
  for (size_t g = 0; g < schema->group_count; g++)
    list.count += schema->groups[g]->metric_count;
  return list;
}

/* ---- what is staged ---- */

int
tier_stage_row (struct history_store *store, int64_t node, const uint8_t hash[SCHEMA_HASH_SIZE],
                const struct tier_staged *staged, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[TIER_STAGE];
  const int64_t numbers[] = { staged->start, tier_batch (node), node, clock_wall () / NS_PER_S };

  for (int k = 0; k < 4; k++)
    sqlite3_bind_int64 (statement, k + 1, numbers[k]);
  sqlite3_bind_blob (statement, 5, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  sqlite3_bind_blob64 (statement, 6, staged->data.data, staged->data.length, SQLITE_STATIC);
  return tier_run (store, TIER_STAGE, error) < 0 ? -1 : 0;
}

int
tier_store_stage (struct history_store *store, const char *node, const struct tier_list *metrics,
                  const struct tier_folded *folded, struct error *error)
{
  int64_t id;
  int result = history_store_node (store, node, &id, error);

  if (result == 0)
    result = tier_make_map (store, id, metrics, error);
  for (size_t i = 0; i < folded->count && result == 0; i++)
    result = tier_stage_row (store, id, metrics->hash, &folded->staged[i], error);
  store->tiers->counts.left_out += folded->left_out;
  return result;
}

/* ---- open and close ---- */

int
tier_run (struct history_store *store, enum tier_statement which, struct error *error)
{
  sqlite3_stmt *statement = store->tiers->statements[which];
  int code = sqlite3_step (statement);

  if (code != SQLITE_ROW && code != SQLITE_DONE)
    code = history_store_fail (store, error);
  sqlite3_reset (statement);
  sqlite3_clear_bindings (statement);
  return code;
}

int
tier_store_open (struct history_store *store, struct error *error)
{
  struct tier_store *tiers = store->tiers = memory_new (1, sizeof *tiers);

  tiers->whole_most = TIER_CELLS_MAX;
  tiers->writer = tier_writer_create (BLOCK_LEVEL);
  tiers->reader = tier_reader_create ();
  tiers->grid = tier_grid_create (60);
  tiers->hours = tier_grid_create (1);
  tiers->repair.grid = tier_grid_create (60);
  tiers->catching.grid = tier_grid_create (60);
  for (size_t i = 0; i < sizeof tiers->catching.marks / sizeof tiers->catching.marks[0]; i++)
    tiers->catching.marks[i] = store->last_chunk;
  tiers->catching.marked = clock_wall () / NS_PER_S;
  if (history_store_begin (store, error) < 0)
    return -1;
  if (tier_make_tables (store, error) < 0 || history_store_end (store, error) < 0) {
    history_store_undo (store);
    return -1;
  }
  for (int i = 0; i < TIER_STATEMENTS; i++)
    if (sqlite3_prepare_v3 (store->database, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &tiers->statements[i], NULL) !=
        SQLITE_OK)
      return history_store_fail (store, error);
  return load_metrics (store, error);
}

void
tier_store_close (struct history_store *store)
{
  struct tier_store *tiers = store->tiers;
  struct held_metric *metric, *next_metric;
  struct metric_owner *owner, *next_owner;
  struct tier_schema *schema, *next_schema;

  if (!tiers)
    return;
  for (int i = 0; i < TIER_STATEMENTS; i++)
    sqlite3_finalize (tiers->statements[i]);
  HASH_ITER (hh, tiers->metrics, metric, next_metric)
  {
    HASH_DEL (tiers->metrics, metric);
    free (metric);
  }
  HASH_ITER (hh, tiers->owners, owner, next_owner)
  {
    HASH_DEL (tiers->owners, owner);
    free (owner);
  }
  HASH_ITER (hh, tiers->schemas, schema, next_schema)
  {
    HASH_DEL (tiers->schemas, schema);
    schema_destroy (schema->schema);
    free (schema);
  }
  tier_drop_maps (tiers);
  tier_repair_reset (tiers);
  tier_grid_destroy (tiers->repair.grid);
  free (tiers->repair.chunks);
  tier_writer_destroy (tiers->writer);
  tier_reader_destroy (tiers->reader);
  tier_grid_destroy (tiers->grid);
  tier_grid_destroy (tiers->hours);
  chunk_free (&tiers->before.chunk);
  tier_catching_free (&tiers->catching);
  buffer_free (&tiers->bytes);
  free (tiers);
}

struct tier_counts
tier_store_take_counts (struct history_store *store)
{
  struct tier_counts counts = store->tiers->counts;

  store->tiers->counts = (struct tier_counts){ 0 };
  return counts;
}
