/* The table of a job's GPUs, see job_sheet.h: for each what was wrong with it, in words, and its figures. */
#include <math.h>

#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_sheet.h"

#define WORDS 3 /* the columns before the numbers */

static double
use (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->utilization);
}

static double
memory (const struct report_gpu *gpu)
{
  return gpu->memory.count ? gpu->memory.highest : nan ("");
}

static double
energy (const struct report_gpu *gpu)
{
  return gpu->energy.count ? gpu->energy.sum : nan ("");
}

static double
throttled (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->throttled);
}

static double
throttled_power (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->throttled_power);
}

static double
throttled_thermal (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->throttled_thermal);
}

static double
xids (const struct report_gpu *gpu)
{
  return (double) gpu->xids;
}

static const struct gpu_column {
  struct sheet_column column;
  double (*value) (const struct report_gpu *gpu);
} gpu_columns[] = {
  { { .head = "Use", .unit = "%", .share = 1.0 }, use },
  { { .head = "Memory peak", .unit = "B", .share = 1.5 }, memory },
  { { .head = "Energy", .unit = "J", .share = 1.4 }, energy },
  { { .head = "Throttled", .unit = "%", .share = 1.9 }, throttled },
  { { .head = "by power", .unit = "%", .share = 1.4 }, throttled_power },
  { { .head = "by heat", .unit = "%", .share = 1.2 }, throttled_thermal },
  { { .head = "Idle", .unit = "%", .share = 1.2 }, job_gpu_idle },
  { { .head = "XIDs", .unit = "", .share = 1.4, .whole = true, .if_any = true }, xids },
};
#define GPU_COLUMNS (sizeof gpu_columns / sizeof gpu_columns[0])

static void
set_row (struct sheet_table *table, size_t row, const struct gpu_place *place, const size_t *of)
{
  struct buffer trouble = { 0 };

  gpu_trouble (&trouble, place->gpu);
  sheet_set (table, row, 0, place->node->name);
  sheet_set (table, row, 1, place->gpu->label);
  sheet_set (table, row, 2, trouble.length > 0 ? buffer_text (&trouble) : "-");
  table->marked[row] = gpu_is_alarming (place->gpu);
  for (size_t c = WORDS; c < table->column_count; c++)
    sheet_set_number (table, row, c, gpu_columns[of[c]].value (place->gpu));
  buffer_free (&trouble);
}

void
sheet_gpus_init (struct sheet_table *table, const struct job_report *report)
{
  size_t of[WORDS + GPU_COLUMNS];
  double values[GPU_LIST_SHOWN];
  struct gpu_list list;

  _Static_assert(WORDS + GPU_COLUMNS <= SHEET_COLUMNS_MAX, "room for all columns");
  gpu_list_init (&list, report);
  *table = (struct sheet_table){
    .columns = { { "Node", "", true, 4.2 }, { "GPU", "", true, 1.2 }, { "Trouble", "", true, 5.4 } },
    .column_count = WORDS
  };
  for (size_t i = 0; i < GPU_COLUMNS; i++) {
    for (size_t r = 0; r < list.shown; r++)
      values[r] = gpu_columns[i].value (list.places[r].gpu);
    if (sheet_add_numbers (table, &gpu_columns[i].column, values, list.shown))
      of[table->column_count - 1] = i;
  }
  sheet_begin (table, list.shown);
  for (size_t r = 0; r < list.shown; r++)
    set_row (table, r, &list.places[r], of);
  gpu_list_summary (&table->above, &list);
  gpu_list_left_out (&table->behind, &list);
  gpu_list_free (&list);
}
