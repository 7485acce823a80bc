/* One quantity over time, see job_plot.h: on the left a line for each node, on the right all nodes together.
 *
 * Over PLOT_LINES nodes the left is a band from the lowest to the highest node with their mean, and lines for those
 * that are farthest from it. Grey behind a plot: samples are missing. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_curve.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define PLOT_LINES 12
#define PLOT_FAR 4 /* of more nodes, so many have a line of their own */
#define NAME_LIMIT 16

/* Colours that differ for colour-blind eyes too, and in grey; the second six are dashed. */
static const char *const colors[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#404040" };

static const struct plot_text title_style = { "left", PLOT_BLACK, 8.5, true };
static const struct plot_text detail_style = { "left", PLOT_GREY, 7.5, false };
static const struct plot_text legend_style = { "left", PLOT_BLACK, 7, false };

#define LEGEND_STEP 8.6
#define LEGEND_LIMIT 14
#define LEGEND_WIDTH 84.0

struct item_plot {
  const struct canvas *canvas;
  const struct job_report *report;
  enum job_item_id item;
  double divisor;
  size_t blocks;         /* of data */
  struct buffer command; /* the plot command so far */
  struct area legend;    /* where the next entry goes; no width: there is no legend */
};

/* How something is drawn: a line, or a filled area. */
struct look {
  const char *color;
  double width; /* of a line */
  bool filled, dashed;
};

/* gnuplot's own legend breaks into columns as it likes: this one is as wide as its place. */
static void
add_legend (struct item_plot *plot, const struct look *look, const char *name)
{
  const struct canvas *canvas = plot->canvas;
  double x = plot->legend.left, y = plot->legend.top;

  if (plot->legend.width <= 0)
    return;
  if (look->filled)
    buffer_printf (canvas->script,
                   "set object rect from screen %.5f,%.5f to screen %.5f,%.5f front fs solid 1 noborder fc rgb '%s'\n",
                   x / canvas->width, 1 - (y - 3) / canvas->height, (x + 12) / canvas->width,
                   1 - (y + 3) / canvas->height, look->color);
  else
    buffer_printf (canvas->script,
                   "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead front lw %g lc rgb '%s' dt %s\n",
                   x / canvas->width, 1 - y / canvas->height, (x + 12) / canvas->width, 1 - y / canvas->height,
                   look->width, look->color, look->dashed ? "(8,4)" : "1");
  plot_text (canvas, x + 15, y, &legend_style, name, LEGEND_LIMIT);
  plot->legend.top += LEGEND_STEP;
}

/* Begins the next block of data. */
static void
begin_data (struct item_plot *plot)
{
  buffer_printf (plot->canvas->script, "$d%zu << EOD\n", plot->blocks);
}

/* Ends it, and has it drawn. `name` NULL: it is not in the legend. */
static void
end_data (struct item_plot *plot, const char *columns, const struct look *look, const char *name)
{
  buffer_add_string (plot->canvas->script, "EOD\n");
  buffer_printf (&plot->command, "%s$d%zu using %s ", plot->command.length ? ", " : "plot ", plot->blocks++, columns);
  if (look->filled)
    buffer_printf (&plot->command, "with filledcurves fs solid 1 noborder fc rgb '%s' notitle", look->color);
  else
    buffer_printf (&plot->command, "with lines lw %g lc rgb '%s' dt %s notitle", look->width, look->color,
                   look->dashed ? "(14,6)" : "1");
  if (name)
    add_legend (plot, look, name);
}

static void
draw (struct item_plot *plot)
{
  buffer_add (plot->canvas->script, plot->command.data, plot->command.length);
  buffer_add_string (plot->canvas->script, "\n");
  buffer_clear (&plot->command);
}

/* Grey where samples are missing. */
static void
add_gaps (struct item_plot *plot, double top)
{
  const struct job_report *report = plot->report;
  static const struct look missing = { "#e2e2e2", 0, true, false };
  bool *gaps = curve_gaps (report);
  double width = (double) report->bin_ns / NS_PER_S;
  bool any = false;

  for (size_t i = 0, end; i < report->bins; i = end) {
    for (end = i; end < report->bins && gaps[end];)
      end++;
    if (end > i) {
      if (!any)
        begin_data (plot);
      any = true;
      buffer_printf (plot->canvas->script, "%.7g 0 %.6g\n%.7g 0 %.6g\n\n", (double) i * width, top,
                     (double) end * width, top);
    }
    end += end == i;
  }
  if (any)
    end_data (plot, "1:2:3", &missing, "no samples");
  free (gaps);
}

static void
add_node (struct item_plot *plot, size_t node, const struct look *look, const char *name)
{
  float *curve = memory_new (plot->report->bins, sizeof *curve);
  const float *columns[] = { curve };

  curve_fill (plot->report, &plot->report->nodes[node], plot->report->nodes[node].series[plot->item].bins, curve);
  begin_data (plot);
  curve_put (plot->canvas->script, plot->report, columns, 1, plot->divisor);
  end_data (plot, "1:2", look, name);
  free (curve);
}

static void
add_band (struct item_plot *plot)
{
  static const struct look range = { "#b9d6ea", 0, true, false }, middle = { "#00496f", 1.2, false, false };
  struct curve_band band;
  const float *edges[2], *mean[1];

  curve_band_init (&band, plot->report, plot->item, NULL);
  edges[0] = band.minimum, edges[1] = band.maximum, mean[0] = band.mean;
  begin_data (plot);
  curve_put (plot->canvas->script, plot->report, edges, 2, plot->divisor);
  end_data (plot, "1:2:3", &range, "range of nodes");
  begin_data (plot);
  curve_put (plot->canvas->script, plot->report, mean, 1, plot->divisor);
  end_data (plot, "1:2", &middle, "mean of nodes");
  curve_band_free (&band);
}

/* A node has the same colour in every plot; the one that is far from the others is a thick line above them. */
static void
add_nodes (struct item_plot *plot)
{
  const struct job_report *report = plot->report;
  size_t chosen[PLOT_LINES], count = 0, marked = plot_marked (report, plot->item);

  if (report->node_count > PLOT_LINES) {
    add_band (plot);
    count = plot_farthest (report, plot->item, chosen, PLOT_FAR);
  } else {
    for (size_t i = 0; i < report->node_count; i++)
      if (report->nodes[i].series[plot->item].known)
        chosen[count++] = i;
  }
  for (int last = 0; last < 2; last++)
    for (size_t i = 0; i < count; i++) {
      size_t node = chosen[i];
      struct look look = { colors[node % 6], last ? 2.4 : 1.1, false, node / 6 % 2 == 1 };
      if ((node == marked) == last)
        add_node (plot, node, &look, report->nodes[node].name);
    }
}

/* All together: the mean of each bin, up to its maximum in a paler colour. */
static void
add_all (struct item_plot *plot)
{
  static const struct look range = { "#b9d6ea", 0, true, false }, middle = { "#0072b2", 1.2, false, false };
  const struct job_report *report = plot->report;
  const struct job_series *all = &report->all[plot->item];
  float *curve = memory_new (report->bins, sizeof *curve), *maxima = memory_new (report->bins, sizeof *maxima);
  const float *edges[] = { curve, maxima }, *mean[] = { curve };

  curve_fill (report, NULL, all->bins, curve);
  curve_fill (report, NULL, all->bin_maxima ? all->bin_maxima : all->bins, maxima);
  for (size_t i = 0; i < report->bins; i++)
    if (isnan (maxima[i]) || maxima[i] < curve[i])
      maxima[i] = curve[i];
  begin_data (plot);
  curve_put (plot->canvas->script, report, edges, 2, plot->divisor);
  end_data (plot, "1:2:3", &range, NULL);
  begin_data (plot);
  curve_put (plot->canvas->script, report, mean, 1, plot->divisor);
  end_data (plot, "1:2", &middle, NULL);
  free (curve);
  free (maxima);
}

void
plot_item_title (struct buffer *title, enum job_item_id id)
{
  const struct job_item *item = &job_items[id];

  if (item->panel && !strcasestr (item->title, item->panel))
    buffer_printf (title, "%s: %c%s", item->panel, tolower ((unsigned char) item->title[0]), item->title + 1);
  else
    buffer_add_string (title, item->title);
}

/* The highest value of any bin that the plot draws. */
static double
highest (const struct job_report *report, const struct job_series *series, bool maxima)
{
  const float *bins = maxima && series->bin_maxima ? series->bin_maxima : series->bins;
  double most = 0;

  for (size_t i = 0; bins && i < report->bins; i++)
    most = fmax (most, (double) bins[i]);
  return most;
}

/* "mean 87.2 %, maximum 100 % on n12" of the nodes; NaN is no maximum. */
void
plot_nodes_detail (struct buffer *text, const struct job_report *report, enum job_item_id item)
{
  const struct job_series *top = NULL;
  const char *unit = job_items[item].unit, *name = "";
  double mean = 0;
  size_t known = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_series *series = &report->nodes[i].series[item];
    if (!series->known || isnan (series->mean))
      continue;
    mean += (series->mean - mean) / (double) ++known;
    if (!top || series->maximum > top->maximum)
      top = series, name = report->nodes[i].name;
  }
  buffer_printf (text, "mean %s", words_value (known ? mean : nan (""), unit).text);
  if (top)
    buffer_printf (text, ", maximum %s%s%s", words_value (top->maximum, unit).text,
                   report->node_count > 1 ? " on " : "",
                   report->node_count > 1 ? words_short (name, NAME_LIMIT).text : "");
  if (job_is_of_nodes (report, item))
    buffer_add_string (text, "; whole nodes");
}

static void
nodes_plot (struct item_plot *plot, const struct area *area)
{
  const struct job_report *report = plot->report;
  const struct job_item *item = &job_items[plot->item];
  struct area frame = { area->left + 34, area->top + 26, area->width - 34 - LEGEND_WIDTH, area->height - 62 };
  struct buffer detail = { 0 };
  double most = 0;

  for (size_t i = 0; i < report->node_count; i++)
    most = fmax (most, highest (report, &report->nodes[i].series[plot->item], false));
  plot->divisor = scale_for (item->unit, most).divisor;
  plot_begin (plot->canvas, &frame);
  plot_item_title (&detail, plot->item);
  buffer_add_string (&detail, ", each node");
  plot_text (plot->canvas, frame.left, area->top + 8, &title_style, buffer_text (&detail), 60);
  buffer_clear (&detail);
  plot_nodes_detail (&detail, report, plot->item);
  plot_text (plot->canvas, frame.left, area->top + 18, &detail_style, buffer_text (&detail), 80);
  plot_time_axis (plot->canvas, report, 5);
  plot_value_axis (plot->canvas, &frame, item->unit, most);
  plot->legend = (struct area){ frame.left + frame.width + 5, frame.top + 4, LEGEND_WIDTH, 0 };
  add_gaps (plot, plot_top (item->unit, most) * PLOT_HEADROOM);
  add_nodes (plot);
  draw (plot);
  buffer_free (&detail);
}

static void
all_plot (struct item_plot *plot, const struct area *area)
{
  static const char *const ways[] = { [JOB_SUM] = "sum", [JOB_MEAN] = "mean", [JOB_MAXIMUM] = "maximum" };
  const struct job_report *report = plot->report;
  const struct job_item *item = &job_items[plot->item];
  const struct job_series *all = &report->all[plot->item];
  bool alone = report->node_count == 1;
  struct area frame = { area->left + 34, area->top + 26, area->width - 54, area->height - 62 };
  struct buffer text = { 0 };
  double most = fmax (highest (report, all, true), highest (report, all, false));

  plot->divisor = scale_for (item->unit, most).divisor;
  plot_begin (plot->canvas, &frame);
  plot_item_title (&text, plot->item);
  if (report->node_count > 1)
    buffer_printf (&text, ", %s of nodes", ways[item->combination]);
  plot_text (plot->canvas, frame.left, area->top + 8, &title_style, buffer_text (&text), 60);
  buffer_clear (&text);
  buffer_printf (&text, "mean %s, ", words_value (all->mean, item->unit).text);
  buffer_printf (&text, "maximum (pale) %s", words_value (all->maximum, item->unit).text);
  if (job_is_of_nodes (report, plot->item) && alone)
    buffer_add_string (&text, "; the whole node");
  plot_text (plot->canvas, frame.left, area->top + 18, &detail_style, buffer_text (&text), 80);
  plot->legend = (struct area){ 0 };
  plot_time_axis (plot->canvas, report, 4);
  plot_value_axis (plot->canvas, &frame, item->unit, most);
  add_gaps (plot, plot_top (item->unit, most) * PLOT_HEADROOM);
  add_all (plot);
  draw (plot);
  buffer_free (&text);
}

void
plot_item (const struct canvas *canvas, const struct area *area, const struct job_report *report, enum job_item_id item)
{
  struct item_plot plot = { .canvas = canvas, .report = report, .item = item };
  struct area left = *area, right = *area;

  left.width = area->width * 0.6;
  right.left += left.width, right.width -= left.width;
  if (report->node_count > 1) {
    nodes_plot (&plot, &left);
    all_plot (&plot, &right);
  } else {
    all_plot (&plot, area);
  }
  buffer_free (&plot.command);
}
