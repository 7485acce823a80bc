/* `aggregator job start ID` and `aggregator job end ID`: what prologs and epilogs tell a running aggregator. */
#ifndef SYNOP_AGGREGATOR_JOB_COMMAND_H
#define SYNOP_AGGREGATOR_JOB_COMMAND_H

#include "aggregator/config/options.h"

int job_run (const struct options *options); /* the exit code */

#endif
