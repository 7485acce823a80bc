/* What is asked of the history: parameters, paths, arithmetic, steps and tiers. */
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

#define S NS_PER_S
#define MINUTE (60 * S)
#define HOUR (60 * MINUTE)

/* ---- parameters ---- */

static void
expect_error (struct query *query, const char *key, const char *value, const char *words)
{
  struct error error = { "" };

  assert_int_equal (query_set (query, key, value, &error), -1);
  if (!strstr (error.text, words))
    fail_msg ("%s=%s: %s", key, value, error.text);
}

static void
test_parameters_are_taken (void **state)
{
  struct query query = { 0 };
  struct error error;

  (void) state;
  assert_int_equal (query_set (&query, "metric", "load.load_1", &error), 0);
  assert_int_equal (query_set (&query, "node", "n1", &error), 0);
  assert_int_equal (query_set (&query, "node", "n2", &error), 0);
  assert_int_equal (query_set (&query, "rows", "", &error), 0);
  assert_int_equal (query_set (&query, "rate", "no", &error), 0);
  assert_int_equal (query_set (&query, "fold", "max", &error), 0);
  assert_int_equal (query_set (&query, "top", "10", &error), 0);
  assert_int_equal (query_set (&query, "step", "5m", &error), 0);
  assert_int_equal (query_set (&query, "from", "", &error), 0);
  assert_string_equal (query.metric, "load.load_1");
  assert_string_equal (query.node, "n2");
  assert_true (query.rows);
  assert_false (query.rate);
  assert_int_equal (query.fold, QUERY_MAX);
  assert_int_equal (query.top, 10);
  assert_string_equal (query.step, "5m");
  assert_null (query.from);
  query_free (&query);
}

static void
test_wrong_parameters_are_refused (void **state)
{
  struct query query = { 0 };

  (void) state;
  expect_error (&query, "nod", "n1", "did you mean node?");
  expect_error (&query, "rows", "perhaps", "yes or no");
  expect_error (&query, "fold", "median", "sum, mean, min or max");
  expect_error (&query, "top", "0", "from 1");
  expect_error (&query, "top", "-3", "from 1");
  expect_error (&query, "top", "ten", "from 1");
  expect_error (&query, "step", "0", "1ms");
  expect_error (&query, "step", "often", "");
  expect_error (&query, "from", "soon", "expected a time");
  query_free (&query);
}

static void
test_an_interval_ends_after_it_begins (void **state)
{
  struct query query = { 0 };
  int64_t from, to;
  const char *key;
  struct error error;

  (void) state;
  assert_int_equal (query_interval (&query, 5 * HOUR, &from, &to, &key, &error), 0);
  assert_int_equal (from, 4 * HOUR);
  assert_int_equal (to, 5 * HOUR);
  assert_int_equal (query_set (&query, "from", "-1h", &error), 0);
  assert_int_equal (query_set (&query, "to", "-2h", &error), 0);
  assert_int_equal (query_interval (&query, 5 * HOUR, &from, &to, &key, &error), -1);
  assert_string_equal (key, "from");
  query_free (&query);
}

/* ---- metrics ---- */

static const struct metric cpu_metrics[] = {
  { "user", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .help = "User." },
  { "cores", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Cores." },
};
static const struct metric memory_metrics[] = {
  { "used", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Used." },
  { "total", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Total." },
};
static const struct metric network_metrics[] = {
  { "rx_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, 0, .help = "Received." },
  { "speed", GAUGE, UNIT_BITS_PER_SECOND, FOLD_NONE, 0, .help = "Speed." },
  { "state", TEXT, UNIT_NONE, FOLD_NONE, 0, .help = "State." },
};
static const struct metric job_metrics[] = {
  { "user", COUNTER, UNIT_SECONDS, FOLD_SUM, 0, .help = "User." },
  { "instructions", COUNTER, UNIT_COUNT, FOLD_SUM, 0, .help = "Instructions." },
  { "cycles", COUNTER, UNIT_COUNT, FOLD_SUM, 0, .help = "Cycles." },
};
static const struct group groups[] = {
  { "cpu_usage", "system_data", "CPU", "usage_data", "average_usage", 0, "", GROUP_METRICS (cpu_metrics) },
  { "memory_info", "system_data", "", "", "", 0, "", GROUP_METRICS (memory_metrics) },
  { "network", "system_data", "device", "devices", "total", 0, "", GROUP_METRICS (network_metrics) },
  { "job_counters", "job_data", "job", "jobs", "total", 0, "", GROUP_METRICS (job_metrics) },
};

static struct catalog
make_catalog (void)
{
  struct catalog catalog = { 0 };

  for (size_t twice = 0; twice < 2; twice++)
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
      for (size_t k = 0; k < groups[i].metric_count; k++)
        catalog_add (&catalog, &groups[i], &groups[i].metrics[k], 3);
  return catalog;
}

static void
expect_path (const struct catalog *catalog, const char *path, const char *group, const char *name, const char *label)
{
  struct error error = { "" };
  char *row;
  const struct catalog_entry *entry = catalog_find (catalog, path, &row, &error);

  if (!entry)
    fail_msg ("%s: %s", path, error.text);
  assert_string_equal (entry->group, group);
  assert_string_equal (entry->name, name);
  if (label)
    assert_string_equal (row, label);
  else
    assert_null (row);
  free (row);
}

static void
expect_no_path (const struct catalog *catalog, const char *path, const char *words)
{
  struct error error = { "" };
  char *row;

  assert_null (catalog_find (catalog, path, &row, &error));
  if (!strstr (error.text, words))
    fail_msg ("%s: %s", path, error.text);
}

static void
test_paths_are_those_of_lines (void **state)
{
  struct catalog catalog = make_catalog ();

  (void) state;
  expect_path (&catalog, "cpu_usage.user", "cpu_usage", "user", NULL);
  expect_path (&catalog, "cpu_usage.average_usage.user", "cpu_usage", "user", NULL);
  expect_path (&catalog, "system_data.cpu_usage.average_usage.user", "cpu_usage", "user", NULL);
  expect_path (&catalog, ".report.system_data.memory_info.used", "memory_info", "used", NULL);
  expect_path (&catalog, "average_usage.user", "cpu_usage", "user", NULL);
  expect_path (&catalog, "rx_bytes", "network", "rx_bytes", NULL);
  expect_path (&catalog, "network.devices.eth0.100.rx_bytes", "network", "rx_bytes", "eth0.100");
  expect_path (&catalog, "system_data.cpu_usage.usage_data.7.user", "cpu_usage", "user", "7");
  expect_path (&catalog, "job_counters.ipc", "job_counters", "ipc", NULL);
  catalog_free (&catalog);
}

static void
test_unknown_paths_name_what_is_near (void **state)
{
  struct catalog catalog = make_catalog (), empty = { 0 };

  (void) state;
  expect_no_path (&catalog, "user", "several groups: cpu_usage.user, job_counters.user");
  expect_no_path (&catalog, "memory_info.usd", "memory_info.used");
  expect_no_path (&catalog, "network.rx_byte", "network.rx_bytes");
  expect_no_path (&catalog, "net.rx_bites", "network.rx_bytes");
  expect_no_path (&catalog, "sers", "no node has a metric");
  expect_no_path (&empty, "load.load_1", "there are none yet");
  catalog_free (&catalog);
}

static void
test_each_metric_is_listed_once (void **state)
{
  struct catalog catalog = make_catalog ();
  struct error error;
  char *row;

  (void) state;
  assert_int_equal (catalog.count, 2 + 2 + 3 + 3 + 3); /* the last: ipc, mips and mega_cycles_per_second */
  assert_int_equal (catalog_find (&catalog, "memory_info.used", &row, &error)->nodes, 6);
  assert_false (catalog_has_rows (catalog_find (&catalog, "memory_info.used", &row, &error)));
  assert_true (catalog_has_node (catalog_find (&catalog, "network.rx_bytes", &row, &error)));
  assert_false (catalog_has_node (catalog_find (&catalog, "network.speed", &row, &error)));
  catalog_free (&catalog);
}

static void
expect_expression (const struct catalog *catalog, const char *text, const char *metric, const char *unit, bool rate)
{
  struct expression expression;
  struct query_answer answer = { 0 };
  struct error error = { "" };

  if (expression_read (&expression, catalog, text, &error) < 0)
    fail_msg ("%s: %s", text, error.text);
  expression_describe (&expression, &answer, rate);
  assert_string_equal (answer.metric, metric);
  assert_string_equal (answer.unit, unit);
  expression_free (&expression);
  query_answer_free (&answer);
}

static void
expect_no_expression (const struct catalog *catalog, const char *text, const char *words)
{
  struct expression expression;
  struct error error = { "" };

  assert_int_equal (expression_read (&expression, catalog, text, &error), -1);
  if (!strstr (error.text, words))
    fail_msg ("%s: %s", text, error.text);
  expression_free (&expression);
}

static void
test_arithmetic_is_read (void **state)
{
  struct catalog catalog = make_catalog ();

  (void) state;
  expect_expression (&catalog, "memory_info.used / memory_info.total", "memory_info.used / memory_info.total", "",
                     false);
  expect_expression (&catalog, "memory_info.used/memory_info.total", "memory_info.used / memory_info.total", "", false);
  expect_expression (&catalog, " memory_info.total - memory_info.used ", "memory_info.total - memory_info.used",
                     "bytes", false);
  expect_expression (&catalog, "network.rx_bytes * 8", "network.rx_bytes * 8", "bytes/s", true);
  expect_expression (&catalog, "100 - cpu_usage.user", "100 - cpu_usage.user", "percent", false);
  expect_expression (&catalog, "network.rx_bytes", "network.rx_bytes", "bytes", false);
  expect_expression (&catalog, "network.rx_bytes", "network.rx_bytes", "bytes/s", true);
  expect_no_expression (&catalog, "1 + 2", "must be a metric");
  expect_no_expression (&catalog, "12", "not a number");
  expect_no_expression (&catalog, "network.rx_bytes / 1e400", "\"1e400\" is too large");
  expect_no_expression (&catalog, "network.state", "is a text");
  expect_no_expression (&catalog, "cpu_usage.user + cpu_usage.user + 1", "as much as there can be");
  expect_no_expression (&catalog, "memory_info.used / memory_info.totl", "memory_info.total");
  catalog_free (&catalog);
}

static void
test_ends_of_combined_reports_are_rows (void **state)
{
  struct catalog catalog = make_catalog ();
  struct expression expression;
  struct error error;

  (void) state;
  assert_int_equal (expression_read (&expression, &catalog, "memory_info.used.max", &error), 0);
  assert_true (expression.combined);
  assert_string_equal (expression.row, "max");
  expression_free (&expression);
  catalog_free (&catalog);
}

/* ---- steps and tiers ---- */

static struct plan
plan_for (int64_t from_ns, int64_t to_ns, int64_t step_ns, const struct plan_tier *tiers)
{
  struct error error = { "" };
  struct plan plan;

  if (plan_make (&plan, from_ns, to_ns, step_ns, 60, 0, tiers, &error) < 0)
    fail_msg ("%s", error.text);
  return plan;
}

static void
expect_pieces (struct plan plan, const struct query_piece *pieces, size_t count)
{
  assert_int_equal (plan.count, count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal (plan.pieces[i].tier, pieces[i].tier);
    assert_int_equal (plan.pieces[i].from_ns, pieces[i].from_ns);
    assert_int_equal (plan.pieces[i].to_ns, pieces[i].to_ns);
  }
  free (plan.pieces);
}

#define PIECES(...)                                                                                                    \
  (const struct query_piece[]){ __VA_ARGS__ },                                                                         \
      sizeof ((struct query_piece[]){ __VA_ARGS__ }) / sizeof (struct query_piece)

static void
test_the_coarsest_tier_that_fits_is_taken (void **state)
{
  const struct plan_tier tiers[HISTORY_TIERS] = { [HISTORY_FRAMES] = { true, 90 * HOUR, 100 * HOUR + 20 },
                                                  [HISTORY_MINUTES] = { true, 50 * HOUR, 100 * HOUR },
                                                  [HISTORY_HOURS] = { true, 10 * HOUR, 99 * HOUR } };

  (void) state;
  expect_pieces (plan_for (95 * HOUR, 96 * HOUR, 10 * S, tiers), PIECES ({ HISTORY_FRAMES, 95 * HOUR, 96 * HOUR }));
  expect_pieces (plan_for (95 * HOUR, 96 * HOUR, 5 * MINUTE, tiers),
                 PIECES ({ HISTORY_MINUTES, 95 * HOUR, 96 * HOUR }));
  expect_pieces (plan_for (95 * HOUR, 96 * HOUR, 90 * S, tiers), PIECES ({ HISTORY_FRAMES, 95 * HOUR, 96 * HOUR + 0 }));
  expect_pieces (plan_for (60 * HOUR, 100 * HOUR, HOUR, tiers),
                 PIECES ({ HISTORY_HOURS, 60 * HOUR, 99 * HOUR }, { HISTORY_MINUTES, 99 * HOUR, 100 * HOUR }));
  expect_pieces (plan_for (96 * HOUR, 101 * HOUR, MINUTE, tiers),
                 PIECES ({ HISTORY_MINUTES, 96 * HOUR, 100 * HOUR }, { HISTORY_FRAMES, 100 * HOUR, 101 * HOUR }));
}

static void
test_a_step_is_widened_where_frames_are_gone (void **state)
{
  const struct plan_tier tiers[HISTORY_TIERS] = {
    [HISTORY_FRAMES] = { true, 90 * HOUR + 7, 100 * HOUR }, [HISTORY_MINUTES] = { true, 50 * HOUR, 100 * HOUR }
  };
  struct plan plan = plan_for (80 * HOUR, 91 * HOUR, 90 * S, tiers);

  (void) state;
  assert_int_equal (plan.step_ns, 2 * MINUTE);
  assert_true (plan.wider);
  expect_pieces (plan, PIECES ({ HISTORY_MINUTES, 80 * HOUR, 91 * HOUR }));
  plan = plan_for (91 * HOUR, 92 * HOUR, 90 * S, tiers);
  assert_false (plan.wider);
  expect_pieces (plan, PIECES ({ HISTORY_FRAMES, 91 * HOUR, 92 * HOUR }));
}

/* Its first minute or hour begins before the first frame: that is no reason for longer steps. */
static void
test_a_tier_that_begins_with_the_frames_widens_nothing (void **state)
{
  const struct plan_tier tiers[HISTORY_TIERS] = { [HISTORY_FRAMES] = { true, 90 * HOUR + 7 * MINUTE, 100 * HOUR },
                                                  [HISTORY_MINUTES] = { true, 90 * HOUR + 7 * MINUTE, 100 * HOUR },
                                                  [HISTORY_HOURS] = { true, 90 * HOUR, 100 * HOUR } };
  struct plan plan = plan_for (80 * HOUR, 91 * HOUR, 10 * S, tiers);

  (void) state;
  assert_false (plan.wider);
  assert_int_equal (plan.count, 1);
  assert_int_equal (plan.pieces[0].tier, HISTORY_FRAMES);
  free (plan.pieces);
}

/* A tier's range begins with a whole block, of which it may have the end alone: its writer may have begun there. */
static void
test_of_a_tiers_first_block_finer_ones_have_more (void **state)
{
  const struct plan_tier fresh[HISTORY_TIERS] = { [HISTORY_FRAMES] = { true, 90 * HOUR + 20 * MINUTE + 5 * S,
                                                                       100 * HOUR },
                                                  [HISTORY_MINUTES] = { true, 90 * HOUR, 100 * HOUR } };
  const struct plan_tier upgraded[HISTORY_TIERS] = {
    [HISTORY_FRAMES] = { true, 80 * HOUR, 100 * HOUR }, [HISTORY_MINUTES] = { true, 90 * HOUR, 100 * HOUR }
  };
  const struct plan_tier old[HISTORY_TIERS] = {
    [HISTORY_FRAMES] = { true, 95 * HOUR, 100 * HOUR }, [HISTORY_MINUTES] = { true, 90 * HOUR, 100 * HOUR }
  };

  (void) state;
  expect_pieces (plan_for (90 * HOUR, 92 * HOUR, MINUTE, fresh),
                 PIECES ({ HISTORY_MINUTES, 90 * HOUR, 90 * HOUR + 21 * MINUTE },
                         { HISTORY_FRAMES, 90 * HOUR + 21 * MINUTE, 91 * HOUR },
                         { HISTORY_MINUTES, 91 * HOUR, 92 * HOUR }));
  expect_pieces (plan_for (89 * HOUR, 92 * HOUR, MINUTE, upgraded),
                 PIECES ({ HISTORY_FRAMES, 89 * HOUR, 91 * HOUR }, { HISTORY_MINUTES, 91 * HOUR, 92 * HOUR }));
  expect_pieces (plan_for (90 * HOUR, 96 * HOUR, MINUTE, old), PIECES ({ HISTORY_MINUTES, 90 * HOUR, 96 * HOUR }));
}

static void
test_steps_begin_at_their_multiples (void **state)
{
  const struct plan_tier none[HISTORY_TIERS] = { 0 };
  struct plan plan = plan_for (90 * S + 1, 310 * S, MINUTE, none);
  struct error error;

  (void) state;
  assert_int_equal (plan.from_ns, MINUTE);
  assert_int_equal (plan.to_ns, 6 * MINUTE);
  assert_int_equal (plan.steps, 5);
  assert_int_equal (plan.count, 0); /* nothing is there */
  assert_int_equal (plan_make (&plan, 25 * HOUR, 75 * HOUR, 24 * HOUR, 60, 2 * HOUR, none, &error), 0);
  assert_int_equal (plan.from_ns, 22 * HOUR); /* local midnight */
  assert_int_equal (plan_make (&plan, 0, HOUR, 0, 60, 0, none, &error), 0);
  assert_int_equal (plan.step_ns, MINUTE);
  assert_int_equal (plan_make (&plan, 0, 24 * HOUR, 0, 60, 0, none, &error), 0);
  assert_int_equal (plan.step_ns, 30 * MINUTE);
  assert_int_equal (plan_make (&plan, 0, HOUR, 2 * HOUR, 60, 0, none, &error), -1);
  assert_int_equal (plan_make (&plan, 0, 24 * HOUR, S / 1000, 60, 0, none, &error), -1);
  assert_non_null (strstr (error.text, "choose a longer one"));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_parameters_are_taken),
    cmocka_unit_test (test_wrong_parameters_are_refused),
    cmocka_unit_test (test_an_interval_ends_after_it_begins),
    cmocka_unit_test (test_paths_are_those_of_lines),
    cmocka_unit_test (test_unknown_paths_name_what_is_near),
    cmocka_unit_test (test_each_metric_is_listed_once),
    cmocka_unit_test (test_arithmetic_is_read),
    cmocka_unit_test (test_ends_of_combined_reports_are_rows),
    cmocka_unit_test (test_the_coarsest_tier_that_fits_is_taken),
    cmocka_unit_test (test_a_step_is_widened_where_frames_are_gone),
    cmocka_unit_test (test_a_tier_that_begins_with_the_frames_widens_nothing),
    cmocka_unit_test (test_of_a_tiers_first_block_finer_ones_have_more),
    cmocka_unit_test (test_steps_begin_at_their_multiples),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  setenv ("TZ", "UTC", 1);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
