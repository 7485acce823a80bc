/* What one node or user may take of the jobs: each has a share that no other can take, at a cost that does not grow with what
 * others do. */
#include <time.h>

#include "tests/unit/aggregator/jobs/jobs_scene.h"

static double
cpu_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* ---- nodes ---- */

/* So many jobs of its own. */
static void
fill (struct scene *scene, size_t node, int count)
{
  char label[40];

  for (int i = 0; i < count; i++) {
    snprintf (label, sizeof label, "%zu-%d", node, i);
    begin (scene, node, label, 1);
  }
}

/* A third of the cluster takes all that it can: the others' jobs are seen, and nobody's that runs is displaced. */
static void
test_nodes_fill_the_table (void **state)
{
  enum { HOSTILE = 40, ALL = 60 };
  struct scene *scene = scene_create (ALL);
  uint64_t running;

  (void) state;
  scene->noted.many = true;
  jobs_expect_nodes (scene->jobs, ALL);
  for (size_t i = 0; i < HOSTILE; i++)
    fill (scene, i, JOBS_NODE_MAX + 10);
  run (scene, 2);
  running = jobs_counts (scene->jobs)->jobs_running;
  assert_true (running >= JOBS_MAX / 2 && running < JOBS_MAX);
  assert_true (jobs_counts (scene->jobs)->job_rows_refused > 0);
  assert_int_equal (scene->noted.event, EVENT_JOBS_HELD_BACK);
  for (size_t i = HOSTILE; i < ALL; i++)
    fill (scene, i, 500);
  run (scene, 1);
  assert_true (jobs_counts (scene->jobs)->jobs_running == running + 500 * (ALL - HOSTILE));
  for (size_t i = HOSTILE; i < ALL; i++)
    scene->nodes[i].dead = true;
  for (size_t i = 0; i < HOSTILE; i++) /* other ones, and more */
    snprintf (scene->nodes[i].works[0].label, sizeof scene->nodes[i].works[0].label, "new");
  run (scene, 1);
  assert_true (jobs_counts (scene->jobs)->jobs_running <= running + 500 * (ALL - HOSTILE) + HOSTILE);
  scene_destroy (scene);
}

static void
test_a_node_over_its_limit (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  scene->noted.many = true;
  fill (scene, 0, JOBS_NODE_MAX + 5);
  run (scene, 9);
  assert_int_equal (scene->noted.events, 1); /* once in 10 s */
  assert_int_equal (scene->noted.event, EVENT_JOBS_HELD_BACK);
  assert_string_equal (scene->noted.who, "n1");
  assert_string_equal (scene->noted.what, "rows");
  assert_non_null (strstr (scene->noted.why, "more jobs than one node may have"));
  assert_int_equal (scene->noted.count, (GROUPS - 1) * 5); /* in each table */
  run (scene, 3);
  assert_int_equal (scene->noted.events, 2);
  assert_true (scene->noted.count >= 100);
  scene_destroy (scene);
}

/* One id, ever another user: what must be looked through stays short. */
static void
test_ever_another_user (void **state)
{
  struct scene *scene = scene_create (2);
  char user[16];

  (void) state;
  scene->noted.many = true;
  begin (scene, 0, "1", 1);
  for (int i = 0; i < 1000; i++) {
    struct work *work = &scene->nodes[0].works[0];
    snprintf (user, sizeof user, "u%d", i);
    work->user = user;
    work->checked = false;
    sample (scene, &scene->nodes[0]);
  }
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 64);
  begin (scene, 1, "1", 1);
  run (scene, 3);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 65);
  scene_destroy (scene);
}

/* What ended on one node takes nothing of the memory of what ended on others. */
static void
test_many_that_ended (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  begin (scene, 1, "1", 1);
  run (scene, 5);
  scene->nodes[1].silent = true;
  run (scene, 35);
  SAID (JOB_STARTED, "1", "n2");
  ENDED ("1", "n2", "gone");
  scene->noted.many = true;
  for (int round = 0; round < 6; round++) {
    scene->nodes[0].count = 0;
    fill (scene, 0, JOBS_NODE_MAX);
    for (size_t i = 0; i < JOBS_NODE_MAX; i++)
      snprintf (scene->nodes[0].works[i].label, sizeof scene->nodes[0].works[i].label, "%d-%zu", round, i);
    run (scene, 1);
    scene->nodes[0].count = 0;
    run (scene, 33);
  }
  assert_true (jobs_counts (scene->jobs)->jobs_ended > JOBS_KEPT_MAX);
  scene->noted.many = false;
  scene->nodes[1].silent = false;
  run (scene, 1);
  SAID (JOB_RESUMED, "1", "n2");
  scene_destroy (scene);
}

/* A row that changes in each frame is written now and then. */
static void
test_ever_another_number (void **state)
{
  struct scene *scene = scene_with_job (1, 5);
  size_t before = scene->noted.rows;

  (void) state;
  for (int i = 0; i < 40; i++) {
    scene->nodes[0].works[0].cpus = i;
    scene->nodes[0].works[0].checked = false;
    run (scene, 1);
  }
  assert_in_range (scene->noted.rows - before, 4, 10);
  scene_destroy (scene);
}

/* ---- what it costs ---- */

static uint64_t
fnv (uint64_t sum, unsigned char byte)
{
  return (sum ^ byte) * UINT64_C (0x100000001b3);
}

/* The next label, from a number on, whose FNV-1a ends on 14 zeros, as the table once took it. */
static void
next_colliding (char label[40], unsigned *number)
{
  for (;; ++*number) {
    uint64_t sum = UINT64_C (0xcbf29ce484222325), all;
    size_t length = (size_t) snprintf (label, 40, "%x-", *number);
    for (size_t i = 0; i < length; i++)
      sum = fnv (sum, (unsigned char) label[i]);
    for (int one = 'A'; one <= 'z'; one++)
      for (int two = 'A'; two <= 'z'; two++) {
        all = fnv (fnv (sum, (unsigned char) one), (unsigned char) two);
        if (((all ^ all >> 32) & 0x3fff) == 0) {
          snprintf (label + length, 40 - length, "%c%c", one, two);
          ++*number;
          return;
        }
      }
  }
}

/* CPU seconds of frames in which everything moved, so that each row is looked for. */
static double
cost_of_labels (bool colliding)
{
  enum { NODES_OF = 3, ROWS = 1500 };
  struct scene *scene = scene_create (NODES_OF);
  unsigned number = 1;
  double begun;

  scene->noted.many = true;
  for (size_t i = 0; i < NODES_OF; i++)
    for (int k = 0; k < ROWS; k++) {
      struct work *work = begin (scene, i, "", 1);
      if (colliding)
        next_colliding (work->label, &number);
      else
        snprintf (work->label, sizeof work->label, "%zu-%d", i, k);
    }
  run (scene, 1);
  begun = cpu_seconds ();
  for (int turn = 0; turn < 4; turn++)
    for (size_t i = 0; i < NODES_OF; i++) {
      struct work first = scene->nodes[i].works[0];
      memmove (scene->nodes[i].works, scene->nodes[i].works + 1, (ROWS - 1) * sizeof first);
      scene->nodes[i].works[ROWS - 1] = first;
      sample (scene, &scene->nodes[i]);
    }
  begun = cpu_seconds () - begun;
  scene_destroy (scene);
  return begun;
}

static void
test_labels_that_collided (void **state)
{
  double usual = cost_of_labels (false), colliding = cost_of_labels (true);

  (void) state;
  if (colliding > 4 * usual + 0.01)
    fail_msg ("%.4f s instead of %.4f s", colliding, usual);
}

/* Ticks at which nothing is due, with many jobs that run. */
static void
test_ticks_of_many (void **state)
{
  struct scene *scene = scene_create (20);
  double begun;

  (void) state;
  scene->noted.many = true;
  for (size_t i = 0; i < 20; i++)
    fill (scene, i, 1000);
  run (scene, 5);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 20000);
  begun = cpu_seconds ();
  for (int i = 0; i < 2000; i++)
    jobs_tick (scene->jobs, scene->now_ns);
  begun = cpu_seconds () - begun;
  if (begun > 0.02) /* 40 million looks */
    fail_msg ("%.4f s", begun);
  scene_destroy (scene);
}

/* All jobs of many nodes end at once: it takes some ticks, each of them short. */
static void
test_many_ends (void **state)
{
  struct scene *scene = scene_create (20);
  uint64_t before, most = 0, last = 0;

  (void) state;
  scene->noted.many = true;
  for (size_t i = 0; i < 20; i++)
    fill (scene, i, 1000);
  run (scene, 5);
  before = jobs_counts (scene->jobs)->jobs_ended;
  assert_int_equal (before, 0);
  for (int i = 0; i < 40 * 4; i++) {
    tick_for (scene, NS_PER_S / 4);
    most = jobs_counts (scene->jobs)->jobs_ended - last > most ? jobs_counts (scene->jobs)->jobs_ended - last : most;
    last = jobs_counts (scene->jobs)->jobs_ended;
  }
  assert_int_equal (last, 20000);
  assert_in_range (most, 1000, 8192);
  scene_destroy (scene);
}

/* ---- users of the socket ---- */

static int
say_start (struct scene *scene, uint32_t uid, const char *label)
{
  const struct job_announcement word = { label, "", "", uid == 0, uid };
  struct error error;
  int result = jobs_start (scene->jobs, &word, scene->now_ns, &error);

  if (result < 0)
    assert_non_null (strstr (error.text, "that no node has shown"));
  return result;
}

static int
say_end (struct scene *scene, uint32_t uid, const char *label)
{
  const struct job_announcement word = { label, "", "", uid == 0, uid };
  struct error error;
  int result = jobs_end (scene->jobs, &word, scene->now_ns, &error);

  if (result < 0)
    assert_non_null (strstr (error.text, "another user's"));
  return result;
}

/* How many he may begin, of ever new ids. */
static int
starts (struct scene *scene, uint32_t uid, int most)
{
  char label[40];
  int count = 0;

  for (; count < most; count++) {
    snprintf (label, sizeof label, "%u-%d", uid, count);
    if (say_start (scene, uid, label) < 0)
      break;
  }
  return count;
}

static void
test_users_have_a_share (void **state)
{
  struct scene *scene = scene_create (1);

  (void) state;
  scene->noted.many = true;
  assert_int_equal (starts (scene, 1000, 100000), JOBS_ANNOUNCED_USER_MAX);
  assert_int_equal (scene->noted.event, EVENT_JOBS_HELD_BACK);
  assert_string_equal (scene->noted.who, "1000");
  assert_string_equal (scene->noted.what, "words");
  for (uint32_t uid = 1001; uid < 1064; uid++)
    assert_true (starts (scene, uid, 100000) >= JOBS_ANNOUNCED_USERS_MAX / 2 / 64);
  assert_true (jobs_counts (scene->jobs)->jobs_running <= JOBS_ANNOUNCED_USERS_MAX);
  assert_int_equal (jobs_counts (scene->jobs)->job_words_refused, 64);
  assert_int_equal (starts (scene, 0, 100000), JOBS_ANNOUNCED_MAX); /* that is a scheduler's own */
  fill (scene, 0, 1000);
  run (scene, 1);
  assert_int_equal (jobs_counts (scene->jobs)->job_rows_refused, 0);
  run (scene, 610);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 1000);
  assert_int_equal (starts (scene, 1000, 100000), JOBS_ANNOUNCED_USER_MAX); /* they are given up after 10 minutes */
  scene_destroy (scene);
}

/* What nodes show of them is theirs, and counts no more. */
static void
test_jobs_that_are_shown (void **state)
{
  struct scene *scene = scene_create (1);
  char label[40];

  (void) state;
  scene->noted.many = true;
  assert_int_equal (starts (scene, 1000, 200), 200);
  for (int i = 0; i < 200; i++) {
    snprintf (label, sizeof label, "1000-%d", i);
    begin (scene, 0, label, 1)->uid = 1000;
  }
  run (scene, 1);
  assert_int_equal (jobs_counts (scene->jobs)->jobs_running, 200);
  for (int i = 0; i < JOBS_ANNOUNCED_USER_MAX; i++) {
    snprintf (label, sizeof label, "more-%d", i);
    assert_int_equal (say_start (scene, 1000, label), 0);
  }
  assert_int_equal (say_start (scene, 1000, "another"), -1);
  scene_destroy (scene);
}

/* A user speaks for his own jobs: neither takes he over another's, nor ends it, nor keeps it from being seen. */
static void
test_words_about_others (void **state)
{
  struct scene *scene = scene_create (2);

  (void) state;
  assert_int_equal (say_start (scene, 1000, "1"), 0); /* before it begins */
  assert_int_equal (say_end (scene, 1000, "2"), 0);
  begin (scene, 0, "1", 1)->uid = 1001;
  begin (scene, 1, "2", 1)->uid = 1001;
  run (scene, 4);
  SAID (JOB_STARTED, "1", "");
  assert_string_equal (SAID (JOB_STARTED, "1", "n1")->user, "ana");
  SAID (JOB_STARTED, "2", "n2");
  assert_int_equal (say_end (scene, 1000, "2"), -1);
  assert_string_equal (scene->noted.who, "1000");
  assert_int_equal (say_end (scene, 1000, "1"), 1);
  ENDED ("1", "", "told");
  NOTHING_MORE ();
  assert_int_equal (say_end (scene, 1001, "2"), 1);
  ENDED ("2", "n2", "told");
  assert_int_equal (say_end (scene, 0, "1"), 1);
  ENDED ("1", "n1", "told");
  run (scene, 60);
  NOTHING_MORE ();
  scene_destroy (scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_nodes_fill_the_table), cmocka_unit_test (test_a_node_over_its_limit),
    cmocka_unit_test (test_ever_another_user),    cmocka_unit_test (test_many_that_ended),
    cmocka_unit_test (test_ever_another_number),  cmocka_unit_test (test_labels_that_collided),
    cmocka_unit_test (test_ticks_of_many),        cmocka_unit_test (test_many_ends),
    cmocka_unit_test (test_users_have_a_share),   cmocka_unit_test (test_jobs_that_are_shown),
    cmocka_unit_test (test_words_about_others),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
