/* See job_group.h. */
#include "agent/job/job_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job/run_end.h"
#include "synop/clock.h"
#include "synop/config.h"
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
  struct job_share *share;
};

struct job_options {
  char *environment, *accounting, *socket;
  int64_t pss_period_ns;
};

static int
check_variables (const char *value, struct error *error)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

  for (const char *at = value; *at; at++) {
    size_t length = strcspn (at, ",");

    if (!length || !strchr (letters, at[0]) ||
        strspn (at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") < length)
      return error_set (error, "\"%.*s\" cannot be the name of an environment variable", (int) length, at);
    at += length;
    if (!*at)
      break;
  }
  return 0;
}

#define IN_JOBS(member) offsetof (struct job_options, member)

static const struct option option_rows[] = {
  { "jobs", "environment", "jobs-environment", OPTION_LIST, IN_JOBS (environment), "", .check = check_variables,
    .help = "Further environment variables that hold the id of a process's job, beside those of the "
            "known schedulers." },
  { "jobs", "pss_period", "jobs-pss-period", OPTION_DURATION, IN_JOBS (pss_period_ns), "30s", "1s", "24h",
    .help = "How often the memory that processes of jobs share is divided among them, which takes a walk over all of "
            "it. Where that takes long it is done more rarely." },
  { "jobs", "book", "jobs-book", OPTION_TEXT, IN_JOBS (accounting), "/var/lib/synop/jobs",
    .help = "The file that holds what each job has used, so that a restarted agent continues from there. "
            "Empty: in memory." },
  { "jobs", "socket", "jobs-socket", OPTION_TEXT, IN_JOBS (socket), RUN_END_SOCKET,
    .help = "Where \"synop-agent run\" says how its command ended, any user's; its folder has to be there. Empty: "
            "nowhere." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct job_options);

static void
share_start (void *state, const struct sampler_context *context)
{
  const struct job_options *options = context_options (context, &own_options);
  const struct job_scan_options scan = { .root = context->root,
                                         .environment = options->environment,
                                         .pss_period_ns = options->pss_period_ns,
                                         .accounting = context->brief ? "" : options->accounting,
                                         .socket = context->brief || *context->root ? "" : options->socket };
  struct job_share *share = state;

  share->scan = job_scan_create (&scan);
}

static void
share_stop (void *state)
{
  struct job_share *share = state;

  job_scan_destroy (share->scan);
}

const struct service service_jobs = {
  .options = &own_options, .size = sizeof (struct job_share), .start = share_start, .stop = share_stop
};

struct job_group *
job_group_open (const struct sampler_context *context, enum job_group_place place)
{
  struct job_group *group = memory_new (1, sizeof *group);

  group->place = place;
  group->share = service_take (context, &service_jobs);
  group->share->groups |= 1u << place;
  job_scan_set_groups (group->share->scan, group->share->groups);
  return group;
}

void
job_group_close (void *state)
{
  struct job_group *group = state;

  group->share->groups &= ~(1u << group->place);
  job_scan_set_groups (group->share->scan, group->share->groups);
  service_leave (group->share);
  free (group);
}

int
job_group_begin (struct job_group *group, struct table *table)
{
  struct job_share *share = group->share;
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
  struct job_scan *scan = group->share->scan;
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
job_group_sample (struct job_group *group, struct table *table, job_row_fn *set_row)
{
  struct job *job;

  if (job_group_begin (group, table) < 0)
    return -1;
  for (size_t at = 0; (job = job_group_next (group, &at));) {
    size_t row = job_group_add_row (table, job);

    if (row == SIZE_MAX)
      break;
    set_row (group->share->scan, table, row, job);
  }
  return 0;
}

const char *
job_group_label_of (const struct sampler_context *context, pid_t pid)
{
  const struct job_share *share = service_find (context, &service_jobs);
  const struct job *job = share ? job_scan_owner (share->scan, pid) : NULL;

  return job ? job->label : NULL;
}

size_t
job_group_pids_of (const struct sampler_context *context, const char *label, pid_t *pids, size_t most)
{
  const struct job_share *share = service_find (context, &service_jobs);

  return share ? job_scan_pids (share->scan, label, pids, most) : 0;
}

struct job_scan *
job_group_scan (const struct job_group *group)
{
  return group->share->scan;
}

void
job_group_set (struct table *table, size_t row, size_t column, bool known, uint64_t value)
{
  if (known)
    table_set_uint (table, row, column, value);
}
