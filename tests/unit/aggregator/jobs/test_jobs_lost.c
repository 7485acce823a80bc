/* Jobs whose nodes die or fall silent, whose clocks are set, and whose aggregator is stopped or started again. */
#include "tests/unit/aggregator/jobs/jobs_scene.h"

static void
test_restart (void **state)
{
  struct scene *scene = scene_create (3);
  const struct said *said;

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1);
  begin (scene, 1, "gone", 1);
  begin (scene, 2, "2", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1,n2");
  SAID (JOB_STARTED, "gone", "n2");
  SAID (JOB_STARTED, "2", "n3");
  scene->nodes[1].dead = true; /* what n2 had is told by nobody any more */
  scene->nodes[2].silent = true;
  run (scene, 5);
  restart (scene, true, 100 * NS_PER_S);
  run (scene, 5);
  NOTHING_MORE ();
  end (scene, 2, "2");
  run (scene, 5);
  scene->nodes[2].silent = false;
  replay (scene, &scene->nodes[2]);
  run (scene, 22);
  said = ENDED ("gone", "n2", "restart");
  assert_true (said->ended_ns == START + 9 * NS_PER_S);
  SUMMARY ("\"cpu_time\":10,");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  run (scene, 12);
  said = ENDED ("2", "n3", "gone");
  assert_true (said->ended_ns == START + 119 * NS_PER_S);
  SUMMARY ("\"cpu_time\":20,"); /* by its frames: the clock of the agent stood still while nobody sampled */
  GOES ("1", "n1,n2");
  SUMMARY ("\"cpu_time\":69,");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  NOTHING_MORE ();
  assert_int_equal (scene->noted.stored_count, 3);
  scene_destroy (scene);
}

/* Killed: what was told last is a minute old at most, and frames bring the rest. */
static void
test_kill (void **state)
{
  struct scene *scene = scene_with_job (1, 90);

  (void) state;
  SAID (JOB_STARTED, "1", "n1");
  assert_true (scene->noted.stored[0].seen_ns > START + 50 * NS_PER_S);
  restart (scene, false, 0);
  run (scene, 10);
  NOTHING_MORE ();
  restart (scene, false, 0); /* and it has gone meanwhile */
  end (scene, 0, "1");
  run (scene, 32);
  ENDED ("1", "n1", "restart");
  NOTHING_MORE ();
  scene_destroy (scene);
}

static void
test_node_dies (void **state)
{
  struct scene *scene = scene_create (4);
  const struct said *said;

  (void) state;
  for (size_t i = 0; i < 4; i++)
    begin (scene, i, "1", 1);
  begin (scene, 1, "2", 1);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1,n2,n3,n4");
  SAID (JOB_STARTED, "2", "n2");
  scene->nodes[1].dead = true;
  scene->nodes[3].silent = true; /* its link alone */
  run (scene, 10);
  jobs_node_down (scene->jobs, "n2");
  jobs_node_down (scene->jobs, "n4");
  run (scene, 10);
  scene->nodes[3].silent = false;
  replay (scene, &scene->nodes[3]);
  run (scene, 12);
  said = ENDED ("2", "n2", "gone");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  assert_true (said->ended_ns == START + 9 * NS_PER_S);
  end (scene, 2, "1"); /* n3 has done its part, and lives */
  run (scene, 20);
  end (scene, 3, "1");
  GOES ("1", "n1,n2,n3,n4");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  SUMMARY ("\"cpu_time\":176,"); /* 62, 10, 42, 62 */
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* It comes back, and knows nothing of the job. */
static void
test_node_boots (void **state)
{
  struct scene *scene = scene_with_job (2, 10);

  (void) state;
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].dead = true;
  run (scene, 10);
  jobs_node_down (scene->jobs, "n2");
  scene->nodes[1].dead = false;
  end (scene, 1, "1");
  run (scene, 10);
  GOES ("1", "n1,n2");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  scene_destroy (scene);
}

/* Nobody says that it is down: its silence does. */
static void
test_silent_node (void **state)
{
  struct scene *scene = scene_with_job (2, 10);

  (void) state;
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].dead = true;
  run (scene, 5);
  tell_end (scene, "1", 1);
  ENDED ("1", "n1,n2", "told");
  SUMMARY ("\"lost_nodes\":[\"n2\"]");
  scene_destroy (scene);
}

static void
test_wall_clock_steps (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  scene->nodes[0].wall_ns = -7200 * NS_PER_S;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  said = SAID (JOB_STARTED, "1", "n1");
  assert_true (said->started_ns == START - NS_PER_S / 2);
  for (int i = 0; i < 4; i++) {
    scene->nodes[0].wall_ns += 1800 * NS_PER_S;
    scene->nodes[0].works[0].checked = false;
    scene->nodes[0].works[0].started_ns -= (i & 1 ? -900 : 700) * NS_PER_S; /* an agent that is confused by it */
    run (scene, 5);
  }
  said = GOES ("1", "n1");
  assert_true (said->started_ns == START - NS_PER_S / 2);
  SUMMARY ("{\"duration\":24.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":25,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* The aggregator's own clock is set back: what runs goes on, and ends. */
static void
test_aggregator_clock_steps (void **state)
{
  struct scene *scene = scene_with_job (1, 5);

  (void) state;
  SAID (JOB_STARTED, "1", "n1");
  scene->now_ns -= 3600 * NS_PER_S;
  run (scene, 10);
  scene->now_ns += 7200 * NS_PER_S;
  run (scene, 10);
  NOTHING_MORE ();
  scene->now_ns -= 3600 * NS_PER_S;
  run (scene, 10);
  GOES ("1", "n1");
  SUMMARY ("\"cpu_time\":35,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* While the aggregator is stopped nobody is seen, and nobody is gone because of that. */
static void
test_stopped_aggregator (void **state)
{
  struct scene *scene = scene_with_job (1, 5);

  (void) state;
  SAID (JOB_STARTED, "1", "n1");
  scene->now_ns += 300 * NS_PER_S;
  jobs_tick (scene->jobs, scene->now_ns);
  tick_for (scene, 20 * NS_PER_S);
  run (scene, 5);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A link that is cut for longer than the grace: the job is taken for gone, and goes on. */
static void
test_late_frames (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  begin_two (scene, 10);
  scene->nodes[0].silent = scene->nodes[1].silent = true;
  run (scene, 20);
  end (scene, 1, "2");
  begin (scene, 1, "short", 1);
  run (scene, 20);
  end (scene, 1, "short");
  ENDED ("1", "n1", "gone");
  SUMMARY ("\"lost_nodes\":[\"n1\"]");
  ENDED ("2", "n2", "gone");
  run (scene, 20);
  scene->nodes[0].silent = scene->nodes[1].silent = false;
  run (scene, 1); /* live frames come first */
  SAID (JOB_RESUMED, "1", "n1");
  replay (scene, &scene->nodes[0]);
  replay (scene, &scene->nodes[1]);
  SAID (JOB_RESUMED, "2", "n2");
  run (scene, 5);
  said = SAID (JOB_STARTED, "short", "n2"); /* it began and ended meanwhile */
  assert_true (said->time_ns == START + 59 * NS_PER_S / 2);
  run (scene, 29);
  ENDED ("2", "n2", "gone");
  SUMMARY ("{\"duration\":29.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":30,");
  SUMMARY ("\"lost_nodes\":[]");
  ENDED ("short", "n2", "gone");
  SUMMARY ("{\"duration\":19.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":20,");
  GOES ("1", "n1");
  SUMMARY ("\"cpu_time\":105,");
  SUMMARY ("\"lost_nodes\":[]");
  NOTHING_MORE ();
  assert_int_equal (scene->noted.stored_count, 3);
  assert_true (scene->noted.stored[0].ended_ns > START + 100 * NS_PER_S);
  scene_destroy (scene);
}

/* The same of agents that tell no starts: the silence of the node, or no pause in the frames, make it one run. */
static void
test_late_frames_without_info (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  scene->nodes[0].no_info = scene->nodes[1].no_info = true;
  begin_two (scene, 10);
  scene->nodes[0].silent = scene->nodes[1].silent = true;
  run (scene, 50);
  ENDED ("1", "n1", "gone");
  ENDED ("2", "n2", "gone");
  end (scene, 1, "2");
  scene->nodes[0].silent = scene->nodes[1].silent = false;
  run (scene, 1);
  SAID (JOB_RESUMED, "1", "n1");
  replay (scene, &scene->nodes[1]);
  SAID (JOB_RESUMED, "2", "n2");
  run (scene, 5);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* Late frames of a run that ended do not belong to the one that has its label now. */
static void
test_late_frames_of_an_earlier_run (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 100);
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].silent = true;
  run (scene, 5);
  end (scene, 0, "1");
  end (scene, 1, "1");
  tell_end (scene, "1", 1);
  ENDED ("1", "n1,n2", "told");
  begin (scene, 0, "1", 1)->started_ns = scene->now_ns;
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1");
  scene->nodes[1].silent = false;
  replay (scene, &scene->nodes[1]);
  run (scene, 5);
  tell_end (scene, "1", 1);
  ENDED ("1", "n1", "told");
  SUMMARY ("{\"duration\":9,\"nodes\":1,\"cpus\":4,\"cpu_time\":10,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_restart),
    cmocka_unit_test (test_kill),
    cmocka_unit_test (test_node_dies),
    cmocka_unit_test (test_node_boots),
    cmocka_unit_test (test_silent_node),
    cmocka_unit_test (test_wall_clock_steps),
    cmocka_unit_test (test_aggregator_clock_steps),
    cmocka_unit_test (test_stopped_aggregator),
    cmocka_unit_test (test_late_frames),
    cmocka_unit_test (test_late_frames_without_info),
    cmocka_unit_test (test_late_frames_of_an_earlier_run),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
