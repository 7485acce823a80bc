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

static void *
nvme_info_open (const struct sampler_context *context)
{
  static const struct folder_rows_type type = { &group, "/sys/class/nvme", "nvme", 0, 1 };

  return folder_rows_create (&type, context->root);
}

const struct sampler sampler_nvme_info = {
  &group,           folder_rows_may_block,      nvme_info_open, folder_rows_sample_all, folder_rows_destroy,
  .optional = true, .period_ns = 10 * NS_PER_S,
};
