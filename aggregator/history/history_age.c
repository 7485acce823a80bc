/* See history_age.h. */
#include "aggregator/history/history_age.h"

#include <stdbool.h>

#include "synop/clock.h"

#define SLACK (60 * NS_PER_S) /* tolerance: clocks are slewed, and set by some seconds */

void
history_age_begin (struct history_age *age, int64_t newest_ns, int64_t monotonic_ns)
{
  *age = (struct history_age){ .wall_ns = newest_ns, .at_ns = monotonic_ns };
}

int64_t
history_age_now (struct history_age *age, int64_t wall_ns, int64_t monotonic_ns)
{
  int64_t on_ns = age->wall_ns + (monotonic_ns - age->at_ns);
  bool ahead = age->wall_ns != 0 && wall_ns - on_ns > SLACK;

  if (!ahead)
    age->ahead_ns = 0;
  else if (age->ahead_ns == 0)
    age->ahead_ns = monotonic_ns;
  if (ahead && monotonic_ns - age->ahead_ns >= HISTORY_AGE_PATIENCE) {
    ahead = false;
    age->ahead_ns = 0;
  }
  age->wall_ns = ahead ? on_ns : wall_ns;
  age->at_ns = monotonic_ns;
  return age->wall_ns;
}
