/* One rank's trace, a file: whose it is and when it was, from its name and from a first reading; then its events, moved. */
#ifndef SYNOP_AGGREGATOR_TRACE_RANK_H
#define SYNOP_AGGREGATOR_TRACE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/traces/trace_event.h"
#include "aggregator/traces/trace_out.h"
#include "synop/error.h"
#include "synop/frame.h"

struct trace_process { /* one that events name by its pid: a process, a GPU, or a word of the profiler's */
  char *pid;           /* JSON */
  char made[24];       /* JSON: its number in the merged trace */
  bool named;          /* it has a name there */
};

struct trace_rank {
  char *path;
  char node[FRAME_NODE_MAX + 1];
  int64_t rank;     /* -1: not known */
  size_t order;     /* among all that are merged */
  int64_t base_ns;  /* what its times count from, by its node's wall clock */
  int64_t first_ns; /* its first event, by that clock; valid with `timed` */
  int64_t last_ns;
  bool merged; /* it is no rank's, but one that was made here; nothing else is known of it */
  uint64_t events, timed;
  int64_t offset_ns, bound_ns; /* the node's wall clock is ahead of cluster time by the first, to within the second */
  struct trace_process *processes;
  size_t process_count, process_room;
};

/* The form of names of files without ".json" or ".json.gz", such as "{node}-{rank}": {node}, {rank}, {pid}, {job}. What is
 * behind it in a name, from a "_" or a ".", is left out. -1 and error. */
int trace_form_check (const char *form, struct error *error);

/* Reads it once. -1 and error: it is damaged, or nobody knows whose it is. */
int trace_rank_open (struct trace_rank *rank, const char *path, const char *form, struct error *error);
void trace_rank_close (struct trace_rank *rank);

/* Its events, at cluster time since `origin_ns`. -1 and error. */
int trace_rank_put (struct trace_rank *rank, int64_t origin_ns, struct trace_out *out, struct error *error);

#endif
