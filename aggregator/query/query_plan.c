/* Which steps an answer has, and from which tier each of them comes; see query_private.h.
 *
 * Steps begin at multiples of their length in local time. A coarse tier is taken where it reaches over whole steps, since
 * it is the fastest; what it does not reach over comes from the next finer one. Its range begins with a whole block, of
 * which only a part may be there: what a finer tier has of that block comes from there. */
#include <inttypes.h>
#include <stdlib.h>

#include "aggregator/query/query_private.h"
#include "synop/array.h"
#include "synop/clock.h"

#define MINUTE (60 * NS_PER_S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

const int64_t plan_spans[HISTORY_TIERS] = { [HISTORY_FRAMES] = 0, [HISTORY_MINUTES] = MINUTE, [HISTORY_HOURS] = HOUR };
static const int64_t blocks[HISTORY_TIERS] = {
  [HISTORY_MINUTES] = HOUR, [HISTORY_HOURS] = DAY
}; /* what its range is whole in */

static int64_t
nice_step (int64_t interval_ns, int64_t wanted)
{
  static const int64_t nice[] = { NS_PER_S, 2 * NS_PER_S, 5 * NS_PER_S, 10 * NS_PER_S, 15 * NS_PER_S, 30 * NS_PER_S,
                                  MINUTE,   2 * MINUTE,   5 * MINUTE,   10 * MINUTE,   15 * MINUTE,   30 * MINUTE,
                                  HOUR,     2 * HOUR,     3 * HOUR,     6 * HOUR,      12 * HOUR };
  int64_t days;

  for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++)
    if (interval_ns / nice[i] <= wanted)
      return nice[i];
  days = interval_ns / DAY / wanted;
  return (days ? days : 1) * DAY;
}

static int64_t
step_down (int64_t time_ns, int64_t step_ns, int64_t offset_ns)
{
  int64_t rest = (time_ns + offset_ns) % step_ns;

  return time_ns - (rest < 0 ? rest + step_ns : rest);
}

static int64_t
step_up (int64_t time_ns, int64_t step_ns, int64_t offset_ns)
{
  int64_t down = step_down (time_ns, step_ns, offset_ns);

  return down < time_ns ? down + step_ns : down;
}

static void
add_piece (struct plan *plan, size_t tier, int64_t from_ns, int64_t to_ns)
{
  struct query_piece *last = plan->count ? &plan->pieces[plan->count - 1] : NULL;

  if (from_ns >= to_ns)
    return;
  if (last && last->tier == (enum history_tier) tier && last->to_ns == from_ns)
    last->to_ns = to_ns;
  else
    *array_add (plan->pieces, plan->count, plan->room) =
        (struct query_piece){ (enum history_tier) tier, from_ns, to_ns };
}

/* A tier suits whose points all lie within a step. */
static bool
suits (size_t tier, int64_t step_ns, int64_t offset_ns)
{
  int64_t span = plan_spans[tier];

  return span == 0 || (step_ns % span == 0 && offset_ns % span == 0);
}

static int64_t
between (int64_t number, int64_t low, int64_t high)
{
  return number < low ? low : number > high ? high : number;
}

/* From which step on a finer tier than this has something. */
static int64_t
finer_from (const struct plan *plan, size_t level, int64_t offset_ns, const struct plan_tier *tiers)
{
  int64_t least = INT64_MAX / 2;

  for (size_t i = 0; i < level; i++)
    if (tiers[i].there && tiers[i].from_ns < least)
      least = tiers[i].from_ns;
  return step_up (least, plan->step_ns, offset_ns);
}

/* From tier `level` on, to finer ones. */
static void
plan_pieces (struct plan *plan, int64_t from_ns, int64_t to_ns, int64_t offset_ns, size_t level,
             const struct plan_tier *tiers)
{
  const struct plan_tier *tier = &tiers[level];
  int64_t from, to, finer, whole;

  if (from_ns >= to_ns)
    return;
  if (level == HISTORY_FRAMES) {
    from = tier->there ? step_down (tier->from_ns, plan->step_ns, offset_ns) : to_ns;
    add_piece (plan, level, from < from_ns ? from_ns : from, to_ns);
    return;
  }
  from = tier->there ? step_up (tier->from_ns, plan->step_ns, offset_ns) : to_ns;
  to = tier->there ? step_down (tier->to_ns, plan->step_ns, offset_ns) : to_ns;
  from = from < from_ns ? from_ns : from;
  to = to > to_ns ? to_ns : to;
  if (from >= to || !suits (level, plan->step_ns, offset_ns)) {
    plan_pieces (plan, from_ns, to_ns, offset_ns, level - 1, tiers);
    return;
  }
  finer = finer_from (plan, level, offset_ns, tiers);
  whole = step_up (tier->from_ns + blocks[level], plan->step_ns, offset_ns);
  finer = between (finer, from, to);
  whole = between (whole, finer, to);
  plan_pieces (plan, from_ns, from, offset_ns, level - 1, tiers);
  add_piece (plan, level, from, finer);
  plan_pieces (plan, finer, whole, offset_ns, level - 1, tiers);
  add_piece (plan, level, whole, to);
  plan_pieces (plan, to, to_ns, offset_ns, level - 1, tiers);
}

/* Where the finer tiers do not reach back to the beginning and a coarser one reaches further, the step becomes a multiple
 * of its points. */
static int64_t
widened (int64_t step_ns, int64_t from_ns, int64_t offset_ns, const struct plan_tier *tiers)
{
  int64_t oldest = tiers[HISTORY_FRAMES].there ? tiers[HISTORY_FRAMES].from_ns : INT64_MAX, wider = step_ns;

  for (size_t i = HISTORY_FRAMES + 1; i < HISTORY_TIERS && oldest > from_ns; i++) {
    if (!tiers[i].there || tiers[i].from_ns > oldest - blocks[i] || offset_ns % plan_spans[i] != 0)
      continue;
    wider = step_up (wider, plan_spans[i], 0);
    oldest = tiers[i].from_ns;
  }
  return wider;
}

int
plan_make (struct plan *plan, int64_t from_ns, int64_t to_ns, int64_t step_ns, size_t wanted, int64_t offset_ns,
           const struct plan_tier tiers[HISTORY_TIERS], struct error *error)
{
  int64_t interval = to_ns - from_ns, step = step_ns ? step_ns : nice_step (interval, (int64_t) wanted);

  *plan = (struct plan){ 0 };
  if (step > interval && step_ns)
    return error_set (error, "must be no longer than the interval, which is %.9gs", (double) interval / NS_PER_S);
  plan->step_ns = widened (step, from_ns, offset_ns, tiers);
  plan->wider = plan->step_ns > step;
  if (interval / plan->step_ns > QUERY_POINTS_MAX)
    return error_set (error, "makes %" PRId64 " steps of the interval, over %d; choose a longer one",
                      interval / plan->step_ns, QUERY_POINTS_MAX);
  plan->from_ns = step_down (from_ns, plan->step_ns, offset_ns);
  plan->to_ns = step_up (to_ns, plan->step_ns, offset_ns);
  plan->steps = (size_t) ((plan->to_ns - plan->from_ns) / plan->step_ns);
  plan_pieces (plan, plan->from_ns, plan->to_ns, offset_ns, HISTORY_TIERS - 1, tiers);
  return 0;
}
