/* One job on this node: what it is, what it uses now, and what it has used since it began here. */
#ifndef SYNOP_AGENT_JOB_H
#define SYNOP_AGENT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/job/job_accounting.h"
#include "agent/job/job_cgroup.h"
#include "agent/job/job_look.h"

/* What one scan finds of the job's processes. Those that no process has told of are unknown. */
struct job_sums {
  uint64_t processes, threads, rss, vms;
  uint64_t shared, swap, open_files, pss, uss;
  bool status_known, open_known, pss_known, io_known;
  uint64_t grown[PROCESS_COUNTERS]; /* since the last scan */
  uint64_t grown_inside[2];         /* of it, user and system of processes in the job's cgroup */
  uint64_t live[PROCESS_COUNTERS];  /* what the processes that live have counted */
  uint64_t ended;
};

struct job {
  struct job_identity identity;
  char label[JOB_LABEL_SIZE]; /* of its rows: the identity's, or "ID@UID" where another user's job has that */
  char command[64];           /* name of its first process */
  uint32_t cpus;              /* allocated on this node, or else those that it may use; 0: not known */
  struct job_sums now;
  struct job_totals totals;
  struct job_usage usage; /* of its cgroup; JOB_MISSING where not known */
  bool by_cgroup;         /* CPU time comes from there */
  bool changed;           /* what job_info tells; cleared there */
  bool ended;             /* nothing of it lives */
  unsigned shown;         /* since it ended, in groups: a bit for each */
  /* The rest is private to job.c and job_scan.c. */
  uint64_t first_start; /* of the process that `command` is of */
  bool first_helps;     /* that is one that only holds the job's place (SLURM's step "extern") */
  bool trusted;         /* root or a scheduler vouches for it: it takes nobody's share of the places */
  uint32_t payer;       /* else that user's */
  size_t entry;         /* in the accounting file */
  struct job_cgroup *cgroup;
  uint64_t resumed;   /* processes that began before this, in ticks, may have been counted before a restart */
  int64_t resumed_ns; /* when; 0: no more */
  uint64_t credit[PROCESS_COUNTERS]; /* what those have counted then */
  struct job_totals written;         /* in the accounting file */
};

/* NULL: the accounting file has no room. `cpus` are the node's. */
struct job *job_create (const struct job_found *found, const char *label, uint32_t uid, uint32_t cpus,
                        struct job_accounting *accounting, struct cgroup_mounts *mounts, uint64_t now_s,
                        int64_t now_ns);
/* Its entry stays in the accounting file. */
void job_destroy (struct job *job, struct job_accounting *accounting, uint64_t now_s);

/* A process of the job tells more of it. */
void job_learn (struct job *job, const struct job_found *found);
/* A process that may be the first one: its start, and when that was on the wall (0: not known). `helps` as first_helps.
 * True when it is. */
bool job_consider_first (struct job *job, const char *command, uint64_t start, int64_t wall_ns, bool helps);

/* Part of a process's counter that was counted before a restart of the agent. */
uint64_t job_counted_before (struct job *job, uint64_t start, enum process_counter counter, uint64_t value);

/* Takes job->now, reads the cgroup, and writes the totals into the accounting file. `ticks` since the machine was started. */
void job_settle (struct job *job, struct job_accounting *accounting, uint64_t ticks, int64_t now_ns);

#endif
