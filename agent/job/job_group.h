/* What the job groups share: one scan for each instant, and their rows. */
#ifndef SYNOP_AGENT_JOB_GROUP_H
#define SYNOP_AGENT_JOB_GROUP_H

#include "agent/job/job_scan.h"
#include "agent/sampling/sampler.h"
#include "agent/sampling/service.h"

enum job_group_place { /* a bit for each in job->shown */
                       JOB_GROUP_INFO,
                       JOB_GROUP_CPU,
                       JOB_GROUP_MEMORY,
                       JOB_GROUP_IO,
                       JOB_GROUP_PROCESSES,
                       JOB_GROUP_GPU,
                       JOB_GROUP_ENERGY,
                       JOB_GROUP_COUNTERS,
                       JOB_GROUPS
};

extern const struct service service_jobs;

/* Each sampler opens one. */
struct job_group;
struct job_group *job_group_open (const struct sampler_context *context, enum job_group_place place);
void job_group_close (void *group);

/* Scans, unless another group did so for this instant. -1: table->error is set. */
int job_group_begin (struct job_group *group, struct table *table);
/* Returns the jobs one after the other, and those that have ended once more, with their last totals. NULL: no more. `at`
 * begins with 0. */
struct job *job_group_next (struct job_group *group, size_t *at);
/* A whole sample: scans, adds a row for each job, and calls `set_row` with it. -1: table->error is set. */
typedef void job_row_fn (const struct job_scan *scan, struct table *table, size_t row, const struct job *job);
int job_group_sample (struct job_group *group, struct table *table, job_row_fn *set_row);
/* Adds the job's row; SIZE_MAX when there is no room. */
size_t job_group_add_row (struct table *table, const struct job *job);
/* The label of the process's job, according to the last scan. NULL: it has none, or no job group is sampled. Call it in
 * the sampling thread. */
const char *job_group_label_of (const struct sampler_context *context, pid_t pid);
/* The processes of the job with that label, at most so many; likewise. */
size_t job_group_pids_of (const struct sampler_context *context, const char *label, pid_t *pids, size_t most);
struct job_scan *job_group_scan (const struct job_group *group);

/* Sets a value; what is not known stays missing. */
void job_group_set (struct table *table, size_t row, size_t column, bool known, uint64_t value);

#endif
