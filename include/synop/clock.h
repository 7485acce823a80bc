/* The only place that reads a clock. Times are int64_t nanoseconds. */
#ifndef SYNOP_CLOCK_H
#define SYNOP_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_S INT64_C (1000000000)
#define NS_PER_MS INT64_C (1000000)

int64_t clock_monotonic (void); /* CLOCK_MONOTONIC: starts anywhere, never steps */
int64_t clock_wall (void);      /* CLOCK_REALTIME: since 1970, may step */
/* By how much the wall clock is ahead of the monotonic one: of readings so close that being interrupted does not matter. */
int64_t clock_wall_ahead (void);

#define CLOCK_TEXT_SIZE 40
/* RFC 3339 in UTC with nine digits: "2026-11-21T15:20:44.123456789Z". Returns its length. */
size_t clock_text (int64_t wall_ns, char text[CLOCK_TEXT_SIZE]);

#endif
