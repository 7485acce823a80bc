/* One thread for a sampler that may block; see worker.h.
 *
 * The sampler fills a table that only the thread touches; when it is done the table is swapped with `result` under
 * the lock. A sample that will not block is taken by worker_begin itself, under the lock, while the thread (if there
 * is one) sleeps; so either may take the next sample. A sample that missed its deadline is kept until the next
 * collect, so that a slow sampler gives values at a slower pace rather than none. */
#include "agent/sampling/worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/thread.h"

/* Samplers keep big buffers on the heap. Pages that are never touched cost nothing. */
#define WORKER_STACK (128 * 1024)

struct worker {
  const struct sampler *sampler;
  void *state;          /* used by the thread alone while it is `sampling`, else under the lock */
  struct table working; /* the same */

  pthread_mutex_t lock; /* guards all that follows */
  pthread_cond_t wake;  /* for the thread: a request, or quit */
  pthread_cond_t done;  /* for the collector */
  pthread_t thread;
  bool running;  /* the thread exists */
  bool sampling; /* requested, or under way in the thread */
  bool late;     /* the sample under way has missed a deadline already */
  bool fresh;    /* `result` has not been collected */
  bool quit;     /* worker_destroy was called */
  bool orphaned; /* nobody joins the thread: it frees the worker */
  int failure;   /* errno of a thread that could not be made */
  struct table result;
};

struct worker *
worker_create (const struct sampler *sampler, void *state)
{
  struct worker *worker = memory_new (1, sizeof *worker);

  worker->sampler = sampler;
  worker->state = state;
  table_init (&worker->working, sampler->group);
  table_init (&worker->result, sampler->group);
  pthread_mutex_init (&worker->lock, NULL);
  thread_condition_init (&worker->wake);
  thread_condition_init (&worker->done);
  return worker;
}

static void
worker_free (struct worker *worker)
{
  worker->sampler->close (worker->state);
  table_free (&worker->working);
  table_free (&worker->result);
  pthread_cond_destroy (&worker->wake);
  pthread_cond_destroy (&worker->done);
  pthread_mutex_destroy (&worker->lock);
  free (worker);
}

static void
worker_sample (struct worker *worker)
{
  table_begin (&worker->working);
  worker->working.monotonic_ns = clock_monotonic ();
  if (worker->sampler->sample (worker->state, &worker->working) < 0 && !worker->working.error[0])
    strcpy (worker->working.error, "cannot be read");
  worker->working.took_ns = clock_monotonic () - worker->working.monotonic_ns;
}

static void
worker_hand_over (struct worker *worker)
{
  table_swap (&worker->working, &worker->result);
  worker->fresh = true;
}

static void *
worker_run (void *argument)
{
  struct worker *worker = argument;
  char name[16]; /* all that the kernel takes; names a thread that hangs */
  bool orphaned;

  snprintf (name, sizeof name, "%s", worker->sampler->group->name);
  pthread_setname_np (pthread_self (), name);
  pthread_mutex_lock (&worker->lock);
  while (!worker->quit) {
    if (!worker->sampling) {
      pthread_cond_wait (&worker->wake, &worker->lock);
      continue;
    }
    pthread_mutex_unlock (&worker->lock);
    worker_sample (worker);
    pthread_mutex_lock (&worker->lock);
    worker_hand_over (worker);
    worker->sampling = false;
    worker->late = false;
    pthread_cond_signal (&worker->done);
  }
  orphaned = worker->orphaned;
  pthread_mutex_unlock (&worker->lock);
  if (orphaned)
    worker_free (worker);
  return NULL;
}

static void
worker_wake (struct worker *worker)
{
  if (!worker->running) {
    size_t stack = worker->sampler->stack ? worker->sampler->stack : WORKER_STACK;

    worker->failure = thread_start (&worker->thread, stack, worker_run, worker);
    worker->running = worker->failure == 0;
  }
  worker->sampling = worker->running;
  pthread_cond_signal (&worker->wake);
}

void
worker_begin (struct worker *worker)
{
  pthread_mutex_lock (&worker->lock);
  if (!worker->sampling) {
    if (worker->sampler->may_block (worker->state))
      worker_wake (worker);
    else {
      worker_sample (worker);
      worker_hand_over (worker);
    }
  }
  pthread_mutex_unlock (&worker->lock);
}

bool
worker_collect (struct worker *worker, struct table *table, int64_t deadline_ns)
{
  struct timespec deadline = { .tv_sec = (time_t) (deadline_ns / NS_PER_S),
                               .tv_nsec = (long) (deadline_ns % NS_PER_S) };
  int64_t period_ns = table->period_ns;
  bool fresh;
  int failure;

  pthread_mutex_lock (&worker->lock);
  while (worker->sampling && !worker->late)
    if (pthread_cond_timedwait (&worker->done, &worker->lock, &deadline) != 0)
      worker->late = worker->sampling;
  fresh = worker->fresh;
  failure = worker->failure;
  worker->fresh = false;
  if (fresh)
    table_swap (table, &worker->result);
  pthread_mutex_unlock (&worker->lock);

  table->period_ns = period_ns;
  if (!fresh) {
    table_begin (table);
    snprintf (table->error, sizeof table->error, "%s%s", failure ? "no thread to sample in: " : "timed out",
              failure ? strerror (failure) : "");
  }
  return fresh;
}

bool
worker_busy (struct worker *worker)
{
  bool busy;

  pthread_mutex_lock (&worker->lock);
  busy = worker->sampling;
  pthread_mutex_unlock (&worker->lock);
  return busy;
}

void
worker_destroy (struct worker *worker)
{
  bool orphaned, join;

  if (!worker)
    return;
  pthread_mutex_lock (&worker->lock);
  orphaned = worker->orphaned = worker->sampling;
  join = worker->running && !orphaned;
  worker->quit = true;
  pthread_cond_signal (&worker->wake);
  if (orphaned)
    pthread_detach (worker->thread);
  pthread_mutex_unlock (&worker->lock);

  if (orphaned)
    return;
  if (join)
    pthread_join (worker->thread, NULL);
  worker_free (worker);
}
