/* What the files of the history's writing share: history.c and history_flush.c (the core's side), history_writer.c (the
 * thread) and history_write.c (its hand). */
#ifndef SYNOP_AGGREGATOR_HISTORY_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "aggregator/history.h"
#include "aggregator/history_gather.h"
#include "aggregator/history_store.h"
#include "synop/clock.h"
#include "synop/frame.h"

#define HISTORY_RETRY_DEFAULT (60 * NS_PER_S)
#define HISTORY_SCHEMAS_MAX 64 /* that are remembered */
#define HISTORY_TYPE_MAX 32

enum item_kind { ITEM_FRAME, ITEM_TICK, ITEM_EVENT, ITEM_JOB, ITEM_SCHEMA };

/* Something that waits: to be gathered, or as a whole chunk, to be written. */
struct item {
  struct item *next;
  enum item_kind kind;
  size_t size; /* of memory that it counts for */
  char node[FRAME_NODE_MAX + 1];
  char type[HISTORY_TYPE_MAX];    /* of an event */
  uint8_t hash[SCHEMA_HASH_SIZE]; /* of a schema */
  uint64_t session, sequence;     /* of a frame */
  int64_t time_ns, number;
  size_t record_length, length;
  char bytes[]; /* the record, then the frame, line or schema */
};

struct item_list {
  struct item *first, **end;
};

/* A chunk that is whole, packed. */
struct ready {
  struct ready *next;
  struct open_chunk *chunk; /* its messages are given up: they are packed */
  struct buffer packed;
  size_t size;
};

struct range {
  struct range *next;
  char node[FRAME_NODE_MAX + 1];
  uint64_t session, first, last;
};

/* What a frame that comes late may have: see history_schema. */
struct history_schema {
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct buffer bytes;
};

struct history {
  struct history_options options;
  char *path;
  struct range *ranges, **ranges_end;

  /* The core's. */
  int64_t number;
  uint64_t ticks;
  uint8_t schemas[HISTORY_SCHEMAS_MAX][SCHEMA_HASH_SIZE]; /* that were put, a ring */
  size_t schema_count;
  struct history_schema schemas_held[HISTORY_SCHEMAS_MAX]; /* that were put or stored before, a ring */
  size_t schemas_held_count;
  struct buffer record;
  struct json json;
  bool failing; /* as told */
  uint64_t overflow_seen, not_stored_told;
  char told[sizeof (struct error)];

  /* Both: under the mutex. */
  pthread_mutex_t mutex;
  pthread_cond_t wake, idle;
  struct item_list queue;
  size_t used;
  bool end;
  uint64_t flush_asked, flush_done;    /* tickets */
  int64_t flush_to_ns;                 /* of those that are not done */
  bool flush_at_once;                  /* one of them waits for no turn */
  int flush_fd;                        /* an eventfd */
  uint64_t device, inode;              /* of the file; 0: none was opened */
  char problem[sizeof (struct error)]; /* "": it can be written */
  uint64_t overflows;                  /* items that found no room */
  struct history_counts counts;

  /* The writer's. */
  pthread_t thread;
  struct history_store *store;
  struct gather *gather;
  struct item_list events;        /* that wait to be written */
  struct item_list schemas_known; /* written to each file that is opened */
  size_t schemas_known_count;
  bool schemas_written;
  struct ready *ready, **ready_end;
  int64_t taken_ns, written_ns, trimmed_ns;
  uint64_t flush_seen; /* tickets that were looked at */
  int64_t early_ns;    /* the time up to which early writes are used up */
  int64_t retry_ns;    /* not written before; 0: any time */
};

void item_list_init (struct item_list *list);
void item_list_add (struct item_list *list, struct item *item);
void item_list_clear (struct history *history, struct item_list *list); /* and gives back their size */
void history_give_back (struct history *history, size_t size);

/* history.c */
struct history_store *history_open_store (struct history *history, struct error *error);

/* history_schemas.c */
void history_hold_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE], const void *bytes,
                          size_t length);
int history_load_schemas (struct history *history, struct error *error); /* from the store */
void history_free_schemas (struct history *history);

/* history_write.c */
void history_write (struct history *history, int64_t now_ns); /* all that is whole, or nothing of it */
void ready_clear (struct history *history);

/* history_writer.c */
void *history_writer_run (void *history);
void history_writer_whole (void *history, struct open_chunk *chunk); /* of the gather */

#endif
