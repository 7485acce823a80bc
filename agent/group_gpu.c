/* gpu: each NVIDIA GPU, and each instance that a GPU is split into (MIG).
 *
 * What is asked of a GPU stands in `sources`, one call of the library each. One that a GPU does not have is not asked for
 * again. The GPUs fold to the node without counting anything twice: the memory of a GPU that is split is that of its
 * instances, which have nothing else. Numbers that stand for "not available" (all bits set, percents over 100) are
 * missing.
 *
 * Time for which clocks were held down is counted for each policy of the driver; the newer counters for each reason have
 * no numbers that all drivers agree on. PCIe traffic is measured by the driver for 20 ms each time that it is asked, and
 * some drivers wait for that: then one GPU is asked in each sample. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu.h"
#include "agent/gpu_events.h"
#include "agent/gpu_seen.h"
#include "agent/groups.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum column {
  UTILIZATION,
  MEMORY_UTILIZATION,
  ENCODER_UTILIZATION,
  DECODER_UTILIZATION,
  MEMORY_USED,
  MEMORY_FREE,
  MEMORY_RESERVED,
  MEMORY_TOTAL,
  BAR1_USED,
  BAR1_TOTAL,
  TEMPERATURE,
  MEMORY_TEMPERATURE,
  POWER,
  POWER_LIMIT,
  ENERGY,
  CLOCK_GRAPHICS,
  CLOCK_SM,
  CLOCK_MEMORY,
  CLOCK_GRAPHICS_MAX,
  CLOCK_SM_MAX,
  CLOCK_MEMORY_MAX,
  THROTTLED_IDLE,
  THROTTLED_APPLICATION_CLOCKS,
  THROTTLED_SW_POWER_CAP,
  THROTTLED_HW_SLOWDOWN,
  THROTTLED_SYNC_BOOST,
  THROTTLED_SW_THERMAL,
  THROTTLED_HW_THERMAL,
  THROTTLED_HW_POWER_BRAKE,
  THROTTLED_DISPLAY_CLOCKS,
  TIME_POWER,
  TIME_THERMAL,
  TIME_SYNC_BOOST,
  TIME_BOARD_LIMIT,
  TIME_LOW_UTILIZATION,
  TIME_RELIABILITY,
  TIME_APPLICATION_CLOCKS,
  TIME_BASE_CLOCKS,
  FAN_SPEED,
  PERFORMANCE_STATE,
  PCIE_GENERATION,
  PCIE_WIDTH,
  PCIE_REPLAYS,
  PCIE_TX,
  PCIE_RX,
  NVLINK_TX,
  NVLINK_RX,
  NVLINK_CRC_FLIT_ERRORS,
  NVLINK_CRC_DATA_ERRORS,
  NVLINK_REPLAY_ERRORS,
  NVLINK_RECOVERY_ERRORS,
  ECC_CORRECTED,
  ECC_UNCORRECTED,
  ECC_CORRECTED_AGGREGATE,
  ECC_UNCORRECTED_AGGREGATE,
  RETIRED_SINGLE_BIT,
  RETIRED_DOUBLE_BIT,
  RETIRED_PENDING,
  REMAPPED_CORRECTABLE,
  REMAPPED_UNCORRECTABLE,
  REMAPPED_PENDING,
  REMAPPED_FAILED,
  XID_ERRORS,
  XID,
  STATE
};

#define PERCENT(NAME, HELP)                                                                                            \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = HELP                                                                 \
  }
#define BYTES(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .help = HELP                                                                    \
  }
#define CLOCK(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_HERTZ, FOLD_MEAN, .times = 1000000, .help = HELP                                                 \
  }
#define FLAG(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BOOLEAN, FOLD_MAX, .help = HELP                                                                  \
  }
#define TIME(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = HELP                                             \
  }
#define ERRORS(NAME, HELP)                                                                                             \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .help = HELP                                                                  \
  }
#define STANDING(NAME, HELP)                                                                                           \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, .help = HELP                                                                    \
  }

static const struct metric metrics[] = {
  [UTILIZATION] = PERCENT ("utilization", "Share of the driver's last sample period in which a kernel ran."),
  [MEMORY_UTILIZATION] =
      PERCENT ("memory_utilization", "Share of that period in which memory was read or written; not how much is used."),
  [ENCODER_UTILIZATION] = PERCENT ("encoder_utilization", "How busy the video encoders are."),
  [DECODER_UTILIZATION] = PERCENT ("decoder_utilization", "How busy the video decoders are."),
  [MEMORY_USED] = BYTES ("memory_used", "Memory that is allocated; of a GPU that is split its instances have it."),
  [MEMORY_FREE] = BYTES ("memory_free", "Memory that is free."),
  [MEMORY_RESERVED] = BYTES ("memory_reserved", "Memory that driver and firmware keep for themselves."),
  [MEMORY_TOTAL] = BYTES ("memory_total", "Memory that the GPU has."),
  [BAR1_USED] = BYTES ("bar1_used", "BAR1 memory that is mapped, for access by the host and other devices."),
  [BAR1_TOTAL] = BYTES ("bar1_total", "BAR1 memory that there is."),
  [TEMPERATURE] = { "temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX, .help = "Temperature of the GPU." },
  [MEMORY_TEMPERATURE] = { "memory_temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX, .help = "Temperature of its memory." },
  [POWER] = { "power", GAUGE, UNIT_WATTS, FOLD_SUM, .per = 1000,
              .help = "Power that it draws; newer GPUs tell the mean of a second." },
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
  [FAN_SPEED] = { "fan_speed", GAUGE, UNIT_PERCENT, FOLD_MAX, .help = "Intended speed of the fan." },
  [PERFORMANCE_STATE] = { "performance_state", GAUGE, UNIT_COUNT, FOLD_MAX,
                          .help = "Performance state, 0 (the highest) to 15." },
  [PCIE_GENERATION] = { "pcie_generation", GAUGE, UNIT_COUNT, FOLD_MIN, .help = "Generation of the PCIe link now." },
  [PCIE_WIDTH] = { "pcie_width", GAUGE, UNIT_COUNT, FOLD_MIN, .help = "Lanes of the PCIe link now." },
  [PCIE_REPLAYS] = ERRORS ("pcie_replays", "Packets that were sent again on PCIe."),
  [PCIE_TX] = { "pcie_tx", GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1000,
                .help = "Bytes a second that it sends over PCIe, in a short moment." },
  [PCIE_RX] = { "pcie_rx", GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1000,
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
  [XID_ERRORS] = ERRORS ("xid_errors", "XIDs that the driver told since the agent was started."),
  [XID] = { "xid", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "The last of them." },
  [STATE] = { "state", TEXT, UNIT_NONE, FOLD_NONE,
              .help = "ok, or why there are no values: lost (fallen off the bus), reset required, missing." },
};

static const struct group group = {
  .name = "gpu",
  .section = "system_data",
  .row = "GPU",
  .rows_name = "gpus",
  .fold_name = "total",
  .help = "Use, memory, power, clocks, links and errors of each NVIDIA GPU, and of each MIG instance (0:1).",
  GROUP_METRICS (metrics),
};

struct gpu_group {
  struct gpus *gpus;
  bool called;
  bool slow;   /* measuring PCIe traffic takes time */
  size_t turn; /* whose turn that is */
};

/* One GPU that is being read. */
struct reading {
  struct gpu_group *group;
  const struct nvml *nvml;
  struct gpu *gpu;
  struct table *table;
  size_t row;
};

/* Numbers that stand for "not available" are missing. */
static void
set_u32 (const struct reading *reading, size_t column, uint32_t value)
{
  if (value != UINT32_MAX && (metrics[column].unit != UNIT_PERCENT || value <= 100))
    table_set_uint (reading->table, reading->row, column, value);
}

static void
set_u64 (const struct reading *reading, size_t column, uint64_t value)
{
  if (value < UINT64_C (1) << 53)
    table_set_uint (reading->table, reading->row, column, value);
}

/* ---- the ways to ask ---- */

struct source {
  int (*read) (struct reading *reading, const struct source *source);
  enum column column; /* the first of those that it sets */
  size_t call;        /* offset of the function in struct nvml */
  int kind;           /* what it is asked for */
  bool mig;           /* of MIG devices too */
};

#define CALL_OF(reading, source, type) (*(type *const *) ((const char *) (reading)->nvml + (source)->call))

static int
read_u32 (struct reading *reading, const struct source *source)
{
  nvml_device_u32_fn *call = CALL_OF (reading, source, nvml_device_u32_fn);
  uint32_t value = UINT32_MAX;
  int result = call ? call (reading->gpu->handle, &value) : NVML_FUNCTION_NOT_FOUND;

  if (result == NVML_OK)
    set_u32 (reading, source->column, value);
  return result;
}

static int
read_u64 (struct reading *reading, const struct source *source)
{
  nvml_device_u64_fn *call = CALL_OF (reading, source, nvml_device_u64_fn);
  uint64_t value = UINT64_MAX;
  int result = call ? call (reading->gpu->handle, &value) : NVML_FUNCTION_NOT_FOUND;

  if (result == NVML_OK)
    set_u64 (reading, source->column, value);
  return result;
}

static int
read_kind (struct reading *reading, const struct source *source)
{
  nvml_device_kind_fn *call = CALL_OF (reading, source, nvml_device_kind_fn);
  uint32_t value = UINT32_MAX;
  int result = call ? call (reading->gpu->handle, source->kind, &value) : NVML_FUNCTION_NOT_FOUND;

  if (result == NVML_OK)
    set_u32 (reading, source->column, value);
  return result;
}

static int
read_first (struct reading *reading, const struct source *source)
{
  nvml_device_2u32_fn *call = CALL_OF (reading, source, nvml_device_2u32_fn);
  uint32_t value = UINT32_MAX, period_us;
  int result = call ? call (reading->gpu->handle, &value, &period_us) : NVML_FUNCTION_NOT_FOUND;

  if (result == NVML_OK)
    set_u32 (reading, source->column, value);
  return result;
}

static int
read_utilization (struct reading *reading, const struct source *source)
{
  struct nvml_utilization use = { UINT32_MAX, UINT32_MAX };
  int result = NVML_CALL (reading->nvml, utilization, reading->gpu->handle, &use);

  if (result == NVML_OK) {
    set_u32 (reading, source->column, use.gpu);
    set_u32 (reading, MEMORY_UTILIZATION, use.memory);
  }
  return result;
}

/* In the older form what is reserved counts as used. */
static int
read_memory (struct reading *reading, const struct source *source)
{
  struct nvml_memory_v2 memory = { .version = NVML_MEMORY_V2, .reserved = UINT64_MAX };
  struct nvml_memory old;
  int result;

  if (reading->gpu->split)
    return NVML_OK;
  result = NVML_CALL (reading->nvml, memory_v2, reading->gpu->handle, &memory);
  if (gpu_lacks (result)) {
    result = NVML_CALL (reading->nvml, memory, reading->gpu->handle, &old);
    memory = (struct nvml_memory_v2){ .total = old.total, .free = old.free, .used = old.used, .reserved = UINT64_MAX };
  }
  if (result == NVML_OK) {
    set_u64 (reading, source->column, memory.used);
    set_u64 (reading, MEMORY_FREE, memory.free);
    set_u64 (reading, MEMORY_RESERVED, memory.reserved);
    set_u64 (reading, MEMORY_TOTAL, memory.total);
  }
  return result;
}

static int
read_bar1 (struct reading *reading, const struct source *source)
{
  struct nvml_bar1 bar1 = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
  int result = NVML_CALL (reading->nvml, bar1, reading->gpu->handle, &bar1);

  if (result == NVML_OK) {
    set_u64 (reading, source->column, bar1.used);
    set_u64 (reading, BAR1_TOTAL, bar1.total);
  }
  return result;
}

static int
read_reasons (struct reading *reading, const struct source *source)
{
  uint64_t reasons = 0;
  int result = NVML_CALL (reading->nvml, clock_reasons, reading->gpu->handle, &reasons);

  for (size_t bit = 0; result == NVML_OK && source->column + bit <= THROTTLED_DISPLAY_CLOCKS; bit++)
    set_u32 (reading, source->column + bit, reasons >> bit & 1);
  return result;
}

static int
read_violation (struct reading *reading, const struct source *source)
{
  struct nvml_violation violation = { .time_ns = UINT64_MAX };
  int result = NVML_CALL (reading->nvml, violation, reading->gpu->handle, source->kind, &violation);

  if (result == NVML_OK && violation.time_ns != UINT64_MAX)
    table_set_uint (reading->table, reading->row, source->column, violation.time_ns);
  return result;
}

static int
read_ecc (struct reading *reading, const struct source *source)
{
  int kind = source->kind & 1, counter = source->kind >> 1;
  uint64_t count = UINT64_MAX;
  int result = NVML_CALL (reading->nvml, ecc_total, reading->gpu->handle, kind, counter, &count);

  if (result == NVML_OK)
    set_u64 (reading, source->column, count);
  return result;
}

/* Asked for no addresses it tells how many there are. */
static int
read_retired (struct reading *reading, const struct source *source)
{
  uint32_t count = 0;
  int result = NVML_CALL (reading->nvml, retired_pages, reading->gpu->handle, source->kind, &count, NULL);

  if (result == NVML_INSUFFICIENT_SIZE)
    result = NVML_OK;
  if (result == NVML_OK)
    set_u32 (reading, source->column, count);
  return result;
}

static int
read_remapped (struct reading *reading, const struct source *source)
{
  uint32_t values[4] = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
  int result =
      NVML_CALL (reading->nvml, remapped_rows, reading->gpu->handle, &values[0], &values[1], &values[2], &values[3]);

  for (size_t i = 0; result == NVML_OK && i < 4; i++)
    set_u32 (reading, source->column + i, values[i]);
  return result;
}

static int
read_fields (struct reading *reading, const struct source *source)
{
  struct nvml_field fields[] = {
    { .id = NVML_FIELD_MEMORY_TEMPERATURE },
    { .id = NVML_FIELD_NVLINK_TX_KIB, .scope = UINT32_MAX },
    { .id = NVML_FIELD_NVLINK_RX_KIB, .scope = UINT32_MAX },
    { .id = NVML_FIELD_NVLINK_CRC_FLIT_TOTAL },
    { .id = NVML_FIELD_NVLINK_CRC_DATA_TOTAL },
    { .id = NVML_FIELD_NVLINK_REPLAY_TOTAL },
    { .id = NVML_FIELD_NVLINK_RECOVERY_TOTAL },
  };
  int result = NVML_CALL (reading->nvml, fields, reading->gpu->handle, sizeof fields / sizeof fields[0], fields);
  uint64_t value;

  if (result != NVML_OK)
    return result;
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    size_t column = i == 0 ? source->column : NVLINK_TX + i - 1;

    /* A memory without a sensor is 0 degrees warm. */
    if (nvml_field_uint (&fields[i], &value) && (i != 0 || (value != 0 && value < 1000)))
      set_u64 (reading, column, value);
  }
  return NVML_OK;
}

static int
read_pcie (struct reading *reading, const struct source *source)
{
  int64_t begin_ns = clock_monotonic ();
  uint32_t tx = UINT32_MAX, rx = UINT32_MAX;
  struct gpu_group *gpu_group = reading->group;
  int result;

  if (gpu_group->slow && &gpu_group->gpus->list[gpu_group->turn] != reading->gpu)
    return NVML_OK;
  result = NVML_CALL (reading->nvml, pcie_throughput, reading->gpu->handle, NVML_PCIE_TX, &tx);
  if (result == NVML_OK)
    result = NVML_CALL (reading->nvml, pcie_throughput, reading->gpu->handle, NVML_PCIE_RX, &rx);
  gpu_group->slow |= clock_monotonic () - begin_ns > 10 * NS_PER_MS;
  if (result == NVML_OK) {
    set_u32 (reading, source->column, tx);
    set_u32 (reading, PCIE_RX, rx);
  }
  return result;
}

#define IN(member) offsetof (struct nvml, member)
#define ECC(kind, counter) ((kind) | (counter) << 1)

/* The first is the one that tells whether a GPU is there. */
static const struct source sources[] = {
  { read_utilization, UTILIZATION, .mig = true },
  { read_memory, MEMORY_USED, .mig = true },
  { read_bar1, BAR1_USED, .mig = false },
  { read_first, ENCODER_UTILIZATION, IN (encoder) },
  { read_first, DECODER_UTILIZATION, IN (decoder) },
  { read_kind, TEMPERATURE, IN (temperature), NVML_TEMPERATURE_GPU },
  { read_u32, POWER, IN (power) },
  { read_u32, POWER_LIMIT, IN (power_limit) },
  { read_u64, ENERGY, IN (energy) },
  { read_kind, CLOCK_GRAPHICS, IN (clock), NVML_CLOCK_GRAPHICS },
  { read_kind, CLOCK_SM, IN (clock), NVML_CLOCK_SM },
  { read_kind, CLOCK_MEMORY, IN (clock), NVML_CLOCK_MEMORY },
  { read_kind, CLOCK_GRAPHICS_MAX, IN (clock_max), NVML_CLOCK_GRAPHICS },
  { read_kind, CLOCK_SM_MAX, IN (clock_max), NVML_CLOCK_SM },
  { read_kind, CLOCK_MEMORY_MAX, IN (clock_max), NVML_CLOCK_MEMORY },
  { read_reasons, THROTTLED_IDLE },
  { read_violation, TIME_POWER, .kind = NVML_POLICY_POWER },
  { read_violation, TIME_THERMAL, .kind = NVML_POLICY_THERMAL },
  { read_violation, TIME_SYNC_BOOST, .kind = NVML_POLICY_SYNC_BOOST },
  { read_violation, TIME_BOARD_LIMIT, .kind = NVML_POLICY_BOARD_LIMIT },
  { read_violation, TIME_LOW_UTILIZATION, .kind = NVML_POLICY_LOW_UTILIZATION },
  { read_violation, TIME_RELIABILITY, .kind = NVML_POLICY_RELIABILITY },
  { read_violation, TIME_APPLICATION_CLOCKS, .kind = NVML_POLICY_APPLICATION_CLOCKS },
  { read_violation, TIME_BASE_CLOCKS, .kind = NVML_POLICY_BASE_CLOCKS },
  { read_u32, FAN_SPEED, IN (fan) },
  { read_u32, PERFORMANCE_STATE, IN (performance_state) },
  { read_u32, PCIE_GENERATION, IN (pcie_generation) },
  { read_u32, PCIE_WIDTH, IN (pcie_width) },
  { read_u32, PCIE_REPLAYS, IN (pcie_replays) },
  { read_fields, MEMORY_TEMPERATURE },
  { read_ecc, ECC_CORRECTED, .kind = ECC (NVML_ECC_CORRECTED, NVML_ECC_VOLATILE) },
  { read_ecc, ECC_UNCORRECTED, .kind = ECC (NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE) },
  { read_ecc, ECC_CORRECTED_AGGREGATE, .kind = ECC (NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE) },
  { read_ecc, ECC_UNCORRECTED_AGGREGATE, .kind = ECC (NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE) },
  { read_retired, RETIRED_SINGLE_BIT, .kind = NVML_RETIRED_SINGLE_BIT },
  { read_retired, RETIRED_DOUBLE_BIT, .kind = NVML_RETIRED_DOUBLE_BIT },
  { read_u32, RETIRED_PENDING, IN (retired_pending) },
  { read_remapped, REMAPPED_CORRECTABLE },
  { read_pcie, PCIE_TX },
};
#define SOURCES (sizeof sources / sizeof sources[0])
_Static_assert(SOURCES <= 64, "a bit for each");
_Static_assert(THROTTLED_DISPLAY_CLOCKS - THROTTLED_IDLE == 8, "the flags stand in the order of their bits");

/* ---- the sampler ---- */

static void *
gpu_group_open (const struct sampler_context *context)
{
  struct gpu_group *gpu_group = memory_new (1, sizeof *gpu_group);

  gpu_group->gpus = gpus_open (context);
  return gpu_group;
}

static void
gpu_group_close (void *state)
{
  struct gpu_group *gpu_group = state;

  gpus_unref (gpu_group->gpus);
  free (gpu_group);
}

static bool
gpu_group_may_block (void *state)
{
  struct gpu_group *gpu_group = state;

  gpu_group->called = gpus_may_block (gpu_group->gpus);
  return gpu_group->called;
}

/* One whose every call failed has that as its state: what it is does not matter to who looks for a broken GPU. */
static void
gpu_read (struct reading *reading)
{
  struct gpus *gpus = reading->group->gpus;
  struct gpu *gpu = reading->gpu;
  int failure = NVML_OK;
  bool good = false;

  gpu->result = NVML_OK;
  for (size_t i = 0; i < SOURCES && gpu_is_asked (gpus, gpu); i++) {
    int result;

    if ((gpu->parent && !sources[i].mig) || gpu->unsupported >> i & 1)
      continue;
    result = sources[i].read (reading, &sources[i]);
    if (!gpu_goes_on (gpus, gpu, result))
      return;
    good |= result == NVML_OK;
    if (gpu_lacks (result))
      gpu->unsupported |= UINT64_C (1) << i;
    else if (result != NVML_OK)
      failure = result;
  }
  if (!good && failure != NVML_OK)
    gpu->result = failure;
}

static void
gpu_row (struct gpu_group *gpu_group, struct table *table, struct gpu *gpu)
{
  size_t row = table_add_row (table, gpu->label, strlen (gpu->label));
  const char *state;

  if (row == SIZE_MAX)
    return;
  if (gpu_is_asked (gpu_group->gpus, gpu)) {
    struct reading reading = { gpu_group, &gpu_group->gpus->nvml, gpu, table, row };

    gpu_read (&reading);
  }
  if (!gpu->parent) {
    table_set_uint (table, row, XID_ERRORS, gpu->xids);
    if (gpu->xids)
      table_set_uint (table, row, XID, gpu->xid);
  }
  state = gpu_state_text (gpu);
  table_set_text (table, row, STATE, state, strlen (state));
}

static uint64_t
number (const struct table *table, size_t row, size_t column)
{
  const struct value *value = table_get (table, row, column);

  return value->type == VALUE_UINT ? value->as.u : UINT64_MAX;
}

/* For the groups of jobs. The table has a row for each GPU, unless there are more than a table holds. */
static void
leave_seen (struct gpus *gpus, const struct table *table)
{
  struct seen_gpu *seen = gpu_seen_begin (gpus->seen, gpus->count);

  for (size_t i = 0; i < gpus->count; i++) {
    const struct gpu *gpu = &gpus->list[i];

    seen[i] = (struct seen_gpu){ .split = gpu->split, .instance = gpu->parent };
    memcpy (seen[i].label, gpu->label, sizeof seen[i].label);
    memcpy (seen[i].uuid, gpu->uuid, sizeof seen[i].uuid);
    seen[i].utilization = number (table, i, UTILIZATION);
    seen[i].energy_mj = number (table, i, ENERGY);
  }
  gpu_seen_end (gpus->seen);
}

static int
gpu_group_sample (void *state, struct table *table)
{
  struct gpu_group *gpu_group = state;
  struct gpus *gpus = gpu_group->gpus;
  int begun = gpus_begin (gpus, gpu_group->called, table), result;

  if (begun <= 0)
    return begun;
  gpu_events_take (gpus->events, gpus);
  for (size_t i = 0; i < gpus->count; i++)
    gpu_row (gpu_group, table, &gpus->list[i]);
  if (table->rows == gpus->count)
    leave_seen (gpus, table);
  if (gpus->count)
    gpu_group->turn = (gpu_group->turn + 1) % gpus->count;
  result = gpus_tell_errors (gpus, table);
  gpus_end (gpus);
  return result;
}

const struct sampler sampler_gpu = { &group,           gpu_group_may_block, gpu_group_open,
                                     gpu_group_sample, gpu_group_close,     .optional = true };
