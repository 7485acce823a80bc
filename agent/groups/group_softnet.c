/* softnet: what each CPU took from the network cards, and what it had no time or room for.
 *
 *   /proc/net/softnet_stat    a line for each CPU that is online, hexadecimal numbers:
 *                             processed dropped squeezed 0 0 0 0 0 0 received_rps flow_limited backlog CPU ...
 *
 * Kernels before 5.10 do not say the CPU (column 13): there it is the number of the line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define COLUMN_CPU 13
#define COLUMNS_LEAST 3

enum { PROCESSED, DROPPED, SQUEEZED, RECEIVED_RPS, FLOW_LIMITED, BACKLOG };

/* The kernel counts in 32 bits. */
#define SOFTNET(NAME, HELP)                                                                                            \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_WRAPS32, .help = HELP                                                  \
  }

static const struct metric metrics[] = {
  [PROCESSED] = SOFTNET ("processed", "Packets taken from the cards."),
  [DROPPED] = SOFTNET ("dropped", "Packets dropped: the CPU's queue was full (net.core.netdev_max_backlog)."),
  [SQUEEZED] = SOFTNET ("squeezed", "Times that packets were left for later: the time or the budget was over."),
  [RECEIVED_RPS] = SOFTNET ("received_rps", "Times that another CPU woke this one for packets."),
  [FLOW_LIMITED] = SOFTNET ("flow_limited", "Packets dropped: their flow had its part of the queue."),
  [BACKLOG] = { "backlog", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Packets in the CPU's queue." },
};

static const unsigned char columns[] = {
  [PROCESSED] = 1, [DROPPED] = 2, [SQUEEZED] = 3, [RECEIVED_RPS] = 10, [FLOW_LIMITED] = 11, [BACKLOG] = 12
};

static const struct group group = {
  .name = "softnet",
  .section = "system_data",
  .row = "CPU",
  .rows_name = "cpus",
  .fold_name = "total",
  .help = "Packets that each CPU took from the network cards, and what it had no time or room for.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline.",
};

struct softnet {
  struct reader reader;
  struct buffer text;
};

static void *
softnet_open (const struct sampler_context *context)
{
  struct softnet *state = memory_new (1, sizeof *state);

  reader_init (&state->reader, context->root, "/proc/net/softnet_stat");
  return state;
}

/* The numbers of a line; how many there are. 0: something else is in it. */
static size_t
softnet_parse_line (struct scan line, uint64_t *numbers, size_t most)
{
  struct scan word;
  size_t count = 0;

  for (; count < most && scan_word (&line, &word); count++)
    if (scan_length (&word) != 8 || !scan_hex (&word, &numbers[count]) || scan_length (&word) != 0)
      return 0;
  return count;
}

static int
softnet_sample (void *context, struct table *table)
{
  struct softnet *state = context;
  uint64_t numbers[COLUMN_CPU];
  struct scan rest, line;
  unsigned lines = 0, strange = 0;

  if (reader_read_lines (&state->reader, &state->text, table) < 0)
    return -1;
  rest = scan_buffer (&state->text);
  for (; scan_line (&rest, &line); lines++) {
    size_t count = softnet_parse_line (line, numbers, COLUMN_CPU), row;
    char label[12];
    int length;
    if (count < COLUMNS_LEAST) {
      strange++;
      continue;
    }
    length = snprintf (label, sizeof label, "%u", count == COLUMN_CPU ? (unsigned) numbers[COLUMN_CPU - 1] : lines);
    row = table_add_row (table, label, (size_t) length);
    for (size_t i = 0; row != SIZE_MAX && i < sizeof columns && columns[i] <= count; i++)
      table_set_uint (table, row, i, numbers[columns[i] - 1]);
  }
  if (table->rows == 0)
    return reader_complain (&state->reader, -EBADMSG, table);
  if (strange)
    table_complain (table, "%s: %u lines are not understood", state->reader.path, strange);
  return 0;
}

static void
softnet_close (void *context)
{
  struct softnet *state = context;

  reader_free (&state->reader);
  buffer_free (&state->text);
  free (state);
}

const struct sampler sampler_softnet = { &group, NULL, softnet_open, softnet_sample, softnet_close };
