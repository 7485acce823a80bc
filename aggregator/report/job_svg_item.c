/* One quantity over time, see job_svg.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_curve.h"
#include "aggregator/report/job_markup.h"
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_svg.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define WIDTH 400.0
#define HEIGHT 158.0
#define LEFT 66.0
#define TOP 8.0
#define FRAME_WIDTH (WIDTH - LEFT - 26) /* half of the last time stands behind it */
#define FRAME_HEIGHT (HEIGHT - TOP - 34)
#define CELLS 200   /* of a curve: its bins, put together */
#define HOVERS 50   /* columns that show values */
#define LINES 12    /* nodes with a line each; of more */
#define LINES_FAR 4 /* those that are farthest from the mean */
#define NAME_LIMIT 24

const char svg_style[] =
    "svg text{font:11px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:var(--ink)}\n"
    "svg .e{text-anchor:end}svg .m{text-anchor:middle}svg .q{fill:var(--quiet)}svg .b{font-weight:bold}\n"
    "svg .g{stroke:var(--line);stroke-width:.6}svg .gap{fill:var(--gap)}svg .band,svg .peak{fill:var(--band)}\n"
    "svg .l{fill:none;stroke-width:1.3;stroke-linejoin:round}svg .far{stroke-width:2.8}svg .dash{stroke-dasharray:6 "
    "3}\n"
    "svg .h{fill:transparent}svg .h:hover{fill:var(--hover)}\n"
    ".c0{stroke:var(--c0);color:var(--c0)}.c1{stroke:var(--c1);color:var(--c1)}.c2{stroke:var(--c2);color:var(--c2)}\n"
    ".c3{stroke:var(--c3);color:var(--c3)}.c4{stroke:var(--c4);color:var(--c4)}.c5{stroke:var(--c5);color:var(--c5)}\n"
    ".mean{stroke:var(--mean);color:var(--mean)}svg .roof{stroke:var(--ink);fill:none;stroke-width:1.6}\n"
    "svg .dot{fill:var(--c0)}svg .job{fill:var(--mean)}svg .mark{fill:var(--mark)}svg .bar{fill:var(--bar)}\n"
    "svg .cross{stroke:var(--mark);stroke-width:1.4}svg .ring{stroke:var(--mark);stroke-width:1.4;fill:none}\n";

struct line {
  const char *name;
  float values[CELLS];
  size_t color; /* SIZE_MAX: that of the mean */
  bool dashed, far;
};

struct panel {
  struct buffer *out;
  const struct job_report *report;
  const char *unit;
  size_t cells, count;
  double top; /* of the axis, in units of the item */
  struct line lines[LINES + 1];
  bool banded;
  const char *band_name;
  float low[CELLS], high[CELLS];
};

/* ---- values ---- */

/* The curve in cells: the mean of its bins, or of maxima the highest. */
static void
gather (const struct panel *panel, const float *curve, float *cells, bool highest)
{
  size_t bins = panel->report->bins;

  for (size_t c = 0; c < panel->cells; c++) {
    size_t from = c * bins / panel->cells, to = (c + 1) * bins / panel->cells, known = 0;
    double value = 0;
    for (size_t i = from; i < to || i == from; i++)
      if (!isnan (curve[i])) {
        value = known && highest ? fmax (value, (double) curve[i])
                : highest        ? (double) curve[i]
                                 : value + (double) curve[i];
        known++;
      }
    cells[c] = known ? (float) (highest ? value : value / (double) known) : nanf ("");
  }
}

static struct line *
add_line (struct panel *panel, const char *name, const struct job_node *node, const float *bins)
{
  float *curve = memory_new (panel->report->bins, sizeof *curve);
  struct line *line = &panel->lines[panel->count++];

  *line = (struct line){ .name = name, .color = SIZE_MAX };
  curve_fill (panel->report, node, bins, curve);
  gather (panel, curve, line->values, false);
  free (curve);
  return line;
}

static double
highest_of (const float *values, size_t count)
{
  double most = 0;

  for (size_t i = 0; i < count; i++)
    most = isnan (values[i]) ? most : fmax (most, (double) values[i]);
  return most;
}

/* ---- drawing ---- */

static double
x_of (const struct panel *panel, double cell)
{
  return LEFT + cell / (double) panel->cells * FRAME_WIDTH;
}

static double
y_of (const struct panel *panel, double value)
{
  return TOP + FRAME_HEIGHT * (1 - fmin (fmax (value, 0) / panel->top, 1));
}

static void
put_axes (const struct panel *panel)
{
  double seconds = curve_seconds (panel->report), step = plot_time_step (seconds, 4);
  struct scale scale = scale_for (panel->unit, panel->top);
  double shown = panel->top / scale.divisor, tick = plot_value_step (shown);
  struct buffer *out = panel->out;

  for (double value = 0; value <= shown * 1.0001; value += tick) {
    double y = y_of (panel, value * scale.divisor);
    buffer_printf (out, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y, LEFT + FRAME_WIDTH);
    buffer_printf (out, "<text class=\"e q\" x=\"%.1f\" y=\"%.1f\">%.4g%s%s</text>\n", LEFT - 4, y + 4, value,
                   value + tick > shown * 1.0001 && scale.unit[0] ? " " : "",
                   value + tick > shown * 1.0001 ? scale.unit : "");
  }
  for (double at = 0; at <= seconds * 1.0001; at += step) {
    double x = LEFT + at / seconds * FRAME_WIDTH;
    struct words clock = words_clock (panel->report->started_ns + (int64_t) (at * NS_PER_S));
    buffer_printf (out, "<path class=\"g\" d=\"M%.1f %.1fv4\"/>", x, TOP + FRAME_HEIGHT);
    buffer_printf (out, "<text class=\"m q\" x=\"%.1f\" y=\"%.1f\">", x, TOP + FRAME_HEIGHT + 15);
    plot_elapsed (out, at, step);
    buffer_printf (out, "</text><text class=\"m q\" x=\"%.1f\" y=\"%.1f\">%.*s</text>\n", x, TOP + FRAME_HEIGHT + 28,
                   seconds < 1800 ? 8 : 5, clock.text);
  }
}

static bool
put_gaps (const struct panel *panel)
{
  bool *gaps = curve_gaps (panel->report), any = false;
  size_t bins = panel->report->bins;

  for (size_t i = 0, end; i < bins; i = end + (end == i)) {
    for (end = i; end < bins && gaps[end];)
      end++;
    if (end == i)
      continue;
    any = true;
    buffer_printf (panel->out, "<rect class=\"gap\" x=\"%.1f\" y=\"%.1f\" ",
                   LEFT + (double) i / (double) bins * FRAME_WIDTH, TOP);
    buffer_printf (panel->out, "width=\"%.1f\" height=\"%.1f\"/>\n", (double) (end - i) / (double) bins * FRAME_WIDTH,
                   FRAME_HEIGHT);
  }
  free (gaps);
  return any;
}

/* A run of cells with values: from `*from` on, to before `*to`. False: there is none. */
static bool
next_run (const float *values, size_t count, size_t *from, size_t *to)
{
  while (*from < count && isnan (values[*from]))
    ++*from;
  for (*to = *from; *to < count && !isnan (values[*to]);)
    ++*to;
  return *from < count;
}

static void
put_band (const struct panel *panel)
{
  for (size_t from = 0, to; next_run (panel->low, panel->cells, &from, &to); from = to) {
    buffer_add_string (panel->out, "<path class=\"band\" d=\"M");
    for (size_t i = from; i < to; i++) {
      double y = y_of (panel, (double) panel->high[i]);
      buffer_printf (panel->out, "%.1f %.1fL%.1f %.1f ", x_of (panel, (double) i), y, x_of (panel, (double) i + 1), y);
    }
    for (size_t i = to; i-- > from;) {
      double y = y_of (panel, (double) panel->low[i]);
      buffer_printf (panel->out, "%.1f %.1f %.1f %.1f ", x_of (panel, (double) i + 1), y, x_of (panel, (double) i), y);
    }
    buffer_add_string (panel->out, "Z\"/>\n");
  }
}

static void
put_class (struct buffer *out, const struct line *line)
{
  if (line->color == SIZE_MAX)
    buffer_add_string (out, "mean");
  else
    buffer_printf (out, "c%zu", line->color);
}

static void
put_line (const struct panel *panel, const struct line *line)
{
  buffer_add_string (panel->out, "<path class=\"l ");
  put_class (panel->out, line);
  buffer_printf (panel->out, "%s%s\" d=\"", line->dashed ? " dash" : "", line->far ? " far" : "");
  for (size_t from = 0, to; next_run (line->values, panel->cells, &from, &to); from = to) {
    buffer_printf (panel->out, "M%.1f %.1f", x_of (panel, (double) from), y_of (panel, (double) line->values[from]));
    for (size_t i = from; i < to; i++)
      buffer_printf (panel->out, "L%.1f %.1f", x_of (panel, (double) i + 0.5), y_of (panel, (double) line->values[i]));
    buffer_printf (panel->out, "L%.1f %.1f", x_of (panel, (double) to), y_of (panel, (double) line->values[to - 1]));
  }
  buffer_add_string (panel->out, "\"/>\n");
}

/* Columns over all else, each with the values under it. */
static void
put_values (const struct panel *panel)
{
  size_t columns = panel->cells < HOVERS ? panel->cells : HOVERS;
  double seconds = curve_seconds (panel->report);

  for (size_t c = 0; c < columns; c++) {
    size_t cell = (2 * c + 1) * panel->cells / (2 * columns);
    double at = ((double) cell + 0.5) / (double) panel->cells * seconds;
    buffer_printf (panel->out, "<rect class=\"h\" x=\"%.1f\" y=\"%.1f\" ",
                   LEFT + (double) c / (double) columns * FRAME_WIDTH, TOP);
    buffer_printf (panel->out, "width=\"%.2f\" height=\"%.1f\"><title>%s", FRAME_WIDTH / (double) columns, FRAME_HEIGHT,
                   words_clock (panel->report->started_ns + (int64_t) (at * NS_PER_S)).text);
    for (size_t i = 0; i < panel->count; i++) {
      buffer_add_string (panel->out, "\n");
      markup_text (panel->out, panel->lines[i].name, NAME_LIMIT);
      buffer_printf (panel->out, ": %s", words_value ((double) panel->lines[i].values[cell], panel->unit).text);
    }
    if (panel->banded && !isnan (panel->low[cell])) {
      buffer_printf (panel->out, "\n%s: %s", panel->band_name,
                     words_value ((double) panel->low[cell], panel->unit).text);
      buffer_printf (panel->out, " to %s", words_value ((double) panel->high[cell], panel->unit).text);
    }
    buffer_add_string (panel->out, "</title></rect>\n");
  }
}

/* Only what is drawn. */
static void
put_legend (const struct panel *panel, bool gaps)
{
  buffer_add_string (panel->out, "<p class=\"legend\">");
  for (size_t i = 0; i < panel->count; i++) {
    const struct line *line = &panel->lines[i];
    buffer_add_string (panel->out, "<span><i class=\"");
    put_class (panel->out, line);
    buffer_printf (panel->out, "%s%s\"></i>", line->dashed ? " dash" : "", line->far ? " far" : "");
    markup_text (panel->out, line->name, NAME_LIMIT);
    buffer_printf (panel->out, "%s</span>", line->far ? " (far from the others)" : "");
  }
  if (panel->banded)
    buffer_printf (panel->out, "<span><i class=\"area band\"></i>%s</span>", panel->band_name);
  buffer_printf (panel->out, "%s</p>", gaps ? "<span><i class=\"area gap\"></i>no samples</span>" : "");
}

static void
panel_put (struct panel *panel, const char *title, const char *detail)
{
  bool gaps;

  panel->top = highest_of (panel->high, panel->banded ? panel->cells : 0);
  for (size_t i = 0; i < panel->count; i++)
    panel->top = fmax (panel->top, highest_of (panel->lines[i].values, panel->cells));
  panel->top = plot_top (panel->unit, panel->top) * scale_for (panel->unit, panel->top).divisor;
  buffer_printf (panel->out, "<figure><figcaption><b>%s</b> <small>", title);
  markup_text (panel->out, detail, 120);
  buffer_printf (panel->out, "</small></figcaption>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
                 WIDTH, HEIGHT, title);
  gaps = put_gaps (panel);
  put_axes (panel);
  if (panel->banded)
    put_band (panel);
  for (size_t i = 0; i < panel->count; i++)
    if (!panel->lines[i].far)
      put_line (panel, &panel->lines[i]);
  for (size_t i = 0; i < panel->count; i++)
    if (panel->lines[i].far)
      put_line (panel, &panel->lines[i]);
  put_values (panel);
  buffer_add_string (panel->out, "</svg>");
  put_legend (panel, gaps);
  buffer_add_string (panel->out, "</figure>\n");
}

static struct panel *
panel_create (struct buffer *out, const struct job_report *report, enum job_item_id item)
{
  struct panel *panel = memory_new (1, sizeof *panel);

  panel->out = out;
  panel->report = report;
  panel->unit = job_items[item].unit;
  panel->cells = report->bins < CELLS ? report->bins : CELLS;
  return panel;
}

/* ---- the two figures ---- */

static void
put_nodes (struct buffer *out, const struct job_report *report, enum job_item_id item)
{
  size_t chosen[LINES], count = 0, marked = plot_marked (report, item);
  struct panel *panel = panel_create (out, report, item);
  struct buffer title = { 0 }, detail = { 0 };

  if (report->node_count > LINES) {
    struct curve_band band;
    curve_band_init (&band, report, item, NULL);
    gather (panel, band.minimum, panel->low, false);
    gather (panel, band.maximum, panel->high, true);
    panel->banded = true;
    panel->band_name = "range of nodes";
    add_line (panel, "mean of nodes", NULL, band.mean);
    curve_band_free (&band);
    count = plot_farthest (report, item, chosen, LINES_FAR);
  } else {
    for (size_t i = 0; i < report->node_count; i++)
      if (report->nodes[i].series[item].known)
        chosen[count++] = i;
  }
  for (size_t i = 0; i < count; i++) {
    const struct job_node *node = &report->nodes[chosen[i]];
    struct line *line = add_line (panel, node->name, node, node->series[item].bins);
    line->color = chosen[i] % 6;
    line->dashed = chosen[i] / 6 % 2 == 1;
    line->far = chosen[i] == marked;
  }
  plot_item_title (&title, item);
  buffer_add_string (&title, ", each node");
  plot_nodes_detail (&detail, report, item);
  panel_put (panel, buffer_text (&title), buffer_text (&detail));
  buffer_free (&title);
  buffer_free (&detail);
  free (panel);
}

static void
put_all (struct buffer *out, const struct job_report *report, enum job_item_id item)
{
  static const char *const ways[] = { [JOB_SUM] = "sum", [JOB_MEAN] = "mean", [JOB_MAXIMUM] = "maximum" };
  const struct job_series *all = &report->all[item];
  struct panel *panel = panel_create (out, report, item);
  struct buffer title = { 0 }, detail = { 0 };
  struct line *line = add_line (panel, "mean", NULL, all->bins);
  float *maxima = memory_new (report->bins, sizeof *maxima);
  bool higher = false;

  curve_fill (report, NULL, all->bin_maxima ? all->bin_maxima : all->bins, maxima);
  gather (panel, maxima, panel->high, true);
  for (size_t i = 0; i < panel->cells; i++) {
    panel->low[i] = line->values[i];
    panel->high[i] = fmaxf (panel->high[i], panel->low[i]);
    higher |= panel->high[i] > panel->low[i] * 1.01F;
  }
  panel->banded = higher;
  panel->band_name = "up to the maximum";
  plot_item_title (&title, item);
  if (report->node_count > 1)
    buffer_printf (&title, ", %s of nodes", ways[job_items[item].combination]);
  buffer_printf (&detail, "mean %s, ", words_value (all->mean, job_items[item].unit).text);
  buffer_printf (&detail, "maximum %s", words_value (all->maximum, job_items[item].unit).text);
  if (job_is_of_nodes (report, item))
    buffer_add_string (&detail, report->node_count > 1 ? "; whole nodes" : "; the whole node");
  panel_put (panel, buffer_text (&title), buffer_text (&detail));
  buffer_free (&title);
  buffer_free (&detail);
  free (maxima);
  free (panel);
}

void
svg_item (struct buffer *out, const struct job_report *report, enum job_item_id item)
{
  if (report->node_count > 1)
    put_nodes (out, report, item);
  put_all (out, report, item);
}
