/* See history_file.h. */
#include "aggregator/history/history_file.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "synop/array.h"
#include "synop/file.h"
#include "synop/frame.h"
#include "synop/hash_table.h"
#include "synop/log.h"
#include "synop/memory.h"

#define BUSY_MS 5000

struct held_schema {
  struct held_schema *next;
  struct schema *schema;
};

struct held_name {
  UT_hash_handle hh;
  int64_t id;
  char name[FRAME_NODE_MAX + 1];
};

struct history_file {
  sqlite3 *database;
  char *path;
  struct held_schema *schemas;
  struct held_name *names;
};

const char *
history_file_path (const struct history_file *file)
{
  return file->path;
}

int
history_file_fail (const struct history_file *file, struct error *error)
{
  int code = sqlite3_errcode (file->database) & 0xff;
  int system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR ? sqlite3_system_errno (file->database) : 0;

  return error_set (error, "%s: %s%s%s", file->path, sqlite3_errmsg (file->database), system ? ": " : "",
                    system ? strerror (system) : "");
}

sqlite3_stmt *
history_file_prepare (struct history_file *file, const char *text, struct error *error)
{
  sqlite3_stmt *statement = NULL;

  if (sqlite3_prepare_v2 (file->database, text, -1, &statement, NULL) != SQLITE_OK)
    history_file_fail (file, error);
  return statement;
}

int
history_file_number (struct history_file *file, const char *select, int64_t *number, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, select, error);
  int result = statement ? 0 : -1;

  if (statement && sqlite3_step (statement) == SQLITE_ROW)
    *number = sqlite3_column_int64 (statement, 0);
  else if (statement)
    result = history_file_fail (file, error);
  sqlite3_finalize (statement);
  return result;
}

int
history_file_integrity (struct history_file *file, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, "PRAGMA integrity_check (1)", error);
  int result = -1;

  if (!statement)
    return -1;
  if (sqlite3_step (statement) != SQLITE_ROW)
    history_file_fail (file, error);
  else if (strcmp ((const char *) sqlite3_column_text (statement, 0), "ok") != 0)
    error_set (error, "%s: %s", file->path, sqlite3_column_text (statement, 0));
  else
    result = 0;
  sqlite3_finalize (statement);
  return result;
}

/* ---- open ---- */

/* A reader without write access to the folder cannot open the log of SQLite unless a writer has it open. Without a
 * log nobody writes, and the file can be read as it is. */
static int
open_unchanging (struct history_file *file)
{
  char *wal = memory_format ("%s-wal", file->path), *uri = memory_new (3 * strlen (file->path) + 32, 1), *to;
  struct stat status;
  int code = SQLITE_CANTOPEN;

  to = uri + strlen (strcpy (uri, "file:"));
  for (const char *at = file->path; *at; at++) {
    static const char hex[] = "0123456789abcdef";
    if (strchr ("?#%", *at)) {
      *to++ = '%';
      *to++ = hex[(uint8_t) *at >> 4];
      *to++ = hex[*at & 15];
    } else {
      *to++ = *at;
    }
  }
  strcpy (to, "?immutable=1");
  if (stat (wal, &status) < 0 || status.st_size == 0) {
    sqlite3_close (file->database);
    code = sqlite3_open_v2 (uri, &file->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
  }
  free (wal);
  free (uri);
  return code;
}

static int
check_format (struct history_file *file, struct error *error)
{
  int64_t application, format;

  if (history_file_number (file, "PRAGMA application_id", &application, error) < 0) {
    int code = sqlite3_errcode (file->database) & 0xff; /* the disk is read-only, or the folder somebody else's */
    if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || open_unchanging (file) != SQLITE_OK ||
        history_file_number (file, "PRAGMA application_id", &application, error) < 0)
      return -1;
  }
  if (history_file_number (file, "PRAGMA user_version", &format, error) < 0)
    return -1;
  if (application != HISTORY_APPLICATION)
    return error_set (error, "%s: this is no history of synop", file->path);
  if (format < 1 || format > HISTORY_FORMAT)
    return error_set (error, "%s: it is of format %" PRId64 ", this program reads %d; use the program that wrote it",
                      file->path, format, HISTORY_FORMAT);
  return 0;
}

struct history_file *
history_file_open (const char *path, struct error *error)
{
  struct history_file *file = memory_new (1, sizeof *file);
  struct stat status;

  file->path = memory_string (path);
  if (stat (path, &status) == 0 && !S_ISREG (status.st_mode)) { /* SQLite would wait for ever at a FIFO */
    error_set (error, "%s: %s", path, file_error_text (S_ISDIR (status.st_mode) ? EISDIR : FILE_IRREGULAR));
  } else if (sqlite3_open_v2 (path, &file->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
    history_file_fail (file, error);
  } else {
    sqlite3_busy_timeout (file->database, BUSY_MS);
    if (check_format (file, error) == 0)
      return file;
  }
  history_file_close (file);
  return NULL;
}

void
history_file_close (struct history_file *file)
{
  struct held_name *name, *next;

  if (!file)
    return;
  while (file->schemas) {
    struct held_schema *held = file->schemas;
    file->schemas = held->next;
    schema_destroy (held->schema);
    free (held);
  }
  HASH_ITER (hh, file->names, name, next)
  {
    HASH_DEL (file->names, name);
    free (name);
  }
  sqlite3_close (file->database);
  free (file->path);
  free (file);
}

/* ---- chunks ---- */

static const char *
node_name (struct history_file *file, int64_t id, const char *name)
{
  struct held_name *held;

  HASH_FIND (hh, file->names, &id, sizeof id, held);
  if (!held) {
    held = memory_new (1, sizeof *held);
    held->id = id;
    strncpy (held->name, name ? name : "", FRAME_NODE_MAX);
    HASH_ADD (hh, file->names, id, sizeof held->id, held);
  }
  return held->name;
}

#define COLUMNS                                                                                                        \
  "SELECT chunks.id, node, name, session, first, last, first_time, last_time, first_number, last_number "              \
  "FROM chunks LEFT JOIN nodes ON nodes.id = node "

static struct chunk_row
row_of (struct history_file *file, sqlite3_stmt *statement)
{
  return (struct chunk_row){ .id = sqlite3_column_int64 (statement, 0),
                             .node = node_name (file, sqlite3_column_int64 (statement, 1),
                                                (const char *) sqlite3_column_text (statement, 2)),
                             .session = (uint64_t) sqlite3_column_int64 (statement, 3),
                             .first = (uint64_t) sqlite3_column_int64 (statement, 4),
                             .last = (uint64_t) sqlite3_column_int64 (statement, 5),
                             .first_time = sqlite3_column_int64 (statement, 6),
                             .last_time = sqlite3_column_int64 (statement, 7),
                             .first_number = sqlite3_column_int64 (statement, 8),
                             .last_number = sqlite3_column_int64 (statement, 9) };
}

static int
take_more_rows (struct history_file *file, sqlite3_stmt *statement, struct chunk_list *list, struct error *error)
{
  int code;

  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    *array_add (list->rows, list->count, list->capacity) = row_of (file, statement);
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  return code == SQLITE_DONE ? 0 : -1;
}

static int
take_rows (struct history_file *file, sqlite3_stmt *statement, struct chunk_list *list, struct error *error)
{
  int result = take_more_rows (file, statement, list, error);

  sqlite3_finalize (statement);
  return result;
}

/* The times of a query may be anything: the difference must not overflow. */
static int64_t
earlier (int64_t time_ns, int64_t by_ns)
{
  return time_ns < INT64_MIN + by_ns ? INT64_MIN : time_ns - by_ns;
}

static void
bind_times (sqlite3_stmt *statement, int64_t from_ns, int64_t to_ns)
{
  sqlite3_bind_int64 (statement, 1, earlier (from_ns, HISTORY_SPAN_NS));
  sqlite3_bind_int64 (statement, 2, to_ns);
  sqlite3_bind_int64 (statement, 3, from_ns);
}

int
history_file_chunks (struct history_file *file, int64_t from_ns, int64_t to_ns, struct chunk_list *list,
                     struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file,
                                                  COLUMNS "WHERE first_time >= ? AND first_time < ? AND last_time >= ? "
                                                          "ORDER BY first_number",
                                                  error);

  if (!statement)
    return -1;
  bind_times (statement, from_ns, to_ns);
  return take_rows (file, statement, list, error);
}

int
history_file_node_chunks (struct history_file *file, const char *node, int64_t from_ns, int64_t to_ns,
                          struct chunk_list *list, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file,
                                                  COLUMNS "WHERE first_time >= ? AND first_time < ? AND last_time >= ? "
                                                          "AND node = (SELECT id FROM nodes WHERE name = ?)",
                                                  error);

  if (!statement)
    return -1;
  bind_times (statement, from_ns, to_ns);
  sqlite3_bind_text (statement, 4, node, -1, SQLITE_STATIC);
  return take_rows (file, statement, list, error);
}

/* Few of many nodes are asked for one by one: all that there is of the others would be looked at, too. */
#define FEW_OF 8

struct node_ids {
  int64_t *ids;
  size_t count, capacity;
};

/* False: they are not few, or cannot be read. */
static bool
few_nodes (struct history_file *file, const struct globs *nodes, struct node_ids *few)
{
  sqlite3_stmt *statement =
      nodes && nodes->count ? history_file_prepare (file, "SELECT id, name FROM nodes WHERE id > 0", NULL) : NULL;
  size_t all = 0;

  while (statement && sqlite3_step (statement) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 1);
    all++;
    if (name && globs_match (nodes, name))
      *array_add (few->ids, few->count, few->capacity) = sqlite3_column_int64 (statement, 0);
  }
  sqlite3_finalize (statement);
  return few->count * FEW_OF < all;
}

int
history_file_chunks_of_nodes (struct history_file *file, const struct globs *nodes, bool unfolded, int64_t from_ns,
                              int64_t to_ns, struct chunk_list *list, struct error *error)
{
  static const char *const where[2][2] = {
    { COLUMNS "WHERE first_time >= ? AND first_time < ? AND last_time >= ?",
      COLUMNS "WHERE chunks.id IN (SELECT chunk FROM unfolded WHERE time >= ? AND time < ?) AND last_time >= ?" },
    { COLUMNS "WHERE node = ?4 AND first_time >= ?1 AND first_time < ?2 AND last_time >= ?3",
      COLUMNS "WHERE node = ?4 AND first_time >= max (?1, (SELECT min (time) FROM unfolded)) AND first_time < ?2 AND "
              "last_time >= ?3 AND EXISTS (SELECT 1 FROM unfolded WHERE chunk = chunks.id)" }
  };
  struct node_ids few = { 0 };
  bool each = few_nodes (file, nodes, &few);
  sqlite3_stmt *statement = history_file_prepare (file, where[each][unfolded], error);
  int result = statement ? 0 : -1;

  if (statement)
    bind_times (statement, from_ns, to_ns);
  for (size_t i = 0; i < (each ? few.count : 1) && result == 0; i++) {
    if (each)
      sqlite3_bind_int64 (statement, 4, few.ids[i]);
    result = take_more_rows (file, statement, list, error);
    sqlite3_reset (statement);
  }
  sqlite3_finalize (statement);
  free (few.ids);
  return result;
}

int
history_file_all_chunks (struct history_file *file, struct chunk_list *list, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, COLUMNS "ORDER BY name, session < 0, session, first", error);

  return statement ? take_rows (file, statement, list, error) : -1;
}

int
history_file_chunks_after (struct history_file *file, int64_t id, size_t most, struct chunk_list *list,
                           struct error *error)
{
  sqlite3_stmt *statement =
      history_file_prepare (file, COLUMNS "WHERE chunks.id > ? ORDER BY chunks.id LIMIT ?", error);

  if (!statement)
    return -1;
  sqlite3_bind_int64 (statement, 1, id);
  sqlite3_bind_int64 (statement, 2, (int64_t) most);
  return take_rows (file, statement, list, error);
}

int
history_file_chunks_of (struct history_file *file, const char *node, uint64_t session, int64_t id, size_t most,
                        struct chunk_list *list, struct error *error)
{
  static const char first[] = COLUMNS "WHERE node = (SELECT id FROM nodes WHERE name = ?1) AND session = ?2"
                                      " AND chunks.id <= ?3 ORDER BY first LIMIT ?4",
                    last[] = "SELECT * FROM (" COLUMNS "WHERE node = (SELECT id FROM nodes WHERE name = ?1) AND ?2 = 0"
                             " AND chunks.id <= ?3 ORDER BY first_time DESC LIMIT ?4) ORDER BY first_time";
  sqlite3_stmt *statement = history_file_prepare (file, session ? first : last, error);

  if (!statement)
    return -1;
  sqlite3_bind_text (statement, 1, node, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (statement, 2, (int64_t) session);
  sqlite3_bind_int64 (statement, 3, id);
  sqlite3_bind_int64 (statement, 4, (int64_t) most);
  return take_rows (file, statement, list, error);
}

/* The last chunk that begins there or before: chunks of a session do not overlap. */
int
history_file_find (struct history_file *file, const char *node, uint64_t session, uint64_t sequence,
                   struct chunk_row *row, struct error *error)
{
  sqlite3_stmt *statement =
      history_file_prepare (file,
                            COLUMNS "WHERE node = (SELECT id FROM nodes WHERE name = ?) AND session = ? AND first <= ? "
                                    "ORDER BY first DESC LIMIT 1",
                            error);
  int code;

  if (!statement)
    return -1;
  sqlite3_bind_text (statement, 1, node, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (statement, 2, (int64_t) session);
  sqlite3_bind_int64 (statement, 3, (int64_t) sequence);
  code = sqlite3_step (statement);
  if (code == SQLITE_ROW)
    *row = row_of (file, statement);
  else if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  if (code == SQLITE_ROW)
    return sequence <= row->last;
  return code == SQLITE_DONE ? 0 : -1;
}

int
history_file_read (struct history_file *file, int64_t id, struct chunk *chunk, size_t *bytes, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, "SELECT data FROM chunks WHERE id = ?", error);
  int code, result = -1;

  if (!statement)
    return -1;
  sqlite3_bind_int64 (statement, 1, id);
  code = sqlite3_step (statement);
  chunk_clear (chunk);
  if (code == SQLITE_DONE) {
    result = 1;
  } else if (code == SQLITE_ROW) {
    size_t length = (size_t) sqlite3_column_bytes (statement, 0);
    const void *data = sqlite3_column_blob (statement, 0);
    if (bytes)
      *bytes = length;
    result = data ? chunk_unpack (chunk, data, length, error) : error_set (error, "the chunk is empty");
    if (result < 0)
      error_prefix (error, "%s: chunk %" PRId64 ": ", file->path, id);
  } else {
    history_file_fail (file, error);
  }
  sqlite3_finalize (statement);
  return result;
}

/* ---- schemas ---- */

static struct schema *
load_schema (struct history_file *file, const uint8_t hash[SCHEMA_HASH_SIZE], struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, "SELECT bytes FROM schemas WHERE hash = ?", error);
  struct schema *schema = NULL;

  if (!statement)
    return NULL;
  sqlite3_bind_blob (statement, 1, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  if (sqlite3_step (statement) == SQLITE_ROW) {
    schema = schema_read (sqlite3_column_blob (statement, 0), (size_t) sqlite3_column_bytes (statement, 0), error);
    if (schema && memcmp (schema->hash, hash, SCHEMA_HASH_SIZE) != 0) {
      schema_destroy (schema);
      schema = NULL;
      error_set (error, "%s: a schema is broken", file->path);
    }
  } else {
    error_set (error, "%s: a schema is missing", file->path);
  }
  sqlite3_finalize (statement);
  return schema;
}

void
history_file_log_broken (const struct chunk_row *row, const char *why)
{
  log_warning ("chunk %" PRId64 " (%s, from %" PRIu64 " to %" PRIu64 ") is left out: %s", row->id, row->node,
               row->first, row->last, why);
}

const struct schema *
history_file_schema (struct history_file *file, const uint8_t hash[SCHEMA_HASH_SIZE], struct error *error)
{
  struct held_schema *held = file->schemas;
  struct schema *schema;

  while (held && memcmp (held->schema->hash, hash, SCHEMA_HASH_SIZE) != 0)
    held = held->next;
  if (held)
    return held->schema;
  schema = load_schema (file, hash, error);
  if (!schema)
    return NULL;
  held = memory_new (1, sizeof *held);
  held->schema = schema;
  held->next = file->schemas;
  file->schemas = held;
  return schema;
}
