/* Which job a row is about: the job of its label that agrees with the user and scheduler that the node reports.
 * Users are compared by name if both names are known, else by number. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "synop/clock.h"

#define SAME_START (100 * NS_PER_MS)
#define LABEL_USES_MAX 64 /* jobs of one label on a node: all are searched for a row */

/* ---- the identity of a job ---- */

/* A user whom the node's database does not know has a number instead of a name. */
static bool
is_number (const char *user)
{
  return *user && strspn (user, "0123456789") == strlen (user);
}

static const char *
name_of (const struct jobs_job *job)
{
  return job->weak[JOB_USER] ? "" : job->texts[JOB_USER];
}

static const char *
scheduler_of (const struct jobs_job *job)
{
  return job->weak[JOB_SCHEDULER] ? "" : job->texts[JOB_SCHEDULER];
}

void
job_info_complete (struct job_info *info)
{
  const char *user = info->texts[JOB_USER];
  unsigned long long number = is_number (user) ? strtoull (user, NULL, 10) : UINT32_MAX;

  if (info->uid == JOB_UID_UNKNOWN && number < UINT32_MAX)
    info->uid = (int64_t) number;
  info->named = info->texts[JOB_SCHEDULER][0] || *user || info->uid != JOB_UID_UNKNOWN;
}

bool
job_is_named (const struct jobs_job *job)
{
  return *scheduler_of (job) || *name_of (job) || job->uid != JOB_UID_UNKNOWN;
}

bool
job_agrees (const struct jobs_job *job, const struct job_info *info)
{
  const char *name = is_number (info->texts[JOB_USER]) ? "" : info->texts[JOB_USER];
  const char *scheduler = info->texts[JOB_SCHEDULER];

  if (*scheduler && *scheduler_of (job) && strcmp (scheduler, scheduler_of (job)) != 0)
    return false;
  if (*name && *name_of (job))
    return strcmp (name, name_of (job)) == 0;
  if (info->uid != JOB_UID_UNKNOWN && job->uid != JOB_UID_UNKNOWN)
    return info->uid == job->uid;
  /* One is known by name only, the other by number: that does not say that they are the same user. */
  return !((*name || info->uid != JOB_UID_UNKNOWN) && (*name_of (job) || job->uid != JOB_UID_UNKNOWN));
}

void
job_name (struct jobs_job *job, const struct job_info *info)
{
  const char *user = info->texts[JOB_USER];

  job_text_set (job, JOB_SCHEDULER, info->texts[JOB_SCHEDULER], false);
  job_text_set (job, JOB_USER, user, is_number (user)); /* a name replaces a number */
  if (job->uid == JOB_UID_UNKNOWN)
    job->uid = info->uid;
}

/* ---- search ---- */

/* The node's job of that label: the one that agrees with `info`, else its current one. */
static struct job_use *
of_node (const struct jobs *jobs, const struct jobs_node *node, const char *label, size_t length,
         const struct job_info *info, size_t *count)
{
  struct job_use *best = NULL;

  for (struct job_use *use = job_uses_first (jobs, node, label, length); use; use = job_uses_next (use)) {
    ++*count;
    if (info && info->named ? !job_agrees (use->job, info) : !use->current)
      continue;
    if (!best || use->current || (use->job->state == JOB_RUNNING && !best->current))
      best = use;
  }
  return best;
}

static bool
is_better (const struct jobs_job *job, const struct jobs_job *best)
{
  if ((job->state == JOB_RUNNING) != (best->state == JOB_RUNNING))
    return job->state == JOB_RUNNING;
  if (job_is_named (job) != job_is_named (best))
    return job_is_named (job);
  return job->key > best->key;
}

/* The job of that label on any node: rather one that runs than one that ended, then one that is identified, then the
 * newest. */
static struct jobs_job *
of_all (const struct jobs *jobs, const char *label, size_t length, const struct job_info *info)
{
  struct jobs_job *best = NULL;

  for (struct jobs_job *job = jobs_first (jobs, label, length); job; job = jobs_next (job))
    if ((!info || job_agrees (job, info)) && (!best || is_better (job, best)))
      best = job;
  return best;
}

/* ---- begin, resume or ignore ---- */

static struct job_use *
refuse_row (struct job_intake *intake, const char *why)
{
  intake->why = intake->refused++ ? intake->why : why;
  return NULL;
}

/* A name of "synop-agent run" that is used again: the node's job began anew, and is on no other node by now. */
static bool
is_name_used_again (const struct jobs_job *job, const struct job_intake *intake, int64_t start_ns)
{
  const struct job_use *own = job_use_find (job, intake->node);

  if (!own || !own->run_ns || !start_ns || strcmp (job->texts[JOB_SCHEDULER], "synop") != 0 ||
      start_ns < own->run_ns + SAME_START || start_ns < own->last_ns - 2 * intake->node->period_ns - NS_PER_S)
    return false;
  for (size_t i = 0; i < job->use_count; i++)
    if (job->uses[i] != own && !job->uses[i]->exited && job->uses[i]->last_ns >= start_ns)
      return false;
  return true;
}

/* Is this the job that ended, or a new run under its label? */
static bool
is_same_run (const struct jobs *jobs, const struct jobs_job *job, const struct job_intake *intake, int64_t start_ns)
{
  const struct job_use *use;

  if (is_name_used_again (job, intake, start_ns))
    return false;
  if (start_ns)
    return start_ns <= job->ended_ns;
  if (intake->has_info || intake->time_ns - job->seen_ns <= jobs->options.grace_ns)
    return true;
  use = job_use_find (job, intake->node);
  return use && intake->last_frame_ns <= use->last_ns;
}

/* Frames go on showing an ended job: it was seen until now. */
static void
stay_ended (struct jobs *jobs, struct jobs_job *job, int64_t time_ns)
{
  if (time_ns <= job->seen_ns)
    return;
  job->seen_ns = time_ns;
  job_keep_anew (jobs, job);
}

/* Reports a job of the same id and another user or scheduler that runs on another node. */
static void
report_disputes (struct jobs *jobs, struct jobs_node *node, const struct jobs_job *job, const struct job_info *info)
{
  for (struct jobs_job *other = jobs_first (jobs, job->label, strlen (job->label)); other; other = jobs_next (other))
    if (other != job && other->state == JOB_RUNNING && !job_agrees (other, info) &&
        other->use_count > (job_use_find (other, node) ? 1 : 0)) {
      job_dispute (jobs, &node->owner, job, other);
      return;
    }
}

static bool
has_exited_on (const struct jobs_job *job, const struct jobs_node *node)
{
  const struct job_use *use = job->state == JOB_EXITED ? job_use_find (job, node) : NULL;

  return use && use->exited;
}

static struct jobs_job *
jobs_find_begin (struct jobs *jobs, struct job_intake *intake, const char *label, size_t length,
                 const struct job_info *info, struct jobs_job *before)
{
  struct job_owner *owner = &intake->node->owner;
  int64_t start_ns = info && info->start_ns ? info->start_ns : intake->time_ns;
  struct jobs_job *job;

  if (job_label_check (label, length, NULL) < 0) {
    refuse_row (intake, "an id that no job has: over 128 bytes, or with blanks or controls");
    return NULL;
  }
  if (!job_may_run (jobs, owner)) {
    refuse_row (intake, "more jobs than its share of those that may run");
    return NULL;
  }
  job = job_begin (jobs, owner, label, length, start_ns, before);
  if (info && info->named) {
    job_name (job, info);
    report_disputes (jobs, intake->node, job, info);
  }
  return job;
}

/* The run that a row is about, which may begin or resume; NULL: an earlier run, an ended one, or refused. */
static struct jobs_job *
find_run (struct jobs *jobs, struct job_intake *intake, const char *label, size_t length, const struct job_info *info,
          struct jobs_job *job)
{
  int64_t start_ns = info ? info->start_ns : 0;
  struct jobs_job *other;

  if (job && job->state == JOB_RUNNING && is_name_used_again (job, intake, start_ns)) {
    job_end (jobs, job, JOB_GONE);
    job = of_all (jobs, label, length, info);
  }
  if (job && job->state == JOB_RUNNING)
    return intake->time_ns > job->after_ns ? job : NULL;
  if (job && is_same_run (jobs, job, intake, start_ns)) {
    if (job->state == JOB_END_ANNOUNCED) {
      stay_ended (jobs, job, intake->time_ns);
      return NULL;
    }
    if (has_exited_on (job, intake->node))
      return NULL; /* groups with longer periods show it once more */
    if (!job_may_join (&intake->node->owner)) {
      refuse_row (intake, "more jobs than one node may have");
      return NULL;
    }
    job_resume (jobs, job);
    return job;
  }
  if (job && !start_ns && intake->time_ns <= job->seen_ns)
    return NULL;
  other = of_all (jobs, label, length, info && info->named ? info : NULL);
  if (other && other != job && other->state == JOB_RUNNING && intake->time_ns > other->after_ns &&
      strcmp (other->texts[JOB_SCHEDULER], "synop") == 0)
    return other; /* the new run has begun on another node */
  return jobs_find_begin (jobs, intake, label, length, info, job);
}

/* The node's rows of this label are about this job from now on. The job that they were about has ended there; or it
 * never was on the node, if the node had not identified it yet. */
static void
make_current (struct jobs *jobs, struct job_use *use)
{
  const char *label = use->job->label;
  struct job_use *next;

  for (struct job_use *other = job_uses_first (jobs, use->node, label, strlen (label)); other; other = next) {
    next = job_uses_next (other);
    if (other == use || !other->current)
      continue;
    other->current = false;
    if (!other->named && other->job->state == JOB_RUNNING)
      job_use_drop (jobs, other);
  }
  use->current = true;
}

struct job_use *
jobs_find_use (struct jobs *jobs, struct job_intake *intake, const char *label, size_t length,
               const struct job_info *info)
{
  struct jobs_node *node = intake->node;
  size_t count = 0;
  struct job_use *use = of_node (jobs, node, label, length, info, &count);
  struct jobs_job *job = use ? use->job : NULL;

  if (!use && !job_may_join (&node->owner)) /* before any search */
    return refuse_row (intake, "more jobs than one node may have");
  if (!use && count >= LABEL_USES_MAX)
    return refuse_row (intake, "more jobs of one id than a node may have");
  job = find_run (jobs, intake, label, length, info,
                  use ? job : of_all (jobs, label, length, info && info->named ? info : NULL));
  if (!job)
    return NULL;
  use = job_use_find (job, node);
  if (!use) {
    use = job_use_add (jobs, job, node);
    use->first_ns = use->last_ns = intake->time_ns;
    node->owner.running++;
    job_joined (jobs, use);
  }
  if (!use->current)
    make_current (jobs, use);
  return use;
}
