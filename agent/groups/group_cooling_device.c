/* cooling_device: what the kernel cools the machine with, and how hard it does now.
 *
 *   /sys/class/thermal/cooling_device0/{type,cur_state,max_state}    "Processor", "0", "10"
 *
 * There may be one for each CPU, and reading may ask the firmware: so every 10 s and in a thread. */
#include "agent/groups/folder_rows.h"
#include "synop/clock.h"

static const struct metric metrics[] = {
  { "state", GAUGE, UNIT_COUNT, FOLD_MAX, .source = "cur_state", .bound = { .most = 0x1p53, .negative = true },
    .help = "How hard it cools; 0: not at all; -1: not known." },
  { "type", TEXT, UNIT_NONE, FOLD_NONE, .source = "type", .help = "What it is: Processor, Fan, intel_powerclamp." },
  { "state_max", GAUGE, UNIT_COUNT, FOLD_NONE, .source = "max_state", .help = "How hard it can." },
};

static const struct group group = {
  .name = "cooling_device",
  .section = "system_data",
  .row = "device",
  .rows_name = "devices",
  .fold_name = "highest",
  .flags = GROUP_ROWS,
  .help = "What the kernel cools the machine with, fans and slower CPUs, and how hard. At most every 10 s.",
  GROUP_METRICS (metrics),
};

FOLDER_ROWS_SAMPLER (cooling_device, 10 * NS_PER_S, "/sys/class/thermal", "cooling_device", 0, 1);
