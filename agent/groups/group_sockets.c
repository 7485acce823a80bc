/* sockets: how many sockets there are, and the memory of their buffers.
 *
 *   /proc/net/sockstat      "sockets: used 166"
 *                           "TCP: inuse 8 orphan 0 tw 2 alloc 13 mem 1"
 *   /proc/net/sockstat6     "TCP6: inuse 3"     (absent without IPv6)
 *
 * A value more is a row more below: its source is the line's first word and the key. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define SOCKETS(NAME, KEY, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = KEY, .help = HELP                                     \
  }
#define PAGES(NAME, KEY, HELP)                                                                                         \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = KEY, .help = HELP " In pages."                        \
  }

#define MEMORY(NAME, HELP)                                                                                             \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .help = HELP                                                    \
  }

enum { TCP_PAGES, TCP_MEMORY, UDP_PAGES, UDP_MEMORY };

static const struct metric metrics[] = {
  [TCP_PAGES] = PAGES ("tcp_pages", "TCP:mem", "Buffers of TCP sockets."),
  [TCP_MEMORY] = MEMORY ("tcp_memory", "tcp_pages in bytes."),
  [UDP_PAGES] = PAGES ("udp_pages", "?UDP:mem", "Buffers of UDP sockets."),
  [UDP_MEMORY] = MEMORY ("udp_memory", "udp_pages in bytes."),
  SOCKETS ("used", "sockets:used", "Sockets of all protocols."),
  SOCKETS ("tcp_in_use", "TCP:inuse", "TCP sockets over IPv4 that are in use, without those in TIME_WAIT."),
  SOCKETS ("tcp_orphans", "TCP:orphan", "TCP sockets that no process holds any more."),
  SOCKETS ("tcp_time_wait", "TCP:tw", "TCP sockets in TIME_WAIT."),
  SOCKETS ("tcp_allocated", "TCP:alloc", "TCP sockets of any state."),
  SOCKETS ("udp_in_use", "UDP:inuse", "UDP sockets over IPv4 that are in use."),
  SOCKETS ("udplite_in_use", "?UDPLITE:inuse", "UDP-Lite sockets over IPv4 that are in use."),
  SOCKETS ("raw_in_use", "RAW:inuse", "Raw sockets over IPv4 that are in use."),
  SOCKETS ("fragment_queues", "FRAG:inuse", "IPv4 packets that are being put together from fragments."),
  { "fragment_memory", GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .source = "FRAG:memory",
    .help = "Memory of fragments of IPv4 packets." },
  SOCKETS ("tcp6_in_use", "?TCP6:inuse", "TCP sockets over IPv6 that are in use."),
  SOCKETS ("udp6_in_use", "?UDP6:inuse", "UDP sockets over IPv6 that are in use."),
  SOCKETS ("udplite6_in_use", "?UDPLITE6:inuse", "UDP-Lite sockets over IPv6 that are in use."),
  SOCKETS ("raw6_in_use", "?RAW6:inuse", "Raw sockets over IPv6 that are in use."),
  SOCKETS ("fragment6_queues", "?FRAG6:inuse", "IPv6 packets that are being put together from fragments."),
  { "fragment6_memory", GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .source = "?FRAG6:memory",
    .help = "Memory of fragments of IPv6 packets." },
};

static const struct group group = {
  .name = "sockets",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "Sockets of the node by protocol, and the memory of their buffers.",
  GROUP_METRICS (metrics),
};

struct sockets {
  struct reader sockstat, sockstat6;
  struct buffer text;
  struct key_index keys;
};

static void *
sockets_open (const struct sampler_context *context)
{
  struct sockets *state = memory_new (1, sizeof *state);

  reader_init (&state->sockstat, context->root, "/proc/net/sockstat");
  reader_init (&state->sockstat6, context->root, "/proc/net/sockstat6");
  state->sockstat6.optional = true;
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  return state;
}

/* "TCP: inuse 8 orphan 0": keys "TCP:inuse", "TCP:orphan". Returns how many values were found. */
static size_t
sockets_parse_line (struct scan line, const struct key_index *keys, struct table *table)
{
  struct scan name, key;
  char joined[64];
  size_t found = 0;

  if (!scan_word (&line, &name) || name.end[-1] != ':')
    return 0;
  while (scan_word (&line, &key) && scan_length (&name) + scan_length (&key) <= sizeof joined) {
    memcpy (joined, name.at, scan_length (&name));
    memcpy (joined + scan_length (&name), key.at, scan_length (&key));
    if (key_index_take (keys, joined, scan_length (&name) + scan_length (&key), &line, table, TABLE_NODE))
      found++;
    else if (key_index_find (keys, joined, scan_length (&name) + scan_length (&key)) == SIZE_MAX)
      scan_word (&line, &key);
  }
  return found;
}

static size_t
parse_sockstat (struct scan rest, const struct key_index *keys, struct table *table)
{
  struct scan line;
  size_t found = 0;

  while (scan_line (&rest, &line))
    found += sockets_parse_line (line, keys, table);
  return found;
}

static void
set_memory (struct table *table, size_t column, size_t pages)
{
  const struct value *count = table_get (table, TABLE_NODE, pages);

  if (count->type == VALUE_UINT)
    table_set_uint (table, TABLE_NODE, column, count->as.u * (uint64_t) sysconf (_SC_PAGESIZE));
}

static int
sockets_sample (void *context, struct table *table)
{
  struct sockets *state = context;

  if (reader_read_lines (&state->sockstat, &state->text, table) < 0)
    return -1;
  if (parse_sockstat (scan_buffer (&state->text), &state->keys, table) == 0)
    return reader_complain (&state->sockstat, -EBADMSG, table);
  if (reader_read_lines (&state->sockstat6, &state->text, table) == 0 &&
      parse_sockstat (scan_buffer (&state->text), &state->keys, table) == 0)
    reader_complain (&state->sockstat6, -EBADMSG, table);
  key_index_check (&state->keys, "", state->sockstat.path, table, TABLE_NODE);
  set_memory (table, TCP_MEMORY, TCP_PAGES);
  set_memory (table, UDP_MEMORY, UDP_PAGES);
  return 0;
}

static void
sockets_close (void *context)
{
  struct sockets *state = context;

  reader_free (&state->sockstat);
  reader_free (&state->sockstat6);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  free (state);
}

const struct sampler sampler_sockets = { &group, NULL, sockets_open, sockets_sample, sockets_close };
