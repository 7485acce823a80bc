/* The nodes of a job, and its GPUs, with equal ones together: what a person reads instead of a thousand lines. */
#ifndef SYNOP_AGGREGATOR_JOB_GROUPS_H
#define SYNOP_AGGREGATOR_JOB_GROUPS_H

#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_report.h"

#define JOB_GROUPS_MAX 40

/* Lost ones first, then idle ones, then those that used their CPUs least. Two are equal that have the same trouble, and
 * about the same use and memory. */
struct job_node_groups {
  size_t count;
  size_t first[JOB_GROUPS_MAX], nodes[JOB_GROUPS_MAX]; /* of each group: its worst node, and how many */
  size_t *group;                                       /* of each node; JOB_GROUPS_MAX: there were too many groups */
  size_t left_out;                                     /* nodes in no group */
};
void job_node_groups_init (struct job_node_groups *groups, const struct job_report *report);
void job_node_groups_free (struct job_node_groups *groups);

/* The same of GPUs, in order of the list. */
struct job_gpu_groups {
  size_t count;
  size_t first[JOB_GROUPS_MAX], gpus[JOB_GROUPS_MAX]; /* `first`: its place in the list */
  size_t *group;                                      /* of each GPU in order of nodes */
  size_t left_out;
};
void job_gpu_groups_init (struct job_gpu_groups *groups, const struct gpu_list *list);
void job_gpu_groups_free (struct job_gpu_groups *groups);

#endif
