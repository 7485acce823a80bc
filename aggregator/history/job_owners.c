/* See job_owners.h. A row is of the newest job of its id that had begun on its node; a while after a job's end nobody is known
 * to own what bears its id. */
#include "aggregator/history/job_owners.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/history/job_store.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define AFTER_END (60 * NS_PER_S) /* what was sampled before it, and is shown after it */

struct job_owners {
  struct job_list list; /* in order of ids, then of time */
};

static int
by_label (const void *one, const void *other)
{
  const struct job_record *a = one, *b = other;
  int order = strcmp (a->label, b->label);

  return order ? order : (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns);
}

struct job_owners *
job_owners_read (struct history_file *file, int64_t from_ns, int64_t to_ns, struct error *error)
{
  struct job_query query = { .from_ns = from_ns > INT64_MIN + AFTER_END ? from_ns - AFTER_END : from_ns,
                             .to_ns = to_ns };
  struct job_owners *owners = memory_new (1, sizeof *owners);

  if (job_store_list (file, &query, &owners->list, error) < 0) {
    job_owners_free (owners);
    return NULL;
  }
  if (owners->list.count)
    qsort (owners->list.jobs, owners->list.count, sizeof owners->list.jobs[0], by_label);
  return owners;
}

void
job_owners_free (struct job_owners *owners)
{
  if (!owners)
    return;
  job_list_free (&owners->list);
  free (owners);
}

/* The first job of that id, or where it would be. */
static size_t
place_of (const struct job_owners *owners, const char *label, size_t length)
{
  size_t low = 0, high = owners->list.count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const char *there = owners->list.jobs[middle].label;
    int order = strncmp (there, label, length);
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool
has_label (const struct job_record *job, const char *label, size_t length)
{
  return strlen (job->label) == length && memcmp (job->label, label, length) == 0;
}

/* When it began there; INT64_MAX: it never was there. `node` NULL: anywhere. */
static int64_t
began_ns (const struct job_record *job, const char *node)
{
  for (size_t i = 0; i < job->node_count && node; i++)
    if (strcmp (job->nodes[i].name, node) == 0)
      return job->nodes[i].first_ns < job->started_ns ? job->nodes[i].first_ns : job->started_ns;
  return node ? INT64_MAX : job->started_ns;
}

/* Until when what bears its id is its own. */
static int64_t
until_ns (const struct job_record *job)
{
  return job->ended_ns ? job->ended_ns + AFTER_END : INT64_MAX;
}

static bool
is_his (const struct viewer *viewer, const struct job_record *job)
{
  return viewer_sees (viewer, job->user, strlen (job->user));
}

static bool
is_of_begin (const char *there, const char *label, size_t length)
{
  return strncmp (there, label, length) == 0;
}

static bool
past (const struct viewer *viewer, const char *node, const char *label, size_t length, int64_t time_ns)
{
  const struct job_owners *owners = viewer->history;
  const struct job_record *newest = NULL;

  for (size_t i = place_of (owners, label, length);
       i < owners->list.count && is_of_begin (owners->list.jobs[i].label, label, length); i++) {
    const struct job_record *job = &owners->list.jobs[i];
    if (has_label (job, label, length) && began_ns (job, node) <= time_ns &&
        (!newest || began_ns (job, node) >= began_ns (newest, node)))
      newest = job;
  }
  return newest && time_ns <= until_ns (newest) && is_his (viewer, newest);
}

void
job_owners_show (const struct job_owners *owners, struct viewer *viewer)
{
  viewer->past = past;
  viewer->history = owners;
}

bool
job_owners_all_his (const struct job_owners *owners, const struct viewer *viewer, const char *node, const char *label,
                    int64_t from_ns, int64_t to_ns)
{
  size_t length = strlen (label);
  bool any = false, others = false;

  for (size_t i = place_of (owners, label, length);
       i < owners->list.count && is_of_begin (owners->list.jobs[i].label, label, length); i++) {
    const struct job_record *job = &owners->list.jobs[i];
    if (!has_label (job, label, length) || began_ns (job, node) >= to_ns || until_ns (job) < from_ns)
      continue;
    any = true;
    others |= !is_his (viewer, job);
  }
  return any && !others;
}
