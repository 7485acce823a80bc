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
 * Which job: its id, its scheduler and its user, as far as they are told. A node says that with job_info; what it shows
 * before it has said so belongs to the newest job of that id that it could be. Two nodes that say different things of one
 * id have two jobs, and event job_disputed tells. A node tells of itself only: of a job's texts the first one counts, and
 * one that says otherwise stands with it in the summary; its start moves those alone who were there when it was told.
 *
 * Memory is bounded, with a share for each: see the limits below. Of each sum half is for whoever comes first, up to his
 * own limit, and the other half is parted evenly. Who is held back is counted, and event jobs_held_back names him. */
#ifndef SYNOP_AGGREGATOR_JOBS_H
#define SYNOP_AGGREGATOR_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/core/event.h"
#include "aggregator/views/job_line.h"
#include "aggregator/views/job_row.h"

#define JOBS_MAX 65536     /* that run, as nodes show; */
#define JOBS_NODE_MAX 2048 /* on one node */
#define JOBS_ANNOUNCED_MAX                                                                                             \
  4096 /* that one scheduler has told of, and no node has shown; of all schedulers twice as many */
#define JOBS_ANNOUNCED_USERS_MAX 2048 /* the same of all other users; */
#define JOBS_ANNOUNCED_USER_MAX 256   /* of one */
#define JOBS_KEPT_MAX 8192            /* that ended within the hour */
#define JOB_UID_UNKNOWN (-1)

struct jobs;
struct job_record;

/* NULL functions are fine. What they are given is valid during the call only. */
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
  uint64_t job_rows_refused;  /* rows whose label is no job's, or over the limits above */
  uint64_t job_words_refused; /* of jobs_start and jobs_end: over the limits, or of another user's job */
  uint64_t jobs_disputed;     /* that began while another one of that id ran */
};

/* All times are cluster time. */
struct jobs *jobs_create (const struct jobs_options *options, int64_t now_ns);
void jobs_destroy (struct jobs *jobs); /* NULL is fine */
void jobs_set_grace (struct jobs *jobs, int64_t grace_ns);
void jobs_expect_nodes (struct jobs *jobs, size_t count); /* that are listed: each has its part */

/* A job that ran when the history was last written; before any frame. */
void jobs_restore (struct jobs *jobs, const struct job_record *record);

void jobs_frame (struct jobs *jobs, const struct cluster_frame *frame, int64_t now_ns);
void jobs_node_down (struct jobs *jobs, const char *node);

/* To be called several times a second: tells what began and what ended, of so many jobs at once that it takes some
 * milliseconds; the others have their turn at the next call. When it was not called for a second or more the aggregator
 * was stopped, and no job is taken for gone because of that. */
void jobs_tick (struct jobs *jobs, int64_t now_ns);
/* Rows that tell all that is known of those that run, for the next start. */
void jobs_mark (struct jobs *jobs);

/* What somebody says of a job. A scheduler's word (root's, or that of the users who run its prologs) is about any job;
 * another user begins and ends his own ones alone. */
struct job_announcement {
  const char *label;
  const char *user, *name; /* "" when not told. Of jobs_end: only jobs of this user; name is not looked at */
  bool scheduler;
  uint32_t uid; /* who says it */
};

/* -1 and error: the label is no job's, or there is no room. */
int jobs_start (struct jobs *jobs, const struct job_announcement *announcement, int64_t now_ns, struct error *error);
/* How many ended: the runs of that label, or of "123" all of 123, 123/1, 123/2...; -1 and error: it is no job's, or
 * another user's. */
int jobs_end (struct jobs *jobs, const struct job_announcement *announcement, int64_t now_ns, struct error *error);

const struct jobs_counts *jobs_counts (const struct jobs *jobs);

#endif
