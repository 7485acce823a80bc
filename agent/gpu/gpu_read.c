/* The values of a GPU stand in `sources`, one call of the library each; see gpu_read.h. */
#include "agent/gpu/gpu_read.h"

#include <stddef.h>

#include "agent/gpu/gpu_metrics.h"
#include "synop/clock.h"

/* One GPU that is being read. */
struct reading {
  struct gpu_reader *reader;
  struct gpus *gpus;
  const struct nvml *nvml;
  struct gpu *gpu;
  struct table *table;
  size_t row;
};

/* The highest valid number, in the library's unit; what stands for "not available" is above it. */
static uint32_t
most (size_t column)
{
  switch (gpu_metrics[column].unit) {
  case UNIT_PERCENT:
    return 100;
  case UNIT_CELSIUS:
    return 999;
  case UNIT_HERTZ: /* MHz */
    return 100000;
  case UNIT_WATTS: /* mW */
    return 100000000;
  default:
    return UINT32_MAX - 1;
  }
}

static void
set_u32 (const struct reading *reading, size_t column, uint32_t value)
{
  if (value <= most (column))
    table_set_uint (reading->table, reading->row, column, value);
}

static void
set_u64 (const struct reading *reading, size_t column, uint64_t value)
{
  if (value < NVML_NO_NUMBER)
    table_set_uint (reading->table, reading->row, column, value);
}

/* ---- the kinds of calls ---- */

struct source {
  int (*read) (struct reading *reading, const struct source *source);
  enum gpu_column column; /* the first that it sets */
  size_t call;            /* offset of the function in struct nvml */
  int kind;               /* its argument */
  bool mig;               /* for MIG devices too */
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

/* The older call counts reserved memory as used. */
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
  uint64_t reasons = UINT64_MAX;
  int result = NVML_CALL (reading->nvml, clock_reasons, reading->gpu->handle, &reasons);
  bool known = result == NVML_OK && reasons < NVML_NO_NUMBER;

  for (size_t bit = 0; known && source->column + bit <= THROTTLED_DISPLAY_CLOCKS; bit++)
    set_u32 (reading, source->column + bit, reasons >> bit & 1);
  if (known)
    set_u64 (reading, THROTTLE_REASONS, reasons);
  return result;
}

#define NEVER_NS (UINT64_C (1) << 60) /* 36 years: stands for "not available" */

static int
read_violation (struct reading *reading, const struct source *source)
{
  struct nvml_violation violation = { .time_ns = UINT64_MAX };
  int result = NVML_CALL (reading->nvml, violation, reading->gpu->handle, source->kind, &violation);

  if (result == NVML_OK && violation.time_ns < NEVER_NS)
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

/* With a buffer for no addresses the call returns how many there are. */
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

    /* 0 degrees: the memory has no sensor. */
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
  struct gpu_reader *reader = reading->reader;
  int result;

  if (reader->slow && &reading->gpus->list[reader->turn] != reading->gpu)
    return NVML_OK;
  result = NVML_CALL (reading->nvml, pcie_throughput, reading->gpu->handle, NVML_PCIE_TX, &tx);
  if (result == NVML_OK)
    result = NVML_CALL (reading->nvml, pcie_throughput, reading->gpu->handle, NVML_PCIE_RX, &rx);
  reader->slow |= clock_monotonic () - begin_ns > 10 * NS_PER_MS;
  if (result == NVML_OK) {
    set_u32 (reading, source->column, tx);
    set_u32 (reading, PCIE_RX, rx);
  }
  return result;
}

#define IN(member) offsetof (struct nvml, member)
#define ECC(kind, counter) ((kind) | (counter) << 1)

/* The first shows whether the GPU is present. */
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

/* ---- one GPU ---- */

/* If every call failed, the last failure is the GPU's state: which one does not matter when one looks for a broken GPU. If
 * the GPU seems to lack everything, all is queried again. */
void
gpu_read (struct gpu_reader *reader, struct gpus *gpus, struct gpu *gpu, struct table *table, size_t row)
{
  struct reading reading = { reader, gpus, &gpus->nvml, gpu, table, row };
  int failure = NVML_OK, lack = NVML_OK;
  bool good = false;

  for (size_t i = 0; i < SOURCES && gpu_is_queried (gpus, gpu); i++) {
    int result;

    if ((gpu->parent && !sources[i].mig) || gpu->unsupported >> i & 1)
      continue;
    result = sources[i].read (&reading, &sources[i]);
    if (!gpu_goes_on (gpus, gpu, result))
      return;
    good |= result == NVML_OK;
    if (gpu_lacks (result)) {
      gpu->unsupported |= UINT64_C (1) << i;
      lack = result;
    } else if (result != NVML_OK)
      failure = result;
  }
  if (!gpu_is_queried (gpus, gpu))
    return;
  if (good || (gpu->parent && failure == NVML_OK)) {
    gpu_set_result (gpus, gpu, NVML_OK);
    return;
  }
  gpu_set_result (gpus, gpu, failure != NVML_OK ? failure : lack);
  gpu->unsupported = 0;
}
