/* gpu: each NVIDIA GPU, each instance that a GPU is split into (MIG), and each AMD GPU (amdgpu.h).
 *
 * In the node's totals nothing counts twice: the memory of a GPU that is split is that of its instances, which have no
 * other values. */
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/amdgpu.h"
#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_events.h"
#include "agent/gpu/gpu_metrics.h"
#include "agent/gpu/gpu_read.h"
#include "agent/gpu/gpu_seen.h"
#include "agent/sampling/sampler.h"
#include "synop/array.h"
#include "synop/memory.h"

static const struct group group = {
  .name = "gpu",
  .section = "system_data",
  .row = "GPU",
  .rows_name = "gpus",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Use, memory, power, clocks, links and errors of each NVIDIA GPU (0), MIG instance (0:1) and AMD GPU (amd0).",
  .metrics = gpu_metrics,
  .metric_count = GPU_COLUMNS,
};

struct gpu_group {
  struct gpus *gpus;
  bool called, amd_called;
  struct gpu_reader reader;
  struct seen_gpu *seen; /* of each row of this sample */
  size_t room;
};

static void *
gpu_group_open (const struct sampler_context *context)
{
  struct gpu_group *gpu_group = memory_new (1, sizeof *gpu_group);

  gpu_group->gpus = service_take (context, &service_gpus);
  return gpu_group;
}

static void
gpu_group_close (void *state)
{
  struct gpu_group *gpu_group = state;

  service_leave (gpu_group->gpus);
  free (gpu_group->seen);
  free (gpu_group);
}

static bool
gpu_group_may_block (void *state)
{
  struct gpu_group *gpu_group = state;

  gpu_group->called = gpus_may_block (gpu_group->gpus);
  gpu_group->amd_called = amdgpus_may_block (gpu_group->gpus->amd);
  return gpu_group->called || gpu_group->amd_called;
}

static void
gpu_row (struct gpu_group *gpu_group, struct table *table, struct gpu *gpu)
{
  size_t row = table_add_row (table, gpu->label, strlen (gpu->label));
  const char *state;

  if (row == SIZE_MAX)
    return;
  if (gpu_is_queried (gpu_group->gpus, gpu))
    gpu_read (&gpu_group->reader, gpu_group->gpus, gpu, table, row);
  if (!gpu->parent) {
    table_set_uint (table, row, XID_ERRORS, gpu->xids);
    if (gpu->xids)
      table_set_uint (table, row, XID, gpu->xid);
  }
  state = gpu_state_text (gpu);
  table_set_text (table, row, STATE, state, strlen (state));
}

static uint64_t
gpu_number (const struct table *table, size_t row, size_t column)
{
  const struct value *value = table_get (table, row, column);

  return value->type == VALUE_UINT ? value->as.u : UINT64_MAX;
}

/* For the groups of jobs: the GPUs whose rows begin at `first`. */
static struct seen_gpu *
note_seen (struct gpu_group *gpu_group, const struct table *table, size_t first)
{
  array_reserve (gpu_group->seen, gpu_group->room, table->rows);
  for (size_t i = first; i < table->rows; i++)
    gpu_group->seen[i] = (struct seen_gpu){ .utilization = gpu_number (table, i, UTILIZATION),
                                            .energy_mj = gpu_number (table, i, ENERGY),
                                            .power_mw = gpu_number (table, i, POWER) };
  return gpu_group->seen;
}

static void
put_seen (const struct gpu_group *gpu_group, size_t count)
{
  struct seen_gpu *seen = gpu_seen_begin (gpu_group->gpus->seen, count);

  if (count)
    memcpy (seen, gpu_group->seen, count * sizeof *seen);
  gpu_seen_end (gpu_group->gpus->seen);
}

static int
nvidia_sample (struct gpu_group *gpu_group, struct table *table)
{
  struct gpus *gpus = gpu_group->gpus;
  int begun = gpus_begin (gpus, gpu_group->called, table), result;
  struct seen_gpu *seen;

  if (begun <= 0)
    return begun;
  gpu_events_take (gpus->events, gpus);
  for (size_t i = 0; i < gpus->count; i++)
    gpu_row (gpu_group, table, &gpus->list[i]);
  seen = note_seen (gpu_group, table, 0);
  for (size_t i = 0; i < table->rows; i++) {
    const struct gpu *gpu = &gpus->list[i];

    seen[i].split = gpu->split;
    seen[i].device = gpu->split || gpu->parent ? 0 : gpu->minor + 1;
    seen[i].instance = gpu->parent;
    memcpy (seen[i].label, gpu->label, sizeof seen[i].label);
    memcpy (seen[i].uuid, gpu->uuid, sizeof seen[i].uuid);
  }
  if (gpus->count)
    gpu_group->reader.turn = (gpu_group->reader.turn + 1) % gpus->count;
  result = gpus_add_errors (gpus, table);
  gpus_end (gpus);
  return result;
}

static int
amd_sample (struct gpu_group *gpu_group, struct table *table)
{
  struct amdgpus *amd = gpu_group->gpus->amd;
  size_t first = table->rows;
  struct seen_gpu *seen;
  int result;

  amdgpus_begin (amd);
  result = amdgpus_sample (amd, table);
  seen = note_seen (gpu_group, table, first);
  for (size_t i = first; i < table->rows; i++) {
    const struct amdgpu *gpu = &amd->list[i - first];

    seen[i].no_processes = true;
    memcpy (seen[i].label, gpu->label, sizeof seen[i].label);
    memcpy (seen[i].uuid, gpu->uuid, sizeof seen[i].uuid);
  }
  amdgpus_end (amd);
  return result;
}

/* While NVIDIA's driver is gone, the last data of its GPUs stays for the groups of jobs. */
static int
gpu_group_sample (void *state, struct table *table)
{
  struct gpu_group *gpu_group = state;
  int result = nvidia_sample (gpu_group, table);
  bool whole = result == 0 || table->rows != 0;

  if (gpu_group->amd_called && amd_sample (gpu_group, table) < 0)
    result = -1;
  if (whole)
    put_seen (gpu_group, table->rows);
  return result;
}

const struct sampler sampler_gpu = { &group,          gpu_group_may_block, gpu_group_open,       gpu_group_sample,
                                     gpu_group_close, .optional = true,    .absent = gpus_absent };
