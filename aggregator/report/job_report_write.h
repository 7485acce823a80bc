/* A job's report for a terminal, as JSON, as a table, and its samples in the schema of perfmon. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_WRITE_H
#define SYNOP_AGGREGATOR_JOB_REPORT_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/report/job_report.h"
#include "synop/json.h"

#define JOB_LOOK_WIDTH 80 /* unless somebody says otherwise */

struct job_look {
  size_t width; /* in characters; columns that find no room are left out */
  bool utf8, colour;
};
void job_report_text (const struct job_report *report, const struct job_look *look, struct buffer *out);

/* One object, and a newline. */
void job_report_json (const struct job_report *report, struct json *json);

/* One line for SLURM's AdminComment, as jobstats writes and reads it. */
int job_report_jobstats (const struct job_report *report, struct buffer *out, struct error *error);

/* The figures of the nodes, comma separated. */
void job_report_csv (const struct job_report *report, struct buffer *out);

/* The merged JSON of perfmon, a second pass over the history. What is written goes through `put`, part by part. */
struct job_perfmon {
  void *context;
  int (*put) (void *context, const struct buffer *text, struct error *error);
  struct replay_progress *progress; /* may be NULL */
};
int job_report_perfmon (struct history_file *file, const struct job_report *report, const struct job_perfmon *perfmon,
                        struct error *error);

#endif
