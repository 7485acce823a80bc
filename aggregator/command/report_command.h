/* `aggregator report JOBID`. */
#ifndef SYNOP_AGGREGATOR_REPORT_COMMAND_H
#define SYNOP_AGGREGATOR_REPORT_COMMAND_H

#include "aggregator/config/options.h"

int report_run (const struct options *options); /* the exit code */

#endif
