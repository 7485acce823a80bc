/* thermal: temperatures, and how often the CPUs were slowed down for the heat.
 *
 *   /sys/class/thermal/thermal_zone0/{type,temp}          "x86_pkg_temp", "49925": thousandths of a degree
 *   /sys/class/hwmon/hwmon2/{name,temp1_input,temp1_label}  "k10temp", "45125", "Tctl"
 *   /sys/devices/system/cpu/cpu0/thermal_throttle/{core,package}_throttle_count
 *
 * Zones alone are not enough: AMD's CPUs and many boards have sensors only under hwmon. A sensor there that repeats a
 * zone is left out, and so are those of the single cores. Some sensors ask firmware or a disk: where there are any the
 * sample may block. The throttle counts stand at every CPU; one CPU of each core and of each package is enough. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "agent/source/topology.h"
#include "synop/memory.h"

enum column { TEMPERATURE, TYPE, CORE_THROTTLES, PACKAGE_THROTTLES };

static const struct metric metrics[] = {
  [TEMPERATURE] = { "temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX, .per = 1000, .help = "Temperature." },
  [TYPE] = { "type", TEXT, UNIT_NONE, FOLD_NONE,
             .help = "What is measured: a zone's type, or a sensor's chip and label." },
  [CORE_THROTTLES] = { "core_throttle_count", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE,
                       .source = "core_throttle_count", .help = "Times that cores were slowed down for their heat." },
  [PACKAGE_THROTTLES] = { "package_throttle_count", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE,
                          .source = "package_throttle_count",
                          .help = "Times that CPU packages were slowed down for their heat." },
};

static const struct group group = {
  .name = "thermal",
  .section = "system_data",
  .row = "zone",
  .rows_name = "zones",
  .fold_name = "highest",
  .flags = GROUP_ROWS,
  .help = "Temperature of each thermal zone and sensor, and how often the CPUs were slowed down for the heat.",
  GROUP_METRICS (metrics),
  .left_out = "sensors of single cores, whose label begins with \"Core \": the package has a sensor of its own; "
              "chips of hwmon that repeat a thermal zone.",
};

struct sensor {
  char *label; /* "thermal_zone0", "hwmon2/temp1" */
  char *type;
  struct reader reader;
};

struct throttle {
  size_t column;
  struct reader reader;
};

#define LIST_SAMPLES 60 /* sensors are listed anew after so many */

struct thermal {
  char *root; /* a copy: see worker.h */
  struct sensor *sensors;
  size_t sensor_count;
  struct throttle *throttles;
  size_t throttle_count;
  unsigned samples;
  struct names zones, chips; /* the folders that the next sample lists */
  bool looked;               /* zones and chips are read */
};

static void
sensor_add (struct thermal *thermal, char *label, char *type, const char *path)
{
  struct sensor *sensor;

  thermal->sensors = memory_resize (thermal->sensors, thermal->sensor_count + 1, sizeof *sensor);
  sensor = &thermal->sensors[thermal->sensor_count++];
  *sensor = (struct sensor){ .label = label, .type = type };
  reader_init (&sensor->reader, thermal->root, "%s", path);
}

/* The names alone: no sensor is asked. */
static void
sensors_look (struct thermal *thermal)
{
  if (thermal->looked || thermal->samples % LIST_SAMPLES != 0)
    return;
  names_read (&thermal->zones, "thermal_zone", thermal->root, "/sys/class/thermal");
  names_read (&thermal->chips, "hwmon", thermal->root, "/sys/class/hwmon");
  thermal->looked = true;
}

static bool
thermal_may_block (void *state)
{
  struct thermal *thermal = state;

  sensors_look (thermal);
  return thermal->sensor_count > 0 || thermal->zones.count > 0 || thermal->chips.count > 0;
}

static void
zones_list (struct thermal *thermal)
{
  char type[128], path[512];

  for (size_t i = 0; i < thermal->zones.count; i++) {
    const char *zone = thermal->zones.list[i];
    fact_text (type, sizeof type, thermal->root, "/sys/class/thermal/%s/type", zone);
    snprintf (path, sizeof path, "/sys/class/thermal/%s/temp", zone);
    sensor_add (thermal, memory_string (zone), memory_string (type), path);
  }
}

/* `input` is "temp1_input". */
static void
hwmon_sensor (struct thermal *thermal, const char *chip, const char *name, const char *input)
{
  int length = (int) strcspn (input, "_");
  char label[128], path[512];

  if (strcmp (input + length, "_input") != 0)
    return;
  fact_text (label, sizeof label, thermal->root, "/sys/class/hwmon/%s/%.*s_label", chip, length, input);
  if (strncmp (label, "Core ", strlen ("Core ")) == 0)
    return;
  snprintf (path, sizeof path, "/sys/class/hwmon/%s/%s", chip, input);
  sensor_add (thermal, memory_format ("%s/%.*s", chip, length, input),
              label[0] ? memory_format ("%s %s", name, label) : memory_string (name), path);
}

static void
hwmon_list (struct thermal *thermal)
{
  struct names inputs = { 0 };
  char name[128], zone[128];

  for (size_t i = 0; i < thermal->chips.count; i++) {
    const char *chip = thermal->chips.list[i];
    fact_text (name, sizeof name, thermal->root, "/sys/class/hwmon/%s/name", chip);
    if (fact_text (zone, sizeof zone, thermal->root, "/sys/class/hwmon/%s/device/type", chip) &&
        fact_text (zone, sizeof zone, thermal->root, "/sys/class/hwmon/%s/device/temp", chip))
      continue;
    names_read (&inputs, "temp", thermal->root, "/sys/class/hwmon/%s", chip);
    for (size_t j = 0; j < inputs.count; j++)
      hwmon_sensor (thermal, chip, name, inputs.list[j]);
  }
  names_free (&inputs);
}

static void
throttle_add (struct thermal *thermal, unsigned cpu, size_t column)
{
  struct throttle *throttle;
  uint64_t count;

  if (!fact_uint (&count, thermal->root, "/sys/devices/system/cpu/cpu%u/thermal_throttle/%s", cpu,
                  metrics[column].source))
    return;
  thermal->throttles = memory_resize (thermal->throttles, thermal->throttle_count + 1, sizeof *throttle);
  throttle = &thermal->throttles[thermal->throttle_count++];
  throttle->column = column;
  reader_init (&throttle->reader, thermal->root, "/sys/devices/system/cpu/cpu%u/thermal_throttle/%s", cpu,
               metrics[column].source);
}

static void
throttles_list (struct thermal *thermal)
{
  struct topology topology = { 0 };

  topology_read (&topology, thermal->root);
  for (size_t i = 0; i < topology.count; i++) {
    if (topology.cpus[i].first_of_core)
      throttle_add (thermal, topology.cpus[i].number, CORE_THROTTLES);
    if (topology.cpus[i].first_of_package)
      throttle_add (thermal, topology.cpus[i].number, PACKAGE_THROTTLES);
  }
  topology_free (&topology);
}

static void
sensors_free (struct thermal *thermal)
{
  for (size_t i = 0; i < thermal->sensor_count; i++) {
    reader_free (&thermal->sensors[i].reader);
    free (thermal->sensors[i].label);
    free (thermal->sensors[i].type);
  }
  free (thermal->sensors);
  thermal->sensors = NULL;
  thermal->sensor_count = 0;
}

static void
sensors_list (struct thermal *thermal)
{
  sensors_free (thermal);
  zones_list (thermal);
  hwmon_list (thermal);
  names_free (&thermal->zones);
  names_free (&thermal->chips);
  thermal->looked = false;
}

static void *
thermal_open (const struct sampler_context *context)
{
  struct thermal *thermal = memory_new (1, sizeof *thermal);

  thermal->root = memory_string (context->root);
  return thermal;
}

static int
thermal_sample (void *state, struct table *table)
{
  struct thermal *thermal = state;
  struct value value;

  if (thermal->samples == 0)
    throttles_list (thermal);
  sensors_look (thermal);
  if (thermal->looked)
    sensors_list (thermal);
  thermal->samples++;
  for (size_t i = 0; i < thermal->sensor_count; i++) {
    struct sensor *sensor = &thermal->sensors[i];
    size_t row = table_add_row (table, sensor->label, strlen (sensor->label));
    if (row == SIZE_MAX)
      break;
    reader_read_number (&sensor->reader, GAUGE, table_value (table, row, TEMPERATURE), table);
    table_set_text (table, row, TYPE, sensor->type, strlen (sensor->type));
  }
  for (size_t i = 0; i < thermal->throttle_count; i++) {
    reader_read_number (&thermal->throttles[i].reader, COUNTER, &value, table);
    parse_add (table_value (table, TABLE_NODE, thermal->throttles[i].column), &value);
  }
  return 0;
}

static void
thermal_close (void *state)
{
  struct thermal *thermal = state;

  sensors_free (thermal);
  names_free (&thermal->zones);
  names_free (&thermal->chips);
  for (size_t i = 0; i < thermal->throttle_count; i++)
    reader_free (&thermal->throttles[i].reader);
  free (thermal->throttles);
  free (thermal->root);
  free (thermal);
}

const struct sampler sampler_thermal = { &group, thermal_may_block, thermal_open, thermal_sample, thermal_close };
