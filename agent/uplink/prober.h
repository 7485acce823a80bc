/* The agent's side of clock probes: when the next one is sent (probe_schedule.h), and what it carries. Pure: the caller
 * gives the time and sends. */
#ifndef SYNOP_AGENT_PROBER_H
#define SYNOP_AGENT_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/control.h"

struct prober {
  uint64_t random;  /* state of xorshift, not 0 */
  unsigned sent;    /* probes since the burst began */
  unsigned left;    /* exchanges of the last probe that are still to come */
  int64_t first_ns; /* when it began */
  int64_t next_ns;  /* when the next exchange begins; INT64_MAX: none */
  int64_t t1;       /* of the exchange that waits for its answer; 0: none */
  bool has_last;
  int64_t last[4]; /* times of the last answered exchange */
};

void prober_init (struct prober *prober, uint64_t random);
/* The connection came up: a burst begins. */
void prober_start (struct prober *prober, int64_t now_ns);
void prober_stop (struct prober *prober);
bool prober_runs (const struct prober *prober);
/* Fills in the message of an exchange that begins now, and schedules the next one. */
void prober_send (struct prober *prober, int64_t now_ns, struct control *probe);
/* Takes an answer that was read at `now_ns`; next_ns may become earlier. False: no exchange waits for it. An answer that
 * does not know the session ends the probe, and its times are not used. */
bool prober_take (struct prober *prober, const struct control *answer, int64_t now_ns);

#endif
