/* disk_io: what each block device did, from /proc/diskstats.
 *
 *   column  1 2 3    4     5      6       7  8      9     10      11     12 13    14    15 16 17 18 19 20
 *   8       0 sdc    14202 71     579164  21861 2995 1589 180500  40875  0  11628 55200 0  0  0  0  127 182
 *   major, minor, name; reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, ms busy, weighted ms;
 *   discards, merged, sectors, ms (since 4.18); flushes, ms (since 5.5). A sector has 512 bytes whatever the device's.
 *
 * The kernel prints the times in 32 bits. Lines of 7 columns are partitions before 2.6.25, whose columns mean something
 * else: they are left out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/groups.h"
#include "agent/parse.h"
#include "agent/reader.h"
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

static const struct metric metrics[] = {
  COUNT ("reads", "4", "Reads done."),
  COUNT ("reads_merged", "5", "Reads that were merged into others before the device saw them."),
  SECTORS ("read_bytes", "6", "Bytes read."),
  MILLISECONDS ("read_time", "7", "Time that all reads took, added up."),
  COUNT ("writes", "8", "Writes done."),
  COUNT ("writes_merged", "9", "Writes that were merged into others before the device saw them."),
  SECTORS ("write_bytes", "10", "Bytes written."),
  MILLISECONDS ("write_time", "11", "Time that all writes took, added up."),
  { "in_flight", GAUGE, UNIT_COUNT, FOLD_SUM, .source = "12", .help = "Requests that the device works on now." },
  MILLISECONDS ("io_time", "13", "Time in which the device worked on at least one request."),
  MILLISECONDS ("weighted_io_time", "14", "Time of all requests added up: over io_time it is the queue's mean length."),
  COUNT ("discards", "15", "Discards done."),
  COUNT ("discards_merged", "16", "Discards that were merged into others."),
  SECTORS ("discard_bytes", "17", "Bytes discarded."),
  MILLISECONDS ("discard_time", "18", "Time that all discards took, added up."),
  COUNT ("flushes", "19", "Flushes done."),
  MILLISECONDS ("flush_time", "20", "Time that all flushes took, added up."),
};

static const struct group group = {
  .name = "disk_io",
  .section = "system_data",
  .row = "block device",
  .rows_name = "devices",
  .fold_name = "total",
  .help = "What each block device did. A volume (dm-0, md0) counts in the total beside the disks that it lies on.",
  GROUP_METRICS (metrics),
  .left_out = "partitions, unless [group disk_io] partitions says otherwise; devices of [group disk_io] exclude, which "
              "has loop*, ram*, zram*, fd* and sr* unless it is set.",
};

#define NAME_MAX_BYTES 63
#define COLUMNS_OF_A_DEVICE 11 /* those that every kernel since 2.6.25 has */

struct disk_io {
  struct reader diskstats;
  struct buffer text;
  struct column_map columns;
  char *block_folder; /* ROOT/sys/block, or NULL when there is none: a partition is known by its name then */
  char *exclude;
  bool partitions;
  struct device { /* what was decided of the device in each line, so that it is asked once */
    char name[NAME_MAX_BYTES + 1];
    bool shown;
  } * devices;
  size_t device_count;
};

static void *
disk_io_open (const struct sampler_context *context)
{
  struct disk_io *state = memory_new (1, sizeof *state);

  reader_init (&state->diskstats, context->root, "/proc/diskstats");
  column_map_init (&state->columns, &group);
  state->exclude = memory_string (context->disk_exclude);
  state->partitions = context->disk_partitions;
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

/* A whole device has a folder in /sys/block; a '/' in its name is '!' there. */
static bool
is_partition (const struct disk_io *state, const char *name)
{
  char path[4096];
  size_t folder = state->block_folder ? strlen (state->block_folder) : 0;

  if (state->block_folder == NULL)
    return is_named_as_partition (name);
  if ((size_t) snprintf (path, sizeof path, "%s/%s", state->block_folder, name) >= sizeof path)
    return false;
  for (char *at = path + folder + 1; *at; at++)
    if (*at == '/')
      *at = '!';
  return access (path, F_OK) != 0;
}

/* Is the device in this line of the file to be shown? A name that is new in its line is looked up. */
static bool
is_shown (struct disk_io *state, size_t line, const struct scan *name)
{
  struct device *device;
  size_t length = scan_length (name);

  if (length > NAME_MAX_BYTES)
    return false;
  if (line >= state->device_count) {
    size_t count = line < 8 ? 16 : line * 2;
    state->devices = memory_resize (state->devices, count, sizeof *state->devices);
    memset (state->devices + state->device_count, 0, (count - state->device_count) * sizeof *state->devices);
    state->device_count = count;
  }
  device = &state->devices[line];
  if (memcmp (device->name, name->at, length) != 0 || device->name[length] != '\0') {
    memcpy (device->name, name->at, length);
    device->name[length] = '\0';
    device->shown =
        !glob_list_matches (state->exclude, device->name) && (state->partitions || !is_partition (state, device->name));
  }
  return device->shown;
}

/* Does the line go on to the columns that a device has? */
static bool
is_long (struct scan line)
{
  struct scan word;
  size_t words = 0;

  while (words < COLUMNS_OF_A_DEVICE && scan_word (&line, &word))
    words++;
  return words == COLUMNS_OF_A_DEVICE;
}

static int
disk_io_sample (void *context, struct table *table)
{
  struct disk_io *state = context;
  int result = reader_read (&state->diskstats, &state->text);
  struct scan rest = scan_buffer (&state->text), line, name;
  size_t understood = 0;
  uint64_t major, minor;

  if (result < 0)
    return reader_error (&state->diskstats, result, table->error, sizeof table->error);
  for (size_t number = 0; number < TABLE_ROWS_MAX && scan_line (&rest, &line); number++) {
    size_t row;
    if (!scan_uint (&line, &major) || !scan_uint (&line, &minor) || !scan_word (&line, &name))
      continue;
    understood++;
    if (!is_shown (state, number, &name) || !is_long (line))
      continue;
    row = table_add_row (table, name.at, scan_length (&name));
    if (row == SIZE_MAX)
      continue;
    parse_columns (line, 4, &state->columns, table, row);
  }
  if (understood == 0 && state->text.length > 0)
    return reader_error (&state->diskstats, -EBADMSG, table->error, sizeof table->error);
  return 0;
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

const struct sampler sampler_disk_io = { &group, NULL, disk_io_open, disk_io_sample, disk_io_close };
