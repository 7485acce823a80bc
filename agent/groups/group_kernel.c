/* kernel: limits of the kernel, and how much of them is taken.
 *
 *   /proc/sys/fs/file-nr                         "1184	0	9223372036854775807"    (open, 0, at most)
 *   /proc/sys/kernel/random/entropy_avail, poolsize    "256"
 *   /proc/sys/kernel/{pid_max,threads-max}       "4194304"
 *   /proc/sys/net/netfilter/nf_conntrack_{count,max}   (absent without connection tracking) */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

enum { FILES_OPEN, FILES_MAX, VALUES };

#define LIMIT(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = HELP                                                    \
  }
#define ONE_VALUE(NAME, PATH, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_MIN, METRIC_OF_NODE, .source = PATH, .help = HELP                                    \
  }

static const struct metric metrics[] = {
  [FILES_OPEN] = LIMIT ("files_open", "Open files of all processes (file handles)."),
  [FILES_MAX] = { "files_max", GAUGE, UNIT_COUNT, FOLD_MIN, METRIC_OF_NODE, .bound = { .most = 0x1p63 },
                  .help = "How many there may be (fs.file-max)." },
  [VALUES] = ONE_VALUE ("entropy_available", "/proc/sys/kernel/random/entropy_avail",
                        "Bits of entropy in the pool; constantly 256 on kernels since 5.18."),
  ONE_VALUE ("entropy_pool_size", "/proc/sys/kernel/random/poolsize", "Bits that the pool of entropy holds."),
  ONE_VALUE ("processes_max", "/proc/sys/kernel/pid_max", "Process numbers end below it (kernel.pid_max)."),
  ONE_VALUE ("threads_max", "/proc/sys/kernel/threads-max", "How many threads there may be (kernel.threads-max)."),
  { "connections_tracked", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE,
    .source = "/proc/sys/net/netfilter/nf_conntrack_count", .help = "Connections that the firewall tracks." },
  ONE_VALUE ("connections_tracked_max", "/proc/sys/net/netfilter/nf_conntrack_max",
             "How many it may track; new ones are dropped beyond."),
};
#define METRICS (sizeof metrics / sizeof metrics[0])

static const struct group group = {
  .name = "kernel",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "Limits of the kernel, and how much of them is taken: open files, entropy, tracked connections.",
  GROUP_METRICS (metrics),
};

struct kernel {
  struct reader files, readers[METRICS];
};

static void *
kernel_open (const struct sampler_context *context)
{
  struct kernel *state = memory_new (1, sizeof *state);

  reader_init (&state->files, context->root, "/proc/sys/fs/file-nr");
  for (size_t i = VALUES; i < METRICS; i++)
    reader_init (&state->readers[i], context->root, "%s", metrics[i].source);
  return state;
}

static int
sample_files (struct reader *reader, struct table *table)
{
  char text[96];
  uint64_t open, unused, most;
  struct scan rest;
  int length = reader_read_value (reader, text, sizeof text);

  if (length < 0)
    return reader_complain (reader, length, table);
  rest = scan_over (text, (size_t) length);
  if (!scan_uint (&rest, &open) || !scan_uint (&rest, &unused) || !scan_uint (&rest, &most))
    return reader_complain (reader, -EBADMSG, table);
  table_set_uint (table, TABLE_NODE, FILES_OPEN, open);
  table_set_uint (table, TABLE_NODE, FILES_MAX, most);
  return 0;
}

/* A file may be absent: its module is not loaded, or the kernel has none. */
static void
sample_value (struct reader *reader, size_t column, struct table *table)
{
  char text[32];
  uint64_t value;
  struct scan rest;
  int length = reader_read_value (reader, text, sizeof text);

  if (reader_is_absent (length))
    return;
  rest = scan_over (text, length > 0 ? (size_t) length : 0);
  if (scan_uint (&rest, &value) && scan_length (&rest) == 0)
    table_set_uint (table, TABLE_NODE, column, value);
  else
    reader_complain (reader, length < 0 ? length : -EBADMSG, table);
}

static int
kernel_sample (void *context, struct table *table)
{
  struct kernel *state = context;
  int result = sample_files (&state->files, table);

  for (size_t i = VALUES; i < METRICS; i++)
    sample_value (&state->readers[i], i, table);
  return result;
}

static void
kernel_close (void *context)
{
  struct kernel *state = context;

  reader_free (&state->files);
  for (size_t i = VALUES; i < METRICS; i++)
    reader_free (&state->readers[i]);
  free (state);
}

const struct sampler sampler_kernel = { &group, NULL, kernel_open, kernel_sample, kernel_close };
