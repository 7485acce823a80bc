/* When the groups are sampled, and their tables.
 *
 * A group is due at the multiples of its period, so groups whose periods fit each other are sampled together, and so
 * are nodes whose clocks agree. Groups that are due at one instant make one sample: one frame, one line. */
#ifndef SYNOP_AGENT_SAMPLING_H
#define SYNOP_AGENT_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#include "agent/sampling/sampler.h"
#include "synop/metric.h"
#include "synop/table.h"

/* Maps this machine's CLOCK_MONOTONIC to the clock whose multiples count: at here_ns + x that one reads there_ns + x
 * * (1 + drift). All zero: its own clock. */
struct sampling_clock {
  int64_t here_ns, there_ns;
  double drift; /* seconds gained in a second: 50e-6 for a clock there that is 50 ppm faster */
};

/* The first instant after `after_ns` (CLOCK_MONOTONIC, as the result) that is a multiple of the period there. */
int64_t sampling_next_instant (const struct sampling_clock *clock, int64_t after_ns, int64_t period_ns);

struct sample {
  int64_t monotonic_ns, wall_ns; /* when it began; every table bears the same time */
  size_t count;
  struct table *const *tables; /* those that were due, in the order of reports; each valid until its group's next */
  const size_t *slots;         /* the place of each in sampling_groups */
};

struct sampling;

/* Opens the samplers whose period is not 0. `context` must outlive it. */
struct sampling *sampling_create (const struct sampler *const *samplers, const int64_t *periods_ns, size_t count,
                                  const struct sampler_context *context);
void sampling_destroy (struct sampling *sampling);

/* For a new configuration: closes all samplers, then opens others, or the same, as sampling_create does. One that
 * hangs in its worker gives "timed out" until it returns, however often this is done: it has one thread. */
void sampling_close (struct sampling *sampling);
void sampling_open (struct sampling *sampling, const struct sampler *const *samplers, const int64_t *periods_ns,
                    size_t count, const struct sampler_context *context);

const struct group *const *sampling_groups (const struct sampling *sampling, size_t *count); /* the open ones */
int64_t sampling_shortest_period (const struct sampling *sampling);

/* Gives the calling thread, which samples, the lowest real-time priority. Nodes that sample at one instant wait for
 * other threads that run at that instant: on busy machines for milliseconds, and on idle ones for the threads that
 * the last step of a sample wakes. Only this thread has the priority: threads of libzmq and workers are reset.
 * Agents that share a CPU could not preempt each other, so each yields after each group. */
void sampling_hurry (struct sampling *sampling);
void sampling_calm (struct sampling *sampling); /* back to the ordinary one */

/* All groups are due at that instant, whatever their periods; the multiples count from then on. */
void sampling_start (struct sampling *sampling, int64_t instant_ns);
/* The next sample carries the GROUP_ONCE groups too, as the first one does. */
void sampling_ask_facts (struct sampling *sampling);

/* Switches to that clock: due times move to its nearest multiples. */
void sampling_set_clock (struct sampling *sampling, const struct sampling_clock *clock);

int64_t sampling_next_due (const struct sampling *sampling); /* INT64_MAX before sampling_start */
/* Samples what is due by now. Missed instants are skipped. */
void sampling_run (struct sampling *sampling, int64_t now_ns, struct sample *sample);
/* Skips what is due by now. */
void sampling_skip (struct sampling *sampling, int64_t now_ns);

#endif
