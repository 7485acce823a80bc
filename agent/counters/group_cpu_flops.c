/* cpu_flops: floating-point operations of the CPUs of each socket. Which events count them is in flop_events.c; the first
 * generation of which libpfm4 finds the unit in this machine is the machine's. */
#include <stdio.h>

#include "agent/counters/counter_node.h"
#include "agent/counters/counter_pfm.h"
#include "agent/counters/flop_events.h"

enum { RUNNING = FLOP_COLUMNS };
#define BATCH 4 /* of general counters there are 4 at least */

#define FLOP(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .bound = { .most = 1e18 }, .help = HELP                                       \
  }

static const struct metric metrics[] = {
  [FLOP_ALL] = FLOP ("flop", "Floating-point operations, a multiply-add being two."),
  [FLOP_DOUBLE] = FLOP ("flop_double", "Those in double precision (Intel, Zen 1)."),
  [FLOP_SINGLE] = FLOP ("flop_single", "Those in single precision (Intel, Zen 1)."),
  [FLOP_SCALAR] = FLOP ("flop_scalar", "Those of instructions that work on one number (Intel, as the next)."),
  [FLOP_128] = FLOP ("flop_128", "Those of vectors of 128 bits."),
  [FLOP_256] = FLOP ("flop_256", "Those of vectors of 256 bits."),
  [FLOP_512] = FLOP ("flop_512", "Those of vectors of 512 bits."),
  [RUNNING] = { "running", GAUGE, UNIT_RATIO, FOLD_MIN,
                .help = "Share of the time that the events counted, as in cpu_counters." },
};

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

/* False: the machine has no such unit, or the library does not know it. */
static bool
plan_unit (struct counter_plan *plan, const struct counter_pfm *pfm, const struct flop_generation *generation,
           const char *unit, struct error *error)
{
  struct counter_batch *batch = NULL;

  for (size_t i = 0; i < generation->count; i++) {
    const struct flop_event *event = &generation->events[i];
    struct perf_event_attr attr;
    char name[192];

    snprintf (name, sizeof name, "%s::%s", unit, event->name);
    if (counter_pfm_name (pfm, &attr, name, error) < 0)
      return false;
    if (!batch || batch->count == BATCH) {
      batch = array_add (plan->batches, plan->count, plan->room);
      *batch = (struct counter_batch){ 0 };
    }
    batch->events[batch->count++] =
        (struct counter_event){ .attr = attr, .columns = event->columns, .weight = event->weight };
  }
  return true;
}

static bool
plan_machine (struct counter_plan *plan, const struct counter_pfm *pfm, struct error *error)
{
  for (size_t i = 0; i < flop_generation_count; i++)
    for (const char *const *unit = flop_generations[i].units; *unit; unit++)
      if (plan_unit (plan, pfm, &flop_generations[i], *unit, error))
        return true;
  return false;
}

static void
cpu_flops_plan (struct counter_plan *plan, const char *root, struct error *error)
{
  struct counter_pfm *pfm = counter_pfm_open (error);

  (void) root;
  if (!pfm)
    return;
  if (plan_machine (plan, pfm, error))
    error->text[0] = '\0';
  else
    error_set (error, "libpfm4 knows no unit of this CPU whose events count floating-point operations");
  counter_pfm_close (pfm);
}

static const struct counter_node_type type = { &group, RUNNING, FLOP_ALL, cpu_flops_plan };

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
