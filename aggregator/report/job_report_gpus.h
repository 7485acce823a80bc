/* What a job did with each of its GPUs: for job_report_samples.c, which walks over the history. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_GPUS_H
#define SYNOP_AGGREGATOR_JOB_REPORT_GPUS_H

#include "aggregator/history/history_walk.h"
#include "aggregator/report/job_report.h"

struct job_gpus_reading;

struct job_gpus_reading *job_gpus_begin (const char *job);
/* A frame of that node; frames of a node follow each other in time. */
void job_gpus_take (struct job_gpus_reading *reading, struct job_node *node, const struct cluster_frame *frame);
/* Of the frame that was taken: is it known which GPUs are the job's, and is that one? */
bool job_gpus_are_known (const struct job_gpus_reading *reading);
bool job_gpus_have (const void *reading, const char *label, size_t length); /* a job_row_fn */
void job_gpus_next_node (struct job_gpus_reading *reading);
void job_gpus_end (struct job_gpus_reading *reading);

#endif
