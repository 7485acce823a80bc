/* pressure: how long tasks waited for want of CPU, memory or disk: the kernel's pressure stall information.
 *
 *   /proc/pressure/memory     some avg10=0.00 avg60=0.00 avg300=0.14 total=4745010
 *                             full avg10=0.00 avg60=0.00 avg300=0.14 total=4672893      (total: microseconds)
 *
 * A source below is RESOURCE.KIND.KEY: "memory.some.avg10". "cpu" has no "full" line before 5.13; "irq" has no "some" line, and is there
 * when the kernel accounts for interrupts' time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/groups.h"
#include "agent/parse.h"
#include "agent/reader.h"
#include "synop/memory.h"

#define STALL_TOTAL(STALL, SOURCE, HELP)                                                                               \
  {                                                                                                                    \
    STALL "_total", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_OF_NODE, .per = 1000000, .source = SOURCE ".total",       \
                                                                      .help = "Time in which " HELP "."                \
  }
#define STALL_SHARE(STALL, SOURCE, HELP, SECONDS, SPAN)                                                                \
  {                                                                                                                    \
    STALL "_avg" SECONDS, GAUGE, UNIT_PERCENT, FOLD_MEAN, METRIC_OF_NODE,                                              \
        .source = SOURCE ".avg" SECONDS, .help = "Share of the last " SPAN " in which " HELP "."                       \
  }
#define STALL(RESOURCE, KIND, HELP)                                                                                    \
  STALL_TOTAL (RESOURCE "_" KIND, RESOURCE "." KIND, HELP),                                                            \
      STALL_SHARE (RESOURCE "_" KIND, RESOURCE "." KIND, HELP, "10", "10 seconds"),                                    \
      STALL_SHARE (RESOURCE "_" KIND, RESOURCE "." KIND, HELP, "60", "minute"),                                        \
      STALL_SHARE (RESOURCE "_" KIND, RESOURCE "." KIND, HELP, "300", "5 minutes")

static const struct metric metrics[] = {
  STALL ("cpu", "some", "a task waited for a CPU"),
  STALL ("cpu", "full", "no task could run for want of a CPU"),
  STALL ("memory", "some", "a task waited for memory"),
  STALL ("memory", "full", "no task could run for want of memory"),
  STALL ("io", "some", "a task waited for a disk"),
  STALL ("io", "full", "no task could run for want of a disk"),
  STALL ("irq", "full", "no task could run since interrupts took the CPU"),
};

static const struct group group = {
  .name = "pressure",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "Pressure stall information: time lost for want of CPU, memory or disk.",
  GROUP_METRICS (metrics),
};

static const char *const resources[] = { "cpu", "memory", "io", "irq" };
#define RESOURCES (sizeof resources / sizeof resources[0])

struct pressure {
  struct reader files[RESOURCES];
  struct buffer text;
  struct key_index keys;
};

static void *
pressure_open (const struct sampler_context *context)
{
  struct pressure *state = memory_new (1, sizeof *state);

  for (size_t i = 0; i < RESOURCES; i++)
    reader_init (&state->files[i], context->root, "/proc/pressure/%s", resources[i]);
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  return state;
}

/* "memory" "some" "avg10=0.00": the metric, and the rest of the word behind the '='. */
static size_t
find_metric (const struct key_index *keys, const char *resource, struct scan kind, struct scan *word)
{
  char key[32];
  const char *equals = memchr (word->at, '=', scan_length (word));
  size_t length = strlen (resource), part = scan_length (&kind);

  if (equals == NULL || length + part + (size_t) (equals - word->at) + 2 > sizeof key)
    return SIZE_MAX;
  memcpy (key, resource, length);
  key[length++] = '.';
  memcpy (key + length, kind.at, part);
  length += part;
  key[length++] = '.';
  part = (size_t) (equals - word->at);
  memcpy (key + length, word->at, part);
  word->at = equals + 1;
  return key_index_find (keys, key, length + part);
}

static size_t
parse_pressure (struct scan text, const char *resource, const struct key_index *keys, struct table *table)
{
  struct scan line, kind, word;
  struct value value = { 0 };
  size_t found = 0;

  while (scan_line (&text, &line)) {
    if (!scan_word (&line, &kind))
      continue;
    while (scan_word (&line, &word)) {
      size_t metric = find_metric (keys, resource, kind, &word);
      if (metric == SIZE_MAX)
        continue;
      if (scan_value (&word, group.metrics[metric].kind, &value) && value.type != VALUE_MISSING) {
        *table_value (table, TABLE_NODE, metric) = value;
        found++;
      }
    }
  }
  return found;
}

static int
pressure_sample (void *context, struct table *table)
{
  struct pressure *state = context;
  size_t found = 0;
  int first = 0;

  for (size_t i = 0; i < RESOURCES; i++) {
    int result = reader_read (&state->files[i], &state->text);
    if (i == 0)
      first = result;
    if (result == 0)
      found += parse_pressure (scan_buffer (&state->text), resources[i], &state->keys, table);
  }
  if (found > 0)
    return 0;
  reader_error (&state->files[0], first < 0 ? first : -EBADMSG, table->error, sizeof table->error);
  if (first == -ENOENT || first == -EOPNOTSUPP)
    snprintf (table->error, sizeof table->error,
              "the kernel has no pressure stall information, or needs psi=1 to have it");
  return -1;
}

static void
pressure_close (void *context)
{
  struct pressure *state = context;

  for (size_t i = 0; i < RESOURCES; i++)
    reader_free (&state->files[i]);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  free (state);
}

const struct sampler sampler_pressure = { &group, NULL, pressure_open, pressure_sample, pressure_close };
