/* What the parts of a scan share: job_scan.c, job_follow.c (processes that are known), job_seek.c (those that are new)
 * and job_owner.c (whose they are). */
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
  bool inside; /* of the job's cgroup */
  bool helps;  /* only holds the job's place */
  bool first;  /* the job's command is its name */
  bool fresh;  /* not in the sums yet */
  bool zombie; /* ended, and its parent has not waited for it yet */
  bool gone;   /* to be reaped */
  bool lonely; /* it does not wait for its children: they leave no debt */
  bool denied; /* its I/O may not be read */
  bool idle;   /* it has used little lately: its CPU clock is looked at first */
  bool status_known, open_known, pss_known, pss_asked;
  int stat_fd, io_fd;
  uint64_t clock_ns; /* what that was */
  uint64_t threads, rss, vms, shared, swap, open_files, pss, uss;
  uint64_t now[PROCESS_COUNTERS], counted[PROCESS_COUNTERS];
  uint64_t owed[PROCESS_REAPED], owed_before[PROCESS_REAPED];
  int64_t slow_ns, pss_ns; /* when they are due */
};

struct pending { /* a process that named no job yet, but may still have the environment of who started it */
  pid_t pid;
  uint64_t start;
  unsigned tries;
  int64_t due_ns;
};

enum job_held {                 /* why a job is left out */
                JOB_HELD_FULL,  /* all places are taken by jobs of root and of schedulers */
                JOB_HELD_SHARE, /* the user who has most places wants more, or had to give one */
                JOB_HELD_FAST,  /* the user begins too many in a short time */
};

struct job_scan {
  struct process_files files;
  int proc_error; /* -errno */
  char *root, *accounting_path;
  int64_t pss_period_ns;
  struct job_pids *pids;
  struct job_worker *look, *rollup;
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

  /* Of the scan that is under way. */
  int64_t now_ns, wall_ns;
  uint64_t ticks, ticks_before; /* since the machine was started: now, and at the last scan */
  uint64_t ticks_first;         /* at the first scan: what ran then was not begun too fast */
  bool started;                 /* the first one is done */
  size_t denied;                /* processes whose environment may not be read, since the start */
  size_t io_denied;
  enum job_held held; /* why the last one was */
  uint32_t held_user;
  int64_t held_ns;    /* when; 0: none was */
  int64_t logged_ns;  /* when that was logged; 0: never */
  int64_t claimed_ns; /* when it was logged that two users claim one job; 0: never */
  char error[160];
};

static inline uint64_t
job_scan_seconds (const struct job_scan *scan) /* since the machine was started */
{
  return scan->ticks / (uint64_t) sysconf (_SC_CLK_TCK);
}

/* ---- job_follow.c ---- */

/* The one with that id that began no later than `before`; it may be gone. NULL: there is none. */
struct process *process_find (struct job_scan *scan, pid_t pid, uint64_t before);
struct process *process_find_alive (struct job_scan *scan, pid_t pid);
/* A process of that job from now on, read for the first time. */
void process_adopt (struct job_scan *scan, pid_t pid, const struct process_stat *stat, struct job *job, bool inside,
                    bool helps);
void process_remove (struct job_scan *scan, struct process *process);
void processes_read (struct job_scan *scan);
void processes_reap (struct job_scan *scan); /* those that are gone */
/* What it has used since the last sums, into its job's. */
void process_sum (struct process *process);

/* ---- job_seek.c ---- */

bool job_seek_new (void *scan, pid_t pid); /* a job_pids_fn */
void job_seek_again (struct job_scan *scan);
void job_seek_later (struct job_scan *scan, pid_t pid, uint64_t start); /* a process whose job made room */
void job_seek_answers (struct job_scan *scan);

/* ---- job_owner.c ---- */

/* Of a process that began at `start` (ticks). NULL: it is of none, or `undecided`: it has to be looked at again. */
struct job *job_owner (struct job_scan *scan, const struct job_found *found, uint64_t start, unsigned tries,
                       bool *undecided);
/* With what is left of its processes. */
void job_owner_drop (struct job_scan *scan, size_t index);

#endif
