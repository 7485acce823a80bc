/* The owners of jobs and their shares: one rule for nodes, schedulers and users. Half of each limit is for whoever
 * comes first, up to the owner's own limit; when that half is used up, each owner may have an equal part of the
 * other half. So no owner can use up another's part, and what runs is never displaced. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/jobs/jobs_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define EVENT_EVERY (10 * NS_PER_S)

#define USERS 64 /* users to expect at least; the number of nodes is known */

static const struct limits {
  size_t all, own;
} running_limits[OWNER_KINDS] = { [OWNER_NODE] = { JOBS_MAX, JOBS_NODE_MAX },
                                  [OWNER_SCHEDULER] = { 2 * JOBS_ANNOUNCED_MAX, JOBS_ANNOUNCED_MAX },
                                  [OWNER_USER] = { JOBS_ANNOUNCED_USERS_MAX, JOBS_ANNOUNCED_USER_MAX } },
  kept_limits[OWNER_KINDS] = { [OWNER_NODE] = { JOBS_KEPT_MAX, JOBS_KEPT_MAX / 2 },
                               [OWNER_SCHEDULER] = { 2 * JOBS_ANNOUNCED_MAX, JOBS_ANNOUNCED_MAX },
                               [OWNER_USER] = { JOBS_ANNOUNCED_USERS_MAX, JOBS_ANNOUNCED_USER_MAX } };

static bool
has_room (const struct limits *limits, size_t all, size_t own, size_t owners)
{
  size_t half = limits->all / 2, part = half / owners ? half / owners : 1;

  return own < limits->own && all < limits->all && (all < half || own < part);
}

void
jobs_expect_nodes (struct jobs *jobs, size_t count)
{
  jobs->nodes_expected = count;
}

static size_t
owners (const struct jobs *jobs, const struct job_owner *owner)
{
  size_t least = owner->kind == OWNER_NODE ? jobs->nodes_expected : owner->kind == OWNER_USER ? USERS : 1;
  size_t count = owner->kind == OWNER_NODE ? jobs->node_count : jobs->announcer_counts[owner->kind];

  return count > least ? count : least;
}

/* ---- announcers ---- */

struct job_owner *
job_announcer (struct jobs *jobs, const struct job_announcement *announcement)
{
  enum job_owner_kind kind = announcement->scheduler ? OWNER_SCHEDULER : OWNER_USER;
  struct job_owner *owner = jobs->announcers;

  while (owner && (owner->kind != kind || owner->uid != announcement->uid))
    owner = owner->next;
  if (owner)
    return owner;
  owner = memory_new (1, sizeof *owner);
  *owner = (struct job_owner){ .kind = kind, .uid = announcement->uid, .next = jobs->announcers };
  jobs->announcers = owner;
  jobs->announcer_counts[kind]++;
  return owner;
}

void
job_owner_release (struct jobs *jobs, struct job_owner *owner)
{
  struct job_owner **place = &jobs->announcers;

  if (owner->kind == OWNER_NODE || owner->running || owner->kept)
    return;
  while (*place != owner)
    place = &(*place)->next;
  *place = owner->next;
  jobs->announcer_counts[owner->kind]--;
  free (owner);
}

/* ---- jobs that run ---- */

bool
job_may_run (const struct jobs *jobs, const struct job_owner *owner)
{
  const struct job_pool *pool = &jobs->pools[owner->kind];

  return has_room (&running_limits[owner->kind], pool->running, owner->running, owners (jobs, owner));
}

bool
job_may_join (const struct job_owner *owner)
{
  return owner->running < JOBS_NODE_MAX;
}

void
job_counts_running (struct jobs *jobs, const struct jobs_job *job, int by)
{
  jobs->counts.jobs_running += (uint64_t) by;
  jobs->pools[job->owner->kind].running += (size_t) by;
  if (job->owner->kind != OWNER_NODE)
    job->owner->running += (size_t) by;
  for (size_t i = 0; i < job->use_count; i++)
    job->uses[i]->node->owner.running += (size_t) by;
}

void
job_shown (struct jobs *jobs, struct jobs_job *job, struct jobs_node *node)
{
  struct job_owner *announcer = job->owner;

  job->seen = true;
  if (announcer->kind == OWNER_NODE)
    return;
  announcer->running--;
  jobs->pools[announcer->kind].running--;
  jobs->pools[OWNER_NODE].running++;
  job->owner = &node->owner;
  job_owner_release (jobs, announcer);
}

/* ---- jobs that ended ---- */

static void
chain_add (struct jobs *jobs, struct jobs_job *job)
{
  struct job_owner *owner = job->owner;

  job->marked = jobs->awake;
  job->earlier = jobs->last_kept;
  job->owner_earlier = owner->last_kept;
  job->later = job->owner_later = NULL;
  *(jobs->last_kept ? &jobs->last_kept->later : &jobs->first_kept) = job;
  *(owner->last_kept ? &owner->last_kept->owner_later : &owner->first_kept) = job;
  jobs->last_kept = owner->last_kept = job;
}

static void
chain_remove (struct jobs *jobs, struct jobs_job *job)
{
  struct job_owner *owner = job->owner;

  *(job->earlier ? &job->earlier->later : &jobs->first_kept) = job->later;
  *(job->later ? &job->later->earlier : &jobs->last_kept) = job->earlier;
  *(job->owner_earlier ? &job->owner_earlier->owner_later : &owner->first_kept) = job->owner_later;
  *(job->owner_later ? &job->owner_later->owner_earlier : &owner->last_kept) = job->owner_earlier;
}

void
job_keep_no_more (struct jobs *jobs, struct jobs_job *job)
{
  chain_remove (jobs, job);
  job->owner->kept--;
  jobs->pools[job->owner->kind].kept--;
}

static void
forget (struct jobs *jobs, struct jobs_job *job)
{
  job_keep_no_more (jobs, job);
  jobs_drop (jobs, job);
}

/* Over its share an owner loses its oldest ended job. */
void
job_keep (struct jobs *jobs, struct jobs_job *job)
{
  struct job_owner *owner = job->owner;
  struct job_pool *pool = &jobs->pools[owner->kind];

  while (owner->kept && !has_room (&kept_limits[owner->kind], pool->kept, owner->kept, owners (jobs, owner)))
    forget (jobs, owner->first_kept);
  if (!has_room (&kept_limits[owner->kind], pool->kept, owner->kept, owners (jobs, owner))) {
    jobs_drop (jobs, job);
    job_owner_release (jobs, owner);
    return;
  }
  owner->kept++;
  pool->kept++;
  chain_add (jobs, job);
}

void
job_keep_anew (struct jobs *jobs, struct jobs_job *job)
{
  chain_remove (jobs, job);
  chain_add (jobs, job);
}

/* ---- events ---- */

/* The number to report now; 0: not yet. */
static uint64_t
take_pending (const struct jobs *jobs, struct job_rate_limit *limit, uint64_t count)
{
  limit->pending += count;
  if (limit->reported && jobs->awake - limit->reported < EVENT_EVERY)
    return 0;
  count = limit->pending;
  *limit = (struct job_rate_limit){ .reported = jobs->awake ? jobs->awake : 1 };
  return count;
}

static void
share_event (struct jobs *jobs, const struct job_owner *owner, struct event *event)
{
  char user[16];

  snprintf (user, sizeof user, "%" PRIu32, owner->uid);
  event->wall_ns = jobs->now_ns;
  event->node = owner->kind == OWNER_NODE ? owner->name : NULL;
  event->user = owner->kind == OWNER_NODE ? NULL : user;
  if (jobs->options.event)
    jobs->options.event (jobs->options.context, event);
}

void
job_hold_back (struct jobs *jobs, struct job_owner *owner, uint64_t count, const char *reason, const char *why)
{
  bool is_node = owner->kind == OWNER_NODE;
  uint64_t count_now = take_pending (jobs, is_node ? &owner->held_back : &jobs->users_held_back, count);

  if (count_now)
    share_event (jobs, owner,
                 &(struct event){ .type = EVENT_JOBS_HELD_BACK, .reason = reason, .text = why, .count = count_now });
}

static const char *
or_nobody (const char *text)
{
  return *text ? text : "?";
}

void
job_dispute (struct jobs *jobs, struct job_owner *owner, const struct jobs_job *job, const struct jobs_job *other)
{
  uint64_t count_now = take_pending (jobs, &owner->disputed, 1);
  char *text;

  jobs->counts.jobs_disputed++;
  if (!count_now)
    return;
  text = memory_format ("job %s is of %s (%s) there; %s, which runs on %s, is of %s (%s)", job->label,
                        or_nobody (job->texts[JOB_USER]), or_nobody (job->texts[JOB_SCHEDULER]), other->label,
                        other->use_count ? other->uses[0]->node->name : "no node", or_nobody (other->texts[JOB_USER]),
                        or_nobody (other->texts[JOB_SCHEDULER]));
  share_event (jobs, owner,
               &(struct event){ .type = EVENT_JOB_DISPUTED, .reason = job->label, .text = text, .count = count_now });
  free (text);
}
