/* Replay of frames that get lost on the way, or come late, while agents are killed. */
#include "tests/unit/aggregator/core/replay_scene.h"

static void
test_a_gap_is_filled (void **state)
{
  struct bench *bench = *state;
  const struct seen_event *event;

  start_all ();
  sample_gap (0, 10);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 10);
  assert_int_equal (cluster_find (bench->cluster, "n1")->sessions[0].sequence, 12);
  settle_whole ();
  assert_int_equal (scene->late, 10);
  assert_int_equal (cluster_counts (bench->cluster)->replayed, 10);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
  assert_int_equal (count_events (bench, EVENT_REPLAYED, "n1", NULL), 1);
  for (event = bench->events; event->type != EVENT_REPLAYED; event++)
    ;
  assert_true (event->from == 2 && event->to == 11 && event->count == 10);
}

/* Gaps that come one after the other, each filled at once: an event a second about them, which leaves out none. */
static void
test_many_gaps_are_filled (void **state)
{
  struct bench *bench = *state;
  uint64_t count = 0;

  start_all ();
  sample_gap (0, 1);
  settle_whole ();
  assert_int_equal (count_events (bench, EVENT_REPLAYED, "n1", NULL), 1);
  for (int i = 0; i < 50; i++) {
    sample_gap (0, 1);
    pass (bench, 20 * NS_PER_MS);
    answer_all ();
  }
  assert_in_range (count_events (bench, EVENT_REPLAYED, "n1", NULL), 2, 4);
  settle_whole ();
  pass (bench, NS_PER_S);
  for (size_t i = 0; i < bench->event_count; i++)
    count += bench->events[i].type == EVENT_REPLAYED ? bench->events[i].count : 0;
  assert_int_equal (count, 51);
}

/* The first of a session were dropped: the hello said that there was none before. */
static void
test_first_frames_are_asked_for (void **state)
{
  (void) state;
  start_all ();
  sample_unheard (1, 3);
  sample (1);
  settle_whole ();
  assert_int_equal (scene->late, 3);
}

static void
test_random_loss (void **state)
{
  (void) state;
  start_all ();
  for (int round = 0; round < 60; round++) {
    scene->lose_data = round % 7 == 0 ? 100 : round % 3 ? 5 : 50;
    scene->lose_control = round % 4 ? 3 : 40;
    for (int i = 0; i < 10; i++) {
      for (size_t j = 0; j < NODES; j++)
        sample (j);
      pass (scene->bench, 100 * NS_PER_MS);
      answer_all ();
      if (chance (20) == 0)
        hello (chance (NODES)); /* its connection came back */
    }
  }
  scene->lose_data = scene->lose_control = 0;
  settle_whole ();
  assert_true (scene->late > 300);
}

/* Agents that are killed again and again while their last frames are on the way. */
static void
test_restarts (void **state)
{
  (void) state;
  start_all ();
  for (int round = 0; round < 10; round++)
    for (size_t j = 0; j < NODES; j++) {
      scene->lose_data = 30;
      for (uint64_t i = chance (30); i > 0; i--)
        sample (j);
      scene->lose_data = 100;
      for (uint64_t i = chance (5); i > 0; i--)
        sample (j);
      scene->lose_data = 0;
      pass (scene->bench, 250 * NS_PER_MS);
      if (round % 2)
        answer_all ();
      begin_session (j);
    }
  settle ();
  for (size_t j = 0; j < NODES; j++)
    hello (j); /* tells of earlier sessions again */
  settle_whole ();
}

/* What the ring has dropped is lost, in one event, and the rest comes. */
static void
test_ring_that_is_too_small (void **state)
{
  struct bench *bench = *state;

  start_all ();
  sample (0);
  sample_unheard (0, 500);
  scene->agents[0].ring_from[0] = 301;
  sample (0);
  settle ();
  assert_int_equal (check_all (), 299);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_find (bench->cluster, "n1")->lost, 299);
  assert_int_equal (cluster_counts (bench->cluster)->lost, 299);
}

/* Frames of a connection that had ended arrive after those of the next. */
static void
test_late_on_the_data_channel (void **state)
{
  struct bench *bench = *state;

  start_all ();
  sample_gap (0, 2);
  for (int i = 0; i < 2; i++)
    say_frame (0, 1, 2);
  assert_int_equal (scene->late, 1);
  assert_int_equal (cluster_counts (bench->cluster)->duplicates, 1);
  settle_whole ();
}

/* Late tables are their own: the live ones, the node's state and its ticks go on as if nothing had come. */
static void
test_late_frames_disturb_nothing (void **state)
{
  struct bench *bench = *state;
  const struct node *node;
  int64_t heard;
  size_t ticks;

  start_all ();
  for (int i = 0; i < 3; i++)
    sample (0);
  sample_unheard (0, 5);
  sample (0);
  node = cluster_find (bench->cluster, "n1");
  heard = node->seen_ns;
  ticks = bench->ticks;
  answer_for (4 * NS_PER_S);
  assert_int_equal (scene->late, 5);
  assert_int_equal (node->seen_ns, heard);
  assert_int_equal (bench->ticks, ticks);
  assert_int_equal (node->groups[0]->now->sequence, 9);
  assert_int_equal (node->groups[0]->before->sequence, 3);
  assert_int_equal (node->sessions[0].sequence, 9);
  assert_int_equal (check_all (), 0);
  assert_null (node->replay.late);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    REPLAY_TEST (test_a_gap_is_filled),
    REPLAY_TEST (test_many_gaps_are_filled),
    REPLAY_TEST (test_first_frames_are_asked_for),
    REPLAY_TEST (test_random_loss),
    REPLAY_TEST (test_restarts),
    REPLAY_TEST (test_ring_that_is_too_small),
    REPLAY_TEST (test_late_on_the_data_channel),
    REPLAY_TEST (test_late_frames_disturb_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
