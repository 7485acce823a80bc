/* Workers: a sampler that hangs costs its own values and nothing else, and one that will not costs no thread. No test
 * waits for time to pass, but for the short deadlines that a hanging sampler has to miss. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/sampling/worker.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FOR_EVER (clock_monotonic () + 60 * NS_PER_S)
#define SHORT (clock_monotonic () + 20 * NS_PER_MS)

static const struct metric metrics[] = { { "number", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "N." } };
static const struct group group = { .name = "played", .section = "system_data", GROUP_METRICS (metrics) };

/* A sampler that counts its samples, and waits while its gate is closed. Shared by the test and the worker, which may
 * live longer than the test: the last one frees it. */
struct gate {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  bool closed, fails;
  bool prompt; /* the next sample will not block; for the test's thread alone, and so: */
  unsigned asked;
  unsigned entered, closes;
  unsigned passes; /* so many samples pass a closed gate */
  pthread_t thread;
};

static struct gate *
gate_create (void)
{
  struct gate *gate = memory_new (1, sizeof *gate);

  pthread_mutex_init (&gate->lock, NULL);
  pthread_cond_init (&gate->moved, NULL);
  return gate;
}

static void
gate_set (struct gate *gate, bool closed)
{
  pthread_mutex_lock (&gate->lock);
  gate->closed = closed;
  pthread_cond_broadcast (&gate->moved);
  pthread_mutex_unlock (&gate->lock);
}

static void
gate_wait_entered (struct gate *gate, unsigned times)
{
  pthread_mutex_lock (&gate->lock);
  while (gate->entered < times)
    pthread_cond_wait (&gate->moved, &gate->lock);
  pthread_mutex_unlock (&gate->lock);
}

static unsigned
gate_entered (struct gate *gate)
{
  unsigned entered;

  pthread_mutex_lock (&gate->lock);
  entered = gate->entered;
  pthread_mutex_unlock (&gate->lock);
  return entered;
}

static void
gate_free_after_close (struct gate *gate)
{
  pthread_mutex_lock (&gate->lock);
  while (gate->closes == 0)
    pthread_cond_wait (&gate->moved, &gate->lock);
  assert_int_equal (gate->closes, 1);
  pthread_mutex_unlock (&gate->lock);
  pthread_mutex_destroy (&gate->lock);
  pthread_cond_destroy (&gate->moved);
  free (gate);
}

static bool
played_may_block (void *state)
{
  struct gate *gate = state;

  gate->asked++;
  return !gate->prompt;
}

static int
played_sample (void *state, struct table *table)
{
  struct gate *gate = state;
  bool fails;

  pthread_mutex_lock (&gate->lock);
  gate->thread = pthread_self ();
  table_set_uint (table, TABLE_NODE, 0, ++gate->entered);
  pthread_cond_broadcast (&gate->moved);
  while (gate->closed && gate->entered > gate->passes)
    pthread_cond_wait (&gate->moved, &gate->lock);
  fails = gate->fails;
  pthread_mutex_unlock (&gate->lock);
  return fails ? -1 : 0;
}

static void
played_close (void *state)
{
  struct gate *gate = state;

  pthread_mutex_lock (&gate->lock);
  gate->closes++;
  pthread_cond_broadcast (&gate->moved);
  pthread_mutex_unlock (&gate->lock);
}

static const struct sampler played = {
  .group = &group, .may_block = played_may_block, .sample = played_sample, .close = played_close
};

struct fixture {
  struct gate *gate;
  struct worker *worker;
  struct table table;
};

static struct fixture
fixture_make (void)
{
  struct fixture fixture = { .gate = gate_create () };

  fixture.worker = worker_create (&played, fixture.gate);
  table_init (&fixture.table, &group);
  fixture.table.period_ns = 7;
  return fixture;
}

static void
fixture_free (struct fixture *fixture)
{
  worker_destroy (fixture->worker);
  table_free (&fixture->table);
  gate_free_after_close (fixture->gate);
}

static void
assert_number (const struct table *table, uint64_t expected)
{
  assert_int_equal (table_get (table, TABLE_NODE, 0)->type, VALUE_UINT);
  assert_int_equal (table_get (table, TABLE_NODE, 0)->as.u, expected);
}

static void
test_samples_in_one_thread_of_its_own (void **state)
{
  struct fixture f = fixture_make ();
  int64_t before = clock_monotonic ();
  pthread_t first = pthread_self ();

  (void) state;
  for (unsigned i = 1; i <= 3; i++) {
    worker_begin (f.worker);
    assert_true (worker_collect (f.worker, &f.table, FOR_EVER));
    assert_string_equal (f.table.error, "");
    assert_number (&f.table, i);
    assert_int_equal (f.table.period_ns, 7);
    assert_true (f.table.monotonic_ns >= before && f.table.monotonic_ns <= clock_monotonic ());
    if (i == 1)
      first = f.gate->thread;
    assert_true (pthread_equal (first, f.gate->thread));
    assert_false (pthread_equal (first, pthread_self ()));
  }
  fixture_free (&f);
}

static void
test_sample_that_will_not_block_is_taken_at_once (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  f.gate->prompt = true;
  for (unsigned i = 1; i <= 3; i++) {
    worker_begin (f.worker);
    assert_int_equal (f.gate->entered, i); /* no lock: no other thread is there */
    assert_true (pthread_equal (f.gate->thread, pthread_self ()));
    assert_true (worker_collect (f.worker, &f.table, 0));
    assert_string_equal (f.table.error, "");
    assert_number (&f.table, i);
    assert_int_equal (f.table.period_ns, 7);
    assert_int_equal (f.gate->asked, i);
  }
  assert_false (worker_collect (f.worker, &f.table, FOR_EVER));
  f.gate->fails = true;
  worker_begin (f.worker);
  assert_true (worker_collect (f.worker, &f.table, 0));
  assert_string_not_equal (f.table.error, "");
  fixture_free (&f);
}

/* Who takes the sample changes from one to the next; the thread, once there, is always the same. */
static void
test_thread_and_caller_take_turns (void **state)
{
  struct fixture f = fixture_make ();
  pthread_t thread = pthread_self ();

  (void) state;
  for (unsigned i = 1; i <= 40; i++) {
    f.gate->prompt = i % 4 < 2;
    worker_begin (f.worker);
    assert_true (worker_collect (f.worker, &f.table, FOR_EVER));
    assert_number (&f.table, i);
    if (i == 2)
      thread = f.gate->thread;
    if (f.gate->prompt)
      assert_true (pthread_equal (f.gate->thread, pthread_self ()));
    else
      assert_true (pthread_equal (f.gate->thread, thread));
  }
  assert_false (pthread_equal (thread, pthread_self ()));
  fixture_free (&f);
}

static void
test_not_asked_while_a_sample_is_under_way (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  gate_set (f.gate, true);
  worker_begin (f.worker);
  gate_wait_entered (f.gate, 1);
  f.gate->prompt = true;
  for (int i = 0; i < 3; i++) {
    worker_begin (f.worker);
    assert_false (worker_collect (f.worker, &f.table, SHORT));
    assert_string_equal (f.table.error, "timed out");
  }
  assert_int_equal (f.gate->asked, 1);
  assert_int_equal (gate_entered (f.gate), 1);

  gate_set (f.gate, false);
  while (!worker_collect (f.worker, &f.table, SHORT))
    ;
  assert_number (&f.table, 1);
  worker_begin (f.worker);
  assert_true (worker_collect (f.worker, &f.table, 0));
  assert_number (&f.table, 2);
  assert_true (pthread_equal (f.gate->thread, pthread_self ()));
  fixture_free (&f);
}

static void
test_failure_without_words_gets_some (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  f.gate->fails = true;
  worker_begin (f.worker);
  assert_true (worker_collect (f.worker, &f.table, FOR_EVER));
  assert_string_not_equal (f.table.error, "");
  fixture_free (&f);
}

static void
test_hang_times_out_once_and_heals (void **state)
{
  struct fixture f = fixture_make ();
  int64_t before;

  (void) state;
  gate_set (f.gate, true);
  worker_begin (f.worker);
  assert_false (worker_collect (f.worker, &f.table, SHORT));
  assert_string_equal (f.table.error, "timed out");
  assert_int_equal (table_get (&f.table, TABLE_NODE, 0)->type, VALUE_MISSING);
  assert_int_equal (f.table.period_ns, 7);

  /* It hangs on: nobody waits for it again, and no second sample is begun. */
  before = clock_monotonic ();
  worker_begin (f.worker);
  assert_false (worker_collect (f.worker, &f.table, before + 3600 * NS_PER_S));
  assert_true (clock_monotonic () - before < 60 * NS_PER_S);
  gate_wait_entered (f.gate, 1);
  assert_int_equal (gate_entered (f.gate), 1);

  gate_set (f.gate, false);
  while (!worker_collect (f.worker, &f.table, SHORT)) /* the late one is not lost */
    ;
  assert_number (&f.table, 1);
  assert_string_equal (f.table.error, "");
  worker_begin (f.worker);
  assert_true (worker_collect (f.worker, &f.table, FOR_EVER));
  assert_number (&f.table, 2);
  fixture_free (&f);
}

/* One that is slower than its deadline each time still gives values: those of the sample before. */
static void
test_slow_one_gives_the_older_sample (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  f.gate->passes = 1;
  gate_set (f.gate, true);
  while (gate_entered (f.gate) < 2)
    worker_begin (f.worker);
  assert_true (worker_collect (f.worker, &f.table, SHORT));
  assert_number (&f.table, 1);
  assert_false (worker_collect (f.worker, &f.table, SHORT));
  gate_set (f.gate, false);
  fixture_free (&f);
}

static void
test_destroy_never_used (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  fixture_free (&f);
  worker_destroy (NULL);
}

static void
test_collect_without_begin (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  assert_false (worker_collect (f.worker, &f.table, FOR_EVER));
  fixture_free (&f);
}

static void
test_destroy_leaves_a_hung_thread_alone (void **state)
{
  struct fixture f = fixture_make ();

  (void) state;
  gate_set (f.gate, true);
  worker_begin (f.worker);
  gate_wait_entered (f.gate, 1);
  worker_destroy (f.worker); /* returns although the sampler hangs */
  table_free (&f.table);
  gate_set (f.gate, false);
  gate_free_after_close (f.gate); /* its own thread closed it */
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_samples_in_one_thread_of_its_own),
    cmocka_unit_test (test_sample_that_will_not_block_is_taken_at_once),
    cmocka_unit_test (test_thread_and_caller_take_turns),
    cmocka_unit_test (test_not_asked_while_a_sample_is_under_way),
    cmocka_unit_test (test_failure_without_words_gets_some),
    cmocka_unit_test (test_hang_times_out_once_and_heals),
    cmocka_unit_test (test_slow_one_gives_the_older_sample),
    cmocka_unit_test (test_destroy_never_used),
    cmocka_unit_test (test_collect_without_begin),
    cmocka_unit_test (test_destroy_leaves_a_hung_thread_alone),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
