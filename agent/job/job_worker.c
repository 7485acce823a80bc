/* See job_worker.h. One lock guards everything but the queries that threads are answering, which are copies of their
 * own. Threads are detached; the last one to end after job_worker_destroy frees what is left.
 *
 * Each thread has a seat, which shows the others its query. One that hangs is found when a query or answer is passed. */
#include "agent/job/job_worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define STACK (256 * 1024) /* modules of the C library that name users need some of it */
#define SEATS (JOB_WORKER_HUNG + 1)
#define PATIENCE_NS (100 * NS_PER_MS) /* at the end, for a query that is under way */

struct queries {
  struct worker_query *list;
  size_t count, capacity;
};

struct seat {
  bool taken;                /* by a thread */
  bool busy;                 /* with `query` */
  bool hung;                 /* `query` was given up */
  struct worker_query query; /* a copy of the request */
  int64_t begun_ns;
};

struct job_worker {
  const struct job_work *work;
  void *context;
  int64_t stuck_ns;
  pthread_mutex_t lock; /* over all that follows */
  pthread_cond_t wake;  /* for threads: a query came, or quit */
  pthread_cond_t done;  /* for waiting callers: all answered, or a thread has ended */
  struct queries asked;
  size_t next; /* in `asked`: queries before it were begun */
  struct queries answered, taken;
  struct seat seats[SEATS];
  unsigned threads, busy, hung; /* hung threads are busy too */
  bool quit, orphaned;
};

static void
queries_add (struct queries *queries, const struct worker_query *query)
{
  *array_add (queries->list, queries->count, queries->capacity) = *query;
}

/* Gives memory back that a storm of processes needed. */
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
job_worker_create (const struct job_work *work, void *context, int64_t stuck_ns)
{
  struct job_worker *worker = memory_new (1, sizeof *worker);

  worker->work = work;
  worker->context = context;
  worker->stuck_ns = stuck_ns ? stuck_ns : JOB_WORKER_STUCK_NS;
  pthread_mutex_init (&worker->lock, NULL);
  thread_condition_init (&worker->wake);
  thread_condition_init (&worker->done);
  return worker;
}

static void
job_worker_free (struct job_worker *worker)
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

static bool
is_idle (const struct job_worker *worker)
{
  return worker->busy == worker->hung && worker->asked.count == 0;
}

static void
add_answer (struct job_worker *worker, const struct worker_query *query)
{
  queries_add (&worker->answered, query);
  if (is_idle (worker))
    pthread_cond_broadcast (&worker->done);
}

static void
give_up (struct job_worker *worker, const struct worker_query *query)
{
  struct worker_query answer = *query;

  answer.given_up = true;
  add_answer (worker, &answer);
}

static unsigned
count_hung (const struct job_worker *worker, uint32_t user)
{
  unsigned count = 0;

  for (size_t i = 0; i < SEATS; i++)
    count += worker->seats[i].hung && worker->seats[i].query.user == user;
  return count;
}

/* Gives up what takes too long. */
static void
find_hung (struct job_worker *worker)
{
  int64_t now_ns = clock_monotonic ();

  for (size_t i = 0; i < SEATS; i++) {
    struct seat *seat = &worker->seats[i];

    if (!seat->busy || seat->hung || seat->query.safe || now_ns - seat->begun_ns <= worker->stuck_ns)
      continue;
    seat->hung = true;
    worker->hung++;
    give_up (worker, &seat->query);
  }
}

static struct worker_query
take_next (struct job_worker *worker)
{
  struct worker_query query = worker->asked.list[worker->next++];

  if (worker->next == worker->asked.count) {
    worker->next = 0;
    queries_clear (&worker->asked);
  }
  return query;
}

/* Without the lock, since it may hang. A late answer, after the query was given up, is dropped. */
static void
answer_at (struct job_worker *worker, struct seat *seat)
{
  struct worker_query query = seat->query;
  bool late;

  pthread_mutex_unlock (&worker->lock);
  worker->work->answer (worker->context, &query);
  query.taken_ns = clock_monotonic () - seat->begun_ns;
  pthread_mutex_lock (&worker->lock);
  late = seat->hung;
  worker->hung -= late;
  worker->busy--;
  seat->hung = seat->busy = false;
  if (!late)
    add_answer (worker, &query);
  else if (worker->work->forget)
    worker->work->forget (&query);
}

static bool
may_wait_for (const struct job_worker *worker, const struct worker_query *query)
{
  return query->safe || (worker->hung < JOB_WORKER_HUNG && count_hung (worker, query->user) < JOB_WORKER_HUNG_PER_USER);
}

static void
answer_next (struct job_worker *worker, struct seat *seat)
{
  struct worker_query query = take_next (worker);

  worker->busy++;
  pthread_mutex_unlock (&worker->lock);
  query.user = worker->work->user (worker->context, query.pid);
  pthread_mutex_lock (&worker->lock);
  if (!may_wait_for (worker, &query)) {
    worker->busy--;
    give_up (worker, &query);
    return;
  }
  seat->query = query;
  seat->busy = true;
  seat->begun_ns = clock_monotonic ();
  answer_at (worker, seat);
}

static struct seat *
take_seat (struct job_worker *worker)
{
  struct seat *seat = worker->seats;

  while (seat->taken)
    seat++;
  *seat = (struct seat){ .taken = true };
  return seat;
}

/* There is one thread more than hang. One that comes back when another has replaced it ends. */
static bool
is_one_too_many (const struct job_worker *worker)
{
  return worker->threads > worker->hung + 1;
}

static void *
job_worker_run (void *argument)
{
  struct job_worker *worker = argument;
  struct seat *seat;
  bool last;

  pthread_setname_np (pthread_self (), worker->work->name);
  pthread_mutex_lock (&worker->lock);
  seat = take_seat (worker);
  while (!worker->quit && !is_one_too_many (worker))
    if (worker->asked.count != 0)
      answer_next (worker, seat);
    else
      pthread_cond_wait (&worker->wake, &worker->lock);
  seat->taken = false;
  worker->threads--;
  last = worker->orphaned && worker->threads == 0;
  pthread_cond_broadcast (&worker->done);
  pthread_mutex_unlock (&worker->lock);
  if (last)
    job_worker_free (worker);
  return NULL;
}

/* Starts the first thread, or one in place of those that hang. */
static void
provide_thread (struct job_worker *worker)
{
  find_hung (worker);
  if (worker->threads <= worker->hung && thread_start (NULL, STACK, job_worker_run, worker) == 0)
    worker->threads++;
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
job_worker_ask (struct job_worker *worker, const struct worker_query *query)
{
  const struct worker_query asking = {
    .pid = query->pid, .start = query->start, .tries = query->tries, .safe = query->safe
  };
  bool asked;

  pthread_mutex_lock (&worker->lock);
  provide_thread (worker);
  queries_drop_begun (worker);
  asked = worker->threads > worker->hung && worker->asked.count < JOB_WORKER_QUERIES;
  if (asked)
    queries_add (&worker->asked, &asking);
  pthread_cond_signal (&worker->wake);
  pthread_mutex_unlock (&worker->lock);
  return asked;
}

size_t
job_worker_take (struct job_worker *worker, struct worker_query **answers)
{
  struct queries swapped;
  size_t count;

  pthread_mutex_lock (&worker->lock);
  if (worker->asked.count != 0 || worker->busy != 0)
    provide_thread (worker);
  queries_clear (&worker->taken);
  swapped = worker->taken;
  worker->taken = worker->answered;
  worker->answered = swapped;
  *answers = worker->taken.list;
  count = worker->taken.count;
  pthread_mutex_unlock (&worker->lock);
  return count;
}

unsigned
job_worker_hung (struct job_worker *worker, uint32_t *user)
{
  unsigned hung, most = 0;

  pthread_mutex_lock (&worker->lock);
  hung = worker->hung;
  for (size_t i = 0; i < SEATS && hung != 0; i++) {
    const struct seat *seat = &worker->seats[i];
    unsigned of_user = seat->hung ? count_hung (worker, seat->query.user) : 0;

    if (of_user > most) {
      most = of_user;
      *user = seat->query.user;
    }
  }
  pthread_mutex_unlock (&worker->lock);
  return hung;
}

static struct timespec
as_timespec (int64_t monotonic_ns)
{
  return (struct timespec){ .tv_sec = (time_t) (monotonic_ns / NS_PER_S), .tv_nsec = (long) (monotonic_ns % NS_PER_S) };
}

bool
job_worker_wait (struct job_worker *worker, int64_t deadline_ns)
{
  bool idle;

  pthread_mutex_lock (&worker->lock);
  while (!(idle = is_idle (worker)) && clock_monotonic () < deadline_ns) {
    int64_t check_ns = clock_monotonic () + worker->stuck_ns + NS_PER_MS; /* whether one hangs */
    struct timespec wake = as_timespec (check_ns < deadline_ns ? check_ns : deadline_ns);

    pthread_cond_timedwait (&worker->done, &worker->lock, &wake);
    provide_thread (worker);
  }
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
    job_worker_free (worker);
}
