/* Reports: what each kind of value becomes, and whole objects byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "synop/clock.h"
#include "synop/report.h"
#include "synop/schema.h"
#include "tests/unit/json_look.h"

/* ---- one value ---- */

static struct value
of_uint (uint64_t number)
{
  return (struct value){ .type = VALUE_UINT, .as.u = number };
}

static struct value
change (struct metric metric, uint64_t before, uint64_t now, int64_t elapsed_ns)
{
  struct value one = of_uint (before), other = of_uint (now);

  metric.kind = COUNTER;
  return report_value (&metric, &other, &one, elapsed_ns);
}

#define ASSERT_UINT(expression, number)                                                                                \
  do {                                                                                                                 \
    struct value value = expression;                                                                                   \
    assert_int_equal (value.type, VALUE_UINT);                                                                         \
    assert_true (value.as.u == (number));                                                                              \
  } while (0)
#define ASSERT_REAL(expression, number)                                                                                \
  do {                                                                                                                 \
    struct value value = expression;                                                                                   \
    assert_int_equal (value.type, VALUE_REAL);                                                                         \
    assert_true (fabs (value.as.d - (number)) <= 1e-9 * fabs (value.as.d));                                            \
  } while (0)
#define ASSERT_MISSING(expression) assert_int_equal ((expression).type, VALUE_MISSING)

static const struct metric plain = { 0 };
static const struct metric wraps = { .flags = METRIC_WRAPS32 };
static const struct metric share = { .flags = METRIC_SHARE, .times = 1, .per = 100 };

static void
test_counter (void **state)
{
  struct value now = of_uint (5), missing = { VALUE_MISSING };
  struct metric counter = { .kind = COUNTER };

  (void) state;
  ASSERT_UINT (change (plain, 10, 15, NS_PER_S), 5);
  ASSERT_UINT (change (plain, 10, 10, NS_PER_S), 0);
  ASSERT_UINT (change (plain, 0, UINT64_MAX, NS_PER_S), UINT64_MAX);
  ASSERT_MISSING (change (plain, 10, 9, NS_PER_S));
  ASSERT_MISSING (change (plain, UINT32_MAX, 5, NS_PER_S));
  ASSERT_MISSING (change (plain, 10, 15, 0));
  ASSERT_MISSING (report_value (&counter, &now, NULL, NS_PER_S));
  ASSERT_MISSING (report_value (&counter, &now, &missing, NS_PER_S));
  ASSERT_MISSING (report_value (&counter, &missing, &now, NS_PER_S));
}

static void
test_wrap (void **state)
{
  (void) state;
  ASSERT_UINT (change (wraps, UINT32_MAX, 5, NS_PER_S), 6);
  ASSERT_UINT (change (wraps, UINT64_C (0x80000001), 0, NS_PER_S), 0x7fffffff);
  ASSERT_MISSING (change (wraps, UINT64_C (0x80000000), 0, NS_PER_S));
  ASSERT_MISSING (change (wraps, 1000, 5, NS_PER_S));
  ASSERT_MISSING (change (wraps, UINT64_C (0x1ffffffff), 5, NS_PER_S));
  ASSERT_UINT (change (wraps, UINT32_MAX, UINT64_C (0x100000005), NS_PER_S), 6);
}

static void
test_scale (void **state)
{
  struct metric words = { .times = 4 };
  struct metric sectors = { .times = 512, .per = 1 };
  struct metric ticks = { .times = 1, .per = 1000 };
  struct metric celsius = { .kind = GAUGE, .per = 1000 };
  struct metric pages = { .kind = GAUGE, .times = 4096 };
  struct value degrees = { VALUE_INT, .as.i = -1500 };
  struct value real = { VALUE_REAL, .as.d = 0.5 };
  struct value negative = { VALUE_INT, .as.i = -2 };
  struct value lowest = { VALUE_INT, .as.i = INT64_MIN };

  (void) state;
  ASSERT_UINT (change (words, 1, 3, NS_PER_S), 8);
  ASSERT_UINT (change (sectors, 0, 2, NS_PER_S), 1024);
  ASSERT_REAL (change (ticks, 0, 2500, NS_PER_S), 2.5);
  ASSERT_REAL (change (words, 0, UINT64_MAX, NS_PER_S), 4 * 18446744073709551616.0);
  ASSERT_REAL (report_value (&celsius, &degrees, NULL, 0), -1.5);
  ASSERT_REAL (report_value (&pages, &real, NULL, 0), 2048.0);
  assert_int_equal (report_value (&pages, &negative, NULL, 0).type, VALUE_INT);
  assert_int_equal (report_value (&pages, &negative, NULL, 0).as.i, -8192);
  ASSERT_REAL (report_value (&pages, &lowest, NULL, 0), -9223372036854775808.0 * 4096);
}

/* What is over the largest double is missing, not an infinity. */
static void
test_not_finite (void **state)
{
  struct metric gauge = { .kind = GAUGE }, times = { .kind = GAUGE, .times = UINT32_MAX };
  const double out[] = { HUGE_VAL, -HUGE_VAL, nan ("") };
  const struct value large[] = { { VALUE_REAL, .as.d = 1e308 }, { VALUE_REAL, .as.d = -1e308 } };

  (void) state;
  for (size_t i = 0; i < 3; i++) {
    struct value value = { VALUE_REAL, .as.d = out[i] };
    ASSERT_MISSING (report_value (&gauge, &value, NULL, NS_PER_S));
    ASSERT_MISSING (report_value (&times, &value, NULL, NS_PER_S));
  }
  for (size_t i = 0; i < 2; i++) {
    ASSERT_MISSING (report_value (&times, &large[i], NULL, NS_PER_S));
    ASSERT_REAL (report_value (&gauge, &large[i], NULL, NS_PER_S), large[i].as.d);
  }
}

static void
test_share (void **state)
{
  (void) state;
  ASSERT_REAL (change (share, 0, 50, NS_PER_S), 50);
  ASSERT_REAL (change (share, 0, 50, 2 * NS_PER_S), 25);
  ASSERT_REAL (change (share, 7, 7, NS_PER_S), 0);
  ASSERT_REAL (change (share, 0, 101, NS_PER_S), 100);     /* a tick too many */
  ASSERT_REAL (change (share, 0, 105, NS_PER_S), 100);     /* read a little late */
  ASSERT_REAL (change (share, 0, 150, NS_PER_S), 150);     /* two threads */
  ASSERT_REAL (change (share, 0, 2, 10 * NS_PER_MS), 100); /* two ticks in one */
  ASSERT_REAL (change (share, 0, 4800, NS_PER_S), 4800);
  ASSERT_MISSING (change (share, 50, 49, NS_PER_S));
  ASSERT_MISSING (change (share, 0, 50, 0));
}

static void
test_kinds (void **state)
{
  struct metric text = { .kind = TEXT }, gauge = { .kind = GAUGE }, counter = { .kind = COUNTER };
  struct value words = { VALUE_TEXT, .length = 3, .as.offset = 9 }, real = { VALUE_REAL, .as.d = 1 };
  struct value shown = report_value (&text, &words, NULL, 0);

  (void) state;
  assert_int_equal (shown.type, VALUE_TEXT);
  assert_int_equal (shown.as.offset, 9);
  ASSERT_MISSING (report_value (&text, &real, NULL, 0));
  ASSERT_MISSING (report_value (&gauge, &words, NULL, 0));
  ASSERT_MISSING (report_value (&counter, &real, &real, NS_PER_S));
}

/* ---- whole reports ---- */

static const struct metric cpu_metrics[] = {
  { "user", COUNTER, UNIT_PERCENT, FOLD_MEAN, METRIC_SHARE, 1, 100, .help = "" },
  { "switches", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "" },
};
static const struct metric net_metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "" }, { "speed", GAUGE, UNIT_NONE, FOLD_NONE, .help = "" },
  { "queue", GAUGE, UNIT_COUNT, FOLD_MAX, .help = "" },   { "floor", GAUGE, UNIT_COUNT, FOLD_MIN, .help = "" },
  { "state", TEXT, UNIT_NONE, FOLD_SUM, .help = "" },
};
static const struct metric fact_metrics[] = { { "model", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "" } };
static const struct group cpu = {
  "cpu_usage", "system_data", "CPU", "usage_data", "average_usage", 0, "", GROUP_METRICS (cpu_metrics)
};
static const struct group net = {
  "network", "system_data", "device", "devices", "total", 0, "", GROUP_METRICS (net_metrics)
};
static const struct group facts = { "hardware_info", "", "", "", "", GROUP_ONCE, "", GROUP_METRICS (fact_metrics) };

struct fixture {
  struct table cpu[2], net[2], facts;
  struct json json;
};

static void
begin (struct table *table, const struct group *group, int64_t monotonic_ns)
{
  table_init (table, group);
  table_begin (table);
  table->monotonic_ns = monotonic_ns;
  table->period_ns = NS_PER_S;
}

static int
setup (void **state)
{
  static struct fixture f;

  memset (&f, 0, sizeof f);
  for (int i = 0; i < 2; i++) {
    begin (&f.cpu[i], &cpu, 5 * NS_PER_S + i * (NS_PER_S + 12345));
    begin (&f.net[i], &net, 5 * NS_PER_S + i * 2 * NS_PER_S);
  }
  begin (&f.facts, &facts, 5 * NS_PER_S);
  *state = &f;
  return 0;
}

static int
teardown (void **state)
{
  struct fixture *f = *state;

  for (int i = 0; i < 2; i++) {
    table_free (&f->cpu[i]);
    table_free (&f->net[i]);
  }
  table_free (&f->facts);
  json_free (&f->json);
  return 0;
}

static size_t
row_add (struct table *table, const char *label)
{
  return table_add_row (table, label, strlen (label));
}

static bool
only_network (const void *context, const char *group)
{
  return strcmp (group, context) == 0;
}

static const char *
report (struct fixture *f, const struct report_group *groups, size_t count, const char *only)
{
  json_clear (&f->json);
  json_object (&f->json);
  report_write (&f->json, groups, count, only == NULL ? NULL : only_network, only);
  json_object_end (&f->json);
  buffer_add (&f->json.out, "", 1);
  return f->json.out.data;
}

static void
test_first (void **state)
{
  struct fixture *f = *state;
  struct report_group group = { &f->cpu[0], NULL };

  table_set_uint (&f->cpu[0], row_add (&f->cpu[0], "0"), 0, 50);
  table_set_uint (&f->cpu[0], TABLE_NODE, 1, 50);
  assert_string_equal (report (f, &group, 1, NULL),
                       "{\"system_data\":{\"cpu_usage\":{\"period\":1,\"error\":\"\",\"switches\":null,"
                       "\"average_usage\":{\"user\":null},\"usage_data\":{\"0\":{\"user\":null}}}}}");
}

static void
test_change (void **state)
{
  struct fixture *f = *state;
  struct report_group group = { &f->cpu[1], &f->cpu[0] };

  for (uint64_t i = 0; i < 2; i++) {
    table_set_uint (&f->cpu[i], row_add (&f->cpu[i], "0"), 0, 10 + 50 * i);
    table_set_uint (&f->cpu[i], row_add (&f->cpu[i], "1"), 0, 10 + 100 * i);
    table_set_uint (&f->cpu[i], TABLE_NODE, 1, 7 * i);
  }
  row_add (&f->cpu[1], "2");
  assert_string_equal (
      report (f, &group, 1, NULL),
      "{\"system_data\":{\"cpu_usage\":{\"period\":1.000012345,\"error\":\"\",\"switches\":7,"
      "\"average_usage\":{\"user\":74.9991},\"usage_data\":{\"0\":{\"user\":49.9994},\"1\":{\"user\":99.9988},"
      "\"2\":{\"user\":null}}}}}");
}

static void
net_row (struct table *table, const char *label, uint64_t bytes, double queue, int64_t low, const char *text)
{
  size_t row = row_add (table, label);

  table_set_uint (table, row, 0, bytes);
  table_set_uint (table, row, 1, 1000);
  table_set_real (table, row, 2, queue);
  table_set_int (table, row, 3, low);
  table_set_text (table, row, 4, text, strlen (text));
}

/* Rows that move, come, go and start anew; sums of whole numbers stay whole. */
static void
test_rows (void **state)
{
  struct fixture *f = *state;
  struct report_group group = { &f->net[1], &f->net[0] };

  net_row (&f->net[0], "lo", 100, 0, 0, "");
  net_row (&f->net[0], "gone", 100, 0, 0, "");
  net_row (&f->net[0], "eth0", UINT64_C (9007199254740993), 0, 0, "");
  net_row (&f->net[0], "eth1", 500, 0, 0, "");
  net_row (&f->net[1], "eth0", UINT64_C (18014398509481987), 1.5, -3, "up \"fast\"");
  net_row (&f->net[1], "new", 100, 0.25, 7, "down");
  net_row (&f->net[1], "lo", 101, 1, -4, "up");
  net_row (&f->net[1], "eth1", 499, 0, 0, "up");
  assert_string_equal (
      report (f, &group, 1, NULL),
      "{\"system_data\":{\"network\":{\"period\":2,\"error\":\"\","
      "\"total\":{\"bytes\":9007199254740995,\"queue\":1.5,\"floor\":-4},\"devices\":{"
      "\"eth0\":{\"bytes\":9007199254740994,\"speed\":1000,\"queue\":1.5,\"floor\":-3,\"state\":\"up \\\"fast\\\"\"},"
      "\"new\":{\"bytes\":null,\"speed\":1000,\"queue\":0.25,\"floor\":7,\"state\":\"down\"},"
      "\"lo\":{\"bytes\":1,\"speed\":1000,\"queue\":1,\"floor\":-4,\"state\":\"up\"},"
      "\"eth1\":{\"bytes\":null,\"speed\":1000,\"queue\":0,\"floor\":0,\"state\":\"up\"}}}}}");
}

static void
test_folds_mix (void **state)
{
  struct fixture *f = *state;
  struct report_group group = { &f->net[0], NULL };
  size_t row;

  table_set_uint (&f->net[0], row_add (&f->net[0], "a"), 2, 3);
  table_set_real (&f->net[0], row_add (&f->net[0], "b"), 2, 2.5);
  row = row_add (&f->net[0], "c");
  table_set_uint (&f->net[0], row, 2, 4);
  table_set_int (&f->net[0], row, 3, INT64_MIN);
  assert_non_null (strstr (report (f, &group, 1, NULL),
                           "\"total\":{\"bytes\":null,\"queue\":4,\"floor\":-9223372036854775808},\"devices\":{"));
}

static void
test_error_without_values (void **state)
{
  struct fixture *f = *state;
  struct report_group groups[] = { { &f->net[1], &f->net[0] }, { &f->facts, NULL } };

  net_row (&f->net[0], "lo", 100, 0, 0, "");
  snprintf (f->net[1].error, sizeof f->net[1].error, "timed \"out\"");
  assert_string_equal (report (f, groups, 2, NULL),
                       "{\"system_data\":{\"network\":{\"period\":2,\"error\":\"timed \\\"out\\\"\","
                       "\"total\":{\"bytes\":null,\"queue\":null,\"floor\":null},\"devices\":{}}},"
                       "\"hardware_info\":{\"error\":\"\",\"model\":null}}");
}

static void
test_sections (void **state)
{
  struct fixture *f = *state;
  struct report_group groups[] = { { NULL, NULL }, { &f->cpu[0], NULL }, { &f->facts, NULL }, { &f->net[0], NULL } };

  table_set_text (&f->facts, TABLE_NODE, 0, "EPYC", 4);
  assert_string_equal (report (f, groups, 4, NULL),
                       "{\"system_data\":{\"cpu_usage\":{\"period\":1,\"error\":\"\",\"switches\":null,"
                       "\"average_usage\":{\"user\":null},\"usage_data\":{}},\"network\":{\"period\":1,\"error\":\"\","
                       "\"total\":{\"bytes\":null,\"queue\":null,\"floor\":null},\"devices\":{}}},"
                       "\"hardware_info\":{\"error\":\"\",\"model\":\"EPYC\"}}");
  assert_string_equal (report (f, groups, 4, "network"),
                       "{\"system_data\":{\"network\":{\"period\":1,\"error\":\"\","
                       "\"total\":{\"bytes\":null,\"queue\":null,\"floor\":null},\"devices\":{}}}}");
  assert_string_equal (report (f, groups, 4, "hardware_info"),
                       "{\"hardware_info\":{\"error\":\"\",\"model\":\"EPYC\"}}");
  assert_string_equal (report (f, groups, 4, "none"), "{}");
}

/* ---- jobs ---- */

static const struct metric job_cpu_metrics[] = { { .name = "usage", .fold = FOLD_SUM },
                                                 { .name = "of_node", .kind = GAUGE, .flags = METRIC_OF_NODE } };
static const struct metric job_memory_metrics[] = { { .name = "rss", .kind = GAUGE, .fold = FOLD_SUM } };
static const struct group job_cpu_group = { .name = "job_cpu",
                                            .section = REPORT_JOBS,
                                            .row = "job",
                                            .rows_name = "jobs",
                                            .fold_name = "total",
                                            GROUP_METRICS (job_cpu_metrics) };
static const struct group job_memory_group = { .name = "job_memory",
                                               .section = REPORT_JOBS,
                                               .row = "job",
                                               .rows_name = "jobs",
                                               .fold_name = "total",
                                               GROUP_METRICS (job_memory_metrics) };

/* cpu now, cpu before, memory now */
static struct table *
job_tables (void)
{
  struct table *tables = calloc (3, sizeof *tables);

  for (int i = 0; i < 3; i++) {
    table_init (&tables[i], i < 2 ? &job_cpu_group : &job_memory_group);
    table_begin (&tables[i]);
    tables[i].period_ns = NS_PER_S;
    tables[i].monotonic_ns = i == 1 ? NS_PER_S : 2 * NS_PER_S;
  }
  return tables;
}

static void
job_tables_free (struct table *tables)
{
  for (int i = 0; i < 3; i++)
    table_free (&tables[i]);
  free (tables);
}

static void
test_jobs (void **state)
{
  struct fixture *f = *state;
  struct table *tables = job_tables ();
  struct report_group groups[] = { { &f->facts, NULL }, { &tables[0], &tables[1] }, { &tables[2], NULL } };

  assert_string_equal (report (f, groups, 3, NULL),
                       "{\"hardware_info\":{\"error\":\"\",\"model\":null},\"job_data\":[]}");
  table_set_uint (&tables[1], row_add (&tables[1], "12"), 0, 5);
  table_set_uint (&tables[0], row_add (&tables[0], "9"), 0, 1);
  table_set_uint (&tables[0], row_add (&tables[0], "12"), 0, 7);
  table_set_uint (&tables[2], row_add (&tables[2], "12"), 0, 4096);
  table_set_uint (&tables[2], row_add (&tables[2], "7"), 0, 1);
  snprintf (tables[2].error, sizeof tables[2].error, "old");
  assert_string_equal (
      report (f, groups, 3, NULL),
      "{\"hardware_info\":{\"error\":\"\",\"model\":null},\"job_data\":["
      "{\"job_id\":\"9\",\"error\":\"\",\"report\":{\"job_cpu\":{\"period\":1,\"error\":\"\",\"usage\":null}}},"
      "{\"job_id\":\"12\",\"error\":\"old\",\"report\":{\"job_cpu\":{\"period\":1,\"error\":\"\",\"usage\":2},"
      "\"job_memory\":{\"period\":1,\"error\":\"old\",\"rss\":4096}}},"
      "{\"job_id\":\"7\",\"error\":\"old\",\"report\":{\"job_memory\":{\"period\":1,\"error\":\"old\",\"rss\":1}}}]}");
  assert_string_equal (report (f, groups, 3, "job_memory"),
                       "{\"job_data\":[{\"job_id\":\"12\",\"error\":\"old\",\"report\":{\"job_memory\":{\"period\":1,"
                       "\"error\":\"old\",\"rss\":4096}}},{\"job_id\":\"7\",\"error\":\"old\",\"report\":{"
                       "\"job_memory\":{\"period\":1,\"error\":\"old\",\"rss\":1}}}]}");
  job_tables_free (tables);
}

/* Groups that could not be sampled are told once; jobs that others know are there too. */
static void
test_jobs_error (void **state)
{
  struct fixture *f = *state;
  struct table *tables = job_tables ();
  struct report_group groups[] = { { &tables[0], NULL }, { &tables[2], NULL } };

  snprintf (tables[0].error, sizeof tables[0].error, "no /proc");
  snprintf (tables[2].error, sizeof tables[2].error, "no /proc either");
  assert_string_equal (report (f, groups, 2, NULL),
                       "{\"job_data\":[{\"job_id\":null,\"error\":\"no /proc\",\"report\":{}}]}");
  row_add (&tables[2], "1");
  assert_string_equal (report (f, groups, 2, NULL),
                       "{\"job_data\":[{\"job_id\":\"1\",\"error\":\"no /proc either\",\"report\":{\"job_memory\":{"
                       "\"period\":1,\"error\":\"no /proc either\",\"rss\":null}}},"
                       "{\"job_id\":null,\"error\":\"no /proc\",\"report\":{}}]}");
  job_tables_free (tables);
}

/* Groups without a job in common: nothing is lost and nothing is there twice, and it is soon done. */
static void
test_jobs_many (void **state)
{
  struct fixture *f = *state;
  struct table *tables = job_tables ();
  struct report_group groups[] = { { &tables[0], NULL }, { &tables[2], NULL } };
  const char *text;
  char label[32];

  for (int row = 0; row < 20000; row++) {
    table_add_row (&tables[0], label, (size_t) snprintf (label, sizeof label, "a%d", row));
    table_add_row (&tables[2], label, (size_t) snprintf (label, sizeof label, "b%d", row));
  }
  text = report (f, groups, 2, NULL);
  assert_int_equal (look_occurrences (text, "\"job_id\":\"a"), 20000);
  assert_int_equal (look_occurrences (text, "\"job_id\":\"b"), 20000);
  for (int row = 19999; row >= 0; row--)
    table_add_row (&tables[2], label, (size_t) snprintf (label, sizeof label, "a%d", row));
  text = report (f, groups, 2, NULL);
  assert_int_equal (look_occurrences (text, "\"job_cpu\""), 20000);
  assert_int_equal (look_occurrences (text, "\"job_memory\""), 40000);
  job_tables_free (tables);
}

/* A table of another schema, or of no earlier time, is nothing to compare with. */
static void
test_before_that_does_not_fit (void **state)
{
  struct fixture *f = *state;
  struct report_group other = { &f->net[0], &f->cpu[0] };
  struct report_group later = { &f->net[0], &f->net[1] };

  net_row (&f->net[0], "lo", 100, 0, 0, "");
  net_row (&f->net[1], "lo", 50, 0, 0, "");
  assert_non_null (strstr (report (f, &other, 1, NULL), "\"period\":1,\"error\":\"\",\"total\":{\"bytes\":null"));
  assert_non_null (strstr (report (f, &later, 1, NULL), "\"period\":1,\"error\":\"\",\"total\":{\"bytes\":null"));
}

/* Whoever sends ever new labels must not cost a search of rows times rows: after some, even what is there counts as new. */
static void
test_many_new_rows (void **state)
{
  struct fixture *f = *state;
  struct report_group group = { &f->cpu[1], &f->cpu[0] };
  char label[32];

  for (int row = 0; row < TABLE_ROWS_MAX; row++)
    table_add_row (&f->cpu[0], label, (size_t) snprintf (label, sizeof label, "%d", row));
  table_set_uint (&f->cpu[0], 5, 0, 0);
  for (int news = 3; news <= 30; news += 27) {
    table_begin (&f->cpu[1]);
    for (int row = 0; row < news; row++)
      table_add_row (&f->cpu[1], label, (size_t) snprintf (label, sizeof label, "new%d", row));
    table_set_uint (&f->cpu[1], row_add (&f->cpu[1], "5"), 0, 0);
    assert_non_null (strstr (report (f, &group, 1, NULL), news == 3 ? "\"5\":{\"user\":0}" : "\"5\":{\"user\":null}"));
  }
}

/* The bound is on all tables of a frame together. */
static void
test_many_new_rows_in_several_tables (void **state)
{
  struct fixture *f = *state;
  const struct report_group pair = { &f->cpu[1], &f->cpu[0] }, twice[] = { pair, pair };
  struct value values[SCHEMA_METRICS_MAX];
  size_t searched = 0, once;
  const char *text;
  char label[32];

  for (int row = 0; row < TABLE_ROWS_MAX; row++)
    table_add_row (&f->cpu[0], label, (size_t) snprintf (label, sizeof label, "%d", row));
  for (int row = 0; row < 10; row++)
    table_add_row (&f->cpu[1], label, (size_t) snprintf (label, sizeof label, "new%d", row));
  table_set_uint (&f->cpu[0], 5, 0, 0);
  table_set_uint (&f->cpu[1], row_add (&f->cpu[1], "5"), 0, 0);
  text = report (f, twice, 2, NULL);
  assert_non_null (strstr (text, "\"5\":{\"user\":0}"));
  assert_non_null (strstr (text, "\"5\":{\"user\":null}"));
  report_node_values (&pair, values, &searched);
  once = searched;
  assert_true (once >= 10 * (size_t) TABLE_ROWS_MAX);
  for (int i = 0; i < 10; i++)
    report_node_values (&pair, values, &searched);
  assert_in_range (searched, once + 1, 2 * once);
}

static void
test_no_memory_once_warm (void **state)
{
  struct fixture *f = *state;
  struct report_group group = { &f->net[1], &f->net[0] };
  size_t capacity;

  for (int i = 0; i < 2; i++)
    for (int row = 0; row < 200; row++)
      net_row (&f->net[i], "eth", 100, 0, 0, "up");
  report (f, &group, 1, NULL);
  report (f, &group, 1, NULL);
  capacity = f->json.out.capacity;
  report (f, &group, 1, NULL);
  assert_int_equal (f->json.out.capacity, capacity);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_counter),
    cmocka_unit_test (test_wrap),
    cmocka_unit_test (test_scale),
    cmocka_unit_test (test_not_finite),
    cmocka_unit_test (test_share),
    cmocka_unit_test (test_kinds),
    TEST (test_first),
    TEST (test_change),
    TEST (test_rows),
    TEST (test_folds_mix),
    TEST (test_error_without_values),
    TEST (test_many_new_rows_in_several_tables),
    TEST (test_sections),
    TEST (test_jobs),
    TEST (test_jobs_error),
    TEST (test_jobs_many),
    TEST (test_before_that_does_not_fit),
    TEST (test_many_new_rows),
    TEST (test_no_memory_once_warm),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
