/* One event of a trace, on its way into another trace: moved in time, and its ids kept apart from those of other ranks. */
#ifndef SYNOP_AGGREGATOR_TRACE_EVENT_H
#define SYNOP_AGGREGATOR_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

struct trace_part { /* of an event's text; NULL: it is not there */
  const char *text;
  size_t length;
};

struct trace_event {
  char phase;                                                    /* "ph"; '\0': none */
  struct trace_part time, process, id, bind_id, name, arguments; /* "ts", "pid", "id", "bind_id", "name", "args" */
};

/* What it is made of; the text is a valid JSON object. */
void trace_event_read (struct trace_event *event, const char *text, size_t length);
/* Its time in ns, of "ts" in us, which may have a fraction; what is below 1 ns is cut off. false: it has none. */
bool trace_event_time (const struct trace_event *event, int64_t *time_ns);

struct trace_move {
  int64_t shift_ns;    /* is added to its time; metadata have none */
  uint64_t rank;       /* ids become another rank's by it: rank * 2^40 + id */
  const char *process; /* in the place of its pid: JSON */
};

/* The event with these changes; everything else stays byte for byte. */
void trace_event_write (struct buffer *out, const struct trace_event *event, const char *text, size_t length,
                        const struct trace_move *move);

/* "12.345", of ns as us. */
void trace_time_put (struct buffer *out, int64_t time_ns);

#endif
