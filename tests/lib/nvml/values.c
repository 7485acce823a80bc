/* The stand-in's values: of GPU 2 the power is 102 W, its temperature 42 degrees, and so on, until the script says
 * otherwise; counters grow with the time since the driver was loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/nvml/stand_in.h"

#define GIB (UINT64_C (1) << 30)

/* A function that fills one number. */
#define NUMBER(FUNCTION, TYPE, KEY, OTHERWISE)                                                                         \
  EXPORT int FUNCTION (struct nvml_device *device, TYPE *value);                                                       \
  int FUNCTION (struct nvml_device *device, TYPE *value)                                                               \
  {                                                                                                                    \
    int result = stand_in_call (#FUNCTION, device);                                                                    \
                                                                                                                       \
    *value = (TYPE) stand_in_value (device, KEY, OTHERWISE);                                                           \
    if (stand_in_blank (#FUNCTION, device))                                                                            \
      *value = (TYPE) -1;                                                                                              \
    return result;                                                                                                     \
  }

NUMBER (nvmlDeviceGetMinorNumber, uint32_t, "minor", device->real)
NUMBER (nvmlDeviceGetPowerUsage, uint32_t, "power", 100000 + 1000 * device->real)
NUMBER (nvmlDeviceGetEnforcedPowerLimit, uint32_t, "power_limit", 700000)
NUMBER (nvmlDeviceGetTotalEnergyConsumption, uint64_t, "energy",
        (uint64_t) (stand_in_seconds () * (100000 + 1000 * device->real)))
NUMBER (nvmlDeviceGetCurrentClocksEventReasons, uint64_t, "reasons", 0)
NUMBER (nvmlDeviceGetFanSpeed, uint32_t, "fan", 30)
NUMBER (nvmlDeviceGetPerformanceState, uint32_t, "pstate", 0)
NUMBER (nvmlDeviceGetCurrPcieLinkGeneration, uint32_t, "pcie_generation", 5)
NUMBER (nvmlDeviceGetCurrPcieLinkWidth, uint32_t, "pcie_width", 16)
NUMBER (nvmlDeviceGetMaxPcieLinkGeneration, uint32_t, "pcie_generation_max", 5)
NUMBER (nvmlDeviceGetMaxPcieLinkWidth, uint32_t, "pcie_width_max", 16)
NUMBER (nvmlDeviceGetPcieReplayCounter, uint32_t, "pcie_replays", 0)
NUMBER (nvmlDeviceGetRetiredPagesPendingStatus, uint32_t, "retired_pending", 0)
NUMBER (nvmlDeviceGetGpuInstanceId, uint32_t, "gpu_instance", (uint32_t) device->instance + 1)
NUMBER (nvmlDeviceGetComputeInstanceId, uint32_t, "compute_instance", 0)

/* A text of a GPU or a MIG device, unless the script has one. */
#define TEXT(FUNCTION, WORD, GPU, MIG)                                                                                 \
  EXPORT int FUNCTION (struct nvml_device *device, char *text, unsigned length);                                       \
  int FUNCTION (struct nvml_device *device, char *text, unsigned length)                                               \
  {                                                                                                                    \
    if (stand_in_text (WORD, device, text, length))                                                                    \
      return stand_in_call (#FUNCTION, device);                                                                        \
    if (device->instance < 0)                                                                                          \
      snprintf (text, length, GPU, device->real);                                                                      \
    else                                                                                                               \
      snprintf (text, length, MIG, device->real, device->instance);                                                    \
    return stand_in_call (#FUNCTION, device);                                                                          \
  }

EXPORT int nvmlDeviceGetUUID (struct nvml_device *device, char *text, unsigned length);
int
nvmlDeviceGetUUID (struct nvml_device *device, char *text, unsigned length)
{
  if (device->instance < 0)
    snprintf (text, length, "GPU-00000000-0000-0000-0000-%012llu",
              (unsigned long long) stand_in_value (device, "uuid", device->real));
  else
    snprintf (text, length, "MIG-00000000-0000-0000-%04u-%012d", device->real, device->instance);
  return stand_in_call ("nvmlDeviceGetUUID", device);
}

TEXT (nvmlDeviceGetName, "name", "Stand-in H100 %u", "Stand-in H100 %u MIG %d")
TEXT (nvmlDeviceGetSerial, "serial", "16500%u", "16500%u-%d")
TEXT (nvmlDeviceGetVbiosVersion, "vbios", "96.00.%02u.00.01", "96.00.%02u.00.%02d")

#define MIG_HAS_NONE(device)                                                                                           \
  if ((device)->instance >= 0)                                                                                         \
  return NVML_NOT_SUPPORTED

EXPORT int nvmlDeviceGetPciInfo_v3 (struct nvml_device *device, struct nvml_pci *pci);
int
nvmlDeviceGetPciInfo_v3 (struct nvml_device *device, struct nvml_pci *pci)
{
  *pci = (struct nvml_pci){ .bus = 0x10 + device->real };
  snprintf (pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
  return stand_in_call ("nvmlDeviceGetPciInfo_v3", device);
}

EXPORT int nvmlDeviceGetUtilizationRates (struct nvml_device *device, struct nvml_utilization *use);
int
nvmlDeviceGetUtilizationRates (struct nvml_device *device, struct nvml_utilization *use)
{
  int result = stand_in_call ("nvmlDeviceGetUtilizationRates", device);

  MIG_HAS_NONE (device);
  use->gpu = (uint32_t) stand_in_value (device, "utilization", 50 + device->real);
  use->memory = (uint32_t) stand_in_value (device, "memory_utilization", 20);
  if (stand_in_blank ("nvmlDeviceGetUtilizationRates", device))
    use->gpu = use->memory = UINT32_MAX;
  return result;
}

#define ENGINE(FUNCTION, KEY)                                                                                          \
  EXPORT int FUNCTION (struct nvml_device *device, uint32_t *use, uint32_t *period_us);                                \
  int FUNCTION (struct nvml_device *device, uint32_t *use, uint32_t *period_us)                                        \
  {                                                                                                                    \
    MIG_HAS_NONE (device);                                                                                             \
    *use = (uint32_t) stand_in_value (device, KEY, 0);                                                                 \
    *period_us = 167000;                                                                                               \
    return stand_in_call (#FUNCTION, device);                                                                          \
  }
ENGINE (nvmlDeviceGetEncoderUtilization, "encoder")
ENGINE (nvmlDeviceGetDecoderUtilization, "decoder")

EXPORT int nvmlDeviceGetMemoryInfo_v2 (struct nvml_device *device, struct nvml_memory_v2 *memory);
int
nvmlDeviceGetMemoryInfo_v2 (struct nvml_device *device, struct nvml_memory_v2 *memory)
{
  int result = stand_in_call ("nvmlDeviceGetMemoryInfo_v2", device);

  if (memory->version != NVML_MEMORY_V2)
    return NVML_ARGUMENT_VERSION_MISMATCH;
  memory->total = stand_in_value (device, "memory_total", device->instance < 0 ? 80 * GIB : 10 * GIB);
  memory->reserved = GIB / 2;
  memory->used = stand_in_value (device, "memory_used", GIB * (device->real + 1));
  memory->free = memory->total - memory->reserved - memory->used;
  if (stand_in_blank ("nvmlDeviceGetMemoryInfo_v2", device))
    memory->total = memory->reserved = memory->used = memory->free = UINT64_MAX;
  return result;
}

EXPORT int nvmlDeviceGetMemoryInfo (struct nvml_device *device, struct nvml_memory *memory);
int
nvmlDeviceGetMemoryInfo (struct nvml_device *device, struct nvml_memory *memory)
{
  memory->total = 80 * GIB;
  memory->used = stand_in_value (device, "memory_used", GIB * (device->real + 1));
  memory->free = memory->total - memory->used;
  return stand_in_call ("nvmlDeviceGetMemoryInfo", device);
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo (struct nvml_device *device, struct nvml_bar1 *bar1);
int
nvmlDeviceGetBAR1MemoryInfo (struct nvml_device *device, struct nvml_bar1 *bar1)
{
  *bar1 = (struct nvml_bar1){ 128 * GIB, 128 * GIB - (5 << 20), 5 << 20 };
  return stand_in_call ("nvmlDeviceGetBAR1MemoryInfo", device);
}

EXPORT int nvmlDeviceGetTemperature (struct nvml_device *device, int sensor, uint32_t *value);
int
nvmlDeviceGetTemperature (struct nvml_device *device, int sensor, uint32_t *value)
{
  *value = (uint32_t) stand_in_value (device, "temperature", 40 + device->real);
  if (stand_in_blank ("nvmlDeviceGetTemperature", device))
    *value = UINT32_MAX;
  return sensor ? NVML_INVALID_ARGUMENT : stand_in_call ("nvmlDeviceGetTemperature", device);
}

EXPORT int nvmlDeviceGetClockInfo (struct nvml_device *device, int clock, uint32_t *value);
int
nvmlDeviceGetClockInfo (struct nvml_device *device, int clock, uint32_t *value)
{
  *value = (uint32_t) stand_in_value (device, "clock", 1700) + (uint32_t) clock;
  return stand_in_call ("nvmlDeviceGetClockInfo", device);
}

EXPORT int nvmlDeviceGetMaxClockInfo (struct nvml_device *device, int clock, uint32_t *value);
int
nvmlDeviceGetMaxClockInfo (struct nvml_device *device, int clock, uint32_t *value)
{
  *value = 1980 + (uint32_t) clock;
  return stand_in_call ("nvmlDeviceGetMaxClockInfo", device);
}

EXPORT int nvmlDeviceGetViolationStatus (struct nvml_device *device, int policy, struct nvml_violation *violation);
int
nvmlDeviceGetViolationStatus (struct nvml_device *device, int policy, struct nvml_violation *violation)
{
  char key[32];

  snprintf (key, sizeof key, "violation%d", policy);
  violation->time_ns = stand_in_value (device, key, (uint64_t) policy * 1000);
  return stand_in_call ("nvmlDeviceGetViolationStatus", device);
}

EXPORT int nvmlDeviceGetPcieThroughput (struct nvml_device *device, int direction, uint32_t *value);
int
nvmlDeviceGetPcieThroughput (struct nvml_device *device, int direction, uint32_t *value)
{
  *value = (uint32_t) stand_in_value (device, "pcie", 1000) + (uint32_t) direction;
  return stand_in_call ("nvmlDeviceGetPcieThroughput", device);
}

EXPORT int nvmlDeviceGetTotalEccErrors (struct nvml_device *device, int kind, int counter, uint64_t *value);
int
nvmlDeviceGetTotalEccErrors (struct nvml_device *device, int kind, int counter, uint64_t *value)
{
  char key[16];

  snprintf (key, sizeof key, "ecc%d%d", kind, counter);
  *value = stand_in_value (device, key, (uint64_t) (kind + 10 * counter));
  if (stand_in_blank ("nvmlDeviceGetTotalEccErrors", device))
    *value = UINT64_C (9007199254740992); /* what DCGM calls blank, as an integer */
  return stand_in_call ("nvmlDeviceGetTotalEccErrors", device);
}

EXPORT int nvmlDeviceGetEccMode (struct nvml_device *device, uint32_t *mode, uint32_t *pending);
int
nvmlDeviceGetEccMode (struct nvml_device *device, uint32_t *mode, uint32_t *pending)
{
  *mode = *pending = 1;
  return stand_in_call ("nvmlDeviceGetEccMode", device);
}

EXPORT int nvmlDeviceGetRetiredPages (struct nvml_device *device, int cause, uint32_t *count, uint64_t *addresses);
int
nvmlDeviceGetRetiredPages (struct nvml_device *device, int cause, uint32_t *count, uint64_t *addresses)
{
  uint32_t pages = (uint32_t) stand_in_value (device, cause ? "retired_double" : "retired_single", 0);
  bool fits = *count >= pages && addresses;

  *count = pages;
  return pages && !fits ? NVML_INSUFFICIENT_SIZE : stand_in_call ("nvmlDeviceGetRetiredPages", device);
}

EXPORT int nvmlDeviceGetRemappedRows (struct nvml_device *device, uint32_t *correctable, uint32_t *uncorrectable,
                                      uint32_t *pending, uint32_t *failed);
int
nvmlDeviceGetRemappedRows (struct nvml_device *device, uint32_t *correctable, uint32_t *uncorrectable,
                           uint32_t *pending, uint32_t *failed)
{
  *correctable = (uint32_t) stand_in_value (device, "remapped", 0);
  *uncorrectable = 0;
  *pending = (uint32_t) stand_in_value (device, "remap_pending", 0);
  *failed = 0;
  return stand_in_call ("nvmlDeviceGetRemappedRows", device);
}

/* "field 0 138 4711"; links count from there: link 3 has 4711 + 3. */
static void
field_fill (const struct nvml_device *device, struct nvml_field *field)
{
  uint64_t number = 0;

  field->result = stand_in_field (device, field->id, &number) ? NVML_OK : NVML_NOT_SUPPORTED;
  field->type = NVML_VALUE_U64;
  field->value.u64 = number + (field->scope == UINT32_MAX ? 1000 : field->scope);
}

EXPORT int nvmlDeviceGetFieldValues (struct nvml_device *device, int count, struct nvml_field *fields);
int
nvmlDeviceGetFieldValues (struct nvml_device *device, int count, struct nvml_field *fields)
{
  int result = stand_in_call ("nvmlDeviceGetFieldValues", device);
  bool blank = stand_in_blank ("nvmlDeviceGetFieldValues", device);

  for (int i = 0; i < count; i++) {
    field_fill (device, &fields[i]);
    if (blank) {
      fields[i].result = NVML_OK;
      fields[i].type = NVML_VALUE_DOUBLE;
      fields[i].value.d = i % 2 ? strtod ("nan", NULL) : 1.40737488355328e+14 * 1000;
    }
  }
  return result;
}

EXPORT int nvmlDeviceGetNvLinkState (struct nvml_device *device, int link, uint32_t *active);
int
nvmlDeviceGetNvLinkState (struct nvml_device *device, int link, uint32_t *active)
{
  uint64_t links = stand_in_value (device, "links", 4);

  *active = (uint64_t) link + 1 < links; /* the last one is down */
  return (uint64_t) link >= links ? NVML_INVALID_ARGUMENT : stand_in_call ("nvmlDeviceGetNvLinkState", device);
}

EXPORT int nvmlDeviceGetNvLinkErrorCounter (struct nvml_device *device, uint32_t link, int error, uint64_t *value);
int
nvmlDeviceGetNvLinkErrorCounter (struct nvml_device *device, uint32_t link, int error, uint64_t *value)
{
  *value = 10 * (uint64_t) error + link;
  return stand_in_call ("nvmlDeviceGetNvLinkErrorCounter", device);
}

/* ---- processes ---- */

struct listing {
  struct nvml_process *processes;
  uint32_t count, room;
};

static void
list_add (struct listing *listing, uint32_t pid, uint64_t memory)
{
  if (listing->count < listing->room)
    listing->processes[listing->count] = (struct nvml_process){ pid, memory, UINT32_MAX, UINT32_MAX };
  listing->count++;
}

static int
list (const char *function, const char *word, const struct nvml_device *device, uint32_t *count, void *infos)
{
  struct listing listing = { .processes = infos, .room = *count };
  uint64_t many = word[0] == 'p' ? stand_in_value (device, "many", 0) : 0;
  uint32_t base = (uint32_t) stand_in_value (device, "many_base", 100000);
  int result = stand_in_call (function, device);
  const char *text;

  for (unsigned at = 0; (text = stand_in_line (word, device, &at));) {
    unsigned pid;
    unsigned long long memory;

    if (sscanf (text, "%u %llu", &pid, &memory) == 2)
      list_add (&listing, pid, memory);
  }
  for (uint32_t i = 0; i < many; i++)
    list_add (&listing, base + i, 1000);
  *count = listing.count;
  return result == NVML_OK && listing.count > listing.room ? NVML_INSUFFICIENT_SIZE : result;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2 (struct nvml_device *device, uint32_t *count, void *infos);
int
nvmlDeviceGetComputeRunningProcesses_v2 (struct nvml_device *device, uint32_t *count, void *infos)
{
  return list ("nvmlDeviceGetComputeRunningProcesses_v2", "process", device, count, infos);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2 (struct nvml_device *device, uint32_t *count, void *infos);
int
nvmlDeviceGetGraphicsRunningProcesses_v2 (struct nvml_device *device, uint32_t *count, void *infos)
{
  return list ("nvmlDeviceGetGraphicsRunningProcesses_v2", "graphics", device, count, infos);
}

EXPORT int nvmlDeviceGetProcessUtilization (struct nvml_device *device, struct nvml_process_utilization *use,
                                            uint32_t *count, uint64_t since_us);
int
nvmlDeviceGetProcessUtilization (struct nvml_device *device, struct nvml_process_utilization *use, uint32_t *count,
                                 uint64_t since_us)
{
  uint32_t found = 0;
  const char *text;

  for (unsigned at = 0; (text = stand_in_line ("process", device, &at)) && found < *count; found++)
    use[found] = (struct nvml_process_utilization){ .pid = (uint32_t) strtoul (text, NULL, 10),
                                                    .time_us = stand_in_value (device, "use_time", since_us + 1),
                                                    .sm = (uint32_t) stand_in_value (device, "sm", 60),
                                                    .memory = 7 };
  *count = found;
  return found ? stand_in_call ("nvmlDeviceGetProcessUtilization", device) : NVML_NOT_FOUND;
}

EXPORT int nvmlDeviceGetAttributes_v2 (struct nvml_device *device, struct nvml_attributes *attributes);
int
nvmlDeviceGetAttributes_v2 (struct nvml_device *device, struct nvml_attributes *attributes)
{
  *attributes =
      (struct nvml_attributes){ .multiprocessors = 16, .gpu_slices = 1, .compute_slices = 1, .memory_mib = 9728 };
  return stand_in_call ("nvmlDeviceGetAttributes_v2", device);
}
