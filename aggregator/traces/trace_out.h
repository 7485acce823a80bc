/* A merged trace on its way into a file: "traceEvents" as they come, by gzip where its name ends in .gz. It gets its name when
 * it is whole. */
#ifndef SYNOP_AGGREGATOR_TRACE_OUT_H
#define SYNOP_AGGREGATOR_TRACE_OUT_H

#include <stddef.h>

#include "synop/error.h"

struct trace_out;

/* NULL and error: it exists already, or cannot be made. */
struct trace_out *trace_out_open (const char *path, struct error *error);
/* `text`: members of the root that come before the events, with commas between and behind them. -1: it cannot be written. */
int trace_out_begin (struct trace_out *out, const char *text, size_t length);
int trace_out_event (struct trace_out *out, const char *text, size_t length);
int trace_out_error (struct trace_out *out, struct error *error); /* why; -1 */
/* Gives it its name. -1 and error. */
int trace_out_end (struct trace_out *out, struct error *error);
void trace_out_close (struct trace_out *out); /* without trace_out_end nothing is left of it; NULL is fine */

#endif
