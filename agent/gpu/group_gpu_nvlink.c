/* gpu_nvlink: traffic and errors of each NVLink of each GPU. The driver has fields for a link's errors on Hopper and newer;
 * older GPUs have a call for each error. Links that are down have rows too: one wants to find a link that should be up and
 * is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu.h"
#include "agent/sampling/sampler.h"
#include "synop/memory.h"

enum column { TX, RX, REPLAY_ERRORS, RECOVERY_ERRORS, CRC_ERRORS, ACTIVE };
#define FIELDS 5 /* the columns that the driver has fields for */

#define ERRORS(NAME, HELP)                                                                                             \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .help = HELP                                                                  \
  }

static const struct metric metrics[] = {
  [TX] = { "tx", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 1024, .help = "Data sent." },
  [RX] = { "rx", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 1024, .help = "Data received." },
  [REPLAY_ERRORS] = ERRORS ("replay_errors", "Times that data was sent again."),
  [RECOVERY_ERRORS] = ERRORS ("recovery_errors", "Times that the link recovered."),
  [CRC_ERRORS] = ERRORS ("crc_errors", "CRC errors of received data."),
  [ACTIVE] = { "active", GAUGE, UNIT_BOOLEAN, FOLD_MIN, .help = "The link is up." },
};

static const struct group group = {
  .name = "gpu_nvlink",
  .section = "system_data",
  .row = "GPU:link",
  .rows_name = "links",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Traffic and errors of each NVLink of each GPU.",
  GROUP_METRICS (metrics),
  .left_out = "AMD's GPUs; the NVLinks of MIG instances, which are those of their GPU.",
};

static const uint32_t ids[FIELDS] = { [TX] = NVML_FIELD_NVLINK_TX_KIB,
                                      [RX] = NVML_FIELD_NVLINK_RX_KIB,
                                      [REPLAY_ERRORS] = NVML_FIELD_NVLINK_REPLAY,
                                      [RECOVERY_ERRORS] = NVML_FIELD_NVLINK_RECOVERY,
                                      [CRC_ERRORS] = NVML_FIELD_NVLINK_CRC };
static const int errors[FIELDS] = {
  [REPLAY_ERRORS] = NVML_LINK_REPLAY, [RECOVERY_ERRORS] = NVML_LINK_RECOVERY, [CRC_ERRORS] = NVML_LINK_CRC_FLIT
};

struct gpu_nvlink {
  struct gpus *gpus;
  bool called;
};

static void *
gpu_nvlink_open (const struct sampler_context *context)
{
  struct gpu_nvlink *nvlink = memory_new (1, sizeof *nvlink);

  nvlink->gpus = service_take (context, &service_gpus);
  return nvlink;
}

static void
gpu_nvlink_close (void *state)
{
  struct gpu_nvlink *nvlink = state;

  service_leave (nvlink->gpus);
  free (nvlink);
}

static bool
gpu_nvlink_may_block (void *state)
{
  struct gpu_nvlink *nvlink = state;

  nvlink->called = gpus_may_block (nvlink->gpus);
  return nvlink->called;
}

/* One call for all fields of all links. */
static void
read_fields (const struct nvml *nvml, const struct gpu *gpu, struct table *table, const size_t *rows, int links)
{
  struct nvml_field fields[NVML_LINKS * FIELDS];
  int count = 0;
  bool known;
  uint64_t value;

  for (int link = 0; link < links; link++)
    for (int i = 0; i < FIELDS; i++)
      fields[count++] = (struct nvml_field){ .id = ids[i], .scope = (uint32_t) link, .result = NVML_NOT_SUPPORTED };
  known = NVML_CALL (nvml, fields, gpu->handle, count, fields) == NVML_OK;
  for (int i = 0; i < count; i++) {
    uint32_t link = (uint32_t) (i / FIELDS);
    size_t column = (size_t) (i % FIELDS);

    if (known && nvml_field_uint (&fields[i], &value))
      table_set_uint (table, rows[link], column, value);
    else if (column >= REPLAY_ERRORS &&
             NVML_CALL (nvml, link_errors, gpu->handle, link, errors[column], &value) == NVML_OK &&
             value < NVML_NO_NUMBER)
      table_set_uint (table, rows[link], column, value);
  }
}

/* Its links are numbered from 0 without gaps. */
static void
read_gpu_nvlink (struct gpus *gpus, struct gpu *gpu, struct table *table)
{
  size_t rows[NVML_LINKS];
  int links = 0;

  for (; links < NVML_LINKS; links++) {
    char label[32];
    uint32_t active = 0;
    int result = NVML_CALL (&gpus->nvml, link_state, gpu->handle, links, &active);

    if (!gpu_goes_on (gpus, gpu, result))
      return;
    if (result != NVML_OK)
      break;
    snprintf (label, sizeof label, "%s:%d", gpu->label, links);
    rows[links] = table_add_row (table, label, strlen (label));
    if (rows[links] == SIZE_MAX)
      return;
    table_set_uint (table, rows[links], ACTIVE, active == 1);
  }
  if (links)
    read_fields (&gpus->nvml, gpu, table, rows, links);
}

static int
gpu_nvlink_sample (void *state, struct table *table)
{
  struct gpu_nvlink *nvlink = state;
  struct gpus *gpus = nvlink->gpus;
  int begun = gpus_begin (gpus, nvlink->called, table);

  if (begun <= 0)
    return begun;
  for (size_t i = 0; i < gpus->count; i++)
    if (gpu_is_queried (gpus, &gpus->list[i]) && gpus->list[i].result == NVML_OK && !gpus->list[i].parent)
      read_gpu_nvlink (gpus, &gpus->list[i], table);
  gpus_end (gpus);
  return 0;
}

const struct sampler sampler_gpu_nvlink = {
  &group,           gpu_nvlink_may_block, gpu_nvlink_open,        gpu_nvlink_sample,
  gpu_nvlink_close, .optional = true,     .absent = nvidia_absent
};
