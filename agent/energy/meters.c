/* Sensors of power and energy; see meters.h.
 *
 *   /sys/class/hwmon/hwmon3/device/name                     "power_meter": the ACPI power meter
 *   /sys/class/hwmon/hwmon3/device/power1_oem_info          "Grace Power Socket 0"; absent: it measures the machine
 *   /sys/class/hwmon/hwmon3/device/power1_average           "182000000", microwatts
 *   /sys/class/hwmon/hwmon4/{energy1_label,energy1_input}   "Esocket0", microjoules
 *
 * Older drivers have their files in device/, the others in the folder itself.
 *
 * Which driver's sensor stands for what is in the table below; all others are in the group hwmon alone. Of sensors that
 * hold each other the outer one alone is in it: "Grace Power Socket 0" has CPU, memory and regulators, "CPU Power Socket 0"
 * is a part of it, "Module Power Socket 0" holds both and the GPU. */
#include "agent/energy/meters.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define CLASS "/sys/class/hwmon"
#define LIST_READINGS 30              /* they are listed anew after so many */
#define PAUSE_MAX_NS (600 * NS_PER_S) /* over it a power says nothing about the time before it */
#define VALID_NS (30 * NS_PER_S)      /* a sum is, beside three pauses between readings */

static const struct {
  const char *driver, *label; /* globs; label "": it has none */
  enum meter_of of;
  bool first; /* of several the first alone */
  const char *source;
} known[] = {
  { "power_meter", "Module Power Socket*", METER_MODULES, false, "module sensors" },
  { "power_meter", "Grace Power Socket*", METER_CPU, false, "Grace sensors" },
  { "power_meter", "", METER_NODE, true, "ACPI power meter" },
  { "ibmpowernv", "System", METER_NODE, true, "OCC" },
  { "amd_energy", "Esocket*", METER_CPU, false, "amd_energy" },
  { "xgene_hwmon", "CPU power", METER_CPU, false, "xgene_hwmon" },
};
#define KNOWN (sizeof known / sizeof known[0])

void
meters_init (struct meters *meters, const char *root, struct ipmi_dcmi *ipmi)
{
  *meters = (struct meters){ .root = memory_string (root), .ipmi = ipmi };
}

static void
list_free (struct meter *list, size_t count)
{
  for (size_t i = 0; i < count; i++)
    reader_free (&list[i].reader);
  free (list);
}

void
meters_free (struct meters *meters)
{
  list_free (meters->list, meters->count);
  names_free (&meters->chips);
  ipmi_dcmi_destroy (meters->ipmi);
  free (meters->root);
}

/* ---- the list ---- */

static bool
kind_is_there (const struct meters *meters, enum meter_of of)
{
  for (size_t i = 0; i < meters->count; i++)
    if (meters->list[i].of == of)
      return true;
  return false;
}

static void
sensor_add (struct meters *meters, const char *folder, const char *driver, const char *file)
{
  int length = (int) strcspn (file, "_");
  char label[64];

  if (!fact_text (label, sizeof label, meters->root, "%s/%.*s_label", folder, length, file))
    fact_text (label, sizeof label, meters->root, "%s/%.*s_oem_info", folder, length, file);
  for (size_t i = 0; i < KNOWN; i++)
    if (strcmp (driver, known[i].driver) == 0 && fnmatch (known[i].label, label, 0) == 0) {
      if (known[i].first && kind_is_there (meters, known[i].of))
        return;
      meters->list = memory_resize (meters->list, meters->count + 1, sizeof *meters->list);
      meters->list[meters->count] =
          (struct meter){ .of = known[i].of, .source = known[i].source, .counts = file[0] == 'e', .watts = nan ("") };
      reader_init (&meters->list[meters->count++].reader, meters->root, "%s/%s", folder, file);
      return;
    }
}

static bool
driver_is_known (const char *driver)
{
  for (size_t i = 0; i < KNOWN; i++)
    if (strcmp (driver, known[i].driver) == 0)
      return true;
  return false;
}

static void
chip_add (struct meters *meters, const char *chip)
{
  static const char *const patterns[] = { "energy*_input", "power*_average", "power*_input" };
  struct names files = { 0 };
  char driver[64], folder[128];

  snprintf (folder, sizeof folder, CLASS "/%.80s", chip);
  if (!fact_text (driver, sizeof driver, meters->root, "%s/name", folder))
    snprintf (folder, sizeof folder, CLASS "/%.80s/device", chip);
  if (!fact_text (driver, sizeof driver, meters->root, "%s/name", folder) || !driver_is_known (driver))
    return;
  names_read (&files, "", meters->root, "%s", folder);
  for (size_t k = 0; k < sizeof patterns / sizeof patterns[0]; k++) {
    size_t before = meters->count;

    for (size_t i = 0; i < files.count; i++)
      if (fnmatch (patterns[k], files.list[i], 0) == 0)
        sensor_add (meters, folder, driver, files.list[i]);
    if (meters->count > before) /* the other files of the chip measure the same */
      break;
  }
  names_free (&files);
}

/* What a sensor has counted goes on with it. */
static void
list_keep (struct meters *meters, const struct meter *before, size_t count)
{
  for (size_t i = 0; i < meters->count; i++)
    for (size_t k = 0; k < count; k++) {
      struct meter *meter = &meters->list[i];

      if (strcmp (meter->reader.path, before[k].reader.path) != 0)
        continue;
      meter->begun = before[k].begun;
      meter->last = before[k].last;
      meter->total_uj = before[k].total_uj;
      meter->last_ns = before[k].last_ns;
    }
}

static void
list_make (struct meters *meters)
{
  struct meter *before = meters->list;
  size_t count = meters->count;

  meters->list = NULL;
  meters->count = 0;
  for (size_t i = 0; i < meters->chips.count; i++)
    chip_add (meters, meters->chips.list[i]);
  list_keep (meters, before, count);
  list_free (before, count);
  names_free (&meters->chips);
}

bool
meters_exist (struct meters *meters)
{
  if (meters->samples++ % LIST_READINGS == 0) {
    names_read (&meters->chips, "hwmon", meters->root, CLASS);
    list_make (meters);
  }
  return meters->count > 0 || meters->ipmi;
}

/* ---- reading ---- */

static void
energy_take (struct meter *meter, uint64_t value_uj, double seconds)
{
  uint64_t grown = meter->begun && value_uj >= meter->last ? value_uj - meter->last : 0;

  meter->watts = meter->begun && seconds > 0 ? (double) grown / 1e6 / seconds : nan ("");
  meter->total_uj += grown;
  meter->last = value_uj;
}

static void
power_take (struct meter *meter, double watts, double seconds)
{
  if (meter->begun && seconds > 0 && seconds < PAUSE_MAX_NS / (double) NS_PER_S)
    meter->total_uj += (uint64_t) (watts * seconds * 1e6);
  meter->watts = watts;
}

static bool
meter_read (struct meter *meter, int64_t now_ns)
{
  double seconds = (double) (now_ns - meter->last_ns) / (double) NS_PER_S;
  uint64_t value;

  if (reader_read_uint (&meter->reader, &value) < 0) {
    meter->begun = false;
    return false;
  }
  if (meter->counts)
    energy_take (meter, value, seconds);
  else
    power_take (meter, (double) value / 1e6, seconds);
  meter->begun = true;
  meter->last_ns = now_ns;
  return true;
}

/* A kind is known when each of its sensors is. */
static void
sum_add (struct meter_sum *sum, bool *lacks, struct meter *meter, int64_t now_ns)
{
  int64_t pause_ns = meter->begun ? now_ns - meter->last_ns : 0;

  if (!meter_read (meter, now_ns)) {
    *lacks = true;
    return;
  }
  if (!sum->known)
    *sum = (struct meter_sum){ .known = true, .source = meter->source, .until_ns = now_ns + VALID_NS + 3 * pause_ns };
  sum->total_uj += meter->total_uj;
  sum->watts += meter->watts;
}

void
meters_read (struct meters *meters, int64_t now_ns, struct meter_sum sums[METER_KINDS])
{
  bool lacks[METER_KINDS] = { false };
  struct ipmi_power power;

  memset (sums, 0, METER_KINDS * sizeof *sums);
  for (size_t i = 0; i < meters->count; i++)
    sum_add (&sums[meters->list[i].of], &lacks[meters->list[i].of], &meters->list[i], now_ns);
  for (size_t of = 0; of < METER_KINDS; of++)
    sums[of].known &= !lacks[of];
  if (meters->ipmi && !sums[METER_NODE].known && ipmi_dcmi_read (meters->ipmi, now_ns, &power))
    sums[METER_NODE] = (struct meter_sum){ true, power.total_uj, power.watts, power.until_ns, "IPMI" };
}
