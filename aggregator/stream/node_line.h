/* The line of one node's frame: {"type":"node","time":...,"node":"n1",...,"report":{...}}. */
#ifndef SYNOP_AGGREGATOR_NODE_LINE_H
#define SYNOP_AGGREGATOR_NODE_LINE_H

#include "aggregator/core/cluster.h"
#include "aggregator/stream/stream.h"

/* For the stream; valid as long as `frame`. */
struct stream_line node_line (const struct cluster_frame *frame);

#endif
