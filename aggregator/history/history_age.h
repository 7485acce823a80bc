/* The time by which the history's age counts. A wall clock that is set months ahead, by whoever's mistake, would have all
 * that is there deleted at once: so it is believed at once when it goes back or on, but only after a day when it jumps
 * ahead. Pure: the caller reads the clocks. */
#ifndef SYNOP_AGGREGATOR_HISTORY_AGE_H
#define SYNOP_AGGREGATOR_HISTORY_AGE_H

#include <stdint.h>

#define HISTORY_AGE_PATIENCE (INT64_C (24) * 3600 * 1000000000) /* ns */

struct history_age {
  int64_t wall_ns, at_ns; /* what it was, and when by the monotonic clock; 0: take the clock as it is */
  int64_t ahead_ns;       /* since when, by the monotonic clock, the wall clock is ahead; 0: it is not */
};

/* Begins anew: `newest_ns` is the time of the newest that is stored, 0: nothing is. */
void history_age_begin (struct history_age *age, int64_t newest_ns, int64_t monotonic_ns);
/* Now, in ns since 1970. */
int64_t history_age_now (struct history_age *age, int64_t wall_ns, int64_t monotonic_ns);

#endif
