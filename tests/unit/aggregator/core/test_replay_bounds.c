/* What replay asks for is bounded, whatever agents say or do not say, and however many of them miss everything at
 * once. */
#include "tests/unit/aggregator/core/replay_scene.h"

/* ---- agents that do not do what they say ---- */

static void
test_agent_without_a_ring (void **state)
{
  struct bench *bench = *state;

  start_all ();
  scene->agents[0].ring_from[0] = 0; /* what says that it cannot */
  hello (0);
  sample_gap (0, 1);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_counts (bench->cluster)->replay_requested, 0);
}

static void
test_switched_off (void **state)
{
  struct bench *bench = *state;

  start_cluster (0, false);
  start_all ();
  sample_gap (0, 1);
  begin_session (0);
  sample (0);
  settle ();
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_counts (bench->cluster)->replay_requested, 0);
}

/* It is asked ever more seldom, then its frames are lost; the others do not wait for it. */
static void
test_mute_agent (void **state)
{
  struct bench *bench = *state;

  start_all ();
  scene->agents[0].mute = true;
  for (size_t i = 0; i < 2; i++)
    sample_gap (i, 1);
  answer_for (15 * NS_PER_S / 2);
  assert_int_equal (scene->seen[1][0][2], 1);
  assert_int_equal (scene->seen[0][0][2], 0);
  settle ();
  assert_int_equal (check_all (), 1);
  assert_int_equal (cluster_counts (bench->cluster)->replay_timeouts, 6);
}

/* Its link is cut for long while it is asked: what its ring holds still is asked for when it is back. */
static void
test_cut_in_a_replay (void **state)
{
  struct bench *bench = *state;

  start_all ();
  sample_gap (0, 1);
  scene->agents[0].alive = false;
  answer_for (300 * NS_PER_S);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 1);
  scene->agents[0].alive = true;
  settle_whole ();
  assert_int_equal (scene->lost, 0);
}

/* Frames and ends that were not asked for, of another node, broken ones: refused and counted, and nothing changes. */
static void
test_what_was_not_asked_for (void **state)
{
  struct bench *bench = *state;
  struct control end_message = { .type = CONTROL_REPLAY_END, .session = 1, .from = 1, .to = 64, .sent = 64 };
  struct control broken = { .type = CONTROL_REPLAYED, .frame = (const uint8_t *) "nothing", .frame_length = 7 };
  struct buffer bytes = { 0 }, foreign = { 0 };
  const struct cluster_counts *counts = cluster_counts (bench->cluster);

  start_all ();
  for (int i = 0; i < 5; i++)
    sample (0);
  write_frame (&bytes, "n1", 1, 900);
  write_frame (&foreign, "n2", 1001, 900);
  for (int i = 0; i < 100; i++) {
    say_control (0, &(struct control){ .type = CONTROL_REPLAYED,
                                       .frame = (const uint8_t *) bytes.data,
                                       .frame_length = bytes.length });
    say_control (0, &end_message);
  }
  assert_int_equal (counts->replay_refused, 200);
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n1", "replay"), 1);
  say_control (0, &broken);
  assert_int_equal (counts->frames_malformed, 1);
  say_control (0, &(struct control){ .type = CONTROL_REPLAYED,
                                     .frame = (const uint8_t *) foreign.data,
                                     .frame_length = foreign.length });
  assert_int_equal (counts->wrong_node, 1);
  buffer_free (&bytes);
  buffer_free (&foreign);
  settle_whole ();
  assert_int_equal (scene->late, 0);
}

/* A hello may claim any range: memory and requests stay bounded, and it ends. */
static void
test_claims (void **state)
{
  struct bench *bench = *state;
  struct control message = { .type = CONTROL_HELLO,
                             .session = 500,
                             .first_sequence = 1,
                             .last_sequence = INT64_MAX,
                             .period_ns = NS_PER_S,
                             .version = "9",
                             .node = "n1" };

  /* Only the count of the gap event matters here: it has more frames than the scene can hold. */
  start_cluster_for (&(struct cluster_output){ .context = bench, .event = see_event, .answer = take_answer }, 1000,
                     true);
  scene->agents[0].sessions[0] = 500;
  scene->agents[0].session_count = 1;
  scene->agents[0].alive = scene->agents[0].mute = true;
  for (size_t i = 0; i < CONTROL_HELD_MAX; i++)
    message.held[message.held_count++] = (struct control_held){ 600 + i, 1, INT64_MAX };
  say_control (0, &message);
  say_schema (0);
  assert_true (cluster_find (bench->cluster, "n1")->replay.missing.count <= CONTROL_HELD_MAX + 1);
  assert_int_equal (cluster_counts (bench->cluster)->missing, (CONTROL_HELD_MAX + 1) * (UINT64_C (1) << 20));
  for (int i = 0; i < 500 * CONTROL_HELD_MAX; i++) {
    pass (bench, 250 * NS_PER_MS);
    scene->requests.length = 0;
  }
  assert_int_equal (cluster_counts (bench->cluster)->missing, 0);
  assert_true (cluster_counts (bench->cluster)->replay_requested <= (CONTROL_HELD_MAX + 1) * 6);
}

/* ---- a storm ---- */

/* All nodes miss everything at once: what is under way stays within the window, and what comes in within the rate. */
static void
test_rate (void **state)
{
  struct bench *bench = *state;
  const double rate = 100;
  size_t before = 0;

  start_cluster (rate, false);
  start_all ();
  for (size_t i = 0; i < NODES; i++)
    sample_gap (i, 1000);
  pass (bench, 5 * NS_PER_S); /* clocks are waited for in vain */
  for (int i = 0; i < 100; i++) {
    pass (bench, NS_PER_S);
    answer_all ();
    assert_true (scene->late - before <= (size_t) rate + (NODES + 1) * REPLAY_WINDOW_FRAMES);
    assert_true (i < 5 || scene->late <= (size_t) (rate * (i + 6)) + NODES * REPLAY_WINDOW_FRAMES);
    assert_true (scene->under_way <= REPLAY_SLOTS);
    before = scene->late;
  }
  settle_whole ();
  assert_int_equal (scene->late, NODES * 1000);
}

/* That many nodes miss 300 frames each, and are not asked for them yet. */
static void
miss_some (struct bench *bench, size_t nodes)
{
  start_cluster (1000, false);
  scene->nearly_full = NODES;
  start_all ();
  for (size_t i = 0; i < nodes; i++)
    sample_gap (i, 300);
  pass (bench, 5 * NS_PER_S);
  assert_int_equal (cluster_counts (bench->cluster)->missing, nodes * 300);
  assert_int_equal (scene->under_way, 0);
}

/* As long as history has no room for what they send; each for itself. */
static void
test_held (void **state)
{
  struct bench *bench = *state;

  miss_some (bench, 2);
  pass (bench, 60 * NS_PER_S);
  assert_int_equal (scene->under_way, 0);
  scene->nearly_full = 1;
  for (int i = 0; i < 100; i++)
    answer_for (250 * NS_PER_MS);
  assert_int_equal (scene->late, 300);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 300);
  scene->nearly_full = 0;
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1);
  settle_whole ();
  assert_int_equal (scene->late, 600);
}

/* As long as what came waits to be handled: the machine has more to do than it can. */
static void
test_behind (void **state)
{
  struct bench *bench = *state;

  miss_some (bench, 1);
  scene->wait_ns = 300 * NS_PER_MS;
  scene->nearly_full = 0;
  for (int i = 0; i < 50; i++) {
    bench->now_ns += 20 * NS_PER_MS;
    sample (1);
    cluster_ask_replay (bench->cluster, now (bench));
  }
  assert_int_equal (scene->under_way, 0);
  scene->wait_ns = 0;
  bench->now_ns += 100 * NS_PER_MS;
  sample (1);
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1);
  settle_whole ();
  assert_int_equal (scene->late, 300);
}

/* What is asked for counts, not only what came: many nodes at once are not many windows at once. */
static void
test_asked_for_counts (void **state)
{
  struct bench *bench = *state;

  miss_some (bench, NODES);
  scene->nearly_full = 0;
  for (int i = 0; i < 3; i++)
    cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1); /* 50 frames may come at once */
  bench->now_ns += 10 * NS_PER_MS;
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1); /* 10 more: those that were asked for, 64, are not paid */
  bench->now_ns += 10 * NS_PER_MS;
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 2);
  settle_whole ();
  assert_int_equal (scene->late, NODES * 300);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    REPLAY_TEST (test_agent_without_a_ring),
    REPLAY_TEST (test_switched_off),
    REPLAY_TEST (test_mute_agent),
    REPLAY_TEST (test_cut_in_a_replay),
    REPLAY_TEST (test_what_was_not_asked_for),
    REPLAY_TEST (test_claims),
    REPLAY_TEST (test_rate),
    REPLAY_TEST (test_held),
    REPLAY_TEST (test_behind),
    REPLAY_TEST (test_asked_for_counts),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
