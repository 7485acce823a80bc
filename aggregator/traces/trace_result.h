/* What the aggregator answers to "trace": lines of JSON, of which a table is made of the last line of each process. */
#ifndef SYNOP_AGGREGATOR_TRACE_RESULT_H
#define SYNOP_AGGREGATOR_TRACE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

struct trace_line {
  enum { TRACE_LINE_OTHER, TRACE_LINE_ORDER, TRACE_LINE_LISTED, TRACE_LINE_END } kind;
  long long nodes; /* of an order */
  char start[40];
  long long processes, ended, failed, unregistered; /* of the last two; failed: nodes too */
};

struct trace_result;

struct trace_result *trace_result_create (bool list);
void trace_result_destroy (struct trace_result *result);
void trace_result_take (struct trace_result *result, const char *text, size_t length, struct trace_line *taken);
void trace_result_progress (const struct trace_result *result, struct buffer *out); /* a line, without its newline */
/* For a terminal that is so wide; 0: for none. */
void trace_result_table (const struct trace_result *result, size_t width, struct buffer *out);
bool trace_result_has_rank (const struct trace_result *result, uint32_t rank);

#endif
