/* The list of the node's GPUs and MIG devices; see gpu.h. A GPU is identified by its UUID: it keeps its label and its counts
 * when the driver lists it in another place or no more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu.h"
#include "synop/memory.h"

static void
text_of (struct nvml_device *device, nvml_device_text_fn *call, char text[GPU_TEXT])
{
  if (!call || call (device, text, GPU_TEXT) != NVML_OK)
    text[0] = '\0';
  text[GPU_TEXT - 1] = '\0';
}

static void
gpu_describe (struct gpus *gpus, struct gpu *gpu, struct nvml_device *handle)
{
  const struct nvml *nvml = &gpus->nvml;
  struct nvml_pci pci = { .bus_id = "" };

  gpu->handle = handle;
  gpu->gpu_instance = gpu->compute_instance = UINT32_MAX;
  text_of (handle, nvml->uuid, gpu->uuid);
  text_of (handle, nvml->name, gpu->name);
  if (NVML_CALL (nvml, pci, handle, &pci) == NVML_OK) {
    memcpy (gpu->bus_id, pci.bus_id, sizeof gpu->bus_id - 1);
    gpu->domain = pci.domain;
    gpu->bus = pci.bus;
    gpu->slot = pci.device;
  }
  if (NVML_CALL (nvml, minor, handle, &gpu->minor) != NVML_OK)
    gpu->minor = UINT32_MAX;
}

/* The old GPU that is this one, if it has no place in the new list yet: the one with its UUID, or of two with the same one
 * that at its address; if the driver gives no UUID, the one at its address, or with its index. */
static struct gpu *
find_old (struct gpu *old, size_t count, const struct gpu *gpu, uint32_t index)
{
  struct gpu *found = NULL;
  char label[sizeof gpu->label];

  snprintf (label, sizeof label, "%u", index);
  for (size_t i = 0; i < count; i++) {
    bool same_place = gpu->bus_id[0] ? strcmp (old[i].bus_id, gpu->bus_id) == 0 : strcmp (old[i].label, label) == 0;
    bool same = gpu->uuid[0] && old[i].uuid[0] ? strcmp (old[i].uuid, gpu->uuid) == 0 : same_place;

    if (!old[i].label[0] || old[i].parent || !same)
      continue;
    if (same_place)
      return &old[i];
    if (!found)
      found = &old[i];
  }
  return found;
}

static bool
label_is_taken (const struct gpu *list, size_t count, const char *label)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp (list[i].label, label) == 0)
      return true;
  return false;
}

/* For the last in the list: its index in the driver's order, unless another GPU has that already. */
static void
label_choose (const struct gpus *gpus, const struct gpu *old, size_t old_count, struct gpu *gpu, uint32_t index)
{
  do
    snprintf (gpu->label, sizeof gpu->label, "%u", index++);
  while (label_is_taken (old, old_count, gpu->label) || label_is_taken (gpus->list, gpus->count - 1, gpu->label));
}

/* Takes over what outlives a new list. */
static void
gpu_inherit (struct gpu *gpu, const struct gpu *old)
{
  memcpy (gpu->label, old->label, sizeof gpu->label);
  if (!gpu->uuid[0])
    memcpy (gpu->uuid, old->uuid, sizeof gpu->uuid);
  gpu->xids = old->xids;
  gpu->xid = old->xid;
  gpu->xid_line = old->xid_line;
  gpu->lost = old->lost;
  gpu->use_seen_us = old->use_seen_us;
}

static void
label_child (struct gpu *gpu, const char *parent, uint32_t index)
{
  char label[sizeof gpu->label];

  snprintf (label, sizeof label, "%.10s:%u", parent, index % 1000);
  memcpy (gpu->label, label, sizeof label);
}

static void
list_mig (struct gpus *gpus, size_t parent_index)
{
  const struct nvml *nvml = &gpus->nvml;
  uint32_t now = 0, pending = 0, most = 0;
  struct gpu *parent = &gpus->list[parent_index];

  if (NVML_CALL (nvml, mig_mode, parent->handle, &now, &pending) != NVML_OK || now != 1 ||
      NVML_CALL (nvml, mig_count, parent->handle, &most) != NVML_OK)
    return;
  for (uint32_t i = 0; i < most && i < GPU_DEVICES_MAX && gpus->count < GPU_DEVICES_MAX; i++) {
    struct gpu *gpu = &gpus->list[gpus->count];
    struct nvml_device *handle;

    if (NVML_CALL (nvml, mig_by_index, parent->handle, i, &handle) != NVML_OK)
      continue;
    *gpu = (struct gpu){ .label = "" };
    gpu_describe (gpus, gpu, handle);
    gpu->parent = parent->handle;
    label_child (gpu, parent->label, i);
    NVML_CALL (nvml, gpu_instance, handle, &gpu->gpu_instance);
    NVML_CALL (nvml, compute_instance, handle, &gpu->compute_instance);
    parent->split = true;
    gpus->count++;
  }
}

/* A GPU without a handle has its index alone: the driver names none that it cannot reach. */
static struct gpu *
list_one (struct gpus *gpus, uint32_t index, struct gpu *old, size_t old_count)
{
  struct gpu *gpu = &gpus->list[gpus->count++], *was;
  struct nvml_device *handle = NULL;
  int result = gpus->nvml.by_index (index, &handle);

  *gpu = (struct gpu){ .label = "" };
  if (result == NVML_OK)
    gpu_describe (gpus, gpu, handle);
  gpu->result = result;
  was = find_old (old, old_count, gpu, index);
  if (was && result != NVML_OK) {
    *gpu = *was;
    gpu->handle = NULL;
    gpu->result = result;
    gpu->missing = gpu->split = false;
  } else if (was)
    gpu_inherit (gpu, was);
  else
    label_choose (gpus, old, old_count, gpu, index);
  if (was)
    was->label[0] = '\0'; /* it has its place in the new list */
  return gpu;
}

/* Keeps GPUs that are gone, at the end; MIG devices are made and removed by operators, and are not kept. */
static void
keep_missing (struct gpus *gpus, const struct gpu *old, size_t old_count)
{
  for (size_t i = 0; i < old_count && gpus->count < GPU_DEVICES_MAX; i++) {
    struct gpu *gpu = &gpus->list[gpus->count];

    if (!old[i].label[0] || old[i].parent)
      continue;
    *gpu = old[i];
    gpu->handle = NULL;
    gpu->missing = true;
    gpu->split = false;
    gpu->result = NVML_NOT_FOUND;
    gpus->count++;
  }
}

void
gpus_lose (struct gpus *gpus, int result)
{
  size_t count = gpus->count;

  gpus->count = 0;
  for (size_t i = 0; i < count; i++) {
    struct gpu *gpu = &gpus->list[gpus->count];

    if (gpus->list[i].parent)
      continue;
    *gpu = gpus->list[i];
    gpu->handle = NULL;
    gpu->split = false;
    gpu->result = result;
    gpus->count++;
  }
}

int
gpus_list (struct gpus *gpus)
{
  size_t old_count = gpus->count;
  uint32_t count = 0;
  int result = gpus->nvml.count (&count);
  struct gpu *old;

  if (result != NVML_OK)
    return result;
  old = memory_new (old_count, sizeof *old);
  memcpy (old, gpus->list, old_count * sizeof *old);
  gpus->count = 0;
  for (uint32_t i = 0; i < count && gpus->count < GPU_DEVICES_MAX; i++) {
    const struct gpu *gpu = list_one (gpus, i, old, old_count);

    if (gpu->handle)
      list_mig (gpus, (size_t) (gpu - gpus->list));
  }
  keep_missing (gpus, old, old_count);
  free (old);
  return NVML_OK;
}
