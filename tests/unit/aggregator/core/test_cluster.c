/* The cluster's core: who is up, what is lost, whose frames count. */
#include "tests/unit/aggregator/core/cluster_bench.h"

/* ---- states ---- */

static void
test_states (void **state)
{
  struct bench *bench = *state;

  assert_int_equal (state_of (bench, "n1"), NODE_NEVER);
  bring_up (bench, "n1", 7);
  assert_int_equal (state_of (bench, "n1"), NODE_UP);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", "new"), 1);
  pass (bench, 3 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_UP);
  pass (bench, NS_PER_S / 2);
  assert_int_equal (state_of (bench, "n1"), NODE_STALE);
  pass (bench, 6 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_STALE);
  pass (bench, NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_DOWN);
  send_plain (bench, "n1", 7, 2);
  assert_int_equal (state_of (bench, "n1"), NODE_UP);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", "back"), 1);
  assert_int_equal (count_events (bench, EVENT_NODE_STALE, NULL, NULL), 1);
  assert_int_equal (count_events (bench, EVENT_NODE_DOWN, NULL, NULL), 1);
  assert_int_equal (state_of (bench, "n2"), NODE_NEVER);
}

static void
test_period_of_the_hello_counts (void **state)
{
  struct bench *bench = *state;

  send_hello (bench, "n1", "n1", 7, 60 * NS_PER_S);
  send_good_schema (bench, "n1");
  send_plain (bench, "n1", 7, 1);
  pass (bench, 170 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_UP);
  pass (bench, 11 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_STALE);

  send_hello (bench, "n2", "n2", 8, 10 * NS_PER_MS); /* three of its periods are less than a second */
  send_plain (bench, "n2", 8, 1);
  pass (bench, 900 * NS_PER_MS);
  assert_int_equal (state_of (bench, "n2"), NODE_UP);
  pass (bench, 350 * NS_PER_MS);
  assert_int_equal (state_of (bench, "n2"), NODE_STALE);
}

static void
test_own_pause_is_not_held_against_nodes (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  pass (bench, NS_PER_S);
  bench->now_ns += 60 * NS_PER_S; /* the aggregator was stopped */
  cluster_tick (bench->cluster, now (bench));
  assert_int_equal (state_of (bench, "n1"), NODE_UP);
  pass (bench, 4 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_STALE);
}

/* ---- sequence and sessions ---- */

static void
test_gap_and_duplicate (void **state)
{
  struct bench *bench = *state;
  const struct seen_event *gap;

  bring_up (bench, "n1", 7);
  send_plain (bench, "n1", 7, 2);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
  send_plain (bench, "n1", 7, 6);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  gap = &bench->events[bench->event_count - 1];
  assert_int_equal (gap->from, 3);
  assert_int_equal (gap->to, 5);
  assert_int_equal (gap->count, 3);
  assert_int_equal (cluster_find (bench->cluster, "n1")->lost, 3);
  assert_int_equal (bench->frames, 3);
  send_plain (bench, "n1", 7, 6);
  send_plain (bench, "n1", 7, 4);
  assert_int_equal (bench->frames, 3);
  assert_int_equal (cluster_counts (bench->cluster)->duplicates, 2);
}

/* One gap event a second: the first at once, then all that gathered. */
static void
test_many_gaps (void **state)
{
  struct bench *bench = *state;
  const struct seen_event *gap;

  bring_up (bench, "n1", 7);
  for (uint64_t sequence = 3; sequence <= 2001; sequence += 2)
    send_plain (bench, "n1", 7, sequence);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_counts (bench->cluster)->lost, 1000);
  pass (bench, NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 2);
  gap = &bench->events[bench->event_count - 1];
  assert_int_equal (gap->from, 4);
  assert_int_equal (gap->to, 2000);
  assert_int_equal (gap->count, 999);
  assert_int_equal (gap->session, 7);
  pass (bench, NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 2);
}

static void
test_far_jump_is_malformed (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  send_plain (bench, "n1", 7, (UINT64_C (1) << 32) + 2);
  send_plain (bench, "n1", 7, INT64_MAX);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
  assert_int_equal (cluster_counts (bench->cluster)->frames_malformed, 2);
  assert_int_equal (cluster_find (bench->cluster, "n1")->lost, 0);
  send_plain (bench, "n1", 7, (UINT64_C (1) << 32) + 1); /* the farthest that is taken */
  assert_int_equal (cluster_find (bench->cluster, "n1")->lost, UINT32_MAX);
  assert_int_equal (bench->frames, 2);
}

/* An agent that begins anew all the time is told once a second, with its last session. */
static void
test_many_restarts (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  for (uint64_t session = 100; session < 1100; session++)
    send_plain (bench, "n1", session, 1);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", NULL), 1);
  pass (bench, NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", "restart"), 1);
  assert_int_equal (bench->events[bench->event_count - 1].session, 1099);
  pass (bench, NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", NULL), 2);
}

static void
test_first_frame_is_no_gap (void **state)
{
  struct bench *bench = *state;

  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  send_good_schema (bench, "n1");
  send_plain (bench, "n1", 7, 500);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
  assert_int_equal (bench->frames, 1);
}

static void
test_before_is_the_last_good_table (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  assert_false (bench->last_had_before);
  send_plain (bench, "n1", 7, 2);
  assert_true (bench->last_had_before);
  send_plain (bench, "n1", 8, 1); /* another session: nothing to compare with */
  assert_false (bench->last_had_before);
}

static void
test_restart (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  pass (bench, NS_PER_S);
  send_hello (bench, "n1", "n1", 8, NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", NULL), 1); /* a frame makes it so */
  send_plain (bench, "n1", 7, 2);                                        /* the last of the old one was under way */
  send_plain (bench, "n1", 8, 1);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", "restart"), 1);
  assert_int_equal (count_events (bench, EVENT_DUPLICATE_NODE, NULL, NULL), 0);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
  assert_int_equal (bench->frames, 2);
  assert_int_equal (bench->answers[0].last_sequence, 0);
  send_hello (bench, "n1", "n1", 8, NS_PER_S);
  assert_int_equal (bench->answers[bench->answer_count - 1].last_sequence, 1);
}

static void
test_twins (void **state)
{
  struct bench *bench = *state;
  uint64_t older = 1, newer = 0;

  bring_up (bench, "n1", 7);
  pass (bench, NS_PER_S);
  send_hello (bench, "n1", "n1", 8, NS_PER_S);
  for (int i = 0; i < 130; i++) { /* both alive for two minutes and more */
    send_plain (bench, "n1", 7, ++older);
    send_plain (bench, "n1", 8, ++newer);
    assert_int_equal (bench->last_sequence, newer);
    pass (bench, NS_PER_S);
  }
  assert_int_equal (bench->frames, 1 + 130);
  assert_int_equal (cluster_counts (bench->cluster)->duplicate_session, 130);
  assert_int_equal (count_events (bench, EVENT_DUPLICATE_NODE, "n1", NULL), 3); /* one a minute */
  send_hello (bench, "n1", "n1", 7, NS_PER_S); /* its connection came back: that makes it no newer */
  send_plain (bench, "n1", 8, ++newer);
  assert_int_equal (bench->last_sequence, newer);

  for (int i = 0; i < 6; i++) { /* the newer one leaves */
    pass (bench, NS_PER_S);
    send_plain (bench, "n1", 7, ++older);
  }
  assert_int_equal (state_of (bench, "n1"), NODE_UP);
  assert_int_equal (bench->last_sequence, older);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", "back"), 1);
  assert_int_equal (count_events (bench, EVENT_NODE_DOWN, NULL, NULL), 0);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
}

/* ---- what a node's tables take ---- */

#define MANY 14

static const struct metric wide_metrics[] = {
  { "a", COUNTER, .help = "" }, { "b", COUNTER, .help = "" }, { "c", COUNTER, .help = "" }, { "d", COUNTER, .help = "" }
};

static void
send_rows (struct bench *bench, const struct schema *schema, size_t group, size_t rows, uint64_t sequence)
{
  struct frame_header header = { .node = "n1", .session = 7, .sequence = sequence, .monotonic_ns = bench->now_ns };
  struct table first, table;
  const struct table *tables[] = { &first, &table };
  struct buffer bytes = { 0 };

  memcpy (header.schema, schema->hash, SCHEMA_HASH_SIZE);
  table_init (&first, schema->groups[0]);
  table_add_row (&first, "0", 1);
  table_init (&table, schema->groups[group]);
  for (size_t row = 0; row < rows; row++) {
    char label[16];
    table_add_row (&table, label, (size_t) snprintf (label, sizeof label, "%zu", row));
  }
  frame_write (&bytes, &header, schema, tables, 2);
  deliver (bench, "n1", CLUSTER_DATA, &bytes);
  buffer_free (&bytes);
  table_free (&first);
  table_free (&table);
}

static size_t
bytes_of_tables (const struct bench *bench)
{
  const struct node *node = cluster_find (bench->cluster, "n1");
  size_t bytes = 0;

  for (size_t i = 0; i < MANY; i++)
    if (node->groups[i])
      bytes +=
          table_bytes (node->groups[i]->now) + (node->groups[i]->before ? table_bytes (node->groups[i]->before) : 0);
  return bytes;
}

static void
test_tables_are_bounded (void **state)
{
  struct bench *bench = *state;
  struct group made[MANY];
  const struct group *list[MANY];
  char names[MANY][16];
  struct schema *schema;
  uint64_t sequence = 0, rejected;

  for (size_t i = 0; i < MANY; i++) {
    snprintf (names[i], sizeof names[i], "g%zu", i);
    made[i] = (struct group){ names[i], "", "row", "rows", "", 0, "", GROUP_METRICS (wide_metrics) };
    list[i] = &made[i];
  }
  schema = schema_create (list, MANY);
  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  send_rows (bench, schema, 1, 1, ++sequence); /* asks for the schema */
  send_schema (bench, "n1", schema->hash, schema->encoded.data, schema->encoded.length);
  for (size_t i = 0; i < 2 * (MANY - 1); i++)
    send_rows (bench, schema, 1 + i / 2, TABLE_ROWS_MAX - 1, ++sequence);
  rejected = cluster_find (bench->cluster, "n1")->rejected;
  assert_in_range (rejected, 1, 2 * (MANY - 1) - 1);
  assert_true (count_events (bench, EVENT_REJECTED, "n1", "frame") > 0);
  assert_in_range (bytes_of_tables (bench), 1, NODE_TABLES_MAX);
  for (size_t i = 0; i < 4 * (MANY - 1); i++) /* small ones are welcome, and make room again */
    send_rows (bench, schema, 1 + i / 4, 1, ++sequence);
  assert_int_equal (cluster_find (bench->cluster, "n1")->rejected, rejected);
  assert_in_range (bytes_of_tables (bench), 1, 64 * 1024);
  schema_destroy (schema);
}

/* ---- whose it is ---- */

static void
test_wrong_node (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  for (int i = 0; i < 5; i++)
    send_frame (bench, &(struct made_frame){ .user = "n2", .node = "n1", .session = 7, .sequence = 100 });
  send_hello (bench, "n2", "n1", 9, NS_PER_S);
  assert_int_equal (cluster_counts (bench->cluster)->wrong_node, 6);
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n2", "wrong_node"), 1);
  for (int i = 0; i < 118; i++) { /* for as long as nobody mends it: once a minute, with all that was left out */
    pass (bench, NS_PER_S / 2);
    send_frame (bench, &(struct made_frame){ .user = "n2", .node = "n1", .session = 7, .sequence = 100 });
  }
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n2", "wrong_node"), 1);
  pass (bench, 2 * NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n2", "wrong_node"), 2);
  assert_int_equal (bench->events[bench->event_count - 1].count, 123);
  send_plain (bench, "n1", 7, 2);
  assert_int_equal (bench->frames, 2);
  assert_int_equal (cluster_find (bench->cluster, "n1")->lost, 0);
  assert_int_equal (state_of (bench, "n2"), NODE_NEVER);
}

/* Of a key that has too many: whose it is, how many, and why. */
static void
test_connections_refused (void **state)
{
  struct bench *bench = *state;

  cluster_connections_refused (bench->cluster, "n1", 284, 8, now (bench));
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n1", "connection"), 1);
  assert_int_equal (bench->events[0].count, 284);
  assert_non_null (strstr (bench->events[0].text, "8 connections to a port"));
  cluster_connections_refused (bench->cluster, "n1", 5, 8, now (bench));
  cluster_connections_refused (bench->cluster, "nobody", 5, 8, now (bench)); /* revoked meanwhile */
  pass (bench, 61 * NS_PER_S);
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n1", "connection"), 2);
  assert_int_equal (cluster_counts (bench->cluster)->connections_refused, 289);
  assert_int_equal (cluster_find (bench->cluster, "n1")->rejected, 0); /* which no message was */
}

static void
test_revoked_and_replaced (void **state)
{
  struct bench *bench = *state;
  int64_t before = bench->now_ns;

  bring_up (bench, "n1", 7);
  bring_up (bench, "n2", 8);
  pass (bench, NS_PER_S);
  key_set_destroy (bench->keys);
  bench->keys = key_set_create ();
  list_node (bench, "n2", 2); /* n1 is gone, n2 has another key */
  list_node (bench, "n3", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  assert_int_equal (cluster_node_count (bench->cluster), 2);
  assert_null (cluster_find (bench->cluster, "n1"));
  assert_int_equal (state_of (bench, "n2"), NODE_NEVER);
  assert_int_equal (count_events (bench, EVENT_NODE_REVOKED, "n1", "revoked"), 1);
  assert_int_equal (count_events (bench, EVENT_NODE_REVOKED, "n2", "replaced"), 1);
  assert_int_equal (cluster_schema_count (bench->cluster), 0);
  send_plain (bench, "n1", 7, 2);
  bench->now_ns = before; /* it was waiting in the queue: by the old key */
  send_plain (bench, "n2", 8, 2);
  assert_int_equal (cluster_counts (bench->cluster)->unlisted, 2);
  assert_int_equal (bench->frames, 2);
  assert_int_equal (state_of (bench, "n2"), NODE_NEVER);
}

/* The connection may outlive it all. The session counts as not known, so that the agent says hello again. */
static void
test_replaced_by_its_own_agent (void **state)
{
  struct control probe = { .type = CONTROL_PROBE, .session = 7, .has_last = true };
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  assert_int_equal (bench->clock_session, 7);
  key_set_destroy (bench->keys);
  bench->keys = key_set_create ();
  list_node (bench, "n1", 2);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  pass (bench, NS_PER_S);
  send_plain (bench, "n1", 7, 2);
  for (int i = 0; i < 4; i++)
    probe.last[i] = bench->now_ns;
  send_control (bench, "n1", &probe);
  assert_int_equal (bench->clock_session, 0);
  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  assert_int_equal (bench->clock_session, 7);
  send_good_schema (bench, "n1");
  send_plain (bench, "n1", 7, 3);
  assert_int_equal (bench->frames, 3);
  assert_int_equal (cluster_counts (bench->cluster)->lost, 0);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, "n1", "back"), 1);
}

/* An error that tells of some values says nothing against the others: they are compared with those before. */
static void
test_before_has_an_error (void **state)
{
  struct bench *bench = *state;

  bring_up (bench, "n1", 7);
  for (uint64_t sequence = 2; sequence < 5; sequence++) {
    send_frame (
        bench,
        &(struct made_frame){
            .user = "n1", .session = 7, .sequence = sequence, .bytes = sequence, .error = "/proc/x: cut short" });
    assert_true (bench->last_had_before);
    assert_int_equal (bench->last_bytes_before, sequence == 2 ? 0 : sequence - 1);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    BENCH_TEST (test_states),
    BENCH_TEST (test_before_has_an_error),
    BENCH_TEST (test_period_of_the_hello_counts),
    BENCH_TEST (test_own_pause_is_not_held_against_nodes),
    BENCH_TEST (test_gap_and_duplicate),
    BENCH_TEST (test_many_gaps),
    BENCH_TEST (test_far_jump_is_malformed),
    BENCH_TEST (test_many_restarts),
    BENCH_TEST (test_first_frame_is_no_gap),
    BENCH_TEST (test_before_is_the_last_good_table),
    BENCH_TEST (test_restart),
    BENCH_TEST (test_twins),
    BENCH_TEST (test_tables_are_bounded),
    BENCH_TEST (test_wrong_node),
    BENCH_TEST (test_connections_refused),
    BENCH_TEST (test_revoked_and_replaced),
    BENCH_TEST (test_replaced_by_its_own_agent),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
