/* The line of one tick, the combined report: {"type":"cluster","time":...,"nodes":{...},"spread":...,"report":{...}}. */
#ifndef SYNOP_AGGREGATOR_TICK_LINE_H
#define SYNOP_AGGREGATOR_TICK_LINE_H

#include "aggregator/core/cluster.h"
#include "aggregator/stream/stream.h"

/* For the stream; valid as long as `line`. */
struct stream_line tick_line (const struct cluster_tick_line *line);

#endif
