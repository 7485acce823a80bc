/* The state of replay: requests under way, rates, and each node's missing frames. See cluster_replay.c. */
#ifndef SYNOP_AGGREGATOR_NODE_REPLAY_H
#define SYNOP_AGGREGATOR_NODE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/missing.h"
#include "aggregator/core/schema_want.h"

#define REPLAY_SLOTS 16         /* nodes with a request under way */
#define REPLAY_WINDOW_FRAMES 64 /* frames of one request; each is a message of its own */
#define REPLAY_WINDOW_BYTES (256 * 1024)

struct node;

/* A request that is under way. */
struct replay_slot {
  struct node *node; /* NULL: free */
  uint64_t session, from, to;
  uint64_t base;     /* the frame before them, requested as the base for changes; 0: none */
  uint64_t next;     /* the next one expected: they come in order */
  uint64_t due;      /* how many may come, */
  uint64_t got;      /* and have come, the base included */
  uint64_t stuck;    /* the first that came with an unknown schema; 0: none did */
  int64_t active_ns; /* its last message, or the request */
};

/* Of the whole cluster. */
struct cluster_replay {
  struct replay_slot slots[REPLAY_SLOTS];
  size_t cursor;        /* index of the node whose turn is next */
  bool wanted;          /* some node misses frames, or may */
  int64_t behind_ns;    /* the aggregator is behind: no requests before this */
  double frames, bytes; /* what may still be requested; refilled as time goes on */
  int64_t refilled_ns;
};

/* Frames that were taken late, for one event about all of them. */
struct replay_run {
  uint64_t session, from, to, count; /* pending */
  int64_t began_ns, ended_ns;        /* ended_ns: 0 while more are expected */
  int64_t reported_ns;
};

/* Of one node. */
struct node_replay {
  struct missing missing; /* requested */
  struct missing stored;  /* frames that the history has; used at the node's hello */
  bool greeted;           /* its hello, and the frames listed in it, were handled */
  bool asked;             /* a request is under way */
  unsigned tries;         /* requests in a row that brought nothing */
  int64_t wait_ns;        /* no request before that */
  struct replay_run run;
  struct schema_want want; /* of late frames: no requests for frames while this is wanted */
  struct late *late;       /* tables of the last late frame; NULL: none */
};

#endif
