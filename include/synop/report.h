/* From tables to what people read: the shape of neuron-monitor's reports, for the standalone agent and the aggregator
 * alike.
 *
 *   "system_data": {"network": {"period": 1.000012, "error": "", "tcp_established": 12,
 *                   "total": {"rx_bytes": 5120, ...}, "devices": {"eth0": {"rx_bytes": 5120, ...}, ...}}, ...}
 *
 * A group's object holds: period (the time since the table before, in seconds; for the first the nominal one; none in
 * GROUP_ONCE), error, the values of the node, the fold of the rows, the rows. A fold is over the values that are shown,
 * null when no row has one; texts and FOLD_NONE are not in it, nor are rows that do not count (METRIC_COUNTS).
 *
 * Counters show their change since the table before (METRIC_SHARE: as percent of the time that passed); without one,
 * after a reset, and in a row that was not there before they are null. A change is never negative. A share that is over
 * 100 by no more than a tick of 10 ms or a twentieth of the period is shown as 100, since that is how coarsely kernels
 * count; more than that is shown as it is.
 *
 * What is derived of a group's counters (derived.h) follows the metrics of each row and of the fold.
 *
 * The section REPORT_JOBS is written the other way round, a row of all its groups together, without folds:
 *
 *   "job_data": [{"job_id": "123", "error": "", "report": {"job_cpu": {"period": 1.000012, "error": "", "usage": 98.5,
 *   ...},
 *                 "job_memory": {...}}}, ...]
 *
 * A group is in it when it has the job's row. When groups have an error and no row, the first of them is an object more:
 * {"job_id": null, "error": "...", "report": {}}.
 *
 * The section REPORT_RUNTIMES is written as neuron-monitor does, a runtime of all its groups together. Labels of rows are
 * RUNTIME or RUNTIME/PART:
 *
 *   "runtime_data": [{"runtime": "20843", "pid": 20843, ..., "error": "", "report": {
 *      "execution_stats": {"period": 1.000012, "error": "", "completed": 50, ...},
 *      "neuroncore_counters": {"period": 1.000012, "error": "", "neuroncores_in_use": {"0": {...}, ...}}}}, ...]
 *
 * What REPORT_RUNTIME_INFO knows of it stands beside its report. A row's REPORT_ROW_ERROR is the error of its group, or in
 * REPORT_RUNTIME_INFO the runtime's. */
#ifndef SYNOP_REPORT_H
#define SYNOP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/json.h"
#include "synop/metric.h"
#include "synop/table.h"

#define REPORT_JOBS "job_data"
#define REPORT_RUNTIMES "runtime_data"
#define REPORT_RUNTIME_INFO "runtime_info"
#define REPORT_RUNTIME_ROW "runtime" /* `row` of a group whose rows have no parts */
#define REPORT_ROW_ERROR "row_error"

/* A metric's value as people see it: scaled, a counter as its change in `elapsed_ns`. `before` may be NULL.
 * Integers stay integers when the scale is whole. A TEXT value comes back as it is (its offset is into `now`'s table).
 */
struct value report_value (const struct metric *metric, const struct value *now, const struct value *before,
                           int64_t elapsed_ns);

/* A value from report_value as JSON, unless it is a text; null: it is missing. `metric` NULL: any. */
void report_number_write (struct json *json, const struct metric *metric, const struct value *value);

/* The growth of a COUNTER; of a METRIC_WRAPS32 also around 2^32. False when it fell: it restarted. */
bool report_counter_change (const struct metric *metric, uint64_t now, uint64_t before, uint64_t *change);

/* One group's table now and the one before it (NULL: none). */
struct report_group {
  const struct table *now;
  const struct table *before;
};

/* What the group's "period" shows: the time since the table before, or the nominal period. */
int64_t report_elapsed_ns (const struct report_group *group);

/* Each metric's value of the node as a whole, as a report shows it: the value of the node, or the fold of the rows;
 * missing for texts. `values` has room for the group's metric_count. `searched` is 0 before the first group of a
 * frame: it counts searched rows, and bounds the search in all groups of the frame together. */
void report_node_values (const struct report_group *group, struct value *values, size_t *searched);
/* That of one metric. */
struct value report_node_value (const struct report_group *group, size_t column, size_t *searched);

/* The least and the greatest value that a metric has in a row; of several the first. */
struct report_range {
  size_t rows; /* that have a value; 0: nothing else is set */
  size_t min_row, max_row;
  struct value min, max;
};
/* The same values for the cluster's sums: without the rows that other nodes have too (METRIC_SHARED). `ranges`, of
 * GROUP_ROWS only, are over all rows that count, and have room for the group's metric_count. */
void report_cluster_values (const struct report_group *group, struct value *values, struct report_range *ranges,
                            size_t *searched);
/* Does a row count in the fold? Looked up once for each group. */
struct report_gates {
  size_t counts, shared; /* columns; SIZE_MAX: there is none */
};
struct report_gates report_gates_of (const struct group *group);
bool report_row_counts (const struct report_gates *gates, const struct table *table, size_t row);

/* Writes the members of a report object (the caller has opened it): sections in order of their first group, groups in
 * the order given. Groups whose `now` is NULL are left out. `only` (may be NULL) says which groups to show. */
void report_write (struct json *json, const struct report_group *groups, size_t count,
                   bool (*only) (const void *context, const char *group), const void *context);

/* Leaves out groups whose names would make a report grow by more than `most` bytes beside its values: they are in
 * the returned groups without rows, with an error that says so. The groups are valid until report_cut_free. When
 * none is left out they are `groups` itself, and nothing was allocated. */
struct report_cut {
  size_t count; /* how many were left out */
  struct report_group *groups;
  struct table *tables;
};
const struct report_group *report_cut (const struct report_group *groups, size_t count, size_t most,
                                       struct report_cut *cut);
void report_cut_free (struct report_cut *cut);

/* ---- single rows, for other folds and formats ---- */

/* The table before, if `now` can be compared with it; else NULL. */
const struct table *report_before (const struct report_group *pair);

/* The expected place of a table's next row, 0 at first, and the number of rows searched in all tables of the frame. */
struct report_search {
  size_t expected;
  size_t *searched;
};
/* The row of `before` (may be NULL) with the label of row `row` of `now`, or SIZE_MAX. */
size_t report_row_before (const struct table *now, const struct table *before, size_t row,
                          struct report_search *search);

/* A metric's rows folded so far. Zeroed at first. */
struct report_fold {
  size_t count;
  bool real; /* in `number`, else in `whole` */
  double number;
  __int128 whole;
};

void report_fold_add (struct report_fold *fold, enum metric_fold kind, const struct value *value);
struct value report_fold_value (const struct report_fold *fold, enum metric_fold kind);

#endif
