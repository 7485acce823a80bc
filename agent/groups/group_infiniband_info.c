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

FOLDER_ROWS_SAMPLER (infiniband_info, 0, "/sys/class/infiniband", "", 0, 3);
