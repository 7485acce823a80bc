/* What lines show of counters: ratios and rates of rows, of their fold, and of jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synop/clock.h"
#include "synop/report.h"

#define SUM(NAME)                                                                                                      \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .help = ""                                                                    \
  }
static const struct metric metrics[] = {
  SUM ("cycles"),
  SUM ("instructions"),
  SUM ("cache_misses"),
  { "task_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "" },
};
static const struct group sockets = { "cpu_counters",     "system_data",    "socket", "sockets", "total", 0, "",
                                      .metrics = metrics, .metric_count = 3 };
static const struct group jobs = { "job_counters", "job_data", "job", "jobs", "total", 0, "", GROUP_METRICS (metrics) };
static const struct group other = { "something", "system_data",          "socket", "sockets", "total", 0,
                                    "",          GROUP_METRICS (metrics) };

struct pair {
  struct table before, now;
};

static void
pair_init (struct pair *pair, const struct group *group)
{
  table_init (&pair->before, group);
  table_init (&pair->now, group);
  table_begin (&pair->before);
  table_begin (&pair->now);
  pair->before.monotonic_ns = NS_PER_S;
  pair->now.monotonic_ns = 3 * NS_PER_S;
  pair->before.period_ns = pair->now.period_ns = 2 * NS_PER_S;
}

/* Counters that grow by these values; UINT64_MAX: they have none. */
static void
row_add (struct pair *pair, const char *label, const uint64_t *grown)
{
  size_t row = table_add_row (&pair->before, label, strlen (label));

  table_add_row (&pair->now, label, strlen (label));
  for (size_t i = 0; i < pair->now.group->metric_count; i++)
    if (grown[i] != UINT64_MAX) {
      table_set_uint (&pair->before, row, i, 1000);
      table_set_uint (&pair->now, row, i, 1000 + grown[i]);
    }
}

static void
assert_report (struct pair *pair, const char *expected)
{
  const struct report_group group = { &pair->now, &pair->before };
  struct json json = { 0 };

  json_object (&json);
  report_write (&json, &group, 1, NULL, NULL);
  json_object_end (&json);
  buffer_add (&json.out, "", 1);
  assert_string_equal (json.out.data, expected);
  json_free (&json);
  table_free (&pair->before);
  table_free (&pair->now);
}

/* The ratio of the fold is that of the sums, not a mean of ratios. */
static void
test_rows_and_their_fold (void **state)
{
  struct pair pair;

  (void) state;
  pair_init (&pair, &sockets);
  row_add (&pair, "0", (uint64_t[]){ 1000000, 2000000, 3000 });
  row_add (&pair, "1", (uint64_t[]){ 3000000, 1000000, 0 });
  assert_report (&pair,
                 "{\"system_data\":{\"cpu_counters\":{\"period\":2,\"error\":\"\","
                 "\"total\":{\"cycles\":4000000,\"instructions\":3000000,\"cache_misses\":3000,\"ipc\":0.75,"
                 "\"mips\":1.5,\"mega_cycles_per_second\":2,\"cache_mpki\":1},"
                 "\"sockets\":{\"0\":{\"cycles\":1000000,\"instructions\":2000000,\"cache_misses\":3000,\"ipc\":2,"
                 "\"mips\":1,\"mega_cycles_per_second\":0.5,\"cache_mpki\":1.5},"
                 "\"1\":{\"cycles\":3000000,\"instructions\":1000000,\"cache_misses\":0,\"ipc\":0.333333,"
                 "\"mips\":0.5,\"mega_cycles_per_second\":1.5,\"cache_mpki\":0}}}}}");
}

static void
test_missing_and_zero (void **state)
{
  struct pair pair;

  (void) state;
  pair_init (&pair, &sockets);
  row_add (&pair, "0", (uint64_t[]){ 0, 5000000, UINT64_MAX });
  assert_report (&pair, "{\"system_data\":{\"cpu_counters\":{\"period\":2,\"error\":\"\","
                        "\"total\":{\"cycles\":0,\"instructions\":5000000,\"cache_misses\":null,\"ipc\":null,"
                        "\"mips\":2.5,\"mega_cycles_per_second\":0,\"cache_mpki\":null},"
                        "\"sockets\":{\"0\":{\"cycles\":0,\"instructions\":5000000,\"cache_misses\":null,\"ipc\":null,"
                        "\"mips\":2.5,\"mega_cycles_per_second\":0,\"cache_mpki\":null}}}}}");
}

static void
test_jobs (void **state)
{
  struct pair pair;

  (void) state;
  pair_init (&pair, &jobs);
  row_add (&pair, "7", (uint64_t[]){ 3000000000, 6000000000, 0, 1500000000 });
  assert_report (&pair, "{\"job_data\":[{\"job_id\":\"7\",\"error\":\"\",\"report\":{\"job_counters\":{\"period\":2,"
                        "\"error\":\"\",\"cycles\":3000000000,\"instructions\":6000000000,\"cache_misses\":0,"
                        "\"task_time\":1.5,\"ipc\":2,\"ghz\":2,\"mips\":3000,"
                        "\"mega_cycles_per_second\":1500,\"cache_mpki\":0}}}]}");
}

static void
test_other_groups_have_none (void **state)
{
  struct pair pair;

  (void) state;
  pair_init (&pair, &other);
  row_add (&pair, "0", (uint64_t[]){ 1, 2, 3, 1000000000 });
  assert_report (&pair, "{\"system_data\":{\"something\":{\"period\":2,\"error\":\"\",\"total\":{\"cycles\":1,"
                        "\"instructions\":2,\"cache_misses\":3,\"task_time\":1},\"sockets\":{\"0\":{\"cycles\":1,"
                        "\"instructions\":2,\"cache_misses\":3,\"task_time\":1}}}}}");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_rows_and_their_fold),
    cmocka_unit_test (test_missing_and_zero),
    cmocka_unit_test (test_jobs),
    cmocka_unit_test (test_other_groups_have_none),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
