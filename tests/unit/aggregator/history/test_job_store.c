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

#include "aggregator/history/history.h"
#include "aggregator/history/job_store.h"
#include "aggregator/report/job_report.h"
#include "aggregator/report/job_report_write.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

struct scene {
  char folder[TEST_FOLDER_SIZE], path[96];
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

  test_folder_make (scene->folder);
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

  history_file_close (scene->file);
  history_destroy (scene->history);
  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

/* ---- rows ---- */

static void
put_job_of (struct scene *scene, int64_t key, const char *label, const char *scheduler, const char *user)
{
  history_put_job (
      scene->history,
      &(struct job_row){ JOB_ROW_JOB, key, scene->start_ns, nan (""), { label, scheduler, user, "", "", "" } });
}

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

  assert_true (!scene->history || history_flush (scene->history));
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
  struct job_query query = { scene->start_ns + from_s * NS_PER_S, scene->start_ns + to_s * NS_PER_S, &globs, NULL,
                             running };
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

  assert_int_equal (job_store_find (reader (scene), &(struct job_choice){ label }, &job, &error), 1);
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
    int result = job_store_find (reader (scene), &(struct job_choice){ expected[i].label }, &job, &error);
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

/* Several users', several schedulers' jobs of one id: it must be said which is meant. */
static void
test_find_of_several (void **state)
{
  struct scene *scene = *state;
  static const struct {
    struct job_choice choice;
    int64_t key; /* 0: it is not said which; -1: there is none */
    const char *says;
  } expected[] = {
    { { "7", "", "" }, 0, "job 7 is of several users: ana, eve; --user says whose" },
    { { "7", "ana", NULL }, 0, "job 7 is of several schedulers: pbs, slurm; --scheduler says whose" },
    { { "7", "ana", "pbs" }, 2, NULL },
    { { "7", "ana", "slurm" }, 4, NULL },
    { { "7", "eve", NULL }, 3, NULL },
    { { "7", "bob", NULL }, -1, NULL },
    { { "8", NULL, NULL }, 5, NULL }, /* the one that somebody has, though another is newer */
    { { "9", NULL, NULL }, 7, NULL },
  };
  struct job_record job;
  struct error error;

  put_job_of (scene, 1, "7", "slurm", "ana");
  put_job_of (scene, 2, "7", "pbs", "ana");
  put_job_of (scene, 3, "7/2", "slurm", "eve");
  put_job_of (scene, 4, "7/1", "slurm", "ana");
  put_job_of (scene, 5, "8", "slurm", "ana");
  put_job_of (scene, 6, "8", "", "");
  put_job_of (scene, 7, "9", "", "");
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    int result = job_store_find (reader (scene), &expected[i].choice, &job, &error);
    assert_int_equal (result, expected[i].key > 0 ? 1 : expected[i].key < 0 ? 0 : JOB_STORE_SEVERAL);
    if (result < 0)
      assert_string_equal (error.text, expected[i].says);
    if (result == 1) {
      assert_int_equal (job.key, expected[i].key);
      job_record_free (&job);
    }
  }
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
  sqlite3_busy_timeout (database, 60000); /* the writer may be at work */
  assert_int_equal (sqlite3_exec (database, text, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close (database);
}

static void
copy_file (const char *from, const char *to)
{
  char *command = memory_format ("rm -f '%s-wal' '%s-shm'; cp '%s' '%s'", to, to, from, to);

  assert_int_equal (system (command), 0);
  free (command);
}

/* There is one, or an error. */
static void
check_report (struct history_file *file)
{
  const struct job_look look = { 100, true, true };
  struct error error = { "" };
  struct json json = { 0 };
  struct job_report *report = job_report_read (file, &(struct job_choice){ "1" }, clock_wall (), NULL, &error);

  if (report) {
    job_report_text (report, &look, &json.out);
    job_report_json (report, &json);
    assert_null (memmem (json.out.data, json.out.length, "\033[31", 4)); /* what the row has */
  }
  assert_true (report != NULL || *error.text);
  job_report_destroy (report);
  json_free (&json);
}

/* What disks and hands do to rows: they are left out, and the error says which; never is anything made of them. */
static void
test_damaged_rows (void **state)
{
  static const struct {
    const char *damage, *what;
  } rows[] = {
    { "UPDATE jobs SET label = x'ff00ff' WHERE key = 1", NULL },
    { "UPDATE jobs SET label = '' WHERE key = 1", "its id" },
    { "UPDATE jobs SET label = zeroblob (100000) || 'a' WHERE key = 1", "its id" },
    { "UPDATE jobs SET label = 'a b' WHERE key = 1", "its id" },
    { "UPDATE jobs SET started = -9223372036854775808 WHERE key = 1", "a time" },
    { "UPDATE jobs SET started = 0 WHERE key = 1", "a time" },
    { "UPDATE jobs SET cpus = 9e999 WHERE key = 1", "its number of CPUs" },
    { "UPDATE job_ends SET time = 9223372036854775807 WHERE job = 1", "a time" },
    { "UPDATE job_ends SET time = -1 WHERE job = 1", "a time" },
    { "UPDATE job_ends SET summary = '{\"duration\":' WHERE job = 1", "its summary" },
    { "UPDATE job_ends SET summary = '{}' || char (10) || '{}' WHERE job = 1", "its summary" },
    { "UPDATE job_ends SET summary = replace (hex (zeroblob (50000)), '00', '[') WHERE job = 1", "its summary" },
    { "UPDATE job_ends SET summary = '{\"a\":' || replace (hex (zeroblob (50000)), '00', '[') WHERE job = 1",
      "its summary" },
    { "UPDATE job_nodes SET first = -5 WHERE job = 1", "a node of it" },
    { "UPDATE nodes SET name = '../x'", "a node of it" },
    { "UPDATE jobs SET user = zeroblob (1000000), name = x'1b5b33316d', command = '', array = 5 WHERE key = 1", NULL },
  };
  struct scene *scene = *state;
  char *kept = memory_format ("%s.kept", scene->path);
  struct job_query query = { INT64_MIN, INT64_MAX, NULL, false };

  put_job (scene, 1, "1", "ana", 0);
  put_node (scene, 1, "n1");
  put_end (scene, 1, 100, "gone", "{\"duration\":100,\"lost_nodes\":[\"n1\"],\"a\":{\"b\":[-1.5e+9,null,true]}}");
  put_job (scene, 2, "2", "ana", 0);
  assert_true (history_flush (scene->history));
  history_destroy (scene->history);
  scene->history = NULL;
  copy_file (scene->path, kept);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct job_list list = { 0 };
    struct job_record job;
    struct history_file *file;
    struct error error = { "" };
    int found;
    copy_file (kept, scene->path);
    execute (scene, rows[i].damage);
    file = history_file_open (scene->path, &error);
    assert_non_null (file);
    assert_int_equal (job_store_list (file, &query, &list, &error), 0);
    if (list.damaged != (rows[i].what != NULL))
      fail_msg ("%s", rows[i].damage);
    assert_int_equal (list.count, rows[i].what ? 1 : 2);
    assert_string_equal (list.jobs[list.count - 1].label, "2");
    found = job_store_find (file, &(struct job_choice){ "1" }, &job, &error);
    if (found < 0)
      assert_true (strstr (error.text, "the row of job 1 (key 1) is damaged: ") && strstr (error.text, rows[i].what));
    else
      assert_true (found == 0 || !rows[i].what);
    if (found == 1)
      job_record_free (&job);
    check_report (file);
    job_list_free (&list);
    history_file_close (file);
  }
  unlink (kept);
  free (kept);
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
  assert_int_equal (job_store_find (scene->file, &(struct job_choice){ "1" }, &job, &error), 0);
  open_history (scene, 86400 * NS_PER_S);
  put_job (scene, 1, "1", "", 0);
  LABELS ("1", 0, 3600, false, "");
}

static void
put_facts (struct scene *scene, int64_t key, const char *facts)
{
  history_put_job (scene->history, &(struct job_row){ JOB_ROW_FACTS, key, 0, nan (""), { facts } });
}

static int64_t
count_facts (struct scene *scene)
{
  int64_t count = -1;
  struct error error;

  assert_int_equal (history_file_number (reader (scene), "SELECT count(*) FROM job_facts", &count, &error), 0);
  return count;
}

static struct job_record
found_facts (struct scene *scene, enum job_outcome outcome)
{
  struct job_record job = found (scene, "1");

  assert_int_equal (job.facts.outcome, outcome);
  return job;
}

/* The newest count, go with their job, and are not in a history of before. What is no JSON is not known. */
static void
test_facts (void **state)
{
  struct scene *scene = *state;
  struct job_record job;

  put_job (scene, 1, "1", "", 0);
  put_facts (scene, 1, "{\"outcome\":\"running\",\"final\":false}");
  put_facts (scene, 2, "{\"outcome\":\"failed\"}"); /* of no job */
  job = found_facts (scene, JOB_OUTCOME_RUNNING);
  job_record_free (&job);
  put_facts (scene, 1, "{\"outcome\":\"timeout\",\"final\":true,\"partition\":\"debug\"}");
  job = found_facts (scene, JOB_OUTCOME_TIMEOUT);
  assert_string_equal (job.facts.texts[JOB_FACT_PARTITION], "debug");
  assert_true (job.facts.final);
  job_record_free (&job);
  execute (scene, "UPDATE job_facts SET facts = 'x'");
  job = found_facts (scene, JOB_OUTCOME_UNKNOWN);
  assert_true (job_facts_are_empty (&job.facts));
  job_record_free (&job);
  assert_int_equal (count_facts (scene), 1);
  execute (scene, "DELETE FROM jobs");
  assert_int_equal (count_facts (scene), 0);
  put_job (scene, 1, "1", "", 0);
  assert_true (history_flush (scene->history));
  history_destroy (scene->history);
  scene->history = NULL;
  execute (scene, "DROP TABLE job_facts");
  job = found_facts (scene, JOB_OUTCOME_UNKNOWN);
  assert_true (job_facts_are_empty (&job.facts));
  job_record_free (&job);
}

static void
put_task (struct scene *scene, int64_t key, const char *label, const char *array)
{
  history_put_job (
      scene->history,
      &(struct job_row){
          JOB_ROW_JOB, key, scene->start_ns + key * NS_PER_S, nan (""), { label, "slurm", "ana", "", "", array } });
}

/* Tasks of arrays, runs of a name, ids with a server: as people write them, which is what they are shown as. */
static void
test_as_people_write (void **state)
{
  static const struct {
    const char *written, *shown;
    int64_t key;
  } rows[] = {
    { "2_1", "2_1", 2 },     { "2_2", "2_2/1", 3 },     { "2_2/1", "2_2/1", 3 },   { "3/1", "2_2/1", 3 },
    { "demo", "demo/2", 6 }, { "demo/0", "demo", 4 },   { "demo/1", "demo/1", 5 }, { "demo/2", "demo/2", 6 },
    { "12", "12.pbs", 7 },   { "4[3]", "4[3].pbs", 8 },
  };
  static const char *const none[] = { "2_3", "2_1/1", "demo/3", "demo/", "demo/x", "1_", "/1", "/" };
  struct scene *scene = *state;
  struct job_record job;
  struct error error;

  put_task (scene, 2, "2", "2_1");
  put_task (scene, 3, "3/1", "2_2");
  for (int64_t key = 4; key <= 6; key++)
    put_job_of (scene, key, "demo", "synop", "ana");
  put_job_of (scene, 7, "12.pbs", "pbs", "ana");
  put_task (scene, 8, "4[3].pbs", "4_3");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    job = found (scene, rows[i].written);
    assert_int_equal (job.key, rows[i].key);
    assert_string_equal (job.shown, rows[i].shown);
    job_record_free (&job);
  }
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
    assert_int_equal (job_store_find (reader (scene), &(struct job_choice){ none[i] }, &job, &error), 0);
}

/* Of a list each run is numbered, also those whose first runs are older than it; runs of two users are not one's. */
static void
test_runs (void **state)
{
  static const char *const shown[] = { "demo/1", "demo/2", "demo" };
  struct scene *scene = *state;
  struct job_query query = { scene->start_ns + 50 * NS_PER_S, INT64_MAX, NULL, false };
  struct job_list list = { 0 };
  struct error error;

  put_job_of (scene, 1, "demo", "synop", "ana");
  put_end (scene, 1, 20, "gone", "{}");
  put_job_of (scene, 2, "demo", "synop", "ana");
  put_end (scene, 2, 60, "gone", "{}");
  put_job_of (scene, 3, "demo", "synop", "ana");
  put_job_of (scene, 4, "demo", "synop", "bob");
  assert_int_equal (job_store_list (reader (scene), &query, &list, &error), 0);
  assert_int_equal (list.count, 3);
  for (size_t i = 0; i < list.count; i++)
    assert_string_equal (list.jobs[i].shown, shown[i]);
  assert_int_equal (list.jobs[0].after_ns, scene->start_ns + 20 * NS_PER_S);
  assert_int_equal (list.jobs[1].after_ns, scene->start_ns + 60 * NS_PER_S);
  assert_int_equal (list.jobs[2].after_ns, 0);
  job_list_free (&list);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, finish)
  const struct CMUnitTest tests[] = { TEST (test_list),
                                      TEST (test_resumed),
                                      TEST (test_find),
                                      TEST (test_find_of_several),
                                      TEST (test_retention),
                                      TEST (test_older_file),
                                      TEST (test_damaged_rows),
                                      TEST (test_facts),
                                      TEST (test_as_people_write),
                                      TEST (test_runs) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
