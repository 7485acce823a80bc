/* The table of a job's nodes on a terminal. */
#ifndef SYNOP_AGGREGATOR_JOB_TABLE_H
#define SYNOP_AGGREGATOR_JOB_TABLE_H

#include "aggregator/report/job_report_write.h"

/* At most so many nodes are shown: the worst. */
#define JOB_TABLE_NODES 40

void job_table (const struct job_report *report, const struct job_look *look, struct buffer *out);

#endif
