/* Opening and closing the events of jobs in a thread; see job_opener.h. */
#include "agent/job/job_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define STACK (256 * 1024)

struct job_opener {
  struct counters *counters;
  const struct counter_plan *plan;
  pthread_t thread;
  bool started;
  pthread_mutex_t lock; /* of the rest */
  pthread_cond_t wanted, done;
  enum { FREE, TO_OPEN, OPENING, OPENED } state; /* of the list */
  struct openings openings;
  const struct counter_cpus *cpus;
  struct counter_set **doomed;
  size_t doomed_count, doomed_room;
  bool working;
  _Atomic bool end; /* what is left is not opened any more */
};

void
openings_free (struct openings *openings)
{
  for (size_t i = 0; i < openings->count; i++) {
    counter_set_destroy (openings->list[i].set);
    free (openings->list[i].folder);
  }
  free (openings->list);
  free (openings->users);
  *openings = (struct openings){ 0 };
}

/* ---- opening ---- */

static uint64_t
ticks_now (void)
{
  uint64_t second = (uint64_t) sysconf (_SC_CLK_TCK);
  struct timespec now;

  clock_gettime (CLOCK_BOOTTIME, &now);
  return (uint64_t) now.tv_sec * second + (uint64_t) now.tv_nsec / (NS_PER_S / second);
}

static struct opener_user *
user_of (const struct openings *openings, uint32_t uid)
{
  size_t i = 0;

  while (openings->users[i].uid != uid)
    i++;
  return &openings->users[i];
}

static void
target_open (const struct job_opener *opener, struct opener_user *user, struct opening *opening,
             const struct counter_target *target)
{
  for (size_t i = 0; i < opener->plan->count && opening->failure != -EMFILE; i++) {
    size_t before = counter_set_events (opening->set);
    int result = user->events >= opener->counters->budget.most / 2
                     ? -EMFILE
                     : counter_set_open (opening->set, 0, &opener->plan->batches[i], target);

    user->events += counter_set_events (opening->set) - before;
    if (result < 0 && result != -ESRCH)
      opening->failure = result;
  }
}

/* Counts the cgroup on the CPUs that its tasks may use: where it does not say so, on all. When the first one has no events the
 * kernel refuses them, and the others would cost as much time. */
static void
folder_open (const struct job_opener *opener, struct opener_user *user, struct opening *opening)
{
  int folder = open (opening->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool refused = false;
  char list[16384]; /* each second one of 6000 CPUs */

  if (folder < 0)
    return;
  fact_text (list, sizeof list, "", "%s/cpuset.cpus.effective", opening->folder);
  for (size_t i = 0; i < opener->cpus->count && !refused && !opener->end; i++) {
    int cpu = opener->cpus->list[i].number;

    if (list[0] && !scan_list_has (scan_over (list, strlen (list)), (uint64_t) cpu))
      continue;
    target_open (opener, user, opening,
                 &(struct counter_target){ .pid = folder, .cpu = cpu, .flags = PERF_FLAG_PID_CGROUP });
    refused = counter_set_events (opening->set) == 0;
  }
  close (folder);
}

static void
threads_open (const struct job_opener *opener, struct opener_user *user, struct opening *opening)
{
  struct names threads = { 0 };

  names_read (&threads, "", opener->counters->root, "/proc/%d/task", (int) opening->pid);
  for (size_t i = 0; i < threads.count && !opener->end; i++)
    target_open (opener, user, opening,
                 &(struct counter_target){ .pid = (pid_t) atoi (threads.list[i]), .cpu = -1, .inherit = true });
  names_free (&threads);
}

static void
list_open (const struct job_opener *opener, struct openings *openings)
{
  for (size_t i = 0; i < openings->count && !opener->end; i++) {
    struct opening *opening = &openings->list[i];
    struct opener_user *user = user_of (openings, opening->uid);

    opening->set = counter_set_create (opener->counters->kernel, &opener->counters->budget, 1);
    if (opening->folder)
      folder_open (opener, user, opening);
    else
      threads_open (opener, user, opening);
    opening->ticks = openings->ticks ? openings->ticks : ticks_now ();
  }
}

/* ---- the thread ---- */

/* With the lock, which it lets go meanwhile. */
static void
work (struct job_opener *opener)
{
  struct counter_set **doomed = opener->doomed;
  size_t count = opener->doomed_count;
  bool opens = opener->state == TO_OPEN;

  opener->doomed = NULL;
  opener->doomed_count = opener->doomed_room = 0;
  opener->working = true;
  opener->state = opens ? OPENING : opener->state;
  pthread_mutex_unlock (&opener->lock);
  for (size_t i = 0; i < count; i++)
    counter_set_destroy (doomed[i]);
  free (doomed);
  if (opens)
    list_open (opener, &opener->openings);
  pthread_mutex_lock (&opener->lock);
  opener->working = false;
  opener->state = opens ? OPENED : opener->state;
}

static bool
has_work (const struct job_opener *opener)
{
  return opener->state == TO_OPEN || opener->doomed_count > 0;
}

static void *
opener_run (void *context)
{
  struct job_opener *opener = context;

  pthread_mutex_lock (&opener->lock);
  for (;;) {
    while (!has_work (opener) && !opener->end)
      pthread_cond_wait (&opener->wanted, &opener->lock);
    if (!has_work (opener))
      break;
    work (opener);
    pthread_cond_signal (&opener->done);
  }
  pthread_mutex_unlock (&opener->lock);
  return NULL;
}

struct job_opener *
job_opener_create (struct counters *counters, const struct counter_plan *plan)
{
  struct job_opener *opener = memory_new (1, sizeof *opener);

  opener->counters = counters;
  opener->plan = plan;
  pthread_mutex_init (&opener->lock, NULL);
  pthread_cond_init (&opener->wanted, NULL);
  thread_condition_init (&opener->done);
  return opener;
}

void
job_opener_destroy (struct job_opener *opener)
{
  pthread_mutex_lock (&opener->lock);
  opener->end = true;
  pthread_cond_signal (&opener->wanted);
  pthread_mutex_unlock (&opener->lock);
  if (opener->started)
    pthread_join (opener->thread, NULL);
  openings_free (&opener->openings);
  pthread_cond_destroy (&opener->wanted);
  pthread_cond_destroy (&opener->done);
  pthread_mutex_destroy (&opener->lock);
  free (opener);
}

/* With the lock. Without a thread it is done at once. */
static void
wake (struct job_opener *opener)
{
  if (!opener->started)
    opener->started = thread_start (&opener->thread, STACK, opener_run, opener) == 0;
  if (opener->started)
    pthread_cond_signal (&opener->wanted);
  else
    work (opener);
}

/* ---- for the sampling thread ---- */

bool
job_opener_is_free (struct job_opener *opener)
{
  bool is_free;

  pthread_mutex_lock (&opener->lock);
  is_free = opener->state == FREE;
  pthread_mutex_unlock (&opener->lock);
  return is_free;
}

void
job_opener_open (struct job_opener *opener, const struct openings *openings, const struct counter_cpus *cpus)
{
  pthread_mutex_lock (&opener->lock);
  opener->openings = *openings;
  opener->cpus = cpus;
  opener->state = TO_OPEN;
  wake (opener);
  pthread_mutex_unlock (&opener->lock);
}

bool
job_opener_take (struct job_opener *opener, struct openings *openings)
{
  bool opened;

  pthread_mutex_lock (&opener->lock);
  opened = opener->state == OPENED;
  if (opened) {
    *openings = opener->openings;
    opener->openings = (struct openings){ 0 };
    opener->state = FREE;
  }
  pthread_mutex_unlock (&opener->lock);
  return opened;
}

void
job_opener_close (struct job_opener *opener, struct counter_set *set)
{
  pthread_mutex_lock (&opener->lock);
  *array_add (opener->doomed, opener->doomed_count, opener->doomed_room) = set;
  wake (opener);
  pthread_mutex_unlock (&opener->lock);
}

void
job_opener_wait (struct job_opener *opener, int64_t deadline_ns)
{
  const struct timespec deadline = { .tv_sec = deadline_ns / NS_PER_S, .tv_nsec = deadline_ns % NS_PER_S };

  pthread_mutex_lock (&opener->lock);
  while (has_work (opener) || opener->working)
    if (pthread_cond_timedwait (&opener->done, &opener->lock, &deadline) == ETIMEDOUT)
      break;
  pthread_mutex_unlock (&opener->lock);
}
