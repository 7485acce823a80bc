/* hwmon: every sensor of the machine as its drivers show it: temperatures with their limits, fans, power, energy.
 *
 *   /sys/class/hwmon/hwmon2/name                          "coretemp"
 *   /sys/class/hwmon/hwmon2/temp1_{input,max,crit,crit_hyst,crit_alarm,label}    thousandths of a degree, "Core 0"
 *   /sys/class/hwmon/hwmon2/fan1_{input,min}              revolutions a minute
 *   /sys/class/hwmon/hwmon2/power1_{input,average}        millionths of a watt
 *   /sys/class/hwmon/hwmon2/energy1_input                 millionths of a joule
 *
 * hwmon's numbers change from boot to boot, so a chip is named after its device, as node-exporter does: "platform_coretemp_0".
 * It has a row too, which says its driver.
 * A read may wake a core, a disk or the firmware: that is why the group is sampled every 10 s and in a thread (thermal
 * has the hottest spots every second). Limits and labels are read when the sensors are listed. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LIST_SAMPLES 30 /* sensors are listed anew after so many */
#define CHIP_MAX 96

enum column {
  TEMPERATURE,
  FAN,
  POWER,
  ENERGY,
  INPUTS,
  MAX = INPUTS,
  CRITICAL,
  HYSTERESIS,
  FAN_MINIMUM,
  LIMITS,
  ALARM = LIMITS,
  LABEL,
  CHIP_NAME
};

#define LIMIT(NAME, SUFFIX, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_CELSIUS, FOLD_NONE, .per = 1000, .source = SUFFIX, .help = HELP                                  \
  }

static const struct metric metrics[] = {
  [TEMPERATURE] = { "temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX, .per = 1000, .help = "Temperature." },
  [FAN] = { "fan", GAUGE, UNIT_COUNT, FOLD_NONE, .help = "Revolutions a minute of a fan." },
  [POWER] = { "power", GAUGE, UNIT_WATTS, FOLD_NONE, .per = 1000000, .help = "Power." },
  [ENERGY] = { "energy", COUNTER, UNIT_JOULES, FOLD_NONE, .per = 1000000, .help = "Energy." },
  [MAX] = LIMIT ("temperature_max", "max", "Temperature from which it is too warm."),
  [CRITICAL] = LIMIT ("temperature_critical", "crit", "Temperature from which it is damaged or turns itself off."),
  [HYSTERESIS] = LIMIT ("temperature_critical_hysteresis", "crit_hyst",
                        "Temperature below which an alarm of temperature_critical ends."),
  [FAN_MINIMUM] = { "fan_minimum", GAUGE, UNIT_COUNT, FOLD_NONE, .source = "min",
                    .help = "Revolutions a minute below which a fan is too slow." },
  [ALARM] = { "critical_alarm", GAUGE, UNIT_BOOLEAN, FOLD_MAX, .help = "1 while it is over temperature_critical." },
  [LABEL] = { "label", TEXT, UNIT_NONE, FOLD_NONE, .help = "What the driver says that it measures." },
  [CHIP_NAME] = { "chip_name", TEXT, UNIT_NONE, FOLD_NONE, .help = "Of a chip: name of its driver." },
};

static const struct group group = {
  .name = "hwmon",
  .section = "system_data",
  .row = "sensor",
  .rows_name = "sensors",
  .fold_name = "highest",
  .flags = GROUP_ROWS,
  .help =
      "Every sensor of the machine as its drivers show it, by chip and sensor: temperatures and their limits, fans, "
      "power, energy. At most every 10 s.",
  GROUP_METRICS (metrics),
  .left_out = "voltages, currents, humidity.",
};

struct sensor {
  char *name;         /* "platform_coretemp_0/temp1" */
  char label[64];     /* of a chip: its driver */
  enum column column; /* CHIP_NAME: it is a chip */
  struct reader input, alarm;
  struct value limits[LIMITS - INPUTS];
};

struct hwmon {
  char *root; /* a copy: see worker.h */
  struct sensor *sensors;
  size_t count;
  unsigned samples;
  struct names chips; /* the folders that the next sample lists */
  bool looked;        /* zones and chips are read */
};

/* ---- the list ---- */

/* Lower case; what is no letter, digit or ':' becomes '_', without those at the ends. */
static void
clean (char *text)
{
  size_t length = strlen (text), from;

  for (char *c = text; *c; c++)
    *c = isalnum ((unsigned char) *c) || *c == ':' ? (char) tolower ((unsigned char) *c) : '_';
  while (length > 0 && text[length - 1] == '_')
    text[--length] = '\0';
  from = strspn (text, "_");
  memmove (text, text + from, length - from + 1);
}

/* "/sys/devices/platform/coretemp.0" is "platform_coretemp_0"; a chip without a device has its driver's name. */
static void
chip_place (char place[CHIP_MAX], const struct hwmon *hwmon, const char *chip, const char *driver)
{
  char path[512], real[PATH_MAX], *device = NULL, *bus = NULL;

  snprintf (path, sizeof path, "%s/sys/class/hwmon/%s/device", hwmon->root, chip);
  if (realpath (path, real) && (device = strrchr (real, '/'))) {
    *device++ = '\0';
    bus = strrchr (real, '/');
    clean (device);
    if (bus)
      clean (++bus);
  }
  if (device && *device)
    snprintf (place, CHIP_MAX, "%.40s%s%.50s", bus ? bus : "", bus && *bus ? "_" : "", device);
  else
    snprintf (place, CHIP_MAX, "%.90s", driver[0] ? driver : chip);
  clean (place);
}

static struct value
read_limit (const struct hwmon *hwmon, const char *chip, const char *sensor, const char *suffix)
{
  struct value value = { .type = VALUE_MISSING };
  char text[32];
  struct scan scan;

  if (!fact_text (text, sizeof text, hwmon->root, "/sys/class/hwmon/%s/%s_%s", chip, sensor, suffix))
    return value;
  scan = scan_over (text, strlen (text));
  scan_value (&scan, GAUGE, &value);
  return value;
}

/* power1_average and power1_input are of one sensor, and two chips may have one name: a row is there once. */
static bool
sensor_find (const struct hwmon *hwmon, const char *place, const char *input)
{
  size_t length = strlen (place), sensor = strcspn (input, "_");

  for (size_t i = 0; i < hwmon->count; i++) {
    const char *name = hwmon->sensors[i].name;
    if (strncmp (name, place, length) == 0 && name[length] == '/' && strncmp (name + length + 1, input, sensor) == 0 &&
        name[length + 1 + sensor] == '\0')
      return true;
  }
  return false;
}

static struct sensor *
row_add (struct hwmon *hwmon, char *name, enum column column)
{
  hwmon->sensors = memory_resize (hwmon->sensors, hwmon->count + 1, sizeof *hwmon->sensors);
  hwmon->sensors[hwmon->count] = (struct sensor){ .name = name, .column = column };
  return &hwmon->sensors[hwmon->count++];
}

static void
chip_add (struct hwmon *hwmon, const char *place, const char *driver)
{
  for (size_t i = 0; i < hwmon->count; i++)
    if (strcmp (hwmon->sensors[i].name, place) == 0)
      return;
  if (driver[0])
    snprintf (row_add (hwmon, memory_string (place), CHIP_NAME)->label, sizeof hwmon->sensors->label, "%.63s", driver);
}

static void
sensor_add (struct hwmon *hwmon, const char *chip, const char *place, const char *input, enum column column)
{
  char name[32];
  struct sensor *sensor;

  snprintf (name, sizeof name, "%.*s", (int) strcspn (input, "_"), input);
  sensor = row_add (hwmon, memory_format ("%s/%s", place, name), column);
  fact_text (sensor->label, sizeof sensor->label, hwmon->root, "/sys/class/hwmon/%s/%s_label", chip, name);
  reader_init (&sensor->input, hwmon->root, "/sys/class/hwmon/%s/%s", chip, input);
  reader_init (&sensor->alarm, hwmon->root, "/sys/class/hwmon/%s/%s_crit_alarm", chip, name);
  for (size_t i = 0; i < LIMITS - INPUTS; i++)
    if (column == (INPUTS + i == FAN_MINIMUM ? FAN : TEMPERATURE))
      sensor->limits[i] = read_limit (hwmon, chip, name, metrics[INPUTS + i].source);
}

static void
chip_list (struct hwmon *hwmon, const char *chip)
{
  static const struct {
    const char *prefix, *suffix;
    enum column column;
  } inputs[] = {
    { "temp", "_input", TEMPERATURE }, { "fan", "_input", FAN },       { "power", "_input", POWER },
    { "power", "_average", POWER },    { "energy", "_input", ENERGY },
  };
  char driver[64], place[CHIP_MAX];
  struct names files = { 0 };

  fact_text (driver, sizeof driver, hwmon->root, "/sys/class/hwmon/%s/name", chip);
  chip_place (place, hwmon, chip, driver);
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    names_read (&files, inputs[i].prefix, hwmon->root, "/sys/class/hwmon/%s", chip);
    for (size_t j = 0; j < files.count; j++)
      if (strcmp (files.list[j] + strcspn (files.list[j], "_"), inputs[i].suffix) == 0 &&
          !sensor_find (hwmon, place, files.list[j])) {
        chip_add (hwmon, place, driver);
        sensor_add (hwmon, chip, place, files.list[j], inputs[i].column);
      }
  }
  names_free (&files);
}

static void
sensors_free (struct hwmon *hwmon)
{
  for (size_t i = 0; i < hwmon->count; i++) {
    reader_free (&hwmon->sensors[i].input);
    reader_free (&hwmon->sensors[i].alarm);
    free (hwmon->sensors[i].name);
  }
  free (hwmon->sensors);
  hwmon->sensors = NULL;
  hwmon->count = 0;
}

static void
chips_look (struct hwmon *hwmon)
{
  if (hwmon->looked || hwmon->samples % LIST_SAMPLES != 0)
    return;
  names_read (&hwmon->chips, "hwmon", hwmon->root, "/sys/class/hwmon");
  hwmon->looked = true;
}

static void
sensors_list (struct hwmon *hwmon)
{
  sensors_free (hwmon);
  for (size_t i = 0; i < hwmon->chips.count; i++)
    chip_list (hwmon, hwmon->chips.list[i]);
  names_free (&hwmon->chips);
  hwmon->looked = false;
}

/* ---- the sampler ---- */

static void *
hwmon_open (const struct sampler_context *context)
{
  struct hwmon *hwmon = memory_new (1, sizeof *hwmon);

  hwmon->root = memory_string (context->root);
  return hwmon;
}

static bool
hwmon_may_block (void *state)
{
  struct hwmon *hwmon = state;

  chips_look (hwmon);
  return hwmon->count > 0 || hwmon->chips.count > 0;
}

static bool
sensor_sample (struct sensor *sensor, struct table *table)
{
  size_t row = table_add_row (table, sensor->name, strlen (sensor->name));

  if (row == SIZE_MAX)
    return false;
  table_set_string (table, row, sensor->column == CHIP_NAME ? CHIP_NAME : LABEL, sensor->label);
  if (sensor->column == CHIP_NAME)
    return true;
  reader_read_number (&sensor->input, metrics[sensor->column].kind, table_value (table, row, sensor->column), table);
  if (sensor->limits[CRITICAL - INPUTS].type != VALUE_MISSING)
    reader_read_number (&sensor->alarm, GAUGE, table_value (table, row, ALARM), table);
  for (size_t i = 0; i < LIMITS - INPUTS; i++)
    *table_value (table, row, INPUTS + i) = sensor->limits[i];
  return true;
}

static int
hwmon_sample (void *state, struct table *table)
{
  struct hwmon *hwmon = state;

  chips_look (hwmon);
  if (hwmon->looked)
    sensors_list (hwmon);
  hwmon->samples++;
  for (size_t i = 0; i < hwmon->count && sensor_sample (&hwmon->sensors[i], table); i++)
    ;
  return 0;
}

static void
hwmon_close (void *state)
{
  struct hwmon *hwmon = state;

  sensors_free (hwmon);
  names_free (&hwmon->chips);
  free (hwmon->root);
  free (hwmon);
}

const struct sampler sampler_hwmon = {
  &group, hwmon_may_block, hwmon_open, hwmon_sample, hwmon_close, .optional = true, .period_ns = 10 * NS_PER_S,
};
