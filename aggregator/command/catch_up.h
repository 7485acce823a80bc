/* What a running aggregator still holds of the history in memory: replay, export, jobs and report have it written before
 * they read. */
#ifndef SYNOP_AGGREGATOR_CATCH_UP_H
#define SYNOP_AGGREGATOR_CATCH_UP_H

#include <stdint.h>

#include "aggregator/config/options.h"

/* Up to that cluster time. Where no aggregator runs, or one that writes another file, there is nothing to do; when it
 * cannot be asked, or cannot write, the log says so. */
void catch_up (const struct options *options, int64_t to_ns);

#endif
