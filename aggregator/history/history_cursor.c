/* See history_cursor.h. */
#include "aggregator/history/history_cursor.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "synop/memory.h"

#define BUSY_MS 5000

struct history_cursor {
  sqlite3 *database;
  sqlite3_stmt *save;
  char *path, *name;
};

static int
fail (const struct history_cursor *cursor, struct error *error)
{
  return error_set (error, "%s: %s", cursor->path, sqlite3_errmsg (cursor->database));
}

/* It is there, or made. */
static int
load (struct history_cursor *cursor, struct history_place *place, struct error *error)
{
  static const char select[] =
      "SELECT chunk, until, time, part, event FROM cursors WHERE name = ?1 UNION ALL "
      "SELECT chunk, chunk, 0, 0, event FROM (SELECT ifnull (max (id), 0) AS chunk FROM chunks),"
      " (SELECT ifnull (max (id), 0) AS event FROM events) LIMIT 1";
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (cursor->database, select, -1, &statement, NULL);

  if (code == SQLITE_OK) {
    sqlite3_bind_text (statement, 1, cursor->name, -1, SQLITE_STATIC);
    code = sqlite3_step (statement);
  }
  if (code == SQLITE_ROW)
    *place = (struct history_place){ sqlite3_column_int64 (statement, 0), sqlite3_column_int64 (statement, 1),
                                     sqlite3_column_int64 (statement, 2), sqlite3_column_int64 (statement, 3),
                                     sqlite3_column_int64 (statement, 4) };
  else
    fail (cursor, error);
  sqlite3_finalize (statement);
  return code == SQLITE_ROW ? history_cursor_save (cursor, place, error) : -1;
}

static int
cursor_open_file (struct history_cursor *cursor, struct error *error)
{
  /* Who writes the history brings its log into the file: it takes long, and waits for the disk. */
  static const char settings[] = "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0";
  static const char save[] =
      "INSERT OR REPLACE INTO cursors (name, chunk, until, time, part, event) VALUES (?, ?, ?, ?, ?, ?)";

  if (sqlite3_open_v2 (cursor->path, &cursor->database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
    return fail (cursor, error);
  sqlite3_busy_timeout (cursor->database, BUSY_MS);
  if (sqlite3_exec (cursor->database, settings, NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_prepare_v3 (cursor->database, save, -1, SQLITE_PREPARE_PERSISTENT, &cursor->save, NULL) != SQLITE_OK)
    return fail (cursor, error);
  return 0;
}

struct history_cursor *
history_cursor_open (const char *path, const char *name, struct history_place *place, struct error *error)
{
  struct history_cursor *cursor = memory_new (1, sizeof *cursor);

  cursor->path = memory_string (path);
  cursor->name = memory_string (name);
  if (cursor_open_file (cursor, error) == 0 && load (cursor, place, error) == 0)
    return cursor;
  history_cursor_close (cursor);
  return NULL;
}

int
history_cursor_save (struct history_cursor *cursor, const struct history_place *place, struct error *error)
{
  const int64_t values[] = { place->chunk, place->until, place->time_ns, place->part, place->event };
  int code;

  sqlite3_bind_text (cursor->save, 1, cursor->name, -1, SQLITE_STATIC);
  for (int i = 0; i < 5; i++)
    sqlite3_bind_int64 (cursor->save, i + 2, values[i]);
  code = sqlite3_step (cursor->save);
  if (code != SQLITE_DONE)
    fail (cursor, error);
  sqlite3_reset (cursor->save);
  return code == SQLITE_DONE ? 0 : -1;
}

void
history_cursor_close (struct history_cursor *cursor)
{
  if (!cursor)
    return;
  sqlite3_finalize (cursor->save);
  sqlite3_close (cursor->database);
  free (cursor->path);
  free (cursor->name);
  free (cursor);
}
