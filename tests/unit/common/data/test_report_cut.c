/* Reports in proportion to what they are made of: groups whose rows would make one grow far beyond it are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "synop/report.h"

#define NAME "a_metric_with_a_long_name_of_which_there_are_many_in_each_row_0"

static const struct metric metrics[] = { { NAME "1", COUNTER, .help = "" }, { NAME "2", GAUGE, .help = "" } };
static const struct metric one_metric[] = { { "tasks", GAUGE, .flags = METRIC_OF_NODE, .help = "" } };
static const struct group wide = { "wide", "system_data", "row", "rows", "total", 0, "", GROUP_METRICS (metrics) };
static const struct group jobs = { "job_wide", REPORT_JOBS, "job", "jobs", "", 0, "", GROUP_METRICS (metrics) };
static const struct group plain = { "plain", "system_data", "", "", "", 0, "", GROUP_METRICS (one_metric) };

static void
fill (struct table *table, const struct group *group, size_t rows)
{
  table_init (table, group);
  table_begin (table);
  table->period_ns = 1000000000;
  for (size_t row = 0; row < rows; row++) {
    char label[16];

    table_add_row (table, label, (size_t) snprintf (label, sizeof label, "%zu", row));
  }
}

static size_t
written (const struct report_group *groups, size_t count, struct json *json)
{
  json_clear (json);
  json_object (json);
  report_write (json, groups, count, NULL, NULL);
  json_object_end (json);
  buffer_add (&json->out, "", 1);
  return json->out.length;
}

static void
test_groups_that_are_too_wide (void **state)
{
  enum { ROWS = 4000, MOST = 1024 * 1024 };
  struct table tables[4];
  const struct report_group *cut;
  struct report_group groups[5];
  struct report_cut left_out;
  struct json json = { 0 };

  (void) state;
  fill (&tables[0], &wide, 10);
  fill (&tables[1], &plain, 0);
  fill (&tables[2], &wide, ROWS);
  fill (&tables[3], &jobs, ROWS);
  table_set_uint (&tables[1], TABLE_NODE, 0, 7);
  groups[0] = (struct report_group){ &tables[0], &tables[0] };
  groups[1] = (struct report_group){ NULL, NULL };
  groups[2] = (struct report_group){ &tables[2], &tables[2] };
  groups[3] = (struct report_group){ &tables[1], NULL };
  groups[4] = (struct report_group){ &tables[3], NULL };

  assert_ptr_equal (report_cut (groups, 4, MOST, &left_out), groups);
  assert_int_equal (left_out.count, 0);
  report_cut_free (&left_out);

  cut = report_cut (groups, 5, MOST, &left_out);
  assert_int_equal (left_out.count, 1);
  assert_ptr_equal (cut[2].now, &tables[2]);
  assert_true (written (groups, 5, &json) > 2 * ROWS * 2 * strlen (NAME));
  assert_in_range (written (cut, 5, &json), 2 * ROWS * strlen (NAME), MOST);
  assert_non_null (strstr (json.out.data,
                           "\"job_data\":[{\"job_id\":null,\"error\":\"4000 rows of 2 values are left out: "
                           "with their names the line would grow by more than 1048576 bytes\","));
  report_cut_free (&left_out);

  cut = report_cut (groups, 5, MOST / 2, &left_out);
  assert_int_equal (left_out.count, 2);
  assert_ptr_equal (cut[0].now, &tables[0]);
  assert_ptr_equal (cut[0].before, &tables[0]);
  assert_null (cut[1].now);
  assert_ptr_equal (cut[3].now, &tables[1]);
  assert_in_range (written (cut, 5, &json), 100, 10000);
  assert_non_null (strstr (json.out.data, "\"rows\":{}"));
  assert_non_null (strstr (json.out.data, "\"plain\":{\"period\":1,\"error\":\"\",\"tasks\":7}"));
  report_cut_free (&left_out);
  for (int i = 0; i < 4; i++)
    table_free (&tables[i]);
  json_free (&json);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_groups_that_are_too_wide) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
