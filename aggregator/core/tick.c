/* See tick.h. Open ticks are in a small ring by index (time / period): the current one, its neighbours, and those
 * that a grace of a whole period keeps open. */
#include "aggregator/core/tick.h"

#include <stdlib.h>

#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define OPEN_MAX 4                 /* a power of two; each has a bit in tick_member.waited and .reported */
#define MISSES_MAX 3               /* after so many missed ticks a node is not waited for */
#define AWAY_PARTS 10              /* one in, of the period: how far from its instant a sample may be taken */
#define AWAY_LEAST (5 * NS_PER_MS) /* but at least this, which a scheduler may take to wake the agent */
#define NOT_OPEN INT64_MIN

struct tick {
  int64_t index; /* NOT_OPEN */
  size_t reporting, waiting;
  int64_t first_ns, last_ns, bound_ns;
  struct combine *combine;
};

struct ticks {
  struct ticks_options options;
  struct tick open[OPEN_MAX];
  int64_t next;    /* index of the oldest tick that is not closed yet; NOT_OPEN before the first frame */
  int64_t now_ns;  /* at the last call */
  int64_t hold_ns; /* the aggregator was stopped: no tick closes for its grace before this */
  struct tick_member **members;
  size_t member_count, member_capacity;
};

struct ticks *
ticks_create (const struct ticks_options *options)
{
  struct ticks *ticks = memory_new (1, sizeof *ticks);
  ticks->options = *options;
  ticks->next = NOT_OPEN;
  ticks->now_ns = INT64_MIN;
  ticks->hold_ns = INT64_MIN;
  for (size_t i = 0; i < OPEN_MAX; i++)
    ticks->open[i] = (struct tick){ .index = NOT_OPEN, .combine = combine_create () };
  return ticks;
}

void
ticks_destroy (struct ticks *ticks)
{
  if (!ticks)
    return;
  for (size_t i = 0; i < OPEN_MAX; i++)
    combine_destroy (ticks->open[i].combine);
  free (ticks->members);
  free (ticks);
}

static int64_t
floor_div (int64_t time_ns, int64_t period)
{
  int64_t index = time_ns / period;
  return time_ns % period < 0 ? index - 1 : index;
}

static int64_t
index_floor (const struct ticks *ticks, int64_t time_ns)
{
  return floor_div (time_ns, ticks->options.period_ns);
}

int64_t
tick_nearest (int64_t time_ns, int64_t period_ns)
{
  return floor_div (time_ns + period_ns / 2, period_ns) * period_ns;
}

static uint32_t
tick_bit (int64_t index)
{
  return UINT32_C (1) << (index & (OPEN_MAX - 1));
}

/* One in how many multiples of the ticks' period is a multiple of this period too. */
static int64_t
stride_of (const struct ticks *ticks, int64_t period_ns)
{
  int64_t own = period_ns > 0 ? period_ns : 1, a = own, b = ticks->options.period_ns;

  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return own / a;
}

static void
member_set_period (const struct ticks *ticks, struct tick_member *member, int64_t period_ns)
{
  member->period_ns = period_ns;
  member->stride = stride_of (ticks, period_ns);
}

static bool
member_is_alive (const struct tick_member *member, int64_t index)
{
  int64_t sign_of_life = member->last > member->expected ? member->last : member->expected;
  return index - sign_of_life <= (MISSES_MAX + 1) * member->stride;
}

static void
tick_open (struct ticks *ticks, int64_t index)
{
  struct tick *tick = &ticks->open[index & (OPEN_MAX - 1)];
  uint32_t bit = tick_bit (index);
  tick->index = index;
  tick->reporting = tick->waiting = 0;
  tick->bound_ns = 0;
  combine_clear (tick->combine);
  for (size_t i = 0; i < ticks->member_count; i++) {
    struct tick_member *member = ticks->members[i];
    bool due = index % member->stride == 0 && member_is_alive (member, index);
    member->waited = due ? member->waited | bit : member->waited & ~bit;
    member->reported &= ~bit;
    tick->waiting += due;
  }
}

static struct tick *
tick_at (struct ticks *ticks, int64_t index)
{
  struct tick *tick = &ticks->open[index & (OPEN_MAX - 1)];
  if (tick->index != index)
    tick_open (ticks, index);
  return tick;
}

static void
tick_close (struct ticks *ticks, struct tick *tick)
{
  struct tick_line line = { .time_ns = tick->index * ticks->options.period_ns,
                            .period_ns = ticks->options.period_ns,
                            .reporting = tick->reporting,
                            .waited_for = tick->waiting,
                            .spread_ns = tick->reporting > 0 ? tick->last_ns - tick->first_ns : 0,
                            .bound_ns = tick->bound_ns,
                            .combine = tick->combine };
  ticks->options.line (ticks->options.context, &line);
  tick->index = NOT_OPEN;
}

static void
member_join (struct ticks *ticks, struct tick_member *member)
{
  array_reserve (ticks->members, ticks->member_capacity, ticks->member_count + 1);
  member->joined = true;
  member->slot = ticks->member_count;
  member->last = member->expected = NOT_OPEN / 2;
  member->waited = member->reported = 0;
  ticks->members[ticks->member_count++] = member;
}

void
tick_leave (struct ticks *ticks, struct tick_member *member)
{
  if (!member->joined)
    return;
  for (size_t i = 0; i < OPEN_MAX; i++)
    if (ticks->open[i].index != NOT_OPEN && (member->waited & tick_bit (ticks->open[i].index)))
      ticks->open[i].waiting--;
  ticks->members[member->slot] = ticks->members[--ticks->member_count];
  ticks->members[member->slot]->slot = member->slot;
  member->joined = false;
  member->waited = 0;
}

void
tick_expect (struct ticks *ticks, struct tick_member *member, int64_t period_ns, int64_t now_ns)
{
  if (!member->joined)
    member_join (ticks, member);
  member_set_period (ticks, member, period_ns);
  member->expected = index_floor (ticks, now_ns);
}

/* Is one of the frame's groups due at the tick's instant? Also lowers the member's stride: groups with a longer
 * period may meet the ticks more often than that with the shortest. Facts do not count: they are sampled on request. */
static bool
frame_is_due (const struct ticks *ticks, struct tick_member *member, const struct schema *schema,
              const struct report_group *groups, int64_t index)
{
  bool due = false;

  for (size_t i = 0; i < schema->group_count; i++) {
    if (!groups[i].now || schema->groups[i]->flags & GROUP_ONCE)
      continue;
    int64_t own = groups[i].now->period_ns, stride = own > 0 ? stride_of (ticks, own) : member->stride;
    member->stride = stride < member->stride ? stride : member->stride;
    due |= index % stride == 0;
  }
  return due;
}

static bool
sampled_there (const struct ticks *ticks, const struct tick_member *member, int64_t away_ns, int64_t bound_ns)
{
  int64_t period = ticks->options.period_ns;
  int64_t shorter = member->period_ns > 0 && member->period_ns < period ? member->period_ns : period;
  int64_t reach = shorter / 2, slack = shorter / AWAY_PARTS > AWAY_LEAST ? shorter / AWAY_PARTS : AWAY_LEAST;

  if (bound_ns >= 0 && bound_ns < reach - slack)
    reach = bound_ns + slack;
  return away_ns <= reach && away_ns >= -reach;
}

enum tick_place
tick_frame (struct ticks *ticks, struct tick_member *member, const char *node, int64_t time_ns, int64_t bound_ns,
            int64_t period_ns, const struct schema *schema, const struct report_group *groups, int64_t now_ns)
{
  int64_t period = ticks->options.period_ns;
  int64_t index = index_floor (ticks, time_ns + period / 2), away = time_ns - index * period;
  if (!member->joined)
    member_join (ticks, member);
  if (member->period_ns != period_ns || member->stride == 0)
    member_set_period (ticks, member, period_ns);
  bool due = frame_is_due (ticks, member, schema, groups, index);
  if (time_ns > now_ns + period)
    return TICK_MISPLACED;
  if (!sampled_there (ticks, member, away, bound_ns) || (bound_ns >= 0 && !due))
    return TICK_BETWEEN;
  if (ticks->next == NOT_OPEN && ticks->options.after_ns && index * period - period / 2 < ticks->options.after_ns)
    return TICK_BETWEEN;
  if (ticks->next == NOT_OPEN) { /* frames that waited long for the aggregator begin no tick */
    int64_t oldest = index_floor (ticks, now_ns + period / 2) - OPEN_MAX + 1;
    ticks->next = index > oldest ? index : oldest;
  }
  if (index >= ticks->next + OPEN_MAX)
    ticks_advance (ticks, now_ns);
  if (index >= ticks->next + OPEN_MAX) /* only if the caller's times go back */
    return TICK_MISPLACED;
  bool first = index != member->last;
  member->last = index > member->last ? index : member->last; /* a late node is waited for the next time */
  if (index < ticks->next)
    return first ? TICK_LATE : TICK_BETWEEN;
  struct tick *tick = tick_at (ticks, index);
  if (member->reported & tick_bit (index))
    return TICK_BETWEEN;
  member->reported |= tick_bit (index);
  if (member->waited & tick_bit (index)) {
    member->waited &= ~tick_bit (index);
    tick->waiting--;
  }
  tick->first_ns = tick->reporting == 0 || time_ns < tick->first_ns ? time_ns : tick->first_ns;
  tick->last_ns = tick->reporting == 0 || time_ns > tick->last_ns ? time_ns : tick->last_ns;
  if (bound_ns < 0 || tick->bound_ns < 0)
    tick->bound_ns = -1;
  else
    tick->bound_ns = bound_ns > tick->bound_ns ? bound_ns : tick->bound_ns;
  tick->reporting++;
  combine_add (tick->combine, node, schema, groups);
  return TICK_IN;
}

static bool
tick_is_due (const struct ticks *ticks, const struct tick *tick, int64_t now_ns)
{
  int64_t time_ns = tick->index * ticks->options.period_ns;
  if (tick->waiting == 0 && tick->reporting > 0)
    return now_ns >= time_ns;
  return now_ns >= time_ns + ticks->options.grace_ns && now_ns >= ticks->hold_ns;
}

/* After a pause longer than the ring: closes the open ticks that have frames, and skips the others. */
static void
skip_to (struct ticks *ticks, int64_t index)
{
  for (int i = 0; i < OPEN_MAX && ticks->next < index; i++, ticks->next++) {
    struct tick *tick = &ticks->open[ticks->next & (OPEN_MAX - 1)];
    if (tick->index == ticks->next && tick->reporting > 0)
      tick_close (ticks, tick);
    tick->index = NOT_OPEN;
  }
  if (ticks->next < index)
    ticks->next = index;
}

void
ticks_advance (struct ticks *ticks, int64_t now_ns)
{
  int64_t period = ticks->options.period_ns;
  if (now_ns < ticks->now_ns) /* the time of a frame that waited: it was received before the last call */
    now_ns = ticks->now_ns;
  /* The aggregator was stopped: the frames that came meanwhile still get into their ticks. */
  if (ticks->now_ns != INT64_MIN && now_ns - ticks->now_ns > period + ticks->options.grace_ns)
    ticks->hold_ns = now_ns + ticks->options.grace_ns;
  ticks->now_ns = now_ns;
  if (ticks->next == NOT_OPEN)
    return;
  int64_t newest = index_floor (ticks, now_ns + period / 2);
  skip_to (ticks, newest - OPEN_MAX + 1);
  while (ticks->next <= newest) {
    struct tick *tick = tick_at (ticks, ticks->next);
    if (!tick_is_due (ticks, tick, now_ns))
      break;
    tick_close (ticks, tick);
    ticks->next++;
  }
}

int64_t
ticks_next_ns (const struct ticks *ticks)
{
  if (ticks->next == NOT_OPEN)
    return INT64_MAX;
  int64_t time_ns = ticks->next * ticks->options.period_ns;
  const struct tick *tick = &ticks->open[ticks->next & (OPEN_MAX - 1)];
  if (tick->index == ticks->next && tick->waiting == 0 && tick->reporting > 0 && ticks->now_ns < time_ns)
    return time_ns;
  int64_t due = time_ns + ticks->options.grace_ns;
  return due > ticks->hold_ns ? due : ticks->hold_ns;
}

void
ticks_restart (struct ticks *ticks, int64_t now_ns)
{
  for (int64_t i = 0; i < OPEN_MAX && ticks->next != NOT_OPEN; i++) {
    struct tick *tick = &ticks->open[(ticks->next + i) & (OPEN_MAX - 1)];
    if (tick->index == ticks->next + i && tick->reporting > 0)
      tick_close (ticks, tick);
    tick->index = NOT_OPEN;
  }
  for (size_t i = 0; i < ticks->member_count; i++) {
    struct tick_member *member = ticks->members[i];
    bool alive = ticks->next == NOT_OPEN || member_is_alive (member, ticks->next);
    member->last = NOT_OPEN / 2;
    member->expected = alive ? index_floor (ticks, now_ns) : NOT_OPEN / 2;
    member->waited = member->reported = 0;
  }
  ticks->options.after_ns = 0;
  ticks->next = NOT_OPEN;
  ticks->now_ns = now_ns;
  ticks->hold_ns = INT64_MIN;
}
