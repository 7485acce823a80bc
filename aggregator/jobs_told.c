/* What the core of jobs is told beside frames: by prologs and epilogs, and by the history of before. */
#include <string.h>

#include "aggregator/job_store.h"
#include "aggregator/jobs_private.h"
#include "synop/memory.h"

/* As a scheduler's script may spell it: no restart is no "/0". */
static size_t
label_length (const char *label)
{
  size_t length = strlen (label);

  return length > 2 && strcmp (label + length - 2, "/0") == 0 ? length - 2 : length;
}

int
jobs_start (struct jobs *jobs, const char *label, const char *user, const char *name, int64_t now_ns,
            struct error *error)
{
  size_t length = label_length (label);
  struct job *job;

  jobs_clock (jobs, now_ns);
  if (job_label_check (label, length, error) < 0)
    return -1;
  job = jobs_find (jobs, label, length);
  if (!job || job->state != JOB_RUNNING)
    job = job_begin (jobs, label, length, now_ns);
  if (!job)
    return error_set (error, "%d jobs run already", JOBS_MAX);
  job_text_set (job, JOB_USER, user, strlen (user), true);
  job_text_set (job, JOB_NAME, name, strlen (name), true);
  return 0;
}

/* Is `label` this one, or a later run of it? */
static bool
is_run_of (const char *label, const char *id, size_t length)
{
  return strncmp (label, id, length) == 0 &&
         (!label[length] || (label[length] == '/' && label[length + 1] &&
                             strspn (label + length + 1, "0123456789") == strlen (label + length + 1)));
}

int
jobs_end (struct jobs *jobs, const char *label, int64_t now_ns, struct error *error)
{
  size_t length = label_length (label);
  struct job *later, *job;
  int count = 0;

  jobs_clock (jobs, now_ns);
  if (job_label_check (label, length, error) < 0)
    return -1;
  for (job = jobs->running.first; job; job = later) {
    later = job->later;
    if (is_run_of (job->label, label, length)) {
      job_end (jobs, job, JOB_TOLD);
      count++;
    }
  }
  job = jobs_find (jobs, label, length);
  if (job && job->state == JOB_GONE)
    job->state = JOB_TOLD;
  if (!job && count == 0) { /* frames that show it may be under way */
    job = jobs_add (jobs, label, length);
    job->state = JOB_TOLD;
    job->seen_ns = job->ended_ns = now_ns;
    job_keep (jobs, job);
  }
  return count;
}

void
jobs_restore (struct jobs *jobs, const struct job_record *record)
{
  struct job *job;

  if (record->ended_ns || job_label_check (record->label, strlen (record->label), NULL) < 0)
    return;
  job = jobs_find (jobs, record->label, strlen (record->label));
  if (job) /* an older run, whose end was not written */
    job_end (jobs, job, JOB_GONE);
  job = job_begin (jobs, record->label, strlen (record->label), record->started_ns);
  if (!job)
    return;
  const char *const texts[] = { record->scheduler, record->user, record->name, record->command, record->array };
  for (size_t i = 0; i < JOB_TEXTS; i++)
    job_text_set (job, (enum job_text) i, texts[i], strlen (texts[i]), false);
  jobs->key = record->key > jobs->key ? record->key : jobs->key;
  job->key = record->key;
  job->announced = job->restored = true;
  job->changed = false;
  job->seen_ns = record->seen_ns;
  for (size_t i = 0; i < record->node_count; i++) {
    struct job_use *use = job_use_add (job, jobs_node (jobs, record->nodes[i].name));
    use->first_ns = use->last_ns = record->nodes[i].first_ns;
    use->node->running++;
    job->seen_ns = use->last_ns > job->seen_ns ? use->last_ns : job->seen_ns;
  }
  job_state_read (jobs, job, record->state);
}
