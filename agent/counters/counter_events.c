/* The events of cpu_counters and job_counters; see counter_events.h. */
#include "agent/counters/counter_events.h"

#include <stdio.h>
#include <string.h>

#include "agent/counters/counter_names.h"

#ifndef PERF_PMU_TYPE_SHIFT /* Linux 5.13 */
#define PERF_PMU_TYPE_SHIFT 32
#endif

#define CACHE(LEVEL, ACCESS, RESULT)                                                                                   \
  (PERF_COUNT_HW_CACHE_##LEVEL | PERF_COUNT_HW_CACHE_OP_##ACCESS << 8 | PERF_COUNT_HW_CACHE_RESULT_##RESULT << 16)

struct plain_event {
  uint32_t type;
  uint64_t config;
  enum counter_column column;
};

struct plain_batch {
  bool node; /* not of jobs */
  struct plain_event events[5];
  size_t count;
};

static const struct plain_batch software = {
  .events = { { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, COUNTER_CONTEXT_SWITCHES },
              { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, COUNTER_MIGRATIONS },
              { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, COUNTER_PAGE_FAULTS } },
  .count = 3,
};

static const struct plain_batch hardware[] = {
  { .events = { { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, COUNTER_CYCLES },
                { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, COUNTER_INSTRUCTIONS },
                { PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, COUNTER_REFERENCE_CYCLES } },
    .count = 3 },
  { .events = { { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, COUNTER_BRANCHES },
                { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, COUNTER_BRANCH_MISSES },
                { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, COUNTER_CACHE_REFERENCES },
                { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, COUNTER_CACHE_MISSES } },
    .count = 4 },
  { .node = true,
    .events = { { PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, COUNTER_FRONTEND_STALLS },
                { PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, COUNTER_BACKEND_STALLS },
                { PERF_TYPE_HW_CACHE, CACHE (DTLB, READ, MISS), COUNTER_DTLB_MISSES },
                { PERF_TYPE_HW_CACHE, CACHE (ITLB, READ, MISS), COUNTER_ITLB_MISSES } },
    .count = 4 },
};

static const struct {
  const char *event;
  enum counter_column column;
} topdown[] = {
  { "slots", COUNTER_SLOTS }, /* the others count only with it, as the first */
  { "topdown-retiring", COUNTER_SLOTS_RETIRING },
  { "topdown-bad-spec", COUNTER_SLOTS_BAD_SPECULATION },
  { "topdown-fe-bound", COUNTER_SLOTS_FRONTEND_BOUND },
  { "topdown-be-bound", COUNTER_SLOTS_BACKEND_BOUND },
};

static struct counter_event *
event_add (struct counter_batch *batch, uint32_t column)
{
  struct counter_event *event = &batch->events[batch->count++];

  *event = (struct counter_event){ .columns = 1u << column, .weight = 1 };
  return event;
}

static void
plan_topdown (struct counter_plan *plan, const char *root, const char *unit)
{
  struct counter_batch *batch = NULL;
  struct perf_event_attr attr;
  char cpus[COUNTER_CPUS_SIZE];
  uint32_t weight;

  for (size_t i = 0; i < sizeof topdown / sizeof topdown[0]; i++) {
    if (counter_name_kernel (&attr, &weight, cpus, sizeof cpus, root, unit, topdown[i].event, NULL) < 0)
      return;
    batch = batch ? batch : counter_plan_batch (plan);
    memcpy (batch->cpus, cpus, sizeof cpus);
    event_add (batch, topdown[i].column)->attr = attr;
  }
}

/* `type`: of the unit of one kind of cores, in which its hardware events are then meant; 0: all cores are alike. */
static void
plan_batch (struct counter_plan *plan, const struct plain_batch *from, uint64_t type, const char *cpus)
{
  struct counter_batch *batch = counter_plan_batch (plan);

  snprintf (batch->cpus, sizeof batch->cpus, "%s", cpus);
  for (size_t i = 0; i < from->count; i++) {
    struct perf_event_attr *attr = &event_add (batch, from->events[i].column)->attr;

    attr->type = from->events[i].type;
    attr->config = from->events[i].config | type << PERF_PMU_TYPE_SHIFT;
  }
}

static void
plan_cores (struct counter_plan *plan, const char *root, bool node, const char *unit, bool alike)
{
  char cpus[COUNTER_CPUS_SIZE] = "";
  uint64_t type = 0;

  if (!alike) {
    fact_uint (&type, root, "/sys/bus/event_source/devices/%s/type", unit);
    fact_text (cpus, sizeof cpus, root, "/sys/bus/event_source/devices/%s/cpus", unit);
  }
  for (size_t i = 0; i < sizeof hardware / sizeof hardware[0]; i++)
    if (node || !hardware[i].node)
      plan_batch (plan, &hardware[i], type, cpus);
  if (node)
    plan_topdown (plan, root, unit);
}

/* Where there are several kinds of cores, each has a unit of its own, which counts on its cores alone. */
static void
plan_hardware (struct counter_plan *plan, const char *root, bool node)
{
  struct names kinds = { 0 };

  counter_core_units (&kinds, root);
  for (size_t i = 0; i < kinds.count; i++)
    plan_cores (plan, root, node, kinds.list[i], false);
  if (kinds.count == 0)
    plan_cores (plan, root, node, "cpu", true);
  names_free (&kinds);
}

void
counter_events_plan_node (struct counter_plan *plan, const char *root)
{
  plan_batch (plan, &software, 0, "");
  plan_hardware (plan, root, true);
}

void
counter_events_plan_jobs (struct counter_plan *plan, const char *root)
{
  struct error lack;

  plan_batch (plan, &software, 0, "");
  event_add (&plan->batches[0], COUNTER_TASK_TIME)->attr =
      (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK };
  plan_hardware (plan, root, false);
  core_events_plan (plan, &flop_events, COUNTER_FLOP, &lack);
  core_events_plan (plan, &traffic_events, COUNTER_TRAFFIC, &lack);
}
