/* When an agent probes the aggregator's clock: a short burst, so that there is a usable offset at once, then ever more
 * seldom, so that the limits of the model spread over the minutes that fit a frequency, and at last at rest. Each pause
 * is jittered, so that ten thousand agents that were started at once do not probe at once. */
#ifndef SYNOP_PROBE_SCHEDULE_H
#define SYNOP_PROBE_SCHEDULE_H

#include <stdint.h>

#define PROBE_BURST 8
#define PROBE_BURST_NS INT64_C (200000000)
#define PROBE_FIRST_NS INT64_C (1500000000)
#define PROBE_REST_NS INT64_C (25000000000)

/* The pause after probe number `sent` (1, 2, ...), `since_ns` after the first; `random` is uniform in 0 to 1. */
static inline int64_t
probe_pause_ns (unsigned sent, int64_t since_ns, double random)
{
  if (sent < PROBE_BURST)
    return PROBE_BURST_NS;
  int64_t pause = since_ns / 24;
  pause = pause < PROBE_FIRST_NS ? PROBE_FIRST_NS : pause > PROBE_REST_NS ? PROBE_REST_NS : pause;
  return pause + (int64_t) ((double) pause * (random - 0.5) * 2 / 3);
}

#endif
