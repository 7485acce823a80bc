/* gpu_profiling: how busy the parts of each GPU are, by NVML's GPM where the GPU has it, else by DCGM. Names and units are
 * the same from either.
 *
 * For a GPU that is split the values are those of its MIG instances, but PCIe and NVLink are the GPU's; so nothing counts
 * twice. While a profiler (Nsight) owns a GPU's counters there are no values here, or the profiler gets none: who uses one
 * disables this group. A GPU that neither can profile gets no row, unless it had one before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/dcgm.h"
#include "agent/gpu/gpm.h"
#include "agent/gpu/gpu.h"
#include "agent/sampling/sampler.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum { SOURCE = PROFILE_METRICS };

#define PERCENT(NAME, HELP)                                                                                            \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = HELP                                                                 \
  }
#define RATE(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { .most = 1e13 }, .help = HELP                                         \
  }

static const struct metric metrics[] = {
  [PROFILE_GRAPHICS] = PERCENT ("graphics_engine_active", "Time in which the graphics or compute engine had work."),
  [PROFILE_SM] = PERCENT ("sm_active", "Time in which a multiprocessor had work, the mean of all multiprocessors."),
  [PROFILE_OCCUPANCY] = PERCENT ("sm_occupancy", "Resident warps, as a share of the maximum."),
  [PROFILE_TENSOR] = PERCENT ("tensor_active", "Use of the tensor cores, of any kind."),
  [PROFILE_TENSOR_HMMA] = PERCENT ("tensor_hmma_active", "Use of the tensor cores for half precision and the like."),
  [PROFILE_TENSOR_IMMA] = PERCENT ("tensor_imma_active", "Use of the tensor cores for integers."),
  [PROFILE_TENSOR_DFMA] = PERCENT ("tensor_dfma_active", "Use of the tensor cores for double precision."),
  [PROFILE_FP64] = PERCENT ("fp64_active", "Use of the double precision units, tensor cores aside."),
  [PROFILE_FP32] = PERCENT ("fp32_active", "Use of the single precision units, tensor cores aside."),
  [PROFILE_FP16] = PERCENT ("fp16_active", "Use of the half precision units, tensor cores aside."),
  [PROFILE_INTEGER] = PERCENT ("integer_active", "Use of the integer units."),
  [PROFILE_DRAM] = PERCENT ("dram_active", "Use of the memory's bandwidth."),
  [PROFILE_PCIE_TX] = RATE ("pcie_tx_rate", "Bytes a second that it sends over PCIe, with headers."),
  [PROFILE_PCIE_RX] = RATE ("pcie_rx_rate", "Bytes a second that it receives over PCIe, with headers."),
  [PROFILE_NVLINK_TX] = RATE ("nvlink_tx_rate", "Bytes a second that it sends over all NVLinks."),
  [PROFILE_NVLINK_RX] = RATE ("nvlink_rx_rate", "Bytes a second that it receives over all NVLinks."),
  [SOURCE] = { "source", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE,
               .help = "What measures: gpm (in the driver), dcgm, or both, for different GPUs." },
};

static const struct group group = {
  .name = "gpu_profiling",
  .section = "system_data",
  .row = "GPU",
  .rows_name = "gpus",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "How busy the parts of each GPU and each MIG instance (0:1) are, by NVML's GPM or by DCGM.",
  GROUP_METRICS (metrics),
};

/* A GPU without GPM, to be read by DCGM. */
struct remaining {
  char label[16];
  bool split, instance;
};

struct profiling {
  struct gpus *gpus;
  struct dcgm *dcgm;
  bool called;
  bool by_gpm, by_dcgm;

  /* The GPUs without GPM in this sample. */
  size_t count;
  struct remaining remaining[GPU_DEVICES_MAX];
  struct dcgm_device devices[GPU_DEVICES_MAX];
  struct gpu_profile profiles[GPU_DEVICES_MAX];
  struct error reason;                              /* why DCGM has nothing */
  char trouble[sizeof ((struct table *) 0)->error]; /* what else is wrong, for the table */
};

static void *
profiling_open (const struct sampler_context *context)
{
  struct profiling *profiling = memory_new (1, sizeof *profiling);

  profiling->gpus = service_take (context, &service_gpus);
  profiling->dcgm = service_take (context, &service_dcgm);
  return profiling;
}

static void
profiling_close (void *state)
{
  struct profiling *profiling = state;

  service_leave (profiling->dcgm);
  service_leave (profiling->gpus);
  free (profiling);
}

static bool
profiling_may_block (void *state)
{
  struct profiling *profiling = state;

  profiling->called = gpus_may_block (profiling->gpus);
  return profiling->called;
}

/* ---- rows ---- */

/* No GPU moves that much in a second, and DCGM's numbers for "no value" are above it. Percentages may be a little over
 * 100, since time and cycles are read one after the other. */
#define MOST_BYTES 1e14
#define MOST_PERCENT 110

static void
set_value (struct table *table, size_t row, size_t column, double value)
{
  bool percent = metrics[column].unit == UNIT_PERCENT;

  if (value >= 0 && value < (percent ? MOST_PERCENT : MOST_BYTES)) /* not NaN */
    table_set_real (table, row, column, percent && value > 100 ? 100 : value);
}

static void
gpu_profile_add_row (struct table *table, const char *label, bool split, bool instance,
                     const struct gpu_profile *profile)
{
  size_t row = table_add_row (table, label, strlen (label));

  for (size_t i = 0; row != SIZE_MAX && i < PROFILE_METRICS; i++) {
    bool of_instances = metrics[i].unit == UNIT_PERCENT;

    if ((split && of_instances) || (instance && !of_instances))
      continue;
    set_value (table, row, i, profile->values[i]);
  }
}

static void
set_source (const struct profiling *profiling, struct table *table)
{
  const char *source = profiling->by_gpm ? (profiling->by_dcgm ? "gpm, dcgm" : "gpm") : "dcgm";

  if (profiling->by_gpm || profiling->by_dcgm)
    table_set_text (table, TABLE_NODE, SOURCE, source, strlen (source));
}

/* ---- a sample ---- */

static void
defer_to_dcgm (struct profiling *profiling, const struct gpu *gpu)
{
  const struct gpus *gpus = profiling->gpus;
  struct remaining *remaining = &profiling->remaining[profiling->count];
  struct dcgm_device *device = &profiling->devices[profiling->count++];
  const char *uuid = gpu->uuid;

  for (size_t i = 0; gpu->parent && i < gpus->count; i++)
    if (gpus->list[i].handle == gpu->parent)
      uuid = gpus->list[i].uuid;
  memcpy (remaining->label, gpu->label, sizeof remaining->label);
  remaining->split = gpu->split;
  remaining->instance = gpu->parent;
  snprintf (device->uuid, sizeof device->uuid, "%s", uuid);
  device->gpu_instance = gpu->parent ? gpu->gpu_instance : UINT32_MAX;
}

static void
trouble_add (struct profiling *profiling, const char *text)
{
  size_t length = strlen (profiling->trouble);

  snprintf (profiling->trouble + length, sizeof profiling->trouble - length, "%s%s", length ? "; " : "", text);
}

static void
read_gpu_profile (struct profiling *profiling, struct table *table, struct gpu *gpu)
{
  struct gpus *gpus = profiling->gpus;
  struct gpu_profile profile;
  int result;

  if (!gpu_is_queried (gpus, gpu) || gpu->result != NVML_OK)
    return;
  result = gpm_read (gpus->gpm, &gpus->nvml, gpu, clock_monotonic (), &profile);
  if (!gpu_goes_on (gpus, gpu, result))
    return;
  if (gpu_lacks (result)) {
    defer_to_dcgm (profiling, gpu);
    return;
  }
  profiling->by_gpm = true;
  gpu_profile_add_row (table, gpu->label, gpu->split, gpu->parent, &profile);
  if (result != NVML_OK) {
    char text[128];

    snprintf (text, sizeof text, "GPU %s: GPM: %s", gpu->label, nvml_result_text (result));
    trouble_add (profiling, text);
  }
}

/* Not under the lock of the other GPU groups, so that a hanging DCGM does not delay them. */
static void
read_by_dcgm (struct profiling *profiling, struct table *table)
{
  bool fine =
      dcgm_read (profiling->dcgm, profiling->devices, profiling->count, profiling->profiles, &profiling->reason) == 0;

  if (fine)
    profiling->reason.text[0] = '\0';
  else if (dcgm_is_configured (profiling->dcgm) || dcgm_worked (profiling->dcgm))
    trouble_add (profiling, profiling->reason.text);
  if (!dcgm_worked (profiling->dcgm))
    return;
  profiling->by_dcgm = true;
  for (size_t i = 0; i < profiling->count; i++)
    gpu_profile_add_row (table, profiling->remaining[i].label, profiling->remaining[i].split,
                         profiling->remaining[i].instance, &profiling->profiles[i]);
}

static int
profiling_sample (void *state, struct table *table)
{
  struct profiling *profiling = state;
  struct gpus *gpus = profiling->gpus;
  int begun = gpus_begin (gpus, profiling->called, table);

  if (begun <= 0)
    return begun;
  profiling->count = 0;
  profiling->by_gpm = profiling->by_dcgm = false;
  profiling->trouble[0] = '\0';
  for (size_t i = 0; i < gpus->count; i++)
    read_gpu_profile (profiling, table, &gpus->list[i]);
  gpm_sweep (gpus->gpm, &gpus->nvml);
  gpus_add_errors (gpus, table);
  gpus_end (gpus);
  if (profiling->count)
    read_by_dcgm (profiling, table);
  set_source (profiling, table);
  if (!table->error[0])
    memcpy (table->error, profiling->trouble, sizeof profiling->trouble);
  return table->error[0] ? -1 : 0;
}

/* If there are GPUs it takes a sample. */
static void
profiling_absent (const struct sampler_context *context, char *text, size_t size)
{
  struct profiling *profiling;
  struct table table;

  nvidia_absent (context, text, size);
  if (text[0])
    return;
  profiling = profiling_open (context);
  table_init (&table, &group);
  table_begin (&table);
  profiling->called = gpus_may_block (profiling->gpus);
  profiling_sample (profiling, &table);
  if (profiling->count && !table.rows)
    snprintf (text, size, "the GPUs have no GPM (Hopper and newer have); %s", profiling->reason.text);
  table_free (&table);
  profiling_close (profiling);
}

const struct sampler sampler_gpu_profiling = {
  &group,          profiling_may_block, profiling_open,      profiling_sample,
  profiling_close, .optional = true,    .stack = DCGM_STACK, .absent = profiling_absent
};
