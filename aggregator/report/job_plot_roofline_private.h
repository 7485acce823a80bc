/* What job_plot_roofline.c and job_svg_roofline.c share. */
#ifndef SYNOP_AGGREGATOR_JOB_PLOT_ROOFLINE_PRIVATE_H
#define SYNOP_AGGREGATOR_JOB_PLOT_ROOFLINE_PRIVATE_H

#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_roofline.h"

#define ROOFLINE_UNIT 1e9 /* FLOP/s, of the axis */

/* Mean, least and greatest of the nodes; NaN: not known. */
struct roofline_height {
  double mean, least, most;
  size_t count;
};

struct roofline_plot {
  const struct canvas *canvas;
  const struct job_report *report;
  struct area frame;
  bool *shown; /* nodes that have a point */
  size_t count, lowest;
  struct job_roofline job; /* of those */
  struct roofline_height bandwidth, in_double, in_single;
  double left, right, bottom, top; /* of the axes: powers of ten, of FLOP/byte and GFLOP/s */
};

/* False: no node has a point. In both cases `shown` is the caller's. */
bool roofline_init (struct roofline_plot *plot, const struct canvas *canvas, const struct job_report *report);
void roofline_axes (struct roofline_plot *plot);
double roofline_within (double value, double least, double most);
/* The roof at that intensity, in units of the axis; what is not known of it holds nothing down. */
double roofline_roof (double intensity, double bandwidth, double flops);
/* Where a roof bends: its ridge, or the edge of the frame. */
double roofline_ridge (const struct roofline_plot *plot, double bandwidth, double flops);

#endif
