/* Questions about this instant: the request, and the answer of the line that comes; values as bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/query/levels.h"
#include "aggregator/query/query_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LINE(members)                                                                                                  \
  "{\"type\":\"now\",\"time\":\"2023-11-14T22:13:20.5Z\",\"list\":1,\"nodes\":[\"n1\",\"n2\",\"n10\"],"                \
  "\"states\":\"uud\",\"metrics\":[{\"metric\":\"memory.used\",\"unit\":\"bytes\",\"shows\":\"mean\",\"count\":"       \
  "2," members "}]}\n"

static void
expect_request (const struct query *query, const char *expected)
{
  struct buffer request = { 0 };
  const char *key;
  struct error error;

  if (query_instant_request (query, &request, &key, &error) < 0)
    fail_msg ("%s: %s", key, error.text);
  assert_string_equal (buffer_text (&request), expected);
  buffer_free (&request);
}

static void
expect_no_request (const struct query *query, const char *wrong)
{
  struct buffer request = { 0 };
  const char *key;
  struct error error;

  assert_int_equal (query_instant_request (query, &request, &key, &error), -1);
  assert_string_equal (key, wrong);
  buffer_free (&request);
}

static void
test_requests (void **state)
{
  char metric[] = "a.b / c.d", node[] = "n1,n2", row[] = "eth0", text[] = "x", tabs[] = "a\tb";

  (void) state;
  expect_request (&(struct query){ .metric = metric }, "now\tmetric=a.b / c.d\n");
  expect_request (&(struct query){ .metric = metric, .node = node, .row = row, .top = 3 },
                  "now\tmetric=a.b / c.d\tnode=n1,n2\trow=eth0\ttop=3\n");
  expect_request (&(struct query){ .metric = metric, .rows = true, .bottom = 2 },
                  "now\tmetric=a.b / c.d\trow=*\tbottom=2\n");
  expect_request (&(struct query){ .metric = metric, .top = 3, .fold = QUERY_SUM }, "now\tmetric=a.b / c.d\n");
  expect_no_request (&(struct query){ .metric = metric, .from = text }, "from");
  expect_no_request (&(struct query){ .metric = metric, .to = text }, "to");
  expect_no_request (&(struct query){ .metric = metric, .step = text }, "step");
  expect_no_request (&(struct query){ .metric = metric, .job = text }, "job");
  expect_no_request (&(struct query){ .metric = metric, .combined = true }, "combined");
  expect_no_request (&(struct query){ .metric = metric, .top = 1, .bottom = 1 }, "bottom");
  expect_no_request (&(struct query){ .metric = tabs }, "metric");
  expect_no_request (&(struct query){ .metric = metric, .node = tabs }, "node");
}

static struct query_answer
answer_of (const struct query *query, const char *line)
{
  struct query_answer answer;
  const char *key;
  struct error error;

  if (query_instant_answer (query, line, &answer, &key, &error) < 0)
    fail_msg ("%s", error.text);
  return answer;
}

static void
test_values_are_series (void **state)
{
  struct query_answer answer = answer_of (&(struct query){ .metric = NULL }, LINE ("\"values\":[1.5,2,null]"));

  (void) state;
  assert_string_equal (answer.metric, "memory.used");
  assert_string_equal (answer.unit, "bytes");
  assert_true (answer.instant);
  assert_int_equal (answer.from_ns, 1700000000 * NS_PER_S + NS_PER_S / 2);
  assert_int_equal (answer.to_ns, answer.from_ns);
  assert_int_equal (answer.series_count, 3);
  assert_string_equal (answer.series[2].node, "n10");
  assert_null (answer.series[0].row);
  assert_true (answer.series[0].mean == 1.5 && answer.series[1].values[0].value == 2);
  assert_int_equal (answer.series[2].values[0].count, 0);
  assert_int_equal (answer.series[2].missing, 1);
  query_answer_free (&answer);
  answer = answer_of (&(struct query){ .metric = NULL }, LINE ("\"values\":[null,null,null]"));
  assert_int_equal (answer.series_count, 3);
  assert_int_equal (answer.gap_count, 0); /* a time of no length is none */
  query_answer_free (&answer);
}

static void
test_folds_and_ranks (void **state)
{
  struct query_answer answer = answer_of (&(struct query){ .fold = QUERY_SUM }, LINE ("\"values\":[1.5,2,null]"));

  (void) state;
  assert_int_equal (answer.series_count, 1);
  assert_int_equal (answer.folded, 3);
  assert_true (answer.series[0].mean == 3.5);
  query_answer_free (&answer);
  answer = answer_of (&(struct query){ .top = 1 }, LINE ("\"top\":[{\"node\":\"n2\",\"row\":\"eth0\",\"value\":2}]"));
  assert_true (answer.ranked);
  assert_int_equal (answer.left_out, 1);
  assert_string_equal (answer.series[0].row, "eth0");
  query_answer_free (&answer);
  answer = answer_of (&(struct query){ .top = 9 }, LINE ("\"top\":[]"));
  assert_int_equal (answer.left_out, 0);
  assert_int_equal (answer.series_count, 0);
  query_answer_free (&answer);
}

static void
expect_refusal (const char *line, const char *wrong, const char *why)
{
  struct query_answer answer;
  const char *key;
  struct error error;

  assert_int_equal (query_instant_answer (&(struct query){ .metric = NULL }, line, &answer, &key, &error), -1);
  assert_true (key == wrong || strcmp (key, wrong) == 0);
  if (strncmp (error.text, why, strlen (why)) != 0)
    fail_msg ("%s", error.text);
}

static void
test_refusals (void **state)
{
  (void) state;
  expect_refusal ("error metric: no node has a metric \"x\"\n", "metric", "no node has a metric \"x\"");
  expect_refusal ("error row: it has none\n", "row", "it has none");
  expect_refusal ("error busy: ask again\n", NULL, "busy: ask again");
  expect_refusal ("error metrics: x\n", NULL, "metrics: x");
  expect_refusal ("", NULL, "the aggregator's answer is not understood");
  expect_refusal ("{}", NULL, "the aggregator's answer is not understood");
  expect_refusal ("{\"metrics\":[{\"metric\":1,\"unit\":\"\"}]}", NULL, "the aggregator's answer is not understood");
  expect_refusal ("{\"metrics\":[", NULL, "the aggregator's answer is not understood");
}

/* ---- levels ---- */

static void
expect_levels (const char *unit, double min, double max, double low, double high)
{
  struct levels levels = levels_of (unit, min, max);

  assert_true (levels.low == low && levels.high == high);
}

static void
test_levels (void **state)
{
  const double none = (double) NAN;
  struct levels levels = { -10, 10 }, flat = { 0, 0 };

  (void) state;
  expect_levels ("percent", 20, 130, 0, 100);
  expect_levels ("percent", none, none, 0, 100);
  expect_levels ("bytes", 20, 30, 0, 30);
  expect_levels ("celsius", -5, 30, -5, 30);
  expect_levels ("celsius", -5, -3, -5, -3);
  expect_levels ("", none, none, 0, 0);
  assert_int_equal (level_of (&levels, -10), 0);
  assert_int_equal (level_of (&levels, 0), 125);
  assert_int_equal (level_of (&levels, 10), LEVEL_MAX);
  assert_int_equal (level_of (&levels, 11), LEVEL_MAX);
  assert_int_equal (level_of (&levels, -11), 0);
  assert_int_equal (level_of (&levels, none), LEVEL_MISSING);
  assert_int_equal (level_of (&flat, 0), 0);
}

/* Two nodes in three steps, and the same as rows. */
static void
test_levels_of_an_answer (void **state)
{
  struct query_value one[] = { { 1, 1, 1, 1 }, { 0 }, { 1, 4, 4, 4 } }, two[] = { { 1, 2, 2, 2 }, { 0 }, { 0 } };
  char n1[] = "n1", n2[] = "n2", eth0[] = "eth0", metric[] = "a.b", unit[] = "bytes/s";
  struct query_series series[] = { { .node = n1, .values = one }, { .node = n2, .values = two } };
  struct query_answer answer = { .metric = metric,
                                 .unit = unit,
                                 .from_ns = 1700000000 * NS_PER_S,
                                 .to_ns = 1700000003 * NS_PER_S,
                                 .step_ns = NS_PER_S,
                                 .steps = 3,
                                 .series = series,
                                 .series_count = 2 };
  struct buffer text = { 0 };

  (void) state;
  series_measure (&answer);
  query_write_levels (&text, &answer);
  assert_string_equal (buffer_text (&text), /* 63, 125; 255, 255; 250, 255 */
                       "{\"metric\":\"a.b\",\"unit\":\"bytes/s\",\"from\":\"2023-11-14T22:13:20.000000000Z\","
                       "\"to\":\"2023-11-14T22:13:23.000000000Z\",\"step\":1,\"nodes\":[\"n1\",\"n2\"],\"low\":0,"
                       "\"high\":4,\"steps\":[\"P30=\",\"//8=\",\"+v8=\"]}\n");
  buffer_clear (&text);
  series[1].row = eth0;
  query_write_levels (&text, &answer);
  assert_non_null (strstr (buffer_text (&text), "\"nodes\":[\"n1\",\"n2\"],\"rows\":[null,\"eth0\"],\"low\""));
  buffer_free (&text);
  free (answer.gaps);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_requests),        cmocka_unit_test (test_values_are_series),
    cmocka_unit_test (test_folds_and_ranks), cmocka_unit_test (test_refusals),
    cmocka_unit_test (test_levels),          cmocka_unit_test (test_levels_of_an_answer),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
