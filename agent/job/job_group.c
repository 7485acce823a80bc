/* See job_group.h. The groups' common state hangs in the context, since they are opened one by one; without a place
 * there each group scans for itself. */
#include "agent/job/job_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define SAME_INSTANT (20 * NS_PER_MS)

struct job_share {
  struct job_scan *scan;
  unsigned groups;  /* that are open */
  unsigned taken;   /* that have had the last scan */
  int64_t ended_ns; /* when it was done */
  int result;
};

struct job_group {
  enum job_group_place place;
  struct job_share **at; /* in the context */
  struct job_share *own; /* where the context has no place */
};

static struct job_share *
share_create (const struct sampler_context *context)
{
  struct job_share *share = memory_new (1, sizeof *share);
  const struct job_scan_options options = { .root = context->root,
                                            .environment = context->job_environment,
                                            .pss_period_ns =
                                                context->job_pss_period_ns ? context->job_pss_period_ns : 30 * NS_PER_S,
                                            .book = context->job_book ? context->job_book : "" };

  share->scan = job_scan_create (&options);
  return share;
}

static struct job_share *
share_of (const struct job_group *group)
{
  return *group->at;
}

struct job_group *
job_group_open (const struct sampler_context *context, enum job_group_place place)
{
  struct job_group *group = memory_new (1, sizeof *group);

  group->place = place;
  group->at = context->job_share ? context->job_share : &group->own;
  if (!*group->at)
    *group->at = share_create (context);
  share_of (group)->groups |= 1u << place;
  job_scan_set_groups (share_of (group)->scan, share_of (group)->groups);
  return group;
}

void
job_group_close (void *state)
{
  struct job_group *group = state;
  struct job_share *share = share_of (group);

  share->groups &= ~(1u << group->place);
  job_scan_set_groups (share->scan, share->groups);
  if (share->groups == 0) {
    job_scan_destroy (share->scan);
    free (share);
    *group->at = NULL;
  }
  free (group);
}

int
job_group_begin (struct job_group *group, struct table *table)
{
  struct job_share *share = share_of (group);
  unsigned mine = 1u << group->place;
  int64_t now_ns = clock_monotonic ();

  if (share->ended_ns == 0 || share->taken & mine || now_ns - share->ended_ns > SAME_INSTANT) {
    share->result = job_scan_run (share->scan, now_ns, clock_wall ());
    share->ended_ns = clock_monotonic ();
    share->taken = 0;
  }
  share->taken |= mine;
  if (share->result < 0)
    snprintf (table->error, sizeof table->error, "%s", job_scan_error (share->scan));
  return share->result;
}

struct job *
job_group_next (struct job_group *group, size_t *at)
{
  struct job_scan *scan = share_of (group)->scan;
  unsigned mine = 1u << group->place;

  while (*at < job_scan_count (scan)) {
    struct job *job = job_scan_job (scan, (*at)++);

    if (!job->ended)
      return job;
    if (!(job->shown & mine)) {
      job->shown |= mine;
      return job;
    }
  }
  return NULL;
}

size_t
job_group_add_row (struct table *table, const struct job *job)
{
  return table_add_row (table, job->label, strlen (job->label));
}

int
job_group_sample (struct job_group *group, struct table *table, job_tell_fn *tell)
{
  struct job *job;

  if (job_group_begin (group, table) < 0)
    return -1;
  for (size_t at = 0; (job = job_group_next (group, &at));) {
    size_t row = job_group_add_row (table, job);

    if (row == SIZE_MAX)
      break;
    tell (share_of (group)->scan, table, row, job);
  }
  return 0;
}

const char *
job_group_label_of (const struct job_share *share, pid_t pid)
{
  const struct job *job = share ? job_scan_owner (share->scan, pid) : NULL;

  return job ? job->label : NULL;
}

struct job_scan *
job_group_scan (const struct job_group *group)
{
  return share_of (group)->scan;
}

void
job_group_set (struct table *table, size_t row, size_t column, bool known, uint64_t value)
{
  if (known)
    table_set_uint (table, row, column, value);
}
