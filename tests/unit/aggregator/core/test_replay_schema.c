/* Late frames of a schema that the aggregator does not have in memory: what an agent sampled before a reload or an
 * upgrade, of which it could tell nobody. */
#include "tests/unit/aggregator/core/replay_scene.h"

#include "aggregator/core/missing.h"

/* The other groups from now on: a reload, which a hello tells where there is a connection. */
static void
switch_groups (size_t index)
{
  scene->agents[index].other ^= true;
}

/* The aggregator is away while the agents sample, are told to sample other groups, and go on. */
static void
outage (int before, int after)
{
  start_all ();
  for (size_t i = 0; i < NODES; i++) {
    sample_unheard (i, before);
    switch_groups (i);
    sample_unheard (i, after);
  }
}

static void
come_back (void)
{
  for (size_t i = 0; i < NODES; i++) {
    hello (i);
    answer_all ();
    sample (i);
  }
}

static void
test_the_agent_has_it (void **state)
{
  (void) state;
  outage (100, 20);
  start_cluster (10000, true);
  come_back ();
  settle_whole ();
  assert_int_equal (scene->late, NODES * 120);
  assert_in_range (scene->schema_requests, 1, 3); /* one agent's answer serves all */
  assert_int_equal (count_events (scene->bench, EVENT_REJECTED, NULL, NULL), 0);
}

/* ---- in the history ---- */

static const struct buffer *
stored_schema (void *context, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  const struct bench *bench = context;

  return memcmp (hash, bench->schema->hash, SCHEMA_HASH_SIZE) == 0 ? &bench->schema->encoded : NULL;
}

static void
test_the_history_has_it (void **state)
{
  (void) state;
  outage (100, 20);
  for (size_t i = 0; i < NODES; i++)
    scene->agents[i].earlier = IGNORES_SCHEMAS; /* agents of an older version */
  start_cluster_for (&(struct cluster_output){ .context = scene->bench,
                                               .frame = take_frame,
                                               .event = take_event,
                                               .answer = take_answer,
                                               .schema = stored_schema },
                     10000, true);
  come_back ();
  settle_whole ();
  assert_int_equal (scene->late, NODES * 120);
  assert_int_equal (scene->schema_requests, 0);
}

/* ---- nowhere ---- */

/* Those frames are lost, each once, and told; the others come. */
static void
check_lost (int earlier)
{
  outage (100, 20);
  for (size_t i = 0; i < NODES; i++)
    scene->agents[i].earlier = earlier;
  start_cluster (10000, true);
  come_back ();
  settle ();
  pass (scene->bench, 2 * NS_PER_S);
  assert_int_equal (check_all (), NODES * 100);
  assert_int_equal (scene->lost, NODES * 100);
  assert_int_equal (cluster_counts (scene->bench->cluster)->lost, NODES * 100);
  assert_int_equal (scene->late, NODES * 20);
  for (size_t i = 0; i < NODES; i++) {
    assert_true (count_events (scene->bench, EVENT_GAP, scene->agents[i].name, NULL) >= 1);
    assert_true (count_events (scene->bench, EVENT_REJECTED, scene->agents[i].name, "wrong_schema") >= 1);
  }
}

static void
test_nobody_has_it (void **state)
{
  int64_t began_ns = ((struct bench *) *state)->now_ns;

  check_lost (HAS_LOST_SCHEMAS);
  assert_true (((struct bench *) *state)->now_ns - began_ns < 30 * NS_PER_S);
}

static void
test_nobody_answers (void **state)
{
  (void) state;
  check_lost (IGNORES_SCHEMAS);
}

/* It says so to one who asked before: the next hello brings it, from a ring that could be read again. */
static void
test_a_hello_asks_anew (void **state)
{
  (void) state;
  outage (10, 10);
  scene->agents[0].mute = true;
  start_cluster (10000, true);
  come_back ();
  answer_for (60 * NS_PER_S);
  assert_int_equal (scene->lost, 0); /* it is silent: its ring has it still */
  scene->agents[0].mute = false;
  hello (0);
  settle_whole ();
}

/* ---- an upgrade ---- */

/* The ring of the session before, in the schema before, of a node that was never heard. */
static void
test_upgrade_of_a_new_node (void **state)
{
  (void) state;
  begin_cut_off (0);
  sample_unheard (0, 70);
  switch_groups (0);
  start_cluster (10000, true);
  begin_session (0);
  answer_all ();
  sample (0);
  settle_whole ();
  assert_int_equal (scene->late, 70);
}

/* No other node has its schema. */
static void
start_alone (void)
{
  begin_session (0);
  answer_all ();
}

/* The link is cut for a moment, nobody tells of it, and the frames that did not come have the schema before. */
static void
test_gap_before_a_reload (void **state)
{
  (void) state;
  start_alone ();
  sample (0);
  sample_unheard (0, 10);
  answer_for (10 * NS_PER_S);
  switch_groups (0);
  hello (0);
  answer_all ();
  sample (0);
  settle_whole ();
  assert_int_equal (scene->late, 10);
}

/* ---- reloads in a row ---- */

/* Frames between two hellos, of groups that are gone again before anybody could ask for their schema. None of them waits
 * for ever. */
static size_t
lost_by_reloads (void **state, int earlier)
{
  struct bench *bench = *state;

  start_alone ();
  scene->agents[0].earlier = earlier;
  sample (0);
  for (int i = 0; i < 20; i++) {
    switch_groups (0);
    sample (0);
    hello (0);
    pass (bench, 300 * NS_PER_MS);
    if (i % 3 == 0)
      answer_all ();
  }
  scene->agents[0].other = false;
  hello (0);
  for (int i = 0; i < 20; i++) {
    sample (0);
    answer_for (NS_PER_S);
  }
  settle ();
  assert_int_equal (cluster_find (bench->cluster, "n1")->held_count, 0);
  pass (bench, 2 * NS_PER_S);
  assert_int_equal (check_all (), cluster_counts (bench->cluster)->lost);
  return scene->lost;
}

static void
test_reloads_in_a_row (void **state)
{
  assert_int_equal (lost_by_reloads (state, KEEPS_SCHEMAS), 0);
}

static void
test_reloads_of_an_older_agent (void **state)
{
  assert_true (lost_by_reloads (state, IGNORES_SCHEMAS) <= 20); /* those that nobody could ask for in time */
}

/* One is held when its groups are gone already, and nothing else happens. */
static void
test_a_frame_between_two_hellos (void **state)
{
  struct bench *bench = *state;

  start_alone ();
  sample (0);
  answer_for (10 * NS_PER_S);
  scene->agents[0].earlier = HAS_LOST_SCHEMAS;
  switch_groups (0);
  sample (0);
  switch_groups (0);
  hello (0);
  sample (0);
  answer_for (10 * NS_PER_S);
  assert_int_equal (check_all (), 1);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
}

/* Without a ring they are lost: told, and counted once. */
static void
test_reload_without_a_ring (void **state)
{
  struct bench *bench = *state;

  (void) state;
  start_alone ();
  scene->agents[0].ring_from[0] = 0;
  scene->agents[0].earlier = HAS_LOST_SCHEMAS;
  hello (0);
  sample (0);
  switch_groups (0);
  sample (0);
  switch_groups (0);
  hello (0);
  sample (0);
  answer_for (5 * NS_PER_S);
  assert_int_equal (check_all (), 1);
  assert_int_equal (cluster_counts (bench->cluster)->lost, 1);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    REPLAY_TEST (test_the_agent_has_it),
    REPLAY_TEST (test_the_history_has_it),
    REPLAY_TEST (test_nobody_has_it),
    REPLAY_TEST (test_nobody_answers),
    REPLAY_TEST (test_a_hello_asks_anew),
    REPLAY_TEST (test_upgrade_of_a_new_node),
    REPLAY_TEST (test_gap_before_a_reload),
    REPLAY_TEST (test_reloads_in_a_row),
    REPLAY_TEST (test_reloads_of_an_older_agent),
    REPLAY_TEST (test_a_frame_between_two_hellos),
    REPLAY_TEST (test_reload_without_a_ring),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
