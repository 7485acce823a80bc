/* The cluster's core: schemas, the frames that wait for them, rubbish, many nodes. What a node with a listed key can do
 * to the others: nothing. */
#include "tests/unit/aggregator/core/cluster_bench.h"

/* ---- schemas ---- */

static void
test_frames_wait_for_their_schema (void **state)
{
  struct bench *bench = *state;

  send_plain (bench, "n1", 7, 1); /* before the hello: there is nowhere to ask */
  assert_int_equal (bench->answer_count, 0);
  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  assert_int_equal (bench->answers[0].type, CONTROL_WELCOME);
  assert_false (bench->answers[0].known);
  send_plain (bench, "n1", 7, 2);
  send_plain (bench, "n2", 8, 1); /* the schema is on its way: it need not send it too */
  send_hello (bench, "n2", "n2", 8, NS_PER_S);
  assert_true (bench->answers[bench->answer_count - 1].known);
  assert_int_equal (count_answers (bench, CONTROL_SCHEMA_REQUEST), 0);
  assert_int_equal (bench->frames, 0);
  send_good_schema (bench, "n1");
  assert_int_equal (bench->frames, 3);
  assert_int_equal (cluster_counts (bench->cluster)->frames_held_dropped, 0);
  assert_int_equal (count_events (bench, EVENT_SCHEMA_NEW, NULL, NULL), 1);
  assert_int_equal (cluster_schema_count (bench->cluster), 1);
  send_good_schema (bench, "n1"); /* once more, by chance: nobody minds, and it is not kept twice */
  assert_int_equal (cluster_schema_count (bench->cluster), 1);
  assert_int_equal (cluster_counts (bench->cluster)->schema_refused, 0);
}

/* The frame with the facts may be lost, when the data channel comes up later than the control channel. */
static void
test_missing_facts_are_asked_for (void **state)
{
  struct bench *bench = *state;
  size_t before;

  bring_up (bench, "n1", 7);
  before = count_answers (bench, CONTROL_WELCOME);
  send_plain (bench, "n1", 7, 2);
  assert_int_equal (count_answers (bench, CONTROL_WELCOME), before); /* they may be on their way */
  for (uint64_t i = 0; i < 100; i++) {
    pass (bench, NS_PER_S);
    send_plain (bench, "n1", 7, 3 + i);
    if (i == 1)
      assert_int_equal (count_answers (bench, CONTROL_WELCOME), before + 1);
  }
  assert_int_equal (count_answers (bench, CONTROL_WELCOME), before + 5); /* a node without them is left in peace */
  assert_true (bench->answers[bench->answer_count - 1].known);
  before = count_answers (bench, CONTROL_WELCOME);
  send_plain (bench, "n1", 8, 1); /* and asked anew when it restarts, once it has said hello */
  pass (bench, 2 * NS_PER_S);
  send_plain (bench, "n1", 8, 2);
  assert_int_equal (count_answers (bench, CONTROL_WELCOME), before);
}

static void
test_schema_is_asked_for_again (void **state)
{
  struct bench *bench = *state;

  send_hello (bench, "n1", "n1", 7, NS_PER_S); /* is asked, and stays mute */
  send_hello (bench, "n2", "n2", 8, NS_PER_S);
  pass (bench, NS_PER_S / 2);
  assert_int_equal (count_answers (bench, CONTROL_SCHEMA_REQUEST), 1); /* so the other is */
  pass (bench, 10 * NS_PER_S);
  assert_in_range (count_answers (bench, CONTROL_SCHEMA_REQUEST), 4, 12);
}

static void
test_held_frames_are_bounded (void **state)
{
  struct bench *bench = *state;

  for (uint64_t i = 1; i <= 100; i++)
    send_plain (bench, "n1", 7, i);
  assert_int_equal (cluster_find (bench->cluster, "n1")->held_count, 16);
  assert_int_equal (cluster_counts (bench->cluster)->frames_held_dropped, 84);
  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  send_good_schema (bench, "n1");
  assert_int_equal (bench->frames, 16);
  assert_int_equal (bench->last_sequence, 100);
  assert_int_equal (cluster_find (bench->cluster, "n1")->held_bytes, 0);
}

static void
test_schema_that_is_not_its_hash (void **state)
{
  struct bench *bench = *state;

  send_plain (bench, "n1", 7, 1);
  send_hello (bench, "n1", "n1", 7, NS_PER_S);
  send_schema (bench, "n1", bench->schema->hash, bench->other->encoded.data, bench->other->encoded.length);
  send_schema (bench, "n1", bench->schema->hash, "\x92\x01\xdd\xff\xff\xff\xff", 7);
  assert_int_equal (cluster_counts (bench->cluster)->schema_refused, 2);
  assert_int_equal (cluster_schema_count (bench->cluster), 0);
  send_plain (bench, "n1", 7, 2);
  assert_int_equal (cluster_counts (bench->cluster)->wrong_schema, 1);
  assert_int_equal (bench->frames, 0);
  assert_int_equal (cluster_find (bench->cluster, "n1")->held_count, 0);
  bring_up (bench, "n2", 8); /* the same hash from an honest node */
  assert_int_equal (bench->frames, 1);
}

/* A node with a listed key that makes up schema after schema holds one at most, and none without frames of it. */
static void
test_schema_bomb (void **state)
{
  struct bench *bench = *state;
  struct group group = small_group;
  const struct group *const list[] = { &group };
  char name[32];

  bring_up (bench, "n2", 8);
  group.name = name;
  for (int i = 0; i < 300; i++) {
    struct schema *schema;
    snprintf (name, sizeof name, "bomb_%d", i);
    schema = schema_create (list, 1);
    send_schema (bench, "n1", schema->hash, schema->encoded.data, schema->encoded.length); /* nobody asked */
    send_frame (bench,
                &(struct made_frame){ .user = "n1", .session = 7, .sequence = (uint64_t) i + 1, .schema = schema });
    send_hello (bench, "n1", "n1", 7, NS_PER_S);
    send_schema (bench, "n1", schema->hash, schema->encoded.data, schema->encoded.length);
    schema_destroy (schema);
    pass (bench, NS_PER_S);
    assert_in_range (cluster_schema_count (bench->cluster), 1, 2);
  }
  assert_true (cluster_counts (bench->cluster)->schema_refused >= 300);
  send_plain (bench, "n2", 8, 2);
  assert_int_equal (bench->last_sequence, 2);
}

/* A new schema with each session, four a second: some are taken at once, then one in ten seconds. Nobody else waits. */
static void
test_schemas_are_braked (void **state)
{
  struct bench *bench = *state;
  struct group group = small_group;
  const struct group *const list[] = { &group };
  struct schema *schema = NULL;
  char name[32];
  size_t before;

  group.name = name;
  for (unsigned i = 0; i < 380; i++) {
    snprintf (name, sizeof name, "made_up_%u", i);
    schema_destroy (schema);
    schema = schema_create (list, 1);
    send_frame (bench, &(struct made_frame){ .user = "n1", .session = 7 + i, .sequence = 1, .schema = schema });
    send_schema (bench, "n1", schema->hash, schema->encoded.data, schema->encoded.length);
    pass (bench, NS_PER_S / 4);
  }
  assert_in_range (count_events (bench, EVENT_SCHEMA_NEW, "n1", NULL), 16, 27);
  assert_in_range (count_events (bench, EVENT_OVER_SHARE, "n1", "schemas"), 1, 2);
  assert_in_range (cluster_counts (bench->cluster)->schemas_over_share, 350, 370);
  bring_up (bench, "n2", 8);
  assert_int_equal (count_events (bench, EVENT_SCHEMA_NEW, "n2", NULL), 1);
  before = bench->frames;
  send_schema (bench, "n1", schema->hash, schema->encoded.data, schema->encoded.length);
  assert_int_equal (bench->frames, before);
  pass (bench, 10 * NS_PER_S); /* it has only to wait */
  send_schema (bench, "n1", schema->hash, schema->encoded.data, schema->encoded.length);
  assert_int_equal (bench->frames, before + 1);
  schema_destroy (schema);
}

/* ---- rubbish ---- */

static void
test_rubbish (void **state)
{
  struct bench *bench = *state;
  struct buffer rubbish = { .data = (char[]){ 1, 2, 3, 4 }, .length = 4 };
  struct control probe = { .type = CONTROL_PROBE, .session = 7, .t1 = 42 };

  bring_up (bench, "n1", 7);
  deliver (bench, "n1", CLUSTER_DATA, &rubbish);
  deliver (bench, "n1", CLUSTER_CONTROL, &rubbish);
  rubbish.length = 0;
  deliver (bench, "n1", CLUSTER_DATA, &rubbish);
  rubbish = (struct buffer){ .data = (char[]){ (char) 0x92, 1, 99 }, .length = 3 };
  deliver (bench, "n1", CLUSTER_CONTROL, &rubbish);
  for (size_t cut = 1; cut < 40; cut++)
    send_frame (bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = cut + 1, .cut = cut });
  assert_int_equal (cluster_counts (bench->cluster)->frames_malformed, 41);
  assert_int_equal (cluster_counts (bench->cluster)->control_malformed, 1);
  assert_int_equal (cluster_counts (bench->cluster)->control_unknown, 1);
  assert_int_equal (bench->frames, 1);
  send_control (bench, "n1", &probe); /* the clock desk answers it */
  assert_int_equal (cluster_counts (bench->cluster)->control_malformed, 1);
}

/* ---- many ---- */

static void
test_thousand_nodes (void **state)
{
  struct bench *bench = *state;
  char name[16];

  for (int i = 0; i < 1000; i++) {
    snprintf (name, sizeof name, "m%04d", i);
    list_node (bench, name, 3);
  }
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  assert_int_equal (cluster_node_count (bench->cluster), 1002);
  for (int second = 0; second < 5; second++) {
    for (int i = 0; i < 1000; i++) {
      snprintf (name, sizeof name, "m%04d", i);
      if (second == 0)
        send_hello (bench, name, name, (uint64_t) i + 1, NS_PER_S);
      if (second == 0 && i == 999)
        send_good_schema (bench, "m0000");
      send_plain (bench, name, (uint64_t) i + 1, (uint64_t) second + 1);
    }
    pass (bench, NS_PER_S);
  }
  assert_int_equal (bench->frames, 5000);
  assert_int_equal (cluster_schema_count (bench->cluster), 1);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, NULL, "new"), 1000);
  assert_int_equal (count_answers (bench, CONTROL_SCHEMA_REQUEST), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    BENCH_TEST (test_frames_wait_for_their_schema),
    BENCH_TEST (test_missing_facts_are_asked_for),
    BENCH_TEST (test_schema_is_asked_for_again),
    BENCH_TEST (test_held_frames_are_bounded),
    BENCH_TEST (test_schema_that_is_not_its_hash),
    BENCH_TEST (test_schema_bomb),
    BENCH_TEST (test_schemas_are_braked),
    BENCH_TEST (test_rubbish),
    BENCH_TEST (test_thousand_nodes),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
