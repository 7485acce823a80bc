/* job_io: what the processes of each job read and wrote. Totals since the job began here. */
#include <stdio.h>

#include "agent/job/job_group.h"
#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"

enum column { READ_BYTES, WRITE_BYTES, READ_CHARS, WRITE_CHARS, READ_CALLS, WRITE_CALLS, CGROUP_READ, CGROUP_WRITE };

#define TOTAL(NAME, UNIT, HELP)                                                                                        \
  {                                                                                                                    \
    NAME, COUNTER, UNIT, FOLD_SUM, .bound = { BOUND_LATE }, .help = HELP                                               \
  }

static const struct metric metrics[] = {
  [READ_BYTES] = TOTAL ("read_bytes", UNIT_BYTES, "Bytes that came from storage."),
  [WRITE_BYTES] = TOTAL ("write_bytes", UNIT_BYTES, "Bytes that went to storage, or are on their way there."),
  [READ_CHARS] = TOTAL ("read_chars", UNIT_BYTES, "Bytes of all read calls: of files in the cache and pipes too."),
  [WRITE_CHARS] = TOTAL ("write_chars", UNIT_BYTES, "Bytes of all write calls."),
  [READ_CALLS] = TOTAL ("read_calls", UNIT_COUNT, "Read calls."),
  [WRITE_CALLS] = TOTAL ("write_calls", UNIT_COUNT, "Write calls."),
  [CGROUP_READ] = TOTAL ("cgroup_read_bytes", UNIT_BYTES, "Bytes that its cgroup read from block devices."),
  [CGROUP_WRITE] = TOTAL ("cgroup_write_bytes", UNIT_BYTES, "Bytes that its cgroup wrote to block devices."),
};

static const struct group group = {
  .name = "job_io",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help = "Input and output of each batch job on this node, of its processes that ended too.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

static void *
job_io_open (const struct sampler_context *context)
{
  return job_group_open (context, JOB_GROUP_IO);
}

static void
job_io_set_row (const struct job_scan *scan, struct table *table, size_t row, const struct job *job)
{
  const struct job_totals *totals = &job->totals;
  bool known = job->now.io_known || totals->total[PROCESS_READ_CALLS] != 0;

  (void) scan;
  for (size_t column = READ_BYTES; column <= WRITE_CALLS; column++)
    job_group_set (table, row, column, known, totals->total[PROCESS_READ_BYTES + column]);
  job_group_set (table, row, CGROUP_READ, totals->flow_known >> FLOW_READ_BYTES & 1, totals->flow[FLOW_READ_BYTES]);
  job_group_set (table, row, CGROUP_WRITE, totals->flow_known >> FLOW_WRITE_BYTES & 1, totals->flow[FLOW_WRITE_BYTES]);
}

static int
job_io_sample (void *state, struct table *table)
{
  size_t denied;

  if (job_group_sample (state, table, job_io_set_row) < 0)
    return -1;
  denied = job_scan_io_denied (job_group_scan (state));
  if (denied == 0)
    return 0;
  snprintf (table->error, sizeof table->error,
            "the I/O of %zu processes of other users cannot be read: run as root or with CAP_SYS_PTRACE", denied);
  return -1;
}

const struct sampler sampler_job_io = { &group, NULL, job_io_open, job_io_sample, job_group_close };
