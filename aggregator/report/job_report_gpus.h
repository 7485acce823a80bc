/* What a job did with each of its GPUs: for job_report_samples.c, which walks over the history. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_GPUS_H
#define SYNOP_AGGREGATOR_JOB_REPORT_GPUS_H

#include "aggregator/history/history_walk.h"
#include "aggregator/report/job_report.h"
#include "aggregator/report/job_report_minutes.h"

struct job_gpus_reading;

struct job_gpus_reading *job_gpus_begin (const char *job);
/* A frame of that node; frames of a node follow each other in time. */
void job_gpus_take (struct job_gpus_reading *reading, struct job_node *node, const struct cluster_frame *frame);
/* Before a frame is taken: if minutes were passed over since the last one, goes on from the frame before this, as if all
 * had been alike. False: the job has, or leaves idle, others than before. */
bool job_gpus_pass (struct job_gpus_reading *reading, const struct job_minutes *minutes, size_t index,
                    struct job_node *node, const struct cluster_frame *frame);
bool job_gpus_have_changed (const struct job_gpus_reading *reading); /* those that the job has on the node */
/* What is read of a GPU: metrics of the group gpu by number. */
#define JOB_GPUS_METRICS (8 + JOB_GPU_FLAGS)
const char *job_gpus_metric (size_t metric);
/* A minute of one of them; `period`: seconds from one sample to the next. In the end, once for each GPU: */
void job_gpus_take_minute (struct report_gpu *gpu, size_t metric, const struct history_point *point, double period);
void job_gpus_end_minutes (struct report_gpu *gpu);
/* Of the frame that was taken: is it known which GPUs are the job's, and is that one? */
bool job_gpus_are_known (const struct job_gpus_reading *reading);
bool job_gpus_have (const void *reading, const char *label, size_t length); /* a job_row_fn */
void job_gpus_next_node (struct job_gpus_reading *reading);
void job_gpus_end (struct job_gpus_reading *reading);

#endif
