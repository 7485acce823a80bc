/* See job_worker.h. Everything is under one lock but the queries that threads are answering, which are copies of their
 * own. Threads are detached; the last one to leave after job_worker_destroy frees what is left. */
#include "agent/job_worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define STACK (256 * 1024) /* modules of the C library that name users need some of it */
#define STUCK_NS (10 * NS_PER_S)
#define PATIENCE_NS (100 * NS_PER_MS) /* at the end, for a query that is under way */

struct queries {
  struct job_query *list;
  size_t count, capacity;
};

struct job_worker {
  const struct job_work *work;
  void *context;
  pthread_mutex_t lock; /* over all that follows */
  pthread_cond_t wake;  /* for threads: asked, or quit */
  pthread_cond_t done;  /* for who waits: all answered, or a thread is gone */
  struct queries asked;
  size_t next; /* of `asked`: those before it were begun */
  struct queries answered, taken;
  unsigned threads, busy;
  int64_t begun_ns; /* when the youngest query under way began */
  bool quit, orphaned;
};

static void
queries_add (struct queries *queries, const struct job_query *query)
{
  if (queries->count == queries->capacity) {
    queries->capacity = queries->capacity ? queries->capacity * 2 : 64;
    queries->list = memory_resize (queries->list, queries->capacity, sizeof *query);
  }
  queries->list[queries->count++] = *query;
}

/* What a storm of processes needed is given back. */
static void
queries_clear (struct queries *queries)
{
  queries->count = 0;
  if (queries->capacity <= 1024)
    return;
  free (queries->list);
  *queries = (struct queries){ 0 };
}

struct job_worker *
job_worker_create (const struct job_work *work, void *context)
{
  struct job_worker *worker = memory_new (1, sizeof *worker);
  pthread_condattr_t attributes;

  worker->work = work;
  worker->context = context;
  pthread_mutex_init (&worker->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&worker->wake, &attributes);
  pthread_cond_init (&worker->done, &attributes);
  pthread_condattr_destroy (&attributes);
  return worker;
}

static void
worker_free (struct job_worker *worker)
{
  struct queries *const all[] = { &worker->answered, &worker->taken };

  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; worker->work->forget && j < all[i]->count; j++)
      worker->work->forget (&all[i]->list[j]);
    free (all[i]->list);
  }
  free (worker->asked.list);
  worker->work->close (worker->context);
  pthread_cond_destroy (&worker->wake);
  pthread_cond_destroy (&worker->done);
  pthread_mutex_destroy (&worker->lock);
  free (worker);
}

/* Answers the next query, without the lock. */
static void
answer_next (struct job_worker *worker)
{
  struct job_query query = worker->asked.list[worker->next++];

  if (worker->next == worker->asked.count) {
    worker->next = 0;
    queries_clear (&worker->asked);
  }
  worker->busy++;
  worker->begun_ns = clock_monotonic ();
  pthread_mutex_unlock (&worker->lock);
  query.taken_ns = clock_monotonic ();
  worker->work->answer (worker->context, &query);
  query.taken_ns = clock_monotonic () - query.taken_ns;
  pthread_mutex_lock (&worker->lock);
  worker->busy--;
  queries_add (&worker->answered, &query);
  if (worker->busy == 0 && worker->asked.count == 0)
    pthread_cond_broadcast (&worker->done);
}

static void *
worker_run (void *argument)
{
  struct job_worker *worker = argument;
  bool last;

  pthread_setname_np (pthread_self (), worker->work->name);
  pthread_mutex_lock (&worker->lock);
  while (!worker->quit)
    if (worker->asked.count != 0)
      answer_next (worker);
    else
      pthread_cond_wait (&worker->wake, &worker->lock);
  worker->threads--;
  last = worker->orphaned && worker->threads == 0;
  pthread_cond_broadcast (&worker->done);
  pthread_mutex_unlock (&worker->lock);
  if (last)
    worker_free (worker);
  return NULL;
}

/* Signals are for the main thread. */
static void
start_thread (struct job_worker *worker)
{
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_t thread;

  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, STACK);
  pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  if (pthread_create (&thread, &attributes, worker_run, worker) == 0)
    worker->threads++;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  pthread_attr_destroy (&attributes);
}

/* The first thread, or one more where all are stuck. */
static void
provide_thread (struct job_worker *worker)
{
  if (worker->threads == 0 ||
      (worker->busy == worker->threads && worker->threads < JOB_WORKER_THREADS &&
       clock_monotonic () - worker->begun_ns > (worker->work->stuck_ns ? worker->work->stuck_ns : STUCK_NS)))
    start_thread (worker);
}

static void
queries_drop_begun (struct job_worker *worker)
{
  struct queries *asked = &worker->asked;

  if (worker->next < 1024)
    return;
  asked->count -= worker->next;
  memmove (asked->list, asked->list + worker->next, asked->count * sizeof *asked->list);
  worker->next = 0;
}

bool
job_worker_ask (struct job_worker *worker, pid_t pid, uint64_t start, unsigned tries)
{
  const struct job_query query = { .pid = pid, .start = start, .tries = tries };
  bool asked;

  pthread_mutex_lock (&worker->lock);
  provide_thread (worker);
  queries_drop_begun (worker);
  asked = worker->threads != 0 && worker->asked.count < JOB_WORKER_QUERIES;
  if (asked)
    queries_add (&worker->asked, &query);
  pthread_cond_signal (&worker->wake);
  pthread_mutex_unlock (&worker->lock);
  return asked;
}

size_t
job_worker_take (struct job_worker *worker, struct job_query **answers)
{
  struct queries swapped;
  size_t count;

  pthread_mutex_lock (&worker->lock);
  queries_clear (&worker->taken);
  swapped = worker->taken;
  worker->taken = worker->answered;
  worker->answered = swapped;
  *answers = worker->taken.list;
  count = worker->taken.count;
  pthread_mutex_unlock (&worker->lock);
  return count;
}

static struct timespec
as_timespec (int64_t monotonic_ns)
{
  return (struct timespec){ .tv_sec = (time_t) (monotonic_ns / NS_PER_S), .tv_nsec = (long) (monotonic_ns % NS_PER_S) };
}

bool
job_worker_wait (struct job_worker *worker, int64_t deadline_ns)
{
  struct timespec deadline = as_timespec (deadline_ns);
  bool idle;
  int result = 0;

  pthread_mutex_lock (&worker->lock);
  while ((worker->busy != 0 || worker->asked.count != 0) && result == 0)
    result = pthread_cond_timedwait (&worker->done, &worker->lock, &deadline);
  idle = worker->busy == 0 && worker->asked.count == 0;
  pthread_mutex_unlock (&worker->lock);
  return idle;
}

void
job_worker_destroy (struct job_worker *worker)
{
  struct timespec deadline = as_timespec (clock_monotonic () + PATIENCE_NS);
  bool orphaned;
  int result = 0;

  if (!worker)
    return;
  pthread_mutex_lock (&worker->lock);
  worker->quit = true;
  pthread_cond_broadcast (&worker->wake);
  while (worker->threads != 0 && result == 0)
    result = pthread_cond_timedwait (&worker->done, &worker->lock, &deadline);
  while (worker->threads != worker->busy)
    pthread_cond_wait (&worker->done, &worker->lock);
  orphaned = worker->orphaned = worker->threads != 0;
  pthread_mutex_unlock (&worker->lock);
  if (!orphaned)
    worker_free (worker);
}
