/* What the driver amdgpu shows of one GPU, in files below /sys/class/drm/cardN/device:
 *
 *   gpu_busy_percent, mem_busy_percent          "4"
 *   mem_info_vram_used, mem_info_vram_total     bytes
 *   hwmon/hwmon3/temp1_input, temp1_label       "45000", "edge"; junction and mem; older drivers: edge alone, without a label
 *   hwmon/hwmon3/power1_average or power1_input, power1_cap    microwatts;  freq1_input (sclk), freq2_input (mclk)  Hz
 *   hwmon/hwmon3/pwm1                           of 255, where there is a fan
 *   pp_dpm_sclk, pp_dpm_mclk                    "0: 852Mhz *" for each level; "S: 19Mhz *" while it sleeps
 *   ras/umc_err_count, or aca_umc               "ue: 0\nce: 3": memory errors since the driver was loaded
 *   current_link_speed, max_link_speed          "8.0 GT/s PCIe"
 *   power/runtime_status                        "active", "suspended"
 *
 * Most GPUs since Vega 20 bring a PCIe switch: their own link is one inside the chip, always at full speed, and the link to
 * the slot is that of the switch, the folder above. Not read: pcie_bw, since the driver measures for a whole second while
 * it is read, and gpu_metrics, whose layout changes from chip to chip. How much of the visible memory is mapped, as in
 * NVIDIA's BAR1, the driver does not show.
 *
 * While a GPU is reset, files whose values the driver queries from it give EPERM. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gpu/amdgpu.h"
#include "agent/gpu/gpu_metrics.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define NONE UINT64_MAX
#define SENSORS_MAX 8 /* temp1 to temp8 */
#define BRIDGES_MAX 4 /* above a GPU that are part of it */
#define PATH_SIZE 160

enum place { OF_DEVICE, OF_HWMON, OF_SENSOR, OF_LINK };

struct source {
  enum gpu_column column;
  enum place place;
  const char *file; /* OF_SENSOR: the sensor's label */
  /* Sets one value, or two, the second of the next column; a value that it leaves unset is missing. */
  void (*parse) (struct scan text, uint64_t *values);
  uint32_t per;
  enum {
    FROM_GPU,
    FROM_KERNEL,
    PER_LIST
  } origin; /* queried from the GPU; known to the kernel; read once for each new list */
};

/* ---- the ways to read a file ---- */

static void
parse_number (struct scan text, uint64_t *values)
{
  if (!scan_uint (&text, &values[0]))
    values[0] = NONE;
}

static void
parse_temperature (struct scan text, uint64_t *values)
{
  parse_number (text, values);
  if (values[0] == 0 || values[0] >= 1000000) /* no sensor */
    values[0] = NONE;
}

/* 0 watts means no limit. */
static void
parse_limit (struct scan text, uint64_t *values)
{
  parse_number (text, values);
  if (values[0] == 0)
    values[0] = NONE;
}

static void
parse_pwm (struct scan text, uint64_t *values)
{
  parse_number (text, values);
  values[0] = values[0] <= 255 ? (values[0] * 100 + 127) / 255 : NONE;
}

static void
parse_levels (struct scan text, uint64_t *values)
{
  struct scan line, word;
  uint64_t clock;

  while (scan_line (&text, &line))
    if (scan_word (&line, &word) && word.end[-1] == ':' && scan_uint (&line, &clock) &&
        (values[0] == NONE || clock > values[0]))
      values[0] = clock;
}

static void
parse_errors (struct scan text, uint64_t *values)
{
  struct scan line;

  while (scan_line (&text, &line))
    if (scan_prefix (&line, "ce:"))
      parse_number (line, &values[0]);
    else if (scan_prefix (&line, "ue:"))
      parse_number (line, &values[1]);
}

static void
parse_generation (struct scan text, uint64_t *values)
{
  static const uint64_t speeds[] = {
    2, 5, 8, 16, 32, 64, 128
  }; /* GT/s without the fraction, of generations from 1 on */
  uint64_t speed;

  if (scan_uint (&text, &speed))
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
      if (speeds[i] == speed)
        values[0] = i + 1;
}

static void
parse_width (struct scan text, uint64_t *values)
{
  parse_number (text, values);
  if (values[0] == 0 || values[0] > 32) /* no link */
    values[0] = NONE;
}

/* If two are for one column, the first that has a value counts. */
static const struct source sources[] = {
  { UTILIZATION, OF_DEVICE, "gpu_busy_percent", parse_number, 1, FROM_GPU },
  { MEMORY_UTILIZATION, OF_DEVICE, "mem_busy_percent", parse_number, 1, FROM_GPU },
  { MEMORY_USED, OF_DEVICE, "mem_info_vram_used", parse_number, 1, FROM_KERNEL },
  { MEMORY_TOTAL, OF_DEVICE, "mem_info_vram_total", parse_number, 1, FROM_KERNEL },
  { TEMPERATURE, OF_SENSOR, "edge", parse_temperature, 1000, FROM_GPU },
  { TEMPERATURE, OF_SENSOR, "junction", parse_temperature, 1000, FROM_GPU },
  { MEMORY_TEMPERATURE, OF_SENSOR, "mem", parse_temperature, 1000, FROM_GPU },
  { POWER, OF_HWMON, "power1_average", parse_number, 1000, FROM_GPU },
  { POWER, OF_HWMON, "power1_input", parse_number, 1000, FROM_GPU },
  { POWER_LIMIT, OF_HWMON, "power1_cap", parse_limit, 1000, FROM_KERNEL },
  { ENERGY, OF_HWMON, "energy1_input", parse_number, 1000, FROM_GPU },
  { CLOCK_GRAPHICS, OF_HWMON, "freq1_input", parse_number, 1000000, FROM_GPU },
  { CLOCK_MEMORY, OF_HWMON, "freq2_input", parse_number, 1000000, FROM_GPU },
  { CLOCK_GRAPHICS_MAX, OF_DEVICE, "pp_dpm_sclk", parse_levels, 1, PER_LIST },
  { CLOCK_MEMORY_MAX, OF_DEVICE, "pp_dpm_mclk", parse_levels, 1, PER_LIST },
  { FAN_SPEED, OF_HWMON, "pwm1", parse_pwm, 1, FROM_GPU },
  { PCIE_GENERATION, OF_LINK, "current_link_speed", parse_generation, 1, FROM_KERNEL },
  { PCIE_WIDTH, OF_LINK, "current_link_width", parse_width, 1, FROM_KERNEL },
  { PCIE_REPLAYS, OF_DEVICE, "pcie_replay_count", parse_number, 1, FROM_KERNEL },
  { ECC_CORRECTED, OF_DEVICE, "ras/umc_err_count", parse_errors, 1, FROM_GPU },
  { ECC_CORRECTED, OF_DEVICE, "ras/aca_umc", parse_errors, 1, FROM_GPU },
};
#define SOURCES (sizeof sources / sizeof sources[0])
_Static_assert(SOURCES <= 32, "a bit for each");
_Static_assert(ECC_UNCORRECTED == ECC_CORRECTED + 1, "parse_errors sets both");

struct amdgpu_files {
  char *path, *link; /* its folder, and the folder whose link leads to the slot; with the root */
  uint32_t lacks;    /* a bit for each source that the GPU lacks */
  uint32_t read;     /* likewise, for values of PER_LIST that are `kept` */
  uint64_t kept[SOURCES];
  struct reader status, readers[SOURCES]; /* path NULL: no such file */
};

/* ---- which files there are ---- */

/* "FOLDER", or "FOLDER/../.." where two bridges are the GPU's own. */
static void
link_find (const char *root, const char *folder, char path[PATH_SIZE])
{
  uint64_t class;
  char text[16];

  snprintf (path, PATH_SIZE, "%s", folder);
  for (size_t i = 0; i < BRIDGES_MAX; i++) {
    if (!fact_text (text, sizeof text, root, "%s/../vendor", path) || strcmp (text, "0x1002") != 0 ||
        !fact_text (text, sizeof text, root, "%s/../class", path))
      return;
    class = strtoul (text, NULL, 16);
    if (class >> 8 != 0x0604) /* a PCI bridge */
      return;
    strncat (path, "/..", PATH_SIZE - strlen (path) - 1);
  }
}

/* "tempN" of the sensor with that label; "" when there is none. */
static void
sensor_find (const char *root, const char *hwmon, const char *wanted, char name[PATH_SIZE])
{
  char label[32];

  name[0] = '\0';
  for (unsigned i = 1; i <= SENSORS_MAX; i++) {
    if (!fact_text (label, sizeof label, root, "%s/temp%u_label", hwmon, i) && i == 1)
      snprintf (label, sizeof label, "edge");
    if (strcmp (label, wanted) == 0) {
      snprintf (name, PATH_SIZE, "temp%u_input", i);
      return;
    }
  }
}

static void
reader_place (struct amdgpu_files *files, size_t index, const char *root, const char *folder, const char *hwmon,
              const char *link)
{
  const struct source *source = &sources[index];
  struct reader *reader = &files->readers[index];
  char name[PATH_SIZE];

  if (source->place == OF_DEVICE)
    reader_init (reader, root, "%s/%s", folder, source->file);
  else if (source->place == OF_LINK)
    reader_init (reader, root, "%s/%s", link, source->file);
  else if (hwmon[0] && source->place == OF_HWMON)
    reader_init (reader, root, "%s/%s", hwmon, source->file);
  else if (hwmon[0]) {
    sensor_find (root, hwmon, source->file, name);
    if (name[0])
      reader_init (reader, root, "%s/%s", hwmon, name);
  }
}

static uint32_t
absent (const struct amdgpu_files *files)
{
  uint32_t bits = 0;

  for (size_t i = 0; i < SOURCES; i++)
    bits |= (uint32_t) !files->readers[i].path << i;
  return bits;
}

struct amdgpu_files *
amdgpu_files_create (const char *root, const char *folder)
{
  struct amdgpu_files *files = memory_new (1, sizeof *files);
  char hwmon[PATH_SIZE] = "", link[PATH_SIZE];
  struct names names = { 0 };

  files->path = memory_format ("%s%s", root, folder);
  reader_init (&files->status, root, "%s/power/runtime_status", folder);
  names_read (&names, "hwmon", root, "%s/hwmon", folder);
  if (names.count)
    snprintf (hwmon, sizeof hwmon, "%.64s/hwmon/%.32s", folder, names.list[0]);
  names_free (&names);
  link_find (root, folder, link);
  files->link = memory_format ("%s%s", root, link);
  for (size_t i = 0; i < SOURCES; i++)
    reader_place (files, i, root, folder, hwmon, link);
  files->lacks = absent (files);
  return files;
}

void
amdgpu_files_destroy (struct amdgpu_files *files)
{
  if (!files)
    return;
  for (size_t i = 0; i < SOURCES; i++)
    reader_free (&files->readers[i]);
  reader_free (&files->status);
  free (files->path);
  free (files->link);
  free (files);
}

bool
amdgpu_files_exist (const struct amdgpu_files *files)
{
  return access (files->path, F_OK) == 0;
}

/* ---- a sample ---- */

static bool
status_sleeps (const char *text)
{
  return strncmp (text, "suspend", 7) == 0 || strcmp (text, "resuming") == 0;
}

/* A GPU without a status counts as awake. */
static bool
is_suspended (struct amdgpu_files *files)
{
  char text[32];

  return reader_read_value (&files->status, text, sizeof text) > 0 && status_sleeps (text);
}

static void
set (struct table *table, size_t row, size_t column, uint64_t value)
{
  if (value != NONE && (gpu_metrics[column].unit != UNIT_PERCENT || value <= 100))
    table_set_uint (table, row, column, value);
}

/* 0, or -errno. */
static int
source_read (struct amdgpu_files *files, size_t index, struct table *table, size_t row)
{
  const struct source *source = &sources[index];
  uint64_t values[2] = { NONE, NONE };
  uint32_t bit = UINT32_C (1) << index;
  char text[1024];
  int length;

  if (files->read & bit) {
    set (table, row, source->column, files->kept[index]);
    return 0;
  }
  length = reader_read_value (&files->readers[index], text, sizeof text);
  if (length < 0) {
    if (length == -ENOENT || length == -EOPNOTSUPP)
      files->lacks |= bit;
    return length;
  }
  source->parse (scan_over (text, (size_t) length), values);
  if (values[0] != NONE)
    values[0] /= source->per;
  if (source->origin == PER_LIST) {
    files->kept[index] = values[0];
    files->read |= bit;
  }
  set (table, row, source->column, values[0]);
  set (table, row, source->column + 1, values[1]);
  return 0;
}

static uint64_t
amdgpu_number (const struct table *table, size_t row, size_t column)
{
  const struct value *value = table_get (table, row, column);

  return value->type == VALUE_UINT ? value->as.u : NONE;
}

/* Sets values that follow from others. The shader clock is that of the compute units. */
static void
set_derived (struct table *table, size_t row)
{
  uint64_t used = amdgpu_number (table, row, MEMORY_USED), total = amdgpu_number (table, row, MEMORY_TOTAL);

  if (used != NONE && total != NONE && used <= total)
    table_set_uint (table, row, MEMORY_FREE, total - used);
  set (table, row, CLOCK_SM, amdgpu_number (table, row, CLOCK_GRAPHICS));
  set (table, row, CLOCK_SM_MAX, amdgpu_number (table, row, CLOCK_GRAPHICS_MAX));
}

/* Sets the values. 0, or the errno because of which the GPU gives none. Only values that are queried from the GPU show
 * that: those of the kernel are there without it. */
static int
sources_read (struct amdgpu_files *files, struct table *table, size_t row)
{
  bool answered = false, known = false;
  int failure = 0;

  for (size_t i = 0; i < SOURCES; i++) {
    int result;

    if (files->lacks >> i & 1 || amdgpu_number (table, row, sources[i].column) != NONE)
      continue;
    result = source_read (files, i, table, row);
    answered |= result == 0 && sources[i].origin == FROM_GPU;
    known |= result == 0 && sources[i].place != OF_LINK;
    if (result < 0 && !(files->lacks >> i & 1) && failure != EPERM)
      failure = -result;
  }
  if (failure == EPERM)
    return EPERM;
  if (answered || (known && failure == 0))
    return 0;
  return failure ? failure : ENODATA;
}

const char *
amdgpu_files_read (struct amdgpu_files *files, struct table *table, size_t row, bool *fine)
{
  int failure;

  *fine = true;
  if (is_suspended (files))
    return "suspended";
  failure = sources_read (files, table, row);
  set_derived (table, row);
  if (failure == 0)
    return "ok";
  files->lacks = absent (files);
  if (failure == EPERM && is_suspended (files)) /* just now */
    return "suspended";
  *fine = false;
  if (!amdgpu_files_exist (files))
    return "missing";
  return failure == EPERM ? "in reset" : strerror (failure);
}

/* ---- for gpu_info ---- */

static uint64_t
least_of (const char *link, const char *file, void (*parse) (struct scan text, uint64_t *values))
{
  static const char *const ends[] = { "", "/.." };
  uint64_t least = NONE;

  for (size_t i = 0; i < 2; i++) {
    uint64_t value = NONE;
    char text[32];

    if (fact_text (text, sizeof text, "", "%s%s/%s", link, ends[i], file))
      parse (scan_over (text, strlen (text)), &value);
    if (value < least)
      least = value;
  }
  return least;
}

void
amdgpu_files_link_max (const struct amdgpu_files *files, uint64_t *generation, uint64_t *width)
{
  char status[32];
  bool asleep = fact_text (status, sizeof status, "", "%s/power/runtime_status", files->path) && status_sleeps (status);

  *generation = asleep ? NONE : least_of (files->link, "max_link_speed", parse_generation);
  *width = asleep ? NONE : least_of (files->link, "max_link_width", parse_width);
}
