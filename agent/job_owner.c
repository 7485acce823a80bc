/* Which job a process belongs to, and the table of jobs. */
#include <string.h>

#include "agent/facts.h"
#include "agent/job_scan_private.h"
#include "synop/log.h"

static void
book_open (struct job_scan *scan)
{
  struct error warning;
  char boot[64];

  fact_text (boot, sizeof boot, scan->root, "/proc/sys/kernel/random/boot_id");
  boot[39] = 0;
  scan->book = job_book_create (scan->book_path, boot, job_scan_seconds (scan), &warning);
  if (warning.text[0])
    log_warning ("jobs: %s", warning.text);
}

/* Which job is meant. One that only its cgroup names is the newest run of that id; one of which only the folder is known
 * is the job with that folder. */
static struct job *
job_find (const struct job_scan *scan, const struct job_identity *identity)
{
  struct job *newest = NULL;

  for (size_t i = 0; i < scan->job_count; i++) {
    struct job *job = scan->jobs[i];
    const struct job_identity *other = &job->identity;
    bool same_folder = identity->folder[0] && strcmp (other->folder, identity->folder) == 0;

    if (job->evicted)
      continue;
    if (identity->label[0] ? strcmp (other->label, identity->label) == 0 : same_folder)
      return job;
    if (!identity->label[0] || other->scheduler != identity->scheduler || strcmp (other->id, identity->id) != 0)
      continue;
    if (identity->run < 0 || (other->run < 0 && same_folder))
      newest = newest && newest->identity.run > other->run ? newest : job;
  }
  return newest;
}

/* Whoever starts a process chooses its environment, so a job that only the environment names is that of the user who
 * runs the first such process, or whom the scheduler named; and it gives way to one that has a cgroup. */
static bool
may_join (struct job *job, const struct job_found *found)
{
  uint32_t theirs = found->identity.uid != JOB_UID_UNKNOWN ? found->identity.uid : found->uid;

  if (found->identity.by_cgroup) {
    if (!job->identity.by_cgroup && job->identity.uid != theirs && found->identity.uid != JOB_UID_UNKNOWN)
      job->evicted = true;
    return !job->evicted;
  }
  return job->identity.uid == found->uid;
}

void
job_owner_drop (struct job_scan *scan, size_t index)
{
  struct job *job = scan->jobs[index];

  for (struct process *process = scan->oldest, *next; process; process = next) {
    next = process->next;
    if (process->job == job)
      process_remove (scan, process);
  }
  job_destroy (job, scan->book, job_scan_seconds (scan));
  scan->jobs[index] = scan->jobs[--scan->job_count];
}

static void
evict (struct job_scan *scan, const struct job *job)
{
  for (size_t i = 0; i < scan->job_count; i++)
    if (scan->jobs[i] == job) {
      log_warning ("jobs: processes of user %u say that they are of job %s, which is another user's: not counted",
                   (unsigned) job->identity.uid, job->identity.label);
      job_owner_drop (scan, i);
      return;
    }
}

static struct job *
job_add (struct job_scan *scan, const struct job_found *found)
{
  const struct job_identity *identity = &found->identity;
  uint32_t uid = identity->uid != JOB_UID_UNKNOWN ? identity->uid : found->uid;
  struct job *job = NULL;

  if (!identity->by_cgroup && uid != found->uid)
    return NULL;
  if (!scan->book)
    book_open (scan);
  if (scan->job_count < JOBS_MAX)
    job = job_create (found, uid, scan->cpus, scan->book, scan->mounts, job_scan_seconds (scan), scan->now_ns);
  if (job)
    scan->jobs[scan->job_count++] = job;
  return job;
}

struct job *
job_owner (struct job_scan *scan, const struct job_found *found, unsigned tries, bool *undecided)
{
  const struct job_identity *identity = &found->identity;
  struct job *job = job_find (scan, identity);

  if (job && !may_join (job, found)) {
    if (!job->evicted)
      return NULL;
    evict (scan, job);
    job = NULL;
  }
  /* A process that was forked and has not begun its program yet does not know its run. */
  *undecided = !job && (!identity->label[0] || (identity->run < 0 && !found->denied && tries == 0));
  if (!job && !*undecided) {
    job = job_add (scan, found);
    scan->full |= !job && scan->job_count == JOBS_MAX;
    *undecided = !job && scan->job_count == JOBS_MAX;
  }
  if (job)
    job_learn (job, found);
  return job;
}
