/* The shares of nodes in the file, and what is deleted when there is too much: see history_store.h.
 *
 * Three rooms: chunks with their schemas, events, jobs. Events and jobs have a tenth of max_size each, and only their
 * own oldest are deleted for them; chunks have the rest. In a room the node that has most loses its own oldest first,
 * so that each keeps an equal share, and a node that needs less leaves the rest to the others.
 *
 * Triggers keep the sizes, in the transaction of each change: so they are right whoever writes the file, also a
 * program from before there were rooms, and cost the same however much there is. That program does not note which
 * schemas its chunks have: `untold` marks its nodes, and every schema in the file counts as used by them until those
 * chunks are deleted. */
#include "aggregator/history/history_rooms.h"

#define ROOM_PART 10 /* one in, of max_size: for events, and for jobs */
#define CUT_CHUNKS 8 /* deleted at once: few, so that no more is deleted than must */
#define CUT_EVENTS 32
#define CUTS 32         /* then the caller checks the time */
#define OVER_SHARE 2    /* times the average of the nodes: over that an event reports it */
#define CHUNK_ROW "200" /* bytes that a row takes beside its data, with its indexes */
#define EVENT_ROW "100"

static const char layout[] =
    "CREATE INDEX IF NOT EXISTS chunks_node ON chunks (node, session, first, last);"
    "CREATE INDEX IF NOT EXISTS chunks_node_time ON chunks (node, first_time);"
    "DROP INDEX IF EXISTS chunks_session;"
    "CREATE INDEX IF NOT EXISTS events_node ON events (node, time);"
    "CREATE TABLE schema_uses (node INTEGER NOT NULL, hash BLOB NOT NULL, last INTEGER NOT NULL,"
    " PRIMARY KEY (node, hash)) WITHOUT ROWID;"
    "CREATE INDEX schema_uses_hash ON schema_uses (hash);"
    "CREATE TABLE uses (room TEXT NOT NULL, owner INTEGER NOT NULL, bytes INTEGER NOT NULL, untold INTEGER NOT NULL,"
    " PRIMARY KEY (room, owner)) WITHOUT ROWID;"
    "INSERT INTO uses SELECT 'chunks', node, sum (length (data) + " CHUNK_ROW "), 1 FROM chunks GROUP BY node;"
    "INSERT INTO uses SELECT 'events', ifnull (node, 0), sum (length (line) + " EVENT_ROW "), 0 FROM events"
    " GROUP BY ifnull (node, 0);"
    "CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN"
    " INSERT INTO uses VALUES ('chunks', new.node, length (new.data) + " CHUNK_ROW ", 1)"
    " ON CONFLICT (room, owner) DO UPDATE SET bytes = bytes + excluded.bytes, untold = 1; END;"
    "CREATE TRIGGER chunk_deleted AFTER DELETE ON chunks BEGIN"
    " UPDATE uses SET bytes = bytes - length (old.data) - " CHUNK_ROW " WHERE room = 'chunks' AND owner = old.node;"
    " DELETE FROM schema_uses WHERE node = old.node AND"
    " last < ifnull ((SELECT min (first_time) FROM chunks WHERE node = old.node), 9223372036854775807);"
    " DELETE FROM uses WHERE room = 'chunks' AND owner = old.node AND bytes <= 0; END;"
    "CREATE TRIGGER schema_used AFTER INSERT ON schema_uses BEGIN"
    " INSERT INTO uses VALUES ('chunks', new.node,"
    " ifnull ((SELECT length (bytes) FROM schemas WHERE hash = new.hash), 0), 0)"
    " ON CONFLICT (room, owner) DO UPDATE SET bytes = bytes + excluded.bytes; END;"
    "CREATE TRIGGER schema_unused AFTER DELETE ON schema_uses BEGIN"
    " UPDATE uses SET bytes = bytes - ifnull ((SELECT length (bytes) FROM schemas WHERE hash = old.hash), 0)"
    " WHERE room = 'chunks' AND owner = old.node;"
    " DELETE FROM schemas WHERE hash = old.hash AND NOT EXISTS (SELECT 1 FROM schema_uses WHERE hash = old.hash); END;"
    "CREATE TRIGGER event_added AFTER INSERT ON events BEGIN"
    " INSERT INTO uses VALUES ('events', ifnull (new.node, 0), length (new.line) + " EVENT_ROW ", 0)"
    " ON CONFLICT (room, owner) DO UPDATE SET bytes = bytes + excluded.bytes; END;"
    "CREATE TRIGGER event_deleted AFTER DELETE ON events BEGIN"
    " UPDATE uses SET bytes = bytes - length (old.line) - " EVENT_ROW
    " WHERE room = 'events' AND owner = ifnull (old.node, 0);"
    " DELETE FROM uses WHERE room = 'events' AND owner = ifnull (old.node, 0) AND bytes <= 0; END;"
    "ALTER TABLE events ADD COLUMN sum INTEGER;";

/* 600 s: HISTORY_SPAN_NS, between the times of a chunk. */
static const char assume_schema_uses[] =
    "INSERT INTO schema_uses SELECT owner, hash, 600000000000 +"
    " (SELECT max (first_time) FROM chunks WHERE node = owner) FROM uses, schemas"
    " WHERE room = 'chunks' AND owner > 0 AND untold AND EXISTS (SELECT 1 FROM chunks WHERE node = owner)"
    " ON CONFLICT (node, hash) DO UPDATE SET last = max (last, excluded.last);"
    "UPDATE uses SET untold = 0 WHERE untold;"
    "DELETE FROM schemas WHERE hash NOT IN (SELECT hash FROM schema_uses);";

static int
make_rooms (struct history_store *store, struct error *error)
{
  int64_t tables;

  if (history_store_select (store, "SELECT count(*) FROM sqlite_master WHERE name = 'uses'", &tables, error) < 0 ||
      (tables == 0 && history_store_execute (store, layout, error) < 0))
    return -1;
  return history_store_execute (store, assume_schema_uses, error);
}

int
history_rooms_open (struct history_store *store, struct error *error)
{
  store->jobs_bytes = store->events_bytes = INT64_MAX;
  if (history_store_begin (store, error) < 0)
    return -1;
  if (make_rooms (store, error) < 0 || history_store_end (store, error) < 0) {
    history_store_undo (store);
    return -1;
  }
  return 0;
}

/* ---- deleting ---- */

/* The owner that has most in a room. */
struct most {
  int64_t owner, bytes, sum; /* sum: of all */
  int64_t nodes, of_nodes;   /* how many nodes there are, and their sum */
};

static int
find_most (struct history_store *store, const char *room, struct most *most, struct error *error)
{
  sqlite3_stmt *statement = store->statements[MOST];
  int code;

  sqlite3_bind_text (statement, 1, room, -1, SQLITE_STATIC);
  code = sqlite3_step (statement);
  *most = (struct most){ .owner = sqlite3_column_int64 (statement, 0),
                         .bytes = sqlite3_column_int64 (statement, 1),
                         .sum = sqlite3_column_int64 (statement, 2),
                         .nodes = sqlite3_column_int64 (statement, 3),
                         .of_nodes = sqlite3_column_int64 (statement, 4) };
  if (code != SQLITE_ROW)
    history_store_fail (store, error);
  sqlite3_reset (statement);
  return code == SQLITE_ROW ? 0 : -1;
}

/* Deletes the oldest rows of an owner; how many, or -1. An owner with bytes and no rows, if somebody changed the
 * file, is dropped. */
static int
cut (struct history_store *store, enum statement which, const char *room, int64_t owner, int64_t rows,
     struct error *error)
{
  sqlite3_stmt *statement = store->statements[which];
  int count;

  if (owner || which != CUT_EVENTS_OF)
    sqlite3_bind_int64 (statement, 1, owner);
  sqlite3_bind_int64 (statement, 2, rows);
  if (history_store_run (store, which, NULL, error) < 0)
    return -1;
  count = sqlite3_changes (store->database);
  if (count)
    return count;
  sqlite3_bind_text (store->statements[FORGET_USE], 1, room, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (store->statements[FORGET_USE], 2, owner);
  return history_store_run (store, FORGET_USE, NULL, error) < 0 ? -1 : 0;
}

/* Returns 1 if there may be more to delete. */
static int
trim_events (struct history_store *store, int64_t room, struct error *error)
{
  struct most most;

  if (store->events_bytes <= room)
    return 0;
  if (find_most (store, "events", &most, error) < 0)
    return -1;
  store->events_bytes = most.sum;
  if (most.sum <= room)
    return 0;
  return cut (store, CUT_EVENTS_OF, "events", most.owner, CUT_EVENTS, error) < 0 ? -1 : 1;
}

/* The size of rows of jobs is estimated as they come, rather too high, and measured when the estimate is over the
 * room. One in eight jobs is deleted at once, so that it is seldom measured. */
static int
trim_jobs (struct history_store *store, int64_t room, struct error *error)
{
  if (store->jobs_bytes <= room)
    return 0;
  if (history_store_select (store, history_jobs_bytes, &store->jobs_bytes, error) < 0)
    return -1;
  if (store->jobs_bytes <= room)
    return 0;
  if (history_store_execute (store, history_jobs_cut, error) < 0)
    return -1;
  return sqlite3_changes (store->database) > 0;
}

static int
report_over_share (struct history_store *store, const struct most *most, int chunks, const struct history_cut *cut,
                   struct error *error)
{
  sqlite3_stmt *statement = store->statements[NAME_OF];
  int code;

  if (!most->owner || most->bytes / OVER_SHARE <= most->of_nodes / most->nodes)
    return 0;
  sqlite3_bind_int64 (statement, 1, most->owner);
  code = sqlite3_step (statement);
  if (code == SQLITE_ROW && cut && sqlite3_column_text (statement, 0))
    cut->over_share (cut->context, (const char *) sqlite3_column_text (statement, 0), (uint64_t) chunks);
  sqlite3_reset (statement);
  return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : history_store_fail (store, error);
}

/* Deletes chunks of the node that has most, again and again, until this many bytes are free. */
static int
trim_chunks (struct history_store *store, int64_t bytes, const struct history_cut *on_cut, struct error *error)
{
  struct most most;
  int64_t before = 0;

  for (int i = 0; i < CUTS; i++) {
    int count;
    if (find_most (store, "chunks", &most, error) < 0)
      return -1;
    before = i == 0 ? most.sum : before;
    if (most.sum == 0 || before - most.sum >= bytes)
      return most.sum != 0;
    count = cut (store, CUT_CHUNKS_OF, "chunks", most.owner, CUT_CHUNKS, error);
    if (count < 0 || (count > 0 && report_over_share (store, &most, count, on_cut, error) < 0))
      return -1;
  }
  return 1;
}

int
history_rooms_trim (struct history_store *store, uint64_t max_size, uint64_t used, const struct history_cut *on_cut,
                    struct error *error)
{
  int64_t room = max_size / ROOM_PART > INT64_MAX ? INT64_MAX : (int64_t) (max_size / ROOM_PART);
  int events = trim_events (store, room, error), jobs = events < 0 ? -1 : trim_jobs (store, room, error);

  if (jobs != 0 || events != 0 || used <= max_size)
    return jobs < 0 ? -1 : events || jobs;
  return trim_chunks (store, (int64_t) (used - max_size), on_cut, error);
}
