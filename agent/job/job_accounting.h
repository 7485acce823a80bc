/* What each job has used so far, in a small mapped file, so that an agent that is killed or restarted goes on where it
 * was. An entry is written in two copies by turns, each with a checksum, so that a kill at any moment leaves one whole.
 * An entry stays when its job's last process has ended, in case the job goes on; the oldest of these make room. */
#ifndef SYNOP_AGENT_JOB_ACCOUNTING_H
#define SYNOP_AGENT_JOB_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/job/job_identity.h"
#include "agent/job/job_process.h"
#include "synop/error.h"

#define JOBS_MAX 1024                   /* jobs at a time */
#define JOB_ACCOUNTING_ENTRIES 1280     /* with those that have ended */
#define JOB_ACCOUNTING_KEPT_S (60 * 60) /* after the end */

enum job_flow { /* totals that a cgroup counts */
                FLOW_USER,
                FLOW_SYSTEM,
                FLOW_OOM_KILLS,
                FLOW_READ_BYTES,
                FLOW_WRITE_BYTES,
                JOB_FLOWS
};

/* Nothing here falls while the job is known but `live` and `flow_last`. */
struct job_totals {
  uint64_t total[PROCESS_COUNTERS]; /* user and system: as reported, whatever the source */
  uint64_t
      live[PROCESS_COUNTERS]; /* the part of `total` that living processes have counted: found again after a restart */
  uint64_t ended;             /* processes */
  uint64_t usage;             /* CPU nanoseconds divided by the CPUs allocated */
  uint64_t inside[2];         /* user and system of processes in the job's cgroup */
  uint64_t flow[JOB_FLOWS], flow_last[JOB_FLOWS]; /* what the cgroup counted, and what it said last */
  uint32_t flow_known;                            /* a bit for each that was ever read */
  uint32_t uid;                                   /* the job's; the same label of another user is another job */
  uint64_t rss_peak;
  int64_t started_ns; /* wall time of the first process; 0: not known */
  uint64_t updated;   /* clock ticks since the machine was started */
};

struct job_accounting;
/* `path` "": in memory. `now_s`: seconds since the machine was started. Never fails: where it cannot be a file,
 * `warning` says why and it is in memory; it is "" when all is well. `boot` identifies a boot of the machine: totals of an
 * earlier one are void. */
struct job_accounting *job_accounting_create (const char *path, const char *boot, uint64_t now_s,
                                              struct error *warning);
void job_accounting_destroy (struct job_accounting *accounting);

/* The entry of that job, with what it has used so far in `totals`; with zeros when there was none, when it was another
 * user's, or when it ended more than JOB_ACCOUNTING_KEPT_S ago. SIZE_MAX: JOB_ACCOUNTING_ENTRIES jobs are alive. */
size_t job_accounting_take (struct job_accounting *accounting, const char *label, uint32_t uid, uint64_t now_s,
                            struct job_totals *totals);
void job_accounting_write (struct job_accounting *accounting, size_t entry, const struct job_totals *totals);
/* The job has ended; its entry is kept for a while. */
void job_accounting_give_back (struct job_accounting *accounting, size_t entry, uint64_t now_s);

#endif
