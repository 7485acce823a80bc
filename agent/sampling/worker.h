/* A worker runs a sampler that may block (a dead file server, a driver, a metadata service), so that no other
 * sampler waits for it. The sampler says before each sample whether it may block. If so the sample is taken in the
 * worker's thread, which is made for the first of these and sleeps between them. If not it is taken at once, without
 * a thread: a machine without such hazards pays nothing for the worker. */
#ifndef SYNOP_AGENT_WORKER_H
#define SYNOP_AGENT_WORKER_H

#include <stdint.h>

#include "agent/sampling/sampler.h"
#include "synop/table.h"

struct worker;

/* The worker owns `state`, which the sampler's `open` made, and closes it, maybe long after worker_destroy. So such
 * a state keeps its own copies of what it needs, and nothing of the context. */
struct worker *worker_create (const struct sampler *sampler, void *state); /* one with `may_block` */

/* Starts a sample, if none is under way; one that will not block is done when this returns. */
void worker_begin (struct worker *worker);

/* Waits until the sample is done, at most until `deadline_ns` (clock_monotonic). True: `table` is the newest
 * finished sample, its monotonic_ns the time when it began; its period_ns stays. False: no new one; the table is
 * begun and its error "timed out". The sample continues, later calls do not wait for it again, and the first call
 * after its end returns it. */
bool worker_collect (struct worker *worker, struct table *table, int64_t deadline_ns);

/* A sample is under way in its thread. */
bool worker_busy (struct worker *worker);

/* Never waits for a sample that is under way: its thread is left to itself and frees all at its end. */
void worker_destroy (struct worker *worker);

#endif
