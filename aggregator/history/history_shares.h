/* What waits to be written, and whose it is: each node has a share of [history] queue, and its turn. The aggregator itself,
 * for ticks, jobs and events about no node, is one more: "".
 *
 * A share may fill no more of the room than is left free: alone half of it, beside one other that does the same a third. So
 * there is room for who comes last, whoever came before. The writer takes a little of each in turn, however much of the others
 * waits. What was taken counts until it is written. No thread, no clock; the caller has the lock. */
#ifndef SYNOP_AGGREGATOR_HISTORY_SHARES_H
#define SYNOP_AGGREGATOR_HISTORY_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/frame.h"

#define HISTORY_SHARE_PLACES 4096 /* of the table; a power of two */

struct item;

struct item_list {
  struct item *first, **end;
};

/* What was held back, and is not told yet. */
enum history_held { HELD_FRAMES, HELD_CHUNKS, HISTORY_HELD };

struct history_share {
  struct history_share *next;   /* of its place in the table */
  struct history_share *behind; /* in turn */
  struct history_share *older;  /* of all */
  char node[FRAME_NODE_MAX + 1];
  struct item_list items; /* not taken yet */
  size_t used;            /* bytes of these, and of what was taken and is not written */
  struct {
    uint64_t count;
    int64_t reported_ns; /* 0: never */
  } held[HISTORY_HELD];
};

struct history_shares {
  struct history_share *places[HISTORY_SHARE_PLACES];
  struct history_share *all;
  struct history_share *turn, **turn_end; /* those with items */
  size_t used, room;                      /* of all */
  size_t users;                           /* shares with something used */
};

void history_shares_init (struct history_shares *shares, size_t room);
void history_shares_free (struct history_shares *shares); /* items must be gone */

/* It lives as long as `shares`: there are no more than node names that were ever listed. */
struct history_share *history_share_of (struct history_shares *shares, const char *node);

/* Takes room; false: there is none for it. */
bool history_share_take (struct history_shares *shares, struct history_share *share, size_t size);
void history_share_add (struct history_shares *shares, struct history_share *share, size_t size); /* room or not */
void history_share_give (struct history_shares *shares, struct history_share *share, size_t size);
/* It has far more waiting than the others have: what it does not get room for is its own doing. */
bool history_share_is_over (const struct history_shares *shares, const struct history_share *share);
/* It may soon find no room. */
bool history_share_is_nearly_full (const struct history_shares *shares, const struct history_share *share);

void history_share_put (struct history_shares *shares, struct history_share *share, struct item *item);
/* A little of the one whose turn it is, in the order in which it was put; NULL: nothing waits. */
struct item *history_shares_next (struct history_shares *shares);
/* Is there something that was put at that time or before? See struct item. */
bool history_shares_wait (const struct history_shares *shares, uint64_t put);

#endif
