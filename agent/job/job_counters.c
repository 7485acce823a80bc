/* What each job's processes counted; see job_counters.h.
 *
 * Which processes need events of their own is decided once for each, the older ones first. A process of which the parent
 * was counted when it began has inherited the parent's events; so has one whose parent is gone (it belongs to init now),
 * when it began after the job was first counted. Starts are known to a tick of 10 ms: in the same tick it is taken for one
 * that has inherited them, so that nothing is counted twice.
 *
 * What is to be opened is decided here, at a sample, and opened in a thread (job_opener.h). Nothing more is decided before
 * that was taken, at that sample or at a later one: a process that began meanwhile may have inherited what was just opened.
 *
 * A job whose events suddenly run for less than half of the time has a profiler of its own (perf, likwid, PAPI): it is
 * left alone for a minute. */
#include "agent/job/job_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agent/counters/counter_events.h"
#include "agent/job/job_opener.h"
#include "agent/job/job_scan_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define PATIENCE_NS (5 * NS_PER_MS)
#define PAUSE_NS (60 * NS_PER_S) /* for a job that profiles itself */
#define LOW_SAMPLES 2            /* in a row, after which it is taken to */
#define AT_ONCE 1024             /* cgroups and processes that are decided on at a sample */

struct counted {
  bool present; /* the job was there at the last scan */
  uint32_t uid;
  struct counter_set *set;   /* of one row */
  struct counter_row before; /* what was counted before a pause */
  struct counter_row sums;   /* in all */
  uint64_t from;             /* ticks when it was first counted; 0: not yet */
  size_t folders;            /* cgroups that were looked at */
  bool opening;              /* some of them are not open yet: without them there is no value */
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
  struct job_opener *opener;
  void **gone; /* owners of what is being opened that are no more, or have been stopped */
  size_t gone_count, gone_room;
};

struct job_counters *
job_counters_create (struct counters *counters, struct job_scan *scan)
{
  struct job_counters *all = memory_new (1, sizeof *all);

  all->counters = counters;
  all->scan = scan;
  counter_events_plan_jobs (&all->plan, counters->root);
  all->opener = job_opener_create (counters, &all->plan);
  return all;
}

static struct counter_set *
set_create (struct job_counters *all)
{
  return counter_set_create (all->counters->kernel, &all->counters->budget, 1);
}

/* Closes its events; what is being opened for it is closed when it is there. */
static void
counted_close (struct job_counters *all, struct counted *counted)
{
  job_opener_close (all->opener, counted->set);
  counted->set = NULL;
  if (!job_opener_is_free (all->opener))
    *array_add (all->gone, all->gone_count, all->gone_room) = counted;
}

static void
counted_add (struct job_counters *all, struct job *job)
{
  struct counted *counted = memory_new (1, sizeof *counted);

  counted->uid = job->identity.uid;
  counted->set = set_create (all);
  *array_add (all->list, all->count, all->room) = counted;
  job->counted = counted;
}

/* The sums stay. It is counted anew from the next update on. */
static void
counted_stop (struct job_counters *all, struct counted *counted)
{
  if (counted->from == 0) /* nothing of it is open */
    return;
  counted_close (all, counted);
  counted->set = set_create (all);
  counted->before = counted->sums;
  counted->from = counted->folders = counted->low = 0;
  counted->failure = 0;
  counted->by_cgroup = counted->opening = false;
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
  job_opener_destroy (all->opener);
  for (size_t i = 0; i < all->count; i++) {
    counter_set_destroy (all->list[i]->set);
    free (all->list[i]);
  }
  free (all->list);
  free (all->gone);
  free (all->plan.batches);
  counter_cpus_free (&all->cpus);
  free (all);
}

/* ---- what is to be opened ---- */

static void
user_add (const struct job_counters *all, struct openings *openings, uint32_t uid)
{
  struct opener_user *user;

  for (size_t i = 0; i < openings->user_count; i++)
    if (openings->users[i].uid == uid)
      return;
  user = array_add (openings->users, openings->user_count, openings->user_room);
  *user = (struct opener_user){ .uid = uid };
  for (size_t i = 0; i < all->count; i++)
    if (all->list[i]->uid == uid)
      user->events += counter_set_events (all->list[i]->set);
}

static struct opening *
opening_add (const struct job_counters *all, struct openings *openings, struct counted *counted)
{
  struct opening *opening = array_add (openings->list, openings->count, openings->room);

  *opening = (struct opening){ .owner = counted, .uid = counted->uid };
  user_add (all, openings, counted->uid);
  return opening;
}

static void
add_folders (struct job_counters *all, struct openings *openings, const struct job *job)
{
  struct counted *counted = job->counted;
  const char *path;
  size_t known = 0;

  for (size_t at = 0; (path = job_cgroup_counted (job->cgroup, &at));)
    if (known++ >= counted->folders) {
      counted->opening = true;
      opening_add (all, openings, counted)->folder = memory_string (path);
    }
  if (known > counted->folders)
    counted->folders = known;
}

static bool
has_inherited (struct job_counters *all, const struct counted *counted, const struct process *process)
{
  const struct process *parent = process_find_alive (all->scan, process->parent);

  if (parent && parent->job == process->job)
    return parent->events_from != 0 && process->start >= parent->events_from;
  return process->parent == 1 && counted->from != 0 && process->start >= counted->from;
}

/* Whether its cgroup can be counted is known before. */
static void
add_process (struct job_counters *all, struct openings *openings, struct counted *counted, struct process *process)
{
  if (process->inside && counted->opening)
    return;
  process->has_events = true;
  if (process->inside && counted->by_cgroup)
    return;
  if (has_inherited (all, counted, process))
    process->events_from = process->start;
  else
    opening_add (all, openings, counted)->pid = process->pid;
}

/* ---- what was opened ---- */

static bool
is_gone (const struct job_counters *all, const void *owner)
{
  for (size_t i = 0; i < all->gone_count; i++)
    if (all->gone[i] == owner)
      return true;
  return false;
}

static void
take_folder (struct job_counters *all, struct counted *counted, struct opening *opening)
{
  bool refused = counter_set_events (opening->set) == 0 && opening->failure != -EMFILE;

  counted->opening = false;
  if (refused) { /* the processes are counted */
    job_opener_close (all->opener, opening->set);
    return;
  }
  counted->by_cgroup = true;
  counted->failure = opening->failure ? opening->failure : counted->failure;
  counter_set_join (counted->set, opening->set);
}

static void
take_process (struct job_counters *all, struct counted *counted, struct opening *opening)
{
  struct process *process = process_find_alive (all->scan, opening->pid);

  if (process && process->job->counted == counted)
    process->events_from = opening->ticks;
  counted->failure = opening->failure ? opening->failure : counted->failure;
  counter_set_join (counted->set, opening->set);
}

static void
take_opened (struct job_counters *all)
{
  struct openings openings;

  if (!job_opener_take (all->opener, &openings))
    return;
  for (size_t i = 0; i < openings.count; i++) {
    struct opening *opening = &openings.list[i];
    struct counted *counted = opening->owner;

    if (is_gone (all, counted))
      job_opener_close (all->opener, opening->set);
    else {
      counted->from = counted->from ? counted->from : opening->ticks;
      if (opening->folder)
        take_folder (all, counted, opening);
      else
        take_process (all, counted, opening);
    }
    opening->set = NULL;
  }
  all->gone_count = 0;
  openings_free (&openings);
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
match_jobs (struct job_counters *all, int64_t now_ns)
{
  for (size_t i = 0; i < all->count; i++)
    all->list[i]->present = false;
  for (size_t i = 0; i < job_scan_count (all->scan); i++) {
    struct job *job = job_scan_job (all->scan, i);

    if (!job->counted)
      counted_add (all, job);
    job->counted->present = true;
    if (now_ns >= job->counted->paused_ns)
      job->counted->paused_ns = 0;
  }
  for (size_t i = all->count; i-- > 0;)
    if (!all->list[i]->present) {
      counted_close (all, all->list[i]);
      free (all->list[i]);
      all->list[i] = all->list[--all->count];
    }
}

static void
read_all (struct job_counters *all, int64_t now_ns, struct table *table)
{
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

static void
open_new (struct job_counters *all)
{
  struct openings openings = { .ticks = all->scan->files.live ? 0 : all->scan->ticks };

  if (!job_opener_is_free (all->opener))
    return;
  if (counter_cpus_changed (&all->cpus, all->counters->root))
    counter_cpus_read (&all->cpus, all->counters->root);
  for (size_t i = 0; i < job_scan_count (all->scan) && openings.count < AT_ONCE; i++) {
    struct job *job = job_scan_job (all->scan, i);

    if (job->counted->paused_ns == 0)
      add_folders (all, &openings, job);
  }
  for (struct process *process = all->scan->oldest; process && openings.count < AT_ONCE; process = process->next)
    if (!process->has_events && !process->gone && !process->zombie && process->job->counted->paused_ns == 0)
      add_process (all, &openings, process->job->counted, process);
  if (openings.count == 0)
    return;
  job_opener_open (all->opener, &openings, &all->cpus);
  job_opener_wait (all->opener, clock_monotonic () + PATIENCE_NS);
  take_opened (all);
}

void
job_counters_update (struct job_counters *all, int64_t now_ns, struct table *table)
{
  char reason[160];

  take_opened (all);
  match_jobs (all, now_ns);
  if (!counters_may_count (all->counters, clock_wall (), reason, sizeof reason)) {
    for (size_t i = 0; i < all->count; i++)
      counted_stop (all, all->list[i]);
    table_complain (table, "%s", reason);
    return;
  }
  open_new (all);
  read_all (all, now_ns, table);
}

void
job_counters_wait (struct job_counters *all, int64_t deadline_ns)
{
  job_opener_wait (all->opener, deadline_ns);
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
