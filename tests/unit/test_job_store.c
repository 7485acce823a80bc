/* Jobs in a real history: written by its thread, read back as people and restarts ask for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <math.h>
#include <sqlite3.h>

#include "aggregator/history.h"
#include "aggregator/job_store.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct scene {
  char folder[64], path[96];
  struct history *history;
  struct history_file *file;
  int64_t start_ns;
};

static void
open_history (struct scene *scene, int64_t max_age_ns)
{
  scene->history = history_create (&(struct history_options){ .path = scene->path,
                                                              .max_age_ns = max_age_ns,
                                                              .max_size = 1 << 30,
                                                              .chunk_frames = 64,
                                                              .chunk_ns = NS_PER_S,
                                                              .queue_bytes = 1 << 24 });
}

static int
begin (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);

  strcpy (scene->folder, "/tmp/test-job-store-XXXXXX");
  assert_non_null (mkdtemp (scene->folder));
  snprintf (scene->path, sizeof scene->path, "%s/history.db", scene->folder);
  scene->start_ns = clock_wall () - 3600 * NS_PER_S;
  open_history (scene, 86400 * NS_PER_S);
  *state = scene;
  return 0;
}

static int
finish (void **state)
{
  struct scene *scene = *state;
  static const char *const ends[] = { "", "-wal", "-shm", ".lock" };

  history_file_close (scene->file);
  history_destroy (scene->history);
  for (size_t i = 0; i < 4; i++) {
    char *path = memory_format ("%s%s", scene->path, ends[i]);
    unlink (path);
    free (path);
  }
  rmdir (scene->folder);
  free (scene);
  return 0;
}

/* ---- rows ---- */

static void
put_job (struct scene *scene, int64_t key, const char *label, const char *user, int64_t started_s)
{
  history_put_job (
      scene->history,
      &(struct job_row){
          JOB_ROW_JOB, key, scene->start_ns + started_s * NS_PER_S, nan (""), { label, "slurm", user, "", "", "" } });
}

static void
put_node (struct scene *scene, int64_t key, const char *node)
{
  history_put_job (scene->history,
                   &(struct job_row){ JOB_ROW_NODE, key, scene->start_ns + NS_PER_S, nan (""), { node } });
}

static void
put_end (struct scene *scene, int64_t key, int64_t ended_s, const char *reason, const char *summary)
{
  int64_t time_ns = *reason ? scene->start_ns + ended_s * NS_PER_S : 0;

  history_put_job (scene->history, &(struct job_row){ JOB_ROW_END, key, time_ns, nan (""), { reason, summary } });
}

static void
put_mark (struct scene *scene, int64_t key, int64_t seen_s, const char *text)
{
  history_put_job (scene->history,
                   &(struct job_row){ JOB_ROW_MARK, key, scene->start_ns + seen_s * NS_PER_S, nan (""), { text } });
}

/* ---- reading ---- */

static struct history_file *
reader (struct scene *scene)
{
  struct error error;

  assert_true (history_flush (scene->history));
  if (!scene->file)
    scene->file = history_file_open (scene->path, &error);
  if (!scene->file)
    fail_msg ("%s", error.text);
  return scene->file;
}

/* "1 7/1 2": the labels that a query gives. */
static char *
labels (struct scene *scene, int64_t from_s, int64_t to_s, bool running, const char *users)
{
  struct globs globs;
  struct job_query query = { scene->start_ns + from_s * NS_PER_S, scene->start_ns + to_s * NS_PER_S, &globs, running };
  struct job_list list = { 0 };
  struct error error;
  char *text = memory_string ("");

  globs_init (&globs, users);
  if (job_store_list (reader (scene), &query, &list, &error) < 0)
    fail_msg ("%s", error.text);
  for (size_t i = 0; i < list.count; i++) {
    char *more = memory_format ("%s%s%s", text, i ? " " : "", list.jobs[i].label);
    free (text);
    text = more;
  }
  job_list_free (&list);
  globs_free (&globs);
  return text;
}

#define LABELS(expected, ...)                                                                                          \
  do {                                                                                                                 \
    char *text = labels (scene, __VA_ARGS__);                                                                          \
    assert_string_equal (text, expected);                                                                              \
    free (text);                                                                                                       \
  } while (0)

static struct job_record
found (struct scene *scene, const char *label)
{
  struct job_record job;
  struct error error;

  assert_int_equal (job_store_find (reader (scene), label, &job, &error), 1);
  return job;
}

static void
test_list (void **state)
{
  struct scene *scene = *state;
  struct job_record job;

  put_job (scene, 1, "1", "", 0);
  put_node (scene, 1, "n10");
  put_node (scene, 1, "n2");
  put_node (scene, 1, "n2");
  put_end (scene, 1, 100, "gone", "{\"duration\":100}");
  put_job (scene, 2, "2", "ana", 50);
  put_mark (scene, 2, 60, "n2 ...\n");
  put_mark (scene, 2, 120, "n2 more\n");
  put_job (scene, 3, "3", "bob", 200);
  put_end (scene, 3, 250, "told", "{}");
  put_job (scene, 1, "1", "ana", 10); /* better known */
  LABELS ("1 2 3", 0, 3600, false, "");
  LABELS ("1 2", 0, 200, false, "");
  LABELS ("1 2", 100, 200, false, "");
  LABELS ("2", 101, 200, false, "");
  LABELS ("2", 1000, 2000, false, ""); /* it runs, as far as is known */
  LABELS ("", 0, 5, false, "");
  LABELS ("2", 0, 3600, true, "");
  LABELS ("3", 0, 3600, false, "b*,x");
  job = found (scene, "1");
  assert_string_equal (job.user, "ana");
  assert_string_equal (job.scheduler, "slurm");
  assert_true (job.started_ns == scene->start_ns + 10 * NS_PER_S && job.ended_ns == scene->start_ns + 100 * NS_PER_S);
  assert_string_equal (job.reason, "gone");
  assert_string_equal (job.summary, "{\"duration\":100}");
  assert_int_equal (job.node_count, 2);
  assert_string_equal (job.nodes[0].name, "n2");
  assert_string_equal (job.nodes[1].name, "n10");
  assert_true (isnan (job.cpus) && job.nodes[0].first_ns == scene->start_ns + NS_PER_S);
  job_record_free (&job);
  job = found (scene, "2");
  assert_string_equal (job.state, "n2 more\n");
  assert_true (job.ended_ns == 0 && job.seen_ns == scene->start_ns + 120 * NS_PER_S);
  job_record_free (&job);
}

static void
test_resumed (void **state)
{
  struct scene *scene = *state;
  struct job_record job;

  put_job (scene, 1, "1", "", 0);
  put_mark (scene, 1, 5, "x\n");
  put_end (scene, 1, 100, "gone", "{\"a\":1}");
  put_end (scene, 1, 0, "", "");
  LABELS ("1", 0, 3600, true, "");
  job = found (scene, "1");
  assert_string_equal (job.state, ""); /* of before its end */
  assert_string_equal (job.summary, "");
  job_record_free (&job);
  put_end (scene, 1, 200, "gone", "{\"a\":2}");
  LABELS ("", 0, 3600, true, "");
  LABELS ("1", 150, 3600, false, "");
  job = found (scene, "1");
  assert_string_equal (job.summary, "{\"a\":2}");
  job_record_free (&job);
}

static void
test_find (void **state)
{
  struct scene *scene = *state;
  static const char *const all[] = { "7", "7/1", "7/10", "7/2", "7/x", "70", "7[3].pbs", "7[3].pbs/1", "8" };
  static const struct {
    const char *label;
    int64_t key;
  } expected[] = { { "7", 4 },          { "7/1", 2 }, { "7/10", 3 }, { "7/x", 5 }, { "70", 6 },     { "7[3].pbs", 8 },
                   { "7[3].pbs/1", 8 }, { "8", 9 },   { "9", 0 },    { "", 0 },    { "'; DROP", 0 } };
  struct job_record job;
  struct error error;

  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    put_job (scene, (int64_t) i + 1, all[i], "", 0);
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    int result = job_store_find (reader (scene), expected[i].label, &job, &error);
    assert_int_equal (result, expected[i].key != 0);
    if (result == 1) {
      assert_true (job.key == expected[i].key);
      job_record_free (&job);
    }
  }
  put_job (scene, 20, "8", "", 100); /* the label is used again */
  job = found (scene, "8");
  assert_true (job.key == 20);
  job_record_free (&job);
}

/* What ended before max_age goes with all that belongs to it; what runs stays, however old it is. */
static void
test_retention (void **state)
{
  struct scene *scene = *state;
  int64_t count;
  struct error error;

  put_job (scene, 1, "old", "", 0);
  put_node (scene, 1, "n1");
  put_end (scene, 1, 10, "gone", "{}");
  put_job (scene, 2, "runs", "", 0);
  put_node (scene, 2, "n1");
  put_end (scene, 2, 10, "gone", "{}");
  put_end (scene, 2, 0, "", "");
  put_mark (scene, 2, 20, "");
  put_job (scene, 3, "late", "", 0);
  put_end (scene, 3, 3599, "gone", "{}");
  LABELS ("old runs late", 0, 3600, false, "");
  history_destroy (scene->history);
  open_history (scene, 600 * NS_PER_S);
  put_job (scene, 4, "new", "", 0);
  LABELS ("runs late new", 0, 3600, false, "");
  assert_int_equal (history_file_number (scene->file, "SELECT count(*) FROM job_nodes", &count, &error), 0);
  assert_int_equal (count, 1);
  assert_int_equal (history_file_number (scene->file, "SELECT count(*) FROM job_ends", &count, &error), 0);
  assert_int_equal (count, 3);
}

static void
execute (const struct scene *scene, const char *text)
{
  sqlite3 *database;

  assert_int_equal (sqlite3_open (scene->path, &database), SQLITE_OK);
  assert_int_equal (sqlite3_exec (database, text, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close (database);
}

/* A history from before there were jobs has none, and gets their tables when it is written again. */
static void
test_older_file (void **state)
{
  struct scene *scene = *state;
  struct job_record job;
  struct job_list list = { 0 };
  struct job_query query = { 0, INT64_MAX, NULL, false };
  struct error error;

  assert_true (history_flush (scene->history));
  history_destroy (scene->history);
  scene->history = NULL;
  execute (scene, "DROP TABLE jobs; DROP TABLE job_nodes; DROP TABLE job_ends; DROP TABLE job_marks");
  scene->file = history_file_open (scene->path, &error);
  assert_non_null (scene->file);
  assert_int_equal (job_store_list (scene->file, &query, &list, &error), 0);
  assert_int_equal (list.count, 0);
  assert_int_equal (job_store_find (scene->file, "1", &job, &error), 0);
  open_history (scene, 86400 * NS_PER_S);
  put_job (scene, 1, "1", "", 0);
  LABELS ("1", 0, 3600, false, "");
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, finish)
  const struct CMUnitTest tests[] = { TEST (test_list), TEST (test_resumed), TEST (test_find), TEST (test_retention),
                                      TEST (test_older_file) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
