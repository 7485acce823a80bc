/* node_power: the node's power and energy, as the sum of parts of which none counts twice; see energy.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/energy/energy.h"
#include "agent/energy/meters.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum column { POWER, ENERGY, SOURCE, WHOLE };

static const struct metric metrics[] = {
  [POWER] = { "power", GAUGE, UNIT_WATTS, FOLD_SUM, .help = "Power that it draws: the mean since the reading before." },
  [ENERGY] = { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000000,
               .help = "Energy that it has used since the agent began." },
  [SOURCE] = { "source", TEXT, UNIT_NONE, FOLD_NONE, .help = "What measures it: RAPL, GPU driver, ACPI power meter." },
  [WHOLE] = { "whole", GAUGE, UNIT_BOOLEAN, FOLD_MIN, METRIC_OF_NODE,
              .help = "1 where something measures the whole machine, so that the parts are all of it; 0: what is in no "
                      "part (fans, disks, network, losses of power supplies) is missing." },
};

static const struct group group = {
  .name = "node_power",
  .section = "system_data",
  .row = "part",
  .rows_name = "parts",
  .fold_name = "node",
  .help = "Power and energy of the node, and what it is made of: cpu, dram, gpu, and other, which is what the whole "
          "machine "
          "draws beyond them. No part counts twice, so the node is their sum.",
  GROUP_METRICS (metrics),
};

struct node_power {
  struct energy *energy;
  struct meters meters;
  bool read; /* there were sensors in the sample before */
  bool seen; /* some part was known */
};

static void *
node_power_open (const struct sampler_context *context)
{
  struct node_power *mine = memory_new (1, sizeof *mine);

  mine->energy = energy_take (context);
  meters_init (&mine->meters, context->root, energy_asks_ipmi (context) ? ipmi_dcmi_create (&ipmi_kernel) : NULL);
  return mine;
}

static bool
node_power_may_block (void *state)
{
  struct node_power *mine = state;

  return meters_exist (&mine->meters);
}

static void
part_row (const struct energy_of_part *part, const char *name, struct table *table)
{
  size_t row = part->known ? table_add_row (table, name, strlen (name)) : SIZE_MAX;

  if (row == SIZE_MAX)
    return;
  table_set_real (table, row, POWER, part->watts);
  table_set_uint (table, row, ENERGY, part->total_uj);
  table_set_string (table, row, SOURCE, part->source);
}

static int
node_power_sample (void *state, struct table *table)
{
  static const char *const names[ENERGY_PARTS] = { "cpu", "dram", "gpu", "other" };
  struct node_power *mine = state;
  struct meter_sum sums[METER_KINDS];
  struct energy_view view;

  bool there = mine->meters.count > 0 || mine->meters.ipmi;

  if (there || mine->read) {
    meters_read (&mine->meters, clock_monotonic (), sums);
    energy_put_meters (mine->energy, sums);
  }
  mine->read = there;
  energy_look (mine->energy, clock_monotonic (), &view);
  for (size_t i = 0; i < ENERGY_PARTS; i++)
    part_row (&view.parts[i], names[i], table);
  if (table->rows > 0)
    table_set_uint (table, TABLE_NODE, WHOLE, view.whole != NULL);
  else if (mine->seen)
    table_complain (table, "nothing measures power any more");
  mine->seen |= table->rows > 0;
  return 0;
}

static void
node_power_close (void *state)
{
  struct node_power *mine = state;

  meters_free (&mine->meters);
  service_leave (mine->energy);
  free (mine);
}

const struct sampler sampler_node_power = {
  &group,           node_power_may_block, node_power_open,        node_power_sample,
  node_power_close, .optional = true,     .absent = energy_absent
};
