/* The events of cpu_counters and job_counters; see counter_events.h. */
#include "agent/counters/counter_events.h"

#include "agent/counters/counter_names.h"

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

static const struct plain_batch plain[] = {
  { .events = { { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, COUNTER_CONTEXT_SWITCHES },
                { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, COUNTER_MIGRATIONS },
                { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, COUNTER_PAGE_FAULTS } },
    .count = 3 },
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

static struct counter_batch *
batch_add (struct counter_plan *plan)
{
  struct counter_batch *batch = array_add (plan->batches, plan->count, plan->room);

  *batch = (struct counter_batch){ 0 };
  return batch;
}

static void
plan_topdown (struct counter_plan *plan, const char *root)
{
  struct counter_batch *batch = NULL;
  struct perf_event_attr attr;
  uint32_t weight;
  char cpus[64];

  for (size_t i = 0; i < sizeof topdown / sizeof topdown[0]; i++) {
    if (counter_name_kernel (&attr, &weight, cpus, sizeof cpus, root, "cpu", topdown[i].event, NULL) < 0)
      return;
    batch = batch ? batch : batch_add (plan);
    event_add (batch, topdown[i].column)->attr = attr;
  }
}

void
counter_events_plan (struct counter_plan *plan, const char *root, bool node)
{
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    struct counter_batch *batch;

    if (plain[i].node && !node)
      continue;
    batch = batch_add (plan);
    for (size_t k = 0; k < plain[i].count; k++) {
      const struct plain_event *from = &plain[i].events[k];
      struct counter_event *event = event_add (batch, from->column);

      event->attr.type = from->type;
      event->attr.config = from->config;
    }
  }
  if (node)
    plan_topdown (plan, root);
  else
    event_add (&plan->batches[0], COUNTER_TASK_TIME)->attr =
        (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK };
}
