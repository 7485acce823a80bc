/* The roofline as SVG, see job_svg.h: points, axes and roofs are those of job_plot_roofline.c. */
#include <math.h>
#include <stdlib.h>

#include "aggregator/report/job_markup.h"
#include "aggregator/report/job_plot_roofline_private.h"
#include "aggregator/report/job_svg.h"
#include "aggregator/report/job_words.h"

#define WIDTH 620.0
#define HEIGHT 300.0

static double
svg_x (const struct roofline_plot *plot, double power)
{
  return plot->frame.left + plot->frame.width * (roofline_within (power, plot->left, plot->right) - plot->left) /
                                (plot->right - plot->left);
}

static double
svg_y (const struct roofline_plot *plot, double power)
{
  return plot->frame.top + plot->frame.height * (plot->top - roofline_within (power, plot->bottom, plot->top)) /
                               (plot->top - plot->bottom);
}

static void
svg_axes (const struct roofline_plot *plot, struct buffer *out)
{
  double left = plot->frame.left, foot = plot->frame.top + plot->frame.height;

  for (int power = (int) ceil (plot->left); power <= (int) floor (plot->right); power++) {
    buffer_printf (out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", svg_x (plot, power), plot->frame.top, foot);
    buffer_printf (out, "<text class=\"m q\" x=\"%.1f\" y=\"%.1f\">%.9g</text>\n", svg_x (plot, power), foot + 14,
                   pow (10, power));
  }
  for (int power = (int) ceil (plot->bottom); power <= (int) floor (plot->top); power++) {
    buffer_printf (out, "<path class=\"g\" d=\"M%.1f %.1fh%.1f\"/>", left, svg_y (plot, power), plot->frame.width);
    buffer_printf (out, "<text class=\"e q\" x=\"%.1f\" y=\"%.1f\">%.9g</text>\n", left - 4, svg_y (plot, power) + 4,
                   pow (10, power));
  }
  buffer_printf (out, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">FLOP/byte</text>", left + plot->frame.width / 2,
                 foot + 28);
  buffer_printf (out, "<text x=\"2\" y=\"10\">GFLOP/s</text>\n");
}

static void
svg_roof (const struct roofline_plot *plot, struct buffer *out, double flops, const char *precision)
{
  double bandwidth = plot->bandwidth.mean,
         xs[] = { pow (10, plot->left), roofline_ridge (plot, bandwidth, flops), pow (10, plot->right) };

  if (isnan (roofline_roof (xs[0], bandwidth, flops)))
    return;
  buffer_add_string (out, "<path class=\"roof\" d=\"M");
  for (size_t i = 0; i < 3; i++)
    buffer_printf (out, "%.1f %.1f ", svg_x (plot, log10 (xs[i])),
                   svg_y (plot, log10 (roofline_roof (xs[i], bandwidth, flops))));
  buffer_printf (out, "\"><title>%s</title></path>\n", words_value (bandwidth, "B/s").text);
  if (!isnan (flops)) {
    buffer_printf (out, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">", plot->frame.left + plot->frame.width - 3,
                   svg_y (plot, log10 (flops / ROOFLINE_UNIT)) - 4);
    buffer_printf (out, "%s %s</text>\n", words_value (flops, "FLOP/s").text, precision);
  }
}

static void
svg_point (const struct roofline_plot *plot, struct buffer *out, const struct job_roofline *at, const char *class,
           const char *name)
{
  buffer_printf (out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", class,
                 svg_x (plot, log10 (at->intensity)), svg_y (plot, log10 (at->flops / ROOFLINE_UNIT)));
  markup_text (out, name, 30);
  buffer_printf (out, ": %s, ", words_value (at->flops, "FLOP/s").text);
  buffer_printf (out, "%s</title></circle>\n", words_value (at->intensity, "FLOP/byte").text);
}

static void
svg_side (const struct roofline_plot *plot, struct buffer *out)
{
  buffer_printf (out, "<p>The job%s: %s, ", plot->count > 1 ? ", the mean of its nodes" : "",
                 words_value (plot->job.flops, "FLOP/s").text);
  buffer_printf (out, "%s", words_value (plot->job.intensity, "FLOP/byte").text);
  if (!isnan (plot->bandwidth.mean))
    buffer_printf (out, "; memory moves at most %s on a node", words_value (plot->bandwidth.mean, "B/s").text);
  if (plot->lowest != SIZE_MAX) {
    buffer_add_string (out, "; least on ");
    markup_text (out, plot->report->nodes[plot->lowest].name, 30);
    buffer_printf (out, ": %s", words_value (job_roofline_of_node (plot->report, plot->lowest).flops, "FLOP/s").text);
  }
  buffer_add_string (out, ".</p>\n");
}

void
svg_roofline (struct buffer *out, const struct job_report *report)
{
  struct roofline_plot plot;

  if (roofline_init (&plot, NULL, report)) {
    plot.frame = (struct area){ 52, 16, WIDTH - 62, HEIGHT - 50 };
    roofline_axes (&plot);
    buffer_printf (
        out, "<h2>%s</h2>\n<figure class=\"wide\"><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
        PLOT_ROOFLINE_TITLE, WIDTH, HEIGHT, PLOT_ROOFLINE_TITLE);
    svg_axes (&plot, out);
    svg_roof (&plot, out, plot.in_single.mean, "single precision");
    svg_roof (&plot, out, plot.in_double.mean, "double precision");
    if (!plot.in_single.count && !plot.in_double.count)
      svg_roof (&plot, out, nan (""), "");
    for (size_t i = 0; i < report->node_count; i++) {
      struct job_roofline node = job_roofline_of_node (report, i);
      if (plot.shown[i])
        svg_point (&plot, out, &node, i == plot.lowest ? "mark" : "dot", report->nodes[i].name);
    }
    svg_point (&plot, out, &plot.job, "job", "the job");
    buffer_add_string (out, "</svg></figure>\n");
    svg_side (&plot, out);
  }
  free (plot.shown);
}
