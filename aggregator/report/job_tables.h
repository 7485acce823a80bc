/* The tables of a job's nodes and GPUs on a terminal: equal ones together, the worst first. */
#ifndef SYNOP_AGGREGATOR_JOB_TABLES_H
#define SYNOP_AGGREGATOR_JOB_TABLES_H

#include "aggregator/report/job_report_write.h"

void job_table_nodes (const struct job_report *report, const struct job_look *look, struct buffer *out);
void job_table_gpus (const struct job_report *report, const struct job_look *look, struct buffer *out);

/* "[||||||||      34 %]" of so many characters. */
void job_bar (struct buffer *out, double percent, size_t width, const char *filled, const char *empty);

#endif
