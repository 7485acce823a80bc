/* The pictures of a job's report, as commands for gnuplot: each is drawn into an area of a canvas, which is a page of a
 * PDF or an SVG of its own. All lengths are points (1/72 inch) from the upper left corner. */
#ifndef SYNOP_AGGREGATOR_JOB_PLOT_H
#define SYNOP_AGGREGATOR_JOB_PLOT_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

struct canvas {
  struct buffer *script;
  double width, height;
};

struct area {
  double left, top, width, height;
};

#define PLOT_FONT "DejaVu Sans"
#define PLOT_BLACK "#202020"
#define PLOT_GREY "#5a5a5a"
#define PLOT_MARK "#d55e00" /* colour of the node that stands out, in all pictures */

/* One line of text that will be drawn with the next plot. Align: left, right or center. The text is cut at `limit`
 * characters. */
struct plot_text {
  const char *align, *color;
  double size;
  bool bold;
};
void plot_text (const struct canvas *canvas, double x, double y, const struct plot_text *style, const char *text,
                size_t limit);

/* Which node was slow: the nodes' CPU use over time, lowest first, and the mean of each beside it. Where CPU use is not
 * known, the first item that is. `item` JOB_ITEM_COUNT: there is nothing to draw. */
enum job_item_id plot_overview_item (const struct job_report *report);
double plot_overview_height (const struct job_report *report);
void plot_overview (const struct canvas *canvas, const struct area *area, const struct job_report *report);
void plot_overview_title (struct buffer *title, const struct job_report *report);

/* How much each GPU was used, where a job has more GPUs than its table of them shows: a column for each node. The height
 * 0: there is nothing to draw. */
double plot_gpus_height (const struct job_report *report);
void plot_gpus (const struct canvas *canvas, const struct area *area, const struct job_report *report);
#define PLOT_GPUS_TITLE "Use of each GPU, in the mean"

/* The nodes and the job against the roof of what the nodes can do: operations a second over operations a byte. The
 * height 0: it is not known of any node. */
double plot_roofline_height (const struct job_report *report);
void plot_roofline (const struct canvas *canvas, const struct area *area, const struct job_report *report);
#define PLOT_ROOFLINE_TITLE "Roofline: what the job does, and what its nodes can"

/* One item over time: its nodes, and beside them all together. */
#define PLOT_ITEM_HEIGHT 147
/* The node that is farthest from the others, by a tenth of their mean at least; SIZE_MAX: none. */
size_t plot_marked (const struct job_report *report, enum job_item_id item);
bool plot_is_zero (const struct job_report *report, enum job_item_id item);
void plot_zeros (struct buffer *to, const struct job_report *report); /* which those are: a sentence, or nothing */
bool plot_has_item (const struct job_report *report, enum job_item_id item);
/* "mean 87.2 %, maximum 100 % on n12" */
void plot_nodes_detail (struct buffer *text, const struct job_report *report, enum job_item_id item);
void plot_item_title (struct buffer *title, enum job_item_id item); /* "Network: received" */
void plot_item (const struct canvas *canvas, const struct area *area, const struct job_report *report,
                enum job_item_id item);

/* ---- between the files job_plot ---- */

/* Begins a plot whose frame is `frame`: all settings are the defaults, and the margins are set. */
void plot_begin (const struct canvas *canvas, const struct area *frame);
/* The time axis: below, the time since the job's start and under it the clock, at most `most` times. */
void plot_time_axis (const struct canvas *canvas, const struct job_report *report, size_t most);
/* The axis of values from 0, and its range. */
void plot_value_axis (const struct canvas *canvas, const struct area *frame, const char *unit, double maximum);
double plot_value_step (double top);                                /* between its ticks */
double plot_time_step (double length, size_t most);                 /* seconds between at most so many ticks */
void plot_elapsed (struct buffer *to, double seconds, double step); /* "90 s", "1.5 h" */
#define PLOT_HEADROOM 1.04
double plot_top (const char *unit, double maximum); /* where such an axis ends, in the unit shown */

/* Colours for values from 0 to `maximum`, pale to dark, and a bar that explains them at `left`, `top`. */
void plot_colors (const struct canvas *canvas, double left, double top, double width, const char *unit, double maximum);

/* The nodes that know the item, by how far their mean lies from that of all, the farthest first. Returns how many. */
size_t plot_farthest (const struct job_report *report, enum job_item_id item, size_t *nodes, size_t most);

#endif
