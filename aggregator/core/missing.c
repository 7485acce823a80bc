/* See missing.h. The lists are short: most nodes miss nothing, and a cut link makes one range. */
#include "aggregator/core/missing.h"

#include <stdlib.h>
#include <string.h>

#include "synop/array.h"

void
missing_free (struct missing *missing)
{
  free (missing->ranges);
  *missing = (struct missing){ 0 };
}

static bool
overlaps (const struct missing_range *range, uint64_t session, uint64_t from, uint64_t to)
{
  return range->session == session && range->from <= to && range->to >= from;
}

bool
missing_find (const struct missing *missing, uint64_t session, uint64_t from, uint64_t to, struct missing_range *found)
{
  for (size_t i = 0; i < missing->count; i++) {
    const struct missing_range *range = &missing->ranges[i];

    if (!overlaps (range, session, from, to))
      continue;
    *found =
        (struct missing_range){ session, range->from > from ? range->from : from, range->to < to ? range->to : to };
    return true;
  }
  return false;
}

bool
missing_has (const struct missing *missing, uint64_t session, uint64_t sequence)
{
  struct missing_range found;

  return missing->count != 0 && missing_find (missing, session, sequence, sequence, &found);
}

/* Makes room for a range at `index`; false when there is none. */
static bool
missing_insert (struct missing *missing, size_t index, const struct missing_range *range)
{
  if (missing->count == MISSING_RANGES_MAX)
    return false;
  array_reserve (missing->ranges, missing->capacity, missing->count + 1);
  memmove (&missing->ranges[index + 1], &missing->ranges[index], (missing->count - index) * sizeof missing->ranges[0]);
  missing->ranges[index] = *range;
  missing->count++;
  return true;
}

static void
take_out (struct missing *missing, size_t index)
{
  missing->count--;
  memmove (&missing->ranges[index], &missing->ranges[index + 1], (missing->count - index) * sizeof missing->ranges[0]);
}

bool
missing_add (struct missing *missing, uint64_t session, uint64_t from, uint64_t to)
{
  struct missing_range range = { session, from, to };

  for (size_t i = 0; i < missing->count; i++) {
    struct missing_range *other = &missing->ranges[i];

    if (overlaps (other, session, from, to)) { /* what lies before it, then what lies behind it */
      uint64_t end = other->to;

      if (from < other->from && !missing_add (missing, session, from, other->from - 1))
        return false;
      return to <= end || missing_add (missing, session, end + 1, to);
    }
  }
  for (size_t i = 0; i < missing->count; i++)
    if (missing->ranges[i].session == session && missing->ranges[i].to + 1 == from) {
      missing->ranges[i].to = to;
      missing->frames += to - from + 1;
      return true;
    }
  if (!missing_insert (missing, missing->count, &range))
    return false;
  missing->frames += to - from + 1;
  return true;
}

bool
missing_remove (struct missing *missing, uint64_t session, uint64_t from, uint64_t to)
{
  for (size_t i = 0; i < missing->count;) {
    struct missing_range *range = &missing->ranges[i];
    struct missing_range behind = { session, to + 1, range->to };

    if (!overlaps (range, session, from, to)) {
      i++;
      continue;
    }
    if (range->from < from && range->to > to) {
      if (!missing_insert (missing, i + 1, &behind))
        return false;
      missing->frames -= to - from + 1;
      missing->ranges[i].to = from - 1;
      return true;
    }
    if (range->from < from) {
      missing->frames -= range->to - from + 1;
      range->to = from - 1;
    } else if (range->to > to) {
      missing->frames -= to - range->from + 1;
      range->from = to + 1;
    } else {
      missing->frames -= range->to - range->from + 1;
      take_out (missing, i);
      continue;
    }
    i++;
  }
  return true;
}
