/* The other input of the core of jobs: announcements of prologs and epilogs, and jobs restored from the history. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "aggregator/views/job_record.h"
#include "synop/clock.h"
#include "synop/memory.h"

/* Without the "/0" that a scheduler's script may add for a job that was not restarted. */
static size_t
label_length (const char *label)
{
  size_t length = strlen (label);

  return length > 2 && strcmp (label + length - 2, "/0") == 0 ? length - 2 : length;
}

/* Whether this announcement may be about that job. */
static bool
may_concern (const struct jobs_job *job, const struct job_announcement *announcement)
{
  return announcement->scheduler || job->uid == (int64_t) announcement->uid;
}

static int
refuse_announcement (struct jobs *jobs, const struct job_announcement *announcement, const char *why,
                     struct error *error)
{
  struct job_owner who = { .kind = announcement->scheduler ? OWNER_SCHEDULER : OWNER_USER, .uid = announcement->uid };

  jobs->counts.job_words_refused++;
  job_hold_back (jobs, &who, 1, "words", why);
  return error_set (error, "%s", why);
}

/* Of the jobs that an announcement may be about, rather one that runs than one that ended, then the newest. */
static struct jobs_job *
find_own (const struct jobs *jobs, const struct job_announcement *announcement, size_t length)
{
  struct jobs_job *best = NULL;

  for (struct jobs_job *job = jobs_first (jobs, announcement->label, length); job; job = jobs_next (job))
    if (may_concern (job, announcement) && (!best || (job->state == JOB_RUNNING && best->state != JOB_RUNNING)))
      best = job;
  return best;
}

int
jobs_start (struct jobs *jobs, const struct job_announcement *announcement, int64_t now_ns, struct error *error)
{
  size_t length = label_length (announcement->label);
  struct job_owner *owner;
  struct jobs_job *job;

  jobs_clock (jobs, now_ns);
  if (job_label_check (announcement->label, length, error) < 0)
    return -1;
  job = find_own (jobs, announcement, length);
  if (!job || job->state != JOB_RUNNING) {
    owner = job_announcer (jobs, announcement);
    if (!job_may_run (jobs, owner)) {
      job_owner_release (jobs, owner);
      return refuse_announcement (jobs, announcement, "too many announced jobs that no node has shown", error);
    }
    job = job_begin (jobs, owner, announcement->label, length, now_ns, job);
    job->by_announcement = true;
    job->uid = announcement->scheduler ? JOB_UID_UNKNOWN : (int64_t) announcement->uid;
  }
  job_text_set (job, JOB_USER, announcement->user, true);
  job_text_set (job, JOB_NAME, announcement->name, true);
  job_hasten (jobs, job);
  return 0;
}

/* Adds the job if it runs and is meant; `other`: one that is meant, but another user's. */
static void
add_running (struct jobs_job ***found, size_t *count, struct jobs_job *job, const struct job_announcement *announcement,
             const struct jobs_job **other)
{
  if (job->state != JOB_RUNNING || (*announcement->user && strcmp (job->texts[JOB_USER], announcement->user) != 0))
    return;
  if (!may_concern (job, announcement)) {
    *other = job;
    return;
  }
  *found = memory_resize (*found, *count + 1, sizeof **found);
  (*found)[(*count)++] = job;
}

/* An ended job, so that frames on their way that show it start none. */
static void
expect_no_more (struct jobs *jobs, const struct job_announcement *announcement, size_t length)
{
  struct jobs_job *job = jobs_add (jobs, job_announcer (jobs, announcement), announcement->label, length);

  job->uid = announcement->scheduler ? JOB_UID_UNKNOWN : (int64_t) announcement->uid;
  job->state = JOB_END_ANNOUNCED;
  job->seen_ns = job->ended_ns = jobs->now_ns;
  job_keep (jobs, job);
}

int
jobs_end (struct jobs *jobs, const struct job_announcement *announcement, int64_t now_ns, struct error *error)
{
  size_t length = label_length (announcement->label), count = 0;
  const struct jobs_job *other = NULL;
  struct jobs_job **found = NULL;
  bool known = false;

  jobs_clock (jobs, now_ns);
  if (job_label_check (announcement->label, length, error) < 0)
    return -1;
  for (struct jobs_job *job = jobs_first (jobs, announcement->label, length); job; job = jobs_next (job)) {
    add_running (&found, &count, job, announcement, &other);
    known |= may_concern (job, announcement);
    if (job->state == JOB_GONE && may_concern (job, announcement))
      job->state = JOB_END_ANNOUNCED;
  }
  for (struct jobs_job *job = jobs_first_run (jobs, announcement->label, length); job; job = jobs_next_run (job))
    add_running (&found, &count, job, announcement, &other);
  for (size_t i = 0; i < count; i++)
    job_end (jobs, found[i], JOB_END_ANNOUNCED);
  free (found);
  if (count == 0 && other)
    return refuse_announcement (jobs, announcement,
                                "the job is another user's: its own user, root and [jobs] scheduler_users may end it",
                                error);
  if (count == 0 && !known)
    expect_no_more (jobs, announcement, length);
  return (int) count;
}

/* Ends the restored job that has the label and could be this one. */
static void
end_older (struct jobs *jobs, const struct job_info *info, const char *label)
{
  struct jobs_job *job = jobs_first (jobs, label, strlen (label));

  while (job && (job->state != JOB_RUNNING || !job_agrees (job, info)))
    job = jobs_next (job);
  if (job) /* its end was not written */
    job_end (jobs, job, JOB_GONE);
}

/* Damaged rows may hold any number. */
static bool
is_time (int64_t time_ns)
{
  return time_ns > 0 && time_ns < INT64_MAX / 2;
}

static bool
is_node (const struct job_record_node *node)
{
  return is_time (node->first_ns) && node_name_check (node->name, strlen (node->name), NULL) == 0;
}

static struct job_owner *
restored_owner (struct jobs *jobs, const struct job_record *record)
{
  for (size_t i = 0; i < record->node_count; i++)
    if (is_node (&record->nodes[i]))
      return &jobs_node (jobs, record->nodes[i].name)->owner;
  return job_announcer (jobs, &(struct job_announcement){ .scheduler = true });
}

static void
restore_nodes (struct jobs *jobs, struct jobs_job *job, const struct job_record *record)
{
  for (size_t i = 0; i < record->node_count; i++) {
    const char *name = record->nodes[i].name;
    struct jobs_node *node;
    struct job_use *use;
    if (!is_node (&record->nodes[i]))
      continue;
    node = jobs_node (jobs, name);
    if (job_use_find (job, node))
      continue;
    use = job_use_add (jobs, job, node);
    use->first_ns = use->last_ns = record->nodes[i].first_ns;
    use->named = job_is_named (job);
    use->founder = true;
    for (struct job_use *one = job_uses_first (jobs, node, job->label, strlen (job->label)); one;
         one = job_uses_next (one))
      one->current = one == use;
    node->owner.running++;
    job->seen_ns = use->last_ns > job->seen_ns ? use->last_ns : job->seen_ns;
  }
}

void
jobs_restore (struct jobs *jobs, const struct job_record *record)
{
  const char *const texts[] = { record->scheduler, record->user, record->name, record->command, record->array };
  struct job_info info = { .uid = JOB_UID_UNKNOWN };
  struct jobs_job *job;

  if (record->ended_ns || !is_time (record->key) || !is_time (record->started_ns) || !is_time (record->seen_ns) ||
      job_label_check (record->label, strlen (record->label), NULL) < 0 || jobs->due_count >= JOBS_MAX)
    return;
  for (size_t i = 0; i < JOB_TEXTS; i++)
    snprintf (info.texts[i], sizeof info.texts[i], "%s", texts[i]);
  job_info_complete (&info);
  end_older (jobs, &info, record->label);
  job =
      job_begin (jobs, restored_owner (jobs, record), record->label, strlen (record->label), record->started_ns, NULL);
  job_name (job, &info);
  for (size_t i = JOB_NAME; i < JOB_TEXTS; i++)
    job_text_set (job, (enum job_text) i, info.texts[i], false);
  jobs->key = record->key > jobs->key ? record->key : jobs->key;
  job->key = record->key;
  job_due_set (jobs, job, job->due); /* its key has changed */
  job->reported = job->restored = true;
  job->changed = false;
  job->seen_ns = record->seen_ns;
  restore_nodes (jobs, job, record);
  job_state_read (jobs, job, record->state);
}

void
jobs_complete (struct job_record *record)
{
  struct jobs *jobs = record->ended_ns || !*record->state || *record->summary
                          ? NULL
                          : jobs_create (&(struct jobs_options){ .grace_ns = NS_PER_S }, record->seen_ns);
  struct json json = { 0 };

  if (jobs)
    jobs_restore (jobs, record);
  if (jobs && jobs->due_count) {
    job_summary_write (jobs, jobs->due[0], &json);
    free (record->summary);
    record->summary = memory_string (buffer_text (&json.out));
  }
  json_free (&json);
  jobs_destroy (jobs);
}
