/* job_info: what each job is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job/job_group.h"
#include "agent/sampling/sampler.h"
#include "synop/memory.h"

enum column { SCHEDULER, USER, UID, NAME, COMMAND, ARRAY, CPUS, STARTED, NODES, NODE_LIST, GPUS, SOURCE, EXIT_CODE };

#define FACT(NAME, KIND, UNIT, HELP)                                                                                   \
  {                                                                                                                    \
    NAME, KIND, UNIT, FOLD_NONE, .help = HELP                                                                          \
  }

static const struct metric metrics[] = {
  [SCHEDULER] = FACT ("scheduler", TEXT, UNIT_NONE, "What started the job: slurm, pbs, oar, lsf, flux, synop, other."),
  [USER] = FACT ("user", TEXT, UNIT_NONE, "The job's user."),
  [UID] = FACT ("uid", GAUGE, UNIT_COUNT, "That user's number."),
  [NAME] = FACT ("name", TEXT, UNIT_NONE, "The job's name."),
  [COMMAND] = FACT ("command", TEXT, UNIT_NONE, "Name of the job's first process on this node."),
  [ARRAY] = FACT ("array", TEXT, UNIT_NONE, "Of a job array: the array's id and the task's, 100_3."),
  [CPUS] = FACT ("cpus", GAUGE, UNIT_COUNT,
                 "CPUs of this node allocated to the job; without a number from the scheduler, those that it may use."),
  [STARTED] = FACT ("started", GAUGE, UNIT_SECONDS, "When its first process on this node began, since 1970."),
  [NODES] = FACT ("nodes", GAUGE, UNIT_COUNT, "Nodes allocated to the job."),
  [NODE_LIST] = FACT ("node_list", TEXT, UNIT_NONE, "Those nodes, as the scheduler writes them."),
  [GPUS] = FACT ("gpus", TEXT, UNIT_NONE, "GPUs allocated to the job, as the scheduler writes them."),
  [EXIT_CODE] = FACT ("exit_code", GAUGE, UNIT_COUNT,
                      "With what the command of `synop-agent run` ended, once no process of the job is left; 128 and a "
                      "signal's number."),
  [SOURCE] = FACT ("source", TEXT, UNIT_NONE,
                   "Where CPU time comes from: cgroup, or processes (without those that ended unseen)."),
};

static const struct group group = {
  .name = "job_info",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "",
  .help = "What each batch job on this node is.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

struct job_info {
  struct job_group *group;
};

static void *
job_info_open (const struct sampler_context *context)
{
  struct job_info *info = memory_new (1, sizeof *info);

  info->group = job_group_open (context, JOB_GROUP_INFO);
  return info;
}

static void
job_info_close (void *state)
{
  struct job_info *info = state;

  job_group_close (info->group);
  free (info);
}

static void
job_info_set_row (struct table *table, size_t row, const struct job *job)
{
  const struct job_identity *identity = &job->identity;

  table_set_string (table, row, SCHEDULER, job_scheduler_name (identity->scheduler));
  table_set_string (table, row, USER, identity->user);
  table_set_string (table, row, NAME, identity->name);
  table_set_string (table, row, COMMAND, job->command);
  table_set_string (table, row, ARRAY, identity->array);
  table_set_string (table, row, NODE_LIST, identity->node_list);
  table_set_string (table, row, GPUS, identity->gpus);
  table_set_string (table, row, SOURCE, job->by_cgroup ? "cgroup" : "processes");
  job_group_set (table, row, UID, identity->uid != JOB_UID_UNKNOWN, identity->uid);
  job_group_set (table, row, CPUS, job->cpus != 0, job->cpus);
  job_group_set (table, row, NODES, identity->nodes != 0, identity->nodes);
  job_group_set (table, row, EXIT_CODE, job->ended && job->exit_known, job->exit_code);
  if (job->totals.started_ns > 0)
    table_set_real (table, row, STARTED, (double) job->totals.started_ns / 1e9);
}

static int
job_info_sample (void *state, struct table *table)
{
  struct job_info *info = state;
  const char *error;
  struct job *job;

  if (job_group_begin (info->group, table) < 0)
    return -1;
  for (size_t at = 0; (job = job_group_next (info->group, &at));) {
    size_t row = job_group_add_row (table, job);

    if (row != SIZE_MAX)
      job_info_set_row (table, row, job);
  }
  error = job_scan_error (job_group_scan (info->group));
  if (!error[0])
    return 0;
  snprintf (table->error, sizeof table->error, "%s", error);
  return -1;
}

const struct sampler sampler_job_info = { &group, NULL, job_info_open, job_info_sample, job_info_close };
