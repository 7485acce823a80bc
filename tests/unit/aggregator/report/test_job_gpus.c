/* The GPUs of a job: what the samples add up to; the worst first, in sentences, in the table, on a terminal and in the
 * picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_report_gpus.h"
#include "aggregator/report/job_report_write.h"
#include "aggregator/report/job_sheet.h"
#include "synop/schema.h"
#include "tests/unit/aggregator/report/job_stage.h"

static struct job_report *
staged (const char *name)
{
  for (size_t i = 0; i < STAGES; i++)
    if (strcmp (stages[i].name, name) == 0)
      return stage_report (&stages[i].stage);
  fail_msg ("no stage %s", name);
  return NULL;
}

static void
check_text (struct buffer *text, const char *expected)
{
  buffer_add (text, "", 1);
  assert_string_equal (text->data, expected);
  buffer_clear (text);
}

/* ---- samples ---- */

static const struct metric given_metrics[] = {
  { "gpus", TEXT, UNIT_NONE, FOLD_NONE, .help = "GPUs." },
  { "idle", TEXT, UNIT_NONE, FOLD_NONE, .help = "Idle ones." },
};
static const struct metric gpu_metrics[] = {
  { "utilization", GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = "Use." },
  { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000, .help = "Energy." },
  { "throttle_time_power", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "Time." },
  { "throttle_time_thermal", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "Time." },
  { "throttled_hw_thermal", GAUGE, UNIT_BOOLEAN, FOLD_MAX, .help = "Hot." },
  { "xid_errors", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "XIDs." },
  { "xid", GAUGE, UNIT_NONE, FOLD_NONE, .help = "The last." },
};
static const struct group gpu_groups[] = {
  { "job_gpu", "job_data", "job", "jobs", "total", 0, "A group.", GROUP_METRICS (given_metrics) },
  { "gpu", "system_data", "gpu", "gpus", "total", 0, "A group.", GROUP_METRICS (gpu_metrics) },
};
static const struct group *const gpu_group_list[] = { &gpu_groups[0], &gpu_groups[1] };

/* Sample `number`, two seconds after the one before. Of this time the power limit held GPU 2 for one, and heat a little
 * longer than it lasted. Another job has GPU 0. */
static void
take (struct job_gpus_reading *reading, struct job_node *node, const struct schema *schema, uint64_t number)
{
  struct table jobs, gpus;
  struct report_group groups[2] = { { &jobs, NULL }, { &gpus, NULL } };
  struct cluster_frame frame = { .schema = schema, .groups = groups };
  size_t row;

  table_init (&jobs, &gpu_groups[0]);
  table_init (&gpus, &gpu_groups[1]);
  row = table_add_row (&jobs, "123", 3);
  table_set_text (&jobs, row, 0, "2,3", 3);
  table_set_text (&jobs, row, 1, number > 2 ? "3" : "", number > 2 ? 1 : 0);
  gpus.monotonic_ns = (int64_t) number * 2 * NS_PER_S;
  gpus.period_ns = 2 * NS_PER_S;
  for (size_t i = 0; i < 3; i++) {
    row = table_add_row (&gpus, i == 0 ? "0" : i == 1 ? "2" : "3", 1);
    table_set_uint (&gpus, row, 0, 10 * number);
    table_set_uint (&gpus, row, 1, 100000 * number);
    table_set_uint (&gpus, row, 2, i == 1 ? number * NS_PER_S : 0);
    table_set_uint (&gpus, row, 3, i == 1 ? number * (2 * NS_PER_S + NS_PER_S / 100) : 0);
    table_set_uint (&gpus, row, 4, i == 1 && number > 1);
    table_set_uint (&gpus, row, 5, i == 2 && number > 3 ? 7 : 5);
    if (i == 2 && number > 3)
      table_set_uint (&gpus, row, 6, 79);
  }
  job_gpus_take (reading, node, &frame);
  table_free (&jobs);
  table_free (&gpus);
}

static void
test_samples (void **state)
{
  struct schema *schema = schema_create (gpu_group_list, 2);
  struct job_gpus_reading *reading = job_gpus_begin ("123");
  struct job_node node = { .name = "n1" };
  const struct report_gpu *used, *idle;

  (void) state;
  for (uint64_t i = 1; i <= 4; i++)
    take (reading, &node, schema, i);
  assert_int_equal (node.gpu_count, 2);
  used = &node.gpus[0];
  idle = &node.gpus[1];
  assert_string_equal (used->label, "2");
  assert_float_equal (job_gpu_mean (&used->utilization), 25, 1e-9);
  assert_float_equal (used->energy.sum, 300, 1e-9);
  assert_float_equal (job_gpu_mean (&used->throttled), 75, 1e-9);
  assert_float_equal (job_gpu_mean (&used->throttled_power), 50, 1e-9);
  assert_float_equal (job_gpu_mean (&used->throttled_thermal), 100, 1e-9);
  assert_float_equal (job_gpu_idle (used), 0, 1e-9);
  assert_float_equal (job_gpu_idle (idle), 50, 1e-9);
  assert_int_equal (used->xids, 0);
  assert_int_equal (idle->xids, 2);
  assert_int_equal (idle->xid, 79);
  job_gpus_end (reading);
  free (node.gpus);
  schema_destroy (schema);
}

/* ---- the list, and sentences ---- */

static void
check_place (const struct gpu_list *list, size_t i, const char *node, const char *label, const char *trouble)
{
  struct buffer text = { 0 };

  assert_string_equal (list->places[i].node->name, node);
  assert_string_equal (list->places[i].gpu->label, label);
  gpu_trouble (&text, list->places[i].gpu);
  check_text (&text, trouble);
  buffer_free (&text);
}

static size_t
number_of (const char *metric)
{
  size_t number = 0;

  while (job_gpus_metric (number) && strcmp (job_gpus_metric (number), metric) != 0)
    number++;
  assert_non_null (job_gpus_metric (number));
  return number;
}

/* After 10 samples with clocks held down in 5, the minutes have 30: the power limit held them for a second of each two, and
 * heat, by the driver's clock, for more than there was. Of the flags one was up in 6 of them, the other in 3. */
static void
test_minutes (void **state)
{
  const struct history_point power = { .count = 30, .sum = 30, .min = 1, .max = 1 },
                             heat = { .count = 30, .sum = 60.3, .min = 2, .max = 2.01 },
                             up = { .count = 30, .sum = 6, .max = 1 }, other = { .count = 30, .sum = 3, .max = 1 },
                             memory = { .count = 30, .sum = 60, .min = 1, .max = 4 },
                             never = { .count = 30, .sum = 2e30, .max = 1e30 };
  struct report_gpu gpu = { .memory_total = nan (""), .memory = { 20, 3, 10 }, .throttled = { 500, 10, 10 } };

  (void) state;
  job_gpus_take_minute (&gpu, number_of ("throttle_time_power"), &power, 2);
  job_gpus_take_minute (&gpu, number_of ("throttle_time_thermal"), &heat, 2);
  job_gpus_take_minute (&gpu, number_of ("throttled_sw_power_cap"), &other, 2);
  job_gpus_take_minute (&gpu, number_of ("throttled_hw_thermal"), &up, 2);
  job_gpus_take_minute (&gpu, number_of ("memory_used"), &memory, 2);
  job_gpus_take_minute (&gpu, number_of ("memory_used"), &never, 2);
  job_gpus_take_minute (&gpu, number_of ("memory_total"), &memory, 2);
  job_gpus_end_minutes (&gpu);
  assert_float_equal (job_gpu_mean (&gpu.throttled_power), 50, 1e-9);
  assert_float_equal (job_gpu_mean (&gpu.throttled_thermal), 100, 1e-9);
  assert_float_equal (gpu.throttled_thermal.highest, 100, 1e-9);
  assert_float_equal (job_gpu_mean (&gpu.throttled), 27.5, 1e-9);
  assert_float_equal (job_gpu_mean (&gpu.memory), 2, 1e-9);
  assert_float_equal (gpu.memory.highest, 4, 1e-9);
  assert_float_equal (gpu.memory_total, 4, 1e-9);
}

static void
test_worst_first (void **state)
{
  struct job_report *report = staged ("many");
  struct buffer text = { 0 };
  struct gpu_list list;

  (void) state;
  gpu_list_init (&list, report);
  assert_int_equal (list.count, 800);
  check_place (&list, 0, "gpu040", "6", "left idle, XID 79");
  check_place (&list, 1, "gpu080", "6", "left idle, XID 79");
  check_place (&list, 2, "gpu002", "3", "left idle");
  check_place (&list, 16, "gpu080", "7", "left idle");
  check_place (&list, 17, "gpu001", "5", "XID 48");
  check_place (&list, 18, "gpu011", "2", "throttled by heat");
  check_place (&list, 27, "gpu005", "7", ""); /* the least used */
  check_place (&list, 799, "gpu096", "0", "");
  gpu_list_summary (&text, &list);
  check_text (&text, "800 GPUs: 17 left idle, 3 with errors that the driver reported (XIDs), 9 throttled");
  gpu_list_left_out (&text, &list);
  check_text (&text, "and 736 more: --json has them");
  gpu_list_free (&list);
  stage_free (report);

  report = staged ("slow");
  gpu_list_init (&list, report);
  gpu_list_summary (&text, &list);
  gpu_list_left_out (&text, &list);
  gpu_list_names (&text, report, gpu_is_idle);
  check_text (&text, "");
  gpu_list_free (&list);
  stage_free (report);
  buffer_free (&text);
}

static void
test_names (void **state)
{
  struct job_report *report = staged ("many");
  struct buffer text = { 0 };

  (void) state;
  gpu_list_names (&text, report, gpu_is_idle);
  check_text (&text, "GPU 3 on gpu002, GPU 0-7 on gpu[040,080]");
  gpu_list_names (&text, report, gpu_has_xids);
  check_text (&text, "GPU 5 on gpu001, GPU 6 on gpu[040,080]");
  /* Other ones on each node: what is not named is counted. */
  for (size_t i = 0; i < 100; i++)
    for (size_t k = 0; k < 8; k++) {
      report->nodes[i].gpus[k].idle = (i + 1) >> k & 1 ? 95 : 94;
      report->nodes[i].gpus[k].utilization = stage_mean (k == 7 ? 50 : 0, 50); /* one that computes is not idle */
    }
  gpu_list_names (&text, report, gpu_is_idle);
  buffer_add (&text, "", 1);
  assert_memory_equal (text.data, "GPU 0 on gpu001, GPU 1 on gpu002, GPU 0,1 on gpu003, GPU 2 on gpu004", 68);
  assert_non_null (strstr (text.data, "GPU 0,3 on gpu009 and 304 more"));
  buffer_free (&text);
  stage_free (report);
}

/* ---- the forms ---- */

static const char *
cell (const struct sheet_table *table, size_t row, const char *head)
{
  for (size_t c = 0; c < table->column_count; c++)
    if (strcmp (table->columns[c].head, head) == 0)
      return table->cells[row * table->column_count + c];
  return NULL;
}

static void
test_table (void **state)
{
  struct job_report *report = staged ("gpus");
  struct sheet_table table;

  (void) state;
  sheet_gpus_init (&table, report);
  assert_int_equal (table.row_count, 16);
  assert_true (table.marked[0] && table.marked[1] && !table.marked[2]);
  assert_string_equal (cell (&table, 0, "Node"), "n2");
  assert_string_equal (cell (&table, 0, "GPU"), "3");
  assert_string_equal (cell (&table, 0, "Trouble"), "left idle");
  assert_string_equal (cell (&table, 0, "Idle"), "100");
  assert_string_equal (cell (&table, 1, "Trouble"), "XID 48");
  assert_string_equal (cell (&table, 1, "XIDs"), "3");
  assert_string_equal (cell (&table, 1, "Use"), "87.0");
  assert_string_equal (cell (&table, 1, "Memory peak"), "69.8");
  assert_string_equal (cell (&table, 1, "Energy"), "2.20");
  assert_string_equal (cell (&table, 1, "by power"), "3.20");
  assert_string_equal (cell (&table, 15, "Trouble"), "-");
  assert_int_equal (table.behind.length, 0);
  sheet_table_free (&table);
  /* What nobody knows has no column, nor have XIDs where there are none; an unknown use is worse than any. */
  for (size_t i = 0; i < 16; i++) {
    struct report_gpu *gpu = &report->nodes[i / 8].gpus[i % 8];
    gpu->throttled_power = gpu->throttled_thermal = (struct job_gpu_mean){ 0 };
    gpu->xids = gpu->idle = 0;
  }
  report->nodes[1].gpus[1].utilization = (struct job_gpu_mean){ 0 };
  sheet_gpus_init (&table, report);
  assert_null (cell (&table, 0, "by power"));
  assert_null (cell (&table, 0, "XIDs"));
  assert_string_equal (cell (&table, 0, "GPU"), "1");
  assert_string_equal (cell (&table, 0, "Use"), "-");
  assert_false (table.marked[0]);
  sheet_table_free (&table);
  stage_free (report);
  report = staged ("many");
  sheet_gpus_init (&table, report);
  assert_int_equal (table.row_count, GPU_LIST_SHOWN);
  check_text (&table.behind, "and 736 more: --json has them");
  sheet_table_free (&table);
  stage_free (report);
  report = staged ("slow");
  sheet_gpus_init (&table, report);
  assert_int_equal (table.row_count + table.above.length + table.behind.length, 0);
  sheet_table_free (&table);
  stage_free (report);
}

static void
test_text (void **state)
{
  struct job_report *report = staged ("many");
  struct job_look look = { 400, true, false };
  struct buffer text = { 0 };
  const char *list, *first, *second;

  (void) state;
  job_report_text (report, &look, &text);
  buffer_add (&text, "", 1);
  list = strstr (text.data, "\nEach GPU, the worst first\n");
  first = strstr (text.data, "  GPU 6 on gpu[040,080]");
  second = strstr (text.data, "  GPU 2 on gpu[011\u202666,077,088,099]");
  assert_true (list && list < first && first < second);
  assert_non_null (strstr (first, "  left idle, XID 79\n"));
  assert_non_null (strstr (second, "  throttled by heat\n"));
  assert_non_null (strstr (second, "\n  1 The driver reported errors (XIDs) of GPU 5 on gpu001, GPU 6 on gpu[040,080]. "
                                   "Report it to the operators"));
  assert_non_null (strstr (second, "\n  2 17 of 800 GPUs were left idle: GPU 3 on gpu002, GPU 0-7 on gpu[040,080] "
                                   "(NVIDIA H100 80GB HBM3); nothing ran on them in 100 % of 100 samples. "));
  stage_free (report);
  report = staged ("slow");
  buffer_clear (&text);
  job_report_text (report, &look, &text);
  assert_null (memmem (text.data, text.length, "\nGPU", 4));
  buffer_free (&text);
  stage_free (report);
}

/* The lines of a data block. */
static size_t
block_lines (const struct buffer *script, const char *name)
{
  char *text = memory_copy (script->data, script->length), *head = memory_format ("\n$%s << EOD\n", name);
  const char *at = strstr (text, head), *end;
  size_t lines = 0;

  assert_non_null (at);
  at += strlen (head);
  end = strstr (at, "EOD\n");
  for (; at < end; at++)
    lines += *at == '\n';
  free (head);
  free (text);
  return lines;
}

static void
test_picture (void **state)
{
  struct job_report *report = staged ("many");
  struct buffer script = { 0 };
  struct canvas canvas = { &script, 540, 200 };
  struct area area = { 0, 0, 540, 0 };
  size_t bytes;

  (void) state;
  area.height = plot_gpus_height (report);
  assert_in_range (area.height, 100, 200);
  plot_gpus (&canvas, &area, report);
  assert_int_equal (block_lines (&script, "use"), 8);
  assert_int_equal (block_lines (&script, "idle"), 1 + 17);
  assert_int_equal (block_lines (&script, "xids"), 1 + 3);
  /* Labels that are no rows of others: MIG instances on one node, and too many of them. */
  strcpy (report->nodes[3].gpus[0].label, "0:1");
  buffer_clear (&script);
  plot_gpus (&canvas, &area, report);
  assert_int_equal (block_lines (&script, "use"), 9);
  for (size_t i = 0; i < 8; i++)
    for (size_t k = 0; k < 8; k++)
      snprintf (report->nodes[i].gpus[k].label, sizeof report->nodes[i].gpus[k].label, "%zu:%zu", i, k);
  assert_true (plot_gpus_height (report) == 0);
  stage_free (report);
  report = staged ("single");
  buffer_clear (&script);
  area.height = plot_gpus_height (report);
  plot_gpus (&canvas, &area, report);
  assert_int_equal (block_lines (&script, "use"), 2); /* one row, twice */
  stage_free (report);
  report = staged ("gpus"); /* its table has all */
  bytes = script.length;
  assert_true (plot_gpus_height (report) == 0);
  plot_gpus (&canvas, &area, report);
  assert_int_equal (script.length, bytes);
  stage_free (report);
  buffer_free (&script);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_samples), cmocka_unit_test (test_minutes), cmocka_unit_test (test_worst_first),
    cmocka_unit_test (test_names),   cmocka_unit_test (test_table),   cmocka_unit_test (test_text),
    cmocka_unit_test (test_picture),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
