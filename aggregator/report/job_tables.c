/* See job_tables.h. A column is there when some node has it and there is room; what is wrong stands last. */
#include "aggregator/report/job_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_groups.h"
#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_words.h"
#include "aggregator/report/text_table.h"
#include "synop/memory.h"

#define NAMES_LENGTH 24 /* characters of names of nodes, */
#define GPUS_LENGTH 32  /* and of GPUs */
#define MARK_LENGTH 48
#define BAR_WIDTH 10
#define BAR_FROM 70 /* characters of a terminal that has room for bars */

void
job_bar (struct buffer *out, double percent, size_t width, const char *filled, const char *empty)
{
  size_t full = percent > 0 ? (size_t) (fmin (percent, 100) / 100 * (double) width + 0.5) : 0;

  for (size_t i = 0; i < width; i++)
    buffer_add_string (out, i < full ? filled : empty);
}

/* ---- nodes ---- */

enum statistic { MEAN, HIGHEST, TOTAL, IPC };

static const struct node_column {
  const char *title;
  size_t item;
  enum statistic statistic;
  const char *unit;
} node_columns[] = {
  { "CPU", JOB_CPU_USAGE, MEAN, "%" },
  { "memory", JOB_MEMORY_PEAK, HIGHEST, "B" },
  { "GPU", JOB_GPU_USAGE, MEAN, "%" },
  { "GPU mem.", JOB_GPU_MEMORY, HIGHEST, "B" },
  { "read", JOB_READ, TOTAL, "B" },
  { "written", JOB_WRITE, TOTAL, "B" },
  { "net in", JOB_NETWORK_RECEIVED, TOTAL, "B" },
  { "net out", JOB_NETWORK_SENT, TOTAL, "B" },
  { "IB in", JOB_INFINIBAND_RECEIVED, TOTAL, "B" },
  { "IB out", JOB_INFINIBAND_SENT, TOTAL, "B" },
  { "mem. bw.", JOB_MEMORY_BANDWIDTH, MEAN, "B/s" },
  { "floating pt.", JOB_FLOP, MEAN, "FLOP/s" },
  { "IPC", JOB_INSTRUCTIONS, IPC, "" },
  { "energy", JOB_ENERGY, TOTAL, "J" },
  { "GPU energy", JOB_GPU_ENERGY, TOTAL, "J" },
};
#define NODE_COLUMNS (sizeof node_columns / sizeof node_columns[0])

static double
node_figure (const struct job_report *report, size_t node, const struct node_column *column)
{
  const struct job_series *series = &report->nodes[node].series[column->item];

  return column->statistic == IPC       ? job_roofline_of_node (report, node).ipc
         : column->statistic == HIGHEST ? series->maximum
         : column->statistic == TOTAL   ? series->total
                                        : series->mean;
}

/* Of a node of the group: the mean; of maxima the highest. */
static double
group_figure (const struct job_report *report, const struct job_node_groups *groups, size_t group,
              const struct node_column *column)
{
  double sum = 0, highest = nan ("");
  size_t known = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    double figure = groups->group[i] == group ? node_figure (report, i, column) : nan ("");
    if (isnan (figure))
      continue;
    sum += figure;
    highest = fmax (highest, figure);
    known++;
  }
  return column->statistic == HIGHEST ? highest : known ? sum / (double) known : nan ("");
}

static void
node_mark (const struct job_report *report, size_t node, bool alone, char text[MARK_LENGTH])
{
  const struct job_node *here = &report->nodes[node];

  text[0] = '\0';
  if (here->lost && here->samples && alone)
    snprintf (text, MARK_LENGTH, "LOST %.16s", words_clock (here->last_ns).text);
  else if (here->lost)
    snprintf (text, MARK_LENGTH, "LOST");
  else if (here->samples == 0)
    snprintf (text, MARK_LENGTH, "no samples");
  else if (here->idle)
    snprintf (text, MARK_LENGTH, "IDLE");
  else if (report->slowest == node)
    snprintf (text, MARK_LENGTH, "SLOWEST");
  else if (here->gap_seconds > 0 && alone)
    snprintf (text, MARK_LENGTH, "gap %.24s", words_duration (here->gap_seconds).text);
  else if (here->gap_seconds > 0)
    snprintf (text, MARK_LENGTH, "gaps");
}

/* Names that are too long for a column lose their middle. */
static void
shorten (struct buffer *names, size_t limit)
{
  char *whole = memory_copy (names->data, names->length);

  buffer_clear (names);
  words_add (names, whole, limit);
  free (whole);
}

static void
group_name (struct buffer *name, const struct job_report *report, const struct job_node_groups *groups, size_t group)
{
  bool *chosen = memory_new (report->node_count, sizeof *chosen);
  const char *first = report->nodes[groups->first[group]].name;

  for (size_t i = 0; i < report->node_count; i++)
    chosen[i] = groups->group[i] == group;
  if (groups->nodes[group] == 1)
    words_add (name, first, NAMES_LENGTH);
  else
    words_nodes (name, report, chosen, NAMES_LENGTH);
  if (text_width (buffer_text (name), name->length) > NAMES_LENGTH) {
    char more[32];
    size_t length = (size_t) snprintf (more, sizeof more, " and %zu more", groups->nodes[group] - 1);
    buffer_clear (name);
    words_add (name, first, NAMES_LENGTH - length);
    buffer_add_string (name, more);
  }
  free (chosen);
}

static void
put_bar_cell (struct text_table *table, size_t column, const struct job_look *look, double percent)
{
  struct buffer bar = { 0 };

  job_bar (&bar, percent, BAR_WIDTH, look->utf8 ? "\u2588" : "#", look->utf8 ? "\u2591" : ".");
  text_table_set (table, column, buffer_text (&bar));
  buffer_free (&bar);
}

static void
add_group (struct text_table *table, const struct job_report *report, const struct job_look *look,
           const struct job_node_groups *groups, size_t group)
{
  size_t node = groups->first[group], c = 0;
  struct buffer name = { 0 };
  char text[MARK_LENGTH];

  text_table_row (table, report->nodes[node].lost || report->slowest == node);
  group_name (&name, report, groups, group);
  text_table_set (table, c++, buffer_text (&name));
  if (report->node_count > 1) {
    snprintf (text, sizeof text, "%zu", groups->nodes[group]);
    text_table_set (table, c++, text);
  }
  for (size_t i = 0; i < NODE_COLUMNS; i++) {
    if (!report->all[node_columns[i].item].known)
      continue;
    double figure = group_figure (report, groups, group, &node_columns[i]);
    text_table_set (table, c++, words_value (figure, node_columns[i].unit).text);
    if (i == 0 && look->width >= BAR_FROM)
      put_bar_cell (table, c++, look, figure);
  }
  node_mark (report, node, groups->nodes[group] == 1, text);
  text_table_set (table, c, text);
  buffer_free (&name);
}

void
job_table_nodes (const struct job_report *report, const struct job_look *look, struct buffer *out)
{
  struct text_table table = { 0 };
  struct job_node_groups groups;

  job_node_groups_init (&groups, report);
  text_table_column (&table, "node", true);
  if (report->node_count > 1)
    text_table_column (&table, "nodes", false);
  for (size_t i = 0; i < NODE_COLUMNS; i++)
    if (report->all[node_columns[i].item].known) {
      text_table_column (&table, node_columns[i].title, false);
      if (i == 0 && look->width >= BAR_FROM)
        text_table_column (&table, "", true);
    }
  text_table_column (&table, "", true);
  for (size_t g = 0; g < groups.count; g++)
    add_group (&table, report, look, &groups, g);
  buffer_printf (out, "\n%s\n", report->node_count > 1 ? "Each node, the worst first" : "Node");
  text_table_put (&table, out, look->width, look->colour);
  if (groups.left_out)
    buffer_printf (out, "  ... and %zu more nodes\n", groups.left_out);
  text_table_free (&table);
  job_node_groups_free (&groups);
}

/* ---- GPUs ---- */

static double
gpu_use (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->utilization);
}

static double
gpu_memory (const struct report_gpu *gpu)
{
  return gpu->memory.count ? gpu->memory.highest : nan ("");
}

static double
gpu_energy (const struct report_gpu *gpu)
{
  return gpu->energy.count ? gpu->energy.sum : nan ("");
}

static double
gpu_throttled (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->throttled);
}

static const struct gpu_column {
  const char *title, *unit;
  double (*figure) (const struct report_gpu *gpu);
  bool highest;
} gpu_columns[] = {
  { "use", "%", gpu_use, false },
  { "memory", "B", gpu_memory, true },
  { "idle", "%", job_gpu_idle, false },
  { "energy", "J", gpu_energy, false },
  { "throttled", "%", gpu_throttled, false },
};
#define GPU_COLUMNS (sizeof gpu_columns / sizeof gpu_columns[0])

static double
gpus_figure (const struct gpu_list *list, const size_t *group, size_t wanted, const struct gpu_column *column)
{
  double sum = 0, highest = nan ("");
  size_t known = 0;

  for (size_t i = 0; i < list->count; i++) {
    double figure = !group || group[list->places[i].at] == wanted ? column->figure (list->places[i].gpu) : nan ("");
    if (isnan (figure))
      continue;
    sum += figure;
    highest = fmax (highest, figure);
    known++;
  }
  return column->highest ? highest : known ? sum / (double) known : nan ("");
}

static void
add_gpus (struct text_table *table, const struct job_report *report, const struct gpu_list *list,
          const struct job_gpu_groups *groups, size_t group)
{
  const struct report_gpu *gpu = list->places[groups->first[group]].gpu;
  bool *chosen = memory_new (list->count, sizeof *chosen);
  struct buffer text = { 0 };
  size_t c = 0;

  for (size_t i = 0; i < list->count; i++)
    chosen[i] = groups->group[i] == group;
  text_table_row (table, gpu_is_alarming (gpu));
  gpu_list_names_of (&text, report, chosen, 1);
  shorten (&text, GPUS_LENGTH);
  text_table_set (table, c++, buffer_text (&text));
  buffer_clear (&text);
  buffer_printf (&text, "%zu", groups->gpus[group]);
  text_table_set (table, c++, buffer_text (&text));
  for (size_t i = 0; i < GPU_COLUMNS; i++)
    if (!isnan (gpus_figure (list, NULL, 0, &gpu_columns[i])))
      text_table_set (
          table, c++,
          words_value (gpus_figure (list, groups->group, group, &gpu_columns[i]), gpu_columns[i].unit).text);
  buffer_clear (&text);
  gpu_trouble (&text, gpu);
  text_table_set (table, c, buffer_text (&text));
  buffer_free (&text);
  free (chosen);
}

void
job_table_gpus (const struct job_report *report, const struct job_look *look, struct buffer *out)
{
  struct text_table table = { 0 };
  struct job_gpu_groups groups;
  struct gpu_list list;

  gpu_list_init (&list, report);
  job_gpu_groups_init (&groups, &list);
  text_table_column (&table, "GPU", true);
  text_table_column (&table, "GPUs", false);
  for (size_t i = 0; i < GPU_COLUMNS; i++)
    if (!isnan (gpus_figure (&list, NULL, 0, &gpu_columns[i])))
      text_table_column (&table, gpu_columns[i].title, false);
  text_table_column (&table, "", true);
  for (size_t g = 0; g < groups.count; g++)
    add_gpus (&table, report, &list, &groups, g);
  if (list.count) {
    buffer_printf (out, "\n%s\n", list.count > 1 ? "Each GPU, the worst first" : "GPU");
    text_table_put (&table, out, look->width, look->colour);
  }
  if (groups.left_out)
    buffer_printf (out, "  ... and %zu more: --json has them\n", groups.left_out);
  text_table_free (&table);
  job_gpu_groups_free (&groups);
  gpu_list_free (&list);
}
