/* Folds chunks that were stored without (tier_store.h): by an older version, or since a frame that they are compared with was
 * not at hand. The oldest first, one at a time. */
#include <string.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/frame.h"
#include "synop/log.h"
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

struct catching {
  struct history_store *store;
  int64_t node;
  struct chunk_row row;
  const struct chunk *chunk;
  const struct schema *schema;
  struct tier_folded folded;
  uint64_t before_first, before_last;
};

/* A frame from the chunk before, mostly. */
static bool
find_base (void *context, uint64_t sequence, const void **bytes, size_t *length)
{
  struct catching *catching = context;
  struct tier_store *tiers = catching->store->tiers;
  sqlite3_stmt *statement = tiers->statements[TIER_CHUNK_WITH];
  bool found = false;

  if (catching->before_last == 0 || sequence < catching->before_first || sequence > catching->before_last) {
    const int64_t numbers[] = { catching->node, (int64_t) catching->row.session, (int64_t) sequence };
    catching->before_last = 0;
    for (int i = 0; i < 3; i++)
      sqlite3_bind_int64 (statement, i + 1, numbers[i]);
    if (sqlite3_step (statement) == SQLITE_ROW && sqlite3_column_int64 (statement, 2) >= (int64_t) sequence) {
      chunk_clear (&tiers->before);
      if (chunk_unpack (&tiers->before, sqlite3_column_blob (statement, 3),
                        (size_t) sqlite3_column_bytes (statement, 3), NULL) == 0) {
        catching->before_first = (uint64_t) sqlite3_column_int64 (statement, 1);
        catching->before_last = (uint64_t) sqlite3_column_int64 (statement, 2);
      }
    }
    sqlite3_reset (statement);
  }
  if (catching->before_last) {
    size_t index = 2 * (size_t) (sequence - catching->before_first) + 1;
    found = index < tiers->before.count;
    if (found)
      *bytes = chunk_message (&tiers->before, index, length);
  }
  return found;
}

static void
fold_parts (void *context, const struct chunk_parts *parts)
{
  struct catching *catching = context;

  tier_fold (catching->chunk, parts, &catching->row, catching->schema, &(struct tier_bases){ catching, find_base },
             catching->store->tiers->writer, &catching->folded);
}

/* Folds one; what is broken has nothing in it. */
static int
fold_chunk (struct catching *catching, const struct chunk *chunk, void *context, tier_folded_fn *take,
            struct error *error)
{
  struct frame_header header;
  struct tier_list list;
  size_t length;
  const void *bytes;

  if (chunk->count < 2 || chunk->count % 2)
    return 0;
  bytes = chunk_message (chunk, 1, &length);
  if (frame_read_header (bytes, length, &header, NULL) < 0 ||
      !(catching->schema = find_schema (catching->store, header.schema)))
    return 0;
  catching->chunk = chunk;
  chunk_split (chunk, NULL, &(struct chunk_look){ catching, fold_parts });
  list = tier_schema_list (catching->schema);
  return take (context, &list, catching->node, &catching->folded, error);
}

int
tier_fold_stored (struct history_store *store, int64_t id, void *context, tier_folded_fn *take, struct error *error)
{
  struct tier_store *tiers = store->tiers;
  sqlite3_stmt *read = tiers->statements[TIER_CHUNK];
  struct catching catching = { .store = store };
  struct chunk chunk = { 0 };
  int code, result = 0;

  sqlite3_bind_int64 (read, 1, id);
  code = sqlite3_step (read);
  if (code == SQLITE_ROW) {
    catching.node = sqlite3_column_int64 (read, 0);
    catching.row = (struct chunk_row){ .session = (uint64_t) sqlite3_column_int64 (read, 1),
                                       .first = (uint64_t) sqlite3_column_int64 (read, 2),
                                       .last = (uint64_t) sqlite3_column_int64 (read, 3) };
    if (chunk_unpack (&chunk, sqlite3_column_blob (read, 4), (size_t) sqlite3_column_bytes (read, 4), NULL) < 0) {
      tiers->counts.broken++;
      chunk_clear (&chunk);
    }
  }
  sqlite3_reset (read);
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    result = history_store_fail (store, error);
  if (result == 0)
    result = fold_chunk (&catching, &chunk, context, take, error);
  tier_folded_free (&catching.folded);
  chunk_free (&chunk);
  return result;
}

struct staging {
  struct history_store *store;
  int64_t chunk;
};

static int
stage (void *context, const struct tier_list *metrics, int64_t node, const struct tier_folded *folded,
       struct error *error)
{
  const struct staging *staging = context;

  return tier_stage_at (staging->store, node, staging->chunk, metrics, folded, error);
}

int
tier_catch_up (struct history_store *store, struct error *error)
{
  sqlite3_stmt *next = store->tiers->statements[TIER_NEXT_UNFOLDED];
  int code = sqlite3_step (next);
  struct staging staging = { store, sqlite3_column_int64 (next, 0) };

  sqlite3_reset (next);
  if (code != SQLITE_ROW)
    return code == SQLITE_DONE ? 0 : history_store_fail (store, error);
  if (tier_fold_stored (store, staging.chunk, &staging, stage, error) < 0)
    return -1;
  return tier_drop_row (store, TIER_FOLDED, staging.chunk, error) < 0 ? -1 : 1;
}
