/* One quantity on one node while it is added up: sample by sample, or, of a long job, minute by minute. */
#ifndef SYNOP_AGGREGATOR_JOB_TALLY_H
#define SYNOP_AGGREGATOR_JOB_TALLY_H

#include "aggregator/history/history_points.h"
#include "aggregator/report/job_report.h"
#include "synop/report.h"

struct job_tally {
  const struct metric *metric; /* NULL: there was none */
  bool of_job;
  uint64_t base, last; /* raw values of the job's own counter */
  bool counted, changed;
  bool begun;    /* there was a sample of the job's own counter */
  double change; /* of the node's counter */
  double sum, weight;
  unsigned counts[JOB_REPORT_BINS];
  /* Between frames that were read: samples, their time in seconds, the change of the job's own counter; */
  uint64_t passed;
  double passed_seconds, passed_change;
  uint64_t minutes;      /* samples in minutes that were passed over, */
  double minutes_change; /* and what they add up to */
};

/* Of a long job minutes are read, and of one of days hours; bins begin and end with whole ones. */
bool job_is_long (const struct job_report *report);
bool job_is_of_hours (const struct job_report *report);
void job_bins_make (struct job_report *report, int64_t period_ns);
size_t job_bin_of (const struct job_report *report, int64_t time_ns);

/* A gauge of processes that are gone means nothing, except a peak that is still reported. */
bool job_tally_is_of_processes (size_t item, const struct metric *metric, double value);
/* Another raw value of the job's own counter. False: it fell. */
bool job_tally_count (struct job_tally *tally, const struct value *value);
/* `before_ns`: of the sample before; INT64_MIN: there is none. */
void job_tally_sample (struct job_tally *tally, const struct job_report *report, struct job_series *series,
                       int64_t before_ns, int64_t time_ns, double value, double weight);
/* A minute or an hour. `period`: seconds from one sample to the next where the frames are deleted; 0: as between those that were
 * read before and behind. */
void job_tally_minute (struct job_tally *tally, const struct job_report *report, struct job_series *series,
                       const struct history_point *point, double period);
/* One of which only the change of a counter is known, not in which time. */
void job_tally_gap (struct job_tally *tally, const struct history_point *point);
void job_tally_end (const struct job_tally *tally, const struct job_report *report, struct job_series *series);

#endif
