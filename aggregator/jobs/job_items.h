/* The quantities in reports of jobs, by the names of their metrics. perfmon's form and the part on a job's GPUs use
 * further ones, which no other part of a report has.
 *
 * If a schema lacks one of them, so does the report; the exports have all metrics of an agent. */
#ifndef SYNOP_AGGREGATOR_JOB_ITEMS_H
#define SYNOP_AGGREGATOR_JOB_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/metric.h"

enum job_item_id {
  JOB_CPU_USER,
  JOB_CPU_SYSTEM,
  JOB_CPU_USAGE, /* percent of the CPUs that the job has */
  JOB_MEMORY,
  JOB_MEMORY_PEAK,
  JOB_CGROUP_PEAK,
  JOB_OOM_KILLS,
  JOB_MEMORY_LIMIT,
  JOB_SWAP,
  JOB_READ,
  JOB_WRITE,
  JOB_PROCESSES,
  JOB_THREADS,
  JOB_STORAGE_WAIT, /* percent of the time; of the whole node, as those that follow */
  JOB_NETWORK_RECEIVED,
  JOB_NETWORK_SENT,
  JOB_INFINIBAND_RECEIVED,
  JOB_INFINIBAND_SENT,
  JOB_MEMORY_BANDWIDTH,
  JOB_FLOP, /* of the job where the hardware counts it for jobs, as those that follow */
  JOB_FLOP_DOUBLE,
  JOB_FLOP_SINGLE,
  JOB_FLOP_SCALAR,
  JOB_CYCLES,
  JOB_INSTRUCTIONS,
  JOB_MEMORY_READ, /* this and the next are estimates: what the job's cores did not find in caches */
  JOB_MEMORY_WRITTEN,
  JOB_TASK_TIME,        /* in which the job was counted */
  JOB_ENERGY,           /* shown as power */
  JOB_ENERGY_ESTIMATED, /* the part of it that is shared out among jobs */
  JOB_GPU_USAGE,        /* of the GPUs that the job has; of all on the node where that is not known */
  JOB_GPU_MEMORY,
  JOB_GPU_ENERGY,
  JOB_ITEM_COUNT
};

/* How the values of the nodes are combined for the whole job. */
enum job_combination { JOB_SUM, JOB_MEAN, JOB_MAXIMUM };

struct job_item {
  const char *name;  /* key in JSON: "cpu_usage" */
  const char *title; /* "CPU use"; NULL: in JSON alone, other figures are made of it */
  const char *group, *metric;
  bool of_job; /* the job's own row; else the node as a whole */
  enum job_combination combination;
  const char *unit;    /* of its values over time: "%", "B", "B/s", "FLOP/s", "W", "" */
  const char *panel;   /* plots with the same panel share one picture; NULL: not plotted */
  const char *without; /* the label of a row that is left out: "lo"; NULL: none */
  const char *own;     /* of a quantity of the node: the group that has it of jobs, on nodes that can; NULL: none */
};

static inline bool
job_item_is_of_gpus (size_t item)
{
  return item >= JOB_GPU_USAGE && item <= JOB_GPU_ENERGY;
}

static inline bool
job_item_is_of_flops (size_t item)
{
  return item >= JOB_FLOP && item <= JOB_FLOP_SCALAR;
}

/* Of what counters of the hardware say. */
static inline bool
job_item_is_of_counters (size_t item)
{
  return item >= JOB_MEMORY_BANDWIDTH && item <= JOB_TASK_TIME;
}

extern const struct job_item job_items[JOB_ITEM_COUNT];

#endif
