/* The Neuron driver's sysfs; see neuron_sysfs.h.
 *
 *   /sys/devices/virtual/neuron_device/neuron0/  core_count, connected_devices
 *     info/serial_number, info/architecture/{arch_type,device_name,instance_type}
 *     stats/hardware/mem_ecc_uncorrected ...     stats/memory_usage/host_mem/tensors/total ...
 *     stats/power/utilization                    "POWER_STATUS_VALID,1748500000,0.86,25.00,18.86": least, most, mean
 *     neuron_core1/info/architecture/arch_type   neuron_core1/stats/status/success/total ...
 *     neuron_core1/stats/memory_usage/device_mem/tensors/total    neuron_core1/stats/other_info/nc_time_in_use/total
 *
 * A counter is a folder: `total` is its sum, for memory the bytes in use, `present` its last change. Some drivers
 * have a file in its place. nc_time_in_use is in microseconds. Cores are numbered through all devices. */
#include "agent/neuron/neuron_sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/neuron/neuron_files.h"
#include "agent/neuron/neuron_rows.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FOLDER "/sys/devices/virtual/neuron_device"
#define RUNTIME "driver"
#define OPEN_MAX_FILES 512 /* further files are closed after each read */
#define DEVICES_MAX 256
#define CORES_MAX 64 /* of a device */

struct item { /* a file that is read at every sample */
  struct reader reader;
  const struct neuron_file *source;
  size_t column;
  char label[32]; /* of its row */
  size_t row;     /* of the table that is being filled */
  bool absent;    /* this driver has no such file */
  bool lost;      /* the file exists and has no value */
  bool known;     /* whether there was a value before */
  uint64_t before;
  int64_t before_ns;
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
item_add (struct neuron_sysfs *sysfs, const struct neuron_file *source, const char *folder, const char *label)
{
  struct item *item;
  char path[512];

  item = array_add (sysfs->items, sysfs->count, sysfs->capacity);
  *item = (struct item){ .source = source, .column = neuron_column (sysfs->kind, source->metric) };
  snprintf (item->label, sizeof item->label, "%s", label);
  snprintf (path, sizeof path, "%s%s/%s/total", sysfs->root, folder, source->path);
  reader_init (&item->reader, sysfs->root, "%s/%s%s", folder, source->path, access (path, F_OK) == 0 ? "/total" : "");
}

static void
sources_add (struct neuron_sysfs *sysfs, enum neuron_place place, const char *folder, const char *label)
{
  for (const struct neuron_file *source = neuron_plans[sysfs->kind].sources; source && source->metric; source++)
    if (source->place == place)
      item_add (sysfs, source, folder, label);
}

/* `core`: how many cores the devices before have. Returns their number with this device's. */
static uint64_t
device_list (struct neuron_sysfs *sysfs, const char *device, uint64_t core)
{
  enum neuron_rows_of rows = neuron_plans[sysfs->kind].rows;
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
    table_set_real (table, row, item->column, item->source->meaning == POWER_MEAN ? mean : most);
}

static void
change_set (struct table *table, struct item *item, uint64_t now, int64_t now_ns)
{
  double seconds = (double) (now_ns - item->before_ns) / (double) NS_PER_S;

  if (item->known && seconds > 0 && now >= item->before) {
    double change = (double) (now - item->before) / seconds;
    double percent = change / 1e6 * 100;
    double value = item->source->meaning == RATE    ? change
                   : percent > 100 && percent < 105 ? 100 /* read a little later */
                                                    : percent;

    if (neuron_can_be (GAUGE, value))
      table_set_real (table, item->row, item->column, value);
  }
  item->known = true;
  item->before = now;
  item->before_ns = now_ns;
}

/* Several files may add up to one value. Without a value of one the sum is lost; but a count stays as it was. */
static void
total_add (struct table *table, struct item *item, bool read, uint64_t number)
{
  enum metric_kind kind = table->group->metrics[item->column].kind;
  const struct value *value = table_get (table, item->row, item->column);
  uint64_t sum = value->type == VALUE_UINT ? value->as.u : 0;

  if (read && neuron_can_be (kind, (double) number)) {
    item->before = number;
    item->known = true;
  } else if (kind != COUNTER) {
    item->known = false;
  }
  item->lost = !item->known || !neuron_can_be (kind, (double) sum + (double) item->before);
  if (!item->lost)
    table_set_uint (table, item->row, item->column, sum + item->before);
}

/* All bits set means that the driver has no number. */
static bool
number_read (const char *text, int length, uint64_t *number)
{
  struct scan rest = scan_over (text, length > 0 ? (size_t) length : 0);

  return scan_uint (&rest, number) && *number != UINT64_MAX &&
         (rest.at == rest.end || isspace ((unsigned char) *rest.at));
}

static void
item_sample (struct item *item, bool keep_open, struct table *table)
{
  char text[128];
  int length;
  uint64_t number = 0;
  bool read;

  if (item->absent)
    return;
  length = reader_read_value (&item->reader, text, sizeof text);
  item->absent = length == -EISDIR || (length < 0 && access (item->reader.path, F_OK) < 0);
  if (!keep_open)
    reader_close (&item->reader);
  if (item->absent)
    return;
  if (item->source->meaning >= POWER_MEAN) {
    power_set (table, item->row, item, text);
    return;
  }
  read = number_read (text, length, &number);
  if (item->source->meaning == TOTAL)
    total_add (table, item, read, number);
  else if (read)
    change_set (table, item, number, clock_monotonic ());
}

/* ---- facts ---- */

static void
text_set (struct table *table, size_t row, enum neuron_kind kind, const char *metric, const char *text)
{
  table_set_string (table, row, neuron_column (kind, metric), text);
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
  if (fact_uint (&cores, sysfs->root, FOLDER "/%s/core_count", device) && neuron_can_be (GAUGE, (double) cores))
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

static void
items_sample (struct neuron_sysfs *sysfs, struct table *table)
{
  size_t row = 0;

  for (size_t i = 0; i < sysfs->count; i++) {
    struct item *item = &sysfs->items[i];
    size_t length = strlen (item->label);

    item->lost = false;
    row = table_find_row (table, item->label, length, row);
    if (row == SIZE_MAX)
      row = table_add_row (table, item->label, length);
    if (row == SIZE_MAX)
      continue;
    item->row = row;
    item_sample (item, i < OPEN_MAX_FILES, table);
  }
  for (size_t i = 0; i < sysfs->count; i++)
    if (sysfs->items[i].lost)
      *table_value (table, sysfs->items[i].row, sysfs->items[i].column) = (struct value){ .type = VALUE_MISSING };
}

int
neuron_sysfs_sample (struct neuron_sysfs *sysfs, struct table *table)
{
  if (folder_changed (&sysfs->watch) || sysfs->devices.count == 0)
    devices_list (sysfs);
  if (sysfs->devices.count == 0) {
    snprintf (table->error, sizeof table->error, "the driver shows no Neuron device in " FOLDER);
    return -1;
  }
  if (sysfs->kind == NEURON_HARDWARE)
    hardware_sample (sysfs, table);
  if (sysfs->kind == NEURON_RUNTIMES)
    text_set (table, table_add_row (table, RUNTIME, strlen (RUNTIME)), NEURON_RUNTIMES, "source", "driver");
  items_sample (sysfs, table);
  return 0;
}
