/* load: how many tasks want to run, and for how long the machine has been up.
 *
 *   /proc/loadavg     "0.20 0.18 0.12 1/80 11206"     (runnable/all tasks, last process id)
 *   /proc/uptime      "350735.47 234388.90" */
#include <errno.h>
#include <stdlib.h>

#include "agent/bounds.h"
#include "agent/groups.h"
#include "agent/parse.h"
#include "agent/reader.h"
#include "synop/memory.h"

enum { LOAD_1, LOAD_5, LOAD_15, RUNNABLE, TASKS, UPTIME };

static const struct metric metrics[] = {
  [LOAD_1] = { "load_1", GAUGE, UNIT_COUNT, FOLD_MEAN, METRIC_OF_NODE, .bound = { BOUND_TASKS },
               .help = "Tasks that ran or waited for a CPU or a disk, averaged over 1 minute." },
  [LOAD_5] = { "load_5", GAUGE, UNIT_COUNT, FOLD_MEAN, METRIC_OF_NODE, .bound = { BOUND_TASKS },
               .help = "load_1's count, averaged over 5 minutes." },
  [LOAD_15] = { "load_15", GAUGE, UNIT_COUNT, FOLD_MEAN, METRIC_OF_NODE, .bound = { BOUND_TASKS },
                .help = "load_1's count, averaged over 15 minutes." },
  [RUNNABLE] = { "runnable", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .bound = { BOUND_TASKS },
                 .help = "Tasks that run or could run." },
  [TASKS] = { "tasks", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .bound = { BOUND_TASKS },
              .help = "All tasks: processes and threads." },
  [UPTIME] = { "uptime", GAUGE, UNIT_SECONDS, FOLD_MIN, METRIC_OF_NODE, .help = "Time since the machine started." },
};

static const struct group group = {
  .name = "load",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "Load averages, tasks, uptime.",
  GROUP_METRICS (metrics),
};

struct load {
  struct reader loadavg, uptime;
  struct buffer text;
};

static void *
load_open (const struct sampler_context *context)
{
  struct load *state = memory_new (1, sizeof *state);

  reader_init (&state->loadavg, context->root, "/proc/loadavg");
  reader_init (&state->uptime, context->root, "/proc/uptime");
  return state;
}

static size_t
parse_loadavg (struct scan rest, struct table *table)
{
  struct value value = { 0 };
  uint64_t count;
  size_t found = 0;

  for (size_t column = LOAD_1; column <= LOAD_15 && scan_value (&rest, GAUGE, &value); column++) {
    *table_value (table, TABLE_NODE, column) = value;
    found += value.type != VALUE_MISSING;
  }
  if (scan_uint (&rest, &count)) {
    table_set_uint (table, TABLE_NODE, RUNNABLE, count);
    if (scan_prefix (&rest, "/") && scan_uint (&rest, &count))
      table_set_uint (table, TABLE_NODE, TASKS, count);
  }
  return found;
}

static int
load_sample (void *context, struct table *table)
{
  struct load *state = context;
  struct scan rest;
  int result;

  if (reader_read (&state->uptime, &state->text) == 0) {
    rest = scan_buffer (&state->text);
    scan_value (&rest, GAUGE, table_value (table, TABLE_NODE, UPTIME));
  }
  result = reader_read (&state->loadavg, &state->text);
  if (result == 0 && parse_loadavg (scan_buffer (&state->text), table) == 0)
    result = -EBADMSG;
  return result < 0 ? reader_error (&state->loadavg, result, table->error, sizeof table->error) : 0;
}

static void
load_close (void *context)
{
  struct load *state = context;

  reader_free (&state->loadavg);
  reader_free (&state->uptime);
  buffer_free (&state->text);
  free (state);
}

const struct sampler sampler_load = { &group, NULL, load_open, load_sample, load_close };
