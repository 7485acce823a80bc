/* Keys that are revoked, added again and replaced while the agents run: as after a cut link no frame comes twice, and
 * what was sampled meanwhile comes. */
#include "tests/unit/aggregator/core/replay_scene.h"

#include "aggregator/core/missing.h"

/* The keys as they are now: of all agents but the first `without`, of the kind `key`. */
static void
list_keys (size_t without, uint8_t key)
{
  struct bench *bench = scene->bench;

  key_set_destroy (bench->keys);
  bench->keys = key_set_create ();
  for (size_t i = without; i < NODES; i++)
    list_node (bench, scene->agents[i].name, key);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
}

static void
run_all (int frames)
{
  for (int i = 0; i < frames; i++) {
    for (size_t j = 0; j < NODES; j++)
      sample (j);
    answer_for (NS_PER_S);
  }
}

static void
connect_all (void)
{
  for (size_t i = 0; i < NODES; i++) {
    hello (i);
    answer_all ();
  }
}

static void
check_counts (uint64_t replayed)
{
  const struct cluster_counts *counts = cluster_counts (scene->bench->cluster);

  assert_int_equal (counts->replayed, replayed);
  assert_int_equal (counts->lost, 0);
}

static void
check_replaced (void **state, bool history)
{
  start_cluster (10000, history);
  start_all ();
  run_all (50);
  for (uint8_t key = 2; key < 5; key++) {
    list_keys (0, key);
    assert_int_equal (state_of (*state, "n1"), NODE_NEVER);
    connect_all ();
    run_all (5);
  }
  settle_whole ();
  check_counts (0);
}

static void
test_replaced (void **state)
{
  check_replaced (state, false);
}

static void
test_replaced_with_history (void **state)
{
  check_replaced (state, true);
}

/* The agents know nothing of it, and sample on into their rings. */
static void
test_revoked_and_added (void **state)
{
  struct bench *bench = *state;

  start_cluster (10000, true);
  start_all ();
  run_all (50);
  sample_gap (0, 3); /* of them it was about to ask */
  list_keys (NODES, 1);
  assert_int_equal (cluster_node_count (bench->cluster), 0);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 0);
  for (size_t i = 0; i < NODES; i++)
    sample_unheard (i, 20);
  pass (bench, 3600 * NS_PER_S);
  list_keys (0, 1);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 3);
  answer_for (20 * NS_PER_S); /* they are not asked before they are there */
  assert_int_equal (cluster_counts (bench->cluster)->missing, 3);
  sample (1); /* the data channel may be up first */
  connect_all ();
  run_all (5);
  settle_whole ();
  check_counts (3 + 20 * NODES);
  assert_int_equal (count_events (bench, EVENT_NODE_UP, NULL, "back"), NODES);
}

/* The agent was started again meanwhile, with the new key. */
static void
test_replaced_and_started_again (void **state)
{
  (void) state;
  start_all ();
  run_all (20);
  list_keys (1, 1);
  sample_unheard (0, 10);
  begin_cut_off (0);
  sample_unheard (0, 10);
  list_keys (0, 2);
  connect_all ();
  run_all (5);
  settle_whole ();
  check_counts (20);
}

/* Nobody comes back: what is kept of them goes, and what was missing is told. */
static void
test_gone_for_good (void **state)
{
  struct bench *bench = *state;

  start_all ();
  run_all (5);
  sample_gap (0, 3);
  list_keys (NODES, 1);
  bench->now_ns += 24 * 3600 * NS_PER_S;
  pass (bench, 2 * NS_PER_S);
  assert_int_equal (scene->lost, 3);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 0);
  list_keys (0, 1);
  assert_int_equal (cluster_find (bench->cluster, "n2")->sessions[0].id, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    REPLAY_TEST (test_replaced),          REPLAY_TEST (test_replaced_with_history),
    REPLAY_TEST (test_revoked_and_added), REPLAY_TEST (test_replaced_and_started_again),
    REPLAY_TEST (test_gone_for_good),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
