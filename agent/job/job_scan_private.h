/* What the parts of a scan share: job_scan.c, job_follow.c (known processes), job_discover.c (new ones) and job_owner.c
 * (their jobs). */
#ifndef SYNOP_AGENT_JOB_SCAN_PRIVATE_H
#define SYNOP_AGENT_JOB_SCAN_PRIVATE_H

#include <unistd.h>

#include "agent/job/job_pids.h"
#include "agent/job/job_process.h"
#include "agent/job/job_scan.h"
#include "agent/job/job_user.h"
#include "agent/source/reader.h"
#include "synop/clock.h"

#define JOB_BUCKETS 4096
#define LOG_PAUSE (60 * NS_PER_S) /* between two lines of one kind */

struct process {
  struct process *next, *previous; /* the older ones first */
  struct process *chain;           /* in its bucket */
  pid_t pid, parent;
  uint64_t start;
  struct job *job;
  bool inside;          /* of the job's cgroup */
  bool helps;           /* only holds the job's allocation */
  bool first;           /* its name is the job's command */
  bool fresh;           /* not in the sums yet */
  bool zombie;          /* ended, and its parent has not waited for it yet */
  bool gone;            /* to be reaped */
  bool lonely;          /* it does not wait for its children: they leave no debt */
  bool denied;          /* its I/O may not be read */
  bool has_events;      /* of its own, of its job's cgroup, or those of the process that started it: job_counters.c */
  uint64_t events_from; /* ticks: what it starts later inherits its events; 0: nothing does */
  bool idle;            /* it has used little lately: its CPU clock is read first */
  bool status_known, open_known, pss_known, pss_asked;
  int stat_fd, io_fd;
  uint64_t clock_ns; /* what that was */
  uint64_t threads, rss, vms, shared, swap, open_files, pss, uss;
  uint64_t now[PROCESS_COUNTERS], counted[PROCESS_COUNTERS];
  uint64_t owed[PROCESS_REAPED], owed_before[PROCESS_REAPED];
  int64_t slow_ns, pss_ns; /* when those reads are due */
};

struct pending { /* a process that named no job, but may still have the environment of its parent */
  pid_t pid;
  uint64_t start;
  unsigned tries;
  int64_t due_ns;
};

enum job_held {                 /* why a job is left out */
                JOB_HELD_FULL,  /* the limit is reached by jobs of root and of schedulers */
                JOB_HELD_SHARE, /* the user with most jobs begins more, or has lost one */
                JOB_HELD_FAST,  /* the user begins too many in a short time */
};

struct job_scan {
  struct process_files files;
  int proc_error; /* -errno */
  char *root, *accounting_path, *socket;
  int ends; /* that socket; -1: none */
  int64_t pss_period_ns;
  struct job_pids *pids;
  struct job_worker *identity_worker, *rollup;
  struct cgroup_mounts *mounts;
  struct job_accounting *accounting; /* NULL before the first job */
  struct reader uptime;
  uint32_t cpus;
  uint64_t memory;
  int64_t memory_ns; /* when it was read */

  struct process *oldest, *youngest;
  struct process *buckets[JOB_BUCKETS];
  size_t process_count;
  struct pending *pending;
  size_t pending_count, pending_capacity;
  struct job *jobs[JOBS_MAX];
  size_t job_count;
  struct job_users users;
  unsigned groups;

  /* Of the current scan. */
  int64_t now_ns, wall_ns;
  uint64_t ticks, ticks_before; /* since the machine was started: now, and at the last scan */
  uint64_t ticks_first;         /* at the first scan: jobs that ran then do not count as begun too fast */
  bool started;                 /* the first one is done */
  size_t denied;                /* processes whose environment may not be read, since the start */
  size_t io_denied;
  enum job_held held; /* why the last job was left out */
  uint32_t held_user;
  int64_t held_ns;    /* when; 0: none was */
  int64_t logged_ns;  /* when that was logged; 0: never */
  int64_t claimed_ns; /* when a claim of two users on one job was logged; 0: never */
  char error[160];
};

static inline uint64_t
job_scan_seconds (const struct job_scan *scan) /* since the machine was started */
{
  return scan->ticks / (uint64_t) sysconf (_SC_CLK_TCK);
}

/* ---- job_follow.c ---- */

/* The process with that id that began no later than `before`; it may be gone. NULL: there is none. */
struct process *process_find (struct job_scan *scan, pid_t pid, uint64_t before);
struct process *process_find_alive (struct job_scan *scan, pid_t pid);
/* Adds a process to the job and reads it for the first time. */
void process_adopt (struct job_scan *scan, pid_t pid, const struct process_stat *stat, struct job *job, bool inside,
                    bool helps);
void process_remove (struct job_scan *scan, struct process *process);
void processes_read (struct job_scan *scan);
void processes_reap (struct job_scan *scan); /* those that are gone */
/* Adds what it has used since the last sums to those of its job. */
void process_sum (struct process *process);

/* ---- job_discover.c ---- */

bool job_discover_new (void *scan, pid_t pid); /* a job_pids_fn */
void job_discover_pending (struct job_scan *scan);
void job_discover_later (struct job_scan *scan, pid_t pid, uint64_t start); /* a process whose job was removed */
void job_discover_answers (struct job_scan *scan);

/* ---- job_owner.c ---- */

/* The job of a process that began at `start` (ticks). NULL: none, or `undecided`: the process has to be inspected again. */
struct job *job_owner (struct job_scan *scan, const struct job_found *found, uint64_t start, unsigned tries,
                       bool *undecided);
/* Drops the job with the processes that it still has. */
void job_owner_drop (struct job_scan *scan, size_t index);

#endif
