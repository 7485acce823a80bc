/* New processes: which of them belong to a job.
 *
 * A child of a job's process belongs to its job. Others are inspected, in a thread. A process that was forked a moment ago
 * and has not begun its program yet has its parent's environment, so one that names no job is inspected again a few times
 * while it is young; and processes of schedulers are inspected for as long as they live, since each may be about to become
 * the first process of a job. */
#include <stdlib.h>
#include <string.h>

#include "agent/job/job_scan_private.h"
#include "synop/array.h"
#include "synop/clock.h"

#define PENDING_TRIES 3
#define PENDING_S 10  /* older ones have begun their program */
#define PSS_SHARE 100 /* smaps_rollup of all processes takes a hundredth of a CPU at most */

/* Delays until a process that named no job is inspected again, in half seconds: at the next scan, two and four after it. */
static void
pending_add (struct job_scan *scan, pid_t pid, uint64_t start, unsigned tries, bool watched)
{
  static const int64_t halves[] = { 1, 3, 7, 15 };
  _Static_assert(sizeof halves / sizeof halves[0] == PENDING_TRIES + 1, "the last delay is for watched processes");
  struct pending *pending;

  if (tries >= PENDING_TRIES && !watched)
    return;
  pending = array_add (scan->pending, scan->pending_count, scan->pending_capacity);
  *pending = (struct pending){ .pid = pid, .start = start, .tries = tries + 1 };
  pending->due_ns = scan->now_ns + halves[tries < PENDING_TRIES ? tries : PENDING_TRIES] * (NS_PER_S / 2);
}

void
job_discover_later (struct job_scan *scan, pid_t pid, uint64_t start)
{
  pending_add (scan, pid, start, PENDING_TRIES, true);
}

static bool
read_stat (struct job_scan *scan, pid_t pid, struct process_stat *stat)
{
  int length = process_files_read (&scan->files, pid, "stat");

  return length > 0 && process_stat_parse (stat, scan->files.text, (size_t) length) && !stat->thread;
}

static void inspect_process (struct job_scan *scan, pid_t pid, const struct process_stat *stat, unsigned tries);

static void
inspect_child (void *context, pid_t pid)
{
  struct job_scan *scan = context;
  struct process_stat stat;

  if (!process_find_alive (scan, pid) && read_stat (scan, pid, &stat))
    inspect_process (scan, pid, &stat, PENDING_TRIES);
}

/* Adopts its children too, if it is not new: they were inspected before its job was known. */
static void
adopt (struct job_scan *scan, pid_t pid, const struct process_stat *stat, struct job *job, bool inside, bool helps)
{
  process_adopt (scan, pid, stat, job, inside, helps);
  if (!scan->started || stat->start <= scan->ticks_before)
    process_files_children (&scan->files, pid, inspect_child, scan);
}

static void
ask (struct job_scan *scan, pid_t pid, uint64_t start, unsigned tries, bool safe)
{
  if (!job_worker_ask (scan->identity_worker,
                       &(struct worker_query){ .pid = pid, .start = start, .tries = tries, .safe = safe }))
    job_pids_forget (scan->pids, pid);
}

static void
inspect_process (struct job_scan *scan, pid_t pid, const struct process_stat *stat, unsigned tries)
{
  struct process *parent = process_find (scan, stat->parent, stat->start);

  if (parent && !parent->gone)
    adopt (scan, pid, stat, parent->job, parent->inside, parent->helps);
  else if (process_stat_is_zombie (stat))
    return;
  else if (job_is_daemon (stat->comm)) /* it may become the job's first process */
    pending_add (scan, pid, stat->start, tries, true);
  else
    ask (scan, pid, stat->start, tries, false);
}

bool
job_discover_new (void *context, pid_t pid)
{
  struct job_scan *scan = context;
  struct process_stat stat;

  if (process_find_alive (scan, pid))
    return true;
  if (!read_stat (scan, pid, &stat))
    return false;
  if (!stat.kernel)
    inspect_process (scan, pid, &stat, 0);
  return true;
}

void
job_discover_pending (struct job_scan *scan)
{
  size_t count = scan->pending_count;

  for (size_t i = 0; i < count;) {
    struct pending pending = scan->pending[i];
    struct process_stat stat;

    if (pending.due_ns > scan->now_ns) {
      i++;
      continue;
    }
    /* Fill the gap with the last old entry, and that one's with the last of all. */
    scan->pending[i] = scan->pending[--count];
    scan->pending[count] = scan->pending[--scan->pending_count];
    if (!process_find_alive (scan, pending.pid) && read_stat (scan, pending.pid, &stat) && stat.start == pending.start)
      inspect_process (scan, pending.pid, &stat, pending.tries);
  }
}

static void
take_job (struct job_scan *scan, const struct worker_query *query)
{
  const struct job_found *found = query->found;
  struct process_stat stat;
  bool undecided = false;
  struct job *job;

  if (process_find_alive (scan, query->pid) || !read_stat (scan, query->pid, &stat) || stat.start != query->start)
    return;
  job = job_owner (scan, found, query->start, query->tries, &undecided);
  if (job)
    adopt (scan, query->pid, &stat, job, found->identity.by_cgroup || found->identity.folder[0],
           strcmp (found->identity.step, "extern") == 0);
  else if (undecided || query->safe)
    pending_add (scan, query->pid, query->start, query->tries, true);
}

static void
take_identity (struct job_scan *scan, struct worker_query *query)
{
  uint64_t age = scan->ticks > query->start ? scan->ticks - query->start : 0;

  if (query->given_up) {
    /* By its cgroups alone, for now. */
    ask (scan, query->pid, query->start, query->tries, true);
  } else if (query->result == INSPECTED_JOB) {
    take_job (scan, query);
    free (query->found);
    query->found = NULL;
  } else if (query->safe) {
    job_discover_later (scan, query->pid, query->start);
  } else if (query->result != INSPECTED_GONE) {
    scan->denied += query->result == INSPECTED_DENIED && query->tries == 0;
    if (age < PENDING_S * (uint64_t) sysconf (_SC_CLK_TCK))
      pending_add (scan, query->pid, query->start, query->tries, false);
  }
}

static void
take_rollup (struct job_scan *scan, const struct worker_query *query)
{
  struct process *process = process_find_alive (scan, query->pid);
  int64_t pause_ns = query->taken_ns * PSS_SHARE * (int64_t) (scan->process_count + 1);

  if (!process || process->start != query->start)
    return;
  process->pss_asked = false;
  if (pause_ns > scan->pss_period_ns)
    process->pss_ns = scan->now_ns + pause_ns;
  if (query->result != 1)
    return;
  process->pss_known = true;
  process->pss = query->values[0];
  process->uss = query->values[1];
}

void
job_discover_answers (struct job_scan *scan)
{
  struct worker_query *answers;
  size_t count = job_worker_take (scan->identity_worker, &answers);

  for (size_t i = 0; i < count; i++)
    take_identity (scan, &answers[i]);
  count = job_worker_take (scan->rollup, &answers);
  for (size_t i = 0; i < count; i++)
    take_rollup (scan, &answers[i]);
}
