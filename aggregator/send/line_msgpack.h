/* A line of JSON as msgpack: the same maps, texts and numbers. Whole numbers over 2^63 - 1 are floating point ones. */
#ifndef SYNOP_AGGREGATOR_SEND_LINE_MSGPACK_H
#define SYNOP_AGGREGATOR_SEND_LINE_MSGPACK_H

#include <stddef.h>

#include "synop/buffer.h"

void line_msgpack_put (struct buffer *out, const char *line, size_t length);

#endif
