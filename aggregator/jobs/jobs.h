/* Jobs: which run, where, and what they used: pure like cluster.h.
 *
 * Its input is every frame, late ones too, what prologs and epilogs announce, and the time. Its output is lines for the
 * stream and rows for the history. The rows of all tables of section REPORT_JOBS are jobs; the values of a summary are
 * those that job_items.h names.
 *
 * A job runs from the start that a node reports, else from the first frame that shows it, until no node has shown it
 * for the grace, or its end is announced; it ended when it was last seen. Its counters are totals since it began on a
 * node, so the last ones are what it used there. A job that was gone and is shown again is the same run, unless its
 * start is later than its end. A job whose end was announced stays ended, unless its start is later, or is announced
 * again.
 *
 * A job is identified by its id, its scheduler and its user, as far as they are known. A node reports them in job_info;
 * what it shows before that is ascribed to the newest job of that id that it could be. If two nodes report different
 * users or schedulers for one id, these are two jobs, and event job_disputed says so. A node decides about its own rows
 * only: of a job's texts the first one counts, and a different one of another node is shown for that node in the
 * summary; its start moves the job's only if the job was on it when it was first reported.
 *
 * Memory is bounded, with a share for each owner: see the limits below. Of each limit, half is for whoever comes
 * first, up to the owner's own limit, and the other half is divided equally. What is over a share is counted, and
 * event jobs_held_back names the owner. */
#ifndef SYNOP_AGGREGATOR_JOBS_H
#define SYNOP_AGGREGATOR_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/core/event.h"
#include "aggregator/views/job_announcement.h"
#include "aggregator/views/job_line.h"
#include "aggregator/views/job_row.h"
#include "synop/viewer.h"

#define JOBS_MAX 65536                /* jobs that run, and that nodes show; */
#define JOBS_NODE_MAX 2048            /* on one node */
#define JOBS_ANNOUNCED_MAX 4096       /* by a scheduler and not shown by a node; by all schedulers twice as many; */
#define JOBS_ANNOUNCED_USERS_MAX 2048 /* by all other users; */
#define JOBS_ANNOUNCED_USER_MAX 256   /* by one of them */
#define JOBS_KEPT_MAX 8192            /* jobs that ended within the hour */
#define JOB_UID_UNKNOWN (-1)

struct jobs;
struct job_record;

/* NULL functions are fine. Their arguments are valid during the call only. */
struct jobs_options {
  int64_t grace_ns;
  void *context;
  void (*line) (void *context, const struct job_line *line);
  void (*row) (void *context, const struct job_row *row);
  void (*event) (void *context, const struct event *event);
};

struct jobs_counts {
  uint64_t jobs_running; /* now */
  uint64_t jobs_started, jobs_ended;
  uint64_t job_rows_refused;  /* rows with an invalid label, or over the limits above */
  uint64_t job_words_refused; /* announcements over the limits, or about another user's job */
  uint64_t jobs_disputed;     /* jobs that began while another one of that id ran */
};

/* All times are cluster time. */
struct jobs *jobs_create (const struct jobs_options *options, int64_t now_ns);
void jobs_destroy (struct jobs *jobs); /* NULL is fine */
void jobs_set_grace (struct jobs *jobs, int64_t grace_ns);
void jobs_expect_nodes (struct jobs *jobs, size_t count); /* how many are listed: each has a share */

/* Restores a job that ran when the history was last written; to be called before any frame. */
void jobs_restore (struct jobs *jobs, const struct job_record *record);

/* The summary of a job that runs, as the history last knew it, in place of none. */
void jobs_complete (struct job_record *record);

void jobs_frame (struct jobs *jobs, const struct cluster_frame *frame, int64_t now_ns);
void jobs_node_down (struct jobs *jobs, const char *node);

/* To be called several times a second. Reports starts and ends, of so many jobs at once that it takes some
 * milliseconds; the next call continues. When it was not called for a second or more the aggregator was stopped, and
 * that time ends no job. */
void jobs_tick (struct jobs *jobs, int64_t now_ns);
/* Writes rows with the state of the jobs that run, for the next start. */
void jobs_mark (struct jobs *jobs);

/* -1 and error: the label is invalid, or there is no room. */
int jobs_start (struct jobs *jobs, const struct job_announcement *announcement, int64_t now_ns, struct error *error);
/* Returns how many jobs ended: that of the label; for "123" all of 123, 123/1, 123/2... -1 and error: the label is
 * invalid, or the job is another user's. */
int jobs_end (struct jobs *jobs, const struct job_announcement *announcement, int64_t now_ns, struct error *error);

/* Of each job of that id that runs each node: `user` is whose it is, "" where that is not known. How many jobs those are. */
size_t jobs_each_node (const struct jobs *jobs, const char *label, void *context,
                       void (*take) (void *context, const char *user, const char *node));

const struct jobs_counts *jobs_counts (const struct jobs *jobs);
/* A line for each job that runs, as that of its start. */
void jobs_write_running (const struct jobs *jobs, const struct viewer *viewer, struct json *json);

#endif
