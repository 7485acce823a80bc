/* Jobs of the history as a table for people. */
#ifndef SYNOP_AGGREGATOR_JOB_LIST_TABLE_H
#define SYNOP_AGGREGATOR_JOB_LIST_TABLE_H

#include "aggregator/history/job_store.h"
#include "synop/buffer.h"

void job_list_table (struct buffer *out, const struct job_list *list);

#endif
