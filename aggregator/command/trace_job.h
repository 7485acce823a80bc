/* "trace JOB" and "trace --list": asks the aggregator, shows what comes of it. The exit code. */
#ifndef SYNOP_AGGREGATOR_TRACE_JOB_H
#define SYNOP_AGGREGATOR_TRACE_JOB_H

#include "aggregator/config/options.h"

int trace_job_run (const struct options *options);

#endif
