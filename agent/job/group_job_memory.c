/* job_memory: what the processes of each job hold, and what its cgroup says. */
#include "agent/job/job_group.h"
#include "agent/sampling/sampler.h"

enum column {
  RSS,
  RSS_PEAK,
  VMS,
  SHARED,
  SWAP,
  PERCENT,
  PSS,
  USS,
  CGROUP_CURRENT,
  CGROUP_PEAK,
  CGROUP_LIMIT,
  OOM_KILLS
};

#define BYTES(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .help = HELP                                                                    \
  }

static const struct metric metrics[] = {
  [RSS] = BYTES ("rss", "Memory resident for its processes; pages that they share are counted in each."),
  [RSS_PEAK] = BYTES ("rss_peak", "The highest rss that was seen."),
  [VMS] = { "vms", GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { .most = 0x1p62 },
            .help = "Address space of its processes." },
  [SHARED] = BYTES ("shared", "The part of rss that is files and shared memory; read every 10 s."),
  [SWAP] = BYTES ("swap", "Memory of its processes that is swapped out; read every 10 s."),
  [PERCENT] = { "percent", GAUGE, UNIT_PERCENT, FOLD_SUM, .bound = { .most = 1e6 },
                .help = "Share of the node's memory that rss is." },
  [PSS] =
      BYTES ("pss", "As rss, with shared pages divided among the processes that use them; read at [jobs] pss_period."),
  [USS] = BYTES ("uss", "Memory that its processes alone use, each for itself; read at [jobs] pss_period."),
  [CGROUP_CURRENT] = BYTES ("cgroup_current", "Memory charged to its cgroup, cached files too."),
  [CGROUP_PEAK] = BYTES ("cgroup_peak", "The highest value of cgroup_current."),
  [CGROUP_LIMIT] = BYTES ("cgroup_limit", "The memory limit of its cgroup."),
  [OOM_KILLS] = { "oom_kills", COUNTER, UNIT_COUNT, FOLD_SUM,
                  .help = "Processes of its cgroup that were killed for want of memory." },
};

static const struct group group = {
  .name = "job_memory",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help = "Memory of each batch job on this node.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

static void *
job_memory_open (const struct sampler_context *context)
{
  return job_group_open (context, JOB_GROUP_MEMORY);
}

static void
set_usage (struct table *table, size_t row, enum column column, uint64_t value)
{
  job_group_set (table, row, column, value != JOB_MISSING, value);
}

static void
job_memory_set_row (const struct job_scan *scan, struct table *table, size_t row, const struct job *job)
{
  uint64_t node = job_scan_memory (scan);
  const struct job_sums *now = &job->now;
  bool gone = now->processes == 0; /* then the values are really 0 */

  job_group_set (table, row, RSS, true, now->rss);
  job_group_set (table, row, RSS_PEAK, true, job->totals.rss_peak);
  job_group_set (table, row, VMS, true, now->vms);
  job_group_set (table, row, SHARED, gone || now->status_known, now->shared);
  job_group_set (table, row, SWAP, gone || now->status_known, now->swap);
  job_group_set (table, row, PSS, gone || now->pss_known, now->pss);
  job_group_set (table, row, USS, gone || now->pss_known, now->uss);
  if (node)
    table_set_real (table, row, PERCENT, 100 * (double) now->rss / (double) node);
  set_usage (table, row, CGROUP_CURRENT, job->usage.memory);
  set_usage (table, row, CGROUP_PEAK, job->usage.memory_peak);
  set_usage (table, row, CGROUP_LIMIT, job->usage.memory_limit);
  job_group_set (table, row, OOM_KILLS, job->totals.flow_known >> FLOW_OOM_KILLS & 1, job->totals.flow[FLOW_OOM_KILLS]);
}

static int
job_memory_sample (void *state, struct table *table)
{
  return job_group_sample (state, table, job_memory_set_row);
}

const struct sampler sampler_job_memory = { &group, NULL, job_memory_open, job_memory_sample, job_group_close };
