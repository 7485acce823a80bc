/* A history as readers see it: opened read-only, by any number of them, also while it is written. history_store.h tells
 * what lies in it. No transaction stays open between two calls, so that a reader that takes long holds up nothing. */
#ifndef SYNOP_AGGREGATOR_HISTORY_FILE_H
#define SYNOP_AGGREGATOR_HISTORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_store.h"
#include "synop/error.h"
#include "synop/schema.h"

struct history_file;

struct history_file *history_file_open (const char *path, struct error *error);
void history_file_close (struct history_file *file); /* NULL is fine */

/* Chunks with something between the times, in order of their first number; ticks among them when asked for. The list is
 * the caller's, with `node` as it stands in history_file_node. */
struct chunk_list {
  struct chunk_row *rows;
  size_t count, capacity;
};
int history_file_chunks (struct history_file *file, int64_t from_ns, int64_t to_ns, struct chunk_list *list,
                         struct error *error);
/* Every one, in order of node, session and sequence: for checking. */
int history_file_all_chunks (struct history_file *file, struct chunk_list *list, struct error *error);
/* Those with an id over this one, in order of ids, at most so many. */
int history_file_chunks_after (struct history_file *file, int64_t id, size_t most, struct chunk_list *list,
                               struct error *error);
/* Of a node the first of a session; or, with session 0, the last of any, at most so many: with an id up to this one. In
 * order of time. */
int history_file_chunks_of (struct history_file *file, const char *node, uint64_t session, int64_t id, size_t most,
                            struct chunk_list *list, struct error *error);
/* The chunk that holds a frame: 1, or 0 when there is none. */
int history_file_find (struct history_file *file, const char *node, uint64_t session, uint64_t sequence,
                       struct chunk_row *row, struct error *error);
/* Unpacks a chunk: 0; 1 when it has been deleted meanwhile; -1 when it is broken. `bytes` may be NULL: its packed size. */
int history_file_read (struct history_file *file, int64_t id, struct chunk *chunk, size_t *bytes, struct error *error);

/* By its hash; NULL when there is none, or it is broken. It lives as long as the file is open. */
const struct schema *history_file_schema (struct history_file *file, const uint8_t hash[SCHEMA_HASH_SIZE],
                                          struct error *error);

/* Events of the interval, by their rows, in order of their numbers. The list is the caller's. */
struct event_list {
  int64_t *rows;
  size_t count, capacity;
};
int history_file_event_list (struct history_file *file, int64_t from_ns, int64_t to_ns, struct event_list *list,
                             struct error *error);

/* Nodes that fell silent, or were revoked, up to that time, by events behind `*row`, which moves on. */
int history_file_nodes_gone (struct history_file *file, int64_t *row, int64_t until_ns, void *context,
                             void (*gone) (void *context, const char *node, int64_t time_ns), struct error *error);

struct stored_event {
  int64_t row, number, time_ns;
  char *node, *type, *line; /* node NULL: of none */
  size_t length;
  bool broken; /* it is not what was written: it must not be shown */
};
/* Those of `count` rows that were not deleted meanwhile: how many, or -1. To be freed one by one. */
int history_file_events (struct history_file *file, const int64_t *rows, size_t count, struct stored_event *events,
                         struct error *error);
void stored_event_free (struct stored_event *event);

/* For what else is in it. NULL and error; -1 and error, of SQLite's last failure. */
struct sqlite3_stmt *history_file_prepare (struct history_file *file, const char *text, struct error *error);
int history_file_fail (const struct history_file *file, struct error *error);

/* One number of a SELECT, for `aggregator check`; or the first word that is not "ok" of a PRAGMA. */
int history_file_number (struct history_file *file, const char *select, int64_t *number, struct error *error);
/* SQLite's own check of the file: 0, or -1 and what it found first. */
int history_file_integrity (struct history_file *file, struct error *error);

#endif
