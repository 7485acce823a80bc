/* job_processes: how many processes, threads and open files each job has, and how many came and went. */
#include "agent/job/job_group.h"
#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"

enum column { PROCESSES, THREADS, OPEN_FILES, STARTED, ENDED };

#define COUNT(NAME, KIND, HELP)                                                                                        \
  {                                                                                                                    \
    NAME, KIND, UNIT_COUNT, FOLD_SUM, .help = HELP                                                                     \
  }

static const struct metric metrics[] = {
  [PROCESSES] = { "processes", GAUGE, UNIT_COUNT, FOLD_SUM, .bound = { BOUND_TASKS }, .help = "Its processes." },
  [THREADS] = { "threads", GAUGE, UNIT_COUNT, FOLD_SUM, .bound = { BOUND_TASKS }, .help = "Their threads." },
  [OPEN_FILES] = COUNT ("open_files", GAUGE, "Files, sockets and pipes that they have open; read every 10 s."),
  [STARTED] = COUNT ("started", COUNTER, "Processes that were seen to begin."),
  [ENDED] = COUNT ("ended", COUNTER, "Processes that were seen to end."),
};

static const struct group group = {
  .name = "job_processes",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help = "Processes of each batch job on this node.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

static void *
job_processes_open (const struct sampler_context *context)
{
  return job_group_open (context, JOB_GROUP_PROCESSES);
}

static void
job_processes_set_row (const struct job_scan *scan, struct table *table, size_t row, const struct job *job)
{
  (void) scan;
  job_group_set (table, row, PROCESSES, true, job->now.processes);
  job_group_set (table, row, THREADS, true, job->now.threads);
  job_group_set (table, row, OPEN_FILES, job->now.open_known || job->now.processes == 0, job->now.open_files);
  job_group_set (table, row, STARTED, true, job->totals.total[PROCESS_STARTED]);
  job_group_set (table, row, ENDED, true, job->totals.ended);
}

static int
job_processes_sample (void *state, struct table *table)
{
  return job_group_sample (state, table, job_processes_set_row);
}

const struct sampler sampler_job_processes = { &group, NULL, job_processes_open, job_processes_sample,
                                               job_group_close };
