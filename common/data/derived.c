/* Values that lines show beside a group's metrics; see derived.h. */
#include "synop/derived.h"

#include <stdint.h>
#include <string.h>

#define GFLOPS "Floating-point operations a second, in thousands of millions."

static const struct derived of_counters[] = {
  { "ipc", "instructions", "cycles", 1, "-", "Instructions a cycle." },
  { "ghz", "cycles", "task_time", 1e-9, "GHz", "Frequency of the CPUs while they ran the job." },
  { "ghz", "cycles", "unhalted_time", 1e-9, "GHz", "Frequency of the CPUs while they were not halted." },
  { "mips", "instructions", NULL, 1e-6, "million/s", "Millions of instructions a second." },
  { "mega_cycles_per_second", "cycles", NULL, 1e-6, "million/s", "Millions of cycles a second." },
  { "cache_mpki", "cache_misses", "instructions", 1000, "-", "Cache misses in 1000 instructions." },
  { "branch_mpki", "branch_misses", "instructions", 1000, "-", "Wrongly predicted branches in 1000 instructions." },
  { "dtlb_mpki", "dtlb_misses", "instructions", 1000, "-", "Misses of the TLB of data in 1000 instructions." },
  { "gflops", "flop", NULL, 1e-9, "GFLOP/s", GFLOPS },
  { "read_estimate_rate", "read_estimate", NULL, 1, "bytes/s", "Bytes read a second, estimated." },
  { "written_estimate_rate", "written_estimate", NULL, 1, "bytes/s", "Bytes written a second, estimated." },
  { 0 },
};

static const struct derived of_flops[] = {
  { "gflops", "flop", NULL, 1e-9, "GFLOP/s", GFLOPS },
  { 0 },
};

static const struct derived of_memory[] = {
  { "read_rate", "read_bytes", NULL, 1, "bytes/s", "Bytes read a second." },
  { "write_rate", "written_bytes", NULL, 1, "bytes/s", "Bytes written a second." },
  { "bandwidth", "bytes", NULL, 1, "bytes/s", "Bytes moved a second." },
  { 0 },
};

static const struct {
  const char *group;
  const struct derived *list; /* ends with zeros */
} groups[] = { { "cpu_counters", of_counters },
               { "job_counters", of_counters },
               { "cpu_flops", of_flops },
               { "memory_bandwidth", of_memory } };

static size_t
counter_find (const struct group *group, const char *name)
{
  for (size_t i = 0; i < group->metric_count; i++)
    if (group->metrics[i].kind == COUNTER && !(group->metrics[i].flags & METRIC_OF_NODE) &&
        strcmp (group->metrics[i].name, name) == 0)
      return i;
  return SIZE_MAX;
}

const struct derived *
derived_next (const char *group, size_t *at)
{
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
    if (strcmp (groups[i].group, group) == 0 && groups[i].list[*at].name)
      return &groups[i].list[(*at)++];
  return NULL;
}

void
derived_find (struct derived_list *list, const struct group *group)
{
  const struct derived *derived;

  list->count = 0;
  for (size_t at = 0; list->count < DERIVED_MAX && (derived = derived_next (group->name, &at));) {
    size_t of = counter_find (group, derived->of),
           over = derived->over ? counter_find (group, derived->over) : SIZE_MAX;

    if (of == SIZE_MAX || (derived->over && over == SIZE_MAX))
      continue;
    list->items[list->count].derived = derived;
    list->items[list->count].of = of;
    list->items[list->count++].over = over;
  }
}
