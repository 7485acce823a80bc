/* The processes of jobs that are known: reading them, and what becomes of what they used when they end.
 *
 * The kernel adds what a process has used to its parent when the parent waits for it: CPU time to the columns of
 * children, and I/O to the parent's own. So the parent owes (its debt) what was counted of the process while it lived: the
 * parent's counters will jump by it, and that much of their growth is not counted again. The rest of the jump is what the
 * child did after it was last read, and what its unseen children did. For this, parents are read before their children:
 * when a child is found gone, its parent was read at most one scan before the jump. So a debt is dropped after two scans;
 * the parent never waited for that child. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job/job_scan_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SLOW_PERIOD (10 * NS_PER_S) /* of what costs more: context switches, shared memory, swap, open files */
#define PSS_FIRST (3 * NS_PER_S)    /* a process that lives no longer is not worth it */

static struct process **
bucket_of (struct job_scan *scan, pid_t pid)
{
  return &scan->buckets[(uint32_t) pid % JOB_BUCKETS];
}

struct process *
process_find (struct job_scan *scan, pid_t pid, uint64_t before)
{
  struct process *process = *bucket_of (scan, pid);

  while (process && (process->pid != pid || process->start > before))
    process = process->chain;
  return process;
}

struct process *
process_find_alive (struct job_scan *scan, pid_t pid)
{
  struct process *process = process_find (scan, pid, UINT64_MAX);

  return process && !process->gone ? process : NULL;
}

static void
process_link (struct job_scan *scan, struct process *process)
{
  struct process **bucket = bucket_of (scan, process->pid), *after = scan->youngest;

  process->chain = *bucket;
  *bucket = process;
  while (after && (after->start > process->start || (after->start == process->start && after->pid > process->pid)))
    after = after->previous;
  process->previous = after;
  process->next = after ? after->next : scan->oldest;
  *(process->next ? &process->next->previous : &scan->youngest) = process;
  *(after ? &after->next : &scan->oldest) = process;
  scan->process_count++;
}

void
process_remove (struct job_scan *scan, struct process *process)
{
  struct process **at = bucket_of (scan, process->pid);

  while (*at != process)
    at = &(*at)->chain;
  *at = process->chain;
  *(process->next ? &process->next->previous : &scan->youngest) = process->previous;
  *(process->previous ? &process->previous->next : &scan->oldest) = process->next;
  process_files_let_go (&scan->files, &process->stat_fd);
  process_files_let_go (&scan->files, &process->io_fd);
  scan->process_count--;
  free (process);
}

static bool
is_gone (int result)
{
  return result == -ENOENT || result == -ESRCH || result == -ENOTDIR;
}

static void
read_io (struct job_scan *scan, struct process *process)
{
  int length;

  if (process->denied)
    return;
  length = process_files_read_kept (&scan->files, process->pid, "io", &process->io_fd);
  if (length > 0)
    process_io_parse (process->now, scan->files.text, (size_t) length);
  process->denied = length == -EACCES || length == -EPERM;
}

/* Files that cost more are read more rarely: at the scan after the first, then at times that differ between processes. */
static void
read_slow (struct job_scan *scan, struct process *process)
{
  struct process_status status;
  int length = process_files_read (&scan->files, process->pid, "status");
  int64_t open = process_files_count_open (&scan->files, process->pid);

  process->slow_ns = scan->now_ns + SLOW_PERIOD;
  if (!process->status_known)
    process->slow_ns -= process->pid % 8 * NS_PER_S;
  process->open_known = open >= 0;
  process->open_files = open < 0 ? 0 : (uint64_t) open;
  if (length <= 0 || !process_status_parse (&status, scan->files.text, (size_t) length))
    return;
  process->status_known = true;
  process->shared = status.shared;
  process->swap = status.swap;
  process->lonely = status.ignores_children;
  process->now[PROCESS_VOLUNTARY] = status.voluntary;
  process->now[PROCESS_INVOLUNTARY] = status.involuntary;
}

static void
take_stat (struct process *process, const struct process_stat *stat)
{
  process->parent = stat->parent;
  process->threads = stat->threads;
  process->vms = stat->vms;
  process->rss = stat->rss;
  process->now[PROCESS_USER] = stat->user_ns;
  process->now[PROCESS_SYSTEM] = stat->system_ns;
  if (process->first)
    snprintf (process->job->command, sizeof process->job->command, "%s", stat->comm);
}

static bool
has_not_run (struct job_scan *scan, struct process *process)
{
  uint64_t before = process->clock_ns;

  if (!process->idle)
    return false;
  process->clock_ns = process_files_clock (&scan->files, process->pid);
  return process->clock_ns != 0 && process->clock_ns == before && scan->now_ns < process->slow_ns;
}

static void
process_is_gone (struct job_scan *scan, struct process *process)
{
  process->gone = true;
  job_pids_forget (scan->pids, process->pid);
}

static void
process_read (struct job_scan *scan, struct process *process)
{
  uint64_t before = process->now[PROCESS_USER] + process->now[PROCESS_SYSTEM];
  struct process_stat stat;
  int length;

  if (has_not_run (scan, process))
    return;
  length = process_files_read_kept (&scan->files, process->pid, "stat", &process->stat_fd);
  if (is_gone (length)) {
    process_is_gone (scan, process);
    return;
  }
  if (length <= 0 || !process_stat_parse (&stat, scan->files.text, (size_t) length))
    return;
  if (stat.start != process->start) {
    process_is_gone (scan, process);
    return;
  }
  take_stat (process, &stat);
  process->idle = process->now[PROCESS_USER] + process->now[PROCESS_SYSTEM] == before;
  read_io (scan, process);
  if (process_stat_is_zombie (&stat)) {
    process->job->now.ended += !process->zombie;
    process->zombie = true;
  } else if (scan->now_ns >= process->slow_ns)
    read_slow (scan, process);
}

void
processes_read (struct job_scan *scan)
{
  for (struct process *process = scan->oldest; process; process = process->next)
    process_read (scan, process);
}

/* What was counted of it becomes a debt of its parent. */
static void
process_reap (struct job_scan *scan, struct process *process)
{
  struct process *parent = process_find (scan, process->parent, process->start);

  process->job->now.ended += !process->zombie;
  if (parent && parent != process && parent->job == process->job && !parent->lonely)
    for (int i = 0; i < PROCESS_REAPED; i++)
      parent->owed[i] += process->counted[i] + process->owed[i] + process->owed_before[i];
  process_remove (scan, process);
}

/* Children before their parents, so that debts reach the process that waited for both. */
void
processes_reap (struct job_scan *scan)
{
  for (struct process *process = scan->youngest, *before; process; process = before) {
    before = process->previous;
    if (process->gone)
      process_reap (scan, process);
  }
}

/* ---- new ones ---- */

static int64_t
wall_of_start (const struct job_scan *scan, uint64_t start)
{
  int64_t tick_ns = NS_PER_S / sysconf (_SC_CLK_TCK);

  if (scan->ticks == 0 || start > scan->ticks)
    return scan->ticks == 0 ? 0 : scan->wall_ns;
  return scan->wall_ns - (int64_t) (scan->ticks - start) * tick_ns;
}

void
process_adopt (struct job_scan *scan, pid_t pid, const struct process_stat *stat, struct job *job, bool inside,
               bool helps)
{
  struct process *process = memory_new (1, sizeof *process);

  process->pid = pid;
  process->start = stat->start;
  process->job = job;
  process->inside = inside;
  process->helps = helps;
  process->fresh = true;
  process->stat_fd = process->io_fd = -1;
  process->now[PROCESS_STARTED] = 1;
  process->pss_ns = scan->now_ns + (scan->pss_period_ns < PSS_FIRST ? scan->pss_period_ns : PSS_FIRST);
  /* What may have been counted before a restart has to be read at once. */
  process->slow_ns = job->resumed_ns && stat->start <= job->resumed ? scan->now_ns : scan->now_ns + 1;
  take_stat (process, stat);
  process->zombie = process_stat_is_zombie (stat);
  if (job_consider_first (job, stat->comm, stat->start, wall_of_start (scan, stat->start), helps)) {
    for (struct process *other = scan->oldest; other; other = other->next)
      other->first &= other->job != job;
    process->first = true;
  }
  process_link (scan, process);
  read_io (scan, process);
  if (process->zombie)
    job->now.ended++;
  else if (process->slow_ns <= scan->now_ns)
    read_slow (scan, process);
  job->ended = false;
}

/* ---- sums ---- */

/* Counts the growth of a counter, less the debt. */
static uint64_t
count_growth (struct process *process, int counter)
{
  uint64_t now = process->now[counter], grown = now > process->counted[counter] ? now - process->counted[counter] : 0;
  uint64_t paid;

  process->counted[counter] += grown;
  if (counter >= PROCESS_REAPED)
    return grown;
  paid = grown < process->owed_before[counter] ? grown : process->owed_before[counter];
  grown -= paid;
  paid = grown < process->owed[counter] ? grown : process->owed[counter];
  process->owed_before[counter] = process->owed[counter] - paid;
  process->owed[counter] = 0;
  return grown - paid;
}

static void
sum_counters (struct job_sums *sums, struct process *process)
{
  if (process->fresh)
    for (int i = 0; i < PROCESS_COUNTERS; i++)
      process->counted[i] =
          job_counted_before (process->job, process->start, (enum process_counter) i, process->now[i]);
  process->fresh = false;
  for (int i = 0; i < PROCESS_COUNTERS; i++) {
    uint64_t grown = count_growth (process, i);

    sums->grown[i] += grown;
    if (i <= PROCESS_SYSTEM && process->inside)
      sums->grown_inside[i] += grown;
    sums->live[i] += process->counted[i];
  }
}

static void
sum_gauges (struct job_sums *sums, const struct process *process)
{
  sums->processes++;
  sums->threads += process->threads;
  sums->rss += process->rss;
  sums->vms += process->vms;
  sums->shared += process->shared;
  sums->swap += process->swap;
  sums->open_files += process->open_files;
  sums->pss += process->pss;
  sums->uss += process->uss;
  sums->status_known |= process->status_known;
  sums->open_known |= process->open_known;
  sums->pss_known |= process->pss_known;
  sums->io_known |= !process->denied;
}

void
process_sum (struct process *process)
{
  struct job_sums *sums = &process->job->now;

  sum_counters (sums, process);
  if (!process->zombie)
    sum_gauges (sums, process);
}
