/* See job_table.h. A column is there when some node has it and there is room; what is wrong with a node stands last. */
#include "aggregator/report/job_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define NAME_LENGTH 32
#define MARK_LENGTH 32
#define BAR_MAX 20
#define BAR_ROOM 10 /* kept free of columns, */
#define BAR_FROM 60 /* from this width of the terminal on */

enum statistic { MEAN, HIGHEST, TOTAL, IPC };

static const struct column {
  const char *title;
  size_t item;
  enum statistic statistic;
  const char *unit;
} columns[] = {
  { "CPU use", JOB_CPU_USAGE, MEAN, "%" },
  { "memory", JOB_MEMORY, MEAN, "B" },
  { "peak", JOB_MEMORY_PEAK, HIGHEST, "B" },
  { "GPU use", JOB_GPU_USAGE, MEAN, "%" },
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
  { "GPU mem.", JOB_GPU_MEMORY, MEAN, "B" },
  { "GPU energy", JOB_GPU_ENERGY, TOTAL, "J" },
};
#define COLUMNS (sizeof columns / sizeof columns[0])

struct sheet {
  const struct job_report *report;
  const struct job_look *look;
  struct buffer *out;
  size_t *order, shown; /* nodes, the worst first */
  size_t name_width, widths[COLUMNS], bar;
  size_t used; /* of the columns: widths behind it are 0 */
};

/* ---- order ---- */

static int
job_table_compare (const void *one, const void *other, void *context)
{
  const struct job_report *report = context;
  size_t a = *(const size_t *) one, b = *(const size_t *) other;
  const struct job_node *x = &report->nodes[a], *y = &report->nodes[b];
  double left = x->series[JOB_CPU_USAGE].mean, right = y->series[JOB_CPU_USAGE].mean;

  if (x->lost != y->lost)
    return x->lost ? -1 : 1;
  if (isnan (left) != isnan (right))
    return isnan (left) ? -1 : 1;
  if (left < right || left > right)
    return left < right ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* ---- cells ---- */

static double
cell_value (const struct job_series *series, enum statistic statistic)
{
  return statistic == MEAN ? series->mean : statistic == HIGHEST ? series->maximum : series->total;
}

static struct words
cell_text (const struct job_report *report, size_t node, const struct column *column)
{
  double value = column->statistic == IPC ? job_roofline_of_node (report, node).ipc
                                          : cell_value (&report->nodes[node].series[column->item], column->statistic);

  return words_value (value, column->unit);
}

static const char *
mark_text (const struct job_report *report, size_t node, char text[MARK_LENGTH])
{
  const struct job_node *here = &report->nodes[node];

  text[0] = '\0';
  if (here->lost && here->samples)
    snprintf (text, MARK_LENGTH, "LOST %.16s", words_clock (here->last_ns).text);
  else if (here->lost)
    snprintf (text, MARK_LENGTH, "LOST");
  else if (here->samples == 0)
    snprintf (text, MARK_LENGTH, "no samples");
  else if (report->slowest == node)
    snprintf (text, MARK_LENGTH, "SLOWEST");
  else if (here->gap_seconds > 0)
    snprintf (text, MARK_LENGTH, "gap %.24s", words_duration (here->gap_seconds).text);
  return text;
}

/* ---- widths ---- */

static size_t
longer (size_t length, size_t other)
{
  return length > other ? length : other;
}

/* Columns without room are left out, from the right; the bar gets the room that is left. */
static void
fit (struct sheet *sheet)
{
  size_t room = 2, mark = 0;
  char text[MARK_LENGTH];

  for (size_t i = 0; i < sheet->shown; i++) {
    const struct job_node *node = &sheet->report->nodes[sheet->order[i]];
    sheet->name_width = longer (sheet->name_width, strlen (words_short (node->name, NAME_LENGTH).text));
    mark = longer (mark, strlen (mark_text (sheet->report, sheet->order[i], text)));
    for (size_t k = 0; k < COLUMNS; k++)
      if (sheet->report->all[columns[k].item].known)
        sheet->widths[k] =
            longer (sheet->widths[k], longer (strlen (columns[k].title),
                                              strlen (cell_text (sheet->report, sheet->order[i], &columns[k]).text)));
  }
  sheet->name_width = longer (sheet->name_width, 4);
  room += sheet->name_width + (mark ? mark + 2 : 0);
  sheet->bar = sheet->widths[0] && sheet->look->width >= BAR_FROM ? BAR_ROOM : 0;
  room += sheet->bar ? sheet->bar + 2 : 0;
  while (sheet->used < COLUMNS &&
         room + (sheet->widths[sheet->used] ? sheet->widths[sheet->used] + 2 : 0) <= sheet->look->width) {
    room += sheet->widths[sheet->used] ? sheet->widths[sheet->used] + 2 : 0;
    sheet->used++;
  }
  if (sheet->bar && room < sheet->look->width)
    sheet->bar = sheet->bar + sheet->look->width - room < BAR_MAX ? sheet->bar + sheet->look->width - room : BAR_MAX;
}

/* ---- rows ---- */

static void
add_bar (const struct sheet *sheet, double percent)
{
  size_t filled = percent > 0 ? (size_t) (fmin (percent, 100) / 100 * (double) sheet->bar + 0.5) : 0;

  buffer_add_string (sheet->out, " ");
  for (size_t i = 0; i < sheet->bar; i++)
    buffer_add_string (sheet->out, sheet->look->utf8 ? (i < filled ? "\u2588" : "\u2591") : (i < filled ? "#" : "."));
  buffer_add_string (sheet->out, " ");
}

static void
add_titles (const struct sheet *sheet)
{
  buffer_printf (sheet->out, "\n  %-*s", (int) sheet->name_width, "node");
  for (size_t k = 0; k < sheet->used; k++) {
    if (sheet->widths[k])
      buffer_printf (sheet->out, "  %*s", (int) sheet->widths[k], columns[k].title);
    if (k == 0 && sheet->bar)
      buffer_printf (sheet->out, "%*s", (int) sheet->bar + 2, "");
  }
  while (sheet->out->length && sheet->out->data[sheet->out->length - 1] == ' ')
    sheet->out->length--;
  buffer_add_string (sheet->out, "\n");
}

static void
job_table_add_row (const struct sheet *sheet, size_t index)
{
  const struct job_node *node = &sheet->report->nodes[index];
  char mark[MARK_LENGTH];
  bool alarming = sheet->look->colour && (node->lost || sheet->report->slowest == index);

  mark_text (sheet->report, index, mark);
  buffer_printf (sheet->out, "%s  %-*s", alarming ? "\033[1;31m" : "", (int) sheet->name_width,
                 words_short (node->name, NAME_LENGTH).text);
  for (size_t k = 0; k < sheet->used; k++) {
    if (sheet->widths[k])
      buffer_printf (sheet->out, "  %*s", (int) sheet->widths[k], cell_text (sheet->report, index, &columns[k]).text);
    if (k == 0 && sheet->bar)
      add_bar (sheet, node->series[JOB_CPU_USAGE].mean);
  }
  buffer_printf (sheet->out, "%s%s%s\n", *mark ? "  " : "", mark, alarming ? "\033[0m" : "");
}

static void
add_rest (const struct sheet *sheet)
{
  const struct job_report *report = sheet->report;
  const struct job_node *first = &report->nodes[sheet->order[sheet->shown]];
  const struct job_node *last = &report->nodes[sheet->order[report->node_count - 1]];
  double low = first->series[JOB_CPU_USAGE].mean, high = last->series[JOB_CPU_USAGE].mean;

  buffer_printf (sheet->out, "  ... and %zu more nodes", report->node_count - sheet->shown);
  if (!isnan (low) && !isnan (high) && sheet->look->width >= BAR_FROM)
    buffer_printf (sheet->out, ", CPU use %s to %s %%", words_number (low).text, words_number (high).text);
  buffer_add_string (sheet->out, "\n");
}

void
job_table (const struct job_report *report, const struct job_look *look, struct buffer *out)
{
  struct sheet sheet = { .report = report, .look = look, .out = out };

  sheet.order = memory_new (report->node_count, sizeof sheet.order[0]);
  for (size_t i = 0; i < report->node_count; i++)
    sheet.order[i] = i;
  qsort_r (sheet.order, report->node_count, sizeof sheet.order[0], job_table_compare, (void *) report);
  sheet.shown = report->node_count > JOB_TABLE_NODES ? JOB_TABLE_NODES : report->node_count;
  fit (&sheet);
  add_titles (&sheet);
  for (size_t i = 0; i < sheet.shown; i++)
    job_table_add_row (&sheet, sheet.order[i]);
  if (sheet.shown < report->node_count)
    add_rest (&sheet);
  free (sheet.order);
}
