/* See made_cluster.h. */
#include "tests/bench/made_cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/groups.h"
#include "agent/sampling/sampler.h"

#define RACK 40
#define TOTAL (256.0 * 1024 * 1024 * 1024)

const struct made_metric made_metrics[MADE_METRICS] = {
  { "cpu_usage", "user", "", 2, 2, 93, 0 },
  { "cpu_usage", "system", "", 2, 1, 7, 0 },
  { "cpu_usage", "busy", "", 2, 3, 100, 0 },
  { "cpu_usage", "idle", "", 2, 97, 0, 0 },
  { "memory_info", "total", NULL, 0, TOTAL, TOTAL, 1 },
  { "memory_info", "available", NULL, 0, 0.95 * TOTAL, 0.02 * TOTAL, 1 },
  { "memory_info", "used", NULL, 0, 0.05 * TOTAL, 0.98 * TOTAL, 1 },
  { "load", "load_1", NULL, 0, 0, 64, 0 },
  { "load", "tasks", NULL, 0, 300, 1500, 0 },
  { "load", "uptime", NULL, 0, 1e6, 1e6, 1 },
  { "network", "rx_bytes", "eth", 1, 1e4, 3e9, 2 },
  { "network", "tx_bytes", "eth", 1, 1e4, 2e9, 2 },
};

void
made_name (char *name, size_t size, unsigned index)
{
  snprintf (name, size, "r%03un%02u", 1 + index / RACK, 1 + index % RACK);
}

unsigned
made_index (const char *name)
{
  unsigned rack = 1, node = 1;

  sscanf (name, "r%un%u", &rack, &node);
  return (rack - 1) * RACK + node - 1;
}

/* From 0 to 1, and always the same. */
static double
noise (unsigned index, unsigned pace, int64_t moment)
{
  uint64_t bits = (index * UINT64_C (7919) + pace * UINT64_C (104729) + (uint64_t) moment * UINT64_C (1299709) + 1) *
                  UINT64_C (0x9e3779b97f4a7c15);

  bits ^= bits >> 29;
  bits *= UINT64_C (0xbf58476d1ce4e5b9);
  return (double) (bits >> 40) / (double) (1 << 24);
}

/* Jobs of a few racks that come and go, nodes that differ a little, some idle, some full. */
static double
level (unsigned index, unsigned pace, double seconds)
{
  unsigned jobs = index / (RACK * 4);
  double length = 300 + 900 * noise (jobs, 7 + pace, 0), phase = seconds / length + noise (jobs, 9 + pace, 1);
  double of_job = 0.15 + 0.7 * noise (jobs, 11 + pace, (int64_t) floor (phase));

  if (index % 97 == 5)
    return 0.01;
  if (index % 211 == 8)
    return 0.99;
  return fmin (1, fmax (0, of_job + 0.12 * (noise (index, pace, (int64_t) (seconds / 5)) - 0.5) +
                               0.1 * sin (seconds / 40 + index)));
}

double
made_value (unsigned index, size_t metric, unsigned row, double seconds)
{
  const struct made_metric *made = &made_metrics[metric];

  return made->low + (made->high - made->low) * level (index, made->pace + 3 * row, seconds);
}

bool
made_is_away (unsigned index, double seconds)
{
  return index % 1009 == 7 || (index % 499 == 13 && (int64_t) (seconds / 60 + index) % 3 == 0);
}

size_t
made_column (const struct group *group, const char *name)
{
  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, name) == 0)
      return i;
  fprintf (stderr, "made: %s has no %s\n", group->name, name);
  exit (1);
}

struct schema *
made_schema (void)
{
  static const struct group *groups[MADE_METRICS];
  size_t count = 0;

  for (size_t i = 0; i < MADE_METRICS; i++) {
    if (i > 0 && strcmp (made_metrics[i].group, made_metrics[i - 1].group) == 0)
      continue;
    for (size_t at = 0; at < sampler_count; at++)
      if (strcmp (samplers[at]->group->name, made_metrics[i].group) == 0)
        groups[count++] = samplers[at]->group;
  }
  return schema_create (groups, count);
}
