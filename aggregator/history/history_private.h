/* What the files of the history's writing share: history.c and history_flush.c (the core's side), history_shares.c (what
 * waits, and whose it is), history_schemas.c, history_writer.c (the thread) and history_write.c (its hand). */
#ifndef SYNOP_AGGREGATOR_HISTORY_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_age.h"
#include "aggregator/history/history_gather.h"
#include "aggregator/history/history_shares.h"
#include "aggregator/history/history_store.h"
#include "aggregator/views/view.h"
#include "synop/clock.h"
#include "synop/frame.h"

#define HISTORY_RETRY_DEFAULT (60 * NS_PER_S)
#define HISTORY_END_DEFAULT (30 * NS_PER_S)
#define HISTORY_SCHEMAS_MAX 64 /* that are held though nothing that waits needs them */
#define HISTORY_TYPE_MAX 32

enum item_kind { ITEM_FRAME, ITEM_TICK, ITEM_EVENT, ITEM_JOB };

/* A schema that frames have, held once: for those that wait to be written, and for those that come late (history_schema).
 * The core makes and frees them. */
struct history_schema {
  struct history_schema *next; /* the last one that was needed comes first */
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct buffer bytes;
  size_t users; /* frames that wait: under the mutex */
};

/* Something that waits: to be gathered, or as a whole chunk, to be written. */
struct item {
  struct item *next;
  enum item_kind kind;
  size_t size;                 /* of memory that it counts for, */
  struct history_share *share; /* in this share */
  uint64_t put;                /* they are counted in the order in which they are put */
  char node[FRAME_NODE_MAX + 1];
  char type[HISTORY_TYPE_MAX];   /* of an event */
  struct history_schema *schema; /* of a frame, which is one of its users */
  uint64_t session, sequence;    /* of a frame */
  int64_t time_ns, number;
  size_t record_length, length;
  char bytes[]; /* the record, then the frame or line */
};

/* A chunk that is whole, packed. */
struct ready {
  struct ready *next;
  struct history_share *share;
  struct open_chunk *chunk; /* its messages are given up: they are packed */
  struct buffer packed;
  size_t size;
};

struct range {
  struct range *next;
  char node[FRAME_NODE_MAX + 1];
  uint64_t session, first, last;
};

struct history {
  const struct view_context *context; /* history_view.c's */
  struct history_options options;
  char *path;
  struct range *ranges, **ranges_end;

  /* The core's. */
  int64_t number;
  uint64_t ticks;
  struct history_schema *schemas; /* that were put, or stored before */
  size_t schema_count;
  struct buffer record;
  struct json json;
  bool failing; /* as told */
  uint64_t overflow_seen, not_stored_reported;
  char reported[sizeof (struct error)];

  /* Both: under the mutex. */
  pthread_mutex_t mutex;
  pthread_cond_t wake, idle;
  struct history_shares shares;
  uint64_t put; /* items, ever */
  bool end;
  int64_t end_ns;                      /* what is not written by then is left */
  uint64_t flush_asked, flush_done;    /* tickets */
  uint64_t flush_put;                  /* what was put before the last of them, */
  int64_t flush_asked_ns;              /* which was asked for then */
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
  struct item_list events; /* that wait to be written */
  struct ready *ready, **ready_end;
  bool behind; /* more waits than was taken in one turn */
  int64_t taken_ns, written_ns, shrunk_ns;
  struct history_age age; /* at first the core's too */
  uint64_t flush_seen;    /* tickets that were looked at */
  int64_t early_ns;       /* the time up to which early writes are used up */
  int64_t retry_ns;       /* not written before; 0: any time */
};

void item_list_init (struct item_list *list);
void item_list_add (struct item_list *list, struct item *item);
void item_free (struct history *history, struct item *item); /* and gives back its room */
void item_list_clear (struct history *history, struct item_list *list);
void history_give_back (struct history *history, struct history_share *share, size_t size);

/* history.c */
struct history_store *history_open_store (struct history *history, struct error *error);

/* history_schemas.c */
/* The one with this hash, made if there is none; the oldest that nobody uses goes. The core's. */
struct history_schema *history_hold_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE],
                                            const void *bytes, size_t length);
int history_load_schemas (struct history *history, struct error *error); /* from the store */
void history_free_schemas (struct history *history);

/* history_write.c */
void history_write (struct history *history, int64_t now_ns); /* all that is whole, or nothing of it */
void ready_clear (struct history *history);

/* history_writer.c */
void *history_writer_run (void *history);
void history_writer_whole (void *history, struct open_chunk *chunk); /* of the gather */

#endif
