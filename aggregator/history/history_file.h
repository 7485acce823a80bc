/* A history for readers: opened read-only, by any number of them, also while it is written. history_store.h
 * describes the tables. No transaction stays open between two calls, so that a slow reader blocks nothing. */
#ifndef SYNOP_AGGREGATOR_HISTORY_FILE_H
#define SYNOP_AGGREGATOR_HISTORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_store.h"
#include "synop/error.h"
#include "synop/globs.h"
#include "synop/schema.h"

struct history_file;

struct history_file *history_file_open (const char *path, struct error *error);
void history_file_close (struct history_file *file); /* NULL is fine */
const char *history_file_path (const struct history_file *file);

/* Chunks that overlap the interval, in order of their first number; with chunks of ticks on request. The caller
 * frees the list; its `node` are those of history_file_node. */
struct chunk_list {
  struct chunk_row *rows;
  size_t count, capacity;
};
int history_file_chunks (struct history_file *file, int64_t from_ns, int64_t to_ns, struct chunk_list *list,
                         struct error *error);
/* Those of a node, in no order. */
int history_file_node_chunks (struct history_file *file, const char *node, int64_t from_ns, int64_t to_ns,
                              struct chunk_list *list, struct error *error);
/* Those of nodes, in no order: of those that match (NULL: all; others may be among them); with `unfolded`, which are in no minute
 * yet, where the file has tiers. */
int history_file_chunks_of_nodes (struct history_file *file, const struct globs *nodes, bool unfolded, int64_t from_ns,
                                  int64_t to_ns, struct chunk_list *list, struct error *error);
/* All chunks, in order of node, session and sequence: for `check`. */
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
/* Unpacks a chunk: 0; 1: it was deleted meanwhile; -1: it is broken. `bytes` (may be NULL): its packed size. */
int history_file_read (struct history_file *file, int64_t id, struct chunk *chunk, size_t *bytes, struct error *error);
/* Warns that a chunk, or some of its frames, are left out. */
void history_file_log_broken (const struct chunk_row *row, const char *why);

/* The schema with this hash, valid until the file is closed; NULL: missing or broken. */
const struct schema *history_file_schema (struct history_file *file, const uint8_t hash[SCHEMA_HASH_SIZE],
                                          struct error *error);

/* The row ids of the events of the interval, of one type or (NULL) of all, in order of their numbers. The caller frees the
 * list. */
struct event_list {
  int64_t *rows;
  size_t count, capacity;
};
int history_file_event_list (struct history_file *file, int64_t from_ns, int64_t to_ns, const char *type,
                             struct event_list *list, struct error *error);

/* Nodes that fell silent, or were revoked, up to that time, by events behind `*row`, which moves on. */
int history_file_nodes_gone (struct history_file *file, int64_t *row, int64_t until_ns, void *context,
                             void (*gone) (void *context, const char *node, int64_t time_ns), struct error *error);

struct stored_event {
  int64_t row, number, time_ns;
  char *node, *type, *line; /* node NULL: not about a node */
  size_t length;
  bool broken; /* damaged: it must not be shown */
};
/* Reads those of `count` rows that were not deleted meanwhile: how many, or -1. The caller frees each. */
int history_file_events (struct history_file *file, const int64_t *rows, size_t count, struct stored_event *events,
                         struct error *error);
void stored_event_free (struct stored_event *event);

/* For other queries. NULL and error; -1 and error, of SQLite's last failure. */
struct sqlite3_stmt *history_file_prepare (struct history_file *file, const char *text, struct error *error);
int history_file_fail (const struct history_file *file, struct error *error);

/* The number of a SELECT; or of a PRAGMA the first row that is not "ok". */
int history_file_number (struct history_file *file, const char *select, int64_t *number, struct error *error);
/* SQLite's own check of the file: 0, or -1 and what it found first. */
int history_file_integrity (struct history_file *file, struct error *error);

#endif
