/* A made-up machine with processes, for the tests of job scans: a /proc of files that the test writes. */
#ifndef SYNOP_TESTS_JOB_MACHINE_H
#define SYNOP_TESTS_JOB_MACHINE_H

#include "agent/job/job_scan.h"
#include "synop/clock.h"
#include "tests/unit/agent/sampler_test.h"

struct machine {
  struct scratch scratch;
  struct job_scan *scan;
  int64_t now_ns;
  int64_t stuck_ns; /* 0: the default */
  char accounting[96];
};

struct made { /* a process; times in ticks of 10 ms */
  int pid, parent;
  const char *comm;        /* NULL: "work" */
  const char *environment; /* "A=1 B=2"; NULL: of nobody's job */
  const char *cgroup;      /* NULL: "0::/" */
  unsigned start, user, system, children_user;
  unsigned long chars; /* read */
  char state;          /* 0: 'S' */
  bool deaf;           /* ignores SIGCHLD */
  bool thread;         /* no process */
};

static inline void
machine_write (const struct machine *machine, int pid, const char *name, const char *text, size_t length)
{
  char path[64];

  snprintf (path, sizeof path, "/proc/%d/%s", pid, name);
  scratch_write_bytes (&machine->scratch, path, text, length);
}

static inline void
machine_put (const struct machine *machine, struct made made)
{
  const char *cgroup = made.cgroup ? made.cgroup : "0::/";
  char text[1024], *at;
  int length;

  length =
      snprintf (text, sizeof text,
                "%d (%s) %c %d 1 1 0 -1 4194304 10 0 0 0 %u %u %u 0 20 0 2 0 %u 8192000 100 18446744073709551615 1 "
                "1 0 0 0 0 0 0 0 0 0 0 %d 0 0 0\n",
                made.pid, made.comm ? made.comm : "work", made.state ? made.state : 'S', made.parent, made.user,
                made.system, made.children_user, made.start, made.thread ? -1 : 17);
  if (made.state == 'Z')
    text[strlen (text) - 1] = '\n';
  at = made.state == 'Z' ? strstr (text, " 20 0 2 0 ") : NULL;
  if (at)
    at[6] = '1'; /* threads */
  machine_write (machine, made.pid, "stat", text, (size_t) length);
  length = snprintf (text, sizeof text,
                     "rchar: %lu\nwchar: 0\nsyscr: 3\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 0\n"
                     "cancelled_write_bytes: 0\n",
                     made.chars);
  machine_write (machine, made.pid, "io", text, (size_t) length);
  length = snprintf (text, sizeof text,
                     "Name:\twork\nRssFile:\t 40 kB\nRssShmem:\t 4 kB\nVmSwap:\t 8 kB\nSigIgn:\t%s\n"
                     "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n",
                     made.deaf ? "0000000000010000" : "0000000000000000");
  machine_write (machine, made.pid, "status", text, (size_t) length);
  machine_write (machine, made.pid, "smaps_rollup", "Pss: 30 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 16 kB\n", 53);
  machine_write (machine, made.pid, "cgroup", cgroup, strlen (cgroup));
  length = snprintf (text, sizeof text, "PATH=/bin%s%s", made.environment ? " " : "",
                     made.environment ? made.environment : "");
  for (at = text; *at; at++)
    if (*at == ' ')
      *at = 0;
  machine_write (machine, made.pid, "environ", text, (size_t) length + 1);
}

static inline void
machine_needs_root (void)
{
  if (geteuid () == 0)
    return;
  print_message ("# skipped: only root can make files of other users\n");
  skip ();
}

/* The process is that user's, and nobody else may read its environment and I/O. */
static inline void
machine_give_to (const struct machine *machine, int pid, uid_t user)
{
  const char *const files[] = { "stat", "io", "status", "smaps_rollup", "cgroup", "environ" };
  char path[256];

  snprintf (path, sizeof path, "%s/proc/%d", machine->scratch.root, pid);
  assert_int_equal (chown (path, user, user), 0);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    snprintf (path, sizeof path, "%s/proc/%d/%s", machine->scratch.root, pid, files[i]);
    assert_int_equal (chown (path, user, user), 0);
    if (strcmp (files[i], "io") == 0 || strcmp (files[i], "environ") == 0)
      assert_int_equal (chmod (path, 0400), 0);
  }
}

static inline void
machine_children (const struct machine *machine, int pid, const char *children)
{
  char path[64];

  snprintf (path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
  scratch_write (&machine->scratch, path, children);
}

static inline void
machine_end (const struct machine *machine, int pid)
{
  char path[32];

  snprintf (path, sizeof path, "/proc/%d", pid);
  scratch_remove (&machine->scratch, path);
}

static inline void
machine_uptime (const struct machine *machine)
{
  char text[64];

  snprintf (text, sizeof text, "%.2f 0.00\n", (double) machine->now_ns / 1e9);
  scratch_write (&machine->scratch, "/proc/uptime", text);
}

static inline void
machine_init (struct machine *machine)
{
  *machine = (struct machine){ .now_ns = 1000 * NS_PER_S };
  scratch_init (&machine->scratch);
  snprintf (machine->accounting, sizeof machine->accounting, "%s/jobs", machine->scratch.root);
  machine_uptime (machine);
  scratch_write (&machine->scratch, "/proc/meminfo", "MemTotal:        4000 kB\n");
  scratch_write (&machine->scratch, "/proc/sys/kernel/random/boot_id", "one\n");
  scratch_write (&machine->scratch, "/sys/devices/system/cpu/online", "0-3\n");
}

static inline void
machine_open (struct machine *machine, const char *accounting)
{
  const struct job_scan_options options = { .root = machine->scratch.root,
                                            .environment = "BATCH_NAME",
                                            .pss_period_ns = 30 * NS_PER_S,
                                            .accounting = accounting,
                                            .stuck_ns = machine->stuck_ns };

  machine->scan = job_scan_create (&options);
}

/* Waits for what is asked in threads, so that the next scan has it. */
static inline void
machine_scan (struct machine *machine)
{
  machine->now_ns += NS_PER_S;
  machine_uptime (machine);
  assert_int_equal (job_scan_run (machine->scan, machine->now_ns, INT64_C (1700000000) * NS_PER_S + machine->now_ns),
                    0);
  assert_true (job_scan_wait (machine->scan, clock_monotonic () + 60 * NS_PER_S));
}

static inline void
machine_free (struct machine *machine)
{
  job_scan_destroy (machine->scan);
  scratch_free (&machine->scratch);
}

static inline struct job *
machine_job (const struct machine *machine, const char *label)
{
  for (size_t i = 0; i < job_scan_count (machine->scan); i++) {
    struct job *job = job_scan_job (machine->scan, i);

    if (strcmp (job->label, label) == 0)
      return job;
  }
  return NULL;
}

static inline struct job *
machine_need_job (const struct machine *machine, const char *label)
{
  struct job *job = machine_job (machine, label);

  if (!job)
    fail_msg ("there is no job %s", label);
  return job;
}

#define TICKS(count) ((uint64_t) (count) *UINT64_C (10000000)) /* ns */

#endif
