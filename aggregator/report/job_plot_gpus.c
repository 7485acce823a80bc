/* How much each GPU of a job was used, in one picture (see job_plot.h): a row for each GPU that nodes have, a column for
 * each node, the mean use as a colour from pale to dark. A cross lies on those that the job left idle, a circle around
 * those with XIDs. Grey: not the job's, or nothing is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_markup.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_svg.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define ROWS_MAX 64 /* a job of more kinds of labels has no picture */
#define ROWS_HEIGHT 110.0
#define CELL_WIDTH_MAX 14.0
#define NAME_LIMIT 20
#define LETTER 4.1

#define TITLE_HEIGHT 38
#define FOOT_HEIGHT 22

struct strip {
  const struct canvas *canvas;
  const struct job_report *report;
  const char *labels[ROWS_MAX];
  size_t rows;
};

static int
compare_labels (const void *one, const void *other)
{
  return strverscmp (*(const char *const *) one, *(const char *const *) other);
}

static size_t
find_row (const struct strip *strip, const char *label)
{
  size_t row = 0;

  while (row < strip->rows && strcmp (strip->labels[row], label) != 0)
    row++;
  return row;
}

/* False: there is nothing that the table does not show, or there are too many rows. */
static bool
strip_init (struct strip *strip, const struct canvas *canvas, const struct job_report *report)
{
  size_t count = 0;

  *strip = (struct strip){ .canvas = canvas, .report = report };
  for (size_t i = 0; i < report->node_count; i++)
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++) {
      const char *label = report->nodes[i].gpus[k].label;
      count++;
      if (find_row (strip, label) < strip->rows)
        continue;
      if (strip->rows == ROWS_MAX)
        return false;
      strip->labels[strip->rows++] = label;
    }
  qsort (strip->labels, strip->rows, sizeof strip->labels[0], compare_labels);
  return count > GPU_LIST_SHOWN;
}

static double
row_height (const struct strip *strip)
{
  double height = ROWS_HEIGHT / (double) strip->rows;

  return height > 14 ? 14 : height < 6 ? 6 : height;
}

double
plot_gpus_height (const struct job_report *report)
{
  struct strip strip;

  if (!strip_init (&strip, NULL, report))
    return 0;
  return TITLE_HEIGHT + FOOT_HEIGHT + row_height (&strip) * (double) strip.rows;
}

/* ---- what is drawn ---- */

/* The matrix: a line for each row, a value for each node. gnuplot draws no image of one row: it is written twice then. */
static void
put_values (const struct strip *strip, int times)
{
  size_t cells = strip->rows * strip->report->node_count;
  double *values = memory_new (cells, sizeof *values);

  for (size_t i = 0; i < cells; i++)
    values[i] = nan ("");
  for (size_t i = 0; i < strip->report->node_count; i++) {
    const struct job_node *node = &strip->report->nodes[i];
    for (size_t k = 0; k < node->gpu_count; k++)
      values[find_row (strip, node->gpus[k].label) * strip->report->node_count + i] =
          job_gpu_mean (&node->gpus[k].utilization);
  }
  buffer_add_string (strip->canvas->script, "$use << EOD\n");
  for (size_t row = 0; row < strip->rows; row++)
    for (int k = 0; k < times; k++) {
      for (size_t i = 0; i < strip->report->node_count; i++) {
        double value = values[row * strip->report->node_count + i];
        if (isnan (value))
          buffer_add_string (strip->canvas->script, " NaN");
        else
          buffer_printf (strip->canvas->script, " %.4g", value);
      }
      buffer_add_string (strip->canvas->script, "\n");
    }
  buffer_add_string (strip->canvas->script, "EOD\n");
  free (values);
}

/* Points on those for which `are` holds. A block without any would be an error. */
static void
put_points (const struct strip *strip, const char *name, bool (*are) (const struct report_gpu *gpu))
{
  struct buffer *script = strip->canvas->script;

  buffer_printf (script, "$%s << EOD\nNaN NaN\n", name);
  for (size_t i = 0; i < strip->report->node_count; i++) {
    const struct job_node *node = &strip->report->nodes[i];
    for (size_t k = 0; k < node->gpu_count; k++)
      if (are (&node->gpus[k]))
        buffer_printf (script, "%zu %zu\n", i, find_row (strip, node->gpus[k].label));
  }
  buffer_add_string (script, "EOD\n");
}

/* As many nodes' names as have room below. */
static void
put_nodes (const struct strip *strip, const struct area *frame, double right)
{
  double cell = frame->width / (double) strip->report->node_count, room;
  size_t longest = 0, step;
  const char *before = "";

  for (size_t i = 0; i < strip->report->node_count; i++) {
    size_t length = strlen (strip->report->nodes[i].name);
    longest = length > longest ? length : longest;
  }
  room = LETTER * (double) (longest < NAME_LIMIT ? longest : NAME_LIMIT) + 8;
  step = (size_t) ceil (room / cell);
  buffer_add_string (strip->canvas->script, "set xtics scale 0.3 offset 0,0.4 (");
  for (size_t i = 0; i < strip->report->node_count; i += step) {
    if (i && frame->left + ((double) i + 0.5) * cell + room / 2 > right)
      break;
    buffer_add_string (strip->canvas->script, before);
    gnuplot_quote (strip->canvas->script, strip->report->nodes[i].name, NAME_LIMIT);
    buffer_printf (strip->canvas->script, " %zu", i);
    before = ", ";
  }
  buffer_add_string (strip->canvas->script, ")\n");
}

static void
put_words (const struct strip *strip, const struct area *area, const struct area *frame, double height)
{
  static const struct plot_text title = { "left", PLOT_BLACK, 10, true };
  static const struct plot_text caption = { "left", PLOT_GREY, 7, false };
  const struct plot_text name = { "right", PLOT_BLACK, height < 8 ? 5.5 : 7, false };

  plot_text (strip->canvas, area->left, area->top + 9, &title, PLOT_GPUS_TITLE, 60);
  plot_text (strip->canvas, area->left, area->top + 24, &caption,
             "a column for each node; cross: left idle; circle: XIDs; grey: not the job's, or not known", 110);
  for (size_t row = 0; row < strip->rows; row++) {
    char *label = memory_format ("GPU %s", strip->labels[row]);
    plot_text (strip->canvas, frame->left - 3, frame->top + ((double) row + 0.5) * height, &name, label, 30);
    free (label);
  }
}

void
plot_gpus (const struct canvas *canvas, const struct area *area, const struct job_report *report)
{
  struct strip strip;
  struct area frame = { area->left + 38, area->top + TITLE_HEIGHT, 0, area->height - TITLE_HEIGHT - FOOT_HEIGHT };
  double height, cell, size, right = area->left + area->width;
  int times;

  if (!strip_init (&strip, canvas, report))
    return;
  times = strip.rows == 1 ? 2 : 1;
  height = row_height (&strip);
  cell = fmin (CELL_WIDTH_MAX, (right - frame.left - 2) / (double) report->node_count);
  frame.width = cell * (double) report->node_count;
  size = fmin (0.9, fmax (0.6, fmin (cell, height) / 10));
  plot_begin (canvas, &frame);
  put_words (&strip, area, &frame, height);
  put_nodes (&strip, &frame, right);
  plot_colors (canvas, right - 150, area->top + 4, 130, "%", 100);
  put_values (&strip, times);
  put_points (&strip, "idle", gpu_is_idle);
  put_points (&strip, "xids", gpu_has_xids);
  buffer_printf (canvas->script,
                 "unset ytics\nset xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset border 15 lw 0.5 lc rgb '#808080'\n"
                 "set object 1 rect from graph 0,0 to graph 1,1 behind fs solid 1 noborder fc rgb '#d8d8d8'\n"
                 "plot $use matrix using 1:(($2 + 0.5) / %d - 0.5):3 with image notitle, "
                 "$xids using 1:2 with points pt 7 ps %.2g lc rgb '#ffffff' notitle, "
                 "$xids using 1:2 with points pt 6 ps %.2g lw 1.2 lc rgb '" PLOT_MARK "' notitle, "
                 "$idle using 1:2 with points pt 2 ps %.2g lw 0.8 lc rgb '#b34700' notitle\n",
                 (double) report->node_count - 0.5, (double) strip.rows - 0.5, times, size * 1.4, size * 1.2, size);
}

/* ---- as SVG ---- */

#define SVG_WIDTH 1000.0
#define SVG_NAMES 56.0
#define SVG_ROW 16.0
#define SVG_CELL 20.0
#define SVG_LEVELS 10

static void
svg_cell (const struct strip *strip, struct buffer *out, size_t node, const struct report_gpu *gpu, double cell)
{
  double use = job_gpu_mean (&gpu->utilization), x = SVG_NAMES + (double) node * cell;
  double y = 2 + SVG_ROW * (double) find_row (strip, gpu->label), half = fmin (cell, SVG_ROW) / 2 - 2;

  if (isnan (use))
    buffer_printf (out, "<rect class=\"gap\" x=\"%.1f\" ", x);
  else
    buffer_printf (out, "<rect class=\"v%d\" x=\"%.1f\" ", (int) fmin (SVG_LEVELS - 1, use / 100 * SVG_LEVELS), x);
  buffer_printf (out, "y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"><title>", y, cell, SVG_ROW - 1);
  markup_text (out, strip->report->nodes[node].name, NAME_LIMIT);
  buffer_printf (out, " GPU %s: %s</title></rect>", gpu->label, words_value (use, "%").text);
  x += cell / 2, y += SVG_ROW / 2 - 0.5;
  if (gpu_is_idle (gpu))
    buffer_printf (out, "<path class=\"cross\" d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/>", x - half, y - half,
                   2 * half, 2 * half, -2 * half, -2 * half, 2 * half);
  if (gpu_has_xids (gpu))
    buffer_printf (out, "<circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", x, y, half);
}

void
svg_gpus (struct buffer *out, const struct job_report *report)
{
  struct strip strip;
  double cell;

  if (!strip_init (&strip, NULL, report))
    return;
  cell = fmin (SVG_CELL, (SVG_WIDTH - SVG_NAMES) / (double) report->node_count);
  buffer_printf (out, "<h2>%s <small>a column for each node; cross: left idle; circle: XIDs</small></h2>\n",
                 PLOT_GPUS_TITLE);
  buffer_printf (out, "<figure class=\"wide\"><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
                 SVG_WIDTH, SVG_ROW * (double) strip.rows + 4, PLOT_GPUS_TITLE);
  for (size_t row = 0; row < strip.rows; row++) {
    buffer_printf (out, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">GPU ", SVG_NAMES - 5, 14 + SVG_ROW * (double) row);
    markup_text (out, strip.labels[row], 12);
    buffer_add_string (out, "</text>\n");
  }
  for (size_t i = 0; i < report->node_count; i++)
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++)
      svg_cell (&strip, out, i, &report->nodes[i].gpus[k], cell);
  buffer_add_string (out, "</svg></figure>\n");
}
