/* See prober.h. */
#include "agent/uplink/prober.h"

#include <string.h>

#include "agent/uplink/probe_schedule.h"

void
prober_init (struct prober *prober, uint64_t random)
{
  *prober = (struct prober){ .random = random ? random : 1, .next_ns = INT64_MAX };
}

void
prober_start (struct prober *prober, int64_t now_ns)
{
  prober->sent = prober->left = 0;
  prober->t1 = 0;
  prober->has_last = false; /* it may be another aggregator, with a clock of its own */
  prober->first_ns = prober->next_ns = now_ns;
}

void
prober_stop (struct prober *prober)
{
  prober->next_ns = INT64_MAX;
  prober->t1 = 0;
}

bool
prober_runs (const struct prober *prober)
{
  return prober->next_ns != INT64_MAX;
}

static double
random_fraction (struct prober *prober)
{
  prober->random ^= prober->random << 13;
  prober->random ^= prober->random >> 7;
  prober->random ^= prober->random << 17;
  return (double) (prober->random >> 11) * 0x1p-53;
}

void
prober_send (struct prober *prober, int64_t now_ns, struct control *probe)
{
  if (prober->left == 0 || prober->t1 != 0) { /* a probe without an answer is given up */
    prober->left = PROBE_EXCHANGES;
    prober->sent++;
  }
  prober->left--;
  prober->t1 = now_ns;
  prober->next_ns = now_ns + probe_pause_ns (prober->sent, now_ns - prober->first_ns, random_fraction (prober));
  probe->type = CONTROL_PROBE;
  probe->t1 = now_ns;
  probe->has_last = prober->has_last;
  memcpy (probe->last, prober->last, sizeof probe->last);
  prober->has_last = false; /* sent once */
}

bool
prober_take (struct prober *prober, const struct control *answer, int64_t now_ns)
{
  if (prober->t1 == 0 || answer->t1 != prober->t1)
    return false;
  prober->t1 = 0;
  if (!answer->known) {
    prober->left = 0;
    return true;
  }
  prober->has_last = true;
  prober->last[0] = answer->t1;
  prober->last[1] = answer->t2;
  prober->last[2] = answer->t3;
  prober->last[3] = now_ns;
  /* The clock jumped: half a burst measures where it is now. */
  if (answer->has_clock && answer->clock.soon && prober->sent > PROBE_BURST) {
    prober->sent = PROBE_BURST / 2;
    prober->first_ns = now_ns;
    prober->next_ns = now_ns + PROBE_BURST_NS;
  }
  if (prober->left > 0)
    prober->next_ns = now_ns;
  return true;
}
