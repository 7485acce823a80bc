/* infiniband_info: what the InfiniBand adapters are. Sampled once a session.
 *
 *   /sys/class/infiniband/mlx5_0/{hca_type,board_id,fw_ver}    "MT4129", "MT_0000000838", "28.39.2048" */
#include "agent/groups/folder_rows.h"

#define FACT(NAME, FILE, HELP)                                                                                         \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, .source = FILE, .help = HELP                                                     \
  }

static const struct metric metrics[] = {
  FACT ("firmware", "fw_ver", "Version of the firmware."),
  FACT ("type", "hca_type", "Type of the adapter."),
  FACT ("board", "board_id", "Type of the board."),
};

static const struct group group = {
  .name = "infiniband_info",
  .section = "",
  .row = "adapter",
  .rows_name = "adapters",
  .fold_name = "",
  .flags = GROUP_ONCE,
  .help = "InfiniBand adapters: type, board, firmware.",
  GROUP_METRICS (metrics),
};

static void *
infiniband_info_open (const struct sampler_context *context)
{
  static const struct folder_rows_type type = { &group, "/sys/class/infiniband", "", 0, 3 };

  return folder_rows_create (&type, context->root);
}

const struct sampler sampler_infiniband_info = {
  &group, folder_rows_may_block, infiniband_info_open, folder_rows_sample_all, folder_rows_destroy, .optional = true,
};
