/* What the files of the history's store share: history_store.c (open, write, what is stored), history_jobs.c (jobs),
 * history_rooms.c (shares of nodes), history_trim.c (retention). */
#ifndef SYNOP_AGGREGATOR_HISTORY_STORE_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_STORE_PRIVATE_H

#include <sqlite3.h>

#include "aggregator/history/history_store.h"

#define TRIM_CHUNKS 64 /* deleted at once for their age */
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
  USES_KNOWN,
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
  ADD_JOB_FACTS,
  STATEMENTS
};

struct history_store {
  sqlite3 *database;
  sqlite3_stmt *statements[STATEMENTS];
  char *path;
  int lock;             /* -1: none */
  int64_t jobs_bytes;   /* upper estimate of the rows of jobs; INT64_MAX: unknown */
  int64_t events_bytes; /* the same of events */
  int64_t last_chunk;   /* the last id that was given */
  struct tier_store *tiers;
};

extern const char history_jobs_layout[]; /* makes the tables of jobs, if they are missing */
extern const char history_jobs_old[];    /* deletes jobs that ended before a time */
extern const char history_jobs_bytes[];  /* the size of their rows */
extern const char history_jobs_cut[];    /* deletes one job in eight */

/* Runs a statement whose values are bound: SQLITE_ROW and the first number, SQLITE_DONE, or -1. */
int history_store_run (struct history_store *store, enum statement which, int64_t *number, struct error *error);
/* The id of a node, which is added if it is new; 0 for "". */
int history_store_node (struct history_store *store, const char *node, int64_t *id, struct error *error);

/* Returns -1; the error has SQLite's last error and what to do about it. */
int history_store_fail (const struct history_store *store, struct error *error);
int history_store_execute (struct history_store *store, const char *text, struct error *error);
/* The first number of a SELECT or a PRAGMA. */
int history_store_select (struct history_store *store, const char *text, int64_t *number, struct error *error);

#endif
