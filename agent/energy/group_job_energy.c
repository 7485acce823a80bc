/* job_energy: what of the node's energy is a job's.
 *
 * A job that is alone on the node has used what the node has. Of several each has its own GPUs', and of the energy of CPUs
 * and memory the share of their CPU time; while none of them computes, that of their CPUs. That is an estimate, and counted
 * as such. What else the node draws (fans, disks, network) is then nobody's, and what runs beside jobs is theirs.
 *
 * A job counts from the second sample that sees it to the one that finds it ended: about as much too late as too long. */
#include <math.h>
#include <stdlib.h>

#include "agent/energy/energy.h"
#include "agent/job/job_group.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum column { ENERGY, ESTIMATED, POWER, ALONE };

static const struct metric metrics[] = {
  [ENERGY] = { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000000,
               .help = "Energy of this node that the job has used since the agent knows of it: the node's while it is "
                       "alone "
                       "there, else its GPUs' and the share of its CPU time in that of CPUs and memory." },
  [ESTIMATED] = { "estimated", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000000,
                  .help = "The part of `energy` that was estimated by its share of CPU time." },
  [POWER] = { "power", GAUGE, UNIT_WATTS, FOLD_SUM,
              .help = "What it draws: the node's power while it is alone there, else that of its GPUs and its share of "
                      "that of CPUs and memory." },
  [ALONE] = { "alone", GAUGE, UNIT_BOOLEAN, FOLD_MIN,
              .help = "1 while it is the only job on the node; 0: what it has of CPUs and memory is an estimate." },
};

static const struct group group = {
  .name = "job_energy",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help = "Energy of this node that each batch job has used.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

struct job_energy_group {
  const struct sampler_context *context;
  struct energy *energy;
  struct job_group *group; /* opened when something measures energy */
  struct energy_view last;
  int64_t last_ns;
  struct job **jobs; /* of this sample */
  size_t count, room;
};

/* By how much the node's parts have grown since the sample before. */
struct growth {
  uint64_t shared_uj, all_uj;     /* CPUs and memory; everything */
  double shared_watts, all_watts; /* what they draw now: a sensor may be read once, twice or not at all since then */
  bool known;                     /* there was a sample before */
  bool gpus;                      /* GPUs answer */
  double weights;                 /* of all jobs */
  bool computes;                  /* weights are CPU time; else CPUs */
};

static void *
job_energy_open (const struct sampler_context *context)
{
  struct job_energy_group *mine = memory_new (1, sizeof *mine);

  mine->context = context;
  mine->energy = energy_take (context);
  return mine;
}

static void
job_energy_close (void *state)
{
  struct job_energy_group *mine = state;

  if (mine->group)
    job_group_close (mine->group);
  service_leave (mine->energy);
  free (mine->jobs);
  free (mine);
}

static bool
is_known (const struct energy_view *view)
{
  for (size_t i = 0; i < ENERGY_PARTS; i++)
    if (view->parts[i].known)
      return true;
  return false;
}

static struct growth
growth_of (struct job_energy_group *mine, const struct energy_view *view, int64_t now_ns)
{
  struct growth growth = { 0 };

  for (size_t i = 0; i < ENERGY_PARTS && mine->last_ns; i++) {
    const struct energy_of_part *part = &view->parts[i];
    uint64_t grown = part->total_uj - mine->last.parts[i].total_uj;
    double watts = part->known && !isnan (part->watts) ? part->watts : 0;
    bool shared = i == ENERGY_CPU || i == ENERGY_DRAM;

    growth.all_uj += grown;
    growth.all_watts += watts;
    growth.shared_uj += shared ? grown : 0;
    growth.shared_watts += shared ? watts : 0;
  }
  growth.known = mine->last_ns != 0;
  growth.gpus = view->parts[ENERGY_GPU].known;
  mine->last = *view;
  mine->last_ns = now_ns;
  return growth;
}

static uint64_t
cpu_time (const struct job *job)
{
  return job->totals.total[PROCESS_USER] + job->totals.total[PROCESS_SYSTEM];
}

/* Its CPU time since the sample before; if there is none of any job, its CPUs. */
static double
weight (const struct job *job, bool computes)
{
  if (!job->energy.begun)
    return 0;
  if (computes)
    return (double) (cpu_time (job) - job->energy.cpu_ns);
  return job->cpus ? job->cpus : 1;
}

static void
jobs_weigh (const struct job_energy_group *mine, struct growth *growth)
{
  growth->computes = true;
  for (int pass = 0; pass < 2 && growth->weights <= 0; pass++) {
    growth->computes = pass == 0;
    for (size_t i = 0; i < mine->count; i++)
      growth->weights += weight (mine->jobs[i], growth->computes);
  }
}

static void
job_add (struct job *job, const struct growth *growth, bool alone)
{
  struct job_energy *energy = &job->energy;
  double share = alone || growth->weights <= 0 ? 0 : weight (job, growth->computes) / growth->weights;
  uint64_t own_uj = alone ? growth->all_uj : (energy->gpu_mj - energy->gpu_seen_mj) * 1000;
  uint64_t share_uj = (uint64_t) ((double) growth->shared_uj * share);
  double own_watts = alone ? growth->all_watts : growth->gpus ? energy->gpu_watts : 0;

  energy->watts = nan ("");
  if (energy->begun && growth->known) {
    energy->used_uj += own_uj + share_uj;
    energy->estimated_uj += share_uj;
    energy->watts = own_watts + growth->shared_watts * share;
  }
  energy->begun = true;
  energy->cpu_ns = cpu_time (job);
  energy->gpu_seen_mj = energy->gpu_mj;
}

/* False: no room. */
static bool
job_row (struct table *table, const struct job *job, bool alone)
{
  size_t row = job_group_add_row (table, job);

  if (row == SIZE_MAX)
    return false;
  table_set_uint (table, row, ENERGY, job->energy.used_uj);
  table_set_uint (table, row, ESTIMATED, job->energy.estimated_uj);
  table_set_real (table, row, POWER, job->energy.watts);
  table_set_uint (table, row, ALONE, alone);
  return true;
}

static int
job_energy_sample (void *state, struct table *table)
{
  struct job_energy_group *mine = state;
  int64_t now_ns = clock_monotonic ();
  struct energy_view view;
  struct growth growth;
  struct job *job;

  energy_look (mine->energy, now_ns, &view);
  if (!mine->group && !is_known (&view))
    return 0;
  if (!mine->group)
    mine->group = job_group_open (mine->context, JOB_GROUP_ENERGY);
  if (job_group_begin (mine->group, table) < 0)
    return -1;
  mine->count = 0;
  for (size_t at = 0; (job = job_group_next (mine->group, &at));)
    *array_add (mine->jobs, mine->count, mine->room) = job;
  if (!is_known (&view))
    return table_complain (table, "nothing measures power any more");
  growth = growth_of (mine, &view, now_ns);
  jobs_weigh (mine, &growth);
  for (size_t i = 0; i < mine->count; i++)
    job_add (mine->jobs[i], &growth, mine->count == 1);
  for (size_t i = 0; i < mine->count && job_row (table, mine->jobs[i], mine->count == 1); i++)
    ;
  return 0;
}

const struct sampler sampler_job_energy = {
  &group, NULL, job_energy_open, job_energy_sample, job_energy_close, .optional = true, .absent = energy_absent
};
