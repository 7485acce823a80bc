/* Which job a process belongs to, and the table of jobs.
 *
 * Whoever starts a process chooses its environment, so what that says is a claim of the process's user: two users who
 * claim one id have two jobs. The first has the plain label, unless the cgroup of a scheduler says whose the id is; the
 * other one's label is "ID@UID". */
#include <stdio.h>
#include <string.h>

#include "agent/job/job_scan_private.h"
#include "agent/source/facts.h"
#include "synop/log.h"

static void
accounting_open (struct job_scan *scan)
{
  struct error warning;
  char boot[64];

  fact_text (boot, sizeof boot, scan->root, "/proc/sys/kernel/random/boot_id");
  boot[39] = 0;
  scan->accounting = job_accounting_create (scan->accounting_path, boot, job_scan_seconds (scan), &warning);
  if (warning.text[0])
    log_warning ("jobs: %s", warning.text);
}

/* ---- which job it is ---- */

/* Folders of "agent run" do not count: users make them. */
static bool
in_folder_of_scheduler (const struct job_identity *identity)
{
  return identity->by_cgroup && identity->scheduler != JOB_SYNOP;
}

static bool
is_same_folder (const struct job_identity *a, const struct job_identity *b)
{
  return a->folder[0] && strcmp (a->folder, b->folder) == 0;
}

static uint32_t
user_of (const struct job_found *found)
{
  return found->identity.uid != JOB_UID_UNKNOWN ? found->identity.uid : found->uid;
}

/* Whether the process may be of that job, which has the id that it names. */
static bool
agrees (const struct job *job, const struct job_found *found)
{
  const struct job_identity *mine = &job->identity, *theirs = &found->identity;

  if (is_same_folder (mine, theirs) || (in_folder_of_scheduler (mine) && in_folder_of_scheduler (theirs)))
    return true;
  if (!theirs->by_cgroup)
    return mine->uid == found->uid;
  return mine->uid == user_of (found) || (in_folder_of_scheduler (theirs) && theirs->uid == JOB_UID_UNKNOWN);
}

/* A process whose job only its cgroup names belongs to the newest run of that id; one of which only the folder is known,
 * to the job with that folder. */
static struct job *
job_find (const struct job_scan *scan, const struct job_found *found)
{
  const struct job_identity *identity = &found->identity;
  struct job *newest = NULL;

  for (size_t i = 0; i < scan->job_count; i++) {
    struct job *job = scan->jobs[i];
    const struct job_identity *other = &job->identity;

    if (!identity->label[0]) {
      if (is_same_folder (identity, other))
        return job;
      continue;
    }
    if (!agrees (job, found))
      continue;
    if (strcmp (other->label, identity->label) == 0)
      return job;
    if (other->scheduler != identity->scheduler || strcmp (other->id, identity->id) != 0)
      continue;
    if (identity->run < 0 || (other->run < 0 && is_same_folder (identity, other)))
      newest = newest && newest->identity.run > other->run ? newest : job;
  }
  return newest;
}

/* ---- the table ---- */

void
job_owner_drop (struct job_scan *scan, size_t index)
{
  struct job *job = scan->jobs[index];

  for (struct process *process = scan->oldest, *next; process; process = next) {
    next = process->next;
    if (process->job == job)
      process_remove (scan, process);
  }
  if (!job->trusted)
    job_users_remove (&scan->users, job->charged_uid);
  job_destroy (job, scan->accounting, job_scan_seconds (scan));
  scan->jobs[index] = scan->jobs[--scan->job_count];
}

/* Removes the job to make room; its processes are inspected again later. */
static void
displace (struct job_scan *scan, const struct job *job)
{
  size_t index = 0;

  for (struct process *process = scan->oldest; process; process = process->next)
    if (process->job == job && !process->gone)
      job_discover_later (scan, process->pid, process->start);
  while (scan->jobs[index] != job)
    index++;
  job_owner_drop (scan, index);
}

static struct job *
find_label (const struct job_scan *scan, const char *label)
{
  for (size_t i = 0; i < scan->job_count; i++)
    if (strcmp (scan->jobs[i]->label, label) == 0)
      return scan->jobs[i];
  return NULL;
}

static void
hold_back (struct job_scan *scan, enum job_held held, uint32_t user)
{
  scan->held = held;
  scan->held_user = user;
  scan->held_ns = scan->now_ns;
}

/* The user's youngest job. */
static struct job *
job_to_displace (const struct job_scan *scan, uint32_t charged_uid)
{
  struct job *youngest = NULL;

  for (size_t i = 0; i < scan->job_count; i++) {
    struct job *job = scan->jobs[i];
    if (!job->trusted && job->charged_uid == charged_uid && (!youngest || job->first_start > youngest->first_start))
      youngest = job;
  }
  return youngest;
}

/* Makes room for a job, if need be by removing the youngest one of the user with most. */
static bool
make_room (struct job_scan *scan, bool trusted, uint32_t charged_uid)
{
  const struct job_user *most = job_users_most (&scan->users);

  if (scan->job_count < JOBS_MAX)
    return true;
  if (!most) {
    hold_back (scan, JOB_HELD_FULL, charged_uid);
    return false;
  }
  hold_back (scan, JOB_HELD_SHARE, most->uid);
  if (!trusted && job_users_count (&scan->users, charged_uid) + 1 >= most->jobs)
    return false;
  displace (scan, job_to_displace (scan, most->uid));
  return true;
}

/* False: another user's job has the label, and another one the label with the user's number. */
static bool
choose_label (struct job_scan *scan, const struct job_found *found, char label[JOB_LABEL_SIZE])
{
  struct job *other = find_label (scan, found->identity.label);

  memcpy (label, found->identity.label, JOB_LABEL_SIZE);
  if (!other)
    return true;
  if (scan->claimed_ns == 0 || scan->now_ns - scan->claimed_ns > LOG_PAUSE) {
    log_warning ("jobs: processes of user %u and of user %u say that they are of job %s: these are two jobs",
                 (unsigned) user_of (found), (unsigned) other->identity.uid, label);
    scan->claimed_ns = scan->now_ns;
  }
  if (in_folder_of_scheduler (&found->identity) && !in_folder_of_scheduler (&other->identity)) {
    displace (scan, other);
    return true;
  }
  snprintf (label, JOB_LABEL_SIZE, "%.*s@%u", JOB_ID_MAX, found->identity.label, (unsigned) user_of (found));
  return !find_label (scan, label);
}

static struct job *
job_add (struct job_scan *scan, const struct job_found *found, uint64_t start)
{
  const struct job_identity *identity = &found->identity;
  bool trusted = in_folder_of_scheduler (identity) || found->charged_uid == 0;
  char label[JOB_LABEL_SIZE];
  struct job *job;

  if (!identity->by_cgroup && user_of (found) != found->uid)
    return NULL;
  if (!trusted && start > scan->ticks_first && !job_users_may_begin (&scan->users, found->charged_uid, scan->now_ns)) {
    hold_back (scan, JOB_HELD_FAST, found->charged_uid);
    return NULL;
  }
  if (!choose_label (scan, found, label) || !make_room (scan, trusted, found->charged_uid))
    return NULL;
  if (!scan->accounting)
    accounting_open (scan);
  job = job_create (found, label, user_of (found), scan->cpus, scan->accounting, scan->mounts, job_scan_seconds (scan),
                    scan->now_ns);
  if (!job)
    return NULL;
  job->trusted = trusted;
  job->charged_uid = found->charged_uid;
  if (!trusted)
    job_users_add (&scan->users, job->charged_uid, scan->now_ns);
  return scan->jobs[scan->job_count++] = job;
}

static bool
has_processes (const struct job_scan *scan, const struct job *job)
{
  for (const struct process *process = scan->oldest; process; process = process->next)
    if (process->job == job && !process->gone && !process->zombie)
      return true;
  return false;
}

/* A name that is used again, before the job that has ended was shown to the end: its process waits for that. */
static bool
is_over (const struct job_scan *scan, struct job *job)
{
  if (job->identity.scheduler != JOB_SYNOP || !(job->ended || job->exit_known))
    return false;
  if (!has_processes (scan, job))
    return true;
  job->exit_known = false; /* it goes on, with what its command has left behind */
  return false;
}

struct job *
job_owner (struct job_scan *scan, const struct job_found *found, uint64_t start, unsigned tries, bool *undecided)
{
  const struct job_identity *identity = &found->identity;
  struct job *job = job_find (scan, found);

  if (job && is_over (scan, job)) {
    *undecided = true;
    return NULL;
  }
  /* A process that has forked and not begun its program yet does not have its run in its environment. */
  *undecided = !job && (!identity->label[0] || (identity->run < 0 && !found->denied && tries == 0));
  if (!job && !*undecided) {
    job = job_add (scan, found, start);
    *undecided = !job && scan->held_ns == scan->now_ns;
  }
  if (job)
    job_learn (job, found);
  return job;
}
