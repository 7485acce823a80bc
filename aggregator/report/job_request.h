/* What to write in a job's script to ask for something, in the words of its scheduler: "#SBATCH --mem=3G". */
#ifndef SYNOP_AGGREGATOR_JOB_REQUEST_H
#define SYNOP_AGGREGATOR_JOB_REQUEST_H

#include <stddef.h>

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

/* Each adds nothing where the scheduler has no such words, or none that are known. */
void job_request_memory (struct buffer *to, const struct job_report *report, double bytes); /* on each node */
void job_request_cpus (struct buffer *to, const struct job_report *report, double cpus);    /* on each node */
void job_request_nodes (struct buffer *to, const struct job_report *report, size_t nodes);
void job_request_gpus (struct buffer *to, const struct job_report *report, size_t gpus, const char *type); /* on each */
void job_request_time (struct buffer *to, const struct job_report *report, double seconds);
void job_request_without (struct buffer *to, const struct job_report *report, const bool *nodes);

/* Rounded up to what people write: 256 MiB, from 2 GiB on whole GiB. */
double job_request_rounded (double bytes);

#endif
