/* Threads block signals, and conditions go by CLOCK_MONOTONIC. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "synop/clock.h"
#include "synop/thread.h"

#define STACK (256 * 1024)

struct seen {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  int term, usr1;
  size_t stack;
  int detached;
  int done;
};

static void *
look (void *context)
{
  struct seen *seen = context;
  pthread_attr_t attributes;
  sigset_t blocked;

  pthread_sigmask (SIG_SETMASK, NULL, &blocked);
  pthread_getattr_np (pthread_self (), &attributes);
  pthread_mutex_lock (&seen->mutex);
  seen->term = sigismember (&blocked, SIGTERM);
  seen->usr1 = sigismember (&blocked, SIGUSR1);
  pthread_attr_getstacksize (&attributes, &seen->stack);
  pthread_attr_getdetachstate (&attributes, &seen->detached);
  seen->done = 1;
  pthread_cond_signal (&seen->condition);
  pthread_mutex_unlock (&seen->mutex);
  pthread_attr_destroy (&attributes);
  return NULL;
}

static void
wait_for (struct seen *seen)
{
  int64_t until = clock_monotonic () + 60 * NS_PER_S;
  struct timespec deadline = { until / NS_PER_S, until % NS_PER_S };
  int rc = 0;

  pthread_mutex_lock (&seen->mutex);
  while (!seen->done && rc == 0)
    rc = pthread_cond_timedwait (&seen->condition, &seen->mutex, &deadline);
  pthread_mutex_unlock (&seen->mutex);
  assert_int_equal (rc, 0);
}

static void
test_joined (void **state)
{
  struct seen seen = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  sigset_t own;
  pthread_t thread;

  (void) state;
  thread_condition_init (&seen.condition);
  assert_int_equal (thread_start (&thread, STACK, look, &seen), 0);
  wait_for (&seen);
  pthread_join (thread, NULL);
  assert_true (seen.term && seen.usr1);
  assert_int_equal (seen.detached, PTHREAD_CREATE_JOINABLE);
  assert_in_range (seen.stack, STACK, 2 * STACK);
  pthread_sigmask (SIG_SETMASK, NULL, &own);
  assert_false (sigismember (&own, SIGUSR1));
  pthread_cond_destroy (&seen.condition);
}

static void
test_detached (void **state)
{
  static struct seen seen = { .mutex = PTHREAD_MUTEX_INITIALIZER };

  (void) state;
  thread_condition_init (&seen.condition);
  assert_int_equal (thread_start (NULL, 0, look, &seen), 0);
  wait_for (&seen);
  assert_int_equal (seen.detached, PTHREAD_CREATE_DETACHED);
}

/* A time of CLOCK_MONOTONIC is long past for a condition that goes by the wall clock. */
static void
test_condition_waits (void **state)
{
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int64_t until = clock_monotonic () + 20 * NS_PER_MS;
  struct timespec deadline = { until / NS_PER_S, until % NS_PER_S };
  pthread_cond_t condition;

  (void) state;
  thread_condition_init (&condition);
  pthread_mutex_lock (&mutex);
  while (pthread_cond_timedwait (&condition, &mutex, &deadline) == 0)
    ;
  pthread_mutex_unlock (&mutex);
  assert_true (clock_monotonic () >= until);
  pthread_cond_destroy (&condition);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_joined), cmocka_unit_test (test_detached),
                                      cmocka_unit_test (test_condition_waits) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
