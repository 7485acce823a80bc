/* The combined report against a second computation: sums in 128 bits, means in long double, ranks by counting. */
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

#include "aggregator/core/combine.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/unit/json_look.h"

#define OF_NODE(name, kind, fold, flags)                                                                               \
  {                                                                                                                    \
    name, kind, UNIT_COUNT, fold, METRIC_OF_NODE | (flags), .help = "Help."                                            \
  }

/* ---- a combine, and what it wrote ---- */

struct bench {
  struct combine *combine;
  struct json json;
  uint64_t left_out;
};

static int
begin (void **state)
{
  struct bench *bench = memory_new (1, sizeof *bench);

  bench->combine = combine_create ();
  *state = bench;
  return 0;
}

static int
end (void **state)
{
  struct bench *bench = *state;

  combine_destroy (bench->combine);
  json_free (&bench->json);
  free (bench);
  return 0;
}

static const char *
written (struct bench *bench, bool (*only) (const void *context, const char *group), const void *context)
{
  json_clear (&bench->json);
  json_object (&bench->json);
  combine_write (bench->combine, &bench->json, only, context, &bench->left_out);
  json_object_end (&bench->json);
  buffer_add (&bench->json.out, "", 1);
  return bench->json.out.data;
}

static const char *
report (struct bench *bench)
{
  return written (bench, NULL, NULL);
}

/* One node with one group of node values, each a whole number. */
static void
add_values (struct bench *bench, const char *node, const struct group *group, const struct value *values)
{
  struct schema *schema = schema_create (&group, 1);
  struct table table;
  struct report_group pair = { .now = &table };

  table_init (&table, group);
  table_begin (&table);
  table.period_ns = NS_PER_S;
  for (size_t i = 0; i < group->metric_count; i++)
    *table_value (&table, TABLE_NODE, i) = values[i];
  combine_add (bench->combine, node, schema, &pair);
  table_free (&table);
  schema_destroy (schema);
}

static void
add_plain (struct bench *bench, const char *node, const struct group *group, const int64_t *numbers)
{
  struct value values[SCHEMA_METRICS_MAX];

  for (size_t i = 0; i < group->metric_count; i++)
    values[i] = (struct value){ .type = numbers[i] < 0 ? VALUE_INT : VALUE_UINT, .as.i = numbers[i] };
  add_values (bench, node, group, values);
}

/* ---- random nodes ---- */

static uint64_t chance_state;

static uint64_t
chance (uint64_t below)
{
  chance_state ^= chance_state << 13;
  chance_state ^= chance_state >> 7;
  chance_state ^= chance_state << 17;
  return chance_state % below;
}

/* A number as the test keeps it: whole, or real. */
struct number {
  bool there, whole;
  __int128 i;
  long double d;
  size_t node;
};

static long double
real_of (const struct number *number)
{
  return number->whole ? (long double) number->i : number->d;
}

static const struct metric all_metrics[] = {
  OF_NODE ("gauge_sum", GAUGE, FOLD_SUM, 0),   OF_NODE ("gauge_mean", GAUGE, FOLD_MEAN, 0),
  OF_NODE ("gauge_max", GAUGE, FOLD_MAX, 0),   OF_NODE ("gauge_min", GAUGE, FOLD_MIN, 0),
  OF_NODE ("gauge_none", GAUGE, FOLD_NONE, 0), OF_NODE ("count_sum", COUNTER, FOLD_SUM, 0),
  OF_NODE ("count_max", COUNTER, FOLD_MAX, 0), OF_NODE ("share", COUNTER, FOLD_MEAN, METRIC_SHARE),
  OF_NODE ("text", TEXT, FOLD_NONE, 0),
};
static const struct group all_group = { "all", "system_data", "", "", "", 0, "Help.", GROUP_METRICS (all_metrics) };
#define METRICS (sizeof all_metrics / sizeof all_metrics[0])
#define NODES 60

enum flavour { SMALL, OVER_2_53, HUGE_UNSIGNED, REALS, MIXED, FLAVOURS };

static struct number
random_gauge (enum flavour flavour)
{
  if (flavour == MIXED)
    flavour = (enum flavour) chance (MIXED);
  switch (flavour) {
  case SMALL:
    return (struct number){ true, true, (__int128) chance (100) - 50, 0, 0 };
  case OVER_2_53:
    return (struct number){ true, true, (chance (2) ? 1 : -1) * ((__int128) (UINT64_C (1) << 56) + (int) chance (9)), 0,
                            0 };
  case HUGE_UNSIGNED:
    return (struct number){ true, true, (__int128) UINT64_MAX - chance (5), 0, 0 };
  default:
    return (struct number){ true, false, 0, ((long double) chance (2000001) - 1000000) / 1024, 0 };
  }
}

static struct number
random_value (const struct metric *metric, enum flavour flavour)
{
  if (chance (7) == 0)
    return (struct number){ .there = false };
  if (metric->flags & METRIC_SHARE)
    return (struct number){ true, true, chance (3), 0, 0 };
  if (metric->kind == COUNTER)
    return (struct number){ true, true, flavour == SMALL ? chance (1000) : chance (UINT64_C (1) << 62), 0, 0 };
  return random_gauge (flavour);
}

static void
set (struct table *now, struct table *before, size_t column, struct number *number)
{
  const struct metric *metric = &all_metrics[column];

  if (!number->there)
    return;
  if (metric->kind == TEXT) {
    table_set_text (now, TABLE_NODE, column, "words", 5);
  } else if (metric->kind == COUNTER) {
    table_set_uint (before, TABLE_NODE, column, 1000);
    table_set_uint (now, TABLE_NODE, column, 1000 + (uint64_t) number->i);
  } else if (!number->whole) {
    table_set_real (now, TABLE_NODE, column, (double) number->d);
  } else if (number->i < 0) {
    table_set_int (now, TABLE_NODE, column, (int64_t) number->i);
  } else {
    table_set_uint (now, TABLE_NODE, column, (uint64_t) number->i);
  }
  if (metric->flags & METRIC_SHARE) { /* seconds of the 4 that passed, in percent */
    number->whole = false;
    number->d = (long double) number->i * 25;
  }
}

static void
whole_text (__int128 value, char text[48])
{
  if (value < 0)
    snprintf (text, 48, "%" PRId64, (int64_t) value);
  else
    snprintf (text, 48, "%" PRIu64, (uint64_t) value);
}

static void
check_number (const char *json, const char *key, const struct number *expected)
{
  char text[48];

  if (expected->whole) {
    whole_text (expected->i, text);
    if (!look_is (json, key, text))
      fail_msg ("%s is not %s in %s", key, text, json);
  } else {
    long double said = (long double) look_number (json, key);
    assert_true (fabsl (said - expected->d) <= 1e-12L * fabsl (expected->d));
  }
}

static void
check_node (const char *json, const char *key, size_t node)
{
  char text[32];

  snprintf (text, sizeof text, "\"n%zu\"", node);
  assert_true (look_is (json, key, text));
}

/* Every number of one metric, from the values of the nodes that have one. */
static void
check_metric (const char *json, const struct metric *metric, const struct number *values, size_t count)
{
  bool ranked = metric->kind == GAUGE || metric->flags & METRIC_SHARE;
  struct number least = { 0 }, most = { 0 }, sum = { true, true, 0, 0, 0 };
  long double total = 0, magnitude = 0;
  size_t nodes = 0;

  for (size_t i = 0; i < count; i++) {
    if (!values[i].there)
      continue;
    if (nodes == 0 || real_of (&values[i]) < real_of (&least))
      least = values[i];
    if (nodes == 0 || real_of (&values[i]) > real_of (&most))
      most = values[i];
    sum.whole = sum.whole && values[i].whole;
    sum.i += values[i].i;
    total += real_of (&values[i]);
    magnitude += fabsl (real_of (&values[i]));
    nodes++;
  }
  assert_int_equal (json != NULL, nodes > 0);
  if (!json)
    return;
  assert_int_equal ((size_t) look_number (json, "nodes"), nodes);
  assert_int_equal (look (json, "sum") != NULL, metric->fold == FOLD_SUM);
  assert_int_equal (look (json, "p50") != NULL, ranked);
  check_number (json, "min", &least);
  check_number (json, "max", &most);
  check_node (json, "min_node", least.node);
  check_node (json, "max_node", most.node);
  assert_true (fabsl ((long double) look_number (json, "mean") - total / nodes) <= 1e-12L * magnitude / nodes);
  if (metric->fold == FOLD_SUM && sum.whole && sum.i <= INT64_MAX && sum.i >= INT64_MIN)
    check_number (json, "sum", &sum);
  else if (metric->fold == FOLD_SUM)
    assert_true (fabsl ((long double) look_number (json, "sum") - total) <= 1e-12L * magnitude);
  for (unsigned percent = 50; ranked && percent <= 95; percent += 45)
    for (size_t i = 0; i < count; i++) { /* the value that as many as the rank do not exceed */
      size_t below = 0, upto = 0;
      for (size_t j = 0; j < count; j++) {
        below += values[j].there && real_of (&values[j]) < real_of (&values[i]);
        upto += values[j].there && real_of (&values[j]) <= real_of (&values[i]);
      }
      if (values[i].there && below * 100 < nodes * percent && upto * 100 >= nodes * percent)
        check_number (json, percent == 50 ? "p50" : "p95", &values[i]);
    }
}

static void
random_tick (struct bench *bench, size_t nodes, enum flavour flavour)
{
  static struct number values[METRICS][NODES];
  const struct group *const groups[] = { &all_group };
  struct schema *schema = schema_create (groups, 1);

  for (size_t n = 0; n < nodes; n++) {
    struct table now, before;
    struct report_group pair = { &now, &before };
    char name[32];

    table_init (&now, &all_group);
    table_init (&before, &all_group);
    table_begin (&now);
    table_begin (&before);
    before.monotonic_ns = 5;
    now.monotonic_ns = 5 + 4 * NS_PER_S;
    for (size_t m = 0; m < METRICS; m++) {
      values[m][n] = random_value (&all_metrics[m], flavour);
      values[m][n].node = n;
      set (&now, &before, m, &values[m][n]);
    }
    snprintf (name, sizeof name, "n%zu", n);
    combine_add (bench->combine, name, schema, &pair);
    table_free (&now);
    table_free (&before);
  }
  schema_destroy (schema);

  const char *all = look (report (bench), "system_data/all");
  assert_int_equal (look_number (all, "nodes"), nodes);
  assert_true (look_is (all, "period/min", "4") && look_is (all, "period/max", "4"));
  for (size_t m = 0; m < METRICS; m++) {
    const char *json = look (all, all_metrics[m].name);
    if (all_metrics[m].fold == FOLD_NONE)
      assert_null (json);
    else
      check_metric (json, &all_metrics[m], values[m], nodes);
  }
  assert_int_equal (bench->left_out, 0);
}

static void
test_against_a_second_computation (void **state)
{
  struct bench *bench = *state;

  chance_state = 88172645463325252u;
  for (int round = 0; round < 200; round++) {
    combine_clear (bench->combine);
    random_tick (bench, 1 + chance (round % 2 ? NODES : 5), (enum flavour) (round % FLAVOURS));
  }
}

/* ---- numbers ---- */

static const struct metric level_metrics[] = { OF_NODE ("level", GAUGE, FOLD_SUM, 0) };
static const struct group level_group = { "plain", "", "", "", "", 0, "Help.", GROUP_METRICS (level_metrics) };

/* The next double is 2 away. */
static void
test_whole_numbers_stay_whole (void **state)
{
  struct bench *bench = *state;
  const int64_t big = (INT64_C (1) << 53) + 1;

  add_plain (bench, "a", &level_group, &big);
  add_plain (bench, "b", &level_group, (const int64_t[]){ big - 1 });
  add_plain (bench, "c", &level_group, (const int64_t[]){ big + 1 });
  add_plain (bench, "d", &level_group, (const int64_t[]){ -big });
  const char *level = look (report (bench), "plain/level");
  assert_true (look_is (level, "sum", "18014398509481986"));
  assert_true (look_is (level, "min", "-9007199254740993") && look_is (level, "min_node", "\"d\""));
  assert_true (look_is (level, "max", "9007199254740994") && look_is (level, "max_node", "\"c\""));
  assert_true (look_is (level, "p50", "9007199254740992"));
  assert_true (look_is (level, "p95", "9007199254740994"));
}

static void
test_sum_over_64_bits (void **state)
{
  struct bench *bench = *state;

  for (int i = 0; i < 4; i++)
    add_plain (bench, "a", &level_group, (const int64_t[]){ INT64_MAX });
  const char *level = look (report (bench), "plain/level");
  assert_true (fabs (look_number (level, "sum") / 0x1p65 - 1) < 1e-14);
  assert_true (fabs (look_number (level, "mean") / 0x1p63 - 1) < 1e-14);
  assert_true (look_is (level, "max", "9223372036854775807"));
}

/* One node with rows of one metric, each a real number. */
static void
add_rows (struct bench *bench, const char *node, const struct group *group, size_t count, const double *values)
{
  struct schema *schema = schema_create (&group, 1);
  struct table table;
  struct report_group pair = { .now = &table };

  table_init (&table, group);
  table_begin (&table);
  for (size_t i = 0; i < count; i++) {
    char label[16];
    table_add_row (&table, label, (size_t) snprintf (label, sizeof label, "r%zu", i));
    table_set_real (&table, i, 0, values[i]);
  }
  combine_add (bench->combine, node, schema, &pair);
  table_free (&table);
  schema_destroy (schema);
}

/* A node whose rows no double adds up, or scales, is left out; what all nodes together overflow is null alone. */
static void
test_not_finite (void **state)
{
  struct bench *bench = *state;
  static const struct metric metrics[] = { { "heat", GAUGE, UNIT_CELSIUS, FOLD_SUM, .help = "Help." } };
  static const struct metric times[] = { { "heat", GAUGE, UNIT_CELSIUS, FOLD_SUM, .times = UINT32_MAX,
                                           .help = "Help." } };
  struct group fair = { "hot", "", "row", "rows", "total", 0, "Help.", GROUP_METRICS (metrics) }, huge = fair;

  huge.metrics = times;
  add_rows (bench, "a", &fair, 1, (const double[]){ 2.5 });
  add_rows (bench, "b", &huge, 2, (const double[]){ 1e308, -1e308 });
  add_rows (bench, "c", &fair, 2, (const double[]){ 1e308, 1e308 });
  add_rows (bench, "d", &fair, 2, (const double[]){ -1e308, -1e308 });
  add_rows (bench, "e", &fair, 1, (const double[]){ 1.5 });
  const char *heat = look (report (bench), "hot/total/heat");
  assert_true (look_is (heat, "nodes", "2") && look_is (heat, "sum", "4") && look_is (heat, "mean", "2"));
  assert_true (look_is (heat, "min", "1.5") && look_is (heat, "max", "2.5") && look_is (heat, "p95", "2.5"));
  add_rows (bench, "f", &fair, 1, (const double[]){ 1.5e308 });
  add_rows (bench, "g", &fair, 1, (const double[]){ 1.25e308 });
  heat = look (report (bench), "hot/total/heat");
  assert_true (look_is (heat, "sum", "null") && look_is (heat, "mean", "null"));
  assert_true (look_is (heat, "min_node", "\"e\"") && look_is (heat, "max_node", "\"f\""));
  assert_true (look_is (heat, "p50", "2.5"));
}

/* Nearest rank: of one value that value, of twenty the tenth and the nineteenth. */
static void
test_percentiles (void **state)
{
  struct bench *bench = *state;
  static const struct {
    int64_t nodes;
    const char *p50, *p95;
  } cases[] = { { 1, "1", "1" },    { 2, "1", "2" },    { 3, "2", "3" },    { 19, "10", "19" },
                { 20, "10", "19" }, { 21, "11", "20" }, { 100, "50", "95" } };

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    combine_clear (bench->combine);
    for (int64_t value = cases[i].nodes; value > 0; value--)
      add_plain (bench, "a", &level_group, &value);
    const char *level = look (report (bench), "plain/level");
    assert_true (look_is (level, "p50", cases[i].p50));
    assert_true (look_is (level, "p95", cases[i].p95));
    assert_string_equal (level, look (report (bench), "plain/level")); /* written twice it says the same */
  }
}

/* Values are the same when they are the same number, not when their bits are. */
static void
test_percentiles_of_few_values (void **state)
{
  struct bench *bench = *state;
  const struct value minus_one = { .type = VALUE_INT, .as.i = -1 }, most = { .type = VALUE_UINT, .as.u = UINT64_MAX };

  for (int i = 0; i < 40; i++)
    add_values (bench, "a", &level_group, &minus_one);
  assert_true (look_is (look (report (bench), "plain/level"), "p95", "-1"));
  for (int i = 0; i < 2; i++)
    add_values (bench, "b", &level_group, &most);
  assert_true (look_is (look (report (bench), "plain/level"), "p95", "-1"));
  add_values (bench, "b", &level_group, &most);
  assert_true (look_is (look (report (bench), "plain/level"), "p50", "-1"));
  assert_true (look_is (look (report (bench), "plain/level"), "p95", "18446744073709551615"));
}

/* ---- rows, errors, periods ---- */

static const struct metric row_metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Help." },
  { "heat", GAUGE, UNIT_CELSIUS, FOLD_MAX, .help = "Help." },
  { "speed", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "Help." },
  OF_NODE ("open", GAUGE, FOLD_SUM, 0),
};
static const struct group row_group = {
  "net", "system_data", "device", "devices", "total", 0, "Help.", GROUP_METRICS (row_metrics)
};
static const struct metric fact_metrics[] = { OF_NODE ("cores", GAUGE, FOLD_SUM, 0) };
static const struct group fact_group = { "facts", "", "", "", "", GROUP_ONCE, "Help.", GROUP_METRICS (fact_metrics) };
static const struct group *const both_groups[] = { &row_group, &fact_group, &level_group };

static void
fill_rows (struct table *table, int rows, uint64_t bytes, double heat)
{
  table_begin (table);
  for (int i = 0; i < rows; i++) {
    char label[16];
    table_add_row (table, label, (size_t) snprintf (label, sizeof label, "d%d", i));
    table_set_uint (table, (size_t) i, 0, bytes * (uint64_t) (i + 1));
    table_set_real (table, (size_t) i, 1, heat + i);
    table_set_uint (table, (size_t) i, 2, 7);
  }
  table_set_uint (table, TABLE_NODE, 3, (uint64_t) rows);
}

/* A node's value of a row metric is the fold of its rows; the facts are no part; a group that one node did not sample
 * counts fewer nodes. */
static void
test_groups (void **state)
{
  struct bench *bench = *state;
  struct schema *schema = schema_create (both_groups, 3);
  struct table now, before, facts, plain;

  table_init (&now, &row_group);
  table_init (&before, &row_group);
  table_init (&facts, &fact_group);
  table_init (&plain, &level_group);
  table_set_uint (&facts, TABLE_NODE, 0, 4);
  table_set_uint (&plain, TABLE_NODE, 0, 9);
  fill_rows (&before, 3, 100, 0);
  fill_rows (&now, 3, 110, 40.5);
  before.monotonic_ns = 1;
  now.monotonic_ns = 1 + 2 * NS_PER_S;
  combine_add (bench->combine, "a", schema, (struct report_group[]){ { &now, &before }, { &facts, NULL }, { NULL } });
  fill_rows (&now, 0, 0, 0);
  snprintf (now.error, sizeof now.error, "cannot be read");
  now.period_ns = NS_PER_S / 2;
  combine_add (bench->combine, "b", schema, (struct report_group[]){ { &now, NULL }, { NULL }, { &plain, NULL } });

  const char *json = report (bench), *net = look (json, "system_data/net");
  assert_null (look (json, "facts"));
  assert_int_equal (look_number (net, "nodes"), 2);
  assert_int_equal (look_number (net, "errors"), 1);
  assert_true (look_is (net, "period/min", "0.5") && look_is (net, "period/max", "2"));
  assert_true (look_is (net, "total/bytes/sum", "60") && look_is (net, "total/bytes/nodes", "1"));
  assert_null (look (net, "total/bytes/p50"));
  assert_true (look_is (net, "total/heat/max", "42.5") && look_is (net, "total/heat/max_node", "\"a\""));
  assert_null (look (net, "total/heat/sum"));
  assert_null (look (net, "total/speed"));
  assert_true (look_is (net, "open/sum", "3") && look_is (net, "open/nodes", "2"));
  assert_true (look_is (json, "plain/nodes", "1"));
  assert_int_equal (bench->left_out, 0);

  combine_clear (bench->combine);
  assert_true (look_is (report (bench), "", "{}"));
  table_free (&now);
  table_free (&before);
  table_free (&facts);
  table_free (&plain);
  schema_destroy (schema);
}

/* ---- groups whose rows matter ---- */

static const struct metric gpu_metrics[] = {
  { "use", GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = "Help." },
  { "power", GAUGE, UNIT_WATTS, FOLD_SUM, .help = "Help." },
  { "shared", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_SHARED, .help = "Help." },
  OF_NODE ("driver", GAUGE, FOLD_SUM, 0),
};
static const struct group gpu_group = { "gpu",   "",         "GPU",   "gpus",
                                        "total", GROUP_ROWS, "Help.", GROUP_METRICS (gpu_metrics) };

/* A node with a GPU for each number: its use, and ten times as many watts. Where a character of `shared` is '1' it is one
 * that the others have too. */
static void
add_gpus (struct bench *bench, const char *node, const struct group *group, const char *shared, const int64_t *uses)
{
  struct schema *schema = schema_create (&group, 1);
  struct table table;
  struct report_group pair = { .now = &table };

  table_init (&table, group);
  table_begin (&table);
  for (size_t i = 0; shared[i]; i++) {
    char label[16];
    table_add_row (&table, label, (size_t) snprintf (label, sizeof label, "%zu", i));
    if (uses[i] >= 0) {
      table_set_uint (&table, i, 0, (uint64_t) uses[i]);
      table_set_uint (&table, i, 1, 10 * (uint64_t) uses[i]);
    }
    table_set_uint (&table, i, 2, shared[i] == '1');
  }
  table_set_uint (&table, TABLE_NODE, 3, 1);
  combine_add (bench->combine, node, schema, &pair);
  table_free (&table);
  schema_destroy (schema);
}

/* Of eight GPUs one that is idle is found, whatever the others of its node do. */
static void
test_ends_are_those_of_rows (void **state)
{
  struct bench *bench = *state;

  add_gpus (bench, "a", &gpu_group, "0000", (const int64_t[]){ 50, 60, 50, 40 });
  add_gpus (bench, "b", &gpu_group, "0000", (const int64_t[]){ 99, 98, 3, 97 });
  add_gpus (bench, "c", &gpu_group, "000", (const int64_t[]){ -1, 3, 99 }); /* as low, and as high, but later */
  const char *gpu = look (report (bench), "gpu"), *use = look (gpu, "total/use");
  assert_true (look_is (use, "nodes", "3") && look_is (use, "rows", "10"));
  assert_true (look_is (use, "min", "3") && look_is (use, "min_node", "\"b\"") && look_is (use, "min_row", "\"2\""));
  assert_true (look_is (use, "max", "99") && look_is (use, "max_node", "\"b\"") && look_is (use, "max_row", "\"0\""));
  assert_true (fabs (look_number (use, "mean") - (50 + 74.25 + 51) / 3) < 1e-9); /* of nodes */
  assert_true (look_is (use, "p50", "51") && look_is (use, "p95", "74.25"));
  const char *power = look (gpu, "total/power");
  assert_true (look_is (power, "sum", "5990") && look_is (power, "max", "990") && look_is (power, "max_row", "\"0\""));
  assert_true (look_is (gpu, "driver/sum", "3"));
  assert_null (look (gpu, "driver/rows"));
  assert_null (look (gpu, "driver/min_row"));

  combine_clear (bench->combine); /* nothing of it stays */
  add_gpus (bench, "z", &gpu_group, "0", (const int64_t[]){ 70 });
  use = look (report (bench), "gpu/total/use");
  assert_true (look_is (use, "min", "70") && look_is (use, "min_node", "\"z\"") && look_is (use, "rows", "1"));
}

/* What each node has mounted is in no sum, but an end may be there. */
static void
test_shared_rows (void **state)
{
  struct bench *bench = *state;

  add_gpus (bench, "a", &gpu_group, "001", (const int64_t[]){ 1, 2, 100 });
  add_gpus (bench, "b", &gpu_group, "10", (const int64_t[]){ 100, 4 });
  add_gpus (bench, "c", &gpu_group, "1", (const int64_t[]){ 101 });
  const char *power = look (report (bench), "gpu/total/power");
  assert_true (look_is (power, "nodes", "2") && look_is (power, "rows", "6"));
  assert_true (look_is (power, "sum", "70") && look_is (power, "mean", "35") && look_is (power, "p95", "40"));
  assert_true (look_is (power, "max", "1010") && look_is (power, "max_node", "\"c\"") && look_is (power, "min", "10"));
}

/* An agent of before does not say that rows matter: its values are in sums, and its rows are no ends. */
static void
test_rows_of_two_versions (void **state)
{
  struct bench *bench = *state;
  struct group old = gpu_group;

  old.flags = 0;
  add_gpus (bench, "a", &old, "00", (const int64_t[]){ 1, 2 });
  const char *power = look (report (bench), "gpu/total/power");
  assert_true (look_is (power, "min", "30") && look_is (power, "min_node", "\"a\""));
  assert_null (look (power, "min_row"));
  add_gpus (bench, "b", &gpu_group, "00", (const int64_t[]){ 5, 6 });
  power = look (report (bench), "gpu/total/power");
  assert_true (look_is (power, "nodes", "2") && look_is (power, "sum", "140") && look_is (power, "rows", "2"));
  assert_true (look_is (power, "min", "50") && look_is (power, "min_node", "\"b\"") && look_is (power, "max", "60"));
  assert_int_equal (bench->left_out, 0);
}

static bool
only_named (const void *context, const char *group)
{
  return strcmp (context, group) == 0;
}

static void
test_filter (void **state)
{
  struct bench *bench = *state;
  struct group other = level_group;

  other.name = "other";
  other.section = "system_data";
  assert_false (combine_has (bench->combine, only_named, "plain"));
  add_plain (bench, "a", &level_group, (const int64_t[]){ 1 });
  add_plain (bench, "a", &other, (const int64_t[]){ 1 });
  assert_true (combine_has (bench->combine, only_named, "plain"));
  assert_false (combine_has (bench->combine, only_named, "none"));
  assert_true (look_is (written (bench, only_named, "none"), "", "{}"));
  const char *json = written (bench, only_named, "other");
  assert_int_equal (look_count (json), 1);
  assert_int_equal (look_count (look (json, "system_data")), 1);
}

/* ---- definitions that differ ---- */

static void
test_conflicting_definitions (void **state)
{
  struct bench *bench = *state;
  static const struct metric old_metrics[] = { OF_NODE ("level", GAUGE, FOLD_SUM, 0),
                                               OF_NODE ("same", GAUGE, FOLD_SUM, 0) };
  static const struct metric new_metrics[] = {
    { "level", GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .times = 2, .help = "Help." },
    OF_NODE ("same", GAUGE, FOLD_SUM, 0),
    OF_NODE ("more", GAUGE, FOLD_MAX, 0),
  };
  struct group before = level_group, after = level_group;

  before.metrics = old_metrics;
  before.metric_count = 2;
  after.metrics = new_metrics;
  after.metric_count = 3;
  add_plain (bench, "a", &before, (const int64_t[]){ 1, 10 });
  add_plain (bench, "b", &after, (const int64_t[]){ 2, 20, 5 });
  const char *plain = look (report (bench), "plain");
  assert_true (look_is (plain, "nodes", "2") && look_is (plain, "same/sum", "30"));
  assert_true (look_is (plain, "level/sum", "1") && look_is (plain, "level/nodes", "1")); /* as many: the first */
  assert_true (look_is (plain, "more/max", "5"));
  assert_int_equal (bench->left_out, 1);
  add_plain (bench, "c", &after, (const int64_t[]){ 3, 30, 6 });
  plain = look (report (bench), "plain");
  assert_true (look_is (plain, "level/sum", "10") && look_is (plain, "level/nodes", "2"));
  assert_true (look_is (plain, "same/sum", "60"));
  assert_int_equal (bench->left_out, 1);
}

/* Two groups that would stand under one key: the one that more nodes have is written, the other's values are counted. */
static void
test_groups_that_collide (void **state)
{
  struct bench *bench = *state;
  struct group rows = row_group, other = row_group, section = level_group;

  other.fold_name = "average";
  section.name = "system_data"; /* as the section of the others */
  add_plain (bench, "a", &section, (const int64_t[]){ 1 });
  assert_true (look_is (report (bench), "system_data/level/sum", "1"));
  add_plain (bench, "a", &rows, (const int64_t[]){ 0, 0, 0, 1 });
  add_plain (bench, "b", &rows, (const int64_t[]){ 0, 0, 0, 2 });
  add_plain (bench, "c", &other, (const int64_t[]){ 0, 0, 0, 3 });
  const char *json = report (bench);
  assert_int_equal (look_count (json), 1);
  assert_int_equal (look_count (look (json, "system_data")), 1);
  assert_true (look_is (json, "system_data/net/nodes", "2") && look_is (json, "system_data/net/open/sum", "3"));
  assert_non_null (look (json, "system_data/net/total"));
  assert_int_equal (bench->left_out, 2);
}

/* A group that is not written keeps no other out. */
static void
test_outvoted_group_outvotes_none (void **state)
{
  struct bench *bench = *state;
  struct group hostile = level_group, thermal = level_group;

  hostile.name = "system_data"; /* in no section: it would stand where the section does */
  thermal.name = "thermal";
  thermal.section = "system_data";
  add_plain (bench, "a", &hostile, (const int64_t[]){ 1 });
  add_plain (bench, "a", &row_group, (const int64_t[]){ 0, 0, 0, 1 });
  add_plain (bench, "b", &row_group, (const int64_t[]){ 0, 0, 0, 1 });
  add_plain (bench, "b", &thermal, (const int64_t[]){ 7 });
  const char *json = report (bench);
  assert_true (look_is (json, "system_data/net/nodes", "2"));
  assert_true (look_is (json, "system_data/thermal/level/sum", "7"));
  assert_null (look (json, "system_data/level"));
  assert_true (combine_has (bench->combine, only_named, "thermal"));
  assert_false (combine_has (bench->combine, only_named, "system_data"));
  assert_int_equal (bench->left_out, 1);
}

/* What a node calls as the report itself calls something does not make a key that is there twice. */
static void
test_names_that_are_taken (void **state)
{
  struct bench *bench = *state;
  static const struct metric taken[] = { OF_NODE ("nodes", GAUGE, FOLD_SUM, 0), OF_NODE ("errors", GAUGE, FOLD_SUM, 0),
                                         OF_NODE ("fine", GAUGE, FOLD_SUM, 0) };
  struct group group = level_group, rows = row_group;

  group.metrics = taken;
  group.metric_count = 3;
  rows.fold_name = "errors";
  add_plain (bench, "a", &group, (const int64_t[]){ 71, 72, 73 });
  add_plain (bench, "a", &rows, (const int64_t[]){ 0, 0, 0, 74 });
  const char *json = report (bench);
  assert_true (look_is (json, "plain/nodes", "1") && look_is (json, "plain/errors", "0"));
  assert_true (look_is (json, "plain/fine/sum", "73"));
  assert_true (look_is (json, "system_data/net/errors", "0") && look_is (json, "system_data/net/open/sum", "74"));
  assert_int_equal (bench->left_out, 2);
}

/* ---- limits ---- */

#define METRICS_EACH 512

/* A node with so many groups, all of other names than any node's, and METRICS_EACH values in each. */
static void
add_many (struct bench *bench, int node, size_t count)
{
  struct metric *metrics = memory_new (METRICS_EACH, sizeof *metrics);
  struct group made[SCHEMA_GROUPS_MAX];
  const struct group *groups[SCHEMA_GROUPS_MAX];
  struct table tables[SCHEMA_GROUPS_MAX];
  struct report_group pairs[SCHEMA_GROUPS_MAX];
  char names[METRICS_EACH + SCHEMA_GROUPS_MAX][32];
  struct schema schema = { .hash = { (uint8_t) node }, .group_count = count, .groups = groups };

  for (size_t i = 0; i < METRICS_EACH; i++) {
    snprintf (names[i], sizeof names[i], "m%zu", i);
    metrics[i] = (struct metric) OF_NODE (names[i], GAUGE, FOLD_SUM, 0);
  }
  for (size_t g = 0; g < count; g++) {
    snprintf (names[METRICS_EACH + g], sizeof names[0], "g%d_%zu", node, g);
    made[g] = level_group;
    made[g].name = names[METRICS_EACH + g];
    made[g].metrics = metrics;
    made[g].metric_count = METRICS_EACH;
    groups[g] = &made[g];
    table_init (&tables[g], &made[g]);
    for (size_t m = 0; m < METRICS_EACH; m++)
      table_set_uint (&tables[g], TABLE_NODE, m, g);
    pairs[g] = (struct report_group){ .now = &tables[g] };
  }
  combine_add (bench->combine, "a", &schema, pairs);
  for (size_t g = 0; g < count; g++)
    table_free (&tables[g]);
  free (metrics);
}

/* What is over the maximum of a node, or over that of all, is counted, not kept. */
static void
test_too_many_metrics (void **state)
{
  struct bench *bench = *state;
  const int nodes = COMBINE_METRICS_MAX / COMBINE_NODE_METRICS_MAX;

  add_many (bench, 0, SCHEMA_GROUPS_MAX);
  const char *json = report (bench);
  assert_int_equal (bench->left_out, SCHEMA_GROUPS_MAX * METRICS_EACH - COMBINE_NODE_METRICS_MAX);
  assert_true (look_is (json, "g0_3/m511/sum", "3"));
  assert_true (look_is (json, "g0_4/nodes", "1"));
  assert_null (look (json, "g0_4/m0"));
  add_plain (bench, "b", &level_group, (const int64_t[]){ 5 });
  assert_true (look_is (report (bench), "plain/level/sum", "5"));

  combine_clear (bench->combine);
  for (int node = 0; node < nodes + 1; node++)
    add_many (bench, node, COMBINE_NODE_METRICS_MAX / METRICS_EACH);
  report (bench);
  assert_int_equal (bench->left_out, COMBINE_NODE_METRICS_MAX);
}

/* ---- as values ---- */

struct walked {
  struct buffer text;
};

static void
walk_group (void *context, const struct combine_group *group)
{
  struct walked *walked = context;

  buffer_printf (&walked->text, "%s/%s of %d, %d failed, fold \"%s\": ", group->section, group->name,
                 (int) group->nodes, (int) group->errors, group->fold_name);
}

static void
add_end (struct buffer *text, const struct combine_end *end)
{
  buffer_printf (text, " %.0f on %s", value_number (&end->value), end->node);
  if (end->row)
    buffer_printf (text, " row \"%.*s\"", (int) end->row_length, end->row);
}

static void
walk_metric (void *context, const struct combine_group *group, const struct combine_metric *metric)
{
  struct walked *walked = context;

  assert_true (*group->name);
  buffer_printf (&walked->text, "%s of %d/%d, sum %.0f mean %.1f", metric->name, (int) metric->nodes,
                 (int) metric->rows, value_number (&metric->sum), metric->mean);
  add_end (&walked->text, &metric->min);
  add_end (&walked->text, &metric->max);
  if (metric->p50.type != VALUE_MISSING)
    buffer_printf (&walked->text, " p50 %.0f p95 %.0f", value_number (&metric->p50), value_number (&metric->p95));
  buffer_add_string (&walked->text, "; ");
}

static bool
only_gpu (const void *context, const char *group)
{
  return strcmp (group, context) == 0;
}

/* The JSON is written from the same walk. */
static void
test_walk (void **state)
{
  struct bench *bench = *state;
  struct walked walked = { 0 };
  struct combine_walk walk = {
    .context = &walked, .group = walk_group, .metric = walk_metric, .only = only_gpu, .only_context = "gpu"
  };

  add_gpus (bench, "a", &gpu_group, "00", (const int64_t[]){ 90, 2 });
  add_gpus (bench, "b", &gpu_group, "00", (const int64_t[]){ 50, 60 });
  add_plain (bench, "a", &level_group, (const int64_t[]){ -5 });
  assert_int_equal (combine_walk (bench->combine, &walk), 0);
  buffer_add (&walked.text, "", 1);
  assert_string_equal (walked.text.data,
                       "/gpu of 2, 0 failed, fold \"total\": driver of 2/0, sum 2 mean 1.0 1 on a 1 on a p50 1 p95 1; "
                       "use of 2/4, sum 101 mean 50.5 2 on a row \"1\" 90 on a row \"0\" p50 46 p95 55; "
                       "power of 2/4, sum 2020 mean 1010.0 20 on a row \"1\" 900 on a row \"0\" p50 920 p95 1100; ");
  buffer_clear (&walked.text);
  walk.group = NULL;
  walk.only_context = level_group.name;
  combine_walk (bench->combine, &walk);
  buffer_add (&walked.text, "", 1);
  assert_string_equal (walked.text.data, "level of 1/0, sum -5 mean -5.0 -5 on a -5 on a p50 -5 p95 -5; ");
  buffer_free (&walked.text);
}

/* A row without a name is one. */
static void
test_row_without_a_label (void **state)
{
  struct bench *bench = *state;
  const struct group *group = &gpu_group;
  struct schema *schema = schema_create (&group, 1);
  struct table table;
  struct report_group pair = { .now = &table };

  table_init (&table, group);
  table_begin (&table);
  table_add_row (&table, "", 0);
  table_set_uint (&table, 0, 0, 7);
  combine_add (bench->combine, "a", schema, &pair);
  assert_true (look_is (report (bench), "gpu/total/use/min_row", "\"\""));
  table_free (&table);
  schema_destroy (schema);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_against_a_second_computation),
    TEST (test_whole_numbers_stay_whole),
    TEST (test_sum_over_64_bits),
    TEST (test_not_finite),
    TEST (test_ends_are_those_of_rows),
    TEST (test_shared_rows),
    TEST (test_rows_of_two_versions),
    TEST (test_percentiles),
    TEST (test_percentiles_of_few_values),
    TEST (test_groups),
    TEST (test_filter),
    TEST (test_conflicting_definitions),
    TEST (test_groups_that_collide),
    TEST (test_outvoted_group_outvotes_none),
    TEST (test_names_that_are_taken),
    TEST (test_too_many_metrics),
    TEST (test_walk),
    TEST (test_row_without_a_label),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
