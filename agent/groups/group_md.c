/* md: arrays of disks that the kernel makes (software RAID).
 *
 *   /sys/block/md0/size                                    "1953260928", sectors of 512 bytes
 *   /sys/block/md0/md/{array_state,sync_action}            "clean", "idle"
 *   /sys/block/md0/md/{raid_disks,degraded}                "4", "1"; arrays without redundancy have no `degraded` */
#include "agent/groups/folder_rows.h"
#include "synop/clock.h"

static const struct metric metrics[] = {
  { "state", TEXT, UNIT_NONE, FOLD_NONE, .source = "md/array_state",
    .help = "State of the array: clean, active, readonly, inactive." },
  { "sync", TEXT, UNIT_NONE, FOLD_NONE, .source = "md/sync_action",
    .help = "What is done with its redundancy: idle, resync, recover, check, repair." },
  { "disks_required", GAUGE, UNIT_COUNT, FOLD_NONE, .source = "md/raid_disks", .help = "Disks of the whole array." },
  { "disks_lacking", GAUGE, UNIT_COUNT, FOLD_SUM, .source = "md/degraded", .help = "Those of them that it lacks." },
  { "size", GAUGE, UNIT_BYTES, FOLD_NONE, .times = 512, .source = "size", .help = "Size of the array." },
};

static const struct group group = {
  .name = "md",
  .section = "system_data",
  .row = "array",
  .rows_name = "arrays",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Arrays of disks that the kernel makes (software RAID). At most every 10 s.",
  GROUP_METRICS (metrics),
};

FOLDER_ROWS_SAMPLER (md, 10 * NS_PER_S, "/sys/block", "md", 0, 2);
