/* The stand-in's GPM. The script's keys of a GPU: "gpm 0" (it has none), "gpm2 45500" (metric 2 is 45.5; default: a tenth
 * of GPU and number), "gpm_error2 3" (that metric's own result), "gpm_nan2 1". A request is refused when it is of another
 * version, or its samples are of two devices, or lie too close together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/lib/nvml/stand_in.h"

struct nvml_gpm_sample {
  struct nvml_device device;
  bool filled;
  double seconds;
};

struct value {
  uint32_t id;
  int result;
  double value;
  const char *names[3];
};

struct request {
  uint32_t version, count;
  struct nvml_gpm_sample *older, *newer;
  struct value values[];
};

EXPORT int nvmlGpmQueryDeviceSupport (struct nvml_device *device, struct nvml_gpm_support *support);
EXPORT int nvmlGpmSampleAlloc (struct nvml_gpm_sample **sample);
EXPORT int nvmlGpmSampleFree (struct nvml_gpm_sample *sample);
EXPORT int nvmlGpmSampleGet (struct nvml_device *device, struct nvml_gpm_sample *sample);
EXPORT int nvmlGpmMigSampleGet (struct nvml_device *device, uint32_t instance, struct nvml_gpm_sample *sample);
EXPORT int nvmlGpmMetricsGet (struct request *request);

int
nvmlGpmQueryDeviceSupport (struct nvml_device *device, struct nvml_gpm_support *support)
{
  if (support->version != 1)
    return NVML_ARGUMENT_VERSION_MISMATCH;
  support->supported = (uint32_t) stand_in_value (device, "gpm", 1);
  return stand_in_call ("nvmlGpmQueryDeviceSupport", device);
}

int
nvmlGpmSampleAlloc (struct nvml_gpm_sample **sample)
{
  *sample = calloc (1, sizeof **sample);
  return *sample ? NVML_OK : NVML_UNKNOWN;
}

int
nvmlGpmSampleFree (struct nvml_gpm_sample *sample)
{
  free (sample);
  return NVML_OK;
}

static void
take (struct nvml_gpm_sample *sample, const struct nvml_device *device, int instance)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  sample->device = *device;
  sample->device.instance = instance;
  sample->seconds = (double) now.tv_sec + (double) now.tv_nsec / 1e9;
  sample->filled = true;
}

int
nvmlGpmSampleGet (struct nvml_device *device, struct nvml_gpm_sample *sample)
{
  int result = stand_in_call ("nvmlGpmSampleGet", device);

  if (device->instance >= 0)
    return NVML_INVALID_ARGUMENT;
  if (result == NVML_OK)
    take (sample, device, -1);
  return result;
}

/* The stand-in's GPU instances are numbered from 1. */
int
nvmlGpmMigSampleGet (struct nvml_device *device, uint32_t instance, struct nvml_gpm_sample *sample)
{
  int result = stand_in_call ("nvmlGpmMigSampleGet", device);

  if (device->instance >= 0 || instance == 0)
    return NVML_INVALID_ARGUMENT;
  if (result == NVML_OK)
    take (sample, device, (int) instance - 1);
  return result;
}

static uint64_t
number (const struct nvml_device *device, const char *key, uint32_t id, uint64_t otherwise)
{
  char name[32];

  snprintf (name, sizeof name, "%s%u", key, id);
  return stand_in_value (device, name, otherwise);
}

int
nvmlGpmMetricsGet (struct request *request)
{
  const struct nvml_gpm_sample *older = request->older, *newer = request->newer;
  const struct nvml_device *device = &newer->device;
  int result = stand_in_call ("nvmlGpmMetricsGet", device);

  if (request->version != 1)
    return NVML_ARGUMENT_VERSION_MISMATCH;
  if (!older->filled || !newer->filled || newer->seconds - older->seconds <= 0.1 ||
      older->device.real != device->real || older->device.instance != device->instance)
    return NVML_INVALID_ARGUMENT;
  for (uint32_t i = 0; result == NVML_OK && i < request->count; i++) {
    struct value *value = &request->values[i];

    value->result = (int) number (device, "gpm_error", value->id, NVML_OK);
    value->value = (double) number (device, "gpm", value->id, 100 * (device->real + value->id)) / 1000;
    if (number (device, "gpm_nan", value->id, 0))
      value->value = nan ("");
  }
  return result;
}
