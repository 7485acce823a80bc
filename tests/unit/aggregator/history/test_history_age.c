/* The time by which the history's age counts, when clocks jump. */
#include "aggregator/history/history_age.h"

#include "aggregator/history/history_store.h"

#include "tests/unit/aggregator/history/history_bench.h"

#define NOW (INT64_C (1700000000) * NS_PER_S)
#define HOUR (3600 * NS_PER_S)
#define YEAR (365 * 24 * HOUR)

static int64_t
at (struct history_age *age, int64_t shift_ns, int64_t elapsed_ns)
{
  return history_age_now (age, NOW + shift_ns + elapsed_ns, HOUR + elapsed_ns) - NOW - elapsed_ns;
}

static void
test_jump_ahead_is_believed_after_a_day (void **state)
{
  struct history_age age = { 0 };

  (void) state;
  history_age_begin (&age, NOW - HOUR, HOUR);
  for (int64_t hour = 0; hour < 24; hour++)
    assert_int_equal (at (&age, YEAR, hour * HOUR), -HOUR);
  assert_int_equal (at (&age, YEAR, 24 * HOUR), YEAR);
  assert_int_equal (at (&age, YEAR, 25 * HOUR), YEAR);
  assert_int_equal (at (&age, 0, 26 * HOUR), 0);
  /* One that goes back before the day is over has done nothing, and the next one waits as long. */
  for (int64_t hour = 27; hour < 40; hour++)
    assert_int_equal (at (&age, YEAR, hour * HOUR), 0);
  assert_int_equal (at (&age, 10 * NS_PER_S, 40 * HOUR), 10 * NS_PER_S);
  for (int64_t hour = 41; hour < 65; hour++)
    assert_int_equal (at (&age, YEAR, hour * HOUR), 10 * NS_PER_S);
  assert_int_equal (at (&age, YEAR, 65 * HOUR), YEAR);
}

static void
test_nothing_stored_believes_the_clock (void **state)
{
  struct history_age age = { 0 };

  (void) state;
  history_age_begin (&age, 0, HOUR);
  assert_int_equal (at (&age, YEAR, 0), YEAR);
  assert_int_equal (at (&age, -YEAR, HOUR), -YEAR);
}

/* What a clock finds that is a year ahead when the aggregator starts, or that jumps while it runs: what is there counts by
 * its newest. */
static void
test_file_outlives_a_jump (void **state)
{
  struct scratch *scratch = *state;
  struct error error;
  struct history_store *store = history_store_open (scratch->path, &error);
  const int64_t newest = clock_wall () - YEAR, ages[] = { 0, 10 * 24 * HOUR, 40 * 24 * HOUR }; /* 30 days are kept */

  assert_non_null (store);
  assert_int_equal (history_store_newest (store), 0);
  for (int64_t i = 0; i < 3; i++)
    assert_int_equal (history_store_event (store, i, newest - ages[i], NULL, "old", "{}", 2, &error), 0);
  assert_int_equal (history_store_newest (store), newest);
  history_store_close (store);
  scratch_open (scratch);
  assert_true (history_flush (scratch->history));
  scratch_close (scratch);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM events WHERE type = 'old'"), 2);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_jump_ahead_is_believed_after_a_day),
    cmocka_unit_test (test_nothing_stored_believes_the_clock),
    cmocka_unit_test_setup_teardown (test_file_outlives_a_jump, scratch_create, scratch_destroy),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
