/* job_counters: what the processes of each job did, by the counters of the hardware and of the kernel. */
#include <stdlib.h>

#include "agent/counters/counter_events.h"
#include "agent/job/job_counters.h"
#include "agent/job/job_group.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum { RUNNING = COUNTER_COLUMNS };

static const struct metric metrics[] = {
  COUNTER_METRICS,
  [COUNTER_TASK_TIME] = { "task_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .bound = { BOUND_LATE_TIME },
                          .help = "CPU time in which the other metrics were counted." },
  FLOP_METRICS (COUNTER_FLOP),
  [COUNTER_TRAFFIC + TRAFFIC_READ] = { "read_estimate", COUNTER, UNIT_BYTES, FOLD_SUM,
                                       .help =
                                           "Bytes that the job's cores read from memory, as far as they see it: lines "
                                           "that no cache had. An estimate; memory_bandwidth is counted." },
  [COUNTER_TRAFFIC + TRAFFIC_WRITTEN] = { "written_estimate", COUNTER, UNIT_BYTES, FOLD_SUM,
                                          .help =
                                              "Bytes that they wrote to memory: lines that no cache had and that they "
                                              "had for writing. An estimate (Intel)." },
  [RUNNING] = COUNTER_RUNNING_METRIC,
};

static const struct group group = {
  .name = "job_counters",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help =
      "What the processes of each batch job did on this node, in user space and in the kernel, since the agent "
      "knows of the job, by perf events. With `[counters] enabled`; with libpfm4 its floating-point operations, and "
      "what it moved from and to memory.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

struct group_state {
  struct counters *counters;
  struct job_group *jobs; /* NULL, as the next, where counters are off */
  struct job_counters *job_counters;
};

static void *
job_counters_open (const struct sampler_context *context)
{
  struct group_state *state = memory_new (1, sizeof *state);

  state->counters = service_take (context, &service_counters);
  if (state->counters->enabled) {
    state->jobs = job_group_open (context, JOB_GROUP_COUNTERS);
    state->job_counters = job_counters_create (state->counters, job_group_scan (state->jobs));
  }
  return state;
}

static void
job_counters_close (void *context)
{
  struct group_state *state = context;

  if (state->jobs) {
    job_counters_destroy (state->job_counters);
    job_group_close (state->jobs);
  }
  service_leave (state->counters);
  free (state);
}

static void
set_row (const struct job *job, struct table *table, size_t row)
{
  const struct counter_row *sums = job_counters_of (job);
  uint64_t value;

  if (!sums || row == SIZE_MAX)
    return;
  for (size_t i = 0; i < COUNTER_COLUMNS; i++)
    if (counter_row_value (sums, i, &value))
      table_set_uint (table, row, i, value);
  table_set_real (table, row, RUNNING, sums->running);
}

static int
job_counters_sample (void *context, struct table *table)
{
  struct group_state *state = context;
  struct job *job;

  if (!state->jobs)
    return 0;
  if (job_group_begin (state->jobs, table) < 0)
    return -1;
  job_counters_update (state->job_counters, clock_monotonic (), table);
  for (size_t at = 0; (job = job_group_next (state->jobs, &at));)
    set_row (job, table, job_group_add_row (table, job));
  return 0;
}

const struct sampler sampler_job_counters = {
  &group, NULL, job_counters_open, job_counters_sample, job_counters_close, .optional = true,
};
