/* The jobs that run, as a heap by when they are due: a tick visits only the jobs that need it, however many there
 * are. */
#include "aggregator/jobs/jobs_private.h"
#include "synop/array.h"

static bool
is_before (const struct jobs_job *one, const struct jobs_job *other)
{
  return one->due != other->due ? one->due < other->due : one->key < other->key;
}

static void
jobs_due_put (struct jobs *jobs, size_t index, struct jobs_job *job)
{
  jobs->due[index] = job;
  job->due_index = index;
}

/* Moves the job at `index` to its place in the heap. */
static void
settle (struct jobs *jobs, size_t index)
{
  struct jobs_job *job = jobs->due[index];

  for (; index > 0 && is_before (job, jobs->due[(index - 1) / 2]); index = (index - 1) / 2)
    jobs_due_put (jobs, index, jobs->due[(index - 1) / 2]);
  for (;;) {
    size_t child = 2 * index + 1;
    if (child + 1 < jobs->due_count && is_before (jobs->due[child + 1], jobs->due[child]))
      child++;
    if (child >= jobs->due_count || !is_before (jobs->due[child], job))
      break;
    jobs_due_put (jobs, index, jobs->due[child]);
    index = child;
  }
  jobs_due_put (jobs, index, job);
}

void
job_due_add (struct jobs *jobs, struct jobs_job *job, int64_t due)
{
  array_reserve (jobs->due, jobs->due_capacity, jobs->due_count + 1);
  job->due = due;
  jobs_due_put (jobs, jobs->due_count++, job);
  settle (jobs, job->due_index);
}

void
job_due_remove (struct jobs *jobs, struct jobs_job *job)
{
  struct jobs_job *last = jobs->due[--jobs->due_count];

  if (last == job)
    return;
  jobs_due_put (jobs, job->due_index, last);
  settle (jobs, last->due_index);
}

void
job_due_set (struct jobs *jobs, struct jobs_job *job, int64_t due)
{
  job->due = due;
  settle (jobs, job->due_index);
}
