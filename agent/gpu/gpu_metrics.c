/* The columns of the group gpu; see gpu_metrics.h. */
#include "agent/gpu/gpu_metrics.h"

#include "agent/sampling/bounds.h"

#define PERCENT(NAME, HELP)                                                                                            \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = HELP                                                                 \
  }
#define BYTES(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .help = HELP                                                                    \
  }
#define PART(OF, NAME, HELP)                                                                                           \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { BOUND_PART (OF) }, .help = HELP                                      \
  }
#define CLOCK(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_HERTZ, FOLD_MEAN, .times = 1000000, .help = HELP                                                 \
  }
#define FLAG(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BOOLEAN, FOLD_MAX, .help = HELP                                                                  \
  }
/* Drivers report it late. */
#define TIME(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .bound = { .most = 10 }, .help = HELP                    \
  }
#define ERRORS(NAME, HELP)                                                                                             \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .help = HELP                                                                  \
  }
#define STANDING(NAME, HELP)                                                                                           \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, .help = HELP                                                                    \
  }

const struct metric gpu_metrics[GPU_COLUMNS] = {
  [UTILIZATION] = PERCENT ("utilization", "Share of the driver's last sample period in which a kernel ran."),
  [MEMORY_UTILIZATION] =
      PERCENT ("memory_utilization", "Share of that period in which memory was read or written; not how much is used."),
  [ENCODER_UTILIZATION] = PERCENT ("encoder_utilization", "How busy the video encoders are."),
  [DECODER_UTILIZATION] = PERCENT ("decoder_utilization", "How busy the video decoders are."),
  [MEMORY_USED] = PART ("memory_total", "memory_used",
                        "Memory that is allocated; that of a GPU that is split is shown for its instances."),
  [MEMORY_FREE] = PART ("memory_total", "memory_free", "Memory that is free."),
  [MEMORY_RESERVED] = PART ("memory_total", "memory_reserved", "Memory that driver and firmware keep for themselves."),
  [MEMORY_TOTAL] = BYTES ("memory_total", "Memory that the GPU has."),
  [BAR1_USED] =
      PART ("bar1_total", "bar1_used", "BAR1 memory that is mapped, for access by the host and other devices."),
  [BAR1_TOTAL] = BYTES ("bar1_total", "BAR1 memory that there is."),
  [TEMPERATURE] = { "temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX,
                    .help = "Temperature of the GPU; of AMD's at the edge of the chip, or else its hottest spot." },
  [MEMORY_TEMPERATURE] = { "memory_temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX, .help = "Temperature of its memory." },
  [POWER] = { "power", GAUGE, UNIT_WATTS, FOLD_SUM, .per = 1000,
              .help = "Power that it draws; newer GPUs give the mean of a second." },
  [POWER_LIMIT] = { "power_limit", GAUGE, UNIT_WATTS, FOLD_SUM, .per = 1000, .help = "Power that it may draw." },
  [ENERGY] = { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000, .help = "Energy that it has used." },
  [CLOCK_GRAPHICS] = CLOCK ("clock_graphics", "Graphics clock."),
  [CLOCK_SM] = CLOCK ("clock_sm", "Clock of the multiprocessors."),
  [CLOCK_MEMORY] = CLOCK ("clock_memory", "Memory clock."),
  [CLOCK_GRAPHICS_MAX] = CLOCK ("clock_graphics_max", "Highest graphics clock."),
  [CLOCK_SM_MAX] = CLOCK ("clock_sm_max", "Highest clock of the multiprocessors."),
  [CLOCK_MEMORY_MAX] = CLOCK ("clock_memory_max", "Highest memory clock."),
  [THROTTLED_IDLE] = FLAG ("throttled_idle", "Clocks are low since nothing runs."),
  [THROTTLED_APPLICATION_CLOCKS] =
      FLAG ("throttled_application_clocks", "Clocks are held at what an administrator set."),
  [THROTTLED_SW_POWER_CAP] = FLAG ("throttled_sw_power_cap", "Clocks are held down by the power limit."),
  [THROTTLED_HW_SLOWDOWN] = FLAG ("throttled_hw_slowdown",
                                  "The hardware holds clocks down, to half or less: heat or an external power brake."),
  [THROTTLED_SYNC_BOOST] = FLAG ("throttled_sync_boost", "Clocks are held at those of other GPUs of a group."),
  [THROTTLED_SW_THERMAL] = FLAG ("throttled_sw_thermal", "The driver holds clocks down for heat."),
  [THROTTLED_HW_THERMAL] = FLAG ("throttled_hw_thermal", "The hardware holds clocks down for heat."),
  [THROTTLED_HW_POWER_BRAKE] = FLAG ("throttled_hw_power_brake", "An external power brake holds clocks down."),
  [THROTTLED_DISPLAY_CLOCKS] = FLAG ("throttled_display_clocks", "Clocks are held by those of a display."),
  [THROTTLE_REASONS] = { "throttle_reasons", GAUGE, UNIT_COUNT, FOLD_NONE,
                         .help = "All reasons for which clocks are held down, as the driver's bits." },
  [TIME_POWER] = TIME ("throttle_time_power", "Time for which the power limit held clocks down."),
  [TIME_THERMAL] = TIME ("throttle_time_thermal", "Time for which heat held clocks down."),
  [TIME_SYNC_BOOST] = TIME ("throttle_time_sync_boost", "Time for which other GPUs of a group held clocks down."),
  [TIME_BOARD_LIMIT] = TIME ("throttle_time_board_limit", "Time for which limits of the board held clocks down."),
  [TIME_LOW_UTILIZATION] =
      TIME ("throttle_time_low_utilization", "Time for which clocks were low since there was little to do."),
  [TIME_RELIABILITY] = TIME ("throttle_time_reliability", "Time for which limits of voltage held clocks down."),
  [TIME_APPLICATION_CLOCKS] =
      TIME ("throttle_time_application_clocks", "Time below the clocks that an administrator set, for any reason."),
  [TIME_BASE_CLOCKS] = TIME ("throttle_time_base_clocks", "Time below the base clocks, for any reason."),
  [FAN_SPEED] = { "fan_speed", GAUGE, UNIT_PERCENT, FOLD_MAX, .bound = { .most = 1000 },
                  .help = "Intended speed of the fan." },
  [PERFORMANCE_STATE] = { "performance_state", GAUGE, UNIT_COUNT, FOLD_MAX,
                          .help = "Performance state, 0 (the highest) to 15." },
  [PCIE_GENERATION] = { "pcie_generation", GAUGE, UNIT_COUNT, FOLD_MIN, .help = "Generation of the PCIe link now." },
  [PCIE_WIDTH] = { "pcie_width", GAUGE, UNIT_COUNT, FOLD_MIN, .help = "Lanes of the PCIe link now." },
  [PCIE_REPLAYS] = ERRORS ("pcie_replays", "Packets that were sent again on PCIe."),
  [PCIE_TX] = { "pcie_tx", GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1000, .bound = { .most = 1e13 },
                .help = "Bytes a second that it sends over PCIe, in a short moment." },
  [PCIE_RX] = { "pcie_rx", GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1000, .bound = { .most = 1e13 },
                .help = "Bytes a second that it receives over PCIe, in a short moment." },
  [NVLINK_TX] = { "nvlink_tx", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 1024, .help = "Data sent over all NVLinks." },
  [NVLINK_RX] = { "nvlink_rx", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 1024,
                  .help = "Data received over all NVLinks." },
  [NVLINK_CRC_FLIT_ERRORS] = ERRORS ("nvlink_crc_flit_errors", "Flow control errors of all NVLinks (before Hopper)."),
  [NVLINK_CRC_DATA_ERRORS] = ERRORS ("nvlink_crc_data_errors", "Data errors of all NVLinks (before Hopper)."),
  [NVLINK_REPLAY_ERRORS] = ERRORS ("nvlink_replay_errors", "Times that an NVLink sent again (before Hopper)."),
  [NVLINK_RECOVERY_ERRORS] = ERRORS ("nvlink_recovery_errors", "Times that an NVLink recovered (before Hopper)."),
  [ECC_CORRECTED] = ERRORS ("ecc_corrected", "Memory errors that were corrected, since the driver was loaded."),
  [ECC_UNCORRECTED] = ERRORS ("ecc_uncorrected", "Memory errors that could not be, since the driver was loaded."),
  [ECC_CORRECTED_AGGREGATE] = STANDING ("ecc_corrected_aggregate", "Corrected memory errors in the GPU's life."),
  [ECC_UNCORRECTED_AGGREGATE] = STANDING ("ecc_uncorrected_aggregate", "Uncorrected memory errors in the GPU's life."),
  [RETIRED_SINGLE_BIT] = STANDING ("retired_pages_single_bit", "Pages retired after repeated single-bit errors."),
  [RETIRED_DOUBLE_BIT] = STANDING ("retired_pages_double_bit", "Pages retired after a double-bit error."),
  [RETIRED_PENDING] = FLAG ("retired_pages_pending", "Pages are to be retired at the next reset."),
  [REMAPPED_CORRECTABLE] = STANDING ("remapped_rows_correctable", "Rows remapped after correctable errors."),
  [REMAPPED_UNCORRECTABLE] = STANDING ("remapped_rows_uncorrectable", "Rows remapped after uncorrectable errors."),
  [REMAPPED_PENDING] = FLAG ("remapped_rows_pending", "Rows are to be remapped at the next reset."),
  [REMAPPED_FAILED] = FLAG ("remapped_rows_failed", "A row could not be remapped: the GPU should be replaced."),
  [XID_ERRORS] = ERRORS ("xid_errors", "XIDs that the driver has reported since the agent was started."),
  [XID] = { "xid", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "The last XID." },
  [STATE] = { "state", TEXT, UNIT_NONE, FOLD_NONE,
              .help = "ok, or why there are no values: lost (fallen off the bus), reset required, missing; of AMD's "
                      "also in reset, and suspended (not read, so that it sleeps on)." },
};
