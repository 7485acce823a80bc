/* The status as JSON: a node names its facts as it likes, and makes them as large as a frame may be. */
#include "aggregator/server/status.h"
#include "tests/unit/aggregator/core/cluster_bench.h"
#include "tests/unit/json_look.h"

#define TEXTS 20 /* of up to TABLE_TEXT_MAX bytes: more together than is shown */

/* A node with the facts `name`, each text so long; then what the status says of it. */
static const char *
status_with_facts (struct bench *bench, const char *name, size_t length, struct json *json)
{
  struct metric texts[TEXTS];
  char names[TEXTS][8], text[TABLE_TEXT_MAX];
  struct group facts = { name, "", "", "", "", GROUP_ONCE, "Facts.", texts, TEXTS };
  const struct group *const own[] = { &small_group, &facts };
  struct frame_header header = { .node = "n1", .session = 7, .sequence = 1, .monotonic_ns = bench->now_ns };
  struct table tables[2];
  const struct table *sent[] = { &tables[0], &tables[1] };
  struct status status = { .cluster = bench->cluster, .viewer = &viewer_all, .listen = "here", .now = now (bench) };
  struct buffer bytes = { 0 };

  memset (text, 'x', sizeof text);
  for (size_t i = 0; i < TEXTS; i++) {
    snprintf (names[i], sizeof names[i], "t%zu", i);
    texts[i] = (struct metric){ names[i], TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Help." };
  }
  schema_destroy (bench->schema);
  bench->schema = schema_create (own, 2);
  memcpy (header.schema, bench->schema->hash, SCHEMA_HASH_SIZE);
  for (size_t i = 0; i < 2; i++) {
    table_init (&tables[i], own[i]);
    table_begin (&tables[i]);
    tables[i].period_ns = NS_PER_S;
  }
  table_add_row (&tables[0], "d0", 2);
  table_set_uint (&tables[0], 0, 0, 5);
  for (size_t i = 0; i < TEXTS; i++)
    table_set_text (&tables[1], TABLE_NODE, i, text, length);
  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  send_good_schema (bench, "n1");
  frame_write (&bytes, &header, bench->schema, sent, 2);
  deliver (bench, "n1", CLUSTER_DATA, &bytes);
  assert_int_equal (bench->frames, 1);
  buffer_free (&bytes);
  table_free (&tables[0]);
  table_free (&tables[1]);
  status_write_json (&status, json);
  buffer_add (&json->out, "", 1);
  return look (json->out.data, "nodes") + 1; /* the first of the array */
}

static void
check_names (struct bench *bench, const char *name)
{
  struct json json = { 0 };
  const char *node = status_with_facts (bench, name, 3, &json);
  char place[32];

  snprintf (place, sizeof place, "facts/%s/t0", name);
  assert_true (look_is (node, "node", "\"n1\"") && look_is (node, "state", "\"up\""));
  assert_true (look_is (node, place, "\"xxx\""));
  json_free (&json);
}

static void
test_facts_named_node (void **state)
{
  check_names (*state, "node");
}

static void
test_facts_named_state (void **state)
{
  check_names (*state, "state");
}

static void
test_large_facts_are_left_out (void **state)
{
  struct json json = { 0 };
  const char *node = status_with_facts (*state, "large", TABLE_TEXT_MAX, &json);

  assert_true (look_is (node, "facts", "null"));
  assert_true (json.out.length < 4096);
  assert_non_null (strstr (json.out.data, "\"facts\":null},{\"node\":\"n2\""));
  json_free (&json);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    BENCH_TEST (test_facts_named_node),
    BENCH_TEST (test_facts_named_state),
    BENCH_TEST (test_large_facts_are_left_out),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
