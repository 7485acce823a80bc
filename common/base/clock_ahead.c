/* Two clocks read as one; see clock.h. */
#include "synop/clock.h"

#define CLOSE_NS 2000
#define READINGS_MAX 5

int64_t
clock_wall_ahead (void)
{
  int64_t ahead_ns = 0, closest_ns = INT64_MAX;

  for (int i = 0; i < READINGS_MAX && closest_ns > CLOSE_NS; i++) {
    int64_t before_ns = clock_monotonic (), wall_ns = clock_wall (), took_ns = clock_monotonic () - before_ns;

    if (took_ns < closest_ns) {
      closest_ns = took_ns;
      ahead_ns = wall_ns - before_ns - took_ns / 2;
    }
  }
  return ahead_ns;
}
