/* What a plot draws of a report's series: values where something is known, and breaks where nothing is.
 *
 * Bins without a sample are of two sorts: those that lie between two samples because a bin is shorter than the period
 * are filled in, those where samples are missing stay blank. */
#ifndef SYNOP_AGGREGATOR_JOB_CURVE_H
#define SYNOP_AGGREGATOR_JOB_CURVE_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

/* `bins` of a series of `node` (NULL: of all together) to `to`, report->bins values; NaN: blank. A series without bins
 * is blank. */
void curve_fill (const struct job_report *report, const struct job_node *node, const float *bins, float *to);

/* The nodes of an item, at each bin. Free what it points to with curve_band_free. */
struct curve_band {
  float *minimum, *maximum, *mean;
};
/* `chosen` NULL: all nodes; else those for which it is set. */
void curve_band_init (struct curve_band *band, const struct job_report *report, enum job_item_id item,
                      const bool *chosen);
void curve_band_free (struct curve_band *band);

/* Whether samples are missing in a bin, on one node in ten at least. report->bins values, to be freed. */
bool *curve_gaps (const struct job_report *report);

double curve_seconds (const struct job_report *report); /* the length of the time axis */

/* Adds lines "x y [y ...]", x in seconds since the job's start, from `columns` by their `divisor`. Each run without a
 * blank begins and ends at the edges of its bins, so that one bin alone can be seen; an empty line breaks the curve.
 * False: all was blank; one line of NaN stands for it. */
bool curve_put (struct buffer *script, const struct job_report *report, const float *const *columns, size_t count,
                double divisor);

#endif
