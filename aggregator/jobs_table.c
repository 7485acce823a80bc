/* Who is there: jobs by their label, nodes by their name, and which job is on which node. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs_private.h"
#include "synop/memory.h"

#define BUCKETS_FIRST 64

int
job_label_check (const char *label, size_t length, struct error *error)
{
  if (length == 0 || length > JOB_LABEL_MAX)
    return error_set (error, "the id of a job has 1 to %d bytes", JOB_LABEL_MAX);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char) label[i] <= ' ' || label[i] == 127)
      return error_set (error, "the id of a job has no spaces and no control characters");
  return 0;
}

/* ---- jobs ---- */

/* FNV-1a */
static size_t
hash (const char *label, size_t length)
{
  uint64_t sum = UINT64_C (0xcbf29ce484222325);

  for (size_t i = 0; i < length; i++)
    sum = (sum ^ (unsigned char) label[i]) * UINT64_C (0x100000001b3);
  return (size_t) (sum ^ sum >> 32);
}

static void
link_in (struct jobs *jobs, struct job *job)
{
  struct job **bucket = &jobs->buckets[hash (job->label, strlen (job->label)) & (jobs->bucket_count - 1)];

  job->next = *bucket;
  job->place = bucket;
  if (job->next)
    job->next->place = &job->next;
  *bucket = job;
}

static void
grow (struct jobs *jobs)
{
  struct job_chain *const chains[] = { &jobs->running, &jobs->kept };

  free (jobs->buckets);
  jobs->bucket_count = jobs->bucket_count ? 2 * jobs->bucket_count : BUCKETS_FIRST;
  jobs->buckets = memory_new (jobs->bucket_count, sizeof (struct job *));
  for (size_t i = 0; i < 2; i++)
    for (struct job *job = chains[i]->first; job; job = job->later)
      link_in (jobs, job);
}

struct job *
jobs_find (const struct jobs *jobs, const char *label, size_t length)
{
  struct job *job = jobs->bucket_count ? jobs->buckets[hash (label, length) & (jobs->bucket_count - 1)] : NULL;

  while (job && (strncmp (job->label, label, length) != 0 || job->label[length]))
    job = job->next;
  return job;
}

void
jobs_chain_add (struct job_chain *chain, struct job *job)
{
  job->earlier = chain->last;
  job->later = NULL;
  *(chain->last ? &chain->last->later : &chain->first) = job;
  chain->last = job;
}

void
jobs_chain_remove (struct job_chain *chain, struct job *job)
{
  *(job->earlier ? &job->earlier->later : &chain->first) = job->later;
  *(job->later ? &job->later->earlier : &chain->last) = job->earlier;
}

struct job *
jobs_add (struct jobs *jobs, const char *label, size_t length)
{
  struct job *job = memory_new (1, sizeof *job);

  job->label = memory_copy (label, length);
  for (size_t i = 0; i < JOB_TEXTS; i++)
    job->texts[i] = memory_string ("");
  if (jobs->job_count++ >= jobs->bucket_count)
    grow (jobs);
  link_in (jobs, job);
  jobs_chain_add (&jobs->running, job);
  return job;
}

static void
use_destroy (struct job_use *use)
{
  *use->place = use->next;
  if (use->next)
    use->next->place = use->place;
  if (use->node->hint_count)
    memset (use->node->hints, 0, use->node->hint_count * sizeof (struct job_use *));
  free (use);
}

void
jobs_drop (struct jobs *jobs, struct job *job)
{
  jobs_chain_remove (job->state == JOB_RUNNING ? &jobs->running : &jobs->kept, job);
  *job->place = job->next;
  if (job->next)
    job->next->place = job->place;
  jobs->job_count--;
  for (size_t i = 0; i < job->use_count; i++)
    use_destroy (job->uses[i]);
  for (size_t i = 0; i < JOB_TEXTS; i++)
    free (job->texts[i]);
  free (job->uses);
  free (job->label);
  free (job);
}

/* ---- nodes ---- */

struct jobs_node *
jobs_node (struct jobs *jobs, const char *name)
{
  size_t low = 0, high = jobs->node_count;
  struct jobs_node *node;

  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = strverscmp (name, jobs->nodes[middle]->name);
    if (order == 0)
      return jobs->nodes[middle];
    *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
  }
  if (jobs->node_count == jobs->node_capacity) {
    jobs->node_capacity = jobs->node_capacity ? 2 * jobs->node_capacity : 16;
    jobs->nodes = memory_resize (jobs->nodes, jobs->node_capacity, sizeof (struct jobs_node *));
  }
  node = memory_new (1, sizeof *node);
  node->name = memory_string (name);
  memmove (jobs->nodes + low + 1, jobs->nodes + low, (jobs->node_count++ - low) * sizeof (struct jobs_node *));
  jobs->nodes[low] = node;
  return node;
}

/* ---- jobs on nodes ---- */

/* Where it is, or would be. */
static size_t
use_place (const struct job *job, const struct jobs_node *node)
{
  size_t low = 0, high = job->use_count;

  while (low < high) {
    size_t middle = (low + high) / 2;
    if (strverscmp (job->uses[middle]->node->name, node->name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct job_use *
job_use_find (const struct job *job, const struct jobs_node *node)
{
  size_t at = use_place (job, node);

  return at < job->use_count && job->uses[at]->node == node ? job->uses[at] : NULL;
}

struct job_use *
job_use_add (struct job *job, struct jobs_node *node)
{
  struct job_use *use = memory_new (1, sizeof *use);
  size_t at = use_place (job, node);

  use->job = job;
  use->node = node;
  use->cpus = nan ("");
  for (size_t i = 0; i < JOB_TOTALS; i++)
    use->totals[i].last = nan ("");
  for (size_t i = 0; i < JOB_PEAKS; i++)
    use->peaks[i] = nan ("");
  use->next = node->uses;
  use->place = &node->uses;
  if (use->next)
    use->next->place = &use->next;
  node->uses = use;
  if (job->use_count == job->use_capacity) {
    job->use_capacity = job->use_capacity ? 2 * job->use_capacity : 2;
    job->uses = memory_resize (job->uses, job->use_capacity, sizeof (struct job_use *));
  }
  memmove (job->uses + at + 1, job->uses + at, (job->use_count++ - at) * sizeof (struct job_use *));
  job->uses[at] = use;
  return use;
}
