/* Samples of a machine that a bench takes with the agent's own samplers, and what it makes of them. */
#ifndef SYNOP_BENCH_TAKEN_H
#define SYNOP_BENCH_TAKEN_H

#include <time.h>

#include "synop/schema.h"
#include "synop/table.h"

struct taken {
  struct table *tables; /* one for each group; .group NULL: not in it */
  int64_t monotonic_ns, wall_ns;
};

struct takings {
  struct agent_options *options;
  struct sampling *sampling; /* the schema's groups are its own */
  struct schema *schema;
  struct taken *samples;
  size_t count;
};

/* Takes `count` samples of all groups, a pause apart; with one below 0 each group as often as an agent does. `root` "": of the live
 * machine. */
void takings_make (struct takings *takings, const char *root, size_t count, int64_t pause_ns);
void takings_free (struct takings *takings);
void taken_free_tables (struct table *tables, size_t count);

/* The value of that row's like in another table; NULL: it has none. */
const struct value *taken_value_in (const struct table *other, const struct table *table, size_t row, size_t column);

/* A well mixed number of these. */
uint64_t taken_mix (uint64_t group, uint64_t row, uint64_t column, uint64_t sample);

static inline int64_t
taken_cpu (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return now.tv_sec * INT64_C (1000000000) + now.tv_nsec;
}

#endif
