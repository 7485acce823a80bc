/* Which events of a CPU count floating-point operations, a row for each generation: data alone. */
#ifndef SYNOP_AGENT_FLOP_EVENTS_H
#define SYNOP_AGENT_FLOP_EVENTS_H

#include <stddef.h>
#include <stdint.h>

enum flop_column { FLOP_ALL, FLOP_DOUBLE, FLOP_SINGLE, FLOP_SCALAR, FLOP_128, FLOP_256, FLOP_512, FLOP_COLUMNS };

struct flop_event {
  const char *name; /* of libpfm4, behind the unit's */
  uint32_t weight;  /* operations that a count stands for */
  uint32_t columns; /* a bit for each to which it is added */
};

struct flop_generation {
  const char *units[5]; /* of libpfm4; NULL-terminated */
  const char *source;   /* where it stands what the events count */
  const struct flop_event *events;
  size_t count;
};

extern const struct flop_generation flop_generations[];
extern const size_t flop_generation_count;

#endif
