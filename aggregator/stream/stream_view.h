/* The stream as a view: each report becomes a line for its readers. The state is a struct stream. */
#ifndef SYNOP_AGGREGATOR_STREAM_VIEW_H
#define SYNOP_AGGREGATOR_STREAM_VIEW_H

#include "aggregator/stream/stream.h"
#include "aggregator/views/view.h"

extern const struct view stream_view;

#endif
