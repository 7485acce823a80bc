/* "synop-aggregator top": the cluster on a terminal. */
#ifndef SYNOP_AGGREGATOR_TOP_H
#define SYNOP_AGGREGATOR_TOP_H

#include "aggregator/config/options.h"

int top_run (const struct options *options); /* returns the exit code */

#endif
