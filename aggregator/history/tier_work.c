/* What is done beside writing: chunks that are not folded, blocks, what is too old, what is damaged. See tier_store.h. */
#include "aggregator/history/tier_store_private.h"
#include "synop/clock.h"

#define WORK_MOST NS_PER_S /* of a transaction: what is done is committed, however long there is to do */

struct turn {
  struct history_store *store;
  const struct tier_limits *limits;
  struct tier_sizes sizes;
};

static int
turn_catch_up (struct turn *turn, struct error *error)
{
  return tier_catch_up (turn->store, turn->limits->now_ns / NS_PER_S, error);
}

static int
turn_parts (struct turn *turn, struct error *error)
{
  return tier_parts_make (turn->store, turn->limits->now_ns / NS_PER_S, error);
}

static int
turn_make (struct turn *turn, struct error *error)
{
  if (tier_sizes_read (turn->store, turn->limits, &turn->sizes, error) < 0)
    return -1;
  return tier_blocks_make (turn->store, turn->limits->now_ns / NS_PER_S, turn->sizes.staged > turn->sizes.room / 4,
                           error);
}

static int
turn_merge (struct turn *turn, struct error *error)
{
  return tier_blocks_merge (turn->store, turn->limits->now_ns / NS_PER_S, error);
}

static int
turn_repair (struct turn *turn, struct error *error)
{
  return tier_repair (turn->store, error);
}

static int
turn_look (struct turn *turn, struct error *error)
{
  return tier_look (turn->store, error);
}

static int
turn_trim (struct turn *turn, struct error *error)
{
  if (tier_sizes_read (turn->store, turn->limits, &turn->sizes, error) < 0)
    return -1;
  return tier_trim (turn->store, turn->limits, &turn->sizes, error);
}

/* Maps that nothing staged needs any more go now and then. */
static int
turn_tidy (struct turn *turn, struct error *error)
{
  struct tier_store *tiers = turn->store->tiers;

  if (turn->limits->now_ns / NS_PER_S / HOUR_S == tiers->tidied)
    return 0;
  tiers->tidied = turn->limits->now_ns / NS_PER_S / HOUR_S;
  tier_drop_maps (tiers);
  return tier_run (turn->store, TIER_DROP_MAPS, error) < 0 ? -1 : 0;
}

/* Step by step, each kind of work until there is none; one step at least. Each time another kind is the first, so that none
 * waits until all of another is done. */
static int
work (struct history_store *store, const struct tier_limits *limits, int64_t until_ns, struct error *error)
{
  static int (*const kinds[]) (struct turn * turn, struct error * error) = { turn_catch_up, turn_parts, turn_make,
                                                                             turn_merge,    turn_trim,  turn_repair,
                                                                             turn_look,     turn_tidy };
  const size_t count = sizeof kinds / sizeof kinds[0];
  size_t first = store->tiers->turn++ % count;
  struct turn turn = { .store = store, .limits = limits };
  int more = 0;

  for (size_t i = 0; i < count && more == 0; i++)
    while ((more = kinds[(first + i) % count](&turn, error)) == 1 && clock_monotonic () < until_ns)
      ;
  return more;
}

int
tier_store_work (struct history_store *store, const struct tier_limits *limits, int64_t until_ns, struct error *error)
{
  int64_t most_ns = clock_monotonic () + WORK_MOST;
  int more;

  if (history_store_begin (store, error) < 0)
    return -1;
  more = work (store, limits, until_ns < most_ns ? until_ns : most_ns, error);
  if (more < 0 || history_store_end (store, error) < 0) {
    history_store_undo (store);
    return -1;
  }
  return more;
}
