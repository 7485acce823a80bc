/* A lane runs a sampler that may block (a dead file server, a driver, a metadata service), so that the others never
 * wait for it. The sampler says before each sample whether it may block. If so the sample is taken in a thread of the
 * lane's own, which is made for the first of these and sleeps between them. If not it is taken at once, without a
 * thread: a machine that has nothing that could hang pays nothing for the lane. */
#ifndef SYNOP_AGENT_LANE_H
#define SYNOP_AGENT_LANE_H

#include <stdint.h>

#include "agent/sampling/sampler.h"
#include "synop/table.h"

struct lane;

/* From then on the lane owns `state`, which the sampler's `open` made: it closes it, maybe long after lane_destroy. So
 * a state that goes into a lane keeps its own copies of what it needs, and nothing of the context. */
struct lane *lane_create (const struct sampler *sampler, void *state); /* one with `may_block` */

/* Starts a sample, if none is under way; one that will not block is done when this returns. */
void lane_begin (struct lane *lane);

/* Waits until the sample is done, at most until `deadline_ns` (clock_monotonic). True: `table` is the newest sample
 * done, its monotonic_ns the time when it began; its period_ns stays. False: nothing new; the table is begun and its
 * error "timed out". The sample goes on then, later calls do not wait for it again, and the first that finds it done
 * gives it. */
bool lane_collect (struct lane *lane, struct table *table, int64_t deadline_ns);

/* A sample is under way in its thread. */
bool lane_busy (struct lane *lane);

/* Never waits for a sample that is under way: its thread is left to itself and frees all at its end. */
void lane_destroy (struct lane *lane);

#endif
