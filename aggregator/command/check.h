/* `aggregator check`: is a history whole, and what is in it? */
#ifndef SYNOP_AGGREGATOR_CHECK_H
#define SYNOP_AGGREGATOR_CHECK_H

#include "aggregator/config/options.h"

int check_run (const struct options *options); /* the exit code */

#endif
