/* The thread for what may hang: answers come, and what hangs stops nothing but a bounded number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "agent/job_worker.h"
#include "synop/clock.h"

#define LIMIT (60 * NS_PER_S)
#define HANGS 1000 /* ids from here on wait for the gate */

struct gate {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  bool open, closed;
  unsigned waiting;
};

static void
gate_init (struct gate *gate)
{
  *gate = (struct gate){ .open = false };
  pthread_mutex_init (&gate->lock, NULL);
  pthread_cond_init (&gate->moved, NULL);
}

static void
answer (void *context, struct job_query *query)
{
  struct gate *gate = context;

  query->result = query->pid * 2;
  query->found = malloc (1);
  if (query->pid < HANGS)
    return;
  pthread_mutex_lock (&gate->lock);
  gate->waiting++;
  pthread_cond_broadcast (&gate->moved);
  while (!gate->open)
    pthread_cond_wait (&gate->moved, &gate->lock);
  gate->waiting--;
  pthread_mutex_unlock (&gate->lock);
}

static void
forget (struct job_query *query)
{
  free (query->found);
}

static void
closed (void *context)
{
  struct gate *gate = context;

  pthread_mutex_lock (&gate->lock);
  gate->closed = true;
  pthread_cond_broadcast (&gate->moved);
  pthread_mutex_unlock (&gate->lock);
}

static const struct job_work patient = { "test", answer, forget, closed, .stuck_ns = 3600 * NS_PER_S };
static const struct job_work impatient = { "test", answer, forget, closed, .stuck_ns = 1 };

static void
wait_for_waiting (struct gate *gate, unsigned count)
{
  pthread_mutex_lock (&gate->lock);
  while (gate->waiting < count)
    pthread_cond_wait (&gate->moved, &gate->lock);
  pthread_mutex_unlock (&gate->lock);
}

static void
open_gate (struct gate *gate)
{
  pthread_mutex_lock (&gate->lock);
  gate->open = true;
  pthread_cond_broadcast (&gate->moved);
  pthread_mutex_unlock (&gate->lock);
}

static size_t
take (struct job_worker *worker)
{
  struct job_query *answers;
  size_t count = job_worker_take (worker, &answers);

  for (size_t i = 0; i < count; i++) {
    assert_int_equal (answers[i].result, answers[i].pid * 2);
    assert_int_equal (answers[i].start, answers[i].pid + 7);
    assert_int_equal (answers[i].tries, 3);
    free (answers[i].found);
    answers[i].found = NULL;
  }
  return count;
}

static void
ask (struct job_worker *worker, pid_t pid)
{
  assert_true (job_worker_ask (worker, pid, (uint64_t) pid + 7, 3));
}

static void
test_answers (void **state)
{
  struct gate gate;
  struct job_worker *worker;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&patient, &gate);
  assert_int_equal (take (worker), 0);
  for (int round = 0; round < 20; round++) {
    for (pid_t pid = 1; pid <= 300; pid++)
      ask (worker, pid);
    assert_true (job_worker_wait (worker, clock_monotonic () + LIMIT));
    assert_int_equal (take (worker), 300);
    assert_int_equal (take (worker), 0);
  }
  ask (worker, 5); /* nobody takes it: it is freed */
  assert_true (job_worker_wait (worker, clock_monotonic () + LIMIT));
  job_worker_destroy (worker);
  assert_true (gate.closed);
}

static void
test_hanging_query_is_left_alone (void **state)
{
  struct gate gate;
  struct job_worker *worker;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&patient, &gate);
  ask (worker, HANGS);
  wait_for_waiting (&gate, 1);
  for (pid_t pid = 1; pid < 100; pid++)
    ask (worker, pid);
  assert_false (job_worker_wait (worker, clock_monotonic ()));
  assert_int_equal (take (worker), 0);
  job_worker_destroy (worker);
  pthread_mutex_lock (&gate.lock);
  assert_false (gate.closed);
  pthread_mutex_unlock (&gate.lock);
  open_gate (&gate);
  pthread_mutex_lock (&gate.lock);
  while (!gate.closed)
    pthread_cond_wait (&gate.moved, &gate.lock);
  pthread_mutex_unlock (&gate.lock);
}

static void
test_others_go_on (void **state)
{
  struct gate gate;
  struct job_worker *worker;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&impatient, &gate);
  for (unsigned i = 0; i < JOB_WORKER_THREADS; i++) {
    size_t answered = 0;

    ask (worker, HANGS);
    wait_for_waiting (&gate, i + 1);
    if (i + 1 == JOB_WORKER_THREADS)
      break;
    ask (worker, 1); /* makes another thread, which answers it */
    while (answered == 0) {
      answered = take (worker);
      usleep (1000);
    }
  }
  ask (worker, 2);
  ask (worker, 3);
  assert_false (job_worker_wait (worker, clock_monotonic () + 20 * NS_PER_MS)); /* all are stuck: no more threads */
  assert_int_equal (take (worker), 0);
  open_gate (&gate);
  assert_true (job_worker_wait (worker, clock_monotonic () + LIMIT));
  assert_int_equal (take (worker), JOB_WORKER_THREADS + 2);
  job_worker_destroy (worker);
}

static void
test_queue_is_bounded (void **state)
{
  struct gate gate;
  struct job_worker *worker;
  size_t asked = 0;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&patient, &gate);
  ask (worker, HANGS);
  wait_for_waiting (&gate, 1);
  while (asked <= JOB_WORKER_QUERIES && job_worker_ask (worker, 1, 8, 3))
    asked++;
  assert_in_range (asked, JOB_WORKER_QUERIES - 1, JOB_WORKER_QUERIES);
  open_gate (&gate);
  assert_true (job_worker_wait (worker, clock_monotonic () + LIMIT));
  assert_int_equal (take (worker), asked + 1);
  job_worker_destroy (worker);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_answers),
    cmocka_unit_test (test_hanging_query_is_left_alone),
    cmocka_unit_test (test_others_go_on),
    cmocka_unit_test (test_queue_is_bounded),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
