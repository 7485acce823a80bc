/* Events of the CPUs that differ from generation to generation: which they are is data (flop_events.c, traffic_events.c),
 * named as libpfm4 names them. */
#ifndef SYNOP_AGENT_CORE_EVENTS_H
#define SYNOP_AGENT_CORE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/counters/counter_set.h"
#include "agent/sampling/sampler.h"
#include "synop/error.h"

struct core_event {
  const char *name; /* of libpfm4, behind the unit's */
  uint32_t weight;  /* what a count stands for */
  uint32_t columns; /* a bit for each to which it is added */
};

struct core_generation {
  const char *units[5]; /* of libpfm4; NULL-terminated */
  const char *source;   /* where it stands what the events count */
  const struct core_event *events;
  size_t count;
};

struct core_table {
  const char *what; /* they count */
  const struct core_generation *generations;
  size_t count;
};

/* Floating-point operations. */
enum flop_column { FLOP_ALL, FLOP_DOUBLE, FLOP_SINGLE, FLOP_SCALAR, FLOP_128, FLOP_256, FLOP_512, FLOP_COLUMNS };
extern const struct core_table flop_events;

#define FLOP_METRIC(NAME, HELP)                                                                                        \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .bound = { .most = 1e18 }, .help = HELP                                       \
  }
#define FLOP_METRICS(FIRST)                                                                                            \
  [(FIRST) + FLOP_ALL] = FLOP_METRIC ("flop", "Floating-point operations, a multiply-add being two."),                 \
             [(FIRST) + FLOP_DOUBLE] = FLOP_METRIC ("flop_double", "Those in double precision (Intel, Zen 1)."),       \
             [(FIRST) + FLOP_SINGLE] = FLOP_METRIC ("flop_single", "Those in single precision (Intel, Zen 1)."),       \
             [(FIRST) + FLOP_SCALAR] =                                                                                 \
                 FLOP_METRIC ("flop_scalar", "Those of instructions that work on one number (Intel, as the next)."),   \
             [(FIRST) + FLOP_128] = FLOP_METRIC ("flop_128", "Those of vectors of 128 bits."),                         \
             [(FIRST) + FLOP_256] = FLOP_METRIC ("flop_256", "Those of vectors of 256 bits."),                         \
             [(FIRST) + FLOP_512] = FLOP_METRIC ("flop_512", "Those of vectors of 512 bits.")

/* What cores move from and to memory, as far as they see it: an estimate. */
enum traffic_column { TRAFFIC_READ, TRAFFIC_WRITTEN, TRAFFIC_COLUMNS };
extern const struct core_table traffic_events;

/* Adds what counts that on this machine: the events of the first generation in the table of which libpfm4 finds the unit
 * here. Their columns begin at `first`. `error`: why there is nothing. */
void core_events_plan (struct counter_plan *plan, const struct core_table *table, unsigned first, struct error *error);

#endif
