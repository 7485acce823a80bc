/* Schemas in memory: those of frames that wait to be written, those that this run has put, and the newest stored
 * ones, since agents' rings may hold frames of them. The core needs them without waiting for the disk. Beyond a few,
 * only those that waiting frames need are kept. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_private.h"
#include "aggregator/history/history_store_private.h"
#include "synop/memory.h"

/* Moves the schema to the front of the list, so that most searches are short. */
static struct history_schema *
find_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct history_schema **place = &history->schemas, *schema;

  while (*place && memcmp ((*place)->hash, hash, SCHEMA_HASH_SIZE) != 0)
    place = &(*place)->next;
  schema = *place;
  if (schema && place != &history->schemas) {
    *place = schema->next;
    schema->next = history->schemas;
    history->schemas = schema;
  }
  return schema;
}

const struct buffer *
history_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  const struct history_schema *schema = find_schema (history, hash);

  return schema ? &schema->bytes : NULL;
}

/* Drops the schema whose last use is longest ago and that no waiting frame needs; false: there is none. */
static bool
drop_schema (struct history *history)
{
  struct history_schema **last = NULL, *schema;

  pthread_mutex_lock (&history->mutex);
  for (struct history_schema **place = &history->schemas; *place; place = &(*place)->next)
    if ((*place)->users == 0)
      last = place;
  pthread_mutex_unlock (&history->mutex);
  if (!last)
    return false;
  schema = *last;
  *last = schema->next;
  history->schema_count--;
  buffer_free (&schema->bytes);
  free (schema);
  return true;
}

struct history_schema *
history_hold_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE], const void *bytes, size_t length)
{
  struct history_schema *schema = find_schema (history, hash);

  if (schema)
    return schema;
  while (history->schema_count >= HISTORY_SCHEMAS_MAX && drop_schema (history))
    ;
  schema = memory_new (1, sizeof *schema);
  memcpy (schema->hash, hash, SCHEMA_HASH_SIZE);
  buffer_add (&schema->bytes, bytes, length);
  schema->next = history->schemas;
  history->schemas = schema;
  history->schema_count++;
  return schema;
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
  while (history->schemas) {
    struct history_schema *schema = history->schemas;
    history->schemas = schema->next;
    buffer_free (&schema->bytes);
    free (schema);
  }
}
