/* schedstat: how long tasks ran on each CPU, and how long they waited for it.
 *
 *   /proc/schedstat    "cpu0 0 0 0 0 0 0 31413519337 4227373563 161512"    (nanoseconds, nanoseconds, time slices)
 *
 * Lines of domains stand between those of CPUs. Kernels made without CONFIG_SCHED_INFO have no such file. */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define COLUMNS 9

static const struct metric metrics[] = {
  { "running", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 1000000000, .bound = { .most = 2 }, .source = "7",
    .help = "Time that tasks ran." },
  { "waiting", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 1000000000, .bound = { .most = 1e6 },
    .source = "8", .help = "Time that tasks waited for the CPU, each of them." },
  { "timeslices", COUNTER, UNIT_COUNT, FOLD_SUM, .source = "9", .help = "Times that a task got the CPU." },
};

static const struct group group = {
  .name = "schedstat",
  .section = "system_data",
  .row = "CPU",
  .rows_name = "cpus",
  .fold_name = "average",
  .help = "How long tasks ran on each CPU and waited for it.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline.",
};

struct schedstat {
  struct reader reader;
  struct buffer text;
  struct column_map columns;
};

static void *
schedstat_open (const struct sampler_context *context)
{
  struct schedstat *state = memory_new (1, sizeof *state);

  reader_init (&state->reader, context->root, "/proc/schedstat");
  state->reader.optional = true;
  column_map_init (&state->columns, &group);
  return state;
}

static void
sample_cpu (struct schedstat *state, struct scan line, struct scan cpu, struct table *table)
{
  size_t words, numbers, row;

  words = scan_count (line, &numbers);
  if (words < COLUMNS || numbers != words) {
    table_complain (table, "%s: cpu%.*s is not understood", state->reader.path, (int) scan_length (&cpu), cpu.at);
    return;
  }
  row = table_add_row (table, cpu.at, scan_length (&cpu));
  if (row != SIZE_MAX)
    parse_columns (line, 1, &state->columns, table, row);
}

static int
schedstat_sample (void *context, struct table *table)
{
  struct schedstat *state = context;
  struct scan rest, line, word, digits;
  uint64_t number;
  int result = reader_read_lines (&state->reader, &state->text, table);

  if (result < 0)
    return reader_is_absent (result) ? 0 : -1;
  rest = scan_buffer (&state->text);
  while (scan_line (&rest, &line)) {
    if (!scan_word (&line, &word) || !scan_prefix (&word, "cpu"))
      continue;
    digits = word;
    if (scan_uint (&digits, &number) && scan_length (&digits) == 0)
      sample_cpu (state, line, word, table);
  }
  return table->rows || table->error[0] ? 0 : reader_complain (&state->reader, -EBADMSG, table);
}

static void
schedstat_close (void *context)
{
  struct schedstat *state = context;

  reader_free (&state->reader);
  buffer_free (&state->text);
  free (state);
}

const struct sampler sampler_schedstat = {
  &group, NULL, schedstat_open, schedstat_sample, schedstat_close, .optional = true,
};
