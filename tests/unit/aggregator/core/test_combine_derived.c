/* What combined reports derive of counters: of the sums over the nodes, and not of what each node shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/combine.h"
#include "synop/clock.h"
#include "tests/unit/json_look.h"

#define SUM(NAME)                                                                                                      \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .help = ""                                                                    \
  }
static const struct metric metrics[] = {
  SUM ("cycles"),
  SUM ("instructions"),
  { "unhalted_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "" },
  { "running", GAUGE, UNIT_RATIO, FOLD_MIN, .help = "" },
};
static const struct group sockets = { "cpu_counters",         "system_data", "socket", "sockets", "total", 0, "",
                                      GROUP_METRICS (metrics) };
static const struct group others = { "others", "system_data",          "socket", "sockets", "total", 0,
                                     "",       GROUP_METRICS (metrics) };

#define NONE UINT64_MAX

/* One node with two sockets of equal counters, which grew by that in two seconds. */
static void
add (struct combine *combine, const char *node, const struct group *group, const uint64_t *grown)
{
  struct schema *schema = schema_create (&group, 1);
  struct table before, now;
  struct report_group pair = { .now = &now, .before = &before };

  table_init (&before, group);
  table_init (&now, group);
  table_begin (&before);
  table_begin (&now);
  before.monotonic_ns = NS_PER_S;
  now.monotonic_ns = 3 * NS_PER_S;
  before.period_ns = now.period_ns = 2 * NS_PER_S;
  for (int socket = 0; socket < 2; socket++) {
    size_t row = table_add_row (&before, socket ? "1" : "0", 1);

    table_add_row (&now, socket ? "1" : "0", 1);
    for (size_t i = 0; i < 3; i++)
      if (grown[i] != NONE) {
        table_set_uint (&before, row, i, 77);
        table_set_uint (&now, row, i, 77 + grown[i]);
      }
  }
  combine_add (combine, node, schema, &pair);
  table_free (&before);
  table_free (&now);
  schema_destroy (schema);
}

static const char *
report (struct combine *combine, struct json *json)
{
  json_clear (json);
  json_object (json);
  combine_write (combine, json, NULL, NULL, NULL);
  json_object_end (json);
  buffer_add (&json->out, "", 1);
  return json->out.data;
}

#define TOTAL "system_data/cpu_counters/total/"

static void
test_of_the_sums (void **state)
{
  struct combine *combine = combine_create ();
  struct json json = { 0 };
  const char *text;

  (void) state;
  add (combine, "a", &sockets, (uint64_t[]){ 4000000000, 8000000000, 1000000000 }); /* 2 a cycle, 4 GHz */
  add (combine, "b", &sockets, (uint64_t[]){ 1000000000, 500000000, 1000000000 });  /* 0.5 a cycle, 1 GHz */
  add (combine, "a", &others, (uint64_t[]){ 1, 1, 1 });
  text = report (combine, &json);
  assert_true (look_is (text, TOTAL "instructions/sum", "17000000000"));
  assert_true (look_is (text, TOTAL "ipc/nodes", "2"));
  assert_true (look_is (text, TOTAL "ipc/mean", "1.7")); /* 17 / 10, not 1.25 */
  assert_true (look_is (text, TOTAL "ghz/mean", "2.5"));
  assert_true (look_is (text, TOTAL "mips/sum", "8500"));
  assert_false (look_is (text, TOTAL "ipc/sum", "1.7"));
  assert_null (strstr (text, "cache_mpki")); /* there is no such counter */
  assert_null (strstr (strstr (text, "\"others\""), "ipc"));
  json_free (&json);
  combine_destroy (combine);
}

/* A node that counts instructions alone: of both there is no ratio; of the rates there is. */
static void
test_of_other_nodes (void **state)
{
  struct combine *combine = combine_create ();
  struct json json = { 0 };
  const char *text;

  (void) state;
  add (combine, "a", &sockets, (uint64_t[]){ 4000000000, 8000000000, NONE });
  add (combine, "b", &sockets, (uint64_t[]){ NONE, 8000000000, NONE });
  text = report (combine, &json);
  assert_null (strstr (text, "\"ipc\""));
  assert_null (strstr (text, "\"ghz\""));
  assert_true (look_is (text, TOTAL "mips/nodes", "2"));
  assert_true (look_is (text, TOTAL "mips/sum", "16000"));
  assert_true (look_is (text, TOTAL "mega_cycles_per_second/nodes", "1"));
  combine_clear (combine);
  add (combine, "a", &sockets, (uint64_t[]){ 0, 0, 0 }); /* nothing ran */
  text = report (combine, &json);
  assert_null (strstr (text, "\"ipc\""));
  assert_true (look_is (text, TOTAL "mips/sum", "0"));
  json_free (&json);
  combine_destroy (combine);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_of_the_sums),
    cmocka_unit_test (test_of_other_nodes),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
