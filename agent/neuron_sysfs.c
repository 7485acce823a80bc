/* The Neuron driver's sysfs; see neuron_sysfs.h.
 *
 *   /sys/devices/virtual/neuron_device/neuron0/  core_count, connected_devices
 *     info/serial_number, info/architecture/{arch_type,device_name,instance_type}
 *     stats/hardware/mem_ecc_uncorrected ...     stats/memory_usage/host_mem/tensors/total ...
 *     stats/power/utilization                    "POWER_STATUS_VALID,1748500000,0.86,25.00,18.86": least, most, mean
 *     neuron_core1/info/architecture/arch_type   neuron_core1/stats/status/success/total ...
 *     neuron_core1/stats/memory_usage/device_mem/tensors/total    neuron_core1/stats/other_info/nc_time_in_use/total
 *
 * A counter is a folder: `total` is its sum, for memory what is in use, `present` the last change of it. Some drivers
 * have a file in its place. nc_time_in_use is in microseconds. Cores are numbered through all devices. */
#include "agent/neuron_sysfs.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/facts.h"
#include "agent/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FOLDER "/sys/devices/virtual/neuron_device"
#define RUNTIME "driver"
#define OPEN_MAX_FILES 512 /* files over that are closed after each read */
#define DEVICES_MAX 256
#define CORES_MAX 64 /* of a device */

enum place { OF_DEVICE, OF_CORE };
enum how { TOTAL, RATE, SHARE, POWER_MEAN, POWER_MOST }; /* RATE: change a second; SHARE: of microseconds, in percent */

struct source {
  const char *metric;
  const char *path;
  enum place place;
  enum how how;
};

#define STATUS(METRIC, NAME)                                                                                           \
  {                                                                                                                    \
    METRIC, "stats/status/" NAME, OF_CORE                                                                              \
  }
#define DEVICE_MEMORY(METRIC, NAME)                                                                                    \
  {                                                                                                                    \
    METRIC, "stats/memory_usage/device_mem/" NAME, OF_CORE                                                             \
  }
#define HOST_MEMORY(METRIC, NAME)                                                                                      \
  {                                                                                                                    \
    METRIC, "stats/memory_usage/host_mem/" NAME, OF_DEVICE                                                             \
  }
#define HARDWARE(NAME)                                                                                                 \
  {                                                                                                                    \
    NAME, "stats/hardware/" NAME, OF_DEVICE                                                                            \
  }

static const struct source of_cores[] = {
  { "neuroncore_utilization", "stats/other_info/nc_time_in_use", OF_CORE, SHARE },
  { "flops", "stats/other_info/flop_count", OF_CORE, RATE },
  { NULL },
};
static const struct source of_executions[] = {
  STATUS ("completed", "success"),
  STATUS ("completed_with_err", "infer_completed_with_error"),
  STATUS ("completed_with_num_err", "infer_completed_with_num_error"),
  STATUS ("timed_out", "timeout"),
  STATUS ("incorrect_input", "exec_bad_input"),
  STATUS ("failed_to_queue", "infer_failed_to_queue"),
  STATUS ("errors_generic", "failure"),
  STATUS ("errors_generic", "generic_error"),
  STATUS ("errors_model", "unsupported_neff_version"),
  STATUS ("errors_runtime", "invalid_error"),
  STATUS ("errors_runtime", "oob_error"),
  STATUS ("errors_runtime", "resource_error"),
  STATUS ("errors_runtime", "resource_nc_error"),
  STATUS ("errors_hardware", "hw_error"),
  { NULL },
};
static const struct source of_memory[] = {
  HOST_MEMORY ("host", "application_memory"),
  HOST_MEMORY ("host", "constants"),
  HOST_MEMORY ("host", "dma_buffers"),
  HOST_MEMORY ("host", "dma_rings"),
  HOST_MEMORY ("host", "driver_memory"),
  HOST_MEMORY ("host", "notifications"),
  HOST_MEMORY ("host", "tensors"),
  HOST_MEMORY ("host", "uncategorized"),
  HOST_MEMORY ("host_application_memory", "application_memory"),
  HOST_MEMORY ("host_constants", "constants"),
  HOST_MEMORY ("host_dma_buffers", "dma_buffers"),
  HOST_MEMORY ("host_tensors", "tensors"),
  DEVICE_MEMORY ("neuron_device", "collectives"),
  DEVICE_MEMORY ("neuron_device", "constants"),
  DEVICE_MEMORY ("neuron_device", "dma_rings"),
  DEVICE_MEMORY ("neuron_device", "driver_memory"),
  DEVICE_MEMORY ("neuron_device", "model_code"),
  DEVICE_MEMORY ("neuron_device", "model_shared_scratchpad"),
  DEVICE_MEMORY ("neuron_device", "nonshared_scratchpad"),
  DEVICE_MEMORY ("neuron_device", "notifications"),
  DEVICE_MEMORY ("neuron_device", "runtime_memory"),
  DEVICE_MEMORY ("neuron_device", "tensors"),
  DEVICE_MEMORY ("neuron_device", "uncategorized"),
  { NULL },
};
static const struct source of_core_memory[] = {
  DEVICE_MEMORY ("constants", "constants"),
  DEVICE_MEMORY ("model_code", "model_code"),
  DEVICE_MEMORY ("model_shared_scratchpad", "model_shared_scratchpad"),
  DEVICE_MEMORY ("runtime_memory", "runtime_memory"),
  DEVICE_MEMORY ("tensors", "tensors"),
  { NULL },
};
static const struct source of_devices[] = {
  HARDWARE ("mem_ecc_corrected"),
  HARDWARE ("mem_ecc_uncorrected"),
  HARDWARE ("mem_ecc_repairable_uncorrected"),
  HARDWARE ("sram_ecc_corrected"),
  HARDWARE ("sram_ecc_uncorrected"),
  { "power_average", "stats/power/utilization", OF_DEVICE, POWER_MEAN },
  { "power_max", "stats/power/utilization", OF_DEVICE, POWER_MOST },
  { NULL },
};

/* Which row a value goes to. */
enum rows { NO_ROWS, ROW_OF_ALL, ROW_OF_CORE, ROW_OF_DEVICE };
static const struct plan {
  enum rows rows;
  const struct source *sources;
} plans[NEURON_KINDS] = {
  [NEURON_RUNTIMES] = { ROW_OF_ALL, NULL },
  [NEURON_CORES] = { ROW_OF_CORE, of_cores },
  [NEURON_EXECUTIONS] = { ROW_OF_ALL, of_executions },
  [NEURON_MEMORY] = { ROW_OF_ALL, of_memory },
  [NEURON_CORE_MEMORY] = { ROW_OF_CORE, of_core_memory },
  [NEURON_DEVICES] = { ROW_OF_DEVICE, of_devices },
  [NEURON_HARDWARE] = { ROW_OF_DEVICE, NULL },
};

struct item { /* a file that is read at every sample */
  struct reader reader;
  const struct source *source;
  size_t column;
  char label[32]; /* of its row */
  bool absent;    /* this driver has no such file */
  uint64_t before;
  int64_t before_ns; /* 0: there was none */
};

struct neuron_sysfs {
  char *root;
  enum neuron_kind kind;
  struct folder_watch watch;
  struct names devices;
  struct item *items; /* in order of rows */
  size_t count, capacity;
};

struct neuron_sysfs *
neuron_sysfs_create (const char *root, enum neuron_kind kind)
{
  struct neuron_sysfs *sysfs = memory_new (1, sizeof *sysfs);

  sysfs->root = memory_string (root);
  sysfs->kind = kind;
  folder_watch_init (&sysfs->watch, root, FOLDER);
  return sysfs;
}

static void
items_free (struct neuron_sysfs *sysfs)
{
  for (size_t i = 0; i < sysfs->count; i++)
    reader_free (&sysfs->items[i].reader);
  sysfs->count = 0;
}

void
neuron_sysfs_destroy (struct neuron_sysfs *sysfs)
{
  if (!sysfs)
    return;
  items_free (sysfs);
  free (sysfs->items);
  names_free (&sysfs->devices);
  folder_watch_free (&sysfs->watch);
  free (sysfs->root);
  free (sysfs);
}

bool
neuron_sysfs_exists (const char *root)
{
  struct names devices = { 0 };
  bool exists;

  names_read (&devices, "neuron", root, FOLDER);
  exists = devices.count != 0;
  names_free (&devices);
  return exists;
}

/* ---- which files there are ---- */

static void
item_add (struct neuron_sysfs *sysfs, const struct source *source, const char *folder, const char *label)
{
  struct item *item;
  char path[512];

  if (sysfs->count == sysfs->capacity) {
    sysfs->capacity = sysfs->capacity ? 2 * sysfs->capacity : 64;
    sysfs->items = memory_resize (sysfs->items, sysfs->capacity, sizeof *sysfs->items);
  }
  item = &sysfs->items[sysfs->count++];
  *item = (struct item){ .source = source, .column = neuron_column (sysfs->kind, source->metric) };
  snprintf (item->label, sizeof item->label, "%s", label);
  snprintf (path, sizeof path, "%s%s/%s/total", sysfs->root, folder, source->path);
  reader_init (&item->reader, sysfs->root, "%s/%s%s", folder, source->path, access (path, F_OK) == 0 ? "/total" : "");
}

static void
sources_add (struct neuron_sysfs *sysfs, enum place place, const char *folder, const char *label)
{
  for (const struct source *source = plans[sysfs->kind].sources; source && source->metric; source++)
    if (source->place == place)
      item_add (sysfs, source, folder, label);
}

/* `core`: how many cores the devices before have. Returns how many there are with this one's. */
static uint64_t
device_list (struct neuron_sysfs *sysfs, const char *device, uint64_t core)
{
  enum rows rows = plans[sysfs->kind].rows;
  struct names cores = { 0 };
  char folder[256], label[32];

  snprintf (folder, sizeof folder, FOLDER "/%.64s", device);
  snprintf (label, sizeof label, "%.20s", rows == ROW_OF_DEVICE ? device + strlen ("neuron") : RUNTIME);
  sources_add (sysfs, OF_DEVICE, folder, label);
  names_read (&cores, "neuron_core", sysfs->root, "%s", folder);
  for (size_t i = 0; i < cores.count && i < CORES_MAX; i++, core++) {
    snprintf (folder, sizeof folder, FOLDER "/%.64s/%.64s", device, cores.list[i]);
    if (rows == ROW_OF_CORE)
      snprintf (label, sizeof label, RUNTIME "/%llu", (unsigned long long) core);
    sources_add (sysfs, OF_CORE, folder, label);
  }
  names_free (&cores);
  return core;
}

static void
devices_list (struct neuron_sysfs *sysfs)
{
  uint64_t core = 0;

  items_free (sysfs);
  names_read (&sysfs->devices, "neuron", sysfs->root, FOLDER);
  for (size_t i = 0; i < sysfs->devices.count && i < DEVICES_MAX; i++)
    core = device_list (sysfs, sysfs->devices.list[i], core);
}

/* ---- values ---- */

/* STATUS,TIME,LEAST,MOST,MEAN */
static void
power_set (struct table *table, size_t row, const struct item *item, const char *text)
{
  double least, most, mean;

  if (sscanf (text, "POWER_STATUS_VALID,%*[0-9],%lf,%lf,%lf", &least, &most, &mean) != 3)
    return;
  if (most >= 0 && most <= 100 && mean >= 0 && mean <= 100)
    table_set_real (table, row, item->column, item->source->how == POWER_MEAN ? mean : most);
}

static void
change_set (struct table *table, size_t row, struct item *item, uint64_t now, int64_t now_ns)
{
  double seconds = (double) (now_ns - item->before_ns) / (double) NS_PER_S;

  if (item->before_ns && seconds > 0 && now >= item->before) {
    double change = (double) (now - item->before) / seconds;
    double percent = change / 1e6 * 100;

    table_set_real (table, row, item->column,
                    item->source->how == RATE        ? change
                    : percent > 100 && percent < 105 ? 100 /* read a little later */
                                                     : percent);
  }
  item->before = now;
  item->before_ns = now_ns;
}

/* Several files may add up to one value. */
static void
total_add (struct table *table, size_t row, const struct item *item, uint64_t number)
{
  const struct value *sum = table_get (table, row, item->column);

  table_set_uint (table, row, item->column, number + (sum->type == VALUE_UINT ? sum->as.u : 0));
}

static void
item_sample (struct item *item, bool keep_open, struct table *table, size_t row)
{
  char text[128], *end;
  int length;
  uint64_t number;

  if (item->absent)
    return;
  length = reader_read_value (&item->reader, text, sizeof text);
  item->absent = length < 0 && access (item->reader.path, F_OK) < 0;
  if (!keep_open)
    reader_close (&item->reader);
  if (length <= 0)
    return;
  if (item->source->how >= POWER_MEAN) {
    power_set (table, row, item, text);
    return;
  }
  number = strtoull (text, &end, 10);
  if (end == text || text[0] == '-')
    return;
  if (item->source->how == TOTAL)
    total_add (table, row, item, number);
  else
    change_set (table, row, item, number, clock_monotonic ());
}

/* ---- what is told once ---- */

static void
text_set (struct table *table, size_t row, enum neuron_kind kind, const char *metric, const char *text)
{
  if (text[0])
    table_set_text (table, row, neuron_column (kind, metric), text, strlen (text));
}

static void
hardware_set (const struct neuron_sysfs *sysfs, const char *device, struct table *table, size_t row)
{
  static const struct {
    const char *metric, *path;
  } facts[] = {
    { "neuron_device_type", "info/architecture/device_name" },
    { "neuron_device_version", "info/architecture/arch_type" },
    { "neuroncore_version", "neuron_core0/info/architecture/arch_type" },
    { "connected_devices", "connected_devices" },
    { "serial_number", "info/serial_number" },
  };
  char text[128];
  uint64_t cores;

  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    fact_text (text, sizeof text, sysfs->root, FOLDER "/%s/%s", device, facts[i].path);
    text_set (table, row, NEURON_HARDWARE, facts[i].metric, text);
  }
  if (fact_uint (&cores, sysfs->root, FOLDER "/%s/core_count", device))
    table_set_uint (table, row, neuron_column (NEURON_HARDWARE, "neuroncore_per_device_count"), cores);
}

static void
hardware_sample (const struct neuron_sysfs *sysfs, struct table *table)
{
  for (size_t i = 0; i < sysfs->devices.count && i < DEVICES_MAX; i++) {
    const char *device = sysfs->devices.list[i], *number = device + strlen ("neuron");
    size_t row = table_add_row (table, number, strlen (number));

    hardware_set (sysfs, device, table, row);
  }
  if (sysfs->devices.count)
    table_set_uint (table, TABLE_NODE, neuron_column (NEURON_HARDWARE, "neuron_device_count"), sysfs->devices.count);
}

int
neuron_sysfs_sample (struct neuron_sysfs *sysfs, struct table *table)
{
  size_t row = SIZE_MAX;

  if (folder_changed (&sysfs->watch) || sysfs->devices.count == 0)
    devices_list (sysfs);
  if (sysfs->devices.count == 0) {
    snprintf (table->error, sizeof table->error, "the driver tells of no Neuron device in " FOLDER);
    return -1;
  }
  if (sysfs->kind == NEURON_HARDWARE)
    hardware_sample (sysfs, table);
  if (sysfs->kind == NEURON_RUNTIMES)
    text_set (table, table_add_row (table, RUNTIME, strlen (RUNTIME)), NEURON_RUNTIMES, "source", "driver");
  for (size_t i = 0; i < sysfs->count; i++) {
    struct item *item = &sysfs->items[i];
    size_t length = strlen (item->label);

    row = table_find_row (table, item->label, length, row == SIZE_MAX ? 0 : row);
    if (row == SIZE_MAX)
      row = table_add_row (table, item->label, length);
    if (row != SIZE_MAX)
      item_sample (item, i < OPEN_MAX_FILES, table, row);
  }
  return 0;
}
