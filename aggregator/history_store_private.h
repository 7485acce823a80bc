/* What the files of the history's store share: history_store.c (open, write, what is there), history_trim.c (retention). */
#ifndef SYNOP_AGGREGATOR_HISTORY_STORE_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_STORE_PRIVATE_H

#include <sqlite3.h>

#include "aggregator/history_store.h"

enum statement { FIND_NODE, ADD_NODE, OVERLAPS, ADD_CHUNK, ADD_EVENT, ADD_SCHEMA, STATEMENTS };

struct history_store {
  sqlite3 *database;
  sqlite3_stmt *statements[STATEMENTS];
  char *path;
  int lock; /* -1: none */
};

/* -1, with SQLite's last error and what to do about it. */
int history_store_fail (const struct history_store *store, struct error *error);
int history_store_execute (struct history_store *store, const char *text, struct error *error);
/* The first number of a SELECT or a PRAGMA. */
int history_store_select (struct history_store *store, const char *text, int64_t *number, struct error *error);

#endif
