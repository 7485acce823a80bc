/* One process of a job: what /proc holds about it, read through files that stay open. Parsers, which are pure, and reading. */
#ifndef SYNOP_AGENT_JOB_PROCESS_H
#define SYNOP_AGENT_JOB_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Totals since the process began. Times are nanoseconds. */
enum process_counter {
  PROCESS_USER,
  PROCESS_SYSTEM,
  PROCESS_READ_BYTES,
  PROCESS_WRITE_BYTES,
  PROCESS_READ_CHARS,
  PROCESS_WRITE_CHARS,
  PROCESS_READ_CALLS,
  PROCESS_WRITE_CALLS,
  /* Those above include children that it has waited for; those below are its own. */
  PROCESS_VOLUNTARY,
  PROCESS_INVOLUNTARY,
  PROCESS_STARTED, /* 1 */
  PROCESS_COUNTERS,
  PROCESS_REAPED = PROCESS_VOLUNTARY,
};

struct process_stat { /* /proc/PID/stat */
  char comm[64];
  char state;
  pid_t parent;
  bool kernel;                 /* a thread of the kernel */
  bool thread;                 /* the id is of a thread, not of a process */
  uint64_t user_ns, system_ns; /* with the children that it has waited for */
  uint64_t threads, start;     /* start: clock ticks since the machine was started */
  uint64_t vms, rss;           /* bytes */
};
bool process_stat_parse (struct process_stat *stat, const char *text, size_t length);
bool process_stat_is_zombie (const struct process_stat *stat); /* ended, and its parent has not waited for it */

/* Into counters[PROCESS_READ_BYTES ... PROCESS_WRITE_CALLS]. False: the text is not of that file. */
bool process_io_parse (uint64_t counters[PROCESS_COUNTERS], const char *text, size_t length);

struct process_status {  /* /proc/PID/status */
  uint64_t shared, swap; /* bytes */
  uint64_t voluntary, involuntary;
  bool ignores_children; /* SIGCHLD is ignored: the kernel adds its children's use nowhere */
};
bool process_status_parse (struct process_status *status, const char *text, size_t length);

/* /proc/PID/smaps_rollup: bytes. */
bool process_rollup_parse (uint64_t *pss, uint64_t *uss, const char *text, size_t length);

/* ---- reading ---- */

/* How /proc is read; one for all processes. */
struct process_files {
  int proc;              /* ROOT/proc */
  bool live;             /* the kernel's and no recording: files may stay open */
  bool own;              /* its ids are those of this program's namespace */
  size_t kept, kept_max; /* descriptors */
  char text[8192];       /* room for one file */
};
int process_files_open (struct process_files *files, const char *root); /* 0, or -errno */
void process_files_close (struct process_files *files);

/* Reads ROOT/proc/PID/NAME into files->text, cut to it and NUL-terminated; its length, or -errno. */
int process_files_read (struct process_files *files, pid_t pid, const char *name);
/* The same, from *fd if that is not -1. Keeps it open there when there is room for it. */
int process_files_read_kept (struct process_files *files, pid_t pid, const char *name, int *fd);
void process_files_let_go (struct process_files *files, int *fd);
/* CPU time of the process to the nanosecond, at a tenth of the cost of a file; 0: cannot be known. While it stands still
 * the process has not run, so nothing of it has changed but memory that was taken from it. */
uint64_t process_files_clock (const struct process_files *files, pid_t pid);
/* Calls `child` for each child of the process, of all its threads. */
void process_files_children (const struct process_files *files, pid_t pid, void (*child) (void *context, pid_t pid),
                             void *context);
/* How many files the process has open; -1: cannot be known. */
int64_t process_files_count_open (const struct process_files *files, pid_t pid);

#endif
