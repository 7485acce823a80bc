/* The queue of items to be written: each node has a share of [history] queue, and its turn. The aggregator itself, for
 * ticks, jobs and events about no node, is one more: "".
 *
 * A share may use at most as much of the room as is left free: alone half of it, two of them a third each. So a node
 * that comes last finds room, whatever the others use. The writer takes a little of each share in turn, however much
 * waits in others. What it took counts until it is written. No thread, no clock; the caller has the lock. */
#ifndef SYNOP_AGGREGATOR_HISTORY_SHARES_H
#define SYNOP_AGGREGATOR_HISTORY_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/frame.h"

#define HISTORY_SHARE_PLACES 4096 /* size of the hash table; a power of two */

struct item;

struct item_list {
  struct item *first, **end;
};

/* What a node loses over its share. */
enum history_held { HELD_FRAMES, HELD_CHUNKS, HISTORY_HELD };

struct history_share {
  struct history_share *next;   /* in the hash table */
  struct history_share *behind; /* in order of turns */
  struct history_share *older;  /* of all */
  char node[FRAME_NODE_MAX + 1];
  struct item_list items; /* not taken yet */
  size_t used;            /* bytes of these, and of items taken and not written yet */
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
  size_t users;                           /* shares that use any */
};

void history_shares_init (struct history_shares *shares, size_t room);
void history_shares_free (struct history_shares *shares); /* items must be gone */

/* Valid as long as `shares`: there are no more than node names that were ever listed. */
struct history_share *history_share_of (struct history_shares *shares, const char *node);

/* Takes room for an item; false: there is none. */
bool history_share_take (struct history_shares *shares, struct history_share *share, size_t size);
void history_share_add (struct history_shares *shares, struct history_share *share, size_t size); /* without a limit */
void history_share_give (struct history_shares *shares, struct history_share *share, size_t size);
/* The share has far more waiting than the others: its losses are its own doing. */
bool history_share_is_over (const struct history_shares *shares, const struct history_share *share);
/* The share will soon be full. */
bool history_share_is_nearly_full (const struct history_shares *shares, const struct history_share *share);

void history_share_put (struct history_shares *shares, struct history_share *share, struct item *item);
/* Takes a few items of the next share, in order; NULL: nothing waits. */
struct item *history_shares_next (struct history_shares *shares);
/* Does an item wait with this number or a lower one? See struct item. */
bool history_shares_wait (const struct history_shares *shares, uint64_t put);

#endif
