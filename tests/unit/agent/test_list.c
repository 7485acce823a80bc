/* What --list-groups says: every group and metric comes from its declaration, in each format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/list.h"

static const struct metric disk_metrics[] = {
  { "reads", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "Reads | done." },
  { "busy", COUNTER, UNIT_SECONDS, FOLD_MAX, METRIC_SHARE | METRIC_COUNTS, .help = "Time in use." },
  { "spindles", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "How many." },
};
static const struct group disk = { .name = "disk",
                                   .section = "system_data",
                                   .row = "device",
                                   .rows_name = "devices",
                                   .fold_name = "total",
                                   .flags = GROUP_ROWS,
                                   .help = "Disks.",
                                   GROUP_METRICS (disk_metrics),
                                   .left_out = "some (ram*)." };
static const struct metric facts_metrics[] = {
  { "kernel", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "A \"name\"." },
};
static const struct group facts = { .name = "facts",
                                    .section = "",
                                    .row = "",
                                    .rows_name = "",
                                    .fold_name = "",
                                    .flags = GROUP_ONCE,
                                    .help = "Facts.",
                                    GROUP_METRICS (facts_metrics) };
static const struct group *const groups[] = { &disk, &facts };

static void
check (enum list_format format, const char *expected)
{
  struct buffer out = { 0 };

  list_groups (&out, format, groups, 2);
  buffer_add (&out, "", 1);
  if (format == LIST_MARKDOWN) {
    assert_memory_equal (out.data, "# Metrics\n", 10);
    assert_non_null (strstr (out.data, "\n## "));
    assert_string_equal (strstr (out.data, "\n## "), expected);
  } else {
    assert_string_equal (out.data, expected);
  }
  buffer_free (&out);
}

static void
test_text (void **state)
{
  (void) state;
  check (LIST_TEXT, "    metric    kind     unit     fold  meaning\n"
                    "\n"
                    "disk: Disks.\n"
                    "    Left out: some (ram*).\n"
                    "    *: for each device, in \"devices\"; all of them in \"total\"\n"
                    "  * reads     counter  -        sum   Reads | done.\n"
                    "  * busy      share    percent  max   Time in use.\n"
                    "    spindles  gauge    -        none  How many.\n"
                    "\n"
                    "facts: Facts.\n"
                    "    kernel    text     -        none  A \"name\".\n"
                    "\n"
                    "A counter shows its change in the period, a share the percentage of the period that it grew by, a "
                    "gauge its value.\n");
}

static void
test_json (void **state)
{
  (void) state;
  check (LIST_JSON,
         "{\"groups\":[{\"name\":\"disk\",\"section\":\"system_data\",\"row\":\"device\",\"rows_name\":\"devices\","
         "\"fold_name\":\"total\",\"once\":false,\"by_rows\":true,\"help\":\"Disks.\",\"left_out\":\"some "
         "(ram*).\",\"metrics\":["
         "{\"name\":\"reads\",\"kind\":\"counter\",\"unit\":\"\",\"fold\":\"sum\",\"share\":false,\"of_node\":false,"
         "\"counts\":false,\"shared\":false,\"help\":\"Reads | done.\"},"
         "{\"name\":\"busy\",\"kind\":\"counter\",\"unit\":\"seconds\",\"fold\":\"max\",\"share\":true,"
         "\"of_node\":false,\"counts\":true,\"shared\":false,\"help\":\"Time in use.\"},"
         "{\"name\":\"spindles\",\"kind\":\"gauge\",\"unit\":\"\",\"fold\":\"none\",\"share\":false,"
         "\"of_node\":true,\"counts\":false,\"shared\":false,\"help\":\"How many.\"}]},"
         "{\"name\":\"facts\",\"section\":\"\",\"row\":\"\",\"rows_name\":\"\",\"fold_name\":\"\",\"once\":true,"
         "\"by_rows\":false,\"help\":\"Facts.\",\"left_out\":\"\",\"metrics\":["
         "{\"name\":\"kernel\",\"kind\":\"text\",\"unit\":\"\",\"fold\":\"none\",\"share\":false,\"of_node\":true,"
         "\"counts\":false,\"shared\":false,\"help\":\"A \\\"name\\\".\"}]}]}\n");
}

static void
test_markdown (void **state)
{
  (void) state;
  check (LIST_MARKDOWN,
         "\n## disk\n\n"
         "Disks. Each device lies under `system_data.disk.devices`, and all of them, combined by the fold of each "
         "metric, under "
         "`system_data.disk.total`. In combined reports `min` and `max` are over the rows of all nodes.\n\n"
         "Left out: some (ram\\*).\n\n"
         "| metric | key in the report | kind | unit | fold | meaning |\n"
         "| --- | --- | --- | --- | --- | --- |\n"
         "| `reads` | `system_data.disk.devices.<device>.reads` | counter | - | sum | Reads \\| done. |\n"
         "| `busy` | `system_data.disk.devices.<device>.busy` | share | percent | max | Time in use. |\n"
         "| `spindles` | `system_data.disk.spindles` | gauge | - | none | How many. |\n"
         "\n## facts\n\n"
         "Facts. Sent once a session, and again when the aggregator has begun anew.\n\n"
         "| metric | key in the report | kind | unit | fold | meaning |\n"
         "| --- | --- | --- | --- | --- | --- |\n"
         "| `kernel` | `facts.kernel` | text | - | none | A \"name\". |\n");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_text),
    cmocka_unit_test (test_json),
    cmocka_unit_test (test_markdown),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
