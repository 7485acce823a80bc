/* memory_bandwidth: what the memory controllers of each socket moved, as they count it. The kernel's units and their events
 * are in /sys/bus/event_source/devices; of AMD's, which have no named events, it is perf's JSON that names them. */
#include <string.h>

#include "agent/counters/counter_names.h"
#include "agent/counters/counter_node.h"

enum column { READ, WRITTEN, MOVED, RUNNING };

static const struct metric metrics[] = {
  [READ] = { "read_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Bytes read from memory." },
  [WRITTEN] = { "written_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Bytes written to memory." },
  [MOVED] = { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Both; Zen 1 to 3 do not part them." },
  [RUNNING] = COUNTER_RUNNING_METRIC,
};

static const struct group group = {
  .name = "memory_bandwidth",
  .section = "system_data",
  .row = "socket",
  .rows_name = "sockets",
  .fold_name = "total",
  .help = "What the memory controllers of each socket moved. With `[counters] enabled`.",
  GROUP_METRICS (metrics),
};

#define BIT(COLUMN) (1u << (COLUMN))
static const struct memory_event {
  const char *unit;
  const char *event; /* of the unit, or terms of its format */
  uint32_t bytes;    /* of a count; 0: as the unit's scale says */
  uint32_t columns;
  const char *format; /* how the unit's "event" must begin: AMD's two kinds of data fabric differ in it; NULL: any */
} events[] = {
  /* Intel: CAS commands of 64 bytes. Intel's Uncore Performance Monitoring manuals; likwid: MEM. From Granite Rapids on
   * a channel has two halves. */
  { "uncore_imc", "cas_count_read", 0, BIT (READ) | BIT (MOVED), NULL },
  { "uncore_imc", "cas_count_write", 0, BIT (WRITTEN) | BIT (MOVED), NULL },
  { "uncore_imc", "cas_count_read_sch0", 0, BIT (READ) | BIT (MOVED), NULL },
  { "uncore_imc", "cas_count_read_sch1", 0, BIT (READ) | BIT (MOVED), NULL },
  { "uncore_imc", "cas_count_write_sch0", 0, BIT (WRITTEN) | BIT (MOVED), NULL },
  { "uncore_imc", "cas_count_write_sch1", 0, BIT (WRITTEN) | BIT (MOVED), NULL },
  /* AMD Zen 4 and 5, Linux 6.8: perf's umc_cas_cmd.rd and .wr (amdzen5/memory-controller.json); AMD PPR, UMC. */
  { "amd_umc", "event=0x0a,rdwrmask=0x1", 64, BIT (READ) | BIT (MOVED), NULL },
  { "amd_umc", "event=0x0a,rdwrmask=0x2", 64, BIT (WRITTEN) | BIT (MOVED), NULL },
/* AMD Zen 1 to 3: perf's dram_channel_data_controller_0 to _7 (amdzen3/data-fabric.json); likwid: MEM1, MEM2. */
#define DRAM_CHANNEL(EVENT)                                                                                            \
  {                                                                                                                    \
    "amd_df", "event=" EVENT ",umask=0x38", 64, BIT (MOVED), "config:0-7,32-35"                                        \
  }
  DRAM_CHANNEL ("0x07"),
  DRAM_CHANNEL ("0x47"),
  DRAM_CHANNEL ("0x87"),
  DRAM_CHANNEL ("0xc7"),
  DRAM_CHANNEL ("0x107"),
  DRAM_CHANNEL ("0x147"),
  DRAM_CHANNEL ("0x187"),
  DRAM_CHANNEL ("0x1c7"),
  /* NVIDIA Grace: beats of 32 bytes, and bytes. Grace Performance Tuning Guide, memory bandwidth. */
  { "nvidia_scf_pmu", "cmem_rd_data", 32, BIT (READ) | BIT (MOVED), NULL },
  { "nvidia_scf_pmu", "cmem_wr_total_bytes", 1, BIT (WRITTEN) | BIT (MOVED), NULL },
};
#define EVENTS (sizeof events / sizeof events[0])

static bool
has_format (const struct memory_event *event, const char *root, const char *unit)
{
  char format[64];

  return !event->format ||
         (fact_text (format, sizeof format, root, "/sys/bus/event_source/devices/%s/format/event", unit) &&
          strncmp (format, event->format, strlen (event->format)) == 0);
}

/* The unit's events are a batch, or two: an AMD data fabric has 4 counters. */
static void
plan_unit (struct counter_plan *plan, const struct memory_event *event, const char *root, const char *unit)
{
  struct counter_batch *batch = plan->count ? &plan->batches[plan->count - 1] : NULL;
  struct perf_event_attr attr;
  uint32_t weight;
  char cpus[sizeof batch->cpus];

  if (!has_format (event, root, unit) ||
      counter_name_kernel (&attr, &weight, cpus, sizeof cpus, root, unit, event->event, NULL) < 0)
    return;
  if (!batch || batch->events[0].attr.type != attr.type || batch->count == 4) {
    batch = counter_plan_batch (plan);
    memcpy (batch->cpus, cpus, sizeof cpus);
  }
  batch->events[batch->count++] =
      (struct counter_event){ .attr = attr, .columns = event->columns, .weight = event->bytes ? event->bytes : weight };
}

static void
memory_bandwidth_plan (struct counter_plan *plan, const char *root, struct error *error)
{
  for (size_t first = 0, last; first < EVENTS; first = last) {
    struct names units = { 0 };

    for (last = first; last < EVENTS && strcmp (events[last].unit, events[first].unit) == 0;)
      last++;
    counter_units (&units, root, events[first].unit);
    for (size_t i = 0; i < units.count; i++)
      for (size_t k = first; k < last; k++)
        plan_unit (plan, &events[k], root, units.list[i]);
    names_free (&units);
  }
  if (plan->count == 0)
    error_set (error, "the kernel has no unit that counts memory traffic here (uncore_imc, amd_umc, amd_df, "
                      "nvidia_scf_pmu): a virtual machine has none, and AMD's of Zen 4 needs Linux 6.8");
}

static const struct counter_node_type type = { &group, RUNNING, MOVED, memory_bandwidth_plan, NULL };

static void *
memory_bandwidth_open (const struct sampler_context *context)
{
  return counter_node_create (context, &type);
}

static void
memory_bandwidth_absent (const struct sampler_context *context, char *text, size_t size)
{
  counter_node_absent (context, &type, text, size);
}

const struct sampler sampler_memory_bandwidth = {
  &group,
  counter_node_may_block,
  memory_bandwidth_open,
  counter_node_sample,
  counter_node_destroy,
  .optional = true,
  .absent = memory_bandwidth_absent,
};
