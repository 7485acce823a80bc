/* The aggregator at work: sockets, clocks and signals around the cluster's core. */
#ifndef SYNOP_AGGREGATOR_SERVER_H
#define SYNOP_AGGREGATOR_SERVER_H

#include "aggregator/config/options.h"

int server_run (const struct options *options); /* until a signal; the exit code */

#endif
