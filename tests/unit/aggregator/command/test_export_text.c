/* CSV: cells whose text a spreadsheet would run as a formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/command/export.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

static const struct metric metrics[] = {
  { "user", TEXT, UNIT_NONE, FOLD_NONE, .help = "User." },
  { "offset", GAUGE, UNIT_SECONDS, FOLD_NONE, .help = "Offset." },
};
static const struct group group = { "job_info", "job_data", "job",      "jobs",
                                    "total",    0,          "A group.", GROUP_METRICS (metrics) };

static const struct {
  const char *text, *cell;
} cells[] = {
  { "ana", "ana" },
  { "a=b", "a=b" },
  { "=1+1", "'=1+1" },
  { "+1", "'+1" },
  { "-1", "'-1" },
  { "@SUM(A1)", "'@SUM(A1)" },
  { "\t=1", "'\t=1" },
  { "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0" },
  { "=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"" },
  { "\r=1", "\"'\r=1\"" },
  { "", "" },
};
#define CELLS (sizeof cells / sizeof cells[0])

/* As label and as value; a number below 0 is a number. */
static void
test_formulas (void **state)
{
  char folder[TEST_FOLDER_SIZE], *path, *expected, text[4096] = "";
  struct table table;
  struct error error;
  void *output, *csv;
  FILE *file;

  (void) state;
  test_folder_make (folder);
  path = memory_format ("%s/job_info.csv", folder);
  output = export_csv.create (folder, &error);
  csv = export_csv.begin (output, "job_info", &group, &error);
  assert_non_null (csv);
  table_init (&table, &group);
  for (size_t i = 0; i < CELLS; i++) {
    struct export_row row = { .node = "n1", .label = cells[i].text, .label_length = strlen (cells[i].text) };
    struct value values[2];
    table_begin (&table);
    table_add_row (&table, "x", 1);
    table_set_text (&table, 0, 0, cells[i].text, strlen (cells[i].text));
    table_set_int (&table, 0, 1, -5);
    row.table = &table;
    row.values = values;
    values[0] = *table_get (&table, 0, 0);
    values[1] = *table_get (&table, 0, 1);
    assert_int_equal (export_csv.row (csv, &row, &error), 0);
  }
  assert_int_equal (export_csv.end (csv, true, &error), 0);
  assert_int_equal (export_csv.destroy (output, true, &error), 0);
  file = fopen (path, "r");
  assert_non_null (file);
  assert_true (fread (text, 1, sizeof text - 1, file) > 0);
  fclose (file);
  for (size_t i = 0; i < CELLS; i++) {
    expected = memory_format (",n1,%s,,,%s,-5\n", cells[i].cell, cells[i].cell);
    if (!strstr (text, expected))
      fail_msg ("%s is not in %s", expected, text);
    free (expected);
  }
  test_folder_remove (folder);
  table_free (&table);
  free (path);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_formulas) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
