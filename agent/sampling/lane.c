/* One thread for a sampler that may block; see lane.h.
 *
 * The sampler fills a table that only the thread touches; when it is done the table is swapped with `result` under the
 * lock. A sample that will not block is taken by lane_begin itself, under the lock, while the thread (if there is one)
 * sleeps; so who takes the next sample may change each time. A sample that ended too late for its deadline is kept
 * until the next collect, so that a sampler that is always slow gives values at a slower pace rather than none. */
#include "agent/sampling/lane.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synop/clock.h"
#include "synop/memory.h"

/* Samplers keep big buffers on the heap. Pages that are never touched cost nothing. */
#define LANE_STACK (128 * 1024)

struct lane {
  const struct sampler *sampler;
  void *state;          /* used by the thread alone while it is `sampling`, else under the lock */
  struct table working; /* the same */

  pthread_mutex_t lock; /* over all that follows */
  pthread_cond_t wake;  /* for the thread: asked or quit */
  pthread_cond_t done;  /* for the collector */
  pthread_t thread;
  bool running;  /* the thread exists */
  bool sampling; /* asked for, or under way in the thread */
  bool late;     /* the sample under way has missed a deadline already */
  bool fresh;    /* `result` has not been collected */
  bool quit;     /* lane_destroy was called */
  bool orphaned; /* nobody joins the thread: it frees the lane */
  int failure;   /* errno of a thread that could not be made */
  struct table result;
};

struct lane *
lane_create (const struct sampler *sampler, void *state)
{
  struct lane *lane = memory_new (1, sizeof *lane);
  pthread_condattr_t attributes;

  lane->sampler = sampler;
  lane->state = state;
  table_init (&lane->working, sampler->group);
  table_init (&lane->result, sampler->group);
  pthread_mutex_init (&lane->lock, NULL);
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&lane->wake, &attributes);
  pthread_cond_init (&lane->done, &attributes);
  pthread_condattr_destroy (&attributes);
  return lane;
}

static void
lane_free (struct lane *lane)
{
  lane->sampler->close (lane->state);
  table_free (&lane->working);
  table_free (&lane->result);
  pthread_cond_destroy (&lane->wake);
  pthread_cond_destroy (&lane->done);
  pthread_mutex_destroy (&lane->lock);
  free (lane);
}

static void
lane_sample (struct lane *lane)
{
  table_begin (&lane->working);
  lane->working.monotonic_ns = clock_monotonic ();
  if (lane->sampler->sample (lane->state, &lane->working) < 0 && !lane->working.error[0])
    strcpy (lane->working.error, "cannot be read");
}

static void
lane_hand_over (struct lane *lane)
{
  table_swap (&lane->working, &lane->result);
  lane->fresh = true;
}

static void *
lane_run (void *argument)
{
  struct lane *lane = argument;
  char name[16]; /* all that the kernel takes; for who looks which thread hangs */
  bool orphaned;

  snprintf (name, sizeof name, "%s", lane->sampler->group->name);
  pthread_setname_np (pthread_self (), name);
  pthread_mutex_lock (&lane->lock);
  while (!lane->quit) {
    if (!lane->sampling) {
      pthread_cond_wait (&lane->wake, &lane->lock);
      continue;
    }
    pthread_mutex_unlock (&lane->lock);
    lane_sample (lane);
    pthread_mutex_lock (&lane->lock);
    lane_hand_over (lane);
    lane->sampling = false;
    lane->late = false;
    pthread_cond_signal (&lane->done);
  }
  orphaned = lane->orphaned;
  pthread_mutex_unlock (&lane->lock);
  if (orphaned)
    lane_free (lane);
  return NULL;
}

/* Signals are for the main thread. Returns 0, or an errno. */
static int
lane_start (struct lane *lane)
{
  pthread_attr_t attributes;
  sigset_t all, before;
  int rc;

  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, lane->sampler->stack ? lane->sampler->stack : LANE_STACK);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  rc = pthread_create (&lane->thread, &attributes, lane_run, lane);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  pthread_attr_destroy (&attributes);
  return rc;
}

static void
lane_wake (struct lane *lane)
{
  if (!lane->running) {
    lane->failure = lane_start (lane);
    lane->running = lane->failure == 0;
  }
  lane->sampling = lane->running;
  pthread_cond_signal (&lane->wake);
}

void
lane_begin (struct lane *lane)
{
  pthread_mutex_lock (&lane->lock);
  if (!lane->sampling) {
    if (lane->sampler->may_block (lane->state))
      lane_wake (lane);
    else {
      lane_sample (lane);
      lane_hand_over (lane);
    }
  }
  pthread_mutex_unlock (&lane->lock);
}

bool
lane_collect (struct lane *lane, struct table *table, int64_t deadline_ns)
{
  struct timespec deadline = { .tv_sec = (time_t) (deadline_ns / NS_PER_S),
                               .tv_nsec = (long) (deadline_ns % NS_PER_S) };
  int64_t period_ns = table->period_ns;
  bool fresh;
  int failure;

  pthread_mutex_lock (&lane->lock);
  while (lane->sampling && !lane->late)
    if (pthread_cond_timedwait (&lane->done, &lane->lock, &deadline) != 0)
      lane->late = lane->sampling;
  fresh = lane->fresh;
  failure = lane->failure;
  lane->fresh = false;
  if (fresh)
    table_swap (table, &lane->result);
  pthread_mutex_unlock (&lane->lock);

  table->period_ns = period_ns;
  if (!fresh) {
    table_begin (table);
    snprintf (table->error, sizeof table->error, "%s%s", failure ? "no thread to sample in: " : "timed out",
              failure ? strerror (failure) : "");
  }
  return fresh;
}

bool
lane_busy (struct lane *lane)
{
  bool busy;

  pthread_mutex_lock (&lane->lock);
  busy = lane->sampling;
  pthread_mutex_unlock (&lane->lock);
  return busy;
}

void
lane_destroy (struct lane *lane)
{
  bool orphaned, join;

  if (!lane)
    return;
  pthread_mutex_lock (&lane->lock);
  orphaned = lane->orphaned = lane->sampling;
  join = lane->running && !orphaned;
  lane->quit = true;
  pthread_cond_signal (&lane->wake);
  if (orphaned)
    pthread_detach (lane->thread);
  pthread_mutex_unlock (&lane->lock);

  if (orphaned)
    return;
  if (join)
    pthread_join (lane->thread, NULL);
  lane_free (lane);
}
