/* `aggregator report --format clustercockpit`: a job in ClusterCockpit's job archive, a folder of its own in it:
 *
 *   ROOT/CLUSTER/JOBID / 1000/JOBID % 1000 as three digits/START in seconds/meta.json, data.json
 *
 * data.json has curves: {METRIC: {SCOPE: {"unit", "timestep", "series": [{"hostname", "id", "statistics", "data"}...]}}...}, in
 * whole seconds, null where there is no sample; meta.json what the job was, and the statistics of each metric.
 *
 * Its schemas want some metrics of every job. Those that no node measured have no series, and zeros as statistics. */
#ifndef SYNOP_AGGREGATOR_JOB_ARCHIVE_H
#define SYNOP_AGGREGATOR_JOB_ARCHIVE_H

#include "aggregator/history/history_file.h"
#include "aggregator/history/job_store.h"
#include "aggregator/report/job_report.h"
#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/json.h"

struct job_archive {
  const char *root;         /* made, if it is not there */
  const char *cluster;      /* "fritz", or "fritz/main" with its part */
  struct job_choice choice; /* of the report */
  const struct job_report *report;
  struct history_file *file;
  char *path;            /* of the job's folder, once it is written; to be freed */
  struct buffer missing; /* metrics that should be there and are not: "flops_any, mem_bw"; to be freed */
  size_t broken;         /* pieces of the history that could not be read */
};

int job_archive_write (struct job_archive *archive, struct error *error);

/* ---- job_archive_data.c ---- */

/* Adds data.json to one, and the object of the statistics to the other. */
int job_archive_data (struct job_archive *archive, struct json *data, struct json *statistics, struct error *error);

#endif
