/* job_cpu: CPU time of each job, and its share of the CPUs allocated to the job. Totals since the job began here. */
#include "agent/job/job_group.h"
#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"

enum column { USER_TIME, SYSTEM_TIME, USAGE, CPUS, VOLUNTARY, INVOLUNTARY };

#define NS 1000000000

static const struct metric metrics[] = {
  [USER_TIME] = { "user_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = NS, .bound = { BOUND_LATE_TIME },
                  .help = "CPU time in user space." },
  [SYSTEM_TIME] = { "system_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = NS, .bound = { BOUND_LATE_TIME },
                    .help = "CPU time in the kernel." },
  [USAGE] = { "usage", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = NS, .bound = { BOUND_LATE_TIME },
              .help = "Share of the allocated CPUs that was used." },
  [CPUS] = { "cpus", GAUGE, UNIT_COUNT, FOLD_SUM,
             .help = "CPUs of this node allocated to the job; without a number from the scheduler, those that it may "
                     "use." },
  [VOLUNTARY] = { "voluntary_context_switches", COUNTER, UNIT_COUNT, FOLD_SUM, .bound = { BOUND_LATE },
                  .help = "Times that the main threads of its processes gave up the CPU; read every 10 s." },
  [INVOLUNTARY] = { "involuntary_context_switches", COUNTER, UNIT_COUNT, FOLD_SUM, .bound = { BOUND_LATE },
                    .help = "Times that the CPU was taken from them; read every 10 s." },
};

static const struct group group = {
  .name = "job_cpu",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help = "CPU time of each batch job on this node, of its processes that ended too.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

static void *
job_cpu_open (const struct sampler_context *context)
{
  return job_group_open (context, JOB_GROUP_CPU);
}

static void
job_cpu_set_row (const struct job_scan *scan, struct table *table, size_t row, const struct job *job)
{
  const struct job_totals *totals = &job->totals;
  bool switches = job->now.status_known || totals->total[PROCESS_VOLUNTARY] != 0;

  (void) scan;
  job_group_set (table, row, USER_TIME, true, totals->total[PROCESS_USER]);
  job_group_set (table, row, SYSTEM_TIME, true, totals->total[PROCESS_SYSTEM]);
  job_group_set (table, row, USAGE, job->cpus != 0, totals->usage);
  job_group_set (table, row, CPUS, job->cpus != 0, job->cpus);
  job_group_set (table, row, VOLUNTARY, switches, totals->total[PROCESS_VOLUNTARY]);
  job_group_set (table, row, INVOLUNTARY, switches, totals->total[PROCESS_INVOLUNTARY]);
}

static int
job_cpu_sample (void *state, struct table *table)
{
  return job_group_sample (state, table, job_cpu_set_row);
}

const struct sampler sampler_job_cpu = { &group, NULL, job_cpu_open, job_cpu_sample, job_group_close };
