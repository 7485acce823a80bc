/* The events that cpu_counters and job_counters count, by the names of linux/perf_event.h and of the kernel's units of cores.
 * Those that the hardware has counters of their own for come first; the kernel lets the others take turns if it must. */
#ifndef SYNOP_AGENT_COUNTER_EVENTS_H
#define SYNOP_AGENT_COUNTER_EVENTS_H

#include "agent/counters/core_events.h"
#include "agent/counters/counter_node.h"
#include "agent/sampling/bounds.h"

enum counter_column {
  COUNTER_CYCLES,
  COUNTER_REFERENCE_CYCLES,
  COUNTER_INSTRUCTIONS,
  COUNTER_BRANCHES,
  COUNTER_BRANCH_MISSES,
  COUNTER_CACHE_REFERENCES,
  COUNTER_CACHE_MISSES,
  COUNTER_FRONTEND_STALLS,
  COUNTER_BACKEND_STALLS,
  COUNTER_DTLB_MISSES,
  COUNTER_ITLB_MISSES,
  COUNTER_SLOTS,
  COUNTER_SLOTS_RETIRING,
  COUNTER_SLOTS_BAD_SPECULATION,
  COUNTER_SLOTS_FRONTEND_BOUND,
  COUNTER_SLOTS_BACKEND_BOUND,
  COUNTER_CONTEXT_SWITCHES,
  COUNTER_MIGRATIONS,
  COUNTER_PAGE_FAULTS,
  COUNTER_NODE_COLUMNS,
  COUNTER_TASK_TIME = COUNTER_NODE_COLUMNS, /* this and the others are of job_counters alone */
  COUNTER_FLOP,
  COUNTER_TRAFFIC = COUNTER_FLOP + FLOP_COLUMNS,
  COUNTER_COLUMNS = COUNTER_TRAFFIC + TRAFFIC_COLUMNS
};

#define COUNTER_METRIC(NAME, HELP)                                                                                     \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .bound = { BOUND_LATE }, .help = HELP                                         \
  }
#define COUNTER_METRICS                                                                                                \
  [COUNTER_CYCLES] = COUNTER_METRIC ("cycles", "Cycles in which a CPU was not halted."),                               \
  [COUNTER_REFERENCE_CYCLES] =                                                                                         \
      COUNTER_METRIC ("reference_cycles", "The same time in cycles of the clock whose frequency never changes."),      \
  [COUNTER_INSTRUCTIONS] = COUNTER_METRIC ("instructions", "Instructions retired."),                                   \
  [COUNTER_BRANCHES] = COUNTER_METRIC ("branches", "Branches retired."),                                               \
  [COUNTER_BRANCH_MISSES] = COUNTER_METRIC ("branch_misses", "Those that were predicted wrongly."),                    \
  [COUNTER_CACHE_REFERENCES] =                                                                                         \
      COUNTER_METRIC ("cache_references", "Accesses to the last level cache (AMD: to the L2 cache)."),                 \
  [COUNTER_CACHE_MISSES] = COUNTER_METRIC ("cache_misses", "Those that were not found there."),                        \
  [COUNTER_FRONTEND_STALLS] =                                                                                          \
      COUNTER_METRIC ("frontend_stalls", "Cycles in which no instruction came from the decoder."),                     \
  [COUNTER_BACKEND_STALLS] =                                                                                           \
      COUNTER_METRIC ("backend_stalls", "Cycles in which instructions waited for operands or units."),                 \
  [COUNTER_DTLB_MISSES] = COUNTER_METRIC ("dtlb_misses", "Loads whose page was not in the TLB of data."),              \
  [COUNTER_ITLB_MISSES] = COUNTER_METRIC ("itlb_misses", "Fetches whose page was not in the TLB of instructions."),    \
  [COUNTER_SLOTS] = COUNTER_METRIC ("slots", "Slots for micro-operations (top-down analysis, Intel)."),                \
  [COUNTER_SLOTS_RETIRING] = COUNTER_METRIC ("slots_retiring", "Slots that did useful work."),                         \
  [COUNTER_SLOTS_BAD_SPECULATION] = COUNTER_METRIC ("slots_bad_speculation", "Slots lost to wrong predictions."),      \
  [COUNTER_SLOTS_FRONTEND_BOUND] = COUNTER_METRIC ("slots_frontend_bound", "Slots that waited for instructions."),     \
  [COUNTER_SLOTS_BACKEND_BOUND] = COUNTER_METRIC ("slots_backend_bound", "Slots that waited for data or units."),      \
  [COUNTER_CONTEXT_SWITCHES] = COUNTER_METRIC ("context_switches", "Context switches."),                               \
  [COUNTER_MIGRATIONS] = COUNTER_METRIC ("migrations", "Times that a task moved to another CPU."),                     \
  [COUNTER_PAGE_FAULTS] = COUNTER_METRIC ("page_faults", "Page faults.")

/* What the CPUs of this machine can count. */
void counter_events_plan_node (struct counter_plan *plan, const char *root);
/* What jobs are counted by: without stalls, TLBs and slots, and with floating-point operations and the traffic of memory as
 * cores see it. Loads a library. */
void counter_events_plan_jobs (struct counter_plan *plan, const char *root);

#endif
