/* power_supply: mains and batteries, where the kernel knows of them; servers' own lie behind their management controller.
 *
 *   /sys/class/power_supply/BAT0/{type,online,status,capacity,power_now}    "Battery", "1", "Discharging", "87", "7500000"
 *
 * Reading asks the firmware: so every 10 s and in a thread. */
#include "agent/groups/folder_rows.h"
#include "synop/clock.h"

static const struct metric metrics[] = {
  { "type", TEXT, UNIT_NONE, FOLD_NONE, .source = "type", .help = "What it is: Mains, Battery, UPS, USB." },
  { "online", GAUGE, UNIT_BOOLEAN, FOLD_MIN, .source = "online", .bound = { .most = 2 },
    .help = "1 when the machine could run on it; 2 at programmable voltage." },
  { "status", TEXT, UNIT_NONE, FOLD_NONE, .source = "status", .help = "Of a battery: Charging, Discharging, Full." },
  { "capacity", GAUGE, UNIT_PERCENT, FOLD_MIN, .source = "capacity", .help = "How full a battery is." },
  { "power", GAUGE, UNIT_WATTS, FOLD_NONE, .per = 1000000, .source = "power_now",
    .bound = { .most = 1e5, .negative = true }, .help = "Power that goes in or out; some drivers sign what goes out." },
};

static const struct group group = {
  .name = "power_supply",
  .section = "system_data",
  .row = "supply",
  .rows_name = "supplies",
  .fold_name = "lowest",
  .flags = GROUP_ROWS,
  .help = "Mains and batteries, where the kernel knows of them. At most every 10 s.",
  GROUP_METRICS (metrics),
  .left_out = "voltages, currents, charges and serial numbers of batteries.",
};

static void *
power_supply_open (const struct sampler_context *context)
{
  static const struct folder_rows_type type = { &group, "/sys/class/power_supply", "", 0, 5 };

  return folder_rows_create (&type, context->root);
}

const struct sampler sampler_power_supply = {
  &group,           folder_rows_may_block,      power_supply_open, folder_rows_sample_all, folder_rows_destroy,
  .optional = true, .period_ns = 10 * NS_PER_S,
};
