/* The schemas of which there may be frames in agents' rings still: those that this run has put, and the newest that were
 * stored before it. They are held in memory, a few, since the core asks for them and must not wait for the disk. */
#include <sqlite3.h>
#include <string.h>

#include "aggregator/history_private.h"
#include "aggregator/history_store_private.h"

const struct buffer *
history_schema (const struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  for (size_t i = 0; i < HISTORY_SCHEMAS_MAX; i++)
    if (history->schemas_held[i].bytes.length && memcmp (history->schemas_held[i].hash, hash, SCHEMA_HASH_SIZE) == 0)
      return &history->schemas_held[i].bytes;
  return NULL;
}

void
history_hold_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE], const void *bytes, size_t length)
{
  struct history_schema *schema;

  if (history_schema (history, hash))
    return;
  schema = &history->schemas_held[history->schemas_held_count++ % HISTORY_SCHEMAS_MAX];
  memcpy (schema->hash, hash, SCHEMA_HASH_SIZE);
  buffer_free (&schema->bytes);
  buffer_add (&schema->bytes, bytes, length);
}

int
history_load_schemas (struct history *history, struct error *error)
{
  static const char text[] = "SELECT hash, bytes FROM (SELECT rowid AS row, hash, bytes FROM schemas "
                             "WHERE length (hash) = ? ORDER BY rowid DESC LIMIT ?) ORDER BY row";
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (history->store->database, text, -1, &statement, NULL);

  sqlite3_bind_int64 (statement, 1, SCHEMA_HASH_SIZE);
  sqlite3_bind_int64 (statement, 2, HISTORY_SCHEMAS_MAX);
  while ((code == SQLITE_OK || code == SQLITE_ROW) && (code = sqlite3_step (statement)) == SQLITE_ROW)
    history_hold_schema (history, sqlite3_column_blob (statement, 0), sqlite3_column_blob (statement, 1),
                         (size_t) sqlite3_column_bytes (statement, 1));
  if (code != SQLITE_DONE)
    history_store_fail (history->store, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

void
history_free_schemas (struct history *history)
{
  for (size_t i = 0; i < HISTORY_SCHEMAS_MAX; i++)
    buffer_free (&history->schemas_held[i].bytes);
}
