/* Folds chunks as they are in the file (tier_store.h): what a counter of the first frames is compared with lies in the chunk
 * before, which was mostly the last that was folded. */
#include <string.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define SCHEMAS_MAX 64 /* kept in memory */

/* ---- schemas ---- */

static const struct schema *
find_schema (struct history_store *store, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_SCHEMA];
  struct tier_schema *held, *next;
  struct schema *schema = NULL;

  HASH_FIND (hh, tiers->schemas, hash, SCHEMA_HASH_SIZE, held);
  if (held)
    return held->schema;
  sqlite3_bind_blob (statement, 1, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  if (sqlite3_step (statement) == SQLITE_ROW)
    schema = schema_read (sqlite3_column_blob (statement, 0), (size_t) sqlite3_column_bytes (statement, 0), NULL);
  sqlite3_reset (statement);
  if (!schema)
    return NULL;
  if (HASH_COUNT (tiers->schemas) >= SCHEMAS_MAX)
    HASH_ITER (hh, tiers->schemas, held, next)
    {
      HASH_DEL (tiers->schemas, held);
      schema_destroy (held->schema);
      free (held);
    }
  held = memory_new (1, sizeof *held);
  memcpy (held->hash, hash, SCHEMA_HASH_SIZE);
  held->schema = schema;
  HASH_ADD (hh, tiers->schemas, hash, SCHEMA_HASH_SIZE, held);
  return schema;
}

/* ---- chunks ---- */

struct stored {
  struct history_store *store;
  int64_t id, node;
  struct chunk_row row;
  struct chunk *chunk;
  const struct tier_stored *into;
  struct error *error;
  int result;
};

/* A frame from the chunk before, mostly. */
static bool
find_base (void *context, uint64_t sequence, const void **bytes, size_t *length)
{
  const struct stored *stored = context;
  struct tier_before *before = &stored->store->tiers->before;
  sqlite3_stmt *statement = stored->store->tiers->statements[TIER_CHUNK_WITH];
  const int64_t numbers[] = { stored->node, (int64_t) stored->row.session, (int64_t) sequence };

  if (before->node != stored->node || before->session != stored->row.session || sequence < before->first ||
      sequence > before->last) {
    before->node = 0;
    for (int i = 0; i < 3; i++)
      sqlite3_bind_int64 (statement, i + 1, numbers[i]);
    if (sqlite3_step (statement) == SQLITE_ROW && sqlite3_column_int64 (statement, 2) >= (int64_t) sequence) {
      chunk_clear (&before->chunk);
      if (chunk_unpack (&before->chunk, sqlite3_column_blob (statement, 3),
                        (size_t) sqlite3_column_bytes (statement, 3), NULL) == 0)
        *before = (struct tier_before){ before->chunk, stored->node, stored->row.session,
                                        (uint64_t) sqlite3_column_int64 (statement, 1),
                                        (uint64_t) sqlite3_column_int64 (statement, 2) };
    }
    sqlite3_reset (statement);
  }
  if (before->node == 0 || 2 * (size_t) (sequence - before->first) + 1 >= before->chunk.count)
    return false;
  *bytes = chunk_message (&before->chunk, 2 * (size_t) (sequence - before->first) + 1, length);
  return true;
}

struct with_map {
  const struct tier_stored *into;
  const struct held_map *map;
  int64_t node;
};

static void
take_series (void *context, const struct tier_series *series)
{
  const struct with_map *with = context;
  int64_t metric = series->metric < with->map->count ? with->map->ids[series->metric] : 0;

  if (metric)
    with->into->series (with->into->context, metric, with->node, series);
}

/* What is broken has nothing in it. */
static void
fold_parts (void *context, const struct chunk_parts *parts)
{
  struct stored *stored = context;
  struct tier_store *tiers = stored->store->tiers;
  struct with_map with = { stored->into, NULL, stored->node };
  struct tier_folded folded = { 0 };
  const struct schema *schema;
  struct frame_header header;
  struct tier_list list;
  size_t length;
  const void *bytes;

  if (stored->chunk->count < 2 || stored->chunk->count % 2)
    return;
  bytes = chunk_message (stored->chunk, 1, &length);
  if (frame_read_header (bytes, length, &header, NULL) < 0 || !(schema = find_schema (stored->store, header.schema)))
    return;
  list = tier_schema_list (schema);
  stored->result = tier_make_map (stored->store, stored->node, &list, stored->error);
  if (stored->result < 0)
    return;
  with.map = tier_map (stored->store, list.hash);
  tier_fold (stored->chunk, parts, &stored->row, schema, &(struct tier_bases){ stored, find_base },
             &(struct tier_sink){ &with, stored->into->start, take_series }, tiers->writer, &folded);
  tiers->counts.left_out += folded.left_out;
  for (size_t i = 0; i < folded.count && stored->into->other; i++)
    stored->into->other (stored->into->context, stored->node, list.hash, &folded.staged[i]);
  tier_folded_free (&folded);
}

int
tier_fold_stored (struct history_store *store, int64_t id, const struct tier_stored *into, struct error *error)
{
  struct tier_before *before = &store->tiers->before;
  sqlite3_stmt *read = store->tiers->statements[TIER_CHUNK];
  struct chunk chunk = { 0 };
  struct stored stored = { .store = store, .id = id, .chunk = &chunk, .into = into, .error = error };
  int code;

  sqlite3_bind_int64 (read, 1, id);
  code = sqlite3_step (read);
  if (code == SQLITE_ROW) {
    stored.node = sqlite3_column_int64 (read, 0);
    stored.row = (struct chunk_row){ .session = (uint64_t) sqlite3_column_int64 (read, 1),
                                     .first = (uint64_t) sqlite3_column_int64 (read, 2),
                                     .last = (uint64_t) sqlite3_column_int64 (read, 3) };
    if (chunk_unpack_parts (&chunk, sqlite3_column_blob (read, 4), (size_t) sqlite3_column_bytes (read, 4),
                            &(struct chunk_look){ &stored, fold_parts }) < 0)
      store->tiers->counts.broken++;
  }
  sqlite3_reset (read);
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    stored.result = history_store_fail (store, error);
  chunk_free (&before->chunk);
  *before = (struct tier_before){ chunk, stored.node, stored.row.session, stored.row.first, stored.row.last };
  return stored.result;
}
