/* See thread.h. */
#include "synop/thread.h"

#include <signal.h>
#include <time.h>

int
thread_start (pthread_t *thread, size_t stack, void *(*run) (void *context), void *context)
{
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_t detached;
  int rc;

  pthread_attr_init (&attributes);
  if (stack)
    pthread_attr_setstacksize (&attributes, stack);
  if (!thread)
    pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  rc = pthread_create (thread ? thread : &detached, &attributes, run, context);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  pthread_attr_destroy (&attributes);
  return rc;
}

void
thread_condition_init (pthread_cond_t *condition)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (condition, &attributes);
  pthread_condattr_destroy (&attributes);
}
