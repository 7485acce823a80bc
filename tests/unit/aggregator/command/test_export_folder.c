/* Files that get their names together, when all are whole. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/command/export.h"
#include "aggregator/command/export_folder.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

struct scene {
  char folder[TEST_FOLDER_SIZE], path[128];
  struct export_folder *output;
  struct error error;
};

static int
set_up (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);

  test_folder_make (scene->folder);
  snprintf (scene->path, sizeof scene->path, "%s/out", scene->folder);
  scene->output = export_folder_create (scene->path, &scene->error);
  *state = scene;
  return scene->output ? 0 : -1;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

/* What a file of the folder holds; "": it is not there. To be freed. */
static char *
content (const struct scene *scene, const char *name)
{
  char *path = memory_format ("%s/%s", scene->path, name), *text = memory_new (1, 64);
  FILE *file = fopen (path, "r");

  if (file) {
    text[fread (text, 1, 63, file)] = '\0';
    fclose (file);
  }
  free (path);
  return text;
}

static void
assert_content (const struct scene *scene, const char *name, const char *expected)
{
  char *text = content (scene, name);

  assert_string_equal (text, expected);
  free (text);
}

static struct export_file *
add (struct scene *scene, const char *name, const char *text)
{
  struct export_file *file = export_file_create (scene->output, name, "csv", &scene->error);

  assert_non_null (file);
  assert_int_equal (export_file_add (file, text, strlen (text), &scene->error), 0);
  return file;
}

static void
put_mine (const struct scene *scene, const char *name)
{
  char *path = memory_format ("%s/%s", scene->path, name);
  FILE *file = fopen (path, "w");

  fputs ("mine", file);
  fclose (file);
  free (path);
}

static void
test_named_together (void **state)
{
  struct scene *scene = *state;
  struct export_file *one = add (scene, "one", "1"), *two = add (scene, "two", "2");

  assert_int_equal (export_file_add (one, "1", 1, &scene->error), 0);
  export_file_swap (one, two);
  assert_string_equal (one->name, "two");
  assert_int_equal (export_folder_files (scene->output), 2);
  assert_content (scene, "one.csv", "");
  assert_int_equal (export_folder_destroy (scene->output, true, &scene->error), 0);
  assert_content (scene, "one.csv", "2");
  assert_content (scene, "two.csv", "11");
}

static void
test_failed (void **state)
{
  struct scene *scene = *state;

  add (scene, "one", "1");
  assert_int_equal (export_folder_destroy (scene->output, false, &scene->error), 0);
  assert_int_equal (access (scene->path, F_OK), -1);
}

/* A file that somebody made meanwhile stays, and no other gets its name. */
static void
test_made_meanwhile (void **state)
{
  struct scene *scene = *state;

  add (scene, "one", "1");
  add (scene, "two", "2");
  add (scene, "three", "3");
  put_mine (scene, "two.csv");
  assert_int_equal (export_folder_destroy (scene->output, true, &scene->error), -1);
  assert_non_null (strstr (scene->error.text, "out/two.csv: File exists"));
  assert_content (scene, "two.csv", "mine");
  assert_content (scene, "one.csv", "");
  assert_content (scene, "three.csv", "");
  scene->output = export_folder_create (scene->path, &scene->error);
  assert_null (export_file_create (scene->output, "two", "csv", &scene->error));
  assert_non_null (strstr (scene->error.text, "out/two.csv: File exists"));
  assert_int_equal (export_folder_destroy (scene->output, false, &scene->error), 0);
  assert_content (scene, "two.csv", "mine");
}

static const struct metric metrics[] = {
  { "noise", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Help." },
};
static const struct group group = { "noisy", "system_data", "", "", "", 0, "Help.", GROUP_METRICS (metrics) };

/* On a disk that is full, and on one that becomes so, each form says of which file, and leaves nothing. */
static void
test_full (void **state)
{
  static const struct export_format *const formats[] = { &export_csv, &export_json, &export_parquet, &export_arrow };
  struct scene *scene = *state;
  struct rlimit limit, before;
  struct table table;

  export_folder_destroy (scene->output, false, &scene->error);
  signal (SIGXFSZ, SIG_IGN);
  getrlimit (RLIMIT_FSIZE, &before);
  table_init (&table, &group);
  for (size_t i = 0; i < 2 * sizeof formats / sizeof formats[0]; i++) {
    const struct export_format *format = formats[i / 2];
    void *output = format->create (scene->path, &scene->error), *to;
    struct export_row row = { .node = "n1", .table = &table, .values = table.node };
    int result = 0;
    to = format->begin (output, "noisy", &group, &scene->error);
    limit = before;
    limit.rlim_cur = i % 2 ? 100000 : 0;
    setrlimit (RLIMIT_FSIZE, &limit);
    for (unsigned k = 0; k < 50000 && result == 0; k++) {
      table_begin (&table);
      table_set_real (&table, TABLE_NODE, 0, (double) (k * 2654435761u) / 3);
      row.time_ns = k;
      result = format->row (to, &row, &scene->error);
    }
    if (format->end (to, result == 0, &scene->error) < 0)
      result = -1;
    setrlimit (RLIMIT_FSIZE, &before);
    assert_int_equal (result, -1);
    assert_non_null (strstr (scene->error.text, "out/noisy."));
    assert_non_null (strstr (scene->error.text, "File too large"));
    assert_int_equal (format->destroy (output, false, &scene->error), 0);
    assert_int_equal (access (scene->path, F_OK), -1);
  }
  table_free (&table);
}

int
main (void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown (NAME, set_up, tear_down)
  const struct CMUnitTest tests[] = { TEST (test_named_together), TEST (test_failed), TEST (test_made_meanwhile),
                                      TEST (test_full) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
