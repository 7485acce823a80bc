/* The GPUs of a job as all forms of its report show them: the worst first, what is wrong with each, and sentences. */
#ifndef SYNOP_AGGREGATOR_JOB_GPU_LIST_H
#define SYNOP_AGGREGATOR_JOB_GPU_LIST_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

#define GPU_LIST_SHOWN 64  /* by themselves, in every form but JSON */
#define GPU_THROTTLED 10.0 /* percent of the samples or the time, from which a GPU is reported as throttled */

struct gpu_place {
  size_t at; /* in order of nodes and their GPUs */
  const struct job_node *node;
  const struct report_gpu *gpu;
};

/* Those left idle first, then those with XIDs, then the throttled ones; among alike the least used. */
struct gpu_list {
  struct gpu_place *places;
  size_t count, shown;
};

void gpu_list_init (struct gpu_list *list, const struct job_report *report);
void gpu_list_free (struct gpu_list *list);

bool gpu_is_idle (const struct report_gpu *gpu); /* the job left it idle */
bool gpu_has_xids (const struct report_gpu *gpu);
bool gpu_is_alarming (const struct report_gpu *gpu);

/* Each adds text to `to`, or nothing where there is nothing to say. */
void gpu_trouble (struct buffer *to, const struct report_gpu *gpu);      /* "left idle, XID 79" */
void gpu_list_summary (struct buffer *to, const struct gpu_list *list);  /* how many, and how many of them are wrong */
void gpu_list_left_out (struct buffer *to, const struct gpu_list *list); /* how many are not shown */

/* "GPU 3 on n[1-4], GPU 0-2 on n5 and 12 more": those for which `are` holds, or that are chosen in order of nodes. */
void gpu_list_names (struct buffer *to, const struct job_report *report, bool (*are) (const struct report_gpu *gpu));
void gpu_list_names_of (struct buffer *to, const struct job_report *report, const bool *chosen, size_t limit);

#endif
