/* What of a frame, of events and of lines about jobs a viewer sees: made-up frames of a node with two users' jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/access/access_rows.h"
#include "aggregator/core/node.h"
#include "aggregator/stream/node_line.h"
#include "aggregator/views/job_line.h"

enum { LOAD, INFO, CPU, GPU, RUNTIME, MEMORY, UNKNOWN, GROUPS };

static const struct metric load_metrics[] = { { "load_1", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "." } };
static const struct metric info_metrics[] = { { "user", TEXT, UNIT_NONE, FOLD_NONE, .help = "." },
                                              { "uid", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "." },
                                              { "name", TEXT, UNIT_NONE, FOLD_NONE, .help = "." } };
static const struct metric cpu_metrics[] = { { "usage", GAUGE, UNIT_PERCENT, FOLD_SUM, .help = "." } };
static const struct metric gpu_metrics[] = { { "command", TEXT, UNIT_NONE, FOLD_NONE, .help = "." },
                                             { "job", TEXT, UNIT_NONE, FOLD_NONE, .help = "." },
                                             { "memory_used", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "." } };
static const struct metric runtime_metrics[] = { { "job", TEXT, UNIT_NONE, FOLD_NONE, .help = "." } };
static const struct group made_groups[GROUPS] = {
  [LOAD] = { "load", "system_data", "", "", "", 0, ".", GROUP_METRICS (load_metrics) },
  [INFO] = { "job_info", "job_data", "job", "jobs", "", 0, ".", GROUP_METRICS (info_metrics) },
  [CPU] = { "job_cpu", "job_data", "job", "jobs", "total", 0, ".", GROUP_METRICS (cpu_metrics) },
  [GPU] = { "gpu_processes", "system_data", "GPU/process", "processes", "total", 0, ".", GROUP_METRICS (gpu_metrics) },
  [RUNTIME] = { "runtime_info", "runtime_data", "runtime", "runtimes", "", 0, ".", GROUP_METRICS (runtime_metrics) },
  [MEMORY] = { "memory_used", "runtime_data", "core", "cores", "total", 0, ".", GROUP_METRICS (cpu_metrics) },
  [UNKNOWN] = { "newer", "system_data", "thing", "things", "total", 0, ".", GROUP_METRICS (gpu_metrics) },
};
static const struct group *const list[GROUPS] = { &made_groups[0], &made_groups[1], &made_groups[2], &made_groups[3],
                                                  &made_groups[4], &made_groups[5], &made_groups[6] };

static const struct viewer ana = { .uid = 1001, .name = "ana" };
static const struct viewer bob = { .uid = 1002, .name = "bob" };
static const struct viewer eve = { .uid = 1003, .name = "eve" };

struct scene {
  struct schema *schema;
  struct table tables[GROUPS];
  struct report_group groups[GROUPS];
  struct node *node;
  struct frame_header header;
  struct cluster_frame frame;
};

static size_t
add (struct scene *scene, size_t group, const char *label)
{
  return table_add_row (&scene->tables[group], label, strlen (label));
}

static int
set_up (void **state)
{
  static const uint8_t key[KEY_SIZE] = { 1 };
  struct scene *scene = *state = calloc (1, sizeof *scene);
  size_t row;

  scene->schema = schema_create (list, GROUPS);
  for (size_t i = 0; i < GROUPS; i++) {
    table_init (&scene->tables[i], &made_groups[i]);
    table_begin (&scene->tables[i]);
    scene->groups[i].now = &scene->tables[i];
  }
  table_set_real (&scene->tables[LOAD], TABLE_NODE, 0, 1.5);
  row = add (scene, INFO, "11");
  table_set_string (&scene->tables[INFO], row, 0, "ana");
  table_set_string (&scene->tables[INFO], row, 2, "title-of-ana");
  row = add (scene, INFO, "22");
  table_set_string (&scene->tables[INFO], row, 0, "bob");
  table_set_string (&scene->tables[INFO], row, 2, "title-of-bob");
  row = add (scene, INFO, "33"); /* of a user without a name */
  table_set_uint (&scene->tables[INFO], row, 1, 1003);
  add (scene, INFO, "44"); /* of nobody that is known */
  for (const char *const *label = (const char *const[]){ "22", "11", "33", "44", "55", NULL }; *label; label++)
    table_set_real (&scene->tables[CPU], add (scene, CPU, *label), 0, 50);
  row = add (scene, GPU, "0/100");
  table_set_string (&scene->tables[GPU], row, 0, "command-of-ana");
  table_set_string (&scene->tables[GPU], row, 1, "11");
  row = add (scene, GPU, "0/200");
  table_set_string (&scene->tables[GPU], row, 0, "command-of-bob");
  table_set_string (&scene->tables[GPU], row, 1, "22");
  row = add (scene, GPU, "0/300"); /* of no job */
  table_set_string (&scene->tables[GPU], row, 0, "command-of-root");
  table_set_string (&scene->tables[RUNTIME], add (scene, RUNTIME, "r100"), 0, "11");
  table_set_string (&scene->tables[RUNTIME], add (scene, RUNTIME, "r200"), 0, "22");
  table_set_real (&scene->tables[MEMORY], add (scene, MEMORY, "r100/0"), 0, 1);
  table_set_real (&scene->tables[MEMORY], add (scene, MEMORY, "r200/0"), 0, 2);
  row = add (scene, UNKNOWN, "thing-of-bob");
  table_set_string (&scene->tables[UNKNOWN], row, 1, "22");
  snprintf (scene->tables[CPU].error, sizeof scene->tables[CPU].error, "user bob has too many");
  scene->node = node_create ("n1", key, 0);
  scene->header = (struct frame_header){ .node = "n1", .session = 7, .sequence = 1 };
  scene->frame = (struct cluster_frame){ .node = scene->node,
                                         .header = &scene->header,
                                         .length = 10000,
                                         .drift_ppb = INT64_MIN,
                                         .bound_ns = -1,
                                         .probe_age_ms = -1,
                                         .schema = scene->schema,
                                         .groups = scene->groups };
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  for (size_t i = 0; i < GROUPS; i++)
    table_free (&scene->tables[i]);
  node_destroy (scene->node);
  schema_destroy (scene->schema);
  free (scene);
  return 0;
}

/* The node's line as the viewer has it. */
static char *
line_for (struct scene *scene, const struct viewer *viewer)
{
  struct stream_line line = node_line (&scene->frame);
  struct json json = { 0 };
  char *text;

  line.write (line.context, &json, NULL, viewer);
  text = strdup (buffer_text (&json.out));
  json_free (&json);
  return text;
}

static void
check_line (struct scene *scene, const struct viewer *viewer, const char *const *has, const char *const *lacks)
{
  char *text = line_for (scene, viewer);

  for (; *has; has++)
    if (!strstr (text, *has))
      fail_msg ("%s lacks \"%s\": %s", viewer->name, *has, text);
  for (; *lacks; lacks++)
    if (strstr (text, *lacks))
      fail_msg ("%s sees \"%s\": %s", viewer->name, *lacks, text);
  free (text);
}

#define TEXTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
test_lines (void **state)
{
  struct scene *scene = *state;

  check_line (scene, &viewer_all,
              TEXTS ("\"load_1\":1.5", "title-of-ana", "title-of-bob", "command-of-root", "\"44\"", "\"55\"",
                     "user bob has", "thing-of-bob", "r200"),
              TEXTS ("others_left_out"));
  check_line (scene, &ana,
              TEXTS ("\"load_1\":1.5", "title-of-ana", "\"job_id\":\"11\"", "command-of-ana", "\"runtime\":\"r100\"",
                     "\"others_left_out\":true", ACCESS_ERROR),
              TEXTS ("bob", "\"22\"", "\"33\"", "\"44\"", "\"55\"", "0/200", "0/300", "root", "r200"));
  check_line (scene, &bob, TEXTS ("title-of-bob", "\"job_id\":\"22\"", "command-of-bob", "r200", "thing-of-bob"),
              TEXTS ("ana", "\"11\"", "\"44\"", "0/100", "r100", "user bob has"));
  check_line (scene, &eve, TEXTS ("\"job_id\":\"33\"", "others_left_out"), TEXTS ("\"11\"", "\"22\"", "ana", "bob"));
  check_line (scene, &viewer_nobody, TEXTS ("\"load_1\":1.5", "\"job_data\":[", "others_left_out"),
              TEXTS ("ana", "bob", "\"11\"", "\"22\"", "\"33\"", "\"44\"", "0/300", "r100"));
}

/* Sums are of what is shown. */
static void
test_folds (void **state)
{
  struct scene *scene = *state;

  table_set_uint (&scene->tables[GPU], 0, 2, 1000);
  table_set_uint (&scene->tables[GPU], 1, 2, 70000);
  check_line (scene, &ana, TEXTS ("\"total\":{\"memory_used\":1000}"), TEXTS ("71000"));
  check_line (scene, &viewer_nobody, TEXTS ("\"total\":{\"memory_used\":null}"), TEXTS ("1000", "71000"));
}

static void
test_shares (void **state)
{
  struct scene *scene = *state;

  assert_int_equal (access_share (&viewer_all, &scene->frame), ACCESS_WHOLE);
  assert_int_equal (access_share (&ana, &scene->frame), ACCESS_OWN);
  assert_int_equal (access_share (&viewer_nobody, &scene->frame), ACCESS_BARE);
  assert_int_equal (access_share (&(struct viewer){ .uid = 5, .name = "zoe" }, &scene->frame), ACCESS_BARE);
  for (size_t i = 1; i < GROUPS; i++)
    scene->groups[i].now = NULL;
  assert_int_equal (access_share (&ana, &scene->frame), ACCESS_WHOLE);
}

/* Of a frame without job_info a history knows whose its jobs were; nobody else does. */
static bool
past (const struct viewer *viewer, const char *node, const char *label, size_t length, int64_t time_ns)
{
  assert_string_equal (node, "n1");
  assert_true (time_ns == 77);
  return strcmp (viewer->name, "ana") == 0 && length == 2 && memcmp (label, "11", 2) == 0;
}

static void
test_past (void **state)
{
  struct scene *scene = *state;
  struct viewer then = ana;

  scene->groups[INFO].now = NULL;
  scene->frame.time_ns = 77;
  assert_int_equal (access_share (&ana, &scene->frame), ACCESS_BARE);
  then.past = past;
  check_line (scene, &then, TEXTS ("\"job_id\":\"11\"", "command-of-ana"), TEXTS ("\"22\"", "bob", "\"55\""));
}

/* ---- events, and lines about jobs ---- */

static void
test_events (void **state)
{
  static const char *const groups_of_users[] = { "load", "job_cpu" }, *const plain[] = { "load", "gpu" };
  static const char stored_job[] =
      "{\"type\":\"event\",\"event\":\"group_failed\",\"groups\":[\"job_io\"],\"error\":\"bob\"}\n";
  static const char stored_load[] =
      "{\"type\":\"event\",\"event\":\"group_failed\",\"groups\":[\"load\"],\"error\":\"x\"}\n";
  static const char stored_user[] =
      "{\"type\":\"event\",\"event\":\"over_share\",\"user\":\"1002\",\"what\":\"clients\"}\n";
  static const char stored_none[] = "{\"type\":\"event\",\"event\":\"over_share\",\"node\":\"n1\"}\n";
  const struct {
    struct event event;
    bool open;
  } cases[] = {
    { { .type = EVENT_NODE_UP }, true },
    { { .type = EVENT_HISTORY_FAILED }, true },
    { { .type = EVENT_JOBS_HELD_BACK }, false },
    { { .type = EVENT_JOB_DISPUTED }, false },
    { { .type = EVENT_REJECTED }, false },
    { { .type = EVENT_TYPES }, false },
    { { .type = EVENT_OVER_SHARE, .user = "1002" }, false },
    { { .type = EVENT_OVER_SHARE, .node = "n1" }, true },
    { { .type = EVENT_OVER_SHARE, .line = stored_user, .line_length = sizeof stored_user - 1 }, false },
    { { .type = EVENT_OVER_SHARE, .line = stored_none, .line_length = sizeof stored_none - 1 }, true },
    { { .type = EVENT_GROUP_FAILED, .groups = groups_of_users, .group_count = 2 }, false },
    { { .type = EVENT_GROUP_FAILED, .groups = plain, .group_count = 2 }, true },
    { { .type = EVENT_GROUP_RECOVERED, .line = stored_job, .line_length = sizeof stored_job - 1 }, false },
    { { .type = EVENT_GROUP_FAILED, .line = stored_load, .line_length = sizeof stored_load - 1 }, true },
    { { .type = EVENT_GROUP_FAILED, .line = "{", .line_length = 1 }, false },
  };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (access_sees_event (&ana, &cases[i].event) != cases[i].open)
      fail_msg ("case %zu", i);
    assert_true (access_sees_event (&viewer_all, &cases[i].event));
  }
}

static bool
past_job (const struct viewer *viewer, const char *node, const char *label, size_t length, int64_t time_ns)
{
  (void) time_ns;
  return viewer == viewer->history && strcmp (node, "n3") == 0 && length == 2 && memcmp (label, "11", 2) == 0;
}

static void
test_jobs (void **state)
{
  static const char *const texts[JOB_TEXTS] = { [JOB_USER] = "ana" }, *const none[JOB_TEXTS] = { 0 };
  static const char named[] = "{\"type\":\"job\",\"event\":\"ended\",\"job_id\":\"11\",\"user\":\"bob\"}\n";
  static const char joined[] = "{\"type\":\"job\",\"event\":\"node\",\"job_id\":\"11\",\"node\":\"n3\"}\n";
  struct viewer then = ana;
  const char *node = "n3";
  struct job_line line;

  (void) state;
  assert_true (access_sees_job (&ana, &(struct job_line){ .texts = texts }));
  assert_false (access_sees_job (&bob, &(struct job_line){ .texts = texts }));
  assert_false (access_sees_job (&ana, &(struct job_line){ .texts = none }));
  assert_true (access_sees_job (&viewer_all, &(struct job_line){ .texts = none }));
  job_line_stored (&line, 5, &node, named, sizeof named - 1);
  assert_true (access_sees_job (&bob, &line));
  assert_false (access_sees_job (&ana, &line));
  job_line_stored (&line, 5, &node, joined, sizeof joined - 1);
  assert_false (access_sees_job (&ana, &line));
  then.past = past_job;
  then.history = &then;
  assert_true (access_sees_job (&then, &line));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_lines, set_up, tear_down),
    cmocka_unit_test_setup_teardown (test_folds, set_up, tear_down),
    cmocka_unit_test_setup_teardown (test_shares, set_up, tear_down),
    cmocka_unit_test_setup_teardown (test_past, set_up, tear_down),
    cmocka_unit_test (test_events),
    cmocka_unit_test (test_jobs),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
