/* `aggregator jobs`: the jobs of the history. */
#ifndef SYNOP_AGGREGATOR_JOB_LIST_COMMAND_H
#define SYNOP_AGGREGATOR_JOB_LIST_COMMAND_H

#include "aggregator/config/options.h"

int job_list_run (const struct options *options); /* the exit code */

#endif
