/* cpu_counters: what the CPUs of each socket did, by the counters of the hardware and of the kernel. */
#include "agent/counters/counter_events.h"

enum { RUNNING = COUNTER_TASK_TIME };

static const struct metric metrics[] = { COUNTER_METRICS, [RUNNING] = COUNTER_RUNNING_METRIC };

static const struct group group = {
  .name = "cpu_counters",
  .section = "system_data",
  .row = "socket",
  .rows_name = "sockets",
  .fold_name = "total",
  .help =
      "What the CPUs of each socket did, in user space and in the kernel, by perf events. With `[counters] enabled`.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline.",
};

static void
cpu_counters_plan (struct counter_plan *plan, const char *root, struct error *error)
{
  (void) error;
  counter_events_plan (plan, root, true);
}

static const struct counter_node_type type = { &group, RUNNING, cpu_counters_plan };

static void *
cpu_counters_open (const struct sampler_context *context)
{
  return counter_node_create (context, &type);
}

static void
cpu_counters_absent (const struct sampler_context *context, char *text, size_t size)
{
  counter_node_absent (context, &type, text, size);
}

const struct sampler sampler_cpu_counters = {
  &group,           counter_node_may_block,        cpu_counters_open, counter_node_sample, counter_node_destroy,
  .optional = true, .absent = cpu_counters_absent,
};
