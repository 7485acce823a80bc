/* Whose a job is: what nodes say of one id, and of themselves, whatever others say. */
#include "tests/unit/aggregator/jobs/jobs_scene.h"

/* Two nodes, one id, two users or two schedulers: two jobs, and it is told. */
static void
check_two (struct scene *scene, struct work *other)
{
  const struct said *one, *two;

  run (scene, 4);
  one = SAID (JOB_STARTED, "1", "n1");
  two = SAID (JOB_STARTED, "1", "n2");
  assert_string_equal (one->user, "ana");
  assert_string_equal (two->user, other->user);
  assert_int_equal (scene->noted.stored_count, 2);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_disputed, 1);
  assert_int_equal (scene->noted.event, EVENT_JOB_DISPUTED);
  assert_string_equal (scene->noted.who, "n2");
  assert_string_equal (scene->noted.what, "1");
  assert_non_null (strstr (scene->noted.why, "which runs on n1, is of ana (slurm)"));
  end (scene, 0, "1");
  run (scene, 33);
  ENDED ("1", "n1", "gone");
  SUMMARY ("\"cpu_time\":4,");
  NOTHING_MORE (); /* that of n2 goes on */
  scene_destroy (scene);
}

static void
test_other_user (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1)->user = "eve";
  check_two (scene, &scene->nodes[1].works[0]);
}

static void
test_other_scheduler (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1)->scheduler = "synop";
  check_two (scene, &scene->nodes[1].works[0]);
}

/* A node that does not know the user's name tells a number: it is the same user. */
static void
test_number_of_a_user (void **state)
{
  struct scene *scene = scene_create (3);
  struct work *work;

  (void) state;
  work = begin (scene, 0, "1", 1);
  work->user = "1001";
  begin (scene, 1, "1", 1)->uid = 1001;
  begin (scene, 2, "1", 1);
  run (scene, 4);
  assert_string_equal (SAID (JOB_STARTED, "1", "n1,n2,n3")->user, "ana");
  NOTHING_MORE ();
  assert_int_equal (scene->noted.events, 0);
  restart (scene, true, 0);
  work->checked = false; /* the number is known still */
  run (scene, 4);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* A label that is used again by another user before the first one's job is over for the aggregator. */
static void
test_next_user_of_a_label (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 0, "train", 1);
  run (scene, 4);
  SAID (JOB_STARTED, "train", "n1");
  end (scene, 0, "train");
  run (scene, 3);
  begin (scene, 0, "train", 5)->user = "bob";
  run (scene, 4);
  assert_string_equal (SAID (JOB_STARTED, "train", "n1")->user, "bob");
  run (scene, 24);
  assert_string_equal (ENDED ("train", "n1", "gone")->user, "ana");
  SUMMARY ("\"cpu_time\":4,");
  GOES ("train", "n1");
  SUMMARY ("\"cpu_time\":140,");
  NOTHING_MORE ();
  assert_int_equal (scene->noted.events, 0); /* no other node is concerned */
  scene_destroy (scene);
}

/* Rows before the node says whose they are: it was in the wrong job, and leaves it with all that it told. */
static void
test_said_later (void **state)
{
  struct scene *scene = scene_create (2);
  struct work *work;

  (void) state;
  begin (scene, 0, "1", 1);
  run (scene, 1);
  scene->nodes[1].no_info = true;
  begin (scene, 1, "1", 1)->user = "bob";
  run (scene, 3);
  SAID (JOB_STARTED, "1", "n1,n2");
  scene->nodes[1].no_info = false;
  work = &scene->nodes[1].works[0];
  work->checked = false;
  run (scene, 4);
  assert_string_equal (SAID (JOB_STARTED, "1", "n2")->user, "bob");
  GOES ("1", "n1");
  SUMMARY ("\"nodes\":1,");
  NOTHING_MORE ();
  scene_destroy (scene);
}

static void
test_another_name (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 0, "1", 1);
  run (scene, 4);
  SAID (JOB_STARTED, "1", "n1");
  begin (scene, 1, "1", 1)->name = "harmless";
  run (scene, 4);
  SAID (JOB_NODE, "1", "n2");
  end (scene, 1, "1");
  GOES ("1", "n1,n2");
  SUMMARY ("\"n2\":{\"duration\":3,\"cpus\":4,\"cpu_time\":4,\"memory_peak\":1048576,\"read_bytes\":4000,"
           "\"write_bytes\":null,\"energy_kwh\":0.004,\"name\":\"harmless\"}");
  assert_null (strstr (scene->noted.said[scene->noted.checked - 1].summary, "relax"));
  scene_destroy (scene);
}

/* Who comes later tells nothing of the start, nor does who does not say whose the job is. */
static void
test_start_of_others (void **state)
{
  struct scene *scene = scene_create (3);

  (void) state;
  scene->nodes[2].no_info = true;
  begin (scene, 2, "1", 1);
  run (scene, 1);
  begin (scene, 0, "1", 1);
  run (scene, 4);
  assert_true (SAID (JOB_STARTED, "1", "n1,n3")->started_ns == START + NS_PER_S / 2);
  begin (scene, 1, "1", 1)->started_ns = START - 300 * 86400 * NS_PER_S;
  run (scene, 10);
  SAID (JOB_NODE, "1", "n2");
  end (scene, 1, "1");
  end (scene, 2, "1");
  assert_true (GOES ("1", "n1,n2,n3")->started_ns == START + NS_PER_S / 2);
  scene_destroy (scene);
}

/* Periods beyond all bounds keep no job running when its node has left. */
static void
test_endless_period (void **state)
{
  struct scene *scene = scene_create (3);

  (void) state;
  begin (scene, 0, "1", 1);
  begin (scene, 1, "1", 1);
  begin (scene, 2, "2", 1);
  scene->nodes[1].told_period_ns = scene->nodes[2].told_period_ns = INT64_MAX;
  run (scene, 5);
  SAID (JOB_STARTED, "1", "n1,n2");
  SAID (JOB_STARTED, "2", "n3");
  scene->nodes[1].dead = scene->nodes[2].dead = true;
  run (scene, 5);
  jobs_node_down (scene->jobs, "n2");
  GOES ("1", "n1,n2");
  run (scene, 3 * 3600);
  ENDED ("2", "n3", "gone");
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* Clocks and starts at the ends of what can be written: none of them is a start (and none overflows: UBSan). */
static void
test_clocks_beyond_bounds (void **state)
{
  struct scene *scene = scene_create (4);

  (void) state;
  scene->nodes[0].wall_ns = INT64_MAX / 4;
  scene->nodes[1].wall_ns = -(INT64_MAX / 4);
  begin (scene, 0, "1", 1)->told_start = 8.9e9;
  begin (scene, 1, "2", 1)->told_start = 8.9e9;
  begin (scene, 2, "3", 1)->told_start = 1e308;
  begin (scene, 3, "4", 1)->cpus = 1e308;
  for (int i = 0; i < 4; i++)
    scene->nodes[i].works[0].rate = 1e308;
  run (scene, 4);
  for (int i = 0; i < 3; i++)
    assert_true (scene->noted.said[i].started_ns == START);
  scene->noted.checked = 4;
  tell_end (scene, "4", 1);
  ENDED ("4", "n4", "told");
  SUMMARY ("\"cpus\":null,");
  scene->nodes[3].sample_ns = INT64_MIN + 5; /* a frame of a time that never was */
  run (scene, 2);
  NOTHING_MORE ();
  scene_destroy (scene);
}

/* What a damaged history has of a job that runs. */
static void
test_damaged_history (void **state)
{
  struct scene *scene = scene_create (1);
  char nothing[] = "", label[] = "1", odd[] = "a b", name[] = "n1", bad[] = "../n1", user[] = "ana";
  char text[] = "n1 -9223372036854775808 99999999999999999999 1 nan 1e999 - -\nn1\n\n n1 5\nn9 5 5 5\nn1 7 x";
  struct job_record_node nodes[] = { { name, START }, { name, START }, { bad, START }, { name, INT64_MIN } };
  const struct job_record good = { .key = 5,
                                   .label = label,
                                   .scheduler = nothing,
                                   .user = user,
                                   .name = nothing,
                                   .command = nothing,
                                   .array = nothing,
                                   .started_ns = START,
                                   .seen_ns = START,
                                   .state = text,
                                   .nodes = nodes,
                                   .node_count = 4 };
  struct job_record bad_ones[] = { good, good, good, good, good };

  (void) state;
  bad_ones[0].key = INT64_MAX;
  bad_ones[1].started_ns = INT64_MIN;
  bad_ones[2].seen_ns = INT64_MAX;
  bad_ones[3].label = odd;
  bad_ones[4].label = nothing;
  for (size_t i = 0; i < 5; i++)
    jobs_restore (scene->jobs, &bad_ones[i]);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 0);
  jobs_restore (scene->jobs, &good);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 1);
  tick_for (scene, 32 * NS_PER_S);
  scene->noted.many = true;
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 0);
  scene_destroy (scene);
}

/* The state that aggregators wrote before there was energy, and that of this one. */
static void
test_state_of_older_ones (void **state)
{
  static const char *const energies[] = { "", " 0 7200000 0 0" };
  static const char *const expected[] = { "\"energy_kwh\":null,", "\"energy_kwh\":2,\"energy_estimated_kwh\":0," };
  char nothing[] = "", label[] = "1", name[] = "n1", user[] = "ana", text[256];
  struct job_record_node nodes[] = { { name, START } };

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    struct scene *scene = scene_create (1);
    struct job_record record = { .key = 5,
                                 .label = label,
                                 .scheduler = nothing,
                                 .user = user,
                                 .name = nothing,
                                 .command = nothing,
                                 .array = nothing,
                                 .started_ns = START - 10 * NS_PER_S,
                                 .seen_ns = START,
                                 .state = text,
                                 .nodes = nodes,
                                 .node_count = 1 };

    snprintf (text, sizeof text, "n1 %lld %lld 0 4 0 30 0 10 0 - 0 - 0 - 100 - 3 1000%s\n",
              (long long) (START - 10 * NS_PER_S), (long long) START, energies[i]);
    jobs_restore (scene->jobs, &record);
    tick_for (scene, 32 * NS_PER_S);
    ENDED ("1", "n1", "restart");
    SUMMARY ("\"cpu_time\":40,");
    SUMMARY (expected[i]);
    scene_destroy (scene);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_other_user),           cmocka_unit_test (test_other_scheduler),
    cmocka_unit_test (test_number_of_a_user),     cmocka_unit_test (test_next_user_of_a_label),
    cmocka_unit_test (test_said_later),           cmocka_unit_test (test_another_name),
    cmocka_unit_test (test_start_of_others),      cmocka_unit_test (test_endless_period),
    cmocka_unit_test (test_clocks_beyond_bounds), cmocka_unit_test (test_damaged_history),
    cmocka_unit_test (test_state_of_older_ones),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
