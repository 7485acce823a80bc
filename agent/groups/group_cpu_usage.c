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
 * The average is the mean of the rows, so the "cpu" line is not used: it counts CPUs that are gone, too.
 *
 * Ticks are counted as they end, and the file is read somewhat after the instant that the sample is of: of a period of 1 s
 * a busy CPU may have 1.06 s. `busy` never has more than went by; the rest of it comes with the next sample. */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define TICK_US (1000000 / 100)
#define LUMP 10 /* times the period: time of the hypervisor is counted all at once when the CPU runs again */
#define TIME(NAME, COLUMN, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100, .source = COLUMN, .help = HELP                   \
  }

static const struct metric metrics[] = {
  { "busy", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 1000000,
    .help = "Time with something to do: all but idle and io_wait, steal included. What the kernel counts ahead of the "
            "clock comes with the next sample." },
  TIME ("user", "2", "Time in user space, without nice but with guest."),
  TIME ("nice", "3", "Time in user space at a lowered priority, with guest_nice."),
  TIME ("system", "4", "Time in the kernel, without interrupts."),
  TIME ("idle", "5", "Time without anything to do."),
  TIME ("io_wait", "6", "Idle time while a task of this CPU waited for a disk."),
  TIME ("irq", "7", "Time in hardware interrupts."),
  TIME ("soft_irq", "8", "Time in soft interrupts."),
  { "steal", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100, .source = "9", .bound = { .most = LUMP },
    .help = "Time that the hypervisor gave to others." },
  TIME ("guest", "10", "Time in virtual machines, counted in user as well."),
  TIME ("guest_nice", "11", "Time in virtual machines at a lowered priority, counted in nice as well."),
  { "context_switch_count", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "ctxt",
    .help = "Context switches." },
  { "interrupts", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "intr", .help = "Interrupts handled." },
  { "forks", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "processes",
    .help = "Processes and threads started." },
  { "running", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "procs_running", .bound = { BOUND_TASKS },
    .help = "Tasks that run or could run." },
  { "blocked", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "procs_blocked", .bound = { BOUND_TASKS },
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

/* The states that `busy` adds up. User and nice include the time of guests. */
static const char *const busy_parts[] = { "user", "nice", "system", "irq", "soft_irq", "steal" };
#define BUSY_PARTS (sizeof busy_parts / sizeof busy_parts[0])

/* What was given of a CPU: rows in the order of the file, which is that of their numbers. */
struct given {
  uint64_t number, counted_us, busy_us;
};
struct givens {
  struct given *list;
  size_t count;
};

struct cpu_usage {
  struct reader stat;
  struct buffer text;
  struct column_map columns;
  struct key_index keys;
  size_t busy, parts[BUSY_PARTS]; /* columns */
  struct givens given, before;
  size_t capacity; /* of each */
  int64_t sampled_ns, elapsed_ns;
};

static void *
cpu_usage_open (const struct sampler_context *context)
{
  struct cpu_usage *state = memory_new (1, sizeof *state);

  reader_init (&state->stat, context->root, "/proc/stat");
  column_map_init (&state->columns, &group);
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  state->busy = fact_column (&group, "busy");
  for (size_t i = 0; i < BUSY_PARTS; i++)
    state->parts[i] = fact_column (&group, busy_parts[i]);
  return state;
}

/* ---- busy ---- */

static void
givens_begin (struct cpu_usage *state, int64_t now_ns)
{
  struct givens older = state->before;

  state->before = state->given;
  state->given = (struct givens){ .list = older.list };
  state->elapsed_ns = now_ns - state->sampled_ns;
  state->sampled_ns = now_ns;
}

static void
givens_add (struct cpu_usage *state, const struct given *one)
{
  if (state->given.count == state->capacity) {
    state->capacity = state->capacity ? 2 * state->capacity : 16;
    state->given.list = memory_resize (state->given.list, state->capacity, sizeof *one);
    state->before.list = memory_resize (state->before.list, state->capacity, sizeof *one);
  }
  state->given.list[state->given.count++] = *one;
}

/* As much as went by since the sample before. What no CPU can have done is left as it is: bounds.c takes it out. */
static uint64_t
hold (const struct cpu_usage *state, const struct given *before, uint64_t counted_us)
{
  uint64_t elapsed_us = (uint64_t) state->elapsed_ns / 1000;

  if (counted_us > before->counted_us + LUMP * elapsed_us || counted_us < before->busy_us + elapsed_us)
    return counted_us;
  return before->busy_us + elapsed_us;
}

/* `at`: where those before go on. */
static void
busy_hold (struct cpu_usage *state, uint64_t number, size_t *at, struct value *busy)
{
  const struct givens *before = &state->before;
  struct given one = { .number = number };

  if (busy->type != VALUE_UINT)
    return;
  if (__builtin_mul_overflow (busy->as.u, TICK_US, &one.counted_us))
    one.counted_us = UINT64_MAX;
  while (*at < before->count && before->list[*at].number < number)
    ++*at;
  one.busy_us = *at < before->count && before->list[*at].number == number
                    ? hold (state, &before->list[*at], one.counted_us)
                    : one.counted_us;
  givens_add (state, &one);
  busy->as.u = one.busy_us;
}

/* ---- lines ---- */

/* Takes the CPU's number. False when none is there, or no time behind it. */
static bool
take_label (struct scan *line, struct scan *label, uint64_t *number)
{
  struct scan ahead;
  uint64_t time;

  label->at = line->at;
  if (!scan_uint (line, number))
    return false;
  label->end = line->at;
  ahead = *line;
  return scan_uint (&ahead, &time);
}

/* Takes the lines of the CPUs, which come first; returns how many values it found. How many columns there are depends on
 * the kernel: all lines have as many as the first. */
static size_t
sample_cpus (struct cpu_usage *state, struct scan *rest, struct table *table)
{
  struct scan others = *rest, line, label;
  size_t found = 0, columns = 0, at = 0, row, values;
  uint64_t number;

  for (; scan_line (rest, &line) && scan_prefix (&line, "cpu"); others = *rest) {
    if (line.at < line.end && *line.at == ' ')
      continue;
    if (!take_label (&line, &label, &number)) {
      table_complain (table, "%s: a line of a CPU without times", state->stat.path);
      continue;
    }
    if (columns == 0)
      columns = scan_count (line, &values);
    row = table_add_row (table, label.at, scan_length (&label));
    if (row == SIZE_MAX)
      continue;
    values = parse_columns (line, 2, &state->columns, table, row);
    if (values < columns && values < state->columns.last - 1)
      table_complain (table, "%s: %zu of %zu times of CPU %.*s", state->stat.path, values, columns,
                      (int) scan_length (&label), label.at);
    for (size_t i = 0; i < BUSY_PARTS; i++)
      parse_add (table_value (table, row, state->busy), table_get (table, row, state->parts[i]));
    busy_hold (state, number, &at, table_value (table, row, state->busy));
    found += values;
  }
  *rest = others;
  return found;
}

static int
cpu_usage_sample (void *context, struct table *table)
{
  struct cpu_usage *state = context;
  struct scan rest;
  size_t found;

  if (reader_read_lines (&state->stat, &state->text, table) < 0)
    return -1;
  rest = scan_buffer (&state->text);
  givens_begin (state, table->monotonic_ns);
  found = sample_cpus (state, &rest, table);
  found += parse_key_values (rest, 0, &state->keys, table, TABLE_NODE);
  if (found == 0)
    return reader_complain (&state->stat, -EBADMSG, table);
  if (table->rows == 0)
    table_complain (table, "%s: no CPU", state->stat.path);
  key_index_check (&state->keys, "", state->stat.path, table, TABLE_NODE);
  return 0;
}

static void
cpu_usage_close (void *context)
{
  struct cpu_usage *state = context;

  reader_free (&state->stat);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  free (state->given.list);
  free (state->before.list);
  free (state);
}

const struct sampler sampler_cpu_usage = { &group, NULL, cpu_usage_open, cpu_usage_sample, cpu_usage_close };
