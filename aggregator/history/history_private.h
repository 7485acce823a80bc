/* What the files of the history's writing side share: history.c and history_flush.c (the core's side),
 * history_health.c (its events), history_shares.c (the queue and its shares), history_schemas.c, history_writer.c
 * (the thread) and history_write.c (its writes). */
#ifndef SYNOP_AGGREGATOR_HISTORY_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_age.h"
#include "aggregator/history/history_gather.h"
#include "aggregator/history/history_shares.h"
#include "aggregator/history/history_store.h"
#include "aggregator/history/history_ticks.h"
#include "aggregator/views/view.h"
#include "synop/clock.h"
#include "synop/frame.h"

#define HISTORY_RETRY_DEFAULT (60 * NS_PER_S)
#define HISTORY_END_DEFAULT (30 * NS_PER_S)
#define HISTORY_SCHEMAS_MAX 64 /* kept in memory though no waiting frame needs them */
#define HISTORY_TYPE_MAX 32

enum item_kind { ITEM_FRAME, ITEM_TICK, ITEM_EVENT, ITEM_JOB };

/* A schema of frames, kept once: for frames that wait to be written, and for late frames (history_schema). The core
 * makes and frees them. */
struct history_schema {
  struct history_schema *next; /* in order of last use */
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct buffer bytes;
  size_t users; /* waiting frames; under the mutex */
};

/* An item of the queue. */
struct item {
  struct item *next;
  enum item_kind kind;
  size_t size;                 /* of memory that counts */
  struct history_share *share; /* in this share */
  uint64_t put;                /* its number in order of putting */
  char node[FRAME_NODE_MAX + 1];
  char type[HISTORY_TYPE_MAX];   /* of an event */
  struct history_schema *schema; /* of a frame, which counts as a user */
  uint64_t session, sequence;    /* of a frame */
  int64_t time_ns, number;
  size_t record_length, length;
  char bytes[]; /* the record, then the frame or line */
};

/* A closed chunk, packed, ready to be written. */
struct ready {
  struct ready *next;
  struct history_share *share;
  struct open_chunk *chunk; /* without its messages, which are in `packed` */
  struct buffer packed;
  struct tier_folded folded; /* of ticks */
  struct ticks_metrics metrics;
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

  /* Of the core's thread. */
  int64_t number;
  uint64_t ticks;
  struct history_schema *schemas; /* that were put, or are stored */
  size_t schema_count;
  struct buffer record, values;
  struct json json;
  bool failing; /* as reported */
  uint64_t overflow_seen, not_stored_reported;
  char reported[sizeof (struct error)];

  /* Of both threads: under the mutex. */
  pthread_mutex_t mutex;
  pthread_cond_t wake, idle;
  struct history_shares shares;
  uint64_t put; /* number of all items so far */
  bool end;
  int64_t end_ns;                      /* the deadline of the last writes */
  uint64_t flush_asked, flush_done;    /* tickets */
  uint64_t flush_put;                  /* `put` at the last ticket, */
  int64_t flush_asked_ns;              /* and its time */
  int64_t flush_to_ns;                 /* the latest to_ns of pending tickets */
  bool flush_at_once;                  /* a pending ticket is without a rate limit */
  int flush_fd;                        /* an eventfd */
  uint64_t device, inode;              /* of the file; 0: not opened yet */
  char problem[sizeof (struct error)]; /* "": it can be written */
  uint64_t overflows;                  /* items dropped for want of room */
  struct history_counts counts;

  /* Of the writer's thread. */
  pthread_t thread;
  struct history_store *store;
  struct gather *gather;
  struct tier_writer *folds; /* of ticks */
  struct history_ticks *ticks_waiting;
  struct item_list events; /* to be written */
  struct ready *ready, **ready_end;
  bool behind; /* items were left when the time of a turn was up */
  int64_t taken_ns, written_ns, shrunk_ns;
  struct history_age age; /* the core's until the thread starts */
  uint64_t flush_seen;    /* the last ticket that was seen */
  int64_t early_ns;       /* rate limit: the time up to which early closes are used up */
  int64_t retry_ns;       /* the next try after a failure; 0: no failure */
};

void item_list_init (struct item_list *list);
void item_list_add (struct item_list *list, struct item *item);
void item_free (struct history *history, struct item *item); /* and releases its room */
void item_list_clear (struct history *history, struct item_list *list);
void history_give_back (struct history *history, struct history_share *share, size_t size);

/* history.c */
struct history_store *history_open_store (struct history *history, struct error *error);

/* history_schemas.c */
/* Returns the schema with this hash, which is added if it is new; an unused one may be dropped for it. Of the core's
 * thread. */
struct history_schema *history_hold_schema (struct history *history, const uint8_t hash[SCHEMA_HASH_SIZE],
                                            const void *bytes, size_t length);
int history_load_schemas (struct history *history, struct error *error); /* from the store */
void history_free_schemas (struct history *history);

/* history_write.c */
void history_write (struct history *history, int64_t now_ns);       /* all closed chunks and events, or nothing */
void history_write_tiers (struct history *history, int64_t now_ns); /* some of what is to be done for them */
void ready_clear (struct history *history);

/* history_writer.c */
void *history_writer_run (void *history);
void history_writer_whole (void *history, struct open_chunk *chunk); /* callback of the gather */

#endif
