/* Which nodes are being asked for frames that are missing, and how much may be asked for. See cluster_replay.c. */
#ifndef SYNOP_AGGREGATOR_NODE_REPLAY_H
#define SYNOP_AGGREGATOR_NODE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/missing.h"
#include "aggregator/core/schema_want.h"

#define REPLAY_SLOTS 16         /* nodes that are asked at once */
#define REPLAY_WINDOW_FRAMES 64 /* asked for at once; each of them is another message on its way */
#define REPLAY_WINDOW_BYTES (256 * 1024)

struct node;

/* A request that is under way. */
struct replay_slot {
  struct node *node; /* NULL: free */
  uint64_t session, from, to;
  uint64_t base;     /* the frame before them, only to compare with; 0: none is asked for */
  uint64_t next;     /* they come in order */
  uint64_t due;      /* how many come at most, */
  uint64_t got;      /* and came; the base too */
  uint64_t stuck;    /* the first that came and whose schema is not there; 0: none did */
  int64_t active_ns; /* when something of it came last, or it was sent */
};

/* Of the whole cluster. */
struct cluster_replay {
  struct replay_slot slots[REPLAY_SLOTS];
  size_t cursor;        /* the node that is looked at next */
  bool wanted;          /* some node misses frames, or may */
  int64_t behind_ns;    /* nothing is asked for before this */
  double frames, bytes; /* what may still be asked for; refilled as time goes on */
  int64_t refilled_ns;
};

/* Frames in a row that were taken late, for one event about all of them. */
struct replay_run {
  uint64_t session, from, to, count;
  int64_t began_ns;
};

/* Of one node. */
struct node_replay {
  struct missing missing; /* what is asked for */
  struct missing stored;  /* what history has; until the node says hello */
  bool greeted;           /* it has said hello, and what it held was looked at */
  bool asked;             /* it has a slot */
  unsigned tries;         /* requests in a row without an answer that helps */
  int64_t wait_ns;        /* no request before that */
  struct replay_run run;
  struct schema_want want; /* of late frames: nothing is asked for until it is there, or cannot be had */
  struct late *late;       /* tables of the last late frame; NULL: none */
};

#endif
