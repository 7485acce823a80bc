/* What answers are made of: points into steps, folds and rankings, text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/query/query_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define S NS_PER_S
#define MINUTE (60 * S)

#define assert_near(one, other) assert_true (fabs ((one) - (other)) < 1e-12)

static const struct metric used = { "used", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Used." };

/* ---- points into steps ---- */

static void
add (struct bucket_table *table, const char *node, const char *row, struct history_point point)
{
  struct points_into into = bucket_table_into;

  into.context = table;
  into.points (table, into.series (table, node, row, row ? strlen (row) : 0, &used), &point, 1);
}

static void
test_points_are_summed_in_their_steps (void **state)
{
  struct bucket_table table = { .from_ns = 100 * S, .step_ns = 10 * S, .steps = 3, .most = 10 };
  const struct bucket *buckets;

  (void) state;
  add (&table, "n1", NULL, (struct history_point){ 99 * S, S, 1, 50, 50, 50 }); /* before it */
  add (&table, "n1", NULL, (struct history_point){ 100 * S, S, 1, 2, 2, 2 });
  add (&table, "n1", NULL, (struct history_point){ 110 * S - 1, S, 3, 10, 1, 6 });
  add (&table, "n1", NULL, (struct history_point){ 110 * S, S, 1, 7, 7, 7 });
  add (&table, "n1", NULL, (struct history_point){ 130 * S, S, 1, 9, 9, 9 }); /* behind it */
  add (&table, "n1", "eth0", (struct history_point){ 120 * S, S, 1, 5, 5, 5 });
  add (&table, "n1", "", (struct history_point){ 120 * S, S, 1, 6, 6, 6 });
  buckets = bucket_table_find (&table, "n1", NULL);
  assert_int_equal (buckets[0].count, 4);
  assert_near (buckets[0].sum, 12);
  assert_near (buckets[0].min, 1);
  assert_near (buckets[0].max, 6);
  assert_int_equal (buckets[1].count, 1);
  assert_int_equal (buckets[2].count, 0);
  assert_near (bucket_table_find (&table, "n1", "eth0")[2].sum, 5);
  assert_near (bucket_table_find (&table, "n1", "")[2].sum, 6);
  assert_null (bucket_table_find (&table, "n2", NULL));
  assert_int_equal (bucket_table_count (&table), 3);
  bucket_table_free (&table);
}

static void
test_rates_are_of_the_time_that_samples_span (void **state)
{
  struct bucket_table table = { .from_ns = 0, .step_ns = MINUTE, .steps = 1, .most = 10, .rate = true };
  const struct bucket *bucket;

  (void) state;
  add (&table, "n1", NULL, (struct history_point){ 10 * S, 0, 1, 1000, 1000, 1000, true }); /* of unknown length */
  add (&table, "n1", NULL, (struct history_point){ 20 * S, 2 * S, 1, 10, 10, 10, true });
  add (&table, "n1", NULL, (struct history_point){ 30 * S, 4 * S, 4, 40, 8, 12, true });
  bucket = bucket_table_find (&table, "n1", NULL);
  assert_near (bucket->sum / bucket->seconds, 50.0 / 6);
  assert_near (bucket->min, 5);
  assert_near (bucket->max, 12);
  bucket_table_free (&table);
}

/* Minutes from `first` on, with so many samples each of 10 a second, which last `period` seconds each. 0: there is none. */
static void
add_minutes (struct bucket_table *table, const char *node, size_t first, const uint64_t *counts, size_t count,
             double period)
{
  for (size_t i = 0; i < count; i++)
    if (counts[i])
      add (table, node, NULL,
           (struct history_point){ (int64_t) (first + i) * MINUTE, MINUTE, counts[i], 10 * period * (double) counts[i],
                                   9 * period, 11 * period });
}

static void
finish (struct bucket_table *table, int64_t until_ns)
{
  const struct points_query combined = { .combined = true }; /* which no frames are looked up for */
  struct error error;
  size_t broken;

  assert_int_equal (pace_finish (table, NULL, &combined, until_ns, &broken, &error), 0);
  assert_int_equal (broken, 0);
}

static void
expect_rates (const struct bucket_table *table, const char *node, const double *rates)
{
  const struct bucket *buckets = bucket_table_find (table, node, NULL);

  for (size_t i = 0; i < table->steps; i++) {
    double rate = buckets[i].count ? buckets[i].sum / buckets[i].seconds : 0;
    if (fabs (rate - rates[i]) > 1e-9)
      fail_msg ("%s, step %zu: %g, not %g", node, i, rate, rates[i]);
    if (rate > 0 && rates[i] == 10) {
      assert_near (buckets[i].min, 9);
      assert_near (buckets[i].max, 11);
    }
  }
}

/* Where a node begins or ends, a minute has the change of a part of it alone. */
static void
test_rates_at_the_ends_of_a_life_are_of_what_samples_cover (void **state)
{
  static const uint64_t every_second[] = { 23, 60, 60, 60, 7, 0, 41, 60 }, every_5_minutes[] = { 1, 0, 0, 0, 0, 1 },
                        alone[] = { 30 }, before_a_gap[] = { 7, 0, 0, 60, 60, 60, 20 };
  static const double tens[] = { 0, 10, 10, 10, 10, 10, 0, 10, 10, 0 }, slow[] = { 0, 0, 0, 10, 0, 0, 0, 0, 10, 0 },
                      one[] = { 0, 0, 10, 0, 0, 0, 0, 0, 0, 0 }, parted[] = { 0, 10, 0, 0, 10, 10, 10, 10, 0, 0 };
  struct bucket_table table = { .step_ns = MINUTE, .steps = 10, .most = 10, .rate = true };

  (void) state;
  add_minutes (&table, "n1", 1, every_second, 8, 1);
  add_minutes (&table, "slow", 3, every_5_minutes, 6, 300);
  add_minutes (&table, "alone", 2, alone, 1, 1); /* others have its period */
  add_minutes (&table, "gap", 1, before_a_gap, 7, 1);
  finish (&table, INT64_MAX);
  expect_rates (&table, "n1", tens);
  expect_rates (&table, "slow", slow);
  expect_rates (&table, "alone", one);
  expect_rates (&table, "gap", parted);
  bucket_table_free (&table);
}

/* Where minutes end and frames go on nothing ends, and nothing is looked up (there is no file). */
static void
test_rates_go_on_in_frames (void **state)
{
  static const uint64_t split[] = { 60, 60, 23 }, whole[] = { 60, 60, 60 };
  static const double tens[] = { 10, 10, 10, 10 };
  const struct points_query query = { .group = "a" };
  struct bucket_table table = { .step_ns = MINUTE, .steps = 4, .most = 10, .rate = true };
  struct error error;
  size_t broken;

  (void) state;
  add_minutes (&table, "n1", 0, split, 3, 1);
  add_minutes (&table, "n2", 0, whole, 3, 1);
  add (&table, "n1", NULL, (struct history_point){ 2 * MINUTE, 37 * S, 37, 370, 9, 11, true });
  for (int64_t i = 0; i < 2; i++)
    add (&table, i ? "n2" : "n1", NULL, (struct history_point){ 3 * MINUTE, 20 * S, 20, 200, 9, 11, true });
  assert_int_equal (pace_finish (&table, NULL, &query, INT64_MAX, &broken, &error), 0);
  expect_rates (&table, "n1", tens);
  expect_rates (&table, "n2", tens);
  bucket_table_free (&table);
}

/* In the middle a change over frames that are lost is there; its minute counts as whole. */
static void
test_rates_between_minutes_are_of_whole_ones (void **state)
{
  static const uint64_t counts[] = { 60, 60, 50, 60 };
  static const double rates[] = { 10, 10, 50.0 * 10 / 60, 10 };
  struct bucket_table table = { .step_ns = MINUTE, .steps = 4, .most = 10, .rate = true };

  (void) state;
  add_minutes (&table, "n1", 0, counts, 4, 1);
  finish (&table, INT64_MAX);
  expect_rates (&table, "n1", rates);
  bucket_table_free (&table);
}

/* The minute that is not over yet has changes of the time that has passed. */
static void
test_rates_end_now (void **state)
{
  struct bucket_table table = { .step_ns = MINUTE, .steps = 1, .most = 10, .rate = true };
  const struct bucket *bucket;

  (void) state;
  add (&table, "n1", NULL, (struct history_point){ 0, MINUTE, 15, 150, 10, 10 });
  finish (&table, 15 * S);
  bucket = bucket_table_find (&table, "n1", NULL);
  assert_near (bucket->sum / bucket->seconds, 10);
  assert_near (bucket->max, 10);
  bucket_table_free (&table);
}

static void
test_no_more_series_than_may_be (void **state)
{
  struct bucket_table table = { .from_ns = 0, .step_ns = S, .steps = 1, .most = 2 };

  (void) state;
  add (&table, "n1", NULL, (struct history_point){ 0, S, 1, 1, 1, 1 });
  add (&table, "n2", NULL, (struct history_point){ 0, S, 1, 1, 1, 1 });
  assert_false (table.full);
  add (&table, "n3", NULL, (struct history_point){ 0, S, 1, 1, 1, 1 });
  assert_true (table.full);
  assert_int_equal (bucket_table_count (&table), 2);
  bucket_table_free (&table);
}

/* ---- series ---- */

#define STEPS 3

/* NaN: missing. */
static void
give_series (struct query_answer *answer, const char *node, const double values[STEPS])
{
  struct query_series *series = &answer->series[answer->series_count++];

  *series =
      (struct query_series){ .node = memory_string (node), .values = memory_new (STEPS, sizeof series->values[0]) };
  for (size_t i = 0; i < STEPS; i++)
    if (!isnan (values[i]))
      series->values[i] = (struct query_value){ 2, values[i], values[i] - 1, values[i] + 1 };
}

static struct query_answer
make_answer (enum query_fold fold)
{
  struct query_answer answer = { .steps = STEPS,
                                 .step_ns = S,
                                 .to_ns = STEPS * S,
                                 .fold = fold,
                                 .series = memory_new (8, sizeof answer.series[0]),
                                 .series_room = 8 };

  give_series (&answer, "n10", (double[]){ 4, (double) NAN, (double) NAN });
  give_series (&answer, "n2", (double[]){ 6, 8, (double) NAN });
  give_series (&answer, "n1", (double[]){ 2, 1, (double) NAN });
  return answer;
}

static void
expect_fold (enum query_fold fold, double first, double second, double min, double max)
{
  struct query_answer answer = make_answer (fold);

  series_fold (&answer);
  series_measure (&answer);
  assert_int_equal (answer.series_count, 1);
  assert_int_equal (answer.folded, 3);
  assert_int_equal (answer.series[0].values[0].count, 6);
  assert_near (answer.series[0].values[0].value, first);
  assert_near (answer.series[0].values[1].value, second);
  assert_int_equal (answer.series[0].values[2].count, 0);
  assert_int_equal (answer.series[0].missing, 1);
  if (fold == QUERY_SUM)
    assert_true (isnan (answer.series[0].values[0].min) && isnan (answer.series[0].values[0].max));
  else
    assert_true (answer.series[0].values[0].min == min && answer.series[0].values[0].max == max);
  query_answer_free (&answer);
}

static void
test_folds_are_of_those_that_have_a_value (void **state)
{
  (void) state;
  expect_fold (QUERY_SUM, 12, 9, 0, 0);
  expect_fold (QUERY_MEAN, 4, 4.5, 1, 7);
  expect_fold (QUERY_MIN, 2, 1, 1, 7);
  expect_fold (QUERY_MAX, 6, 8, 1, 7);
}

static void
test_what_is_missing_is_said (void **state)
{
  struct query_answer answer = make_answer (QUERY_EACH);

  (void) state;
  series_sort (&answer);
  series_measure (&answer);
  assert_string_equal (answer.series[1].node, "n2"); /* before n10 */
  assert_int_equal (answer.series[0].missing, 1);
  assert_int_equal (answer.series[2].missing, 2);
  assert_int_equal (answer.gap_count, 1);
  assert_int_equal (answer.gaps[0].from_ns, 2 * S);
  assert_int_equal (answer.gaps[0].to_ns, 3 * S);
  query_answer_free (&answer);
}

static void
test_a_ranking_is_by_the_mean (void **state)
{
  struct query_answer answer = make_answer (QUERY_EACH);

  (void) state;
  series_measure (&answer);
  series_rank (&answer, 2, false);
  assert_int_equal (answer.series_count, 2);
  assert_int_equal (answer.left_out, 1);
  assert_string_equal (answer.series[0].node, "n2");
  assert_string_equal (answer.series[1].node, "n10");
  query_answer_free (&answer);
  answer = make_answer (QUERY_EACH);
  series_measure (&answer);
  series_rank (&answer, 1, true);
  assert_string_equal (answer.series[0].node, "n1");
  query_answer_free (&answer);
}

/* ---- text ---- */

static void
expect_text (struct buffer *text, const char *wanted)
{
  if (!strstr (buffer_text (text), wanted))
    fail_msg ("no \"%s\" in: %s", wanted, buffer_text (text));
  buffer_free (text);
}

static void
test_missing_values_are_empty_and_never_0 (void **state)
{
  struct query_answer answer = make_answer (QUERY_EACH);
  struct buffer text = { 0 };

  (void) state;
  answer.metric = memory_string ("memory_info.used");
  answer.unit = memory_string ("bytes");
  answer.help = memory_string ("");
  series_sort (&answer);
  series_measure (&answer);
  query_write_json (&text, &answer, NULL, NULL);
  expect_text (&text, "\"points\":[[0,4,3,5,2],[1,null,null,null,0],[2,null,null,null,0]]");
  query_write_csv (&text, &answer);
  expect_text (&text, "1970-01-01T00:00:01.000000000Z,n10,,,,,0\n");
  query_write_table (&text, &answer, 80);
  expect_text (&text, "00:00:01  1.000  8.000      -\n");
  query_write_notes (&text, &answer);
  expect_text (&text, "Steps without a value: n10 2 of 3.\n");
  query_answer_free (&answer);
}

static void
test_many_steps_without_a_value_are_one_line (void **state)
{
  struct query_answer answer = { .steps = 5,
                                 .step_ns = S,
                                 .to_ns = 5 * S,
                                 .metric = memory_string ("a.b"),
                                 .unit = memory_string (""),
                                 .series = memory_new (1, sizeof answer.series[0]),
                                 .series_count = 1 };
  struct buffer text = { 0 };

  (void) state;
  answer.series[0] =
      (struct query_series){ .node = memory_string ("n1"), .values = memory_new (5, sizeof (struct query_value)) };
  answer.series[0].values[3] = (struct query_value){ 1, 2, 2, 2 };
  series_measure (&answer);
  query_write_table (&text, &answer, 80);
  expect_text (&text, "TIME         n1\n00:00:00  ... 3 steps without a value\n00:00:03  2.000\n00:00:04      -\n");
  query_answer_free (&answer);
}

static void
test_a_narrow_table_has_a_line_for_each_series (void **state)
{
  struct query_answer answer = make_answer (QUERY_EACH);
  struct buffer text = { 0 };

  (void) state;
  answer.metric = memory_string ("a.b");
  answer.unit = memory_string ("");
  answer.help = memory_string ("");
  series_sort (&answer);
  series_measure (&answer);
  query_write_table (&text, &answer, 20);
  expect_text (&text, "n2        7.000      6.000      8.000      8.000  ▇█\n");
  query_answer_free (&answer);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_points_are_summed_in_their_steps),
    cmocka_unit_test (test_rates_are_of_the_time_that_samples_span),
    cmocka_unit_test (test_rates_at_the_ends_of_a_life_are_of_what_samples_cover),
    cmocka_unit_test (test_rates_go_on_in_frames),
    cmocka_unit_test (test_rates_between_minutes_are_of_whole_ones),
    cmocka_unit_test (test_rates_end_now),
    cmocka_unit_test (test_no_more_series_than_may_be),
    cmocka_unit_test (test_folds_are_of_those_that_have_a_value),
    cmocka_unit_test (test_what_is_missing_is_said),
    cmocka_unit_test (test_a_ranking_is_by_the_mean),
    cmocka_unit_test (test_missing_values_are_empty_and_never_0),
    cmocka_unit_test (test_many_steps_without_a_value_are_one_line),
    cmocka_unit_test (test_a_narrow_table_has_a_line_for_each_series),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  setenv ("TZ", "UTC", 1);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
