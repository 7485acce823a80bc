/* What the files of the history's store share: history_store.c (open, write, what is there), history_jobs.c (jobs),
 * history_rooms.c (whose it is), history_trim.c (retention). */
#ifndef SYNOP_AGGREGATOR_HISTORY_STORE_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_STORE_PRIVATE_H

#include <sqlite3.h>

#include "aggregator/history/history_store.h"

#define TRIM_CHUNKS 64 /* that are too old, at once */
#define TRIM_EVENTS 512

enum statement {
  FIND_NODE,
  ADD_NODE,
  LAST_BEFORE,
  ADD_CHUNK,
  ADD_EVENT,
  USE_SCHEMA,
  ADD_SCHEMA,
  ADD_SCHEMA_USE,
  TOLD,
  OLD_CHUNKS,
  OLD_EVENTS,
  OLD_JOBS,
  MOST,
  CUT_CHUNKS_OF,
  CUT_EVENTS_OF,
  FORGET_USE,
  NAME_OF,
  ADD_JOB,
  ADD_JOB_NODE,
  ADD_JOB_END,
  ADD_JOB_MARK,
  DROP_JOB_MARK,
  STATEMENTS
};

struct history_store {
  sqlite3 *database;
  sqlite3_stmt *statements[STATEMENTS];
  char *path;
  int lock;           /* -1: none */
  int64_t last_chunk; /* the last id that was given */
  int64_t jobs_bytes; /* of the rows of jobs, at most; INT64_MAX: not known */
};

extern const char history_jobs_layout[]; /* makes the tables of jobs, if they are not there */
extern const char history_jobs_old[];    /* deletes jobs that ended before a time */
extern const char history_jobs_bytes[];  /* what their rows take */
extern const char history_jobs_cut[];    /* deletes one in eight */

/* Runs a statement whose values are bound: SQLITE_ROW and the first number, SQLITE_DONE, or -1. */
int history_store_run (struct history_store *store, enum statement which, int64_t *number, struct error *error);
/* The id of a node, which is made when it is new; 0 of "". */
int history_store_node (struct history_store *store, const char *node, int64_t *id, struct error *error);

/* -1, with SQLite's last error and what to do about it. */
int history_store_fail (const struct history_store *store, struct error *error);
int history_store_execute (struct history_store *store, const char *text, struct error *error);
/* The first number of a SELECT or a PRAGMA. */
int history_store_select (struct history_store *store, const char *text, int64_t *number, struct error *error);

#endif
