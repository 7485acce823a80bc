/* The groups of nodes with different schemas: each once, with all its metrics and how many nodes have them. */
#include "aggregator/server/group_list.h"
#include "tests/unit/aggregator/core/cluster_bench.h"

static void
bring_up_newer (struct bench *bench, const char *name, uint64_t session)
{
  struct control hello = { .type = CONTROL_HELLO, .session = session, .period_ns = NS_PER_S, .version = "9" };

  strcpy (hello.node, name);
  memcpy (hello.schema_hash, bench->other->hash, SCHEMA_HASH_SIZE);
  send_control (bench, name, &hello);
  send_schema (bench, name, bench->other->hash, bench->other->encoded.data, bench->other->encoded.length);
  send_frame (bench, &(struct made_frame){ .user = name, .session = session, .sequence = 1, .schema = bench->other });
  assert_int_equal (state_of (bench, name), NODE_UP);
}

/* Five nodes that are up: three with the schema of the bench; two with a newer one of the same group, and one more. */
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
  static const char *const more[] = { "n3", "n4", "n5" };

  schema_destroy (bench->other);
  bench->other = schema_create (newer_groups, 2);
  for (size_t i = 0; i < 3; i++)
    list_node (bench, more[i], 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  bring_up_newer (bench, "n3", 9);
  bring_up_newer (bench, "n4", 10);
  bring_up (bench, "n1", 7);
  bring_up (bench, "n2", 8);
  bring_up (bench, "n5", 11);
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

/* A line, up to its metrics; then each of them. */
static void
expect_group (struct buffer *out, const struct group *group, size_t nodes)
{
  buffer_printf (out,
                 "{\"name\":\"%s\",\"section\":\"%s\",\"row\":\"%s\",\"rows_name\":\"%s\",\"fold_name\":\"%s\","
                 "\"once\":%s,\"help\":\"%s\",\"nodes\":%zu,\"metrics\":[",
                 group->name, group->section, group->row, group->rows_name, group->fold_name,
                 group->flags & GROUP_ONCE ? "true" : "false", group->help, nodes);
}

static void
expect_metric (struct buffer *out, const char *before, const char *texts, bool of_node, const char *help, size_t nodes)
{
  buffer_printf (out, "%s{%s,\"share\":false,\"of_node\":%s,\"help\":\"%s\",\"nodes\":%zu}", before, texts,
                 of_node ? "true" : "false", help, nodes);
}

static void
test_schemas_together (void **state)
{
  static const char bytes[] = "\"name\":\"bytes\",\"kind\":\"counter\",\"unit\":\"bytes\",\"fold\":\"sum\"",
                    tasks[] = "\"name\":\"tasks\",\"kind\":\"gauge\",\"unit\":\"\",\"fold\":\"none\"",
                    depth[] = "\"name\":\"depth\",\"kind\":\"gauge\",\"unit\":\"\",\"fold\":\"max\"",
                    name[] = "\"name\":\"name\",\"kind\":\"text\",\"unit\":\"\",\"fold\":\"none\"";
  struct bench *bench = *state;
  struct buffer expected = { 0 };

  fill (bench);
  check (bench, group_list_names, "facts\nother\nsmall\n");
  expect_group (&expected, &fact_group, 3);
  expect_metric (&expected, "", name, true, "Name.", 3);
  buffer_add_string (&expected, "]}\n");
  expect_group (&expected, &other_group, 2);
  expect_metric (&expected, "", bytes, false, "Bytes.", 2);
  expect_metric (&expected, ",", tasks, true, "Tasks.", 2);
  buffer_add_string (&expected, "]}\n");
  expect_group (&expected, &small_group, 5);
  expect_metric (&expected, "", bytes, false, "Bytes.", 5);
  expect_metric (&expected, ",", depth, true, "Depth.", 2);
  expect_metric (&expected, ",", tasks, true, "Tasks.", 3);
  buffer_add_string (&expected, "]}\n");
  check (bench, group_list_json, buffer_text (&expected));
  buffer_free (&expected);
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
