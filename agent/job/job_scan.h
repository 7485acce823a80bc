/* Finds the processes of jobs, follows them, and sums up what each job uses. One scan serves all job groups.
 *
 * A new process is inspected once for its job; a child of a job's process belongs to that job without being inspected. It
 * stays with its job whatever becomes of it. Nothing here waits for a process that hangs: reads that may hang are done in
 * threads (job_inspect.h). Each scan reads two files for each process of a job, and nothing of others. */
#ifndef SYNOP_AGENT_JOB_SCAN_H
#define SYNOP_AGENT_JOB_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/job/job.h"

struct job_scan_options {
  const char *root;
  const char *environment; /* further variables that name a job, "A,B" */
  int64_t pss_period_ns;
  const char *accounting; /* file of the totals; "": in memory */
  const char *socket;     /* at which "agent run" says how commands ended; NULL or "": none */
  int64_t stuck_ns;       /* after which a read that hangs is given up; 0: the default */
};

struct job_scan;
struct job_scan *job_scan_create (const struct job_scan_options *options);
void job_scan_destroy (struct job_scan *scan);

/* -1: /proc cannot be read; job_scan_error says why. */
int job_scan_run (struct job_scan *scan, int64_t monotonic_ns, int64_t wall_ns);
/* Waits until threads have answered all queries, for tests. False: not before `deadline_ns`. */
bool job_scan_wait (struct job_scan *scan, int64_t deadline_ns);

size_t job_scan_count (const struct job_scan *scan);
struct job *job_scan_job (const struct job_scan *scan, size_t index);
/* The job of that process; NULL: of none that is known. */
const struct job *job_scan_owner (struct job_scan *scan, pid_t pid);
/* The processes of the job with that label, the older first, at most so many; returns how many. */
size_t job_scan_pids (const struct job_scan *scan, const char *label, pid_t *pids, size_t most);
/* A job that has ended is dropped at the next scan once all of these groups (bits) have shown it. */
void job_scan_set_groups (struct job_scan *scan, unsigned groups);

/* Why not all jobs can be seen: "" when they can. */
const char *job_scan_error (const struct job_scan *scan);
/* Processes of jobs whose I/O may not be read. */
size_t job_scan_io_denied (const struct job_scan *scan);
uint64_t job_scan_memory (const struct job_scan *scan); /* bytes that the node has; 0: not known */

#endif
