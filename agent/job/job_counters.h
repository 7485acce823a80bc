/* What each job's processes counted by perf events, those that ended too.
 *
 * A job with a folder of cgroup v2, or of v1's hierarchy perf_event, is counted by events of that cgroup on the CPUs that it may use. Processes outside of
 * it, and those of a job without one, have events of their own, which what they start later inherits. Descriptors are
 * limited: a user's jobs have at most half of those that there are. */
#ifndef SYNOP_AGENT_JOB_COUNTERS_H
#define SYNOP_AGENT_JOB_COUNTERS_H

#include "agent/counters/counter_node.h"
#include "agent/job/job_scan.h"

struct job_counters;
/* May take a moment: a library is loaded. */
struct job_counters *job_counters_create (struct counters *counters, struct job_scan *scan);
void job_counters_destroy (struct job_counters *job_counters);

/* After each scan: has what is new opened, and reads what is open. Opening is waited for for a few milliseconds; what takes
 * longer is read from a later update on. Complaints go to `table`. */
void job_counters_update (struct job_counters *job_counters, int64_t now_ns, struct table *table);
/* Waits until what is new is open, and what was stopped closed, at most until that time (clock_monotonic). */
void job_counters_wait (struct job_counters *job_counters, int64_t deadline_ns);
/* The sums of the job; NULL: it is not counted now. */
const struct counter_row *job_counters_of (const struct job *job);

#endif
