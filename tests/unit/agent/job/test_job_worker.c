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

#include "agent/job/job_worker.h"
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
answer (void *context, struct worker_query *query)
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
forget (struct worker_query *query)
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

/* Of ten processes in a row each is another user's. */
static uint32_t
user_of (void *context, pid_t pid)
{
  (void) context;
  return (uint32_t) pid % 10;
}

#define NEVER (3600 * NS_PER_S)
static const struct job_work work = { "test", user_of, answer, forget, closed };

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
  struct worker_query *answers;
  size_t count = job_worker_take (worker, &answers);

  for (size_t i = 0; i < count; i++) {
    assert_false (answers[i].given_up);
    assert_int_equal (answers[i].user, answers[i].pid % 10);
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
  assert_true (job_worker_ask (worker, &(struct worker_query){ .pid = pid, .start = (uint64_t) pid + 7, .tries = 3 }));
}

static void
test_answers (void **state)
{
  struct gate gate;
  struct job_worker *worker;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&work, &gate, NEVER);
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
  worker = job_worker_create (&work, &gate, NEVER);
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

/* Takes answers until there are so many that were given up, and so many others. */
static void
take_until (struct job_worker *worker, size_t given_up, size_t answered)
{
  size_t got_given_up = 0, got_answered = 0;

  while (got_given_up < given_up || got_answered < answered) {
    struct worker_query *answers;
    size_t count = job_worker_take (worker, &answers);

    for (size_t i = 0; i < count; i++) {
      got_given_up += answers[i].given_up;
      got_answered += !answers[i].given_up;
      free (answers[i].found);
      answers[i].found = NULL;
    }
    if (count == 0)
      usleep (200);
  }
  assert_int_equal (got_given_up, given_up);
  assert_int_equal (got_answered, answered);
}

/* A user whose processes hang holds two threads, and is not waited for any more; others are answered. */
static void
test_user_who_hangs_costs_himself (void **state)
{
  struct gate gate;
  struct job_worker *worker;
  uint32_t user = 99;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&work, &gate, 1);
  for (unsigned i = 0; i < JOB_WORKER_HUNG_PER_USER; i++) {
    assert_int_equal (job_worker_hung (worker, &user), i);
    ask (worker, HANGS + 3);
    wait_for_waiting (&gate, i + 1);
    take_until (worker, 1, 0);
  }
  assert_int_equal (job_worker_hung (worker, &user), JOB_WORKER_HUNG_PER_USER);
  assert_int_equal (user, 3);
  for (int i = 0; i < 500; i++)
    ask (worker, HANGS + 3);
  assert_true (job_worker_wait (worker, clock_monotonic () + LIMIT));
  take_until (worker, 500, 0);
  assert_int_equal (job_worker_hung (worker, &user), JOB_WORKER_HUNG_PER_USER);
  assert_true (job_worker_ask (worker, &(struct worker_query){ .pid = 13, .safe = true }));
  take_until (worker, 0, 1); /* what cannot hang is answered for him too */
  job_worker_destroy (worker);
  open_gate (&gate);
  pthread_mutex_lock (&gate.lock);
  while (!gate.closed)
    pthread_cond_wait (&gate.moved, &gate.lock);
  pthread_mutex_unlock (&gate.lock);
}

/* Threads that come back are no longer held, and their late answers are nobody's. */
static void
test_hang_that_ends (void **state)
{
  struct gate gate;
  struct job_worker *worker;
  uint32_t user;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&work, &gate, NS_PER_S / 5);
  for (unsigned i = 0; i < JOB_WORKER_HUNG_PER_USER; i++) {
    ask (worker, HANGS);
    wait_for_waiting (&gate, i + 1);
    take_until (worker, 1, 0);
  }
  ask (worker, 1);
  take_until (worker, 0, 1);
  open_gate (&gate);
  while (job_worker_hung (worker, &user) != 0)
    usleep (200);
  ask (worker, HANGS);
  take_until (worker, 0, 1);
  job_worker_destroy (worker);
}

/* Many users together hold no more than JOB_WORKER_HUNG threads. */
static void
test_threads_are_bounded (void **state)
{
  struct gate gate;
  struct job_worker *worker;
  uint32_t user;

  (void) state;
  gate_init (&gate);
  worker = job_worker_create (&work, &gate, 1);
  for (unsigned i = 0; i < JOB_WORKER_HUNG; i++) {
    ask (worker, HANGS + (pid_t) (i % 10));
    wait_for_waiting (&gate, i + 1);
    take_until (worker, 1, 0);
  }
  for (int i = 0; i < 50; i++)
    ask (worker, HANGS + i);
  take_until (worker, 50, 0);
  assert_int_equal (job_worker_hung (worker, &user), JOB_WORKER_HUNG);
  assert_int_equal (gate.waiting, JOB_WORKER_HUNG);
  open_gate (&gate);
  while (job_worker_hung (worker, &user) != 0)
    usleep (200);
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
  worker = job_worker_create (&work, &gate, NEVER);
  ask (worker, HANGS);
  wait_for_waiting (&gate, 1);
  while (asked <= JOB_WORKER_QUERIES &&
         job_worker_ask (worker, &(struct worker_query){ .pid = 1, .start = 8, .tries = 3 }))
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
    cmocka_unit_test (test_user_who_hangs_costs_himself),
    cmocka_unit_test (test_hang_that_ends),
    cmocka_unit_test (test_threads_are_bounded),
    cmocka_unit_test (test_queue_is_bounded),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
