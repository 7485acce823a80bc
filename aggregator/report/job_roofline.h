/* How a job computed, from counters of the hardware, and how near that is to what its nodes can do at most. */
#ifndef SYNOP_AGGREGATOR_JOB_ROOFLINE_H
#define SYNOP_AGGREGATOR_JOB_ROOFLINE_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

/* Of a node, or of several together, as far as each of them knows both sides of a quotient. NaN: not known. */
struct job_roofline {
  double ipc, ghz;                          /* instructions a cycle; cycles in a nanosecond of CPU time */
  double flops, flops_double, flops_single; /* operations a second */
  double vectors;                           /* percent of the operations that vector instructions did */
  double bandwidth;                         /* bytes to and from memory a second */
  double intensity;                         /* operations a byte */
  double flops_share, bandwidth_share;      /* percent of the peaks; the greater is how near the roof is */
  struct job_peaks peaks;                   /* of all together: their sum */
  bool known;                               /* any of these but bandwidth and peaks */
  bool flops_shared, bandwidth_shared;      /* of whole nodes with other jobs on them */
  bool estimated;                           /* some of the bandwidth, by what caches did not have */
};
struct job_roofline job_roofline_of_node (const struct job_report *report, size_t node);
struct job_roofline job_roofline_of (const struct job_report *report, const bool *chosen); /* NULL: all nodes */

/* "1.42 instructions a cycle, at 2.91 GHz"; "312 GFLOP/s, 97.1 % of them in double precision, ..."; "210 GB/s in the mean,
 * ...". Nothing where it is not known. */
void job_instructions_words (struct buffer *to, const struct job_report *report);
void job_flops_words (struct buffer *to, const struct job_report *report);
void job_bandwidth_words (struct buffer *to, const struct job_report *report);

#endif
