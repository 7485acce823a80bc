/* The traces of all ranks of a job, made one trace on cluster time.
 *
 * Files are read twice, and never kept: memory does not grow with them. Those that are damaged, or of which nobody knows how
 * their node's clock was, are left out, with a warning. */
#ifndef SYNOP_AGGREGATOR_TRACE_MERGE_H
#define SYNOP_AGGREGATOR_TRACE_MERGE_H

#include <stddef.h>

#include "aggregator/history/history_file.h"
#include "synop/buffer.h"
#include "synop/error.h"

struct trace_merge {
  const char *folder, *output;
  const char *form;          /* trace_form_check */
  const char *offsets;       /* a file; "": the history has them */
  const char *metrics;       /* trace_counters.h; NULL: none */
  struct history_file *file; /* NULL: none */
};

/* How many files were left out; -1 and error: there is no merged trace. `table` gets a line for each rank, for people. */
int trace_merge_run (const struct trace_merge *merge, struct buffer *table, struct error *error);

#endif
