/* gpu_info: what each GPU, AMD's too, and each MIG instance is. A driver may be loaded, and MIG instances made, long after
 * the agent was started; so these are no facts that are sent once a session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/amdgpu.h"
#include "agent/gpu/gpu.h"
#include "agent/sampling/sampler.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum column {
  UUID,
  NAME,
  PCI_BUS_ID,
  SERIAL,
  VBIOS,
  MINOR,
  GPU_INSTANCE,
  COMPUTE_INSTANCE,
  PROFILE,
  SLICES,
  MULTIPROCESSORS,
  PCIE_GENERATION_MAX,
  PCIE_WIDTH_MAX,
  ECC,
  MIG,
  DRIVER,
  CUDA
};

#define FACT(NAME, KIND, UNIT, HELP)                                                                                   \
  {                                                                                                                    \
    NAME, KIND, UNIT, FOLD_NONE, .help = HELP                                                                          \
  }
#define NODE_FACT(NAME, HELP)                                                                                          \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = HELP                                                     \
  }

static const struct metric metrics[] = {
  [UUID] = FACT ("uuid", TEXT, UNIT_NONE, "The UUID that the driver gives it; of an AMD GPU as ROCm has it."),
  [NAME] = FACT ("name", TEXT, UNIT_NONE, "The model."),
  [PCI_BUS_ID] = FACT ("pci_bus_id", TEXT, UNIT_NONE, "Its PCI address, domain:bus:device.function."),
  [SERIAL] = FACT ("serial", TEXT, UNIT_NONE, "Serial number of the board."),
  [VBIOS] = FACT ("vbios", TEXT, UNIT_NONE, "Version of its VBIOS."),
  [MINOR] = FACT ("minor", GAUGE, UNIT_COUNT, "The number of its device, /dev/nvidiaN."),
  [GPU_INSTANCE] = FACT ("gpu_instance", GAUGE, UNIT_COUNT, "Of a MIG instance: the id of its GPU instance."),
  [COMPUTE_INSTANCE] = FACT ("compute_instance", GAUGE, UNIT_COUNT, "Of a MIG instance: its compute instance."),
  [PROFILE] = FACT ("profile", TEXT, UNIT_NONE, "Of a MIG instance: its profile, 1g.10gb."),
  [SLICES] = FACT ("slices", GAUGE, UNIT_COUNT, "Of a MIG instance: slices of the GPU that it has."),
  [MULTIPROCESSORS] = FACT ("multiprocessors", GAUGE, UNIT_COUNT, "Of a MIG instance: its multiprocessors."),
  [PCIE_GENERATION_MAX] =
      FACT ("pcie_generation_max", GAUGE, UNIT_COUNT, "Highest generation of PCIe that GPU and host support."),
  [PCIE_WIDTH_MAX] =
      FACT ("pcie_width_max", GAUGE, UNIT_COUNT, "Highest number of PCIe lanes that GPU and host support."),
  [ECC] = FACT ("ecc", GAUGE, UNIT_BOOLEAN, "Memory errors are corrected."),
  [MIG] = FACT ("mig", GAUGE, UNIT_BOOLEAN, "It is split into instances."),
  [DRIVER] = NODE_FACT ("driver_version",
                        "Version of NVIDIA's driver; without it \"amdgpu\", and its version if that is known."),
  [CUDA] = NODE_FACT ("cuda_version", "Newest version of CUDA that the driver can serve."),
};

static const struct group group = {
  .name = "gpu_info",
  .section = "system_data",
  .row = "GPU",
  .rows_name = "gpus",
  .fold_name = "",
  .help = "What each GPU and each MIG instance is. At most every 10 s.",
  GROUP_METRICS (metrics),
};

struct gpu_info {
  struct gpus *gpus;
  bool called, amd_called;
};

static void *
gpu_info_open (const struct sampler_context *context)
{
  struct gpu_info *info = memory_new (1, sizeof *info);

  info->gpus = service_take (context, &service_gpus);
  return info;
}

static void
gpu_info_close (void *state)
{
  struct gpu_info *info = state;

  service_leave (info->gpus);
  free (info);
}

static bool
gpu_info_may_block (void *state)
{
  struct gpu_info *info = state;

  info->called = gpus_may_block (info->gpus);
  info->amd_called = amdgpus_may_block (info->gpus->amd);
  return info->called || info->amd_called;
}

static void
read_text (struct table *table, size_t row, size_t column, nvml_device_text_fn *call, const struct gpu *gpu)
{
  char text[GPU_TEXT] = "";

  if (call && call (gpu->handle, text, sizeof text - 1) == NVML_OK)
    table_set_string (table, row, column, text);
}

static void
read_number (struct table *table, size_t row, size_t column, nvml_device_u32_fn *call, const struct gpu *gpu)
{
  uint32_t value = UINT32_MAX;

  if (call && call (gpu->handle, &value) == NVML_OK && value != UINT32_MAX)
    table_set_uint (table, row, column, value);
}

static void
set_mig (const struct nvml *nvml, struct table *table, size_t row, const struct gpu *gpu)
{
  struct nvml_attributes attributes = { 0 };
  const char *profile = strstr (gpu->name, " MIG "); /* "NVIDIA H100 80GB HBM3 MIG 1g.10gb" */

  if (profile)
    table_set_string (table, row, PROFILE, profile + strlen (" MIG "));
  if (gpu->gpu_instance != UINT32_MAX)
    table_set_uint (table, row, GPU_INSTANCE, gpu->gpu_instance);
  if (gpu->compute_instance != UINT32_MAX)
    table_set_uint (table, row, COMPUTE_INSTANCE, gpu->compute_instance);
  if (NVML_CALL (nvml, attributes, gpu->handle, &attributes) != NVML_OK)
    return;
  table_set_uint (table, row, SLICES, attributes.gpu_slices);
  table_set_uint (table, row, MULTIPROCESSORS, attributes.multiprocessors);
}

static void
set_gpu (const struct nvml *nvml, struct table *table, size_t row, const struct gpu *gpu)
{
  uint32_t now = 0, pending = 0;

  read_text (table, row, SERIAL, nvml->serial, gpu);
  read_text (table, row, VBIOS, nvml->vbios, gpu);
  read_number (table, row, PCIE_GENERATION_MAX, nvml->pcie_generation_max, gpu);
  read_number (table, row, PCIE_WIDTH_MAX, nvml->pcie_width_max, gpu);
  if (gpu->minor != UINT32_MAX)
    table_set_uint (table, row, MINOR, gpu->minor);
  if (NVML_CALL (nvml, ecc_mode, gpu->handle, &now, &pending) == NVML_OK)
    table_set_uint (table, row, ECC, now);
  if (NVML_CALL (nvml, mig_mode, gpu->handle, &now, &pending) == NVML_OK)
    table_set_uint (table, row, MIG, now);
}

/* Values of the list are shown for GPUs that are gone, too. */
static void
gpu_info_add_row (const struct gpus *gpus, struct table *table, const struct gpu *gpu)
{
  size_t row = table_add_row (table, gpu->label, strlen (gpu->label));

  if (row == SIZE_MAX)
    return;
  table_set_string (table, row, UUID, gpu->uuid);
  table_set_string (table, row, NAME, gpu->name);
  table_set_string (table, row, PCI_BUS_ID, gpu->bus_id);
  if (!gpu_is_queried (gpus, gpu) || gpu->result != NVML_OK)
    return;
  if (gpu->parent)
    set_mig (&gpus->nvml, table, row, gpu);
  else
    set_gpu (&gpus->nvml, table, row, gpu);
}

static void
set_node (const struct gpus *gpus, struct table *table)
{
  char text[32];
  int version = 0;

  table_set_string (table, TABLE_NODE, DRIVER, gpus->driver);
  if (NVML_CALL (&gpus->nvml, cuda_version, &version) == NVML_OK && version > 0) {
    snprintf (text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    table_set_string (table, TABLE_NODE, CUDA, text);
  }
}

static void
add_amd_row (struct table *table, const struct amdgpu *gpu)
{
  size_t row = table_add_row (table, gpu->label, strlen (gpu->label));
  uint64_t generation, width;

  if (row == SIZE_MAX)
    return;
  table_set_string (table, row, UUID, gpu->uuid);
  table_set_string (table, row, NAME, gpu->name);
  table_set_string (table, row, PCI_BUS_ID, gpu->bus_id);
  table_set_string (table, row, SERIAL, gpu->serial);
  table_set_string (table, row, VBIOS, gpu->vbios);
  if (!gpu->files)
    return;
  amdgpu_files_link_max (gpu->files, &generation, &width);
  if (generation != UINT64_MAX)
    table_set_uint (table, row, PCIE_GENERATION_MAX, generation);
  if (width != UINT64_MAX)
    table_set_uint (table, row, PCIE_WIDTH_MAX, width);
}

static int
gpu_info_sample (void *state, struct table *table)
{
  struct gpu_info *info = state;
  struct gpus *gpus = info->gpus;
  struct amdgpus *amd = gpus->amd;
  int begun = gpus_begin (gpus, info->called, table);

  if (begun > 0) {
    for (size_t i = 0; i < gpus->count; i++)
      gpu_info_add_row (gpus, table, &gpus->list[i]);
    set_node (gpus, table);
    gpus_end (gpus);
  }
  if (info->amd_called) {
    amdgpus_begin (amd);
    for (size_t i = 0; i < amd->count; i++)
      add_amd_row (table, &amd->list[i]);
    if (begun <= 0)
      table_set_string (table, TABLE_NODE, DRIVER, amd->driver);
    amdgpus_end (amd);
  }
  return begun < 0 ? -1 : 0;
}

const struct sampler sampler_gpu_info = {
  &group,           gpu_info_may_block,         gpu_info_open,        gpu_info_sample, gpu_info_close,
  .optional = true, .period_ns = 10 * NS_PER_S, .absent = gpus_absent
};
