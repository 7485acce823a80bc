/* See history_store.h.
 *
 * SQLite in WAL mode, so that readers and the writer do not wait for each other; synchronous, so that a commit
 * survives a power cut. A lock on a file of its own keeps a second writer out (locks on the database's file itself
 * are SQLite's business). */
#include "aggregator/history/history_store.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "aggregator/history/history_rooms.h"
#include "aggregator/history/history_store_private.h"
#include "aggregator/history/tier_store_private.h"
#include "synop/file.h"
#include "synop/hash.h"
#include "synop/memory.h"

#define BUSY_MS 2000
#define TEXT_(number) #number
#define TEXT(number) TEXT_ (number)
#define RANGES_CHUNKS "4096"                                       /* of a node: far more than its agent's ring holds */
#define OF_JOB " WHERE EXISTS (SELECT 1 FROM jobs WHERE key = ?1)" /* not for a job that was deleted for want of room */

static const char *const texts[STATEMENTS] = {
  [FIND_NODE] = "SELECT id FROM nodes WHERE name = ?",
  [ADD_NODE] = "INSERT INTO nodes (name) VALUES (?)",
  [LAST_BEFORE] = "SELECT last FROM chunks WHERE node = ? AND session = ? AND first <= ? ORDER BY first DESC LIMIT 1",
  [ADD_CHUNK] = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  [ADD_EVENT] = "INSERT INTO events (number, time, node, type, line, sum) VALUES (?, ?, ?, ?, ?, ?)",
  [USE_SCHEMA] = "UPDATE schema_uses SET last = max (last, ?) WHERE node = ? AND hash = ?",
  [ADD_SCHEMA] = "INSERT OR IGNORE INTO schemas (hash, bytes) VALUES (?, ?)",
  [ADD_SCHEMA_USE] = "INSERT INTO schema_uses (last, node, hash) VALUES (?, ?, ?)",
  [USES_KNOWN] = "UPDATE uses SET untold = 0 WHERE room = 'chunks' AND owner = ? AND untold",
  [OLD_CHUNKS] = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE first_time < ?1 AND last_time < ?1"
                 " ORDER BY first_time LIMIT " TEXT (TRIM_CHUNKS) ")",
  [OLD_EVENTS] = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE time < ? ORDER BY time"
                 " LIMIT " TEXT (TRIM_EVENTS) ")",
  [OLD_JOBS] = history_jobs_old,
  [MOST] = "SELECT owner, max (bytes), ifnull (sum (bytes), 0), sum (owner > 0), sum (bytes * (owner > 0)) FROM uses"
           " WHERE room = ?",
  [CUT_CHUNKS_OF] = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE node = ? ORDER BY first_time LIMIT ?)",
  [CUT_EVENTS_OF] = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE node IS ? ORDER BY time LIMIT ?)",
  [FORGET_USE] = "DELETE FROM uses WHERE room = ? AND owner = ?",
  [NAME_OF] = "SELECT name FROM nodes WHERE id = ?",
  [ADD_JOB] = "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  [ADD_JOB_NODE] = "INSERT OR IGNORE INTO job_nodes SELECT ?1, ?2, ?3" OF_JOB,
  [ADD_JOB_END] = "INSERT INTO job_ends SELECT NULL, ?1, ?2, ?3, ?4" OF_JOB,
  [ADD_JOB_MARK] = "INSERT OR REPLACE INTO job_marks SELECT ?1, ?2, ?3" OF_JOB,
  [DROP_JOB_MARK] = "DELETE FROM job_marks WHERE job = ?",
  [ADD_JOB_FACTS] = "INSERT OR REPLACE INTO job_facts SELECT ?1, ?2" OF_JOB,
};

static const char cursors_layout[] =
    "CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, chunk INTEGER NOT NULL, until INTEGER NOT NULL,"
    " time INTEGER NOT NULL, part INTEGER NOT NULL, event INTEGER NOT NULL) WITHOUT ROWID";
/* Chunks are numbered in the order in which they are written, also where the last of them were deleted: a cursor that has
 * passed them must not miss who comes in their place. */
static const char last_chunk[] = "SELECT max (ifnull ((SELECT max (id) FROM chunks), 0),"
                                 " ifnull ((SELECT max (until) FROM cursors), 0))";

static const char layout[] =
    "PRAGMA application_id = 1937337967;"
    "CREATE TABLE nodes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE schemas (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL);"
    "CREATE TABLE events (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, time INTEGER NOT NULL,"
    " node INTEGER REFERENCES nodes, type TEXT NOT NULL, line TEXT NOT NULL);"
    "CREATE INDEX events_time ON events (time);"
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY, node INTEGER NOT NULL, session INTEGER NOT NULL,"
    " first INTEGER NOT NULL, last INTEGER NOT NULL, first_time INTEGER NOT NULL, last_time INTEGER NOT NULL,"
    " first_number INTEGER NOT NULL, last_number INTEGER NOT NULL, data BLOB NOT NULL);"
    "CREATE INDEX chunks_time ON chunks (first_time);"
    "PRAGMA user_version = 1;";

/* ---- errors ---- */

int
history_store_fail (const struct history_store *store, struct error *error)
{
  int code = sqlite3_errcode (store->database), system = sqlite3_system_errno (store->database);
  const char *message = sqlite3_errmsg (store->database), *todo;

  switch (code & 0xff) {
  case SQLITE_FULL:
    todo = "make room on its disk, or lower [history] max_size";
    break;
  case SQLITE_ERROR: /* tables or columns are missing */
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    todo = "look at it with \"synop-aggregator check\" and move it away: a new one is made";
    break;
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
    todo = "let the aggregator write the file and its folder, or set another [history] path";
    break;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    todo = "another program writes it";
    break;
  default:
    todo = "see to its disk, or set another [history] path";
  }
  return error_set (error, "%s: %s%s%s; %s", store->path, message, system ? ": " : "", system ? strerror (system) : "",
                    todo);
}

int
history_store_execute (struct history_store *store, const char *text, struct error *error)
{
  return sqlite3_exec (store->database, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : history_store_fail (store, error);
}

int
history_store_select (struct history_store *store, const char *text, int64_t *number, struct error *error)
{
  sqlite3_stmt *statement = NULL;
  int result = -1;

  if (sqlite3_prepare_v2 (store->database, text, -1, &statement, NULL) != SQLITE_OK ||
      sqlite3_step (statement) != SQLITE_ROW) {
    history_store_fail (store, error);
  } else {
    *number = sqlite3_column_int64 (statement, 0);
    result = 0;
  }
  sqlite3_finalize (statement);
  return result;
}

/* ---- open ---- */

static int
take_lock (struct history_store *store, struct error *error)
{
  char *real = realpath (store->path, NULL); /* the same for a symbolic link */
  char *path = memory_format ("%s-lock", real ? real : store->path);
  int result = 0;

  store->lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (store->lock < 0)
    result =
        error_set (error, "%s: %s; let the aggregator write the file and its folder, or set another [history] path",
                   path, strerror (errno));
  else if (flock (store->lock, LOCK_EX | LOCK_NB) < 0)
    result = error_set (error, "%s: another aggregator writes it; set another [history] path", store->path);
  free (path);
  free (real);
  return result;
}

/* Checks that the file is a history, or makes an empty one into one. */
static int
check_format (struct history_store *store, struct error *error)
{
  int64_t application, format, tables;

  if (history_store_select (store, "PRAGMA application_id", &application, error) < 0 ||
      history_store_select (store, "PRAGMA user_version", &format, error) < 0 ||
      history_store_select (store, "SELECT count(*) FROM sqlite_master", &tables, error) < 0)
    return -1;
  if (tables == 0 && application == 0 && format == 0)
    return history_store_execute (store, "BEGIN IMMEDIATE", error) < 0 ||
                   history_store_execute (store, layout, error) < 0 ||
                   history_store_execute (store, "COMMIT", error) < 0
               ? -1
               : 0;
  if (application != HISTORY_APPLICATION)
    return error_set (error, "%s: it is a database, but no history of synop; set another [history] path", store->path);
  if (format < 1 || format > HISTORY_FORMAT)
    return error_set (error,
                      "%s: it is of format %" PRId64
                      ", this program writes %d; run the newer aggregator, or set another "
                      "[history] path",
                      store->path, format, HISTORY_FORMAT);
  return 0;
}

/* Makes the file with a mode by which not everybody can read it: it has commands of jobs. SQLite makes its other
 * files with the same mode. An existing file is not opened: closing it would release the locks of all who have it
 * open in this process. */
static void
make_file (const char *path)
{
  struct stat status;
  int fd = stat (path, &status) < 0 && errno == ENOENT ? open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640) : -1;

  file_close (&fd);
}

static int
open_database (struct history_store *store, struct error *error)
{
  make_file (store->path);
  if (sqlite3_open_v2 (store->path, &store->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
    return history_store_fail (store, error);
  sqlite3_extended_result_codes (store->database, 1);
  sqlite3_busy_timeout (store->database, BUSY_MS);
  /* Only works in a new file, before anything is written. */
  if (history_store_execute (store, "PRAGMA auto_vacuum = INCREMENTAL", error) < 0 ||
      history_store_execute (store, "PRAGMA journal_mode = WAL", error) < 0 ||
      history_store_execute (
          store, "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216; PRAGMA cell_size_check = ON",
          error) < 0 ||
      check_format (store, error) < 0 || history_store_execute (store, history_jobs_layout, error) < 0 ||
      history_rooms_open (store, error) < 0 || history_store_execute (store, cursors_layout, error) < 0 ||
      history_store_select (store, last_chunk, &store->last_chunk, error) < 0 || tier_store_open (store, error) < 0)
    return -1;
  for (int i = 0; i < STATEMENTS; i++)
    if (sqlite3_prepare_v3 (store->database, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i], NULL) !=
        SQLITE_OK)
      return history_store_fail (store, error);
  return 0;
}

struct history_store *
history_store_open (const char *path, struct error *error)
{
  struct history_store *store = memory_new (1, sizeof *store);

  store->path = memory_string (path);
  store->lock = -1;
  file_folder_make (path, 0750); /* if that fails, the open does too */
  if (take_lock (store, error) == 0 && open_database (store, error) == 0)
    return store;
  history_store_close (store);
  return NULL;
}

void
history_store_close (struct history_store *store)
{
  if (!store)
    return;
  for (int i = 0; i < STATEMENTS; i++)
    sqlite3_finalize (store->statements[i]);
  tier_store_close (store);
  sqlite3_close (store->database);
  file_close (&store->lock);
  free (store->path);
  free (store);
}

/* ---- write ---- */

int
history_store_begin (struct history_store *store, struct error *error)
{
  return history_store_execute (store, "BEGIN IMMEDIATE", error);
}

int
history_store_end (struct history_store *store, struct error *error)
{
  return history_store_execute (store, "COMMIT", error);
}

void
history_store_undo (struct history_store *store)
{
  sqlite3_exec (store->database, "ROLLBACK", NULL, NULL, NULL);
}

int
history_store_run (struct history_store *store, enum statement which, int64_t *number, struct error *error)
{
  sqlite3_stmt *statement = store->statements[which];
  int code = sqlite3_step (statement);

  if (code == SQLITE_ROW && number)
    *number = sqlite3_column_int64 (statement, 0);
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    code = history_store_fail (store, error);
  sqlite3_reset (statement);
  sqlite3_clear_bindings (statement);
  return code;
}

int
history_store_node (struct history_store *store, const char *node, int64_t *id, struct error *error)
{
  int code;

  *id = 0;
  if (!*node)
    return 0;
  sqlite3_bind_text (store->statements[FIND_NODE], 1, node, -1, SQLITE_STATIC);
  code = history_store_run (store, FIND_NODE, id, error);
  if (code == SQLITE_ROW || code < 0)
    return code < 0 ? -1 : 0;
  sqlite3_bind_text (store->statements[ADD_NODE], 1, node, -1, SQLITE_STATIC);
  if (history_store_run (store, ADD_NODE, NULL, error) < 0)
    return -1;
  *id = sqlite3_last_insert_rowid (store->database);
  return 0;
}

/* Is any of these frames stored? Chunks of a session do not overlap, so only the last one that begins at or before
 * `last` matters. */
static int
overlaps (struct history_store *store, int64_t node, uint64_t session, uint64_t first, uint64_t last,
          struct error *error)
{
  const int64_t values[] = { node, (int64_t) session, (int64_t) last };
  int64_t reaches = 0;
  int code;

  for (int i = 0; i < 3; i++)
    sqlite3_bind_int64 (store->statements[LAST_BEFORE], i + 1, values[i]);
  code = history_store_run (store, LAST_BEFORE, &reaches, error);
  return code == SQLITE_ROW && reaches < (int64_t) first ? SQLITE_DONE : code;
}

bool
history_store_has (struct history_store *store, const char *node, uint64_t session, uint64_t sequence)
{
  int64_t id;

  return history_store_node (store, node, &id, NULL) == 0 &&
         overlaps (store, id, session, sequence, sequence, NULL) == SQLITE_ROW;
}

static int
use_by (struct history_store *store, enum statement which, int64_t node, int64_t last_time,
        const uint8_t hash[SCHEMA_HASH_SIZE], struct error *error)
{
  sqlite3_bind_int64 (store->statements[which], 1, last_time);
  sqlite3_bind_int64 (store->statements[which], 2, node);
  sqlite3_bind_blob64 (store->statements[which], 3, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  return history_store_run (store, which, NULL, error) < 0 ? -1 : 0;
}

/* Stores the schema and notes that the node uses it: it is kept as long as a node does. */
static int
use_schema (struct history_store *store, int64_t node, int64_t last_time, const uint8_t hash[SCHEMA_HASH_SIZE],
            const struct buffer *schema, struct error *error)
{
  sqlite3_bind_int64 (store->statements[USES_KNOWN], 1, node);
  if (history_store_run (store, USES_KNOWN, NULL, error) < 0 ||
      use_by (store, USE_SCHEMA, node, last_time, hash, error) < 0)
    return -1;
  if (sqlite3_changes (store->database) > 0)
    return 0;
  sqlite3_bind_blob64 (store->statements[ADD_SCHEMA], 1, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  sqlite3_bind_blob64 (store->statements[ADD_SCHEMA], 2, schema->data, schema->length, SQLITE_STATIC);
  return history_store_run (store, ADD_SCHEMA, NULL, error) < 0
             ? -1
             : use_by (store, ADD_SCHEMA_USE, node, last_time, hash, error);
}

int
history_store_chunk (struct history_store *store, const struct chunk_row *row,
                     const uint8_t schema_hash[SCHEMA_HASH_SIZE], const struct buffer *schema,
                     const struct buffer *packed, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_CHUNK];
  int64_t node;
  int found;

  if (history_store_node (store, row->node, &node, error) < 0)
    return -1;
  if (node && (found = overlaps (store, node, row->session, row->first, row->last, error)) != SQLITE_DONE)
    return found == SQLITE_ROW ? 1 : -1;
  const int64_t values[] = {
    store->last_chunk + 1, node,           (int64_t) row->session, (int64_t) row->first, (int64_t) row->last,
    row->first_time,       row->last_time, row->first_number,      row->last_number
  };
  for (int i = 0; i < 9; i++)
    sqlite3_bind_int64 (statement, i + 1, values[i]);
  sqlite3_bind_blob64 (statement, 10, packed->data, packed->length, SQLITE_STATIC);
  if (history_store_run (store, ADD_CHUNK, NULL, error) < 0)
    return -1;
  store->last_chunk++;
  return schema ? use_schema (store, node, row->last_time, schema_hash, schema, error) : 0;
}

int64_t
history_store_last_chunk (const struct history_store *store)
{
  return store->last_chunk;
}

int64_t
history_event_sum (int64_t number, int64_t time_ns, const char *node, const char *type, const char *line, size_t length)
{
  const uint64_t numbers[] = { htole64 ((uint64_t) number), htole64 ((uint64_t) time_ns) };
  uint64_t hash = hash_add (HASH_START, numbers, sizeof numbers);

  hash = hash_add (hash, node ? node : "", node ? strlen (node) + 1 : 1);
  hash = hash_add (hash, type, strlen (type) + 1);
  return (int64_t) hash_add (hash_add (hash, line, length), "", 1);
}

int
history_store_event (struct history_store *store, int64_t number, int64_t time_ns, const char *node, const char *type,
                     const char *line, size_t length, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_EVENT];
  int64_t id = 0;

  if (node && history_store_node (store, node, &id, error) < 0)
    return -1;
  sqlite3_bind_int64 (statement, 1, number);
  sqlite3_bind_int64 (statement, 2, time_ns);
  if (node)
    sqlite3_bind_int64 (statement, 3, id);
  sqlite3_bind_text (statement, 4, type, -1, SQLITE_STATIC);
  sqlite3_bind_text (statement, 5, line, (int) length, SQLITE_STATIC);
  sqlite3_bind_int64 (statement, 6, history_event_sum (number, time_ns, node, type, line, length));
  store->events_bytes = INT64_MAX;
  return history_store_run (store, ADD_EVENT, NULL, error) < 0 ? -1 : 0;
}

/* ---- what is stored ---- */

int64_t
history_store_number (struct history_store *store)
{
  int64_t events = 0, chunks = 0;

  history_store_select (store,
                        "SELECT ifnull (max (number), 0) FROM (SELECT number FROM events ORDER BY id DESC LIMIT 1000)",
                        &events, NULL);
  history_store_select (
      store, "SELECT ifnull (max (last_number), 0) FROM (SELECT last_number FROM chunks ORDER BY id DESC LIMIT 10000)",
      &chunks, NULL);
  return events > chunks ? events : chunks;
}

int
history_store_ranges (struct history_store *store, int64_t since_ns, void *context,
                      void (*range) (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last),
                      struct error *error)
{
  static const char text[] =
      "SELECT name, session, first, last FROM nodes CROSS JOIN chunks ON chunks.id IN (SELECT id FROM chunks "
      "WHERE node = nodes.id AND first_time >= ? ORDER BY first_time DESC LIMIT " RANGES_CHUNKS ") "
      "ORDER BY name, session, first";
  struct chunk_row row = { 0 };
  char *node = NULL;
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (store->database, text, -1, &statement, NULL);

  sqlite3_bind_int64 (statement, 1, since_ns);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step (statement);
    if (code != SQLITE_ROW)
      break;
    const char *name = (const char *) sqlite3_column_text (statement, 0);
    uint64_t session = (uint64_t) sqlite3_column_int64 (statement, 1);
    uint64_t first = (uint64_t) sqlite3_column_int64 (statement, 2);
    if (!node || row.session != session || first != row.last + 1 || strcmp (node, name) != 0) {
      if (node)
        range (context, node, row.session, row.first, row.last);
      free (node);
      node = memory_string (name);
      row.session = session;
      row.first = first;
    }
    row.last = (uint64_t) sqlite3_column_int64 (statement, 3);
  }
  if (node)
    range (context, node, row.session, row.first, row.last);
  free (node);
  if (code != SQLITE_DONE)
    history_store_fail (store, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}
