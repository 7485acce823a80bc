/* The tables of jobs by label, of nodes by name, and of jobs on nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "synop/array.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

/* ---- jobs ---- */

#define OF(type, member, link) ((type *) (void *) ((char *) (link) -offsetof (type, member)))

/* The length of "123" in "123/1"; 0: it is the first run. */
static size_t
run_of (const char *label, size_t length)
{
  size_t digits = 0;

  while (digits < length && label[length - 1 - digits] >= '0' && label[length - 1 - digits] <= '9')
    digits++;
  return digits && digits + 1 < length && label[length - 1 - digits] == '/' ? length - 1 - digits : 0;
}

struct jobs_job *
jobs_add (struct jobs *jobs, struct job_owner *owner, const char *label, size_t length)
{
  struct jobs_job *job = memory_new (1, sizeof *job);
  size_t of = run_of (label, length);

  job->owner = owner;
  job->uid = JOB_UID_UNKNOWN;
  job->label = memory_copy (label, length);
  for (size_t i = 0; i < JOB_TEXTS; i++)
    job->texts[i] = memory_string ("");
  keyed_table_add (&jobs->labels, &job->of_label, hash_keyed (label, length));
  if (of)
    keyed_table_add (&jobs->runs, &job->of_run, hash_keyed (label, of));
  return job;
}

/* From this link on. */
static struct jobs_job *
with_label (struct keyed_link *link, const char *label, size_t length)
{
  for (; link; link = keyed_link_next (link)) {
    struct jobs_job *job = OF (struct jobs_job, of_label, link);
    if (strncmp (job->label, label, length) == 0 && !job->label[length])
      return job;
  }
  return NULL;
}

struct jobs_job *
jobs_first (const struct jobs *jobs, const char *label, size_t length)
{
  return with_label (keyed_table_first (&jobs->labels, hash_keyed (label, length)), label, length);
}

struct jobs_job *
jobs_next (const struct jobs_job *job)
{
  return with_label (keyed_link_next (&job->of_label), job->label, strlen (job->label));
}

static struct jobs_job *
run_with_label (struct keyed_link *link, const char *label, size_t length)
{
  for (; link; link = keyed_link_next (link)) {
    struct jobs_job *job = OF (struct jobs_job, of_run, link);
    if (strncmp (job->label, label, length) == 0 && run_of (job->label, strlen (job->label)) == length)
      return job;
  }
  return NULL;
}

struct jobs_job *
jobs_first_run (const struct jobs *jobs, const char *label, size_t length)
{
  return run_with_label (keyed_table_first (&jobs->runs, hash_keyed (label, length)), label, length);
}

struct jobs_job *
jobs_next_run (const struct jobs_job *job)
{
  return run_with_label (keyed_link_next (&job->of_run), job->label, run_of (job->label, strlen (job->label)));
}

static void
use_destroy (struct jobs *jobs, struct job_use *use)
{
  struct jobs_node *node = use->node;

  keyed_table_remove (&jobs->uses, &use->of_label);
  *use->place = use->next;
  if (use->next)
    use->next->place = use->place;
  for (size_t i = 0; i < node->hint_count; i++)
    if (node->hints[i] == use)
      node->hints[i] = NULL;
  free (use->name);
  free (use);
}

/* The caller updates the owner. */
void
jobs_drop (struct jobs *jobs, struct jobs_job *job)
{
  keyed_table_remove (&jobs->labels, &job->of_label);
  keyed_table_remove (&jobs->runs, &job->of_run);
  for (size_t i = 0; i < job->use_count; i++)
    use_destroy (jobs, job->uses[i]);
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
  array_reserve (jobs->nodes, jobs->node_capacity, jobs->node_count + 1);
  node = memory_new (1, sizeof *node);
  node->name = memory_string (name);
  node->owner = (struct job_owner){ .kind = OWNER_NODE, .name = node->name };
  node->salt = hash_keyed (name, strlen (name));
  memmove (jobs->nodes + low + 1, jobs->nodes + low, (jobs->node_count++ - low) * sizeof (struct jobs_node *));
  jobs->nodes[low] = node;
  return node;
}

/* ---- jobs on nodes ---- */

/* The index at which it is, or would be. */
static size_t
use_place (const struct jobs_job *job, const struct jobs_node *node)
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
job_use_find (const struct jobs_job *job, const struct jobs_node *node)
{
  size_t at = use_place (job, node);

  return at < job->use_count && job->uses[at]->node == node ? job->uses[at] : NULL;
}

struct job_use *
job_use_add (struct jobs *jobs, struct jobs_job *job, struct jobs_node *node)
{
  struct job_use *use = memory_new (1, sizeof *use);
  size_t at = use_place (job, node);

  use->job = job;
  use->node = node;
  use->founder = !job->reported;
  use->touched = -1;
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
  keyed_table_add (&jobs->uses, &use->of_label, job->of_label.hash ^ node->salt);
  array_reserve (job->uses, job->use_capacity, job->use_count + 1);
  memmove (job->uses + at + 1, job->uses + at, (job->use_count++ - at) * sizeof (struct job_use *));
  job->uses[at] = use;
  return use;
}

void
job_use_drop (struct jobs *jobs, struct job_use *use)
{
  struct jobs_job *job = use->job;
  size_t at = use_place (job, use->node);

  memmove (job->uses + at, job->uses + at + 1, (--job->use_count - at) * sizeof (struct job_use *));
  use->node->owner.running--;
  use_destroy (jobs, use);
}

static struct job_use *
with_node (struct keyed_link *link, const struct jobs_node *node, const char *label, size_t length)
{
  for (; link; link = keyed_link_next (link)) {
    struct job_use *use = OF (struct job_use, of_label, link);
    if (use->node == node && strncmp (use->job->label, label, length) == 0 && !use->job->label[length])
      return use;
  }
  return NULL;
}

struct job_use *
job_uses_first (const struct jobs *jobs, const struct jobs_node *node, const char *label, size_t length)
{
  uint64_t hash = hash_keyed (label, length) ^ node->salt;

  return with_node (keyed_table_first (&jobs->uses, hash), node, label, length);
}

struct job_use *
job_uses_next (const struct job_use *use)
{
  return with_node (keyed_link_next (&use->of_label), use->node, use->job->label, strlen (use->job->label));
}
