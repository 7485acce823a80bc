/* Writes jobs into the history: job_store.h describes the tables. Opening an older history for writing adds them. */
#include <math.h>

#include "aggregator/history/history_store_private.h"
#include "aggregator/views/job_row.h"

#include <string.h>

/* Replacing a row of `jobs` keeps its rows in other tables: SQLite's triggers do not fire for that. */
const char history_jobs_layout[] =
    "CREATE TABLE IF NOT EXISTS jobs (key INTEGER PRIMARY KEY, label TEXT NOT NULL, scheduler TEXT NOT NULL,"
    " user TEXT NOT NULL, name TEXT NOT NULL, command TEXT NOT NULL, array TEXT NOT NULL, cpus REAL,"
    " started INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS jobs_label ON jobs (label);"
    "CREATE INDEX IF NOT EXISTS jobs_array ON jobs (array) WHERE array != '';"
    "CREATE TABLE IF NOT EXISTS job_nodes (job INTEGER NOT NULL, node INTEGER NOT NULL, first INTEGER NOT NULL,"
    " PRIMARY KEY (job, node)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS job_ends (id INTEGER PRIMARY KEY, job INTEGER NOT NULL, time INTEGER NOT NULL,"
    " reason TEXT NOT NULL, summary TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS job_ends_job ON job_ends (job);"
    "CREATE INDEX IF NOT EXISTS job_ends_time ON job_ends (time);"
    "CREATE TABLE IF NOT EXISTS job_marks (job INTEGER PRIMARY KEY, seen INTEGER NOT NULL, state TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS job_facts (job INTEGER PRIMARY KEY, facts TEXT NOT NULL);"
    "CREATE TRIGGER IF NOT EXISTS job_facts_deleted AFTER DELETE ON jobs BEGIN"
    " DELETE FROM job_facts WHERE job = old.key; END;"
    "CREATE TRIGGER IF NOT EXISTS jobs_deleted AFTER DELETE ON jobs BEGIN"
    " DELETE FROM job_nodes WHERE job = old.key; DELETE FROM job_marks WHERE job = old.key;"
    " DELETE FROM job_ends WHERE job = old.key; END;";

const char history_jobs_old[] =
    "DELETE FROM jobs WHERE key IN (SELECT job FROM job_ends AS one WHERE time < ? AND time > 0"
    " AND id = (SELECT max (id) FROM job_ends WHERE job = one.job) ORDER BY time LIMIT 256)";

/* Beside the texts, each row and its indexes count as a few tens of bytes. */
const char history_jobs_bytes[] =
    "SELECT (SELECT ifnull (sum (length (label) + length (scheduler) + length (user) + length (name) + length (command)"
    " + length (array) + 100), 0) FROM jobs) + (SELECT 40 * count (*) FROM job_nodes)"
    " + (SELECT ifnull (sum (length (reason) + length (summary) + 80), 0) FROM job_ends)"
    " + (SELECT ifnull (sum (length (state) + 40), 0) FROM job_marks)"
    " + (SELECT ifnull (sum (length (facts) + 20), 0) FROM job_facts)";

/* Deletes one job in eight: of nodes with most jobs first, the oldest ended ones; running ones last. */
const char history_jobs_cut[] =
    "DELETE FROM jobs WHERE key IN (SELECT key FROM (SELECT key, time, row_number () OVER"
    " (PARTITION BY node ORDER BY time > 0, time DESC, key DESC) AS place FROM (SELECT key,"
    " (SELECT node FROM job_nodes WHERE job = key ORDER BY first LIMIT 1) AS node,"
    " ifnull ((SELECT time FROM job_ends WHERE job = key ORDER BY id DESC LIMIT 1), 0) AS time FROM jobs))"
    " ORDER BY place DESC, time LIMIT (SELECT count (*) / 8 + 1 FROM jobs))";

static void
bind_text (sqlite3_stmt *statement, int at, const char *text)
{
  sqlite3_bind_text (statement, at, text ? text : "", -1, SQLITE_STATIC);
}

static int
write_job (struct history_store *store, const struct job_row *row, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_JOB];

  sqlite3_bind_int64 (statement, 1, row->key);
  for (int i = 0; i < JOB_ROW_TEXTS; i++)
    bind_text (statement, 2 + i, row->texts[i]);
  if (!isnan (row->cpus))
    sqlite3_bind_double (statement, 2 + JOB_ROW_TEXTS, row->cpus);
  sqlite3_bind_int64 (statement, 3 + JOB_ROW_TEXTS, row->time_ns);
  return history_store_run (store, ADD_JOB, NULL, error);
}

static int
history_job_node (struct history_store *store, const struct job_row *row, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_JOB_NODE];
  int64_t node;

  if (history_store_node (store, row->texts[0] ? row->texts[0] : "", &node, error) < 0)
    return -1;
  sqlite3_bind_int64 (statement, 1, row->key);
  sqlite3_bind_int64 (statement, 2, node);
  sqlite3_bind_int64 (statement, 3, row->time_ns);
  return history_store_run (store, ADD_JOB_NODE, NULL, error);
}

/* An ended job needs no mark for a restart. */
static int
write_end (struct history_store *store, const struct job_row *row, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_JOB_END];

  sqlite3_bind_int64 (store->statements[DROP_JOB_MARK], 1, row->key);
  if (history_store_run (store, DROP_JOB_MARK, NULL, error) < 0)
    return -1;
  sqlite3_bind_int64 (statement, 1, row->key);
  sqlite3_bind_int64 (statement, 2, row->time_ns);
  bind_text (statement, 3, row->texts[0]);
  bind_text (statement, 4, row->texts[1]);
  return history_store_run (store, ADD_JOB_END, NULL, error);
}

static int
write_mark (struct history_store *store, const struct job_row *row, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_JOB_MARK];

  sqlite3_bind_int64 (statement, 1, row->key);
  sqlite3_bind_int64 (statement, 2, row->time_ns);
  bind_text (statement, 3, row->texts[0]);
  return history_store_run (store, ADD_JOB_MARK, NULL, error);
}

static int
write_facts (struct history_store *store, const struct job_row *row, struct error *error)
{
  sqlite3_stmt *statement = store->statements[ADD_JOB_FACTS];

  sqlite3_bind_int64 (statement, 1, row->key);
  bind_text (statement, 2, row->texts[0]);
  return history_store_run (store, ADD_JOB_FACTS, NULL, error);
}

int
history_store_job (struct history_store *store, const struct job_row *row, struct error *error)
{
  static int (*const writers[]) (struct history_store * store, const struct job_row *row, struct error *error) = {
    [JOB_ROW_JOB] = write_job,   [JOB_ROW_NODE] = history_job_node, [JOB_ROW_END] = write_end,
    [JOB_ROW_MARK] = write_mark, [JOB_ROW_FACTS] = write_facts,
  };
  int64_t bytes = 100;

  for (size_t i = 0; i < JOB_ROW_TEXTS && row->texts[i]; i++)
    bytes += (int64_t) strlen (row->texts[i]);
  store->jobs_bytes += store->jobs_bytes < INT64_MAX - bytes ? bytes : 0;
  return writers[row->kind](store, row, error) < 0 ? -1 : 0;
}
