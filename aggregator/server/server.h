/* The running aggregator: sockets, clocks and signals around the core. */
#ifndef SYNOP_AGGREGATOR_SERVER_H
#define SYNOP_AGGREGATOR_SERVER_H

#include "aggregator/config/options.h"

int server_run (const struct options *options); /* runs until a signal; returns the exit code */

#endif
