/* See tier_blobs.h. */
#include "aggregator/history/tier_blobs.h"

#include <string.h>

#define SMALL (16 << 10) /* bytes that are fetched at once */

static const char *const names[TIER_TABLES] = { "tier_blocks", "tier_parts", "tier_staged" };

static int
fetch_from_handle (void *context, void *to, size_t offset, size_t length)
{
  return length == 0 || sqlite3_blob_read (context, to, (int) length, (int) offset) == SQLITE_OK ? 0 : -1;
}

static sqlite3_blob *
open_row (struct tier_blobs *blobs, sqlite3 *database, enum tier_table table, int64_t row)
{
  sqlite3_blob **handle = &blobs->handles[table];
  int code = *handle ? sqlite3_blob_reopen (*handle, row)
                     : sqlite3_blob_open (database, "main", names[table], "data", row, 0, handle);

  if (code == SQLITE_OK)
    return *handle;
  sqlite3_blob_close (*handle);
  *handle = NULL;
  return NULL;
}

int
tier_blobs_read (struct tier_blobs *blobs, sqlite3 *database, enum tier_table table, int64_t row, uint32_t metric,
                 void *context, void (*series) (void *context, const struct tier_series *series), struct error *error)
{
  sqlite3_blob *handle = open_row (blobs, database, table, row);
  struct tier_source source = { .context = handle, .fetch = fetch_from_handle };

  if (!handle)
    return error_set (error, "it cannot be read: %s", sqlite3_errmsg (database));
  if (!blobs->reader)
    blobs->reader = tier_reader_create ();
  source.length = (size_t) sqlite3_blob_bytes (handle);
  if (source.length > SMALL)
    return tier_reader_read_source (blobs->reader, &source, metric, metric, context, series, error);
  buffer_clear (&blobs->small);
  if (fetch_from_handle (handle, buffer_reserve (&blobs->small, source.length + 1), 0, source.length) < 0)
    return error_set (error, "it cannot be read: %s", sqlite3_errmsg (database));
  return tier_reader_read (blobs->reader, blobs->small.data, source.length, metric, metric, context, series, error);
}

void
tier_blobs_close (struct tier_blobs *blobs)
{
  for (size_t i = 0; i < TIER_TABLES; i++)
    sqlite3_blob_close (blobs->handles[i]);
  tier_reader_destroy (blobs->reader);
  buffer_free (&blobs->small);
  *blobs = (struct tier_blobs){ 0 };
}
