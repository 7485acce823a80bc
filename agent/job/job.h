/* One job on this node: what it is, what it uses now, and what it has used since it began here. */
#ifndef SYNOP_AGENT_JOB_H
#define SYNOP_AGENT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/job/job_accounting.h"
#include "agent/job/job_cgroup.h"
#include "agent/job/job_inspect.h"

/* What one scan finds of the job's processes. A value that no process gave is unknown. */
struct job_sums {
  uint64_t processes, threads, rss, vms;
  uint64_t shared, swap, open_files, pss, uss;
  bool status_known, open_known, pss_known, io_known;
  uint64_t grown[PROCESS_COUNTERS]; /* since the last scan */
  uint64_t grown_inside[2];         /* of it, user and system of processes in the job's cgroup */
  uint64_t live[PROCESS_COUNTERS];  /* what the processes that live have counted */
  uint64_t ended;
};

/* What groups of energy add up for it; zeros at first. */
struct job_energy {
  uint64_t gpu_mj;  /* of its GPUs */
  double gpu_watts; /* as they draw it now */
  uint64_t used_uj, estimated_uj;
  double watts;
  bool begun;                   /* what follows is of an earlier sample */
  uint64_t cpu_ns, gpu_seen_mj; /* its CPU time, and gpu_mj, then */
};

struct job {
  struct job_identity identity;
  char label[JOB_LABEL_SIZE]; /* of its rows: the identity's, or "ID@UID" if another user's job has that label */
  char command[64];           /* name of its first process */
  uint32_t cpus;              /* allocated on this node, else those that it may use; 0: not known */
  struct job_sums now;
  struct job_totals totals;
  struct job_usage usage; /* of its cgroup; JOB_MISSING where not known */
  bool by_cgroup;         /* CPU time comes from there */
  bool ended;             /* no process lives */
  bool exit_known;        /* "agent run" said how its command ended: */
  unsigned exit_code;
  unsigned shown; /* groups that have shown it since it ended: a bit for each */
  struct job_energy energy;
  /* The rest is private to job.c and job_scan.c. */
  uint64_t first_start; /* of the process that `command` is of */
  bool first_helps;     /* that process only holds the job's allocation (SLURM's step "extern") */
  bool trusted;         /* root or a scheduler vouches for it: it is in no user's share of the job limit */
  uint32_t charged_uid; /* else the user in whose share it is */
  size_t entry;         /* in the accounting file */
  struct job_cgroup *cgroup;
  struct counted *counted;           /* by job_counters.c; NULL: not */
  uint64_t resumed;                  /* ticks; a process that began earlier may have been counted before a restart */
  int64_t resumed_ns;                /* when it was resumed; 0: not, or all was found again */
  uint64_t credit[PROCESS_COUNTERS]; /* what those processes had counted by then */
  struct job_totals written;         /* in the accounting file */
};

/* NULL: the accounting file is full. `cpus`: of the node. */
struct job *job_create (const struct job_found *found, const char *label, uint32_t uid, uint32_t cpus,
                        struct job_accounting *accounting, struct cgroup_mounts *mounts, uint64_t now_s,
                        int64_t now_ns);
/* Its entry stays in the accounting file. */
void job_destroy (struct job *job, struct job_accounting *accounting, uint64_t now_s);

/* Takes over what a process of the job shows of it. */
void job_learn (struct job *job, const struct job_found *found);
/* Offers a process that may be the job's first: its start, and the wall time of that (0: not known). `helps` as
 * first_helps. True when it is the first. */
bool job_consider_first (struct job *job, const char *command, uint64_t start, int64_t wall_ns, bool helps);

/* Returns which part of a process's counter was counted before a restart of the agent. */
uint64_t job_counted_before (struct job *job, uint64_t start, enum process_counter counter, uint64_t value);

/* Takes job->now, reads the cgroup, and writes the totals into the accounting file. `ticks` since the machine was started. */
void job_settle (struct job *job, struct job_accounting *accounting, uint64_t ticks, int64_t now_ns);

#endif
