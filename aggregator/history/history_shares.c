/* See history_shares.h. */
#include "aggregator/history/history_shares.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_private.h"
#include "synop/hash.h"
#include "synop/memory.h"

#define TURN_BYTES 16384 /* bytes of a turn, without the item that reaches it */

void
history_shares_init (struct history_shares *shares, size_t room)
{
  shares->room = room;
  shares->turn_end = &shares->turn;
}

void
history_shares_free (struct history_shares *shares)
{
  while (shares->all) {
    struct history_share *share = shares->all;
    shares->all = share->older;
    free (share);
  }
}

static struct history_share **
shares_place_of (struct history_shares *shares, const char *node)
{
  uint64_t hash = hash_text (node);

  return &shares->places[(hash ^ hash >> 32) & (HISTORY_SHARE_PLACES - 1)];
}

struct history_share *
history_share_of (struct history_shares *shares, const char *node)
{
  struct history_share **place = shares_place_of (shares, node), *share = *place;

  while (share && strcmp (share->node, node) != 0)
    share = share->next;
  if (share)
    return share;
  share = memory_new (1, sizeof *share);
  strncpy (share->node, node, FRAME_NODE_MAX);
  item_list_init (&share->items);
  share->next = *place;
  *place = share;
  share->older = shares->all;
  shares->all = share;
  return share;
}

/* ---- room ---- */

void
history_share_add (struct history_shares *shares, struct history_share *share, size_t size)
{
  shares->users += share->used == 0 && size > 0;
  share->used += size;
  shares->used += size;
}

void
history_share_give (struct history_shares *shares, struct history_share *share, size_t size)
{
  share->used -= size;
  shares->used -= size;
  shares->users -= share->used == 0 && size > 0;
}

bool
history_share_take (struct history_shares *shares, struct history_share *share, size_t size)
{
  size_t left = shares->used < shares->room ? shares->room - shares->used : 0;

  if (size > left || share->used > left - size)
    return false;
  history_share_add (shares, share, size);
  return true;
}

/* Over 1.5 times the average: of two nodes, three quarters of all. */
bool
history_share_is_over (const struct history_shares *shares, const struct history_share *share)
{
  return *share->node && share->used / 3 > shares->used / (2 * (shares->users ? shares->users : 1));
}

bool
history_share_is_nearly_full (const struct history_shares *shares, const struct history_share *share)
{
  return shares->used >= shares->room || share->used > (shares->room - shares->used) / 2;
}

/* ---- turns ---- */

static void
queue_up (struct history_shares *shares, struct history_share *share)
{
  share->behind = NULL;
  *shares->turn_end = share;
  shares->turn_end = &share->behind;
}

void
history_share_put (struct history_shares *shares, struct history_share *share, struct item *item)
{
  if (!share->items.first)
    queue_up (shares, share);
  item_list_add (&share->items, item);
}

struct item *
history_shares_next (struct history_shares *shares)
{
  struct history_share *share = shares->turn;
  struct item *first, *last;
  size_t bytes;

  if (!share)
    return NULL;
  shares->turn = share->behind;
  if (!shares->turn)
    shares->turn_end = &shares->turn;
  first = last = share->items.first;
  for (bytes = first->size; last->next && bytes < TURN_BYTES; bytes += last->size)
    last = last->next;
  share->items.first = last->next;
  last->next = NULL;
  if (share->items.first)
    queue_up (shares, share);
  else
    item_list_init (&share->items);
  return first;
}

bool
history_shares_wait (const struct history_shares *shares, uint64_t put)
{
  const struct history_share *share = shares->turn;

  while (share && share->items.first->put > put)
    share = share->behind;
  return share;
}
