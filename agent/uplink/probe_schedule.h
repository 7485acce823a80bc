/* When an agent probes the aggregator's clock: in a short burst, so that there is a usable offset at once, then ever more
 * seldom, so that the limits of the model spread over the minutes that fit a frequency, and at last at a steady pace. Each
 * pause is jittered, so that ten thousand agents that were started at once do not probe at once. After the burst there is
 * less than one exchange a second whatever the jitter.
 *
 * A probe is two exchanges, the second right after the answer to the first. The first finds threads asleep and caches cold
 * all along its way there and less so on the way back, and half of that difference is an error of the estimate; the second
 * finds all awake (chrony's "presend" is there for the same reason). Measured between hosts of one machine, the median
 * error falls from 70 to 6 us and the bound from 320 to 80 us; the second exchange costs the aggregator a third of the
 * first. The longest pause stays below the silence after which an agent connects anew. */
#ifndef SYNOP_PROBE_SCHEDULE_H
#define SYNOP_PROBE_SCHEDULE_H

#include <stdint.h>

#define PROBE_EXCHANGES 2 /* of one probe */
#define PROBE_BURST 4     /* probes */
#define PROBE_BURST_NS INT64_C (200000000)
#define PROBE_FIRST_NS INT64_C (3000000000)
#define PROBE_REST_NS INT64_C (40000000000)

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
