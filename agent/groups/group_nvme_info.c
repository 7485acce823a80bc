/* nvme_info: the controllers of NVMe disks, and how they are.
 *
 *   /sys/class/nvme/nvme0/{state,model,firmware_rev}    "live", "SAMSUNG MZQL23T8HCLS-00A07", "GDC5602Q" */
#include "agent/groups/folder_rows.h"
#include "synop/clock.h"

#define FACT(NAME, FILE, HELP)                                                                                         \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, .source = FILE, .help = HELP                                                     \
  }

static const struct metric metrics[] = {
  FACT ("state", "state", "State of the controller: live, resetting, connecting, dead."),
  FACT ("model", "model", "Model."),
  FACT ("firmware", "firmware_rev", "Version of the firmware."),
};

static const struct group group = {
  .name = "nvme_info",
  .section = "system_data",
  .row = "controller",
  .rows_name = "controllers",
  .fold_name = "",
  .help = "Controllers of NVMe disks: model, firmware, state. At most every 10 s.",
  GROUP_METRICS (metrics),
  .left_out = "serial numbers.",
};

FOLDER_ROWS_SAMPLER (nvme_info, 10 * NS_PER_S, "/sys/class/nvme", "nvme", 0, 1);
