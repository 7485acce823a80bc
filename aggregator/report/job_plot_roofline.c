/* The roofline (see job_plot.h): a circle for each node and a diamond for the job, at its operations a byte and operations
 * a second, on axes of powers of ten. No point should lie above the roof: on its slope memory gives no more, under its flat
 * part the CPUs do no more.
 *
 * The job is the mean of its nodes, so that one roof holds both: that of the mean node. Where nodes differ, a pale band
 * goes from the lowest to the highest roof. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/report/job_plot_roofline_private.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define HEIGHT 262
#define TITLE_HEIGHT 34
#define FOOT_HEIGHT 36
#define SIDE 158.0    /* the words on the right */
#define SPREAD 1.05   /* of the highest roof over the lowest, from which they are a band */
#define LOW_PART 0.85 /* of the mean: a node below it is marked */
#define EDGE 0.4      /* powers of ten between points and edges of the frame */
#define FLAT 1.1      /* of them to the right of the first bend, for the words there */

#define NODE_COLOR "#4a90c2"
#define JOB_COLOR "#00304a"
#define ROOF_COLOR "#202020"

/* Under an operation a second nothing computes. */
static bool
has_point (const struct job_roofline *roofline)
{
  return roofline->flops >= 1 && roofline->intensity > 0;
}

static void
height_add (struct roofline_height *height, double value)
{
  if (isnan (value))
    return;
  height->mean = height->count ? height->mean + (value - height->mean) / (double) (height->count + 1) : value;
  height->least = fmin (height->least, value);
  height->most = fmax (height->most, value);
  height->count++;
}

bool
roofline_init (struct roofline_plot *plot, const struct canvas *canvas, const struct job_report *report)
{
  const struct roofline_height none = { nan (""), nan (""), nan (""), 0 };
  double lowest = HUGE_VAL;

  *plot = (struct roofline_plot){
    .canvas = canvas, .report = report, .bandwidth = none, .in_double = none, .in_single = none, .lowest = SIZE_MAX
  };
  plot->shown = memory_new (report->node_count, sizeof plot->shown[0]);
  for (size_t i = 0; i < report->node_count; i++) {
    struct job_roofline node = job_roofline_of_node (report, i);
    if (!has_point (&node))
      continue;
    plot->shown[i] = true;
    plot->count++;
    height_add (&plot->bandwidth, node.peaks.bandwidth);
    height_add (&plot->in_double, node.peaks.flops_double);
    height_add (&plot->in_single, node.peaks.flops_single);
    if (node.flops < lowest) {
      lowest = node.flops;
      plot->lowest = i;
    }
  }
  plot->job = job_roofline_of (report, plot->shown);
  plot->job.flops /= (double) plot->count;
  if (!(lowest < LOW_PART * plot->job.flops))
    plot->lowest = SIZE_MAX;
  return plot->count > 0;
}

double
plot_roofline_height (const struct job_report *report)
{
  for (size_t i = 0; i < report->node_count; i++) {
    struct job_roofline node = job_roofline_of_node (report, i);
    if (has_point (&node))
      return HEIGHT;
  }
  return 0;
}

/* ---- axes ---- */

double
roofline_within (double value, double least, double most)
{
  return value < least ? least : value > most ? most : value;
}

void
roofline_axes (struct roofline_plot *plot)
{
  double ridge_low = fmin (plot->in_double.least, plot->in_single.least) / plot->bandwidth.most;
  double ridge_high = fmax (plot->in_double.most, plot->in_single.most) / plot->bandwidth.least;
  double x_least = fmin (plot->job.intensity, ridge_low), x_most = fmax (plot->job.intensity, ridge_high);
  double y_least = plot->job.flops, y_most = fmax (plot->job.flops, fmax (plot->in_double.most, plot->in_single.most));

  for (size_t i = 0; i < plot->report->node_count; i++) {
    struct job_roofline node = job_roofline_of_node (plot->report, i);
    if (!plot->shown[i])
      continue;
    x_least = fmin (x_least, node.intensity), x_most = fmax (x_most, node.intensity);
    y_least = fmin (y_least, node.flops), y_most = fmax (y_most, node.flops);
  }
  plot->left = roofline_within (log10 (x_least) - EDGE, -4, 3);
  plot->right = roofline_within (fmax (log10 (x_most) + EDGE, log10 (ridge_low) + FLAT), plot->left + 2, 5);
  plot->top = log10 (y_most / ROOFLINE_UNIT) + EDGE;
  plot->bottom = roofline_within (log10 (y_least / ROOFLINE_UNIT) - EDGE, plot->top - 7, plot->top - 2);
}

static double
x_of (const struct roofline_plot *plot, double intensity)
{
  return pow (10, roofline_within (log10 (intensity), plot->left, plot->right));
}

static double
y_of (const struct roofline_plot *plot, double flops)
{
  return pow (10, roofline_within (log10 (flops / ROOFLINE_UNIT), plot->bottom, plot->top));
}

/* Powers of ten, and small ticks at their multiples between. */
static void
put_ticks (const struct roofline_plot *plot, char axis, double from, double to)
{
  struct buffer *script = plot->canvas->script;
  const char *before = "";

  buffer_printf (script, "set %ctics (", axis);
  for (int power = (int) floor (from); power <= (int) floor (to); power++)
    for (int multiple = 1; multiple < 10; multiple++, before = ", ") {
      double value = multiple * pow (10, power);
      if (multiple == 1)
        buffer_printf (script, "%s'%.9g' %.9g", before, value, value);
      else
        buffer_printf (script, "%s'' %.9g 1", before, value);
    }
  buffer_add_string (script, ")\n");
}

static void
put_axes (const struct roofline_plot *plot)
{
  const struct area *frame = &plot->frame;
  struct buffer *script = plot->canvas->script;

  buffer_printf (script,
                 "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nset ytics offset 0.6,0\n"
                 "set tics scale 0.5,0.25\nset grid xtics ytics lw 0.4 lc rgb '#d8d8d8' dt 1\n",
                 pow (10, plot->left), pow (10, plot->right), pow (10, plot->bottom), pow (10, plot->top));
  put_ticks (plot, 'x', plot->left, plot->right);
  put_ticks (plot, 'y', plot->bottom, plot->top);
  buffer_printf (script,
                 "set label 'FLOP/byte' at screen %.5f,%.5f center noenhanced font '" PLOT_FONT
                 ",7' tc rgb '" PLOT_BLACK
                 "'\nset label 'GFLOP/s' at screen %.5f,%.5f center rotate by 90 noenhanced font '" PLOT_FONT
                 ",7' tc rgb '" PLOT_BLACK "'\n",
                 (frame->left + frame->width / 2) / plot->canvas->width,
                 1 - (frame->top + frame->height + 22) / plot->canvas->height, (frame->left - 31) / plot->canvas->width,
                 1 - (frame->top + frame->height / 2) / plot->canvas->height);
}

/* ---- the roof ---- */

double
roofline_roof (double intensity, double bandwidth, double flops)
{
  return fmin (bandwidth * intensity, flops) / ROOFLINE_UNIT;
}

static double
flops_of (const struct roofline_height *in_double, const struct roofline_height *in_single)
{
  return in_double->count ? in_double->mean : in_single->mean;
}

double
roofline_ridge (const struct roofline_plot *plot, double bandwidth, double flops)
{
  double ridge = flops / bandwidth;

  return isnan (ridge) ? pow (10, plot->right) : x_of (plot, ridge);
}

static void
put_roof (const struct roofline_plot *plot, const char *name, double bandwidth, double flops)
{
  double xs[] = { pow (10, plot->left), roofline_ridge (plot, bandwidth, flops), pow (10, plot->right) };

  buffer_printf (plot->canvas->script, "$%s << EOD\n", name);
  for (size_t i = 0; i < 3; i++) {
    double y = roofline_roof (xs[i], bandwidth, flops);
    if (isnan (y))
      buffer_add_string (plot->canvas->script, "NaN NaN\n");
    else
      buffer_printf (plot->canvas->script, "%.6g %.6g\n", xs[i], y);
  }
  buffer_add_string (plot->canvas->script, "EOD\n");
}

/* From the lowest roof to the highest: both bend, at most at two places. False: they are alike. */
static bool
put_band (const struct roofline_plot *plot)
{
  const struct roofline_height *bandwidth = &plot->bandwidth,
                               *flops = plot->in_double.count ? &plot->in_double : &plot->in_single;
  double first = roofline_ridge (plot, bandwidth->least, flops->least),
         second = roofline_ridge (plot, bandwidth->most, flops->most);
  double xs[] = { pow (10, plot->left), fmin (first, second), fmax (first, second), pow (10, plot->right) };

  if (!(bandwidth->most > SPREAD * bandwidth->least) && !(flops->most > SPREAD * flops->least))
    return false;
  buffer_add_string (plot->canvas->script, "$band << EOD\n");
  for (size_t i = 0; i < 4; i++)
    buffer_printf (plot->canvas->script, "%.6g %.6g %.6g\n", xs[i],
                   roofline_roof (xs[i], bandwidth->least, flops->least),
                   roofline_roof (xs[i], bandwidth->most, flops->most));
  buffer_add_string (plot->canvas->script, "EOD\n");
  return true;
}

/* Words that stand on a line, at powers of ten `x` and `y`, `turned` by degrees; none beside the frame. */
static void
put_roof_label (const struct roofline_plot *plot, double x, double y, double turned, const char *align,
                const char *text)
{
  if (x < plot->left || x > plot->right || y < plot->bottom || y > plot->top)
    return;
  buffer_printf (plot->canvas->script,
                 "set label '%s' at first %.6g,%.6g %s rotate by %.3g front noenhanced font '" PLOT_FONT
                 ",6.5' tc rgb '" ROOF_COLOR "'\n",
                 text, pow (10, x), pow (10, y), align, turned);
}

static void
put_flat_label (const struct roofline_plot *plot, double flops, double above, const char *precision)
{
  double points = plot->frame.height / (plot->top - plot->bottom); /* a power of ten */
  char text[80];

  if (isnan (flops))
    return;
  snprintf (text, sizeof text, "%.40s %s", words_value (flops, "FLOP/s").text, precision);
  put_roof_label (plot, plot->right - 0.02, log10 (flops / ROOFLINE_UNIT) + above / points, 0, "right", text);
}

/* Along the slope, in the middle of what is seen of it. */
static void
put_slope_label (const struct roofline_plot *plot)
{
  double wide = plot->frame.width / (plot->right - plot->left), high = plot->frame.height / (plot->top - plot->bottom);
  double bandwidth = plot->bandwidth.mean, steep = atan2 (high, wide), seen, ridge, x, y;

  if (isnan (bandwidth))
    return;
  seen = fmax (plot->left, log10 (pow (10, plot->bottom) * ROOFLINE_UNIT / bandwidth));
  ridge = log10 (roofline_ridge (plot, bandwidth, flops_of (&plot->in_double, &plot->in_single)));
  x = (seen + ridge) / 2;
  y = log10 (bandwidth / ROOFLINE_UNIT) + x;
  put_roof_label (plot, x - 6 * sin (steep) / wide, y + 6 * cos (steep) / high, steep * 180 / M_PI, "center",
                  words_value (bandwidth, "B/s").text);
}

/* ---- points ---- */

static void
put_points (const struct roofline_plot *plot)
{
  struct buffer *script = plot->canvas->script;

  buffer_add_string (script, "$nodes << EOD\nNaN NaN\n");
  for (size_t i = 0; i < plot->report->node_count; i++) {
    struct job_roofline node = job_roofline_of_node (plot->report, i);
    if (plot->shown[i] && plot->count > 1 && i != plot->lowest)
      buffer_printf (script, "%.6g %.6g\n", x_of (plot, node.intensity), y_of (plot, node.flops));
  }
  buffer_add_string (script, "EOD\n$lowest << EOD\nNaN NaN\n");
  if (plot->lowest != SIZE_MAX) {
    struct job_roofline node = job_roofline_of_node (plot->report, plot->lowest);
    buffer_printf (script, "%.6g %.6g\n", x_of (plot, node.intensity), y_of (plot, node.flops));
  }
  buffer_printf (script, "EOD\n$job << EOD\n%.6g %.6g\nEOD\n", x_of (plot, plot->job.intensity),
                 y_of (plot, plot->job.flops));
}

/* ---- words ---- */

#define NODE_POINT "pt 7 ps 0.55 lc rgb '" NODE_COLOR "'"
#define LOWEST_POINT "pt 7 ps 0.6 lc rgb '" PLOT_MARK "'"
#define JOB_POINT "pt 13 ps 1.1 lc rgb '" JOB_COLOR "'"

/* A line beside the picture; `point` NULL: none stands before it. */
static void
add_side (const struct roofline_plot *plot, double *y, const char *point, const char *text, size_t limit)
{
  static const struct plot_text style = { "left", PLOT_BLACK, 7, false };
  double x = plot->frame.left + plot->frame.width + 12;

  if (point)
    buffer_printf (plot->canvas->script, "set label '' at screen %.5f,%.5f point %s front\n", x / plot->canvas->width,
                   1 - *y / plot->canvas->height, point);
  plot_text (plot->canvas, x + 9, *y, &style, text, limit);
  *y += 11;
}

static void
add_figure (const struct roofline_plot *plot, double *y, double value, const char *unit, const char *words)
{
  char text[96];

  if (isnan (value))
    return;
  snprintf (text, sizeof text, "%.40s %.40s", words_value (value, unit).text, words);
  add_side (plot, y, NULL, text, 60);
}

static void
put_side (const struct roofline_plot *plot)
{
  double y = plot->frame.top + 6;
  char text[112];

  add_side (plot, &y, JOB_POINT, plot->count > 1 ? "the job: the mean of its nodes" : "the job", 40);
  add_figure (plot, &y, plot->job.flops, "FLOP/s", plot->count > 1 ? "on a node" : "");
  add_figure (plot, &y, plot->job.intensity, "FLOP/byte", "");
  add_figure (plot, &y, plot->job.flops_share, "%", "of the peak of FLOP/s");
  add_figure (plot, &y, plot->job.bandwidth_share, "%", "of the peak of bandwidth");
  add_figure (plot, &y, plot->job.vectors, "%", "by vector instructions");
  y += 5;
  if (plot->count > 1) {
    snprintf (text, sizeof text, "each of its nodes: %zu of %zu", plot->count, plot->report->node_count);
    add_side (plot, &y, NODE_POINT, text, 40);
  }
  if (plot->lowest != SIZE_MAX) {
    struct words name = words_short (plot->report->nodes[plot->lowest].name, 16);
    double flops = job_roofline_of_node (plot->report, plot->lowest).flops;
    snprintf (text, sizeof text, "%.64s: %.40s", name.text, words_value (flops, "FLOP/s").text);
    add_side (plot, &y, LOWEST_POINT, text, 36);
  }
}

static void
put_title (const struct roofline_plot *plot, const struct area *area, bool band)
{
  static const struct plot_text title = { "left", PLOT_BLACK, 10, true };
  static const struct plot_text caption = { "left", PLOT_GREY, 7, false };
  bool roof = plot->bandwidth.count || plot->in_double.count || plot->in_single.count;

  plot_text (plot->canvas, area->left, area->top + 9, &title, PLOT_ROOFLINE_TITLE, 60);
  plot_text (plot->canvas, area->left, area->top + 22, &caption,
             !roof ? "what the nodes can do is not known: synop-agent bench-node measures it"
             : plot->job.flops_shared || plot->job.bandwidth_shared
                 ? "of whole nodes, on some of which other jobs ran too"
             : band ? "the roof is that of the mean node; pale: from the lowest to the highest"
                    : "left of the bend memory holds a job down, right of it the CPUs do",
             110);
}

void
plot_roofline (const struct canvas *canvas, const struct area *area, const struct job_report *report)
{
  struct roofline_plot plot;
  struct buffer *script = canvas->script;
  bool band, both;

  if (roofline_init (&plot, canvas, report)) {
    plot.frame = (struct area){ area->left + 38, area->top + TITLE_HEIGHT, area->width - 38 - SIDE,
                                area->height - TITLE_HEIGHT - FOOT_HEIGHT };
    roofline_axes (&plot);
    plot_begin (canvas, &plot.frame);
    put_axes (&plot);
    band = put_band (&plot);
    put_title (&plot, area, band);
    put_side (&plot);
    put_slope_label (&plot);
    put_flat_label (&plot, plot.in_double.mean, -6, "double precision");
    put_flat_label (&plot, plot.in_single.mean, 5, "single precision");
    both = plot.in_double.count && plot.in_single.count;
    put_roof (&plot, "single", both ? plot.bandwidth.mean : nan (""), both ? plot.in_single.mean : nan (""));
    put_roof (&plot, "roof", plot.bandwidth.mean, flops_of (&plot.in_double, &plot.in_single));
    put_points (&plot);
    buffer_printf (script,
                   "plot %s$single using 1:2 with lines lw 0.9 dt (6,4) lc rgb '" ROOF_COLOR "' notitle, "
                   "$roof using 1:2 with lines lw 1.6 lc rgb '" ROOF_COLOR "' notitle, "
                   "$nodes using 1:2 with points " NODE_POINT " notitle, "
                   "$lowest using 1:2 with points " LOWEST_POINT " notitle, "
                   "$job using 1:2 with points " JOB_POINT " notitle\n",
                   band ? "$band using 1:2:3 with filledcurves fs solid 1 noborder fc rgb '#dfe7ee' notitle, " : "");
  }
  free (plot.shown);
}
