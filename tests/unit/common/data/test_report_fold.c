/* A node's values as numbers are what its report shows of them: the values of the node and the folds of its rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>

#include "synop/clock.h"
#include "synop/report.h"
#include "synop/schema.h"
#include "tests/unit/json_look.h"

static const struct metric metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 512, .help = "Help." },
  { "packets", COUNTER, UNIT_COUNT, FOLD_MAX, METRIC_WRAPS32, .help = "Help." },
  { "busy", COUNTER, UNIT_PERCENT, FOLD_MEAN, METRIC_SHARE, .per = 1000, .help = "Help." },
  { "heat", GAUGE, UNIT_CELSIUS, FOLD_MAX, .per = 1000, .help = "Help." },
  { "cold", GAUGE, UNIT_CELSIUS, FOLD_MIN, .help = "Help." },
  { "usual", GAUGE, UNIT_COUNT, FOLD_MEAN, .help = "Help." },
  { "weight", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Help." },
  { "speed", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "Help." },
  { "mode", TEXT, UNIT_NONE, FOLD_NONE, .help = "Help." },
  { "alarms", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Help." },
  { "idle", COUNTER, UNIT_PERCENT, FOLD_MEAN, METRIC_OF_NODE | METRIC_SHARE, .per = 100, .help = "Help." },
  { "balance", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .times = 3, .help = "Help." },
  { "owner", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
};
static const struct group group = { "widgets", "", "widget", "devices", "total", 0, "Help.", GROUP_METRICS (metrics) };
#define METRICS (sizeof metrics / sizeof metrics[0])

static uint64_t chance_state = 88172645463325252u;

static uint64_t
chance (uint64_t below)
{
  chance_state ^= chance_state << 13;
  chance_state ^= chance_state >> 7;
  chance_state ^= chance_state << 17;
  return chance_state % below;
}

static void
set_value (struct table *table, size_t row, size_t column, uint64_t most)
{
  if (chance (6) == 0) /* missing */
    return;
  if (metrics[column].kind == TEXT)
    table_set_text (table, row, column, "words", 5);
  else if (metrics[column].kind == COUNTER || chance (3) == 0)
    table_set_uint (table, row, column, chance (most));
  else if (chance (2))
    table_set_int (table, row, column, -1 - (int64_t) chance (most / 2));
  else
    table_set_real (table, row, column, ((double) chance (20001) - 10000) / 64);
}

static void
fill (struct table *table, int64_t at_ns, uint64_t most)
{
  table_begin (table);
  table->monotonic_ns = at_ns;
  table->period_ns = NS_PER_S;
  for (int i = 0; i < 6; i++) {
    char label[16];
    if (chance (4) == 0) /* rows come and go */
      continue;
    size_t row = table_add_row (table, label, (size_t) snprintf (label, sizeof label, "w%d", i));
    for (size_t column = 0; column < METRICS; column++)
      if (!(metrics[column].flags & METRIC_OF_NODE))
        set_value (table, row, column, most);
  }
  for (size_t column = 0; column < METRICS; column++)
    if (metrics[column].flags & METRIC_OF_NODE)
      set_value (table, TABLE_NODE, column, most);
}

/* Where the report shows a metric; NULL when it shows no such number. */
static const char *
shown (const char *json, const struct metric *metric)
{
  char path[64];

  if (metric->kind == TEXT || (metric->fold == FOLD_NONE && !(metric->flags & METRIC_OF_NODE)))
    return NULL;
  snprintf (path, sizeof path, metric->flags & METRIC_OF_NODE ? "widgets/%s" : "widgets/total/%s", metric->name);
  const char *at = look (json, path);
  assert_non_null (at);
  return at;
}

static void
assert_same (const char *at, const struct metric *metric, const struct value *value)
{
  char text[32] = "null";

  if (value->type == VALUE_REAL) {
    double said = look_number (at, ""), margin = 1e-13 * fabs (said) + (metric->flags & METRIC_SHARE ? 5.1e-5 : 0);
    assert_true (fabs (said - value->as.d) <= margin);
    return;
  }
  if (value->type == VALUE_UINT)
    snprintf (text, sizeof text, "%" PRIu64, value->as.u);
  else if (value->type == VALUE_INT)
    snprintf (text, sizeof text, "%" PRId64, value->as.i);
  assert_true (look_is (at, "", text));
}

/* A metric alone is as it is among all. */
static void
assert_one (const struct report_group *pair, size_t column, const struct value *among)
{
  struct value alone = report_node_value (pair, column, &(size_t){ 0 });

  assert_int_equal (alone.type, among->type);
  if (alone.type != VALUE_MISSING)
    assert_true (value_number (&alone) == value_number (among));
}

static void
check (const struct report_group *pair)
{
  struct value values[METRICS];
  struct json json = { 0 };

  json_object (&json);
  report_write (&json, pair, 1, NULL, NULL);
  json_object_end (&json);
  buffer_add (&json.out, "", 1);
  memset (values, 0xee, sizeof values); /* all are written */
  report_node_values (pair, values, &(size_t){ 0 });
  for (size_t i = 0; i < METRICS; i++) {
    const char *at = shown (json.out.data, &metrics[i]);
    if (at)
      assert_same (at, &metrics[i], &values[i]);
    else
      assert_int_equal (values[i].type, VALUE_MISSING);
    assert_one (pair, i, &values[i]);
  }
  json_free (&json);
}

static void
test_random_tables (void **state)
{
  struct table one, other;
  struct report_group pair = { &one, &other };
  static const uint64_t sizes[] = { 10, 100000, UINT64_C (1) << 32, UINT64_C (1) << 60 };

  (void) state;
  table_init (&one, &group);
  table_init (&other, &group);
  for (int round = 0; round < 2000; round++) {
    uint64_t most = sizes[round % 4];
    fill (&other, NS_PER_S, most);
    fill (&one, NS_PER_S + 1 + (int64_t) chance (2 * NS_PER_S), most);
    pair.before = round % 5 == 0 ? NULL : &other;
    check (&pair);
  }
  other.monotonic_ns = one.monotonic_ns; /* cannot be compared with */
  pair.before = &other;
  check (&pair);
  table_free (&one);
  table_free (&other);
}

/* Of folds and of the node: sums that need more than 64 bits, and none at all. */
static void
test_edges (void **state)
{
  struct table table;
  struct report_group pair = { .now = &table };
  struct value values[METRICS];
  enum { WEIGHT = 6, BALANCE = 11 };

  (void) state;
  assert_string_equal (metrics[WEIGHT].name, "weight");
  assert_string_equal (metrics[BALANCE].name, "balance");
  table_init (&table, &group);
  table_begin (&table);
  check (&pair); /* no rows */
  for (int i = 0; i < 3; i++) {
    char label[16];
    size_t row = table_add_row (&table, label, (size_t) snprintf (label, sizeof label, "w%d", i));
    table_set_uint (&table, row, WEIGHT, UINT64_MAX);
  }
  table_set_uint (&table, TABLE_NODE, BALANCE, UINT64_MAX);
  check (&pair);
  report_node_values (&pair, values, &(size_t){ 0 });
  assert_int_equal (values[WEIGHT].type, VALUE_REAL);
  assert_true (fabs (values[WEIGHT].as.d / (3 * 0x1p64) - 1) < 1e-15);
  assert_int_equal (values[BALANCE].type, VALUE_REAL);
  table_free (&table);
}

/* ---- rows that do not count, and rows that other nodes have too ---- */

enum layered_column { MOVED, LEVEL, COUNTS, SHARED, LAYERED_COLUMNS };
static const struct metric layered_metrics[] = {
  [MOVED] = { "moved", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Help." },
  [LEVEL] = { "level", GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = "Help." },
  [COUNTS] = { "in_total", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS, .help = "Help." },
  [SHARED] = { "shared", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_SHARED, .help = "Help." },
};
static const struct group layered = { "layered", "",         "device", "devices",
                                      "total",   GROUP_ROWS, "Help.",  GROUP_METRICS (layered_metrics) };

/* A row for each number: moved by it, at that level. `counts` and `shared`: '0', '1', or '-' for missing. */
static void
fill_layered (struct table *now, struct table *before, const unsigned *numbers, const char *counts, const char *shared)
{
  table_begin (now);
  table_begin (before);
  before->monotonic_ns = NS_PER_S;
  now->monotonic_ns = 2 * NS_PER_S;
  for (size_t row = 0; counts[row]; row++) {
    char label[2] = { (char) ('a' + (int) row), 0 };
    table_add_row (now, label, 1);
    table_add_row (before, label, 1);
    table_set_uint (before, row, MOVED, 1000);
    table_set_uint (now, row, MOVED, 1000 + numbers[row]);
    table_set_uint (now, row, LEVEL, numbers[row]);
    if (counts[row] != '-')
      table_set_uint (now, row, COUNTS, (uint64_t) (counts[row] - '0'));
    if (shared[row] != '-')
      table_set_uint (now, row, SHARED, (uint64_t) (shared[row] - '0'));
  }
}

static void
test_rows_that_do_not_count (void **state)
{
  static const unsigned numbers[] = { 4, 100, 7, 30, 1000 };
  struct table now, before;
  struct report_group pair = { &now, &before };
  struct value values[LAYERED_COLUMNS];
  struct report_range ranges[LAYERED_COLUMNS];
  struct json json = { 0 };

  (void) state;
  table_init (&now, &layered);
  table_init (&before, &layered);
  fill_layered (&now, &before, numbers, "1011-", "00-10");
  report_node_values (&pair, values, &(size_t){ 0 }); /* without b */
  for (size_t i = 0; i < LAYERED_COLUMNS; i++)
    assert_one (&pair, i, &values[i]);
  assert_int_equal (values[MOVED].as.u, 4 + 7 + 30 + 1000);
  assert_true (fabs (values[LEVEL].as.d - 1041.0 / 4) < 1e-9);

  json_object (&json);
  report_write (&json, &pair, 1, NULL, NULL);
  json_object_end (&json);
  buffer_add (&json.out, "", 1);
  assert_true (look_is (json.out.data, "layered/total/moved", "1041"));
  assert_true (look_is (json.out.data, "layered/total/level", "260.25"));
  assert_null (look (json.out.data, "layered/total/in_total"));
  assert_true (look_is (json.out.data, "layered/devices/b/moved", "100")); /* the row stays */
  assert_true (look_is (json.out.data, "layered/devices/b/in_total", "0"));
  assert_true (look_is (json.out.data, "layered/devices/d/shared", "1"));
  assert_true (look_is (json.out.data, "layered/devices/e/in_total", "null"));
  json_free (&json);

  memset (ranges, 0xee, sizeof ranges);
  report_cluster_values (&pair, values, ranges, &(size_t){ 0 }); /* without d, which is shared, as well */
  assert_int_equal (values[MOVED].as.u, 4 + 7 + 1000);
  assert_true (fabs (values[LEVEL].as.d - 1011.0 / 3) < 1e-9);
  assert_int_equal (ranges[LEVEL].rows, 4); /* with d: an end is an end, however many see it */
  assert_int_equal (ranges[LEVEL].min.as.u, 4);
  assert_int_equal (ranges[LEVEL].min_row, 0);
  assert_int_equal (ranges[LEVEL].max.as.u, 1000);
  assert_int_equal (ranges[LEVEL].max_row, 4);
  assert_int_equal (ranges[COUNTS].rows, 0);
  table_free (&now);
  table_free (&before);
}

/* Nothing that counts is nothing known, not 0; a row without a value is no end. */
static void
test_no_row_counts (void **state)
{
  struct table now, before;
  struct report_group pair = { &now, &before };
  struct value values[LAYERED_COLUMNS];
  struct report_range ranges[LAYERED_COLUMNS];

  (void) state;
  table_init (&now, &layered);
  table_init (&before, &layered);
  fill_layered (&now, &before, (const unsigned[]){ 4, 5 }, "00", "--");
  report_cluster_values (&pair, values, ranges, &(size_t){ 0 });
  assert_int_equal (values[MOVED].type, VALUE_MISSING);
  assert_int_equal (ranges[MOVED].rows, 0);
  fill_layered (&now, &before, (const unsigned[]){ 4, 5 }, "11", "11");
  report_cluster_values (&pair, values, ranges, &(size_t){ 0 });
  assert_int_equal (values[MOVED].type, VALUE_MISSING);
  assert_int_equal (ranges[MOVED].rows, 2);
  report_node_values (&pair, values, &(size_t){ 0 });
  assert_int_equal (values[MOVED].as.u, 9);
  *table_value (&now, 0, LEVEL) = (struct value){ .type = VALUE_MISSING };
  report_cluster_values (&pair, values, ranges, &(size_t){ 0 });
  assert_int_equal (ranges[LEVEL].rows, 1);
  assert_int_equal (ranges[LEVEL].min_row, 1);
  table_free (&now);
  table_free (&before);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random_tables),
    cmocka_unit_test (test_edges),
    cmocka_unit_test (test_rows_that_do_not_count),
    cmocka_unit_test (test_no_row_counts),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
