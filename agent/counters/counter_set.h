/* Open events, and the sums of what they count.
 *
 * Events of a batch are counted together and read in one read. A batch is opened for a target: a CPU, a cgroup on a
 * CPU, or a process with all that it starts from then on. What it counts goes into a row of sums, which outlast it. A
 * batch that shared the hardware with others is scaled to the whole time; one that ran for less than COUNTER_LEAST of
 * it has no value until it has run longer. */
#ifndef SYNOP_AGENT_COUNTER_SET_H
#define SYNOP_AGENT_COUNTER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/counters/counter_kernel.h"

#define COUNTER_LEAST 0.05
#define COUNTER_BATCH_MAX 8
#define COUNTER_COLUMNS_MAX 32
#define COUNTER_CPUS_SIZE 128

struct counter_event {
  struct perf_event_attr attr; /* type and config alone */
  uint32_t columns;            /* a bit for each that it is added to */
  uint32_t weight;             /* by which it is multiplied */
};

struct counter_batch {
  struct counter_event events[COUNTER_BATCH_MAX];
  size_t count;
  char cpus[COUNTER_CPUS_SIZE]; /* a list, "0,32": only on these; "": on all */
};

struct counter_plan { /* `{0}` is empty */
  struct counter_batch *batches;
  size_t count, room;
};
struct counter_batch *counter_plan_batch (struct counter_plan *plan); /* adds an empty one */

struct counter_target {
  pid_t pid; /* -1: a CPU; with PERF_FLAG_PID_CGROUP the descriptor of its folder */
  int cpu;   /* -1: wherever the process runs */
  unsigned long flags;
  bool inherit; /* what the process starts is counted too */
};

/* Descriptors that counters may have open, shared by several sets, of several threads. */
struct counter_budget {
  size_t most;
  _Atomic size_t used;
};

struct counter_row {
  uint64_t sums[COUNTER_COLUMNS_MAX];
  uint32_t open;    /* columns that an open event feeds */
  uint32_t broken;  /* those of them that an event is missing of: a CPU has it, another one not */
  uint32_t missing; /* those that ran for too short a time when they were last read */
  double running; /* the least share of the time that a batch ran, in the time between the last two reads; NAN: none */
};

struct counter_set;
struct counter_set *counter_set_create (const struct counter_kernel *kernel, struct counter_budget *budget,
                                        size_t rows);
void counter_set_destroy (struct counter_set *set);

/* `batch` must outlive the set's readers. What this machine does not have is left out, and on a CPU that the batch is not
 * for, all of it. Returns 0, or -errno of the first event that failed otherwise; the others are open then.
 *
 * A process goes from one kind of CPU to another, and events of one kind do not run meanwhile: theirs are not scaled. */
int counter_set_open (struct counter_set *set, size_t row, const struct counter_batch *batch,
                      const struct counter_target *target);
/* Takes over the open events of the other one, of as many rows and not read yet, and frees it. */
void counter_set_join (struct counter_set *set, struct counter_set *other);
/* Closes all events; the sums stay. */
void counter_set_close (struct counter_set *set);
/* 0, or -errno of the first read that failed. */
int counter_set_read (struct counter_set *set);

size_t counter_set_events (const struct counter_set *set); /* open ones */
struct counter_row *counter_set_row (const struct counter_set *set, size_t row);
/* False: the column has no value now. */
bool counter_row_value (const struct counter_row *row, size_t column, uint64_t *value);

#endif
