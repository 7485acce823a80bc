/* Loading NVIDIA's management library; see nvml.h. */
#include "agent/gpu/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "agent/source/library.h"

_Static_assert(sizeof (struct nvml_memory) == 24, "layout of memory");
_Static_assert(sizeof (struct nvml_memory_v2) == 40, "layout of memory, version 2");
_Static_assert(sizeof (struct nvml_pci) == 68, "layout of PCI's facts");
_Static_assert(sizeof (struct nvml_process_v1) == 16, "layout of a process");
_Static_assert(sizeof (struct nvml_process) == 24, "layout of a process, versions 2 and 3");
_Static_assert(sizeof (struct nvml_process_utilization) == 32, "layout of a process's use");
_Static_assert(sizeof (struct nvml_field) == 40 && offsetof (struct nvml_field, value) == 32, "layout of a field");
_Static_assert(sizeof (struct nvml_event) == 32, "layout of an event");
_Static_assert(sizeof (struct nvml_attributes) == 40, "layout of attributes");

#define IN(member) offsetof (struct nvml, member)

/* The newest name first. Names without a version belong to the oldest libraries. */
static const struct {
  size_t offset;
  const char *names[3];
} functions[] = {
  { IN (init), { "nvmlInit_v2", "nvmlInit" } },
  { IN (shutdown), { "nvmlShutdown" } },
  { IN (driver_version), { "nvmlSystemGetDriverVersion" } },
  { IN (cuda_version), { "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion" } },
  { IN (count), { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" } },
  { IN (by_index), { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" } },
  { IN (name), { "nvmlDeviceGetName" } },
  { IN (uuid), { "nvmlDeviceGetUUID" } },
  { IN (serial), { "nvmlDeviceGetSerial" } },
  { IN (vbios), { "nvmlDeviceGetVbiosVersion" } },
  { IN (pci), { "nvmlDeviceGetPciInfo_v3" } }, /* earlier ones have another layout */
  { IN (minor), { "nvmlDeviceGetMinorNumber" } },
  { IN (ecc_mode), { "nvmlDeviceGetEccMode" } },
  { IN (utilization), { "nvmlDeviceGetUtilizationRates" } },
  { IN (encoder), { "nvmlDeviceGetEncoderUtilization" } },
  { IN (decoder), { "nvmlDeviceGetDecoderUtilization" } },
  { IN (memory), { "nvmlDeviceGetMemoryInfo" } },
  { IN (memory_v2), { "nvmlDeviceGetMemoryInfo_v2" } },
  { IN (bar1), { "nvmlDeviceGetBAR1MemoryInfo" } },
  { IN (temperature), { "nvmlDeviceGetTemperature" } },
  { IN (power), { "nvmlDeviceGetPowerUsage" } },
  { IN (power_limit), { "nvmlDeviceGetEnforcedPowerLimit" } },
  { IN (energy), { "nvmlDeviceGetTotalEnergyConsumption" } },
  { IN (clock), { "nvmlDeviceGetClockInfo" } },
  { IN (clock_max), { "nvmlDeviceGetMaxClockInfo" } },
  { IN (clock_reasons), { "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons" } },
  { IN (violation), { "nvmlDeviceGetViolationStatus" } },
  { IN (fan), { "nvmlDeviceGetFanSpeed" } },
  { IN (performance_state), { "nvmlDeviceGetPerformanceState" } },
  { IN (pcie_generation), { "nvmlDeviceGetCurrPcieLinkGeneration" } },
  { IN (pcie_width), { "nvmlDeviceGetCurrPcieLinkWidth" } },
  { IN (pcie_generation_max), { "nvmlDeviceGetMaxPcieLinkGeneration" } },
  { IN (pcie_width_max), { "nvmlDeviceGetMaxPcieLinkWidth" } },
  { IN (pcie_replays), { "nvmlDeviceGetPcieReplayCounter" } },
  { IN (pcie_throughput), { "nvmlDeviceGetPcieThroughput" } },
  { IN (ecc_total), { "nvmlDeviceGetTotalEccErrors" } },
  { IN (retired_pages), { "nvmlDeviceGetRetiredPages" } },
  { IN (retired_pending), { "nvmlDeviceGetRetiredPagesPendingStatus" } },
  { IN (remapped_rows), { "nvmlDeviceGetRemappedRows" } },
  { IN (fields), { "nvmlDeviceGetFieldValues" } },
  { IN (link_state), { "nvmlDeviceGetNvLinkState" } },
  { IN (link_errors), { "nvmlDeviceGetNvLinkErrorCounter" } },
  { IN (process_utilization), { "nvmlDeviceGetProcessUtilization" } },
  { IN (mig_mode), { "nvmlDeviceGetMigMode" } },
  { IN (mig_count), { "nvmlDeviceGetMaxMigDeviceCount" } },
  { IN (mig_by_index), { "nvmlDeviceGetMigDeviceHandleByIndex" } },
  { IN (gpu_instance), { "nvmlDeviceGetGpuInstanceId" } },
  { IN (compute_instance), { "nvmlDeviceGetComputeInstanceId" } },
  { IN (attributes), { "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes" } },
  { IN (event_set_create), { "nvmlEventSetCreate" } },
  { IN (event_set_free), { "nvmlEventSetFree" } },
  { IN (event_register), { "nvmlDeviceRegisterEvents" } },
  { IN (event_types), { "nvmlDeviceGetSupportedEventTypes" } },
  { IN (event_wait), { "nvmlEventSetWait_v2" } }, /* the earlier one writes fewer bytes */
  { IN (gpm_support), { "nvmlGpmQueryDeviceSupport" } },
  { IN (gpm_alloc), { "nvmlGpmSampleAlloc" } },
  { IN (gpm_free), { "nvmlGpmSampleFree" } },
  { IN (gpm_get), { "nvmlGpmSampleGet" } },
  { IN (gpm_mig_get), { "nvmlGpmMigSampleGet" } },
  { IN (gpm_metrics), { "nvmlGpmMetricsGet" } },
};

/* Lists of processes. Version 3 is tried last: under that name drivers 535.43 to 535.86 write longer entries than the
 * drivers before and after them. Version 2 has always been the same. */
static const struct {
  size_t offset;
  const char *v2, *v3, *v1;
} lists[] = {
  { IN (compute_processes), "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses" },
  { IN (graphics_processes), "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses" },
  { IN (mps_processes), "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses" },
};

static bool
look_up (struct nvml *nvml, size_t offset, const char *name)
{
  void *symbol = name ? dlsym (nvml->library, name) : NULL;

  if (symbol)
    memcpy ((char *) nvml + offset, &symbol, sizeof symbol);
  return symbol;
}

int
nvml_load (struct nvml *nvml, const char *path, struct error *error)
{
  *nvml = (struct nvml){ 0 };
  if (library_try (path, error) < 0)
    return -1;
  nvml->library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (!nvml->library)
    return error_set (error, "%s", dlerror ()); /* names the file */

  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    for (size_t j = 0; j < 3 && !look_up (nvml, functions[i].offset, functions[i].names[j]); j++)
      continue;
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
    if (!look_up (nvml, lists[i].offset, lists[i].v2) && !look_up (nvml, lists[i].offset, lists[i].v3) &&
        look_up (nvml, lists[i].offset, lists[i].v1))
      nvml->process_v1 = true;

  if (!nvml->init || !nvml->shutdown || !nvml->count || !nvml->by_index) {
    nvml_unload (nvml);
    return error_set (error, "%s is no NVIDIA management library", path);
  }
  return 0;
}

void
nvml_unload (struct nvml *nvml)
{
  if (nvml->library)
    dlclose (nvml->library);
  *nvml = (struct nvml){ 0 };
}

const char *
nvml_result_text (int result)
{
  switch (result) {
  case NVML_OK:
    return "fine";
  case NVML_UNINITIALIZED:
    return "the library is not initialized";
  case NVML_INVALID_ARGUMENT:
    return "an argument is invalid";
  case NVML_NOT_SUPPORTED:
    return "not supported";
  case NVML_NO_PERMISSION:
    return "not permitted";
  case NVML_NOT_FOUND:
    return "not found";
  case NVML_INSUFFICIENT_SIZE:
    return "there is more than there is room for";
  case NVML_INSUFFICIENT_POWER:
    return "power cables are not attached";
  case NVML_DRIVER_NOT_LOADED:
    return "the NVIDIA driver is not loaded";
  case NVML_TIMEOUT:
    return "timed out in the driver";
  case NVML_IRQ_ISSUE:
    return "the kernel has a problem with the GPU's interrupt";
  case NVML_FUNCTION_NOT_FOUND:
    return "the library has no such function";
  case NVML_CORRUPTED_INFOROM:
    return "the infoROM is corrupted";
  case NVML_GPU_IS_LOST:
    return "the GPU is lost";
  case NVML_RESET_REQUIRED:
    return "the GPU needs a reset";
  case NVML_OPERATING_SYSTEM:
    return "the operating system refuses the GPU";
  case NVML_VERSION_MISMATCH:
    return "the driver and its library are of different versions";
  case NVML_NO_DATA:
    return "no data";
  case NVML_ARGUMENT_VERSION_MISMATCH:
    return "the library does not know this version of an argument";
  default:
    return "the driver reports an unknown error";
  }
}

/* -1: none. */
static int64_t
field_number (const struct nvml_field *field)
{
  switch (field->type) {
  case NVML_VALUE_U32:
    return field->value.u32;
  case NVML_VALUE_ULONG:
  case NVML_VALUE_U64:
    return field->value.u64 < NVML_NO_NUMBER ? (int64_t) field->value.u64 : -1;
  case NVML_VALUE_S64:
    return field->value.s64 < (int64_t) NVML_NO_NUMBER ? field->value.s64 : -1;
  case NVML_VALUE_S32:
    return field->value.s32;
  case NVML_VALUE_U16:
    return field->value.u16;
  case NVML_VALUE_DOUBLE: /* NaN is not between them either */
    return field->value.d >= 0 && field->value.d < 1e15 ? (int64_t) field->value.d : -1;
  default:
    return -1;
  }
}

bool
nvml_field_uint (const struct nvml_field *field, uint64_t *value)
{
  int64_t number = field->result == NVML_OK ? field_number (field) : -1;

  *value = (uint64_t) number;
  return number >= 0;
}
