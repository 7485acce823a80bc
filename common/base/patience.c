/* See patience.h. One call at a time: whoever comes meanwhile waits for its end too. */
#include "synop/patience.h"

#include <stdlib.h>

#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/thread.h"

struct patience_call {
  struct patience *patience;
  void *question;
  void (*answer) (void *question), (*drop) (void *question);
  bool done, late; /* late: nobody waits for it */
};

void
patience_init (struct patience *patience)
{
  *patience = (struct patience){ .wait_ns = 2 * NS_PER_S, .pause_ns = 10 * NS_PER_S };
  pthread_mutex_init (&patience->lock, NULL);
  thread_condition_init (&patience->ended);
}

bool
patience_free (struct patience *patience)
{
  bool idle;

  pthread_mutex_lock (&patience->lock);
  idle = !patience->call;
  pthread_mutex_unlock (&patience->lock);
  if (!idle)
    return false;
  pthread_cond_destroy (&patience->ended);
  pthread_mutex_destroy (&patience->lock);
  return true;
}

static void *
call_run (void *context)
{
  struct patience_call *call = context;
  struct patience *patience = call->patience;
  bool late;

  call->answer (call->question);
  pthread_mutex_lock (&patience->lock);
  late = call->late;
  call->done = true;
  patience->call = NULL;
  if (late)
    call->drop (call->question);
  pthread_cond_broadcast (&patience->ended);
  pthread_mutex_unlock (&patience->lock);
  if (late)
    free (call);
  return NULL;
}

/* With the lock held: until the time, or false. */
static bool
wait_until (struct patience *patience, int64_t until_ns)
{
  const struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };

  return pthread_cond_timedwait (&patience->ended, &patience->lock, &until) == 0;
}

/* With the lock held: another's call has ended, or false. */
static bool
is_free (struct patience *patience, int64_t until_ns)
{
  if (clock_monotonic () < patience->later_ns)
    return false;
  while (patience->call && !patience->call->late)
    if (!wait_until (patience, until_ns))
      break;
  return !patience->call;
}

/* With the lock held. */
static struct patience_call *
call_begin (struct patience *patience, void *question, void (*answer) (void *question), void (*drop) (void *question))
{
  struct patience_call *call = memory_new (1, sizeof *call);

  *call = (struct patience_call){ .patience = patience, .question = question, .answer = answer, .drop = drop };
  patience->call = call;
  if (thread_start (NULL, 0, call_run, call) == 0)
    return call;
  patience->call = NULL;
  free (call);
  return NULL;
}

int
patience_ask (struct patience *patience, void *question, void (*answer) (void *question), void (*drop) (void *question))
{
  int64_t now_ns = clock_monotonic (), until_ns = now_ns + patience->wait_ns;
  struct patience_call *call = NULL;
  bool done = false;

  pthread_mutex_lock (&patience->lock);
  if (is_free (patience, until_ns))
    call = call_begin (patience, question, answer, drop);
  while (call && !call->done)
    if (!wait_until (patience, until_ns))
      break;
  if (call) {
    done = call->done;
    call->late = !done;
    patience->later_ns = done ? 0 : now_ns + patience->pause_ns;
  }
  pthread_mutex_unlock (&patience->lock);
  if (done)
    free (call);
  if (!call)
    drop (question);
  return done ? 0 : -1;
}
