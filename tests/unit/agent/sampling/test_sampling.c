/* When groups are due, that nothing bursts or waits, and when facts are sampled. Time is what the test says, except
 * where a worker is waited for. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "agent/sampling/sampling.h"
#include "synop/clock.h"

#define MS NS_PER_MS
#define S NS_PER_S

/* ---- samplers that count ---- */

static const struct metric metrics[] = { { "calls", COUNTER, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE } };
static const struct group group_fast = { .name = "fast", GROUP_METRICS (metrics) };
static const struct group group_slow = { .name = "slow", GROUP_METRICS (metrics) };
static const struct group group_facts = { .name = "facts", .flags = GROUP_ONCE, GROUP_METRICS (metrics) };
static const struct group group_worker = { .name = "worker", GROUP_METRICS (metrics) };
static const struct group group_lane_facts = { .name = "worker_facts", .flags = GROUP_ONCE, GROUP_METRICS (metrics) };

struct counting {
  uint64_t calls;
};

static int closed;
static bool failing;

static void *
counting_open (const struct sampler_context *context)
{
  (void) context;
  return calloc (1, sizeof (struct counting));
}

static int
counting_sample (void *state, struct table *table)
{
  struct counting *counting = state;

  if (failing)
    return -1;
  table_set_uint (table, TABLE_NODE, 0, ++counting->calls);
  return 0;
}

static void
counting_close (void *state)
{
  closed++;
  free (state);
}

/* Hangs while `gate` is held. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_t gated_thread; /* the one that sampled */
static bool may_block = true;

static bool
gated_may_block (void *state)
{
  (void) state;
  return may_block;
}

static int
gated_sample (void *state, struct table *table)
{
  pthread_mutex_lock (&gate);
  gated_thread = pthread_self ();
  pthread_mutex_unlock (&gate);
  return counting_sample (state, table);
}

static const struct sampler fast = { &group_fast, NULL, counting_open, counting_sample, counting_close };
static const struct sampler slow = { &group_slow, NULL, counting_open, counting_sample, counting_close };
static const struct sampler facts = { &group_facts, NULL, counting_open, counting_sample, counting_close };
static const struct sampler in_worker = { &group_worker, gated_may_block, counting_open, gated_sample, counting_close };
static const struct sampler worker_facts = { &group_lane_facts, gated_may_block, counting_open, gated_sample,
                                             counting_close };

static const struct sampler_context context = { .root = "" };

static uint64_t
calls (const struct sample *sample, size_t at)
{
  const struct value *value = table_get (sample->tables[at], TABLE_NODE, 0);

  return value->type == VALUE_UINT ? value->as.u : 0;
}

/* "fast slow" */
static const char *
names (const struct sample *sample)
{
  static char text[128];

  text[0] = 0;
  for (size_t i = 0; i < sample->count; i++) {
    strcat (text, i == 0 ? "" : " ");
    strcat (text, sample->tables[i]->group->name);
    assert_int_equal (sample->tables[i]->monotonic_ns, sample->monotonic_ns);
  }
  return text;
}

/* ---- the grid ---- */

static void
test_next_instant (void **state)
{
  struct sampling_clock own = { 0 };

  (void) state;
  assert_int_equal (sampling_next_instant (&own, 0, S), S);
  assert_int_equal (sampling_next_instant (&own, 1, S), S);
  assert_int_equal (sampling_next_instant (&own, S - 1, S), S);
  assert_int_equal (sampling_next_instant (&own, S, S), 2 * S);
  assert_int_equal (sampling_next_instant (&own, 7 * S, 5 * S), 10 * S);
  assert_int_equal (sampling_next_instant (&own, 1234567 * S + 1, 10 * MS), 1234567 * S + 10 * MS);
}

/* On another clock the instant is a multiple there, to the nanosecond or two that rounding costs. */
static void
test_next_instant_elsewhere (void **state)
{
  const struct sampling_clock clocks[] = { { 0, 300 * MS, 0 },
                                           { 0, -300 * MS, 0 },
                                           { 17 * S, INT64_C (1790000000) * S + 17, 0 },
                                           { 86399 * S, INT64_C (1790000000) * S + 17, 500e-6 },
                                           { 5, -90000 * S + 3, -500e-6 } };
  const int64_t afters[] = { 1, 5 * S, 86400 * S + 123456789, INT64_C (31536000) * S };

  (void) state;
  for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
    for (size_t k = 0; k < sizeof afters / sizeof afters[0]; k++) {
      int64_t instant = sampling_next_instant (&clocks[i], afters[k], S);
      int64_t since = instant - clocks[i].here_ns;
      int64_t there = clocks[i].there_ns + since + (int64_t) ((long double) since * (long double) clocks[i].drift);
      int64_t off = ((there % S) + S) % S;

      assert_true (instant > afters[k]);
      assert_true (instant - afters[k] <= S + S / 1000);
      assert_true (off <= 20 || off >= S - 20);
    }
}

/* From instant to instant no multiple comes twice or is left out, however it rounds. */
static void
test_instants_follow_each_other (void **state)
{
  const double drifts[] = { 500e-6, -500e-6, 333.333e-6, 17e-9 };

  (void) state;
  for (size_t i = 0; i < sizeof drifts / sizeof drifts[0]; i++) {
    struct sampling_clock clock = { INT64_C (1790000000) * S + 17, drifts[i] };
    int64_t instant = sampling_next_instant (&clock, 86400 * S, S);

    for (int k = 0; k < 5000; k++) {
      int64_t next = sampling_next_instant (&clock, instant, S);

      assert_in_range (next - instant, S - S / 1000, S + S / 1000);
      instant = next;
    }
  }
}

/* ---- samples ---- */

static void
test_groups_meet_at_common_multiples (void **state)
{
  const struct sampler *samplers_[] = { &fast, &slow, &facts };
  const int64_t periods[] = { S, 3 * S, S };
  struct sampling *sampling = sampling_create (samplers_, periods, 3, &context);
  struct sample sample;
  size_t count;

  (void) state;
  sampling_groups (sampling, &count);
  assert_int_equal (count, 3);
  assert_int_equal (sampling_shortest_period (sampling), S);
  assert_int_equal (sampling_next_due (sampling), INT64_MAX);

  sampling_start (sampling, 100 * S);
  assert_int_equal (sampling_next_due (sampling), 100 * S);
  sampling_run (sampling, 100 * S + 50, &sample);
  assert_string_equal (names (&sample), "fast slow facts");
  assert_int_equal (sample.tables[1]->period_ns, 3 * S);

  for (int64_t at = 101 * S; at < 110 * S; at += S) {
    assert_int_equal (sampling_next_due (sampling), at);
    sampling_run (sampling, at, &sample);
    assert_string_equal (names (&sample), at % (3 * S) == 0 ? "fast slow" : "fast");
  }
  sampling_ask_facts (sampling);
  assert_int_equal (sampling_next_due (sampling), 110 * S);
  sampling_run (sampling, 110 * S, &sample);
  assert_string_equal (names (&sample), "fast facts");
  assert_int_equal (sample.slots[1], 2);
  assert_int_equal (calls (&sample, 0), 11);
  assert_int_equal (calls (&sample, 1), 2);
  sampling_destroy (sampling);
}

/* The first samples are planned by the node's own clock; then cluster time is known. Of a long period the nearest instant
 * may be seconds ago: it is never sampled between the instants of the others. */
static void
test_clock_is_set_before_the_first_sample (void **state)
{
  const struct sampler *list[] = { &fast, &slow };
  const int64_t periods[] = { S, 10 * S };
  struct sample sample;

  (void) state;
  for (int64_t ahead = -12 * S + 100 * MS; ahead < 12 * S; ahead += 700 * MS) {
    const struct sampling_clock clock = { 99 * S, 99 * S + ahead, 0 };
    struct sampling *sampling = sampling_create (list, periods, 2, &context);
    int64_t due;

    sampling_start (sampling, 100 * S);
    sampling_set_clock (sampling, &clock);
    due = sampling_next_due (sampling);
    assert_in_range (due, 100 * S - 500 * MS, 100 * S + 500 * MS);
    sampling_run (sampling, due, &sample);
    assert_string_equal (names (&sample), "fast slow");
    sampling_set_clock (sampling, &clock);
    for (int i = 0; i < 25; i++) { /* two samples are half a period apart at least */
      due += S;
      assert_int_equal (sampling_next_due (sampling), due);
      sampling_run (sampling, due, &sample);
      assert_string_equal (names (&sample), (due + ahead) % (10 * S) == 0 && i >= 4 ? "fast slow" : "fast");
    }
    sampling_destroy (sampling);
  }
}

/* A clock that comes before the first sample moves that sample as a whole; only then each group has its own instants. */
static void
test_first_sample_has_all_groups (void **state)
{
  static const struct sampler *const samplers_[] = { &fast, &slow };
  static const int64_t periods[] = { 100 * MS, 10 * S };
  const struct sampling_clock clock = { .there_ns = 4 * S };
  struct sampling *sampling = sampling_create (samplers_, periods, 2, &context);
  struct sample sample;
  int64_t due_ns;

  (void) state;
  sampling_start (sampling, 300 * MS);
  sampling_set_clock (sampling, &clock);
  due_ns = sampling_next_due (sampling);
  assert_int_equal (due_ns, 300 * MS);
  sampling_run (sampling, due_ns, &sample);
  assert_string_equal (names (&sample), "fast slow");
  for (int count = 0; count < 100; count++) {
    due_ns = sampling_next_due (sampling);
    sampling_run (sampling, due_ns, &sample);
    if (strstr (names (&sample), "slow"))
      break;
  }
  assert_int_equal (due_ns + clock.there_ns, 10 * S);
  sampling_destroy (sampling);
}

static void
test_disabled_group (void **state)
{
  const struct sampler *samplers_[] = { &fast, &slow };
  const int64_t periods[] = { 0, S };
  struct sampling *sampling = sampling_create (samplers_, periods, 2, &context);
  const struct group *const *groups;
  struct sample sample;
  size_t count;

  (void) state;
  groups = sampling_groups (sampling, &count);
  assert_int_equal (count, 1);
  assert_ptr_equal (groups[0], &group_slow);
  sampling_start (sampling, S);
  sampling_run (sampling, S, &sample);
  assert_string_equal (names (&sample), "slow");
  assert_int_equal (sample.slots[0], 0);
  sampling_destroy (sampling);
}

static void
test_late_wake_does_not_burst (void **state)
{
  const struct sampler *samplers_[] = { &fast };
  const int64_t periods[] = { S };
  struct sampling *sampling = sampling_create (samplers_, periods, 1, &context);
  struct sample sample;

  (void) state;
  sampling_start (sampling, 10 * S);
  sampling_run (sampling, 10 * S, &sample);
  sampling_run (sampling, 14 * S + 300 * MS, &sample);
  assert_int_equal (sample.count, 1);
  assert_int_equal (sampling_next_due (sampling), 15 * S);
  sampling_run (sampling, 14 * S + 400 * MS, &sample);
  assert_int_equal (sample.count, 0);
  /* So late that the next instant is too near. */
  sampling_run (sampling, 15 * S + 900 * MS, &sample);
  assert_int_equal (sample.count, 1);
  assert_int_equal (sampling_next_due (sampling), 17 * S);
  sampling_skip (sampling, 17 * S + 1);
  assert_int_equal (sampling_next_due (sampling), 18 * S);
  sampling_destroy (sampling);
}

static void
test_failure_is_told_in_the_table (void **state)
{
  const struct sampler *samplers_[] = { &fast, &slow };
  const int64_t periods[] = { S, S };
  struct sampling *sampling = sampling_create (samplers_, periods, 2, &context);
  struct sample sample;

  (void) state;
  failing = true;
  sampling_start (sampling, S);
  sampling_run (sampling, S, &sample);
  failing = false;
  assert_int_equal (sample.count, 2);
  assert_true (sample.tables[0]->error[0]);
  sampling_run (sampling, 2 * S, &sample);
  assert_string_equal (sample.tables[0]->error, "");
  assert_int_equal (calls (&sample, 0), 1);
  sampling_destroy (sampling);
}

/* A table that its user has swapped away: the next sample is whole again. */
static void
test_swapped_table (void **state)
{
  const struct sampler *samplers_[] = { &fast };
  const int64_t periods[] = { 2 * S };
  struct sampling *sampling = sampling_create (samplers_, periods, 1, &context);
  struct table mine;
  struct sample sample;

  (void) state;
  table_init (&mine, &group_fast);
  sampling_start (sampling, S);
  sampling_run (sampling, S, &sample);
  table_swap (&mine, sample.tables[0]);
  assert_int_equal (sampling_next_due (sampling), 2 * S);
  sampling_run (sampling, 2 * S, &sample);
  assert_int_equal (sample.tables[0]->period_ns, 2 * S);
  assert_int_equal (calls (&sample, 0), 2);
  assert_int_equal (sampling_next_due (sampling), 4 * S);
  table_free (&mine);
  sampling_destroy (sampling);
}

/* ---- workers: real time, since a thread answers ---- */

#define PATIENCE (60 * S) /* only ends what would never end */

static void
test_hanging_lane_delays_nothing (void **state)
{
  const struct sampler *samplers_[] = { &in_worker, &fast };
  const int64_t periods[] = { 200 * MS, 200 * MS };
  struct sampling *sampling = sampling_create (samplers_, periods, 2, &context);
  struct sample sample;
  int64_t now, took, end;

  (void) state;
  pthread_mutex_lock (&gate);
  sampling_start (sampling, 0);
  now = clock_monotonic ();
  sampling_run (sampling, now, &sample);
  took = clock_monotonic () - now;
  assert_string_equal (names (&sample), "worker fast");
  assert_string_equal (sample.tables[0]->error, "timed out");
  assert_string_equal (sample.tables[1]->error, "");
  assert_true (took >= 50 * MS);

  /* It is known to hang now: a deadline an hour away is not waited for. */
  for (int i = 0; i < 3; i++) {
    now += 3600 * S;
    sampling_run (sampling, now, &sample);
    assert_string_equal (sample.tables[0]->error, "timed out");
    assert_int_equal (calls (&sample, 1), 2 + i);
  }
  pthread_mutex_unlock (&gate);
  end = clock_monotonic () + PATIENCE;
  do
    sampling_run (sampling, now += 3600 * S, &sample);
  while (sample.tables[0]->error[0] && clock_monotonic () < end);
  assert_true (calls (&sample, 0) > 0);
  assert_int_equal (sample.tables[0]->monotonic_ns, now);
  assert_int_equal (sample.tables[0]->period_ns, 200 * MS);
  sampling_destroy (sampling);
}

static size_t
count_threads (void)
{
  size_t count = 0;
  DIR *tasks = opendir ("/proc/self/task");

  while (readdir (tasks))
    count++;
  closedir (tasks);
  return count;
}

/* A new configuration while samplers hang: they hang on, in the threads that they have, and come back as they are now. */
static void
test_opened_again_while_it_hangs (void **state)
{
  const struct sampler *samplers_[] = { &in_worker, &fast, &worker_facts };
  const int64_t periods[] = { 4 * MS, 4 * MS, 4 * MS }, without[] = { 0, 4 * MS, 0 };
  struct sampling *sampling = sampling_create (samplers_, periods, 3, &context);
  int64_t now = clock_monotonic (), end;
  struct sample sample;
  bool worker_is_back = false, facts_are_back = false;
  size_t threads;

  (void) state;
  pthread_mutex_lock (&gate);
  sampling_start (sampling, 0);
  sampling_run (sampling, now, &sample);
  threads = count_threads ();
  closed = 0;
  for (int i = 0; i < 20; i++) {
    sampling_close (sampling);
    sampling_open (sampling, samplers_, i % 3 ? periods : without, 3, &context);
    sampling_start (sampling, now);
    sampling_run (sampling, now += 10 * MS, &sample);
    assert_string_equal (names (&sample), i % 3 ? "worker fast worker_facts" : "fast");
    assert_string_equal (sample.tables[0]->error, i % 3 ? "timed out" : "");
    assert_int_equal (calls (&sample, i % 3 ? 1 : 0), 1);
  }
  assert_int_equal (count_threads (), threads);
  pthread_mutex_unlock (&gate);
  end = clock_monotonic () + PATIENCE;
  while (!(worker_is_back && facts_are_back) && clock_monotonic () < end) {
    sampling_run (sampling, now += 10 * MS, &sample);
    worker_is_back |= !sample.tables[0]->error[0];
    facts_are_back |= sample.count == 3 && calls (&sample, 2) == 1;
  }
  assert_true (worker_is_back && facts_are_back);
  sampling_close (sampling);
  assert_int_equal (closed, 1 + 7 + 13 * 3 + 2); /* the first one, those of each turn, and the two that hung */
  sampling_open (sampling, samplers_, periods, 3, &context);
  sampling_destroy (sampling);
}

/* Facts that come too late for their sample ride with a later one, without being asked for again. */
static void
test_late_facts (void **state)
{
  const struct sampler *samplers_[] = { &fast, &worker_facts };
  const int64_t periods[] = { 4 * MS, 4 * MS };
  struct sampling *sampling = sampling_create (samplers_, periods, 2, &context);
  int64_t now = clock_monotonic (), end;
  struct sample sample;

  (void) state;
  pthread_mutex_lock (&gate);
  sampling_start (sampling, 0);
  sampling_run (sampling, now, &sample);
  assert_string_equal (names (&sample), "fast worker_facts");
  assert_string_equal (sample.tables[1]->error, "timed out");
  sampling_run (sampling, now += 10 * MS, &sample);
  assert_string_equal (names (&sample), "fast");
  pthread_mutex_unlock (&gate);
  end = clock_monotonic () + PATIENCE;
  do
    sampling_run (sampling, now += 10 * MS, &sample);
  while (sample.count == 1 && clock_monotonic () < end);
  assert_string_equal (names (&sample), "fast worker_facts");
  assert_int_equal (calls (&sample, 1), 1);
  assert_string_equal (sample.tables[1]->error, "");
  sampling_run (sampling, now += 10 * MS, &sample);
  assert_string_equal (names (&sample), "fast");
  sampling_destroy (sampling);
}

/* What will not block is there at once, however short the patience, and no thread is made for it. */
static void
test_lane_that_will_not_block (void **state)
{
  const struct sampler *samplers_[] = { &fast, &in_worker, &worker_facts };
  const int64_t periods[] = { 1, 1, 1 };
  struct sampling *sampling = sampling_create (samplers_, periods, 3, &context);
  struct sample sample;

  (void) state;
  may_block = false;
  sampling_start (sampling, 0);
  sampling_run (sampling, 1, &sample);
  assert_string_equal (names (&sample), "fast worker worker_facts");
  assert_string_equal (sample.tables[1]->error, "");
  assert_string_equal (sample.tables[2]->error, "");
  assert_int_equal (calls (&sample, 1), 1);
  assert_int_equal (calls (&sample, 2), 1);
  assert_true (pthread_equal (gated_thread, pthread_self ()));
  sampling_destroy (sampling);
  may_block = true;
}

static void
test_all_is_closed (void **state)
{
  const struct sampler *samplers_[] = { &fast, &in_worker, &slow };
  const int64_t periods[] = { S, S, 0 };

  (void) state;
  closed = 0;
  sampling_destroy (sampling_create (samplers_, periods, 3, &context));
  assert_int_equal (closed, 2);
  sampling_destroy (NULL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_next_instant),
    cmocka_unit_test (test_next_instant_elsewhere),
    cmocka_unit_test (test_instants_follow_each_other),
    cmocka_unit_test (test_groups_meet_at_common_multiples),
    cmocka_unit_test (test_clock_is_set_before_the_first_sample),
    cmocka_unit_test (test_first_sample_has_all_groups),
    cmocka_unit_test (test_disabled_group),
    cmocka_unit_test (test_late_wake_does_not_burst),
    cmocka_unit_test (test_failure_is_told_in_the_table),
    cmocka_unit_test (test_swapped_table),
    cmocka_unit_test (test_hanging_lane_delays_nothing),
    cmocka_unit_test (test_lane_that_will_not_block),
    cmocka_unit_test (test_opened_again_while_it_hangs),
    cmocka_unit_test (test_late_facts),
    cmocka_unit_test (test_all_is_closed),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
