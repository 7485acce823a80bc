/* load: how many tasks want to run, and for how long the machine has been up.
 *
 *   /proc/loadavg     "0.20 0.18 0.12 1/80 11206"     (runnable/all tasks, last process id)
 *   /proc/uptime      "350735.47 234388.90" */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
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

/* Returns how many values it found. It stops at a word that is no value: what follows cannot be trusted. */
static size_t
parse_loadavg (struct scan rest, struct table *table)
{
  struct value value = { 0 };
  uint64_t count;
  size_t found;

  for (found = LOAD_1; found <= LOAD_15; found++) {
    if (!scan_value (&rest, GAUGE, &value) || value.type == VALUE_MISSING)
      return found;
    *table_value (table, TABLE_NODE, found) = value;
  }
  if (!scan_uint (&rest, &count) || !scan_prefix (&rest, "/"))
    return found;
  table_set_uint (table, TABLE_NODE, RUNNABLE, count);
  if (!scan_uint (&rest, &count))
    return TASKS;
  table_set_uint (table, TABLE_NODE, TASKS, count);
  return UPTIME;
}

static int
sample_loadavg (struct load *state, struct table *table)
{
  size_t found;

  if (reader_read_lines (&state->loadavg, &state->text, table) < 0)
    return -1;
  found = parse_loadavg (scan_buffer (&state->text), table);
  if (found == 0)
    return reader_complain (&state->loadavg, -EBADMSG, table);
  if (found < UPTIME)
    table_complain (table, "%s: %zu of %d numbers", state->loadavg.path, found, UPTIME);
  return 0;
}

static void
sample_uptime (struct load *state, struct table *table)
{
  struct value *uptime = table_value (table, TABLE_NODE, UPTIME);
  struct scan rest;

  if (reader_read_lines (&state->uptime, &state->text, table) < 0)
    return;
  rest = scan_buffer (&state->text);
  if (!scan_value (&rest, GAUGE, uptime) || uptime->type == VALUE_MISSING)
    reader_complain (&state->uptime, -EBADMSG, table);
}

static int
load_sample (void *context, struct table *table)
{
  struct load *state = context;
  int result = sample_loadavg (state, table);

  sample_uptime (state, table);
  return result;
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
