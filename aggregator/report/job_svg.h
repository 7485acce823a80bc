/* The pictures of the HTML report, as SVG: no other program draws them. Colours are classes of the page's style sheet, so
 * that they suit light, dark and paper; what a curve holds is in titles, which browsers show over it. */
#ifndef SYNOP_AGGREGATOR_JOB_SVG_H
#define SYNOP_AGGREGATOR_JOB_SVG_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

extern const char svg_style[]; /* for the style sheet */

/* A figure for the nodes of an item, of a job on several nodes, and one for all together. */
void svg_item (struct buffer *out, const struct job_report *report, enum job_item_id item);
/* Which node was slow: a row for each node; nothing where there is nothing to draw. */
void svg_overview (struct buffer *out, const struct job_report *report);
/* The use of each GPU, where there are more than the table shows. */
void svg_gpus (struct buffer *out, const struct job_report *report);
/* As plot_roofline. */
void svg_roofline (struct buffer *out, const struct job_report *report);

#endif
