/* conntrack: what became of connections that the firewall tracks; how many there are is in kernel.
 *
 *   /proc/net/stat/nf_conntrack    "entries  clashres found new invalid ignore ..."    (absent without connection tracking)
 *                                  "00000000  00000000 00000000 ..."                   hexadecimal, a line for each CPU
 *
 * The kernel writes a line for each CPU that there may be, so that is read every 10 s. */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define TRACK(KEY, HELP)                                                                                               \
  {                                                                                                                    \
    KEY, COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "?" KEY, .help = HELP                                \
  }

static const struct metric metrics[] = {
  TRACK ("found", "Packets whose connection was found."),
  TRACK ("invalid", "Packets that could not be tracked."),
  TRACK ("ignore", "Packets of connections that were tracked already."),
  TRACK ("insert", "Connections added to the table."),
  TRACK ("insert_failed", "Connections that could not be added: another one was there."),
  TRACK ("drop", "Packets dropped: their connection could not be tracked."),
  TRACK ("early_drop", "Connections removed to make room for others: the table was full."),
  TRACK ("search_restart", "Times that the table was searched again: it had been resized."),
};

static const struct group group = {
  .name = "conntrack",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "What became of connections that the firewall tracks. At most every 10 s.",
  GROUP_METRICS (metrics),
};

struct conntrack {
  struct reader reader;
  struct buffer text;
  struct key_index keys;
};

static void *
conntrack_open (const struct sampler_context *context)
{
  struct conntrack *state = memory_new (1, sizeof *state);

  reader_init (&state->reader, context->root, "/proc/net/stat/nf_conntrack");
  state->reader.optional = true;
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  return state;
}

/* A line of one CPU. False when it lacks a number that the head names. */
static bool
conntrack_parse_line (struct scan head, struct scan line, const struct key_index *keys, struct table *table)
{
  struct value value = { .type = VALUE_UINT };
  struct scan key, word;

  while (scan_word (&head, &key)) {
    size_t metric = key_index_find (keys, key.at, scan_length (&key));
    if (!scan_word (&line, &word) || !scan_hex (&word, &value.as.u) || scan_length (&word) != 0)
      return false;
    if (metric != SIZE_MAX)
      parse_add (table_value (table, TABLE_NODE, metric), &value);
  }
  return true;
}

static int
conntrack_sample (void *context, struct table *table)
{
  struct conntrack *state = context;
  struct scan rest, head, line;
  int result = reader_read_lines (&state->reader, &state->text, table);
  bool good;

  if (result < 0)
    return reader_is_absent (result) ? 0 : -1;
  rest = scan_buffer (&state->text);
  good = scan_line (&rest, &head) && scan_prefix (&(struct scan){ head.at, head.end }, "entries") && rest.at < rest.end;
  while (good && scan_line (&rest, &line))
    good = conntrack_parse_line (head, line, &state->keys, table);
  if (good)
    return 0;
  table_begin (table); /* a sum over some of the CPUs would be wrong */
  return reader_complain (&state->reader, -EBADMSG, table);
}

static void
conntrack_close (void *context)
{
  struct conntrack *state = context;

  reader_free (&state->reader);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  free (state);
}

const struct sampler sampler_conntrack = {
  &group, NULL, conntrack_open, conntrack_sample, conntrack_close, .optional = true, .period_ns = 10 * NS_PER_S,
};
