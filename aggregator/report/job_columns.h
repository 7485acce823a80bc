/* The columns of a schema that reports of jobs use, and their values. */
#ifndef SYNOP_AGGREGATOR_JOB_COLUMNS_H
#define SYNOP_AGGREGATOR_JOB_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/jobs/job_items.h"
#include "synop/report.h"
#include "synop/schema.h"

#define JOB_COLUMNS_NONE SIZE_MAX
#define JOB_GAP_PERIODS 2.5 /* a pause of more of a node's periods is a gap */

struct job_columns {
  const struct schema *schema;
  size_t group[JOB_ITEM_COUNT], column[JOB_ITEM_COUNT]; /* group JOB_COLUMNS_NONE: it is not there */
  bool of_job[JOB_ITEM_COUNT];                          /* the job's own row; else the node as a whole */
  size_t liveness;                                      /* the group whose tables prove that jobs were watched */
  size_t cpu_cpus;                                      /* of the liveness, if that is job_cpu */
  size_t info, info_cpus, info_source;
  size_t power, power_whole;
  size_t peaks, peaks_bandwidth, peaks_double, peaks_single;
  size_t network_speed, infiniband_rate; /* of the groups of these items */
};

void job_columns_find (struct job_columns *columns, const struct schema *schema);
size_t job_find_group (const struct schema *schema, const char *name);
size_t job_find_column (const struct schema *schema, size_t group, const char *name);

bool job_is_share (const struct metric *metric);
#define JOB_NUMBER_MAX 1e24
double job_number (const struct value *value);     /* NaN: missing, or impossible for a machine */
bool job_is_beyond (double number);                /* over JOB_NUMBER_MAX, or below its negative */
int64_t job_period_ns (const struct table *table); /* within the limits of [agent] period */
/* Nanoseconds from the job's start to its first sample on a node; 0: the agent came later than the job, or clocks are
 * too inexact. */
int64_t job_first_span (int64_t started_ns, const struct table *now, int64_t time_ns);
/* A gauge as shown; NaN for what is not there, and for JOB_COLUMNS_NONE. */
double job_gauge (const struct table *table, size_t row, size_t column);

/* As shown: of the job's row, compared with the row of that label before. */
struct value job_row_value (const struct report_group *pair, size_t column, size_t row, const char *label);
/* As shown, of the node as a whole, but for rows that do not count (`counts` NULL: all do). */
typedef bool job_row_fn (const void *context, const char *label, size_t length);
struct value job_node_value (const struct report_group *pair, size_t column, job_row_fn *counts, const void *context);

#endif
