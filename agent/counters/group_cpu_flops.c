/* cpu_flops: floating-point operations of the CPUs of each socket. Which events count them is in flop_events.c. */
#include "agent/counters/core_events.h"
#include "agent/counters/counter_node.h"

enum { RUNNING = FLOP_COLUMNS };

static const struct metric metrics[] = { FLOP_METRICS (0), [RUNNING] = COUNTER_RUNNING_METRIC };

static const struct group group = {
  .name = "cpu_flops",
  .section = "system_data",
  .row = "socket",
  .rows_name = "sockets",
  .fold_name = "total",
  .help = "Floating-point operations of the CPUs of each socket, as the hardware counts them: retired ones (Arm: "
          "speculative ones too), without those of x87 and of matrix units. With `[counters] enabled` and libpfm4.",
  GROUP_METRICS (metrics),
};

static void
cpu_flops_plan (struct counter_plan *plan, const char *root, struct error *error)
{
  (void) root;
  core_events_plan (plan, &flop_events, 0, error);
}

static const struct counter_node_type type = { &group, RUNNING, FLOP_ALL, cpu_flops_plan, NULL };

static void *
cpu_flops_open (const struct sampler_context *context)
{
  return counter_node_create (context, &type);
}

static void
cpu_flops_absent (const struct sampler_context *context, char *text, size_t size)
{
  counter_node_absent (context, &type, text, size);
}

const struct sampler sampler_cpu_flops = {
  &group,           counter_node_may_block,     cpu_flops_open, counter_node_sample, counter_node_destroy,
  .optional = true, .absent = cpu_flops_absent,
};
