/* disk_io: what each block device did, from /proc/diskstats.
 *
 *   column  1 2 3    4     5      6       7  8      9     10      11     12 13    14    15 16 17 18 19 20
 *   8       0 sdc    14202 71     579164  21861 2995 1589 180500  40875  0  11628 55200 0  0  0  0  127 182
 *   major, minor, name; reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, ms busy, weighted ms;
 *   discards, merged, sectors, ms (since 4.18); flushes, ms (since 5.5). A sector has 512 bytes whatever the device's.
 *
 * The kernel prints the times in 32 bits. Lines of 7 columns are partitions before 2.6.25, whose columns mean something
 * else: they are left out. Whole devices are those in /sys/block. A device that is neither there nor a partition of one
 * there is shown, with an error, unless its name is a partition's. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/layers.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/globs.h"
#include "synop/memory.h"

#define COUNT(NAME, COLUMN, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .source = COLUMN, .help = HELP                                                \
  }
#define SECTORS(NAME, COLUMN, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_BYTES, FOLD_SUM, .times = 512, .source = COLUMN, .help = HELP                                  \
  }
#define MILLISECONDS(NAME, COLUMN, HELP)                                                                               \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_WRAPS32, .per = 1000, .source = COLUMN, .help = HELP                 \
  }

/* Time of requests. Each is counted when it ends, which may be after days, so the period does not bound it. */
#define REQUEST_TIME(NAME, COLUMN, HELP)                                                                               \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_WRAPS32, .per = 1000, .source = COLUMN, .help = HELP, .bound = {     \
      .most = 1e9                                                                                                      \
    }                                                                                                                  \
  }

static const struct metric metrics[] = {
  COUNT ("reads", "4", "Reads done."),
  COUNT ("reads_merged", "5", "Reads that were merged into others before the device saw them."),
  SECTORS ("read_bytes", "6", "Bytes read."),
  REQUEST_TIME ("read_time", "7", "Time that all reads took, added up."),
  COUNT ("writes", "8", "Writes done."),
  COUNT ("writes_merged", "9", "Writes that were merged into others before the device saw them."),
  SECTORS ("write_bytes", "10", "Bytes written."),
  REQUEST_TIME ("write_time", "11", "Time that all writes took, added up."),
  { "in_flight", GAUGE, UNIT_COUNT, FOLD_SUM, .source = "12", .bound = { .most = 1e8 },
    .help = "Requests that the device works on now." },
  MILLISECONDS ("io_time", "13", "Time in which the device worked on at least one request."),
  REQUEST_TIME ("weighted_io_time", "14", "Time of all requests added up: over io_time it is the queue's mean length."),
  COUNT ("discards", "15", "Discards done."),
  COUNT ("discards_merged", "16", "Discards that were merged into others."),
  { "discard_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 512, .source = "17", .bound = { .most = 1e18 },
    .help = "Bytes discarded." }, /* a whole device may be discarded at once */
  REQUEST_TIME ("discard_time", "18", "Time that all discards took, added up."),
  COUNT ("flushes", "19", "Flushes done."),
  REQUEST_TIME ("flush_time", "20", "Time that all flushes took, added up."),
  { "in_total", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS,
    .help = "1 when it counts in the total: no other device below it counts the same bytes." },
};

static const struct group group = {
  .name = "disk_io",
  .section = "system_data",
  .row = "block device",
  .rows_name = "devices",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "What each block device did. The total counts each byte once, at the disks: not what lies on other devices "
          "(device mapper, md, multipath, partitions), on files (loop) or in memory (ram, zram).",
  GROUP_METRICS (metrics),
  .left_out = "partitions, unless [group disk_io] partitions says otherwise; devices of [group disk_io] exclude, which "
              "has loop*, ram*, zram*, fd* and sr* unless it is set.",
};

struct disk_io_options {
  char *exclude;
  bool partitions;
};

static const struct option option_rows[] = {
  { "group disk_io", "exclude", "", OPTION_LIST, offsetof (struct disk_io_options, exclude), "loop*,ram*,zram*,fd*,sr*",
    .help = "Globs of block devices to leave out." },
  { "group disk_io", "partitions", "", OPTION_BOOLEAN, offsetof (struct disk_io_options, partitions), "no",
    .help = "Whether partitions are shown, beside whole devices." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct disk_io_options);

#define NAME_MAX_BYTES 63
#define COLUMNS_OF_A_DEVICE 11 /* those that every kernel since 2.6.25 has */
#define COLUMNS_OF_OLD 4       /* of a partition, before 2.6.25 */

struct disk_io {
  struct reader diskstats;
  struct buffer text;
  struct column_map columns;
  size_t counts_column;
  const char *root;   /* of the context */
  char *block_folder; /* ROOT/sys/block, or NULL when there is none: a partition is known by its name then */
  char *exclude;
  bool partitions;
  struct device { /* the device in each line, looked up once */
    char name[NAME_MAX_BYTES + 1];
    bool shown, counts;
    bool unknown;   /* /sys/block does not say what it is */
    bool has_paths; /* it is the head of NVMe multipath, and its paths are shown */
    size_t row;     /* in this sample; SIZE_MAX: none */
  } * devices;
  size_t device_count, lines; /* lines: of the last sample, with a device each */
  bool changed;               /* devices came or went */
};

static void *
disk_io_open (const struct sampler_context *context)
{
  const struct disk_io_options *options = context_options (context, &own_options);
  struct disk_io *state = memory_new (1, sizeof *state);

  reader_init (&state->diskstats, context->root, "/proc/diskstats");
  column_map_init (&state->columns, &group);
  state->counts_column = fact_column (&group, "in_total");
  state->root = context->root;
  state->exclude = memory_string (options->exclude);
  state->partitions = options->partitions;
  state->block_folder = memory_format ("%s/sys/block", context->root);
  if (access (state->block_folder, F_OK) != 0) {
    free (state->block_folder);
    state->block_folder = NULL;
  }
  return state;
}

static size_t
digits_at_end (const char *name, size_t length)
{
  size_t digits = 0;

  while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
    digits++;
  return digits;
}

/* sda1, xvdb2, vda3; nvme0n1p2, mmcblk0p1, md0p1: a letter disk and a number, or a numbered one, 'p' and a number. */
static bool
is_named_as_partition (const char *name)
{
  static const char *const letter_disks[] = { "sd", "hd", "vd", "xvd", "ubd" };
  size_t length = strlen (name), digits = digits_at_end (name, length), stem = length - digits;

  if (digits == 0 || stem == 0)
    return false;
  if (name[stem - 1] == 'p' && digits_at_end (name, stem - 1) > 0)
    return true;
  for (size_t i = 0; i < sizeof letter_disks / sizeof letter_disks[0]; i++) {
    size_t prefix = strlen (letter_disks[i]);
    if (stem > prefix && strncmp (name, letter_disks[i], prefix) == 0 && digits_at_end (name, stem) == 0)
      return true;
  }
  return false;
}

/* Is there a folder of that name in /sys/block? A '/' in a name is '!' there. */
static bool
is_listed (const struct disk_io *state, const char *name, size_t length)
{
  char path[4096];
  size_t folder = strlen (state->block_folder);

  if ((size_t) snprintf (path, sizeof path, "%s/%.*s", state->block_folder, (int) length, name) >= sizeof path)
    return false;
  for (char *at = path + folder + 1; *at; at++)
    if (*at == '/')
      *at = '!';
  return length > 0 && access (path, F_OK) == 0;
}

/* The kernel names a partition after its device: "sda" and 1, "nvme0n1" (with a digit at its end) and p1. */
static bool
is_partition_of_listed (const struct disk_io *state, const char *name)
{
  size_t length = strlen (name), digits = digits_at_end (name, length), stem = length - digits;

  if (digits == 0)
    return false;
  return is_listed (state, name, stem) || (stem > 0 && name[stem - 1] == 'p' && is_listed (state, name, stem - 1));
}

static void
device_decide (struct disk_io *state, struct device *device)
{
  bool partition;

  device->unknown = device->counts = false;
  state->changed = true;
  device->shown = !globs_list_matches (state->exclude, device->name);
  if (!device->shown)
    return;
  if (state->block_folder == NULL) {
    partition = is_named_as_partition (device->name);
  } else if (is_listed (state, device->name, strlen (device->name))) {
    partition = false;
  } else {
    partition = is_partition_of_listed (state, device->name);
    device->unknown = !partition;
    partition = partition || is_named_as_partition (device->name);
  }
  device->shown = state->partitions || !partition;
  device->counts = !partition && layers_disk_counts (state->root, state->exclude, device->name);
}

/* The device in this line of the file, without a row. A name that is new in its line is looked up; NULL: it is none. */
static struct device *
device_find (struct disk_io *state, size_t line, const struct scan *name)
{
  struct device *device;
  size_t length = scan_length (name);

  if (length > NAME_MAX_BYTES)
    return NULL;
  if (line >= state->device_count) {
    size_t count = line < 8 ? 16 : line * 2;
    state->devices = memory_resize (state->devices, count, sizeof *state->devices);
    memset (state->devices + state->device_count, 0, (count - state->device_count) * sizeof *state->devices);
    state->device_count = count;
  }
  device = &state->devices[line];
  if (device->unknown || memcmp (device->name, name->at, length) != 0 || device->name[length] != '\0') {
    memcpy (device->name, name->at, length);
    device->name[length] = '\0';
    device_decide (state, device);
  }
  device->row = SIZE_MAX;
  return device;
}

/* The head of NVMe multipath counts what its paths count on newer kernels, and nothing on older ones. */
static void
heads_find (struct disk_io *state)
{
  char head[NAME_MAX_BYTES + 1];

  for (size_t i = 0; i < state->lines; i++)
    state->devices[i].has_paths = false;
  for (size_t i = 0; i < state->lines; i++)
    if (state->devices[i].shown && layers_disk_head (state->devices[i].name, head, sizeof head))
      for (size_t k = 0; k < state->lines; k++)
        state->devices[k].has_paths |= strcmp (state->devices[k].name, head) == 0;
}

static void
disk_io_set_counts (struct disk_io *state, size_t lines, struct table *table)
{
  if (state->changed || lines != state->lines) {
    state->lines = lines;
    heads_find (state);
    state->changed = false;
  }
  for (size_t i = 0; i < lines; i++) {
    const struct device *device = &state->devices[i];
    if (device->row != SIZE_MAX)
      table_set_uint (table, device->row, state->counts_column, device->counts && !device->has_paths);
  }
}

/* Diskless machines have an empty file, but nothing in /sys/block either. */
static bool
has_devices (const struct disk_io *state)
{
  DIR *folder = state->block_folder ? opendir (state->block_folder) : NULL;
  const struct dirent *entry;

  if (folder == NULL)
    return false;
  while ((entry = readdir (folder)) != NULL && entry->d_name[0] == '.')
    continue;
  closedir (folder);
  return entry != NULL;
}

/* False when the line is not understood. */
static bool
sample_line (struct disk_io *state, size_t *devices, struct scan line, struct table *table)
{
  struct device *device;
  struct scan name;
  uint64_t major, minor;
  size_t words, numbers;

  if (!scan_uint (&line, &major) || !scan_uint (&line, &minor) || !scan_word (&line, &name) ||
      !isalpha ((unsigned char) *name.at))
    return false;
  words = scan_count (line, &numbers);
  if (words < COLUMNS_OF_A_DEVICE || numbers <= words / 2)
    return words == COLUMNS_OF_OLD && numbers == words;
  device = device_find (state, *devices, &name);
  if (device == NULL)
    return false;
  ++*devices;
  if (device->unknown)
    table_complain (table, "%s has no %s, which stands in %s", state->block_folder, device->name,
                    state->diskstats.path);
  if (!device->shown)
    return true;
  if (numbers < words)
    table_complain (table, "%s: not only numbers for %s", state->diskstats.path, device->name);
  device->row = table_add_row (table, name.at, scan_length (&name));
  if (device->row != SIZE_MAX)
    parse_columns (line, 4, &state->columns, table, device->row);
  return true;
}

static int
disk_io_sample (void *context, struct table *table)
{
  struct disk_io *state = context;
  struct scan rest, line;
  size_t understood = 0, lines = 0, devices = 0;

  if (reader_read_lines (&state->diskstats, &state->text, table) < 0)
    return -1;
  rest = scan_buffer (&state->text);
  for (; lines < TABLE_ROWS_MAX && scan_line (&rest, &line); lines++)
    understood += sample_line (state, &devices, line, table);
  disk_io_set_counts (state, devices, table);
  if (lines > 0 ? understood == 0 : has_devices (state))
    reader_complain (&state->diskstats, -EBADMSG, table);
  else if (understood < lines)
    table_complain (table, "%s: %zu of %zu lines are not understood", state->diskstats.path, lines - understood, lines);
  return lines > 0 && understood == 0 ? -1 : 0;
}

static void
disk_io_close (void *context)
{
  struct disk_io *state = context;

  reader_free (&state->diskstats);
  buffer_free (&state->text);
  free (state->block_folder);
  free (state->exclude);
  free (state->devices);
  free (state);
}

const struct sampler sampler_disk_io = { &group,         NULL,          disk_io_open,
                                         disk_io_sample, disk_io_close, .options = &own_options };
