/* pressure: how long tasks waited for want of CPU, memory or disk: the kernel's pressure stall information.
 *
 *   /proc/pressure/memory     some avg10=0.00 avg60=0.00 avg300=0.14 total=4745010
 *                             full avg10=0.00 avg60=0.00 avg300=0.14 total=4672893      (total: microseconds)
 *
 * A source below is RESOURCE.KIND.KEY: "memory.some.avg10"; '?' before it: not every kernel has it. "cpu" has no "full"
 * line before 5.13; "irq" has no "some" line, and is there when the kernel accounts for interrupts' time. */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
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
#define STALL(RESOURCE, KIND, SOURCE, HELP)                                                                            \
  STALL_TOTAL (RESOURCE "_" KIND, SOURCE, HELP), STALL_SHARE (RESOURCE "_" KIND, SOURCE, HELP, "10", "10 seconds"),    \
      STALL_SHARE (RESOURCE "_" KIND, SOURCE, HELP, "60", "minute"),                                                   \
      STALL_SHARE (RESOURCE "_" KIND, SOURCE, HELP, "300", "5 minutes")

static const struct metric metrics[] = {
  STALL ("cpu", "some", "cpu.some", "a task waited for a CPU"),
  STALL ("cpu", "full", "?cpu.full", "no task could run for want of a CPU"),
  STALL ("memory", "some", "memory.some", "a task waited for memory"),
  STALL ("memory", "full", "memory.full", "no task could run for want of memory"),
  STALL ("io", "some", "io.some", "a task waited for a disk"),
  STALL ("io", "full", "io.full", "no task could run for want of a disk"),
  STALL ("irq", "full", "irq.full", "no task could run since interrupts took the CPU"),
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

enum { IRQ = 3, RESOURCES }; /* those before it are there together or not at all */
static const char *const resources[RESOURCES] = { "cpu", "memory", "io", [IRQ] = "irq" };

struct pressure {
  struct reader files[RESOURCES];
  struct buffer text;
  struct key_index keys;
};

static void *
pressure_open (const struct sampler_context *context)
{
  struct pressure *state = memory_new (1, sizeof *state);

  for (size_t i = 0; i < RESOURCES; i++) {
    reader_init (&state->files[i], context->root, "/proc/pressure/%s", resources[i]);
    state->files[i].optional = true;
  }
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  return state;
}

/* "memory" "some" "avg10=0.00": sets the metric when there is one. */
static bool
pressure_take_word (const struct key_index *keys, const char *resource, struct scan kind, struct scan word,
                    struct table *table)
{
  char key[32];
  const char *equals = memchr (word.at, '=', scan_length (&word));
  size_t length = strlen (resource), part = scan_length (&kind);

  if (equals == NULL || length + part + (size_t) (equals - word.at) + 2 > sizeof key)
    return false;
  memcpy (key, resource, length);
  key[length++] = '.';
  memcpy (key + length, kind.at, part);
  length += part;
  key[length++] = '.';
  part = (size_t) (equals - word.at);
  memcpy (key + length, word.at, part);
  word.at = equals + 1;
  return key_index_take (keys, key, length + part, &word, table, TABLE_NODE);
}

static size_t
parse_pressure (struct scan text, const char *resource, const struct key_index *keys, struct table *table)
{
  struct scan line, kind, word;
  size_t found = 0;

  while (scan_line (&text, &line)) {
    if (!scan_word (&line, &kind))
      continue;
    while (scan_word (&line, &word))
      found += pressure_take_word (keys, resource, kind, word, table);
  }
  return found;
}

/* Returns 0 when it found a value, or -errno. */
static int
sample_resource (struct pressure *state, size_t resource, struct table *table)
{
  struct reader *file = &state->files[resource];
  int result = reader_read_lines (file, &state->text, table);

  if (result < 0)
    return result;
  if (parse_pressure (scan_buffer (&state->text), resources[resource], &state->keys, table) == 0) {
    reader_complain (file, -EBADMSG, table);
    return -EBADMSG;
  }
  key_index_check (&state->keys, resources[resource], file->path, table, TABLE_NODE);
  return 0;
}

static int
pressure_sample (void *context, struct table *table)
{
  struct pressure *state = context;
  int results[RESOURCES];
  size_t absent = 0, found = 0;

  for (size_t i = 0; i < RESOURCES; i++) {
    results[i] = sample_resource (state, i, table);
    found += results[i] == 0;
    absent += i < IRQ && reader_is_absent (results[i]);
  }
  if (absent == IRQ)
    return table_complain (table, "the kernel has no pressure stall information, or needs psi=1 to have it");
  for (size_t i = 0; i < IRQ; i++)
    if (reader_is_absent (results[i]))
      reader_complain (&state->files[i], results[i], table);
  return found > 0 ? 0 : -1;
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
