/* The clock for the age of data. If somebody sets the wall clock months ahead by mistake, all data would be too old
 * and be deleted at once. So a wall clock that jumps ahead is followed only after a day; one that goes back, or on
 * as usual, at once. Pure: the caller reads the clocks. */
#ifndef SYNOP_AGGREGATOR_HISTORY_AGE_H
#define SYNOP_AGGREGATOR_HISTORY_AGE_H

#include <stdint.h>

#define HISTORY_AGE_PATIENCE (INT64_C (24) * 3600 * 1000000000) /* ns */

struct history_age {
  int64_t wall_ns, at_ns; /* the last wall time, and its monotonic time; 0: follow the wall clock */
  int64_t ahead_ns;       /* monotonic time since which the wall clock is ahead; 0: it is not */
};

/* Starts: `newest_ns` is the time of the newest stored data; 0: none. */
void history_age_begin (struct history_age *age, int64_t newest_ns, int64_t monotonic_ns);
/* Now, in ns since 1970. */
int64_t history_age_now (struct history_age *age, int64_t wall_ns, int64_t monotonic_ns);

#endif
