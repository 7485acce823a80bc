/* What each job's processes counted; see job_counters.h.
 *
 * Which processes need events of their own is decided once for each, the older ones first. A process of which the parent
 * was counted when it began has inherited the parent's events; so has one whose parent is gone (it belongs to init now),
 * when it began after the job was first counted. Starts are known to a tick of 10 ms: in the same tick it is taken for one
 * that has inherited them, so that nothing is counted twice.
 *
 * Opening events takes long where there are many CPUs, so a sample opens some hundreds, and the next ones go on, the older
 * jobs first; closing likewise. A job has values from when its cgroup is counted on all its CPUs.
 *
 * A job whose events suddenly run for less than half of the time has a profiler of its own (perf, likwid, PAPI): it is
 * left alone for a minute. */
#include "agent/job/job_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/counters/counter_events.h"
#include "agent/job/job_scan_private.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define PAUSE_NS (60 * NS_PER_S) /* for a job that profiles itself */
#define LOW_SAMPLES 2            /* in a row, after which it is taken to */
#define AT_ONCE 512              /* events that a sample opens, and closes; those of one process more */

struct counted {
  bool present; /* the job was there at the last scan */
  uint32_t uid;
  struct counter_set *set;   /* of one row */
  struct counter_row before; /* what was counted before a pause */
  struct counter_row sums;   /* in all */
  uint64_t from;             /* ticks when it was first counted; 0: not yet */
  size_t folders;            /* cgroups that were looked at */
  size_t next_cpu;           /* of the one that is being opened; 0: none is */
  bool opening;              /* they are not all open yet */
  bool by_cgroup;            /* one of them is counted */
  int failure;               /* -errno of an opening */
  double best;               /* share of the time that its events ran, at most */
  unsigned low;              /* samples in a row with less than half of that */
  int64_t paused_ns;         /* until when; 0: it is not */
};

struct job_counters {
  struct counters *counters;
  struct job_scan *scan;
  struct counter_plan plan;
  struct counter_cpus cpus;
  struct counted **list;
  size_t count, room;
  size_t opened; /* in this update */
};

struct job_counters *
job_counters_create (struct counters *counters, struct job_scan *scan)
{
  struct job_counters *all = memory_new (1, sizeof *all);

  all->counters = counters;
  all->scan = scan;
  counter_events_plan_jobs (&all->plan, counters->root);
  return all;
}

static void
counted_destroy (struct counted *counted)
{
  counter_set_destroy (counted->set);
  free (counted);
}

static void
counted_add (struct job_counters *all, struct job *job)
{
  struct counted *counted = memory_new (1, sizeof *counted);

  counted->uid = job->identity.uid;
  counted->set = counter_set_create (all->counters->kernel, &all->counters->budget, 1);
  *array_add (all->list, all->count, all->room) = counted;
  job->counted = counted;
}

/* Closes its events; the sums stay. It is counted anew from the next update on. */
static void
counted_stop (struct job_counters *all, struct counted *counted)
{
  counter_set_close (counted->set);
  counted->before = counted->sums;
  *counter_set_row (counted->set, 0) = (struct counter_row){ 0 };
  counted->from = counted->folders = counted->next_cpu = counted->low = 0;
  counted->failure = 0;
  counted->by_cgroup = false;
  for (struct process *process = all->scan->oldest; process; process = process->next)
    if (process->job->counted == counted)
      process->has_events = false;
}

void
job_counters_destroy (struct job_counters *all)
{
  for (struct process *process = all->scan->oldest; process; process = process->next)
    process->has_events = false;
  for (size_t i = 0; i < job_scan_count (all->scan); i++)
    job_scan_job (all->scan, i)->counted = NULL;
  for (size_t i = 0; i < all->count; i++)
    counted_destroy (all->list[i]);
  free (all->list);
  free (all->plan.batches);
  counter_cpus_free (&all->cpus);
  free (all);
}

/* ---- opening ---- */

/* On a recorded machine: when it was scanned. */
static uint64_t
ticks_now (const struct job_scan *scan)
{
  uint64_t second = (uint64_t) sysconf (_SC_CLK_TCK);
  struct timespec now;

  if (!scan->files.live)
    return scan->ticks;
  clock_gettime (CLOCK_BOOTTIME, &now);
  return (uint64_t) now.tv_sec * second + (uint64_t) now.tv_nsec / (NS_PER_S / second);
}

static bool
user_has_too_many (const struct job_counters *all, const struct counted *counted)
{
  size_t events = 0;

  for (size_t i = 0; i < all->count; i++)
    if (all->list[i]->uid == counted->uid)
      events += counter_set_events (all->list[i]->set);
  return events >= all->counters->budget.most / 2;
}

static void
target_open (struct job_counters *all, struct counted *counted, const struct counter_target *target)
{
  for (size_t i = 0; i < all->plan.count && counted->failure != -EMFILE; i++) {
    int result =
        user_has_too_many (all, counted) ? -EMFILE : counter_set_open (counted->set, 0, &all->plan.batches[i], target);

    if (result < 0 && result != -ESRCH)
      counted->failure = result;
    all->opened += all->plan.batches[i].count;
  }
  if (counted->from == 0)
    counted->from = ticks_now (all->scan);
}

/* Counts the cgroup on the CPUs that its tasks may use: where it does not say so, on all. False: the next sample goes on. */
static bool
folder_open (struct job_counters *all, struct counted *counted, const char *path)
{
  int folder = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  size_t i = counted->next_cpu;
  char list[1024];

  if (folder < 0)
    return true;
  fact_text (list, sizeof list, "", "%s/cpuset.cpus.effective", path);
  for (; i < all->cpus.count && all->opened < AT_ONCE; i++) {
    int cpu = all->cpus.list[i].number;

    if (!list[0] || scan_list_has (scan_over (list, strlen (list)), (uint64_t) cpu))
      target_open (all, counted, &(struct counter_target){ .pid = folder, .cpu = cpu, .flags = PERF_FLAG_PID_CGROUP });
  }
  close (folder);
  counted->next_cpu = i < all->cpus.count ? i : 0;
  return counted->next_cpu == 0;
}

/* False: not all are open yet. */
static bool
folders_open (struct job_counters *all, struct counted *counted, const struct job *job)
{
  const char *path;
  size_t known = 0;

  for (size_t at = 0; (path = job_cgroup_counted (job->cgroup, &at));)
    if (known++ >= counted->folders) {
      if (all->opened >= AT_ONCE || !folder_open (all, counted, path))
        return false;
      counted->folders = known;
    }
  if (counter_set_events (counted->set) > 0) {
    counted->by_cgroup |= known > 0;
  } else if (counted->failure != -EMFILE) { /* the kernel refuses: processes are counted */
    counter_set_close (counted->set);
    counted->failure = 0;
  }
  return true;
}

static void
threads_open (struct job_counters *all, struct counted *counted, const struct process *process)
{
  struct names threads = { 0 };

  names_read (&threads, "", all->scan->root, "/proc/%d/task", (int) process->pid);
  for (size_t i = 0; i < threads.count; i++)
    target_open (all, counted,
                 &(struct counter_target){ .pid = (pid_t) atoi (threads.list[i]), .cpu = -1, .inherit = true });
  names_free (&threads);
}

static bool
has_inherited (struct job_counters *all, const struct counted *counted, const struct process *process)
{
  const struct process *parent = process_find_alive (all->scan, process->parent);

  if (parent && parent->job == process->job)
    return parent->events_from != 0 && process->start >= parent->events_from;
  return process->parent == 1 && counted->from != 0 && process->start >= counted->from;
}

static void
process_count (struct job_counters *all, struct counted *counted, struct process *process)
{
  process->has_events = true;
  if (process->inside && counted->by_cgroup)
    return;
  if (has_inherited (all, counted, process))
    process->events_from = process->start;
  else {
    threads_open (all, counted, process);
    process->events_from = ticks_now (all->scan);
  }
}

/* ---- reading ---- */

static void
read_sums (struct counted *counted)
{
  counter_set_read (counted->set);
  counted->sums = *counter_set_row (counted->set, 0);
  for (size_t i = 0; i < COUNTER_COLUMNS_MAX; i++)
    counted->sums.sums[i] += counted->before.sums[i];
}

static bool
profiles_itself (struct counted *counted)
{
  double running = counted->sums.running;

  if (isnan (running))
    return false;
  counted->best = fmax (counted->best, running);
  counted->low = running < counted->best / 2 ? counted->low + 1 : 0;
  return counted->low >= LOW_SAMPLES;
}

static void
complain (const struct job_counters *all, const struct job *job, struct table *table)
{
  const struct counted *counted = job->counted;
  char remedy[160];

  if (counted->paused_ns != 0)
    table_complain (table, "job %.32s counts by itself, or somebody does beside it (perf, likwid, PAPI): not counted",
                    job->label);
  else if (counted->failure != 0) {
    counter_remedy (remedy, sizeof remedy, all->counters->root, -counted->failure);
    table_complain (table, "job %.32s: %s", job->label, remedy);
  }
}

/* ---- an update ---- */

static void
prepare (struct job_counters *all)
{
  all->opened = 0;
  if (counter_cpus_changed (&all->cpus, all->counters->root))
    counter_cpus_read (&all->cpus, all->counters->root);
  for (size_t i = 0; i < all->count; i++)
    all->list[i]->present = false;
}

static void
open_new (struct job_counters *all, int64_t now_ns)
{
  for (size_t i = 0; i < job_scan_count (all->scan); i++) {
    struct job *job = job_scan_job (all->scan, i);

    if (!job->counted)
      counted_add (all, job);
    job->counted->present = true;
    if (now_ns >= job->counted->paused_ns)
      job->counted->paused_ns = 0;
    job->counted->opening = job->counted->paused_ns == 0 && !folders_open (all, job->counted, job);
  }
  for (struct process *process = all->scan->oldest; process && all->opened < AT_ONCE; process = process->next) {
    struct counted *counted = process->job->counted;

    if (!process->has_events && !process->gone && !process->zombie && counted->paused_ns == 0)
      process_count (all, counted, process);
  }
}

static void
drop_absent (struct job_counters *all)
{
  size_t closed = 0;

  for (size_t i = all->count; i-- > 0 && closed < AT_ONCE;)
    if (!all->list[i]->present) {
      closed += counter_set_events (all->list[i]->set);
      counted_destroy (all->list[i]);
      all->list[i] = all->list[--all->count];
    }
}

void
job_counters_update (struct job_counters *all, int64_t now_ns, struct table *table)
{
  char reason[160];

  if (!counters_may_count (all->counters, clock_wall (), reason, sizeof reason)) {
    for (size_t i = 0; i < all->count; i++)
      counted_stop (all, all->list[i]);
    table_complain (table, "%s", reason);
    return;
  }
  prepare (all);
  open_new (all, now_ns);
  drop_absent (all);
  for (size_t i = 0; i < job_scan_count (all->scan); i++) {
    struct job *job = job_scan_job (all->scan, i);

    if (job->counted->paused_ns == 0) {
      read_sums (job->counted);
      if (profiles_itself (job->counted)) {
        counted_stop (all, job->counted);
        job->counted->paused_ns = now_ns + PAUSE_NS;
      }
    }
    complain (all, job, table);
  }
}

/* All of it is counted: what a part of its processes, or of its CPUs, counted would be too low. */
static bool
is_counted (const struct counted *counted)
{
  return counted->from != 0 && counted->paused_ns == 0 && !counted->opening && counted->failure != -EMFILE;
}

const struct counter_row *
job_counters_of (const struct job *job)
{
  return job->counted && is_counted (job->counted) ? &job->counted->sums : NULL;
}
