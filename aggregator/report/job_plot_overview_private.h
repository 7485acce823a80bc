/* What job_plot_overview.c and job_svg_overview.c share. */
#ifndef SYNOP_AGGREGATOR_JOB_PLOT_OVERVIEW_PRIVATE_H
#define SYNOP_AGGREGATOR_JOB_PLOT_OVERVIEW_PRIVATE_H

#include "aggregator/report/job_plot.h"

#define OVERVIEW_ROWS 40 /* at most */
#define OVERVIEW_NAME 20 /* characters of a node's name */

struct overview_row {
  size_t node; /* SIZE_MAX: all others together */
  double mean;
};

struct overview {
  const struct canvas *canvas;
  const struct job_report *report;
  enum job_item_id item;
  size_t count;
  struct overview_row rows[OVERVIEW_ROWS];
  bool *others; /* of report->node_count: has no row of its own */
  size_t other_count;
  double mean; /* of all nodes */
};

void overview_init (struct overview *view, const struct canvas *canvas, const struct job_report *report);
void overview_free (struct overview *view);
void overview_label (const struct overview *view, const struct overview_row *row, struct buffer *label);
bool overview_is_marked (const struct overview *view, const struct overview_row *row); /* the node that stands out */
/* The row's values, one a bin. */
void overview_fill_row (const struct overview *view, const struct overview_row *row, float *curve);
double overview_darkest (const struct overview *view); /* the highest value */

#endif
