/* Rates of minutes that have fewer samples than usual: of the time that their frames span, which a history has. */
#include <math.h>

#include "aggregator/query/query_private.h"
#include "tests/unit/aggregator/history/history_bench.h"

#define S NS_PER_S
#define MINUTE (60 * S)

static const struct points_query asked = { .group = "made", .metric = "bytes" };

static void
add_minutes (struct bucket_table *table, const uint64_t *counts, size_t count)
{
  struct points_into into = bucket_table_into;
  void *series;

  into.context = table;
  series = into.series (table, "n1", NULL, 0, &made_metrics[0]);
  for (size_t i = 0; i < count; i++)
    into.points (table, series,
                 &(struct history_point){ table->from_ns + (int64_t) i * MINUTE, MINUTE, counts[i],
                                          10 * (double) counts[i], 9, 11 },
                 1);
}

static double
rate_of (const struct bucket_table *table, size_t step)
{
  const struct bucket *bucket = &bucket_table_find (table, "n1", NULL)[step];

  return bucket->sum / bucket->seconds;
}

/* Of the second minute's 50 samples frames show 24, a second each: the others take as long. */
static void
test_samples_that_no_frame_shows_take_as_long (void **state)
{
  static const uint64_t counts[] = { 60, 50, 60, 60 };
  struct scratch *scratch = *state;
  struct bucket_table table = { .step_ns = MINUTE, .steps = 4, .most = 10, .rate = true };
  struct history_file *file;
  struct error error = { "" };
  size_t broken;

  scratch->start_ns -= scratch->start_ns % MINUTE;
  scratch_open (scratch);
  put_range (scratch, "n1", 1, 61, 85); /* the first has no change */
  scratch_close (scratch);
  table.from_ns = scratch->start_ns;
  add_minutes (&table, counts, 4);
  file = history_file_open (scratch->path, &error);
  assert_non_null (file);
  assert_int_equal (pace_finish (&table, file, &asked, INT64_MAX, &broken, &error), 0);
  assert_int_equal (broken, 0);
  for (size_t step = 0; step < 4; step++)
    assert_true (fabs (rate_of (&table, step) - 10) < 1e-9);
  history_file_close (file);
  bucket_table_free (&table);
}

/* The last minute is not over. If it has three samples or more less than usual, each of them is as long as usual, of which it
 * is a part; else the minute is whole. */
static void
test_a_minute_that_is_not_over_is_short (void **state)
{
  const struct points_query combined = { .combined = true }; /* which no frames are looked up for */

  (void) state;
  for (uint64_t last = 45; last <= 59; last++) {
    const uint64_t counts[] = { 60, 60, 60, last };
    struct bucket_table table = { .step_ns = MINUTE, .steps = 4, .most = 10, .rate = true };
    struct error error;
    size_t broken;
    add_minutes (&table, counts, 4);
    assert_int_equal (pace_finish (&table, NULL, &combined, 3 * MINUTE + (int64_t) last * S, &broken, &error), 0);
    assert_true (fabs (rate_of (&table, 3) - 10 * (double) (last <= 57 ? 120 + last : 3 * last) / 180) < 1e-9);
    bucket_table_free (&table);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_samples_that_no_frame_shows_take_as_long, scratch_create, scratch_destroy),
    cmocka_unit_test (test_a_minute_that_is_not_over_is_short),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
