/* runtime_data in reports: a runtime of all groups together, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "synop/clock.h"
#include "synop/report.h"
#include "tests/unit/json_look.h"

static const struct metric info_metrics[] = { { "pid", GAUGE, UNIT_COUNT, FOLD_NONE },
                                              { REPORT_ROW_ERROR, TEXT, UNIT_NONE, FOLD_NONE } };
static const struct metric stats_metrics[] = { { "done", COUNTER, UNIT_COUNT, FOLD_SUM },
                                               { REPORT_ROW_ERROR, TEXT, UNIT_NONE, FOLD_NONE } };
static const struct metric core_metrics[] = { { "use", GAUGE, UNIT_PERCENT, FOLD_MEAN },
                                              { REPORT_ROW_ERROR, TEXT, UNIT_NONE, FOLD_NONE } };
static const struct group groups[] = {
  { REPORT_RUNTIME_INFO, REPORT_RUNTIMES, REPORT_RUNTIME_ROW, "runtimes", "", GROUP_METRICS (info_metrics) },
  { "stats", REPORT_RUNTIMES, REPORT_RUNTIME_ROW, "runtimes", "total", GROUP_METRICS (stats_metrics) },
  { "cores", REPORT_RUNTIMES, "core", "in_use", "total", GROUP_METRICS (core_metrics) },
};
enum { INFO, STATS, CORES, GROUPS };

struct scene {
  struct table now[GROUPS], before[GROUPS];
  struct report_group pairs[GROUPS];
};

static void
scene_init (struct scene *scene)
{
  for (size_t i = 0; i < GROUPS; i++) {
    table_init (&scene->now[i], &groups[i]);
    table_init (&scene->before[i], &groups[i]);
    scene->now[i].monotonic_ns = 3 * NS_PER_S;
    scene->before[i].monotonic_ns = NS_PER_S;
    scene->pairs[i] = (struct report_group){ &scene->now[i], &scene->before[i] };
  }
}

static void
scene_free (struct scene *scene)
{
  for (size_t i = 0; i < GROUPS; i++) {
    table_free (&scene->now[i]);
    table_free (&scene->before[i]);
  }
}

static size_t
add (struct table *table, const char *label, int64_t value, const char *error)
{
  size_t row = table_add_row (table, label, strlen (label));

  if (value >= 0)
    table_set_uint (table, row, 0, (uint64_t) value);
  if (error)
    table_set_text (table, row, 1, error, strlen (error));
  return row;
}

static void
assert_written (struct scene *scene, const char *expected)
{
  struct json json = { 0 };

  json_object (&json);
  report_write (&json, scene->pairs, GROUPS, NULL, NULL);
  json_object_end (&json);
  buffer_add (&json.out, "", 1);
  assert_string_equal (json.out.data, expected);
  json_free (&json);
}

#define STATS_OF(ERROR, DONE) "\"stats\":{\"period\":2,\"error\":\"" ERROR "\",\"done\":" DONE "}"
#define CORES_OF(ERROR, CORES) "\"cores\":{\"period\":2,\"error\":\"" ERROR "\",\"in_use\":{" CORES "}}"

static void
test_runtimes (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  assert_written (&scene, "{\"runtime_data\":[]}");
  add (&scene.now[INFO], "8", 8, NULL);
  add (&scene.now[INFO], "77", 77, "gone");
  add (&scene.before[STATS], "77", 1, NULL);
  add (&scene.before[STATS], "8", 5, NULL);
  add (&scene.now[STATS], "8", 9, NULL);
  add (&scene.now[STATS], "77", -1, "late");
  add (&scene.now[CORES], "8/0", 10, NULL);
  add (&scene.now[CORES], "8/a/b", 20, NULL);
  add (&scene.now[CORES], "77", -1, "no cores");
  assert_written (
      &scene, "{\"runtime_data\":["
              "{\"runtime\":\"8\",\"pid\":8,\"error\":\"\",\"report\":{" STATS_OF ("", "4") "," CORES_OF (
                  "", "\"0\":{\"use\":10},\"a/b\":{\"use\":20}") "}},"
                                                                 "{\"runtime\":\"77\",\"pid\":77,\"error\":\"gone\","
                                                                 "\"report\":{" STATS_OF ("late", "null") "," CORES_OF (
                                                                     "no cores", "") "}}]}");
  scene_free (&scene);
}

/* Groups that come in other frames than runtime_info; rows in disorder; an error of the whole group. */
static void
test_without_info (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  scene.pairs[INFO].now = NULL;
  add (&scene.now[CORES], "8/0", 10, NULL);
  add (&scene.now[CORES], "9/0", 11, NULL);
  add (&scene.now[CORES], "8/1", 12, NULL);
  strcpy (scene.now[STATS].error, "timed out");
  assert_written (
      &scene,
      "{\"runtime_data\":["
      "{\"runtime\":\"8\",\"error\":\"\",\"report\":{" CORES_OF (
          "",
          "\"0\":{\"use\":10}") "}},"
                                "{\"runtime\":\"9\",\"error\":\"\",\"report\":{" CORES_OF (
                                    "",
                                    "\"0\":{\"use\":11}") "}},"
                                                          "{\"runtime\":\"8\",\"error\":\"\",\"report\":{" CORES_OF (
                                                              "",
                                                              "\"1\":{\"use\":12}") "}},"
                                                                                    "{\"runtime\":null,\"error\":"
                                                                                    "\"timed out\",\"report\":{}}]}");
  scene_free (&scene);
}

/* Whoever sends many rows in disorder costs a bounded search, and every row is written once. */
static void
test_disorder (void **state)
{
  enum { ROWS = 20000 };
  struct scene scene;
  struct json json = { 0 };

  (void) state;
  scene_init (&scene);
  for (int i = 0; i < ROWS; i++) {
    char label[16];

    snprintf (label, sizeof label, "%d", i);
    add (&scene.now[INFO], label, i, NULL);
    snprintf (label, sizeof label, "%d", ROWS - i);
    add (&scene.now[STATS], label, 1, NULL);
  }
  json_object (&json);
  report_write (&json, scene.pairs, GROUPS, NULL, NULL);
  json_object_end (&json);
  buffer_add (&json.out, "", 1);
  assert_int_equal (look_occurrences (json.out.data, "\"done\""), ROWS);
  json_free (&json);
  scene_free (&scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_runtimes),
    cmocka_unit_test (test_without_info),
    cmocka_unit_test (test_disorder),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
