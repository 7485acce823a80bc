/* Jobs: which run, where, and what they used: pure like cluster.h.
 *
 * It is fed every frame that is taken in, late ones too, is told what prologs and epilogs tell, and is given the time. Out
 * come lines for the stream and rows for the history. What a job is made of is whatever tables of section REPORT_JOBS say;
 * the values of a summary are those that job_items.h names.
 *
 * A job runs from the start that a node tells of, else from the frame that shows it first, until no node has shown it for
 * the grace, or at once when told; it ended when it was last seen. Its counters are totals since it began on a node, so
 * the last ones are what it used there. One that was taken for gone and is shown again is the same run, unless its start
 * is later than that end. One that was told to have ended stays so, unless its start is later, or told.
 *
 * Memory is bounded: JOBS_MAX that run, of them JOBS_NODE_MAX on a node, and JOBS_KEPT_MAX that ended within the hour. */
#ifndef SYNOP_AGGREGATOR_JOBS_H
#define SYNOP_AGGREGATOR_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/cluster.h"
#include "aggregator/job_line.h"

#define JOBS_MAX 65536
#define JOBS_NODE_MAX 2048
#define JOBS_KEPT_MAX 8192
#define JOB_LABEL_MAX 128

struct jobs;
struct job_record;

/* What goes into the history: job_store.h. */
enum job_row_kind { JOB_ROW_JOB, JOB_ROW_NODE, JOB_ROW_END, JOB_ROW_MARK };
#define JOB_ROW_TEXTS 6
struct job_row {
  enum job_row_kind kind;
  int64_t key;                      /* of the job */
  int64_t time_ns;                  /* started, first, ended, seen */
  double cpus;                      /* of JOB_ROW_JOB; NaN: not known */
  const char *texts[JOB_ROW_TEXTS]; /* label and enum job_text; name; reason, summary; state. NULL: no more */
};

/* NULL functions are fine. What they are given is valid during the call only. */
struct jobs_options {
  int64_t grace_ns;
  void *context;
  void (*line) (void *context, const struct job_line *line);
  void (*row) (void *context, const struct job_row *row);
};

struct jobs_counts {
  uint64_t jobs_running; /* now */
  uint64_t jobs_started, jobs_ended;
  uint64_t job_rows_refused; /* rows whose label is no job's, or over the limits above */
};

/* All times are cluster time. */
struct jobs *jobs_create (const struct jobs_options *options, int64_t now_ns);
void jobs_destroy (struct jobs *jobs); /* NULL is fine */
void jobs_set_grace (struct jobs *jobs, int64_t grace_ns);

/* A job that ran when the history was last written; before any frame. */
void jobs_restore (struct jobs *jobs, const struct job_record *record);

void jobs_frame (struct jobs *jobs, const struct cluster_frame *frame, int64_t now_ns);
void jobs_node_down (struct jobs *jobs, const char *node);

/* To be called several times a second: tells what began and what ended. When it was not called for a second or more the
 * aggregator was stopped, and no job is taken for gone because of that. */
void jobs_tick (struct jobs *jobs, int64_t now_ns);
/* Rows that tell all that is known of those that run, for the next start. */
void jobs_mark (struct jobs *jobs);

/* -1 and error: the label is no job's, or there is no room. `user` and `name` may be "". */
int jobs_start (struct jobs *jobs, const char *label, const char *user, const char *name, int64_t now_ns,
                struct error *error);
/* How many ended: the run of that label, or of "123" all of 123, 123/1, 123/2...; -1 and error: it is no job's. */
int jobs_end (struct jobs *jobs, const char *label, int64_t now_ns, struct error *error);

const struct jobs_counts *jobs_counts (const struct jobs *jobs);

#endif
