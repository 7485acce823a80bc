/* The events that cpu_counters and job_counters count, by the names of linux/perf_event.h and of the kernel's unit "cpu".
 * Those that the hardware has counters of their own for come first; the kernel lets the others take turns if it must. */
#ifndef SYNOP_AGENT_COUNTER_EVENTS_H
#define SYNOP_AGENT_COUNTER_EVENTS_H

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
  COUNTER_TASK_TIME, /* job_counters alone */
  COUNTER_COLUMNS
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
#define COUNTER_RUNNING_METRIC                                                                                         \
  {                                                                                                                    \
    "running", GAUGE, UNIT_RATIO, FOLD_MIN,                                                                            \
        .help = "Share of the time that the events counted; below 1 others took turns with them, and the counts are "  \
                "scaled. Those that ran for less than 0.05 of it are missing."                                         \
  }

/* What the machine's CPUs can count, `node`: everything; else what jobs are counted by. */
void counter_events_plan (struct counter_plan *plan, const char *root, bool node);

#endif
