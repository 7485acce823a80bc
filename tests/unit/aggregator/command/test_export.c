/* Tables of a history as files: however many there are, and whoever came first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "aggregator/command/export.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

struct scene {
  char folder[TEST_FOLDER_SIZE], path[128];
  struct export export;
};

static int
set_up (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);

  test_folder_make (scene->folder);
  snprintf (scene->path, sizeof scene->path, "%s/out", scene->folder);
  globs_init (&scene->export.groups, "");
  *state = scene;
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  globs_free (&scene->export.groups);
  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

static void
begin (struct scene *scene, const struct export_format *format)
{
  struct error error;

  if (export_begin (&scene->export, format, scene->path, &error) < 0)
    fail_msg ("%s", error.text);
}

static void
end (struct scene *scene)
{
  struct error error;

  if (export_end (&scene->export, &error) < 0)
    fail_msg ("%s", error.text);
}

/* One frame with one row of this group. */
static void
add (struct scene *scene, const char *node, const struct group *group)
{
  const struct group *const groups[] = { group };
  struct schema schema = { .groups = groups, .group_count = 1 };
  struct frame_header header = { .session = 1, .sequence = 1 };
  struct table table;
  struct report_group pair = { .now = &table };
  struct cluster_frame frame = { .header = &header, .schema = &schema, .groups = &pair, .time_ns = NS_PER_S };

  snprintf (header.node, sizeof header.node, "%s", node);
  table_init (&table, group);
  table_begin (&table);
  table_set_uint (&table, TABLE_NODE, 0, 42);
  export_view.frame (&scene->export, &frame);
  if (scene->export.failed)
    fail_msg ("%s", scene->export.error.text);
  table_free (&table);
}

static char *
read_text (struct scene *scene, const char *name)
{
  char *path = memory_format ("%s/%s", scene->path, name), *text = memory_new (1, 4096);
  FILE *file = fopen (path, "r");

  if (!file)
    fail_msg ("%s", path);
  text[fread (text, 1, 4095, file)] = '\0';
  fclose (file);
  free (path);
  return text;
}

static void
assert_lines (struct scene *scene, const char *name, const char *column, size_t lines)
{
  char *text = read_text (scene, name);
  size_t count = 0;

  for (const char *at = text; (at = strchr (at, '\n')); at++)
    count++;
  if (!strstr (text, column) || count != lines)
    fail_msg ("%s: %s", name, text);
  free (text);
}

#define SCHEMAS 30
#define GROUPS 128

/* Far more tables than files may be open. */
static void
add_many_tables (struct scene *scene, const struct export_format *format)
{
  static struct metric metrics[SCHEMAS];
  static char names[SCHEMAS][24], group_names[GROUPS][24];
  static struct group groups[SCHEMAS][GROUPS];
  struct rlimit limit;

  for (int i = 0; i < SCHEMAS; i++) {
    snprintf (names[i], sizeof names[i], "metric_%d", i);
    metrics[i] = (struct metric){ names[i], GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Help." };
    for (int k = 0; k < GROUPS; k++) {
      snprintf (group_names[k], sizeof group_names[k], "group_%d", k);
      groups[i][k] = (struct group){ group_names[k], "system_data", "", "", "", 0, "Help.", &metrics[i], 1 };
    }
  }
  getrlimit (RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 64;
  setrlimit (RLIMIT_NOFILE, &limit);
  begin (scene, format);
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < SCHEMAS; i++)
      for (int k = 0; k < GROUPS; k++)
        add (scene, "n1", &groups[i][k]);
  end (scene);
  limit.rlim_cur = limit.rlim_max;
  setrlimit (RLIMIT_NOFILE, &limit);
}

static void
test_many_tables (void **state)
{
  add_many_tables (*state, &export_csv);
  assert_lines (*state, "group_0.csv", "metric_0", 3);
  assert_lines (*state, "group_127-30.csv", "metric_29", 3);
}

static void
assert_columnar (struct scene *scene, const char *name, const char *column, const char *mark)
{
  char *path = memory_format ("%s/%s", scene->path, name), text[4096];
  FILE *file = fopen (path, "r");
  size_t length;

  assert_non_null (file);
  length = fread (text, 1, sizeof text, file);
  assert_in_range (length, 500, sizeof text - 1);
  assert_memory_equal (text, mark, strlen (mark));
  assert_memory_equal (text + length - strlen (mark), mark, strlen (mark));
  assert_non_null (memmem (text, length, column, strlen (column)));
  fclose (file);
  free (path);
}

static void
test_many_tables_parquet (void **state)
{
  add_many_tables (*state, &export_parquet);
  assert_columnar (*state, "group_0.parquet", "metric_0", "PAR1");
  assert_columnar (*state, "group_127-30.parquet", "metric_29", "PAR1");
}

static const struct metric metrics_of[] = {
  { "common", GAUGE, UNIT_SECONDS, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
  { "strange", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
  { "rare", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
};
#define LOAD(which)                                                                                                    \
  {                                                                                                                    \
    "load", "system_data", "", "", "", 0, "Help.", &metrics_of[which], 1                                               \
  }
static const struct group common = LOAD (0), strange = LOAD (1), rare = LOAD (2);

/* A node whose group is another than everybody's does not get its name, though it came first and says most. */
static void
add_shapes (struct scene *scene)
{
  add (scene, "n9", &rare);
  for (int i = 0; i < 20; i++)
    add (scene, "evil", &strange);
  for (int i = 1; i <= 3; i++) {
    char node[16];
    snprintf (node, sizeof node, "n%d", i);
    add (scene, node, &common);
  }
}

static void
test_most_common (void **state)
{
  struct scene *scene = *state;

  begin (scene, &export_csv);
  add_shapes (scene);
  end (scene);
  assert_lines (scene, "load.csv", "common", 4);
  assert_lines (scene, "load-2.csv", "strange", 21);
  assert_lines (scene, "load-3.csv", "rare", 2);
}

static void
test_most_common_json (void **state)
{
  struct scene *scene = *state;

  begin (scene, &export_json);
  add_shapes (scene);
  end (scene);
  assert_lines (scene, "load.json", "common", 5);
}

static void
test_most_common_columnar (void **state)
{
  struct scene *scene = *state;

  begin (scene, &export_arrow);
  add_shapes (scene);
  end (scene);
  assert_columnar (scene, "load.arrow", "common", "ARROW1");
  assert_columnar (scene, "load-2.arrow", "strange", "ARROW1");
  assert_columnar (scene, "load-3.arrow", "rare", "ARROW1");
}

static hssize_t
rows_of (hid_t file, const char *name)
{
  hid_t set = H5Dopen2 (file, name, H5P_DEFAULT), space = H5Dget_space (set);
  hssize_t rows = H5Sget_simple_extent_npoints (space);

  H5Sclose (space);
  H5Dclose (set);
  return rows;
}

static void
test_most_common_hdf5 (void **state)
{
  struct scene *scene = *state;
  hid_t file;

  begin (scene, &export_hdf5);
  add_shapes (scene);
  end (scene);
  file = H5Fopen (scene->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  assert_true (file >= 0);
  assert_int_equal (rows_of (file, "load"), 3);
  assert_int_equal (rows_of (file, "load-2"), 20);
  assert_int_equal (rows_of (file, "load-3"), 1);
  H5Fclose (file);
}

#define NOTED 3000
static const struct metric noted_metrics[] = {
  { "note", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
  { "number", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
};
static const struct group noted = { "noted", "system_data", "", "", "", 0, "Help.", GROUP_METRICS (noted_metrics) };

/* The text of row `i`: they grow, row by row and all at once, and become short again. */
static void
note_of (char text[TABLE_TEXT_MAX + 1], int i)
{
  int length = i == 2000 ? TABLE_TEXT_MAX : i % 1100 / 4;

  memset (text, 'a' + i % 26, TABLE_TEXT_MAX);
  text[length] = '\0';
}

static void
assert_noted (hid_t file)
{
  struct noted_row {
    char note[TABLE_TEXT_MAX + 1];
    double number;
  } *rows = memory_new (NOTED, sizeof *rows);
  hid_t set = H5Dopen2 (file, "noted", H5P_DEFAULT), text = H5Tcopy (H5T_C_S1);
  hid_t type = H5Tcreate (H5T_COMPOUND, sizeof *rows);
  char expected[TABLE_TEXT_MAX + 1];

  H5Tset_size (text, TABLE_TEXT_MAX + 1);
  H5Tset_cset (text, H5T_CSET_UTF8);
  H5Tinsert (type, "note", offsetof (struct noted_row, note), text);
  H5Tinsert (type, "number", offsetof (struct noted_row, number), H5T_NATIVE_DOUBLE);
  assert_true (H5Dread (set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
  for (int i = 0; i < NOTED; i++) {
    note_of (expected, i);
    assert_string_equal (rows[i].note, expected);
    assert_true (rows[i].number == i);
  }
  assert_int_equal (H5Lexists (file, " aside", H5P_DEFAULT), 0);
  H5Tclose (type);
  H5Tclose (text);
  H5Dclose (set);
  free (rows);
}

/* A text for which its column is too narrow. */
static void
test_long_texts_hdf5 (void **state)
{
  struct scene *scene = *state;
  struct error error;
  struct table table;
  char text[TABLE_TEXT_MAX + 1];
  void *output, *to;
  hid_t file;

  output = export_hdf5.create (scene->path, &error);
  to = export_hdf5.begin (output, "noted", &noted, &error);
  assert_non_null (to);
  table_init (&table, &noted);
  for (int i = 0; i < NOTED; i++) {
    struct export_row row = { .node = "n1", .table = &table, .values = table.node };
    note_of (text, i);
    table_begin (&table);
    table_set_text (&table, TABLE_NODE, 0, text, strlen (text));
    table_set_int (&table, TABLE_NODE, 1, i);
    if (export_hdf5.row (to, &row, &error) < 0)
      fail_msg ("%s", error.text);
  }
  table_free (&table);
  assert_int_equal (export_hdf5.end (to, true, &error), 0);
  assert_int_equal (export_hdf5.destroy (output, true, &error), 0);
  file = H5Fopen (scene->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  assert_int_equal (rows_of (file, "noted"), NOTED);
  assert_noted (file);
  H5Fclose (file);
}

static const struct metric job_metrics[] = {
  { "read_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Help." },
  { "usage", COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_SHARE, .per = 1000, .help = "Help." },
};
static const struct group job_io = { "job_io", "job_data", "job",   "jobs",
                                     "total",  0,          "Help.", GROUP_METRICS (job_metrics) };

/* A frame of node n1 at that second; of a session that began at 0 or at `monotonic_from`. bytes 0: without the job. */
static void
add_job_row (struct scene *scene, int64_t second, int64_t monotonic_from, uint64_t bytes, uint64_t used_ms)
{
  static const struct group *const groups[] = { &job_io };
  struct schema schema = { .groups = groups, .group_count = 1 };
  struct frame_header header = { .session = 1, .sequence = 1, .node = "n1" };
  struct table table;
  struct report_group pair = { .now = &table };
  struct cluster_frame frame = { .header = &header, .schema = &schema, .groups = &pair, .time_ns = second * NS_PER_S };

  table_init (&table, &job_io);
  table_begin (&table);
  table.period_ns = 10 * NS_PER_S;
  table.monotonic_ns = (second - monotonic_from) * NS_PER_S;
  table_add_row (&table, "8", 1);
  if (bytes) {
    table_add_row (&table, "7", 1);
    table_set_uint (&table, 1, 0, bytes);
    table_set_uint (&table, 1, 1, used_ms);
  }
  export_view.frame (&scene->export, &frame);
  if (scene->export.failed)
    fail_msg ("%s", scene->export.error.text);
  table_free (&table);
}

/* Its counters add up to what it used since it began, at second 100. */
static void
test_job_adds_up (void **state)
{
  struct scene *scene = *state;
  char *text;

  scene->export.job = "7";
  scene->export.job_started_ns = 100 * NS_PER_S;
  begin (scene, &export_csv);
  add_job_row (scene, 90, 0, 0, 0);
  add_job_row (scene, 105, 0, 1000, 2500); /* from 0, in 5 s */
  add_job_row (scene, 115, 0, 1500, 7500);
  add_job_row (scene, 125, 0, 0, 0); /* out of sight */
  add_job_row (scene, 135, 0, 1600, 7500);
  add_job_row (scene, 145, 140, 1700, 9000); /* its clock began anew, the counters did not */
  add_job_row (scene, 155, 140, 30, 5000);   /* it counts anew */
  end (scene);
  text = read_text (scene, "job_io.csv");
  assert_string_equal (strchr (text, '\n') + 1, "1970-01-01T00:01:45.000000000Z,n1,7,5,,1000,50\n"
                                                "1970-01-01T00:01:55.000000000Z,n1,7,10,,500,50\n"
                                                "1970-01-01T00:02:15.000000000Z,n1,7,20,,100,0\n"
                                                "1970-01-01T00:02:25.000000000Z,n1,7,10,,100,\n"
                                                "1970-01-01T00:02:35.000000000Z,n1,7,10,,30,\n");
  free (text);
  text = read_text (scene, "job_io.units.json");
  assert_string_equal (text, "{\"period\":\"seconds\",\"read_bytes\":\"bytes\",\"usage\":\"percent\"}\n");
  free (text);
}

/* The agent came when the job had run for long: what it used is not that of one period. */
static void
test_late_to_a_job (void **state)
{
  struct scene *scene = *state;
  char *text;

  scene->export.job = "7";
  scene->export.job_started_ns = 100 * NS_PER_S;
  begin (scene, &export_csv);
  add_job_row (scene, 1100, 0, 1000, 2500);
  end (scene);
  text = read_text (scene, "job_io.csv");
  assert_string_equal (strchr (text, '\n') + 1, "1970-01-01T00:18:20.000000000Z,n1,7,1000,,1000,\n");
  free (text);
}

/* The file of units of a table has its name, when tables change theirs. */
static void
test_units_of_most_common (void **state)
{
  struct scene *scene = *state;

  begin (scene, &export_csv);
  add_shapes (scene);
  end (scene);
  assert_lines (scene, "load.units.json", "\"common\":\"seconds\"", 1);
  assert_lines (scene, "load-2.units.json", "\"strange\":\"bytes\"", 1);
}

/* Of as many nodes the first stays. */
static void
test_first_of_equal (void **state)
{
  struct scene *scene = *state;

  begin (scene, &export_csv);
  add (scene, "n1", &common);
  add (scene, "n2", &strange);
  add (scene, "n2", &strange);
  end (scene);
  assert_lines (scene, "load.csv", "common", 2);
  assert_lines (scene, "load-2.csv", "strange", 3);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    TEST (test_many_tables),         TEST (test_most_common),          TEST (test_most_common_json),
    TEST (test_most_common_hdf5),    TEST (test_first_of_equal),       TEST (test_long_texts_hdf5),
    TEST (test_job_adds_up),         TEST (test_late_to_a_job),        TEST (test_units_of_most_common),
    TEST (test_many_tables_parquet), TEST (test_most_common_columnar),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
