/* cpu_usage: where the time of each CPU went, and the counters of the scheduler beside it, all from /proc/stat.
 *
 *   cpu  3033 0 1813 185044 673 0 66 85 0 0
 *   cpu0 1598 0 969 92369 366 0 15 51 0 0         (USER_HZ: hundredths of a second; a CPU that is offline has no line)
 *   intr 251554 0 0 0 ...                          (may be 100 KB long: one number an interrupt)
 *   ctxt 38014093
 *   btime 1418183276
 *   processes 26442
 *   procs_running 2
 *   procs_blocked 1
 *
 * The average is the mean of the rows, so the "cpu" line is not used: it counts CPUs that are gone, too. */
#include <errno.h>
#include <stdlib.h>

#include "agent/groups.h"
#include "agent/parse.h"
#include "agent/reader.h"
#include "synop/memory.h"

#define TIME(NAME, COLUMN, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100, .source = COLUMN, .help = HELP                   \
  }

static const struct metric metrics[] = {
  TIME ("user", "2", "Time in user space, without nice but with guest."),
  TIME ("nice", "3", "Time in user space at a lowered priority, with guest_nice."),
  TIME ("system", "4", "Time in the kernel, without interrupts."),
  TIME ("idle", "5", "Time without anything to do."),
  TIME ("io_wait", "6", "Idle time while a task of this CPU waited for a disk."),
  TIME ("irq", "7", "Time in hardware interrupts."),
  TIME ("soft_irq", "8", "Time in soft interrupts."),
  TIME ("steal", "9", "Time that the hypervisor gave to others."),
  TIME ("guest", "10", "Time in virtual machines, counted in user as well."),
  TIME ("guest_nice", "11", "Time in virtual machines at a lowered priority, counted in nice as well."),
  { "context_switch_count", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "ctxt",
    .help = "Context switches." },
  { "interrupts", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "intr", .help = "Interrupts handled." },
  { "forks", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "processes",
    .help = "Processes and threads started." },
  { "running", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "procs_running",
    .help = "Tasks that run or could run." },
  { "blocked", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "procs_blocked",
    .help = "Tasks that wait for a disk." },
};

static const struct group group = {
  .name = "cpu_usage",
  .section = "system_data",
  .row = "CPU",
  .rows_name = "usage_data",
  .fold_name = "average_usage",
  .help = "Where the time of each CPU went, in percent of the period, and the scheduler's counters.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline.",
};

struct cpu_usage {
  struct reader stat;
  struct buffer text;
  struct column_map columns;
  struct key_index keys;
};

static void *
cpu_usage_open (const struct sampler_context *context)
{
  struct cpu_usage *state = memory_new (1, sizeof *state);

  reader_init (&state->stat, context->root, "/proc/stat");
  column_map_init (&state->columns, &group);
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  return state;
}

static int
cpu_usage_sample (void *context, struct table *table)
{
  struct cpu_usage *state = context;
  int result = reader_read (&state->stat, &state->text);
  struct scan rest = scan_buffer (&state->text), others = rest, line, label;
  size_t found = 0, row;
  uint64_t number;

  if (result < 0)
    return reader_error (&state->stat, result, table->error, sizeof table->error);
  while (scan_line (&rest, &line) && scan_prefix (&line, "cpu")) {
    others = rest;
    label.at = line.at;
    if (line.at == line.end || *line.at == ' ' || !scan_uint (&line, &number))
      continue;
    label.end = line.at;
    row = table_add_row (table, label.at, scan_length (&label));
    if (row == SIZE_MAX)
      continue;
    found += parse_columns (line, 2, &state->columns, table, row);
  }
  found += parse_key_values (others, 0, &state->keys, table, TABLE_NODE);
  return found > 0 ? 0 : reader_error (&state->stat, -EBADMSG, table->error, sizeof table->error);
}

static void
cpu_usage_close (void *context)
{
  struct cpu_usage *state = context;

  reader_free (&state->stat);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  free (state);
}

const struct sampler sampler_cpu_usage = { &group, NULL, cpu_usage_open, cpu_usage_sample, cpu_usage_close };
