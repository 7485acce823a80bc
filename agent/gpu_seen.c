/* What lanes leave of GPUs for the sampling thread; see gpu_seen.h. The lock is held for copying alone. */
#include "agent/gpu_seen.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

struct gpu_seen {
  pthread_mutex_t lock;
  struct gpu_view view;
};

struct gpu_seen *
gpu_seen_create (void)
{
  struct gpu_seen *seen = memory_new (1, sizeof *seen);

  pthread_mutex_init (&seen->lock, NULL);
  return seen;
}

void
gpu_view_free (struct gpu_view *view)
{
  free (view->gpus);
  free (view->processes);
  *view = (struct gpu_view){ 0 };
}

void
gpu_seen_destroy (struct gpu_seen *seen)
{
  pthread_mutex_destroy (&seen->lock);
  gpu_view_free (&seen->view);
  free (seen);
}

static void
need_gpus (struct gpu_view *view, size_t count)
{
  if (count > view->gpu_room) {
    view->gpus = memory_resize (view->gpus, count, sizeof *view->gpus);
    view->gpu_room = count;
  }
  view->gpu_count = count;
}

static void
need_processes (struct gpu_view *view, size_t count)
{
  if (count > view->process_room) {
    view->process_room = 2 * count;
    view->processes = memory_resize (view->processes, view->process_room, sizeof *view->processes);
  }
  view->process_count = count;
}

struct seen_gpu *
gpu_seen_begin (struct gpu_seen *seen, size_t count)
{
  pthread_mutex_lock (&seen->lock);
  need_gpus (&seen->view, count);
  return seen->view.gpus;
}

void
gpu_seen_end (struct gpu_seen *seen)
{
  pthread_mutex_unlock (&seen->lock);
}

void
gpu_seen_leave_processes (struct gpu_seen *seen, struct gpu_process *processes, size_t count)
{
  struct gpu_view *view = &seen->view;

  pthread_mutex_lock (&seen->lock);
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < view->process_count && !processes[i].job[0]; j++)
      if (view->processes[j].pid == processes[i].pid)
        memcpy (processes[i].job, view->processes[j].job, sizeof processes[i].job);
  need_processes (view, count);
  if (count)
    memcpy (view->processes, processes, count * sizeof *processes);
  pthread_mutex_unlock (&seen->lock);
}

void
gpu_view_take (struct gpu_view *view, struct gpu_seen *seen)
{
  pthread_mutex_lock (&seen->lock);
  need_gpus (view, seen->view.gpu_count);
  need_processes (view, seen->view.process_count);
  if (view->gpu_count)
    memcpy (view->gpus, seen->view.gpus, view->gpu_count * sizeof *view->gpus);
  if (view->process_count)
    memcpy (view->processes, seen->view.processes, view->process_count * sizeof *view->processes);
  pthread_mutex_unlock (&seen->lock);
}

void
gpu_seen_name_jobs (struct gpu_seen *seen, gpu_job_fn *find, void *context)
{
  pthread_mutex_lock (&seen->lock);
  for (size_t i = 0; i < seen->view.process_count; i++) {
    struct gpu_process *process = &seen->view.processes[i];
    const char *job = find (context, process->pid);

    snprintf (process->job, sizeof process->job, "%s", job ? job : "");
  }
  pthread_mutex_unlock (&seen->lock);
}
