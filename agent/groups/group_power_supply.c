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

FOLDER_ROWS_SAMPLER (power_supply, 10 * NS_PER_S, "/sys/class/power_supply", "", 0, 5);
