/* edac: errors of memory that its controllers found, those that they mended and those that they could not.
 *
 *   /sys/devices/system/edac/mc/mc0/{mc_name,ce_count,ue_count,ce_noinfo_count,ue_noinfo_count} */
#include "agent/groups/folder_rows.h"
#include "synop/clock.h"

#define ERRORS(NAME, FILE, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .source = FILE, .help = HELP                                                  \
  }

static const struct metric metrics[] = {
  ERRORS ("corrected", "ce_count", "Errors of memory that were corrected."),
  ERRORS ("uncorrected", "ue_count", "Errors of memory that could not be corrected."),
  ERRORS ("corrected_anywhere", "ce_noinfo_count", "Those of `corrected` of which it is not known where they were."),
  ERRORS ("uncorrected_anywhere", "ue_noinfo_count",
          "Those of `uncorrected` of which it is not known where they were."),
  { "type", TEXT, UNIT_NONE, FOLD_NONE, .source = "mc_name", .help = "Name of the controller's driver." },
};

static const struct group group = {
  .name = "edac",
  .section = "system_data",
  .row = "controller",
  .rows_name = "controllers",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Errors of memory that its controllers found, since their driver was loaded. At most every 10 s.",
  GROUP_METRICS (metrics),
  .left_out = "single modules and rows of chips.",
};

FOLDER_ROWS_SAMPLER (edac, 10 * NS_PER_S, "/sys/devices/system/edac/mc", "mc", 2, 4);
