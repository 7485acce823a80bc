/* Jobs from their start to their end: what their nodes show, what a scheduler tells, and how much of it may come. */
#include "tests/unit/aggregator/jobs/jobs_scene.h"

static void
test_one (void **state)
{
  struct scene *scene = scene_create (3);
  const struct said *said;
  struct work *work;

  (void) state;
  run (scene, 2);
  begin (scene, 0, "123", 2);
  begin (scene, 1, "123", 4)->memory = 4096;
  run (scene, 1);
  NOTHING_MORE (); /* it is held back, since more nodes may come */
  run (scene, 3);
  said = SAID (JOB_STARTED, "123", "n1,n2");
  assert_string_equal (said->user, "ana");
  assert_true (said->time_ns == START + 3 * NS_PER_S / 2 && said->started_ns == said->time_ns);
  work = begin (scene, 2, "123", 0);
  work->started_ns = scene->now_ns;
  run (scene, 6);
  said = SAID (JOB_NODE, "123", "n3");
  assert_true (said->time_ns == START + 6 * NS_PER_S);
  end (scene, 0, "123");
  end (scene, 1, "123");
  run (scene, 20);
  NOTHING_MORE (); /* n3 shows it */
  end (scene, 2, "123");
  run (scene, 29);
  NOTHING_MORE ();
  run (scene, 3);
  said = ENDED ("123", "n1,n2,n3", "gone");
  assert_true (said->ended_ns == START + 31 * NS_PER_S);
  SUMMARY (
      "{\"duration\":29.5,\"nodes\":3,\"cpus\":12,\"cpu_time\":60,\"cpu_user_time\":45,\"cpu_system_time\":15,"
      "\"cpu_efficiency\":16.949153,\"memory_peak\":{\"node\":\"n2\",\"bytes\":4194304},\"read_bytes\":60000,"
      "\"write_bytes\":null,\"processes\":null,\"oom_kills\":null,\"energy_kwh\":0.06,\"energy_estimated_kwh\":0.015,"
      "\"lost_nodes\":[],\"per_node\":{\"n1\":{"
      "\"duration\":9,\"cpus\":4,\"cpu_time\":20,\"memory_peak\":1048576,\"read_bytes\":20000,"
      "\"write_bytes\":null,\"energy_kwh\":0.02},\"n2\":{");
  NOTHING_MORE ();
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 0);
  scene_destroy (scene);
}

/* Tasks of an array are jobs; steps are of their job, so nothing here knows of them. */
static void
test_array (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  begin (scene, 0, "100", 1)->array = "100_1";
  begin (scene, 0, "101", 1)->array = "100_2";
  begin (scene, 1, "42[3].pbs", 1);
  run (scene, 4);
  said = SAID (JOB_STARTED, "100", "n1");
  assert_string_equal (said->array, "100_1");
  said = SAID (JOB_STARTED, "101", "n1");
  assert_string_equal (said->array, "100_2");
  SAID (JOB_STARTED, "42[3].pbs", "n2");
  GOES ("100", "n1");
  SUMMARY ("\"cpu_time\":4,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A requeue with the same id is /1 where the scheduler counts, and a new run where it does not. */
static void
test_requeue (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 0, "7", 1);
  begin (scene, 1, "8", 1);
  run (scene, 4);
  SAID (JOB_STARTED, "7", "n1");
  SAID (JOB_STARTED, "8", "n2");
  end (scene, 0, "7");
  end (scene, 1, "8");
  tell_end (scene, "8", 1);
  ENDED ("8", "n2", "told");
  begin (scene, 1, "7/1", 2);
  begin (scene, 0, "8", 3)->started_ns = scene->now_ns;
  run (scene, 4);
  SAID (JOB_STARTED, "8", "n1");
  SAID (JOB_STARTED, "7/1", "n2");
  assert_true (scene->noted.stored[1].key != scene->noted.stored[2].key &&
               strcmp (scene->noted.stored[2].label, "8") == 0);
  tell_end (scene, "7", 2); /* all runs of it */
  ENDED ("7", "n1", "told");
  SUMMARY ("\"cpu_time\":4,");
  ENDED ("7/1", "n2", "told");
  SUMMARY ("\"cpu_time\":8,");
  tell_end (scene, "8/0", 1);
  ENDED ("8", "n1", "told");
  SUMMARY ("\"cpu_time\":12,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

static void
test_told (void **state)
{
  struct scene *scene = scene_create (2);
  const struct said *said;

  (void) state;
  tell_start (scene, "1", "bob", "train");
  run (scene, 3);
  said = SAID (JOB_STARTED, "1", "");
  assert_string_equal (said->user, "bob");
  run (scene, 100); /* a prolog may take long */
  begin (scene, 0, "1", 1);
  run (scene, 5);
  SAID (JOB_NODE, "1", "n1");
  tell_end (scene, "1", 1);
  said = ENDED ("1", "n1", "told");
  assert_string_equal (said->user, "ana"); /* the node knows better */
  SUMMARY ("{\"duration\":107,");
  run (scene, 200); /* something of it stays, and is shown still */
  NOTHING_MORE ();
  scene->nodes[0].silent = true;
  run (scene, 40);
  scene->nodes[0].silent = false;
  run (scene, 1);
  replay (scene, &scene->nodes[0]);
  run (scene, 70);
  NOTHING_MORE ();
  tell_start (scene, "1", "", ""); /* but who says so is believed */
  run (scene, 4);
  SAID (JOB_STARTED, "1", "n1");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* Told of before any node has shown it, or of one that no node ever shows. */
static void
test_told_alone (void **state)
{
  struct scene *scene = scene_create (1);
  struct error error;

  (void) state;
  assert_int_equal (jobs_end (scene->jobs, WORD ("1", "", ""), scene->now_ns + NS_PER_S, &error), 0);
  begin (scene, 0, "1", 1);
  run (scene, 10);
  NOTHING_MORE ();
  tell_start (scene, "2", "bob", "");
  tell_start (scene, "3", "bob", "");
  run (scene, 500);
  SAID (JOB_STARTED, "2", "");
  SAID (JOB_STARTED, "3", "");
  tell_end (scene, "3", 1);
  ENDED ("3", "", "told");
  SUMMARY ("{\"duration\":500,\"nodes\":0,\"cpus\":null,\"cpu_time\":null,");
  run (scene, 110);
  ENDED ("2", "", "gone");
  NOTHING_MORE ();
  assert_int_equal (jobs_start (scene->jobs, WORD ("a b", "", ""), scene->now_ns, &error), -1);
  assert_int_equal (jobs_end (scene->jobs, WORD ("", "", ""), scene->now_ns, &error), -1);
  scene_destroy (scene);
}

static void
test_pause (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  scene->nodes[1].no_info = true;
  for (int i = 0; i < 2; i++) {
    begin (scene, 0, "1", 1);
    begin (scene, 1, "2", 1);
    run (scene, 5);
    end (scene, 0, "1");
    end (scene, 1, "2");
    run (scene, 25);
  }
  SAID (JOB_STARTED, "1", "n1");
  SAID (JOB_STARTED, "2", "n2");
  NOTHING_MORE (); /* shorter than the grace */
  run (scene, 10);
  ENDED ("1", "n1", "gone");
  SUMMARY ("{\"duration\":34.5,\"nodes\":1,\"cpus\":4,\"cpu_time\":10,"); /* the agent began anew */
  ENDED ("2", "n2", "gone");
  begin_two (scene, 5); /* longer: another run */
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* The same label a year later. */
static void
test_reuse (void **state)
{
  struct scene *scene = scene_with_job (1, 5);
  const struct said *said;

  (void) state;
  SAID (JOB_STARTED, "1", "n1");
  GOES ("1", "n1");
  scene->now_ns += 365 * 86400 * NS_PER_S;
  begin (scene, 0, "1", 2)->user = "eve";
  run (scene, 5);
  said = SAID (JOB_STARTED, "1", "n1");
  assert_string_equal (said->user, "eve");
  assert_int_equal (scene->noted.stored_count, 2);
  assert_true (scene->noted.stored[1].key > scene->noted.stored[0].key);
  scene_destroy (scene);
}

/* The agent was started again, and its book was lost. */
static void
test_counter_falls (void **state)
{
  struct scene *scene = scene_create (1);

  (void) state;
  begin (scene, 0, "1", 3);
  run (scene, 10);
  SAID (JOB_STARTED, "1", "n1");
  scene->nodes[0].works[0].cpu = 0;
  run (scene, 5);
  GOES ("1", "n1");
  SUMMARY ("\"cpu_time\":45,");
  scene_destroy (scene);
}

static void
test_no_info (void **state)
{
  struct scene *scene = scene_create (1);
  const struct said *said;

  (void) state;
  scene->nodes[0].no_info = true;
  begin (scene, 0, "1", 1);
  run (scene, 5);
  said = SAID (JOB_STARTED, "1", "n1");
  assert_string_equal (said->user, "");
  assert_true (said->time_ns == START);
  scene->nodes[0].no_info = false; /* another agent */
  scene->nodes[0].works[0].checked = false;
  scene->nodes[0].works[0].started_ns = START - 3600 * NS_PER_S;
  run (scene, 5);
  assert_string_equal (scene->noted.stored[0].user, "ana");
  assert_true (scene->noted.stored[0].started_ns == START - 3600 * NS_PER_S);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A node that samples every two minutes does not end its jobs between. */
static void
test_long_period (void **state)
{
  struct scene *scene = scene_create (1);

  (void) state;
  scene->nodes[0].period_ns = 120 * NS_PER_S;
  begin (scene, 0, "1", 1);
  run (scene, 600);
  SAID (JOB_STARTED, "1", "n1");
  NOTHING_MORE ();
  end (scene, 0, "1");
  run (scene, 400);
  ENDED ("1", "n1", "gone");
  scene_destroy (scene);
}

/* Whoever is admitted and sends ever new labels, or such that are none, finds an end. */
static void
test_hostile (void **state)
{
  struct scene *scene = scene_create (2);
  char label[40];

  (void) state;
  scene->noted.many = true;
  begin (scene, 1, "honest", 1);
  for (int second = 0; second < 40; second++) {
    scene->nodes[0].count = 0;
    for (int i = 0; i < 3000; i++) {
      snprintf (label, sizeof label, "%d-%d", second, i);
      begin (scene, 0, label, 1);
    }
    run (scene, 1);
    assert_true (jobs_counts (scene->jobs)->jobs_running <= JOBS_NODE_MAX + 1);
  }
  assert_true (jobs_counts (scene->jobs)->job_rows_refused > 30 * 3000);
  assert_true (jobs_counts (scene->jobs)->jobs_started <= 2 * JOBS_NODE_MAX + 1);
  scene->nodes[0].count = 0;
  run (scene, 40);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 1);
  begin (scene, 0, "a b", 1);
  begin (scene, 0, "", 1);
  run (scene, 5);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 1);
  scene_destroy (scene);
}

static void
test_many (void **state)
{
  struct scene *scene = scene_create (100);
  char label[40];

  (void) state;
  scene->noted.many = true;
  for (size_t i = 0; i < 10000; i++) {
    snprintf (label, sizeof label, "%zu", i);
    begin (scene, i % 100, label, 1);
    begin (scene, (i + 1) % 100, label, 1);
  }
  run (scene, 10);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 10000);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_started, 10000);
  for (size_t i = 0; i < 100; i++)
    scene->nodes[i].count = 0;
  run (scene, 32);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 0);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_ended, 10000);
  assert_int_equal (jobs_counts (scene->jobs)->job_rows_refused, 0);
  scene_destroy (scene);
}

/* Who asks gets those that run, also before their start is reported, and none that ended. */
static void
test_running (void **state)
{
  struct scene *scene = scene_create (2);
  struct json json = { 0 };

  (void) state;
  begin (scene, 0, "123", 2);
  begin (scene, 1, "123", 2);
  run (scene, 1);
  jobs_write_running (scene->jobs, &viewer_all, &json);
  buffer_add (&json.out, "", 1);
  assert_non_null (strstr (json.out.data, "{\"type\":\"job\",\"event\":\"started\""));
  assert_non_null (strstr (json.out.data, "\"job_id\":\"123\",\"scheduler\""));
  assert_non_null (strstr (json.out.data, "\"user\":\"ana\""));
  assert_non_null (strstr (json.out.data, "\"nodes\":[\"n1\",\"n2\"]"));
  end (scene, 0, "123");
  end (scene, 1, "123");
  run (scene, 60);
  json_clear (&json);
  jobs_write_running (scene->jobs, &viewer_all, &json);
  assert_int_equal (json.out.length, 0);
  json_free (&json);
  scene_destroy (scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one),         cmocka_unit_test (test_array),         cmocka_unit_test (test_requeue),
    cmocka_unit_test (test_told),        cmocka_unit_test (test_told_alone),    cmocka_unit_test (test_pause),
    cmocka_unit_test (test_reuse),       cmocka_unit_test (test_counter_falls), cmocka_unit_test (test_no_info),
    cmocka_unit_test (test_long_period), cmocka_unit_test (test_hostile),       cmocka_unit_test (test_many),
    cmocka_unit_test (test_running),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
