/* What nodes measured while they were traced, as counters of the merged trace: each node a process, each metric a curve. */
#ifndef SYNOP_AGGREGATOR_TRACE_COUNTERS_H
#define SYNOP_AGGREGATOR_TRACE_COUNTERS_H

#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "aggregator/traces/trace_out.h"
#include "synop/error.h"

struct trace_counters {
  const char *nodes;      /* with commas between them */
  const char *metrics;    /* the same; "": the usual ones, as far as the cluster has them */
  int64_t from_ns, to_ns; /* cluster time; the trace's times count from the first */
  size_t process;         /* the number of the first node's; the others' follow */
};

/* -1 and error: a metric does not exist, the history cannot be read, or the trace not be written. */
int trace_counters_put (const struct trace_counters *counters, struct history_file *file, struct trace_out *out,
                        struct error *error);

#endif
