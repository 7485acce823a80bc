/* Replay of what was sampled while nobody was heard: agents that begin while the link is cut, aggregators that are
 * started again. */
#include "tests/unit/aggregator/core/replay_scene.h"

#include "aggregator/core/missing.h"

/* ---- agents that begin while the link is cut ---- */

/* What an agent sampled before it could say hello is asked for, and once. */
static void
test_samples_before_the_hello (void **state)
{
  (void) state;
  start_all ();
  begin_cut_off (0);
  sample_unheard (0, 30);
  hello (0);
  answer_all ();
  sample (0);
  settle ();
  assert_int_equal (scene->late, 30);
  hello (0);
  settle_whole ();
  assert_int_equal (scene->late, 30);
}

/* Some that were killed before they could say anything, one of which a few frames had come. */
static void
test_sessions_that_never_said_hello (void **state)
{
  (void) state;
  start_all ();
  sample (0);
  begin_cut_off (0);
  sample_unheard (0, 20);
  begin_cut_off (0);
  sample_unheard (0, 20);
  for (int i = 0; i < 5; i++)
    sample (0);
  sample_unheard (0, 5);
  begin_cut_off (0);
  sample_unheard (0, 20);
  begin_cut_off (0);
  sample_unheard (0, 20);
  for (int i = 0; i < 3; i++) {
    hello (0);
    answer_all ();
    sample (0);
    settle ();
  }
  begin_session (0);
  settle_whole ();
  assert_int_equal (scene->late, 20 + 25 + 20 + 20);
}

/* A last frame of the one before that comes when the new one has been heard of, but not said hello. */
static void
test_stray_before_the_hello (void **state)
{
  (void) state;
  start_all ();
  sample (0);
  sample_unheard (0, 1);
  begin_cut_off (0);
  sample (0);
  say_frame (0, 1, 2);
  hello (0);
  settle_whole ();
}

/* ---- the aggregator restarts ---- */

/* Without history it asks for nothing that was before its time. */
static void
test_restart_without_history (void **state)
{
  (void) state;
  start_all ();
  for (int i = 0; i < 20; i++)
    sample (0);
  start_cluster (10000, false);
  hello (0);
  answer_all ();
  sample_unheard (0, 1);
  sample (0);
  settle_whole ();
  assert_int_equal (scene->late, 1);
}

/* With history it fetches all that is not stored, of earlier sessions too, and nothing twice. */
static void
test_restart_with_history (void **state)
{
  static const struct missing_range stored[] = { { 1, 1, 10 }, { 1, 21, 25 }, { 2, 3, 30 } };

  (void) state;
  start_all ();
  sample_unheard (0, 40);
  begin_session (0);
  sample_unheard (0, 40);
  scene->agents[0].ring_from[0] = 6;
  begin_session (0);
  sample_unheard (0, 7);
  memset (scene->seen, 0, sizeof scene->seen);
  start_cluster (10000, true);
  for (size_t i = 0; i < 3; i++) {
    cluster_stored (scene->bench->cluster, "n1", stored[i].session, stored[i].from, stored[i].to);
    for (uint64_t j = stored[i].from; j <= stored[i].to; j++)
      scene->seen[0][stored[i].session - 1][j]++;
  }
  sample (0); /* what libzmq had kept comes before the hello is read */
  hello (0);
  answer_all ();
  sample (0);
  settle_whole ();
  assert_int_equal (scene->late, 30 - 5 + 12 + 7);
  hello (0);
  settle_whole ();
}

/* What waited in libzmq's queue comes when it has been replayed already. */
static void
test_queue_after_a_restart_with_history (void **state)
{
  (void) state;
  start_all ();
  sample_unheard (0, 40);
  start_cluster (10000, true);
  hello (0);
  say_frame (0, 1, 5); /* in time: it need not be asked for */
  answer_all ();
  answer_for (5 * NS_PER_S);
  say_frame (0, 1, 5);
  say_frame (0, 1, 6);
  sample (0);
  settle_whole ();
  assert_int_equal (scene->late, 40);
}

/* The data channel is up long before the control channel: more frames come than are held until their schema is known. */
static void
test_frames_before_the_hello (void **state)
{
  struct agent *agent = &scene->agents[0];
  struct bench *bench = *state;

  begin_cut_off (0);
  for (int i = 0; i < 100; i++)
    sample (0);
  assert_true (cluster_counts (bench->cluster)->frames_held_dropped > 50);
  agent->last[0] = 0; /* as if nothing had been sampled when it said hello: all is in the queue */
  hello (0);
  agent->last[0] = 100;
  answer_all ();
  settle_whole ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    REPLAY_TEST (test_samples_before_the_hello), REPLAY_TEST (test_sessions_that_never_said_hello),
    REPLAY_TEST (test_stray_before_the_hello),   REPLAY_TEST (test_restart_without_history),
    REPLAY_TEST (test_restart_with_history),     REPLAY_TEST (test_queue_after_a_restart_with_history),
    REPLAY_TEST (test_frames_before_the_hello),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
