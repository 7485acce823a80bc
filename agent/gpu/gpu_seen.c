/* Passes data of GPUs from workers to the sampling thread, and of jobs back; see gpu_seen.h. */
#include "agent/gpu/gpu_seen.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct gpu_seen {
  pthread_mutex_t lock;
  struct gpu_view view;
  struct gpu_jobs jobs;
};

struct gpu_seen *
gpu_seen_create (void)
{
  struct gpu_seen *seen = memory_new (1, sizeof *seen);

  pthread_mutex_init (&seen->lock, NULL);
  return seen;
}

void
gpu_jobs_free (struct gpu_jobs *jobs)
{
  free (jobs->list);
  *jobs = (struct gpu_jobs){ 0 };
}

void
gpu_view_free (struct gpu_view *view)
{
  free (view->gpus);
  free (view->processes);
  free (view->jobs);
  gpu_jobs_free (&view->named);
  *view = (struct gpu_view){ 0 };
}

void
gpu_seen_destroy (struct gpu_seen *seen)
{
  pthread_mutex_destroy (&seen->lock);
  gpu_view_free (&seen->view);
  gpu_jobs_free (&seen->jobs);
  free (seen);
}

static void
set_processes (struct gpu_view *view, const struct gpu_process *processes, size_t count)
{
  if (count > view->process_room) {
    view->process_room = 2 * count;
    view->processes = memory_resize (view->processes, view->process_room, sizeof *view->processes);
    view->jobs = memory_resize (view->jobs, view->process_room, sizeof *view->jobs);
  }
  view->process_count = count;
  if (count)
    memcpy (view->processes, processes, count * sizeof *processes);
}

static void
jobs_copy (struct gpu_jobs *to, const struct gpu_jobs *from)
{
  array_reserve (to->list, to->room, from->count);
  to->count = from->count;
  if (from->count)
    memcpy (to->list, from->list, from->count * sizeof *from->list);
}

struct seen_gpu *
gpu_seen_begin (struct gpu_seen *seen, size_t count)
{
  pthread_mutex_lock (&seen->lock);
  array_reserve (seen->view.gpus, seen->view.gpu_room, count);
  seen->view.gpu_count = count;
  return seen->view.gpus;
}

void
gpu_seen_end (struct gpu_seen *seen)
{
  seen->view.put_ns = clock_monotonic ();
  pthread_mutex_unlock (&seen->lock);
}

void
gpu_seen_put_processes (struct gpu_seen *seen, const struct gpu_process *processes, size_t count)
{
  pthread_mutex_lock (&seen->lock);
  set_processes (&seen->view, processes, count);
  pthread_mutex_unlock (&seen->lock);
}

void
gpu_jobs_take (struct gpu_jobs *jobs, struct gpu_seen *seen)
{
  pthread_mutex_lock (&seen->lock);
  jobs_copy (jobs, &seen->jobs);
  pthread_mutex_unlock (&seen->lock);
}

void
gpu_view_take (struct gpu_view *view, struct gpu_seen *seen)
{
  pthread_mutex_lock (&seen->lock);
  array_reserve (view->gpus, view->gpu_room, seen->view.gpu_count);
  view->gpu_count = seen->view.gpu_count;
  view->put_ns = seen->view.put_ns;
  if (view->gpu_count)
    memcpy (view->gpus, seen->view.gpus, view->gpu_count * sizeof *view->gpus);
  set_processes (view, seen->view.processes, seen->view.process_count);
  pthread_mutex_unlock (&seen->lock);
  for (size_t i = 0; i < view->process_count; i++)
    view->jobs[i] = NULL;
}

void
gpu_view_name_jobs (struct gpu_view *view, struct gpu_seen *seen, gpu_job_fn *find, void *context)
{
  struct gpu_jobs *named = &view->named;

  array_reserve (named->list, named->room, view->process_count);
  named->count = 0;
  for (size_t i = 0; i < view->process_count; i++) {
    const struct gpu_process *process = &view->processes[i];
    struct gpu_job *job = &named->list[named->count];

    view->jobs[i] = process->pid ? find (context, process->pid) : NULL;
    if (!view->jobs[i])
      continue;
    job->pid = process->pid;
    snprintf (job->label, sizeof job->label, "%s", view->jobs[i]);
    named->count++;
  }
  pthread_mutex_lock (&seen->lock);
  jobs_copy (&seen->jobs, named);
  pthread_mutex_unlock (&seen->lock);
}
