/* cpu_scaling: between which frequencies each CPU may run, and who chooses.
 *
 *   /sys/devices/system/cpu/cpu7/cpufreq/{scaling_min_freq,scaling_max_freq,scaling_governor}    kHz, kHz, "performance"
 *   /sys/devices/system/cpu/cpu7/cpufreq/{cpuinfo_min_freq,cpuinfo_max_freq}                     kHz: of the hardware
 *
 * They change when somebody sets them, a batch system for a job for instance: so once a minute. */
#include "agent/groups/folder_rows.h"
#include "synop/clock.h"

#define LIMIT(NAME, FOLD, FILE, HELP)                                                                                  \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_HERTZ, FOLD, .times = 1000, .source = "cpufreq/" FILE, .help = HELP                              \
  }

static const struct metric metrics[] = {
  LIMIT ("minimum", FOLD_MEAN, "scaling_min_freq", "Frequency below which the CPU is not to run."),
  LIMIT ("maximum", FOLD_MEAN, "scaling_max_freq", "Frequency above which the CPU is not to run."),
  LIMIT ("hardware_minimum", FOLD_NONE, "cpuinfo_min_freq", "Lowest frequency at which it can run."),
  LIMIT ("hardware_maximum", FOLD_NONE, "cpuinfo_max_freq", "Highest frequency at which it can run."),
  { "governor", TEXT, UNIT_NONE, FOLD_NONE, .source = "cpufreq/scaling_governor",
    .help = "Who chooses its frequency: performance, powersave, schedutil." },
};

static const struct group group = {
  .name = "cpu_scaling",
  .section = "system_data",
  .row = "CPU",
  .rows_name = "cpus",
  .fold_name = "average",
  .help = "Between which frequencies each CPU may run, and who chooses. At most once a minute.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline.",
};

FOLDER_ROWS_SAMPLER (cpu_scaling, 60 * NS_PER_S, "/sys/devices/system/cpu", "cpu", 3, 5);
