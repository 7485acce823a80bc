/* See job_scan.h. A scan reads the known processes, takes the answers of threads, checks new processes, reaps those that
 * ended, and sums up for each job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job/job_scan_private.h"
#include "agent/job/run_end.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define FIRST_WAIT (100 * NS_PER_MS) /* for the answers, so that the first sample has the jobs already */
#define MEMORY_PERIOD (60 * NS_PER_S)
#define HELD_SHOWN (15 * NS_PER_S) /* longer than the interval at which waiting processes are inspected again */

static void
ask_pss (struct job_scan *scan)
{
  for (struct process *process = scan->oldest; process; process = process->next)
    if (!process->pss_asked && !process->zombie && scan->now_ns >= process->pss_ns) {
      process->pss_ns = scan->now_ns + scan->pss_period_ns - NS_PER_S / 2; /* the scan nearest to it */
      process->pss_asked =
          job_worker_ask (scan->rollup, &(struct worker_query){ .pid = process->pid, .start = process->start });
    }
}

static void
sum_up (struct job_scan *scan)
{
  scan->io_denied = 0;
  for (struct process *process = scan->oldest; process; process = process->next) {
    process_sum (process);
    scan->io_denied += process->denied && !process->zombie;
  }
  for (size_t i = 0; i < scan->job_count; i++) {
    struct job *job = scan->jobs[i];

    job_settle (job, scan->accounting, scan->ticks, scan->now_ns);
    if (job->now.processes == 0 && !job->ended) {
      job->ended = true;
      job->shown = 0;
    }
  }
}

/* Drops jobs that all groups have shown to the end, and clears what the last scan found of the others. */
static void
begin_sums (struct job_scan *scan)
{
  for (size_t i = scan->job_count; i-- > 0;) {
    struct job *job = scan->jobs[i];

    if (job->ended && (job->shown & scan->groups) == scan->groups)
      job_owner_drop (scan, i);
    else
      memset (&job->now, 0, sizeof job->now);
  }
}

/* Ends that "agent run" has said: of the user's own jobs, root's word of all. */
static void
take_ends (struct job_scan *scan)
{
  struct run_end end;

  while (run_end_take (scan->ends, &end))
    for (size_t i = 0; i < scan->job_count; i++) {
      struct job *job = scan->jobs[i];
      if (job->identity.scheduler != JOB_SYNOP || strcmp (job->identity.id, end.job) != 0 ||
          (end.uid != 0 && end.uid != job->identity.uid))
        continue;
      job->exit_known = true;
      job->exit_code = end.exit_code;
    }
}

static void
read_machine (struct job_scan *scan)
{
  char text[64], *unit;
  uint64_t kilobytes;
  int length = reader_read_value (&scan->uptime, text, sizeof text);

  scan->ticks_before = scan->ticks;
  scan->ticks = length > 0 ? (uint64_t) (strtod (text, NULL) * (double) sysconf (_SC_CLK_TCK)) : 0;
  if (!scan->started)
    scan->ticks_first = scan->ticks;
  if (scan->memory_ns && scan->now_ns - scan->memory_ns < MEMORY_PERIOD)
    return;
  scan->memory_ns = scan->now_ns;
  scan->memory = 0;
  cgroup_mounts_refresh (scan->mounts);
  if (fact_text (text, sizeof text, scan->root, "/proc/meminfo") && strncmp (text, "MemTotal:", 9) == 0) {
    kilobytes = strtoull (text + 9, &unit, 10);
    scan->memory = strcmp (unit, " kB") == 0 ? kilobytes * 1024 : 0;
  }
}

static void
describe_held (struct job_scan *scan)
{
  unsigned user = scan->held_user;
  char *text = scan->error;
  size_t size = sizeof scan->error;

  if (scan->held == JOB_HELD_FULL)
    snprintf (text, size, "there are more than %d jobs on this node: others are left out, as of user %u", JOBS_MAX,
              user);
  else if (scan->held == JOB_HELD_SHARE)
    snprintf (text, size, "the limit of %d jobs is reached, %u of them of user %u: more of that user's are left out",
              JOBS_MAX, (unsigned) job_users_count (&scan->users, user), user);
  else
    snprintf (text, size, "user %u begins more than %d jobs at once and one in %d s: the others wait", user,
              JOB_USER_BURST, (int) (JOB_USER_PAUSE_NS / NS_PER_S));
}

static void
find_error (struct job_scan *scan)
{
  uint32_t user;

  scan->error[0] = 0;
  if (scan->held_ns != 0 && scan->now_ns - scan->held_ns < HELD_SHOWN)
    describe_held (scan);
  else if (job_worker_hung (scan->identity_worker, &user) != 0)
    snprintf (scan->error, sizeof scan->error, "reading processes of user %u hangs: of those only the cgroup is known",
              user);
  else if (scan->denied)
    snprintf (scan->error, sizeof scan->error,
              "other users' processes cannot be read: run as root or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to "
              "see all of their jobs");
  if (scan->held_ns == scan->now_ns && (scan->logged_ns == 0 || scan->now_ns - scan->logged_ns > LOG_PAUSE)) {
    log_warning ("jobs: %s", scan->error);
    scan->logged_ns = scan->now_ns;
  }
}

int
job_scan_run (struct job_scan *scan, int64_t monotonic_ns, int64_t wall_ns)
{
  scan->now_ns = monotonic_ns;
  scan->wall_ns = wall_ns;
  if (scan->proc_error < 0)
    return -1;
  read_machine (scan);
  begin_sums (scan);
  processes_read (scan);
  take_ends (scan);
  job_discover_answers (scan);
  job_pids_find (scan->pids, scan->now_ns, job_discover_new, scan);
  job_discover_pending (scan);
  if (!scan->started) {
    job_worker_wait (scan->identity_worker, clock_monotonic () + FIRST_WAIT);
    job_discover_answers (scan);
  }
  scan->started = true;
  processes_reap (scan);
  sum_up (scan);
  ask_pss (scan);
  find_error (scan);
  return 0;
}

/* 0: not known, as on a recorded machine. */
static uint32_t
count_cpus (const char *root)
{
  char text[4096];
  uint64_t count;
  long here;

  if (fact_text (text, sizeof text, root, "/sys/devices/system/cpu/online") &&
      scan_list_count (scan_over (text, strlen (text)), &count))
    return (uint32_t) count;
  if (root[0])
    return 0;
  here = sysconf (_SC_NPROCESSORS_ONLN);
  return here > 0 ? (uint32_t) here : 1;
}

struct job_scan *
job_scan_create (const struct job_scan_options *options)
{
  struct job_scan *scan = memory_new (1, sizeof *scan);
  struct error error;

  scan->proc_error = process_files_open (&scan->files, options->root);
  if (scan->proc_error < 0)
    snprintf (scan->error, sizeof scan->error, "%.100s/proc: %s", options->root, strerror (-scan->proc_error));
  scan->root = memory_string (options->root);
  scan->accounting_path = memory_string (options->accounting);
  scan->pss_period_ns = options->pss_period_ns;
  scan->pids = job_pids_create (options->root, scan->files.own);
  scan->identity_worker = job_inspect_create (options->root, options->environment, options->stuck_ns);
  scan->rollup = job_rollup_create (options->root, options->stuck_ns);
  scan->mounts = cgroup_mounts_create (options->root);
  scan->cpus = count_cpus (options->root);
  reader_init (&scan->uptime, options->root, "/proc/uptime");
  scan->socket = memory_string (options->socket ? options->socket : "");
  scan->ends = *scan->socket ? run_end_listen (scan->socket, &error) : -1;
  if (*scan->socket && scan->ends < 0)
    log_debug ("jobs: %s", error.text);
  return scan;
}

void
job_scan_destroy (struct job_scan *scan)
{
  if (!scan)
    return;
  while (scan->job_count)
    job_owner_drop (scan, scan->job_count - 1);
  job_worker_destroy (scan->identity_worker);
  job_worker_destroy (scan->rollup);
  job_pids_destroy (scan->pids);
  job_accounting_destroy (scan->accounting);
  cgroup_mounts_destroy (scan->mounts);
  process_files_close (&scan->files);
  reader_free (&scan->uptime);
  free (scan->pending);
  job_users_free (&scan->users);
  free (scan->root);
  free (scan->accounting_path);
  run_end_close (scan->ends, scan->socket);
  free (scan->socket);
  free (scan);
}

bool
job_scan_wait (struct job_scan *scan, int64_t deadline_ns)
{
  return job_worker_wait (scan->identity_worker, deadline_ns) && job_worker_wait (scan->rollup, deadline_ns);
}

size_t
job_scan_count (const struct job_scan *scan)
{
  return scan->job_count;
}

struct job *
job_scan_job (const struct job_scan *scan, size_t index)
{
  return scan->jobs[index];
}

void
job_scan_set_groups (struct job_scan *scan, unsigned groups)
{
  scan->groups = groups;
}

const char *
job_scan_error (const struct job_scan *scan)
{
  return scan->error;
}

size_t
job_scan_io_denied (const struct job_scan *scan)
{
  return scan->io_denied;
}

uint64_t
job_scan_memory (const struct job_scan *scan)
{
  return scan->memory;
}

const struct job *
job_scan_owner (struct job_scan *scan, pid_t pid)
{
  const struct process *process = process_find_alive (scan, pid);

  return process ? process->job : NULL;
}

size_t
job_scan_pids (const struct job_scan *scan, const char *label, pid_t *pids, size_t most)
{
  size_t count = 0;

  for (const struct process *at = scan->oldest; at && count < most; at = at->next)
    if (at->job && !at->gone && !at->zombie && strcmp (at->job->label, label) == 0)
      pids[count++] = at->pid;
  return count;
}
