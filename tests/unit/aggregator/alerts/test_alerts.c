/* What is wrong, by events; and which frames make such events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/alerts/alerts_past.h"
#include "aggregator/alerts/faults.h"
#include "aggregator/core/node.h"
#include "synop/memory.h"
#include "synop/report.h"

#define MINUTE (60 * NS_PER_S)
#define T0 (1700000000 * NS_PER_S)

static struct alerts alerts;

static int
begin (void **state)
{
  (void) state;
  alerts = (struct alerts){ 0 };
  return 0;
}

static int
finish (void **state)
{
  (void) state;
  alerts_free (&alerts);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, finish)

static void
take (int64_t minute, const char *line)
{
  assert_true (alerts_take_line (&alerts, T0 + minute * MINUTE, line, strlen (line)));
}

/* "n1: text; " of those that stand then. */
static const char *
standing (int64_t minute, alert_still_fn *still)
{
  static char text[2000];
  struct json json = { 0 };
  char *rest;

  alerts_write (&alerts, &viewer_all, T0 + minute * MINUTE, still, NULL, &json);
  buffer_add (&json.out, "", 1);
  text[0] = '\0';
  rest = json.out.data;
  for (char *line; (line = strsep (&rest, "\n"));) {
    const char *node = strstr (line, "\"node\":\""), *words = strstr (line, "\"text\":\"");
    if (node && words) {
      strncat (text, node + 8, strcspn (node + 8, "\""));
      strcat (text, ": ");
      strncat (text, words + 8, strcspn (words + 8, "\""));
      strcat (text, "; ");
    }
  }
  json_free (&json);
  return text;
}

static void
test_states_and_groups (void **state)
{
  (void) state;
  take (0, "{\"event\":\"node_stale\",\"node\":\"n2\"}");
  take (0, "{\"event\":\"group_failed\",\"node\":\"n1\",\"groups\":[\"gpu\",\"disk_io\"],\"error\":\"lost\"}");
  assert_string_equal (standing (1, NULL), "n1: disk_io: lost; n1: gpu: lost; n2: stale: it is silent; ");
  take (1, "{\"event\":\"node_down\",\"node\":\"n2\"}");
  take (1, "{\"event\":\"group_recovered\",\"node\":\"n1\",\"groups\":[\"disk_io\"]}");
  assert_string_equal (standing (2, NULL), "n2: down: no frames come; n1: gpu: lost; ");
  take (3, "{\"event\":\"node_up\",\"node\":\"n2\",\"reason\":\"back\"}");
  take (3, "{\"event\":\"node_revoked\",\"node\":\"n1\",\"reason\":\"revoked\"}");
  assert_string_equal (standing (4, NULL), "");
  assert_null (alerts.nodes);
}

static void
test_what_happened_once_is_over_by_itself (void **state)
{
  (void) state;
  take (0, "{\"event\":\"gap\",\"node\":\"n1\",\"lost\":5}");
  take (0, "{\"event\":\"fault\",\"node\":\"n1\",\"metric\":\"gpu.xid_errors\",\"count\":2,\"text\":\"XID errors on "
           "GPU 1\"}");
  take (0, "{\"event\":\"fault\",\"node\":\"n1\",\"metric\":\"gpu.remapped_rows_failed\",\"count\":1,\"text\":\"bad "
           "memory\"}");
  assert_string_equal (standing (9, NULL), "n1: bad memory; n1: XID errors on GPU 1: 2; n1: 5 frames lost; ");
  assert_string_equal (standing (10, NULL), "n1: bad memory; n1: XID errors on GPU 1: 2; ");
  take (30, "{\"event\":\"fault\",\"node\":\"n1\",\"metric\":\"gpu.xid_errors\",\"count\":3,\"text\":\"XID errors on "
            "GPU 1, 2\"}");
  assert_string_equal (standing (89, NULL), "n1: bad memory; n1: XID errors on GPU 1, 2: 5; ");
  assert_string_equal (standing (90, NULL), "n1: bad memory; ");
  take (91, "{\"event\":\"fault\",\"node\":\"n1\",\"metric\":\"gpu.xid_errors\",\"count\":1,\"text\":\"XID errors on "
            "GPU 1\"}");
  assert_string_equal (standing (92, NULL), "n1: bad memory; n1: XID errors on GPU 1: 1; ");
  take (99, "{\"event\":\"fault_over\",\"node\":\"n1\",\"metric\":\"gpu.remapped_rows_failed\"}");
  alerts_forget (&alerts, T0 + 200 * MINUTE);
  assert_null (alerts.nodes);
}

static void
test_the_aggregator_itself (void **state)
{
  (void) state;
  take (0, "{\"event\":\"history_failed\",\"error\":\"no room\",\"not_stored\":3}");
  take (0, "{\"event\":\"clock_step\",\"node\":\"n1\",\"clock\":\"wall\",\"seconds\":-2.5}");
  assert_string_equal (standing (1, NULL),
                       ": the history cannot be written: no room; n1: wall clock jumped by -2.50 s; ");
  take (2, "{\"event\":\"history_resumed\",\"not_stored\":3}");
  assert_string_equal (standing (11, NULL), "");
  assert_false (alerts_take_line (&alerts, T0, "{\"event\":\"of another version\"}", 30));
  assert_false (alerts_take_line (&alerts, T0, "[", 1));
  take (12, "{\"event\":\"rejected\",\"node\":\"n1\",\"count\":3}"); /* without what is usual */
  assert_string_equal (standing (13, NULL), "n1: : ; ");
}

static void
test_a_node_has_so_many (void **state)
{
  char line[200];

  (void) state;
  for (int i = 0; i < 3 * ALERTS_OF_NODE_MAX; i++) {
    snprintf (line, sizeof line, "{\"event\":\"group_failed\",\"node\":\"n1\",\"groups\":[\"g%d\"],\"error\":\"x\"}",
              i);
    take (0, line);
  }
  assert_int_equal (alerts.nodes->count, ALERTS_OF_NODE_MAX);
  assert_string_equal (alerts.nodes->list[ALERTS_OF_NODE_MAX - 1].what, "g191");
}

static bool
only_n2 (const void *context, const char *node, const struct alert *alert)
{
  (void) context;
  return alert->type == EVENT_NODE_DOWN && strcmp (node, "n2") == 0;
}

static void
test_what_is_known_otherwise (void **state)
{
  (void) state;
  take (0, "{\"event\":\"node_down\",\"node\":\"n1\"}");
  take (0, "{\"event\":\"node_down\",\"node\":\"n2\"}");
  assert_string_equal (standing (1, only_n2), "n2: down: no frames come; ");
}

static void
test_since_and_last (void **state)
{
  struct json json = { 0 };

  (void) state;
  take (0, "{\"event\":\"node_stale\",\"node\":\"n1\"}");
  take (1, "{\"event\":\"node_down\",\"node\":\"n1\"}");
  alerts_write (&alerts, T0 + 2 * MINUTE, NULL, NULL, &json);
  buffer_add (&json.out, "", 1);
  assert_string_equal (
      json.out.data,
      "{\"node\":\"n1\",\"alert\":\"node_down\",\"level\":\"alarm\",\"what\":\"\",\"text\":\"down: no frames come\","
      "\"since\":\"2023-11-14T22:13:20.000000000Z\",\"last\":\"2023-11-14T22:14:20.000000000Z\"}\n");
  json_free (&json);
}

/* ---- frames ---- */

static const struct metric gpu_metrics[] = {
  { "xid_errors", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "XIDs." },
  { "remapped_rows_failed", GAUGE, UNIT_BOOLEAN, FOLD_SUM, .help = "Failed." },
};
static const struct metric vm_metrics[] = {
  { "oom_kills", COUNTER, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Kills." },
};
static const struct group gpu = { "gpu",   "system_data", "GPU",   "gpus",
                                  "total", GROUP_ROWS,    "GPUs.", GROUP_METRICS (gpu_metrics) };
static const struct group vm = { "vm", "system_data", "", "", "", 0, "Memory.", GROUP_METRICS (vm_metrics) };
static const struct group *const groups[] = { &vm, &gpu };

static char said[2000];

static void
report (void *context, const struct event *event)
{
  char line[300];

  (void) context;
  snprintf (line, sizeof line, "%s %s %s %s %d; ", event_name (event->type), event->node, event->reason,
            event->text ? event->text : "-", (int) event->count);
  strcat (said, line);
}

struct made {
  uint64_t kills, xid[12];
  bool failed, turned; /* turned: the last GPU is the first row */
};

static void
fill (struct table tables[2], const struct made *made)
{
  for (size_t i = 0; i < 2; i++) {
    table_begin (&tables[i]);
    tables[i].period_ns = NS_PER_S;
  }
  table_set_uint (&tables[0], TABLE_NODE, 0, made->kills);
  for (size_t k = 0; k < 12; k++) {
    size_t i = made->turned ? 11 - k : k;
    char label[8];
    size_t row = table_add_row (&tables[1], label, (size_t) snprintf (label, sizeof label, "%zu", i));
    table_set_uint (&tables[1], row, 0, made->xid[i]);
    table_set_uint (&tables[1], row, 1, made->failed && i == 2);
  }
}

static struct table before[2], now[2];

/* Two frames, one after the other; what is said of the second one. */
static const char *
frames (struct faults *faults, const struct schema *schema, int64_t minute, const struct made *one,
        const struct made *other)
{
  struct node node = { .name = "n1" };
  struct report_group pairs[] = { { &now[0], one ? &before[0] : NULL }, { &now[1], one ? &before[1] : NULL } };

  said[0] = '\0';
  if (one)
    fill (before, one);
  fill (now, other);
  for (size_t i = 0; i < 2; i++)
    now[i].monotonic_ns = before[i].monotonic_ns + NS_PER_S;
  faults_frame (faults, &(struct cluster_frame){
                            .node = &node, .schema = schema, .groups = pairs, .time_ns = T0 + minute * MINUTE });
  return said;
}

static void
test_frames (void **state)
{
  const struct made well = { 0 }, more = { .kills = 2, .xid = { [3] = 1, [11] = 4 } },
                    most = { .kills = 3, .xid = { 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 5 } }, failed = { .failed = true },
                    turned = { .kills = 2, .xid = { [3] = 1, [11] = 4 }, .turned = true };
  struct schema *schema = schema_create (groups, 2);
  struct faults *faults = faults_create (&alerts, NULL, report);

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    table_init (&before[i], groups[i]);
    table_init (&now[i], groups[i]);
  }
  assert_string_equal (frames (faults, schema, 0, NULL, &more), ""); /* counted before it was looked at */
  assert_string_equal (frames (faults, schema, 0, &well, &well), "");
  assert_string_equal (frames (faults, schema, 0, &more, &turned), ""); /* the same values in other rows */
  assert_string_equal (frames (faults, schema, 0, &well, &more),
                       "fault n1 gpu.xid_errors XID errors on GPU 3, 11 5; "
                       "fault n1 vm.oom_kills processes killed for want of memory 2; ");
  assert_string_equal (frames (faults, schema, 0, &more, &well), ""); /* it restarted */
  assert_string_equal (frames (faults, schema, 0, &more, &most), ""); /* within the minute; but it counts */
  assert_string_equal (standing (0, NULL),
                       "n1: XID errors on GPU 3, 11: 17; n1: processes killed for want of memory: 3; ");
  said[0] = '\0';
  faults_poll (faults, T0 + MINUTE - 1);
  assert_string_equal (said, "");
  faults_poll (faults, T0 + MINUTE);
  assert_string_equal (said, "fault n1 gpu.xid_errors XID errors on GPU 3, 11 12; "
                             "fault n1 vm.oom_kills processes killed for want of memory 1; ");
  faults_poll (faults, T0 + 9 * MINUTE);
  assert_non_null (
      strstr (frames (faults, schema, 10, &more, &most), "XID errors on GPU 0, 1, 2, 3, 4, 5, 6, 7 and others 12; "));

  assert_string_equal (
      frames (faults, schema, 20, NULL, &failed),
      "fault n1 gpu.remapped_rows_failed memory that could not be remapped, to be replaced, on GPU 2 1; ");
  assert_string_equal (frames (faults, schema, 25, NULL, &failed), "");
  assert_string_equal (frames (faults, schema, 35, NULL, &well), ""); /* ten minutes after it was seen */
  assert_string_equal (frames (faults, schema, 36, NULL, &well), "fault_over n1 gpu.remapped_rows_failed - 0; ");
  assert_string_equal (frames (faults, schema, 37, NULL, &well), "");
  for (size_t i = 0; i < 2; i++) {
    table_free (&before[i]);
    table_free (&now[i]);
  }
  faults_destroy (faults);
  schema_destroy (schema);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_states_and_groups),
    TEST (test_what_happened_once_is_over_by_itself),
    TEST (test_the_aggregator_itself),
    TEST (test_a_node_has_so_many),
    TEST (test_what_is_known_otherwise),
    TEST (test_since_and_last),
    TEST (test_frames),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
