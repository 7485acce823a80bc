/* The groups of nodes with different schemas: each once, with all its metrics and how many nodes have them. */
#include "aggregator/server/group_list.h"
#include "tests/unit/aggregator/core/cluster_bench.h"

/* Three nodes that are up: two with the schema of the bench; n3 with a newer one of the same group, and one more. */
static void
fill (struct bench *bench)
{
  static const struct metric newer_metrics[] = {
    { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Other words." },
    { "depth", GAUGE, UNIT_COUNT, FOLD_MAX, METRIC_OF_NODE, .help = "Depth." },
  };
  static const struct group newer = {
    "small", "system_data", "device", "devices", "total", 0, "Newer.", GROUP_METRICS (newer_metrics)
  };
  static const struct group *const newer_groups[] = { &newer, &other_group };

  struct control hello = { .type = CONTROL_HELLO, .session = 9, .period_ns = NS_PER_S, .version = "9", .node = "n3" };

  schema_destroy (bench->other);
  bench->other = schema_create (newer_groups, 2);
  list_node (bench, "n3", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  bring_up (bench, "n1", 7);
  bring_up (bench, "n2", 8);
  memcpy (hello.schema_hash, bench->other->hash, SCHEMA_HASH_SIZE);
  send_control (bench, "n3", &hello);
  send_schema (bench, "n3", bench->other->hash, bench->other->encoded.data, bench->other->encoded.length);
  send_frame (bench, &(struct made_frame){ .user = "n3", .session = 9, .sequence = 1, .schema = bench->other });
  assert_int_equal (state_of (bench, "n3"), NODE_UP);
}

static void
check (const struct bench *bench, void (*list) (const struct cluster *cluster, struct buffer *out),
       const char *expected)
{
  struct buffer out = { 0 };

  list (bench->cluster, &out);
  assert_string_equal (buffer_text (&out), expected);
  buffer_free (&out);
}

#define SMALL                                                                                                          \
  "{\"name\":\"small\",\"section\":\"system_data\",\"row\":\"device\",\"rows_name\":\"devices\",\"fold_name\":"        \
  "\"total\",\"once\":false,\"help\":\"A group.\",\"nodes\":"
#define METRIC(name, kind, unit, fold, of_node, help, nodes)                                                           \
  "{\"name\":\"" name "\",\"kind\":\"" kind "\",\"unit\":\"" unit "\",\"fold\":\"" fold                                \
  "\",\"share\":false,\"of_node\":" of_node ",\"help\":\"" help "\",\"nodes\":" nodes "}"

static void
test_schemas_together (void **state)
{
  struct bench *bench = *state;

  fill (bench);
  check (bench, group_list_names, "facts\nother\nsmall\n");
  check (bench, group_list_json,
         "{\"name\":\"facts\",\"section\":\"\",\"row\":\"\",\"rows_name\":\"\",\"fold_name\":\"\",\"once\":true,"
         "\"help\":\"Facts.\",\"nodes\":2,\"metrics\":[" METRIC (
             "name", "text", "", "none", "true", "Name.",
             "2") "]}\n"
                  "{\"name\":\"other\",\"section\":\"system_data\",\"row\":\"device\",\"rows_name\":\"devices\",\"fold_"
                  "name\":"
                  "\"total\",\"once\":false,\"help\":\"A group.\",\"nodes\":1,\"metrics\":[" METRIC (
                      "bytes", "counter", "bytes", "sum", "false", "Bytes.",
                      "1") "," METRIC ("tasks", "gauge", "", "none", "true", "Tasks.",
                                       "1") "]}\n" SMALL
                                            "3,\"metrics\":[" METRIC (
                                                "bytes", "counter", "bytes", "sum", "false", "Bytes.",
                                                "3") "," METRIC ("depth", "gauge", "", "max", "true", "Depth.",
                                                                 "1") "," METRIC ("tasks", "gauge", "", "none", "true",
                                                                                  "Tasks.", "2") "]}\n");
}

/* JSON has those of nodes that are up alone. */
static void
test_down (void **state)
{
  struct bench *bench = *state;

  check (bench, group_list_json, "");
  check (bench, group_list_names, "");
  fill (bench);
  pass (bench, 60 * NS_PER_S);
  assert_int_equal (state_of (bench, "n3"), NODE_DOWN);
  check (bench, group_list_json, "");
  check (bench, group_list_names, "facts\nother\nsmall\n");
}

int
main (void)
{
  const struct CMUnitTest tests[] = { BENCH_TEST (test_schemas_together), BENCH_TEST (test_down) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
