/* cpu_counters: what the CPUs of each socket did, by the counters of the hardware and of the kernel. */
#include "agent/counters/counter_events.h"
#include "synop/clock.h"

enum { UNHALTED_TIME = COUNTER_NODE_COLUMNS, RUNNING };

static const struct metric metrics[] = {
  COUNTER_METRICS,
  [UNHALTED_TIME] = { "unhalted_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = NS_PER_S, .bound = { BOUND_LATE_TIME },
                      .help = "Time in which CPUs were not halted: reference cycles over the frequency of their clock, "
                              "which the agent measures in its first second (x86)." },
  [RUNNING] = COUNTER_RUNNING_METRIC,
};

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
  counter_events_plan_node (plan, root);
}

static void
cpu_counters_complete (struct counters *counters, const struct counter_row *sums, struct table *table, size_t row)
{
  uint64_t cycles, hz = counters_reference_hz (counters);

  if (hz != 0 && counter_row_value (sums, COUNTER_REFERENCE_CYCLES, &cycles))
    table_set_uint (table, row, UNHALTED_TIME, (uint64_t) ((unsigned __int128) cycles * NS_PER_S / hz));
}

static const struct counter_node_type type = { &group, RUNNING, COUNTER_CYCLES, cpu_counters_plan,
                                               cpu_counters_complete };

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
