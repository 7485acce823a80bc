/* Whose a job's row of the past was: ids that several users had, one after the other and on several nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "aggregator/history/history.h"
#include "aggregator/history/job_owners.h"
#include "aggregator/history/job_store.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

#define HOUR (3600 * NS_PER_S)

struct scene {
  char folder[TEST_FOLDER_SIZE], path[96];
  struct history *history;
  struct history_file *file;
  int64_t start_ns;
  struct job_owners *owners;
};

static void
put (struct scene *scene, int64_t key, const char *label, const char *user, const char *node, int from_s, int to_s)
{
  int64_t from_ns = scene->start_ns + from_s * NS_PER_S;

  history_put_job (scene->history,
                   &(struct job_row){ JOB_ROW_JOB, key, from_ns, nan (""), { label, "slurm", user, "", "", "" } });
  history_put_job (scene->history, &(struct job_row){ JOB_ROW_NODE, key, from_ns, nan (""), { node } });
  if (to_s)
    history_put_job (
        scene->history,
        &(struct job_row){ JOB_ROW_END, key, scene->start_ns + to_s * NS_PER_S, nan (""), { "gone", "{}" } });
}

static int
set_up (void **state)
{
  struct scene *scene = *state = memory_new (1, sizeof *scene);
  struct error error;

  test_folder_make (scene->folder);
  snprintf (scene->path, sizeof scene->path, "%s/history.db", scene->folder);
  scene->start_ns = clock_wall () - HOUR;
  scene->history = history_create (&(struct history_options){ .path = scene->path,
                                                              .max_age_ns = 24 * HOUR,
                                                              .max_size = 1 << 30,
                                                              .chunk_frames = 64,
                                                              .chunk_ns = NS_PER_S,
                                                              .queue_bytes = 1 << 24 });
  put (scene, 1, "7", "ana", "n1", 0, 100);
  put (scene, 2, "7", "bob", "n1", 300, 400);
  put (scene, 3, "7", "bob", "n2", 50, 0);
  put (scene, 4, "71", "bob", "n1", 0, 0);
  put (scene, 5, "8", "ana", "n1", 0, 0);
  put (scene, 6, "9", "", "n1", 0, 0);
  assert_true (history_flush (scene->history));
  scene->file = history_file_open (scene->path, &error);
  scene->owners = job_owners_read (scene->file, scene->start_ns, scene->start_ns + HOUR, &error);
  return scene->owners ? 0 : -1;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  job_owners_free (scene->owners);
  history_file_close (scene->file);
  history_destroy (scene->history);
  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

static void
test_past (void **state)
{
  static const struct {
    const char *user, *node, *label;
    int at_s;
    bool his;
  } cases[] = {
    { "ana", "n1", "7", 10, true },   { "bob", "n1", "7", 10, false },  { "ana", "n1", "7", 120, true },
    { "ana", "n1", "7", 200, false }, { "bob", "n1", "7", 200, false }, { "ana", "n1", "7", 310, false },
    { "bob", "n1", "7", 310, true },  { "ana", "n2", "7", 60, false },  { "bob", "n2", "7", 60, true },
    { "bob", "n2", "7", 10, false },  { "ana", "n3", "7", 10, false },  { "ana", "n1", "71", 10, false },
    { "ana", "n1", "8", 3000, true }, { "ana", "n1", "9", 10, false },  { "", "n1", "9", 10, false },
    { "ana", "n1", "", 10, false },   { "ana", NULL, "8", 10, true },   { "ana", NULL, "7", 350, false },
  };
  struct scene *scene = *state;

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct viewer viewer = { .uid = VIEWER_UID_UNKNOWN };
    strcpy (viewer.name, cases[i].user);
    job_owners_show (scene->owners, &viewer);
    if (viewer.past (&viewer, cases[i].node, cases[i].label, strlen (cases[i].label),
                     scene->start_ns + cases[i].at_s * NS_PER_S) != cases[i].his)
      fail_msg ("case %zu: %s, %s at %d s", i, cases[i].user, cases[i].label, cases[i].at_s);
  }
}

static bool
all_his (struct scene *scene, const char *user, const char *node, const char *label, int from_s, int to_s)
{
  struct viewer viewer = { .uid = VIEWER_UID_UNKNOWN };

  strcpy (viewer.name, user);
  return job_owners_all_his (scene->owners, &viewer, node, label, scene->start_ns + from_s * NS_PER_S,
                             scene->start_ns + to_s * NS_PER_S);
}

static void
test_intervals (void **state)
{
  struct scene *scene = *state;

  assert_true (all_his (scene, "ana", "n1", "7", 0, 200));
  assert_false (all_his (scene, "ana", "n1", "7", 0, 350));
  assert_false (all_his (scene, "bob", "n1", "7", 0, 350));
  assert_true (all_his (scene, "bob", "n1", "7", 200, 350));
  assert_true (all_his (scene, "bob", "n2", "7", 0, 3000));
  assert_false (all_his (scene, "ana", "n1", "nothing", 0, 3000));
  assert_false (all_his (scene, "ana", "n1", "71", 0, 3000));
}

/* Lists and choices of the same jobs. */
static void
test_store (void **state)
{
  const struct viewer ana = { .uid = 1001, .name = "ana" };
  struct scene *scene = *state;
  struct job_query query = { .from_ns = scene->start_ns, .to_ns = scene->start_ns + HOUR, .viewer = &ana };
  struct job_list list = { 0 };
  struct job_record job;
  struct error error;

  assert_int_equal (job_store_list (scene->file, &query, &list, &error), 0);
  assert_int_equal (list.count, 2);
  assert_true (list.others);
  job_list_free (&list);
  /* Of several users, but of hers there is one. */
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "7", NULL, NULL, &ana }, &job, &error), 1);
  assert_string_equal (job.user, "ana");
  job_record_free (&job);
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "7" }, &job, &error), JOB_STORE_SEVERAL);
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "71", NULL, NULL, &ana }, &job, &error), 0);
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "7", "bob", NULL, &ana }, &job, &error), 0);
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "9", NULL, NULL, &ana }, &job, &error), 0);
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "8", NULL, NULL, &viewer_nobody }, &job, &error),
                    0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_past, set_up, tear_down),
    cmocka_unit_test_setup_teardown (test_intervals, set_up, tear_down),
    cmocka_unit_test_setup_teardown (test_store, set_up, tear_down),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
