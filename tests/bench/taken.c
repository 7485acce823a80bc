/* See taken.h. */
#include "tests/bench/taken.h"

#include <stdlib.h>

#include "agent/groups.h"
#include "agent/sampling/sampling.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/lib/options_for.h"

void
takings_make (struct takings *takings, const char *root, size_t count, int64_t pause_ns)
{
  int64_t due = clock_monotonic ();
  const struct group *const *groups;
  size_t groups_count;

  takings->options = options_for (root, "%s", "");
  takings->sampling =
      sampling_create (samplers, takings->options->periods_ns, sampler_count, &takings->options->context);
  groups = sampling_groups (takings->sampling, &groups_count);
  takings->schema = schema_create (groups, groups_count);
  takings->samples = memory_new (count, sizeof takings->samples[0]);
  takings->count = count;
  sampling_start (takings->sampling, due);
  for (size_t i = 0; i < count; i++) {
    struct taken *taken = &takings->samples[i];
    struct timespec until = { due / NS_PER_S, due % NS_PER_S };
    struct sample sample;
    clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    if (pause_ns >= 0)
      sampling_start (takings->sampling, due);
    sampling_run (takings->sampling, pause_ns >= 0 ? due : clock_monotonic (), &sample);
    due = pause_ns >= 0 ? due + pause_ns : sampling_next_due (takings->sampling);
    taken->tables = memory_new (groups_count, sizeof taken->tables[0]);
    taken->monotonic_ns = sample.monotonic_ns;
    taken->wall_ns = sample.wall_ns;
    for (size_t k = 0; k < sample.count; k++)
      for (size_t g = 0; g < groups_count; g++)
        if (sample.tables[k]->group == groups[g]) {
          table_init (&taken->tables[g], groups[g]);
          table_copy (&taken->tables[g], sample.tables[k]);
        }
  }
}

void
taken_free_tables (struct table *tables, size_t count)
{
  for (size_t g = 0; g < count; g++)
    if (tables[g].group)
      table_free (&tables[g]);
  free (tables);
}

void
takings_free (struct takings *takings)
{
  for (size_t i = 0; i < takings->count; i++)
    taken_free_tables (takings->samples[i].tables, takings->schema->group_count);
  free (takings->samples);
  schema_destroy (takings->schema);
  sampling_destroy (takings->sampling);
  agent_options_destroy (takings->options);
}

const struct value *
taken_value_in (const struct table *other, const struct table *table, size_t row, size_t column)
{
  size_t length, there = TABLE_NODE;
  const char *label;

  if (row != TABLE_NODE) {
    label = table_label (table, row, &length);
    there = table_find_row (other, label, length, row);
  }
  return row != TABLE_NODE && there == SIZE_MAX ? NULL : table_get (other, there, column);
}

uint64_t
taken_mix (uint64_t group, uint64_t row, uint64_t column, uint64_t sample)
{
  uint64_t bits = (group << 48 ^ row << 24 ^ column << 12 ^ sample) + 1;

  for (int i = 0; i < 3; i++)
    bits = (bits ^ bits >> 31) * UINT64_C (0x9e3779b97f4a7c15);
  return bits >> 16;
}
