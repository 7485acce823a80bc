/* network: what went over each interface, and what TCP and UDP tell of trouble.
 *
 *   /proc/net/dev     Inter-|   Receive                            |  Transmit
 *                      face |bytes packets errs drop fifo frame ...|bytes packets errs drop fifo colls carrier ...
 *                       eth0:28086390 1182 0 0 0 0 0 0 77443 1023 0 0 0 0 0 0      (older kernels: no blank after ':')
 *   /proc/net/snmp, /proc/net/netstat       see paired.h
 *   /sys/class/net/eth0/{carrier,speed}     "1"; Mb/s, or -1, or an error when the interface is down
 *
 * Asking a driver for its speed takes the lock of the whole network configuration, so that is done seldom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/facts.h"
#include "agent/groups.h"
#include "agent/paired.h"
#include "agent/parse.h"
#include "agent/reader.h"
#include "synop/memory.h"

#define SPEED_SAMPLES 60      /* the speed is asked for in one of so many samples, and when the carrier changes */
#define CARRIERS_OPEN_MAX 128 /* files that stay open; interfaces beyond are opened each time */

/* The kernel counts in longs. Of 64 bits they never wrap: a fall is a reset. */
#define WRAPS (sizeof (long) == 4 ? METRIC_WRAPS32 : 0)

#define INTERFACE(NAME, UNIT, COLUMN, HELP)                                                                            \
  {                                                                                                                    \
    NAME, COUNTER, UNIT, FOLD_SUM, WRAPS, .source = COLUMN, .help = HELP                                               \
  }
#define OF_NODE(NAME, KIND, SOURCE, HELP)                                                                              \
  {                                                                                                                    \
    NAME, KIND, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = SOURCE, .help = HELP                                   \
  }

/* Of an interface: its column in /proc/net/dev. Of the node: keys of snmp and netstat. */
static const struct metric metrics[] = {
  INTERFACE ("rx_bytes", UNIT_BYTES, "2", "Bytes received."),
  INTERFACE ("rx_packets", UNIT_COUNT, "3", "Packets received."),
  INTERFACE ("rx_errors", UNIT_COUNT, "4", "Packets received with an error."),
  INTERFACE ("rx_dropped", UNIT_COUNT, "5", "Packets received and dropped."),
  INTERFACE ("rx_fifo", UNIT_COUNT, "6", "Packets lost because the receive queue was full."),
  INTERFACE ("rx_frame", UNIT_COUNT, "7", "Packets received with a framing error."),
  INTERFACE ("rx_compressed", UNIT_COUNT, "8", "Compressed packets received."),
  INTERFACE ("rx_multicast", UNIT_COUNT, "9", "Multicast packets received."),
  INTERFACE ("tx_bytes", UNIT_BYTES, "10", "Bytes sent."),
  INTERFACE ("tx_packets", UNIT_COUNT, "11", "Packets sent."),
  INTERFACE ("tx_errors", UNIT_COUNT, "12", "Packets that could not be sent."),
  INTERFACE ("tx_dropped", UNIT_COUNT, "13", "Packets dropped before they were sent."),
  INTERFACE ("tx_fifo", UNIT_COUNT, "14", "Packets lost because the send queue ran empty or full."),
  INTERFACE ("tx_collisions", UNIT_COUNT, "15", "Collisions while sending."),
  INTERFACE ("tx_carrier", UNIT_COUNT, "16", "Packets lost because the carrier was."),
  INTERFACE ("tx_compressed", UNIT_COUNT, "17", "Compressed packets sent."),
  { "speed", GAUGE, UNIT_BITS_PER_SECOND, FOLD_NONE, .times = 1000000, .help = "Speed of the link." },
  { "carrier", GAUGE, UNIT_BOOLEAN, FOLD_NONE, .help = "1 when the link is up." },

  OF_NODE ("tcp_established", GAUGE, "Tcp:CurrEstab", "TCP connections that are open."),
  OF_NODE ("tcp_active_opens", COUNTER, "Tcp:ActiveOpens", "TCP connections opened from here."),
  OF_NODE ("tcp_passive_opens", COUNTER, "Tcp:PassiveOpens", "TCP connections accepted."),
  OF_NODE ("tcp_attempt_fails", COUNTER, "Tcp:AttemptFails", "TCP connections that never opened."),
  OF_NODE ("tcp_in_segments", COUNTER, "Tcp:InSegs", "TCP segments received."),
  OF_NODE ("tcp_out_segments", COUNTER, "Tcp:OutSegs", "TCP segments sent, without those sent again."),
  OF_NODE ("tcp_retransmits", COUNTER, "Tcp:RetransSegs", "TCP segments sent again."),
  OF_NODE ("tcp_in_errors", COUNTER, "Tcp:InErrs", "TCP segments received with an error."),
  OF_NODE ("tcp_resets", COUNTER, "Tcp:EstabResets", "Open TCP connections that were reset."),
  OF_NODE ("tcp_resets_sent", COUNTER, "Tcp:OutRsts", "TCP resets sent."),
  OF_NODE ("tcp_timeouts", COUNTER, "TcpExt:TCPTimeouts", "Times that a TCP acknowledgement did not come in time."),
  OF_NODE ("tcp_listen_overflows", COUNTER, "TcpExt:ListenOverflows", "Connections refused: an accept queue was full."),
  OF_NODE ("tcp_listen_drops", COUNTER, "TcpExt:ListenDrops", "Connections dropped by a listening socket."),
  OF_NODE ("udp_in", COUNTER, "Udp:InDatagrams", "UDP datagrams received."),
  OF_NODE ("udp_out", COUNTER, "Udp:OutDatagrams", "UDP datagrams sent."),
  OF_NODE ("udp_no_ports", COUNTER, "Udp:NoPorts", "UDP datagrams for a port where nobody listens."),
  OF_NODE ("udp_in_errors", COUNTER, "Udp:InErrors", "UDP datagrams that could not be delivered."),
  OF_NODE ("udp_receive_buffer_errors", COUNTER, "Udp:RcvbufErrors", "UDP datagrams lost: a receive buffer was full."),
  OF_NODE ("udp_send_buffer_errors", COUNTER, "Udp:SndbufErrors", "UDP datagrams lost: a send buffer was full."),
};

static const struct group group = {
  .name = "network",
  .section = "system_data",
  .row = "interface",
  .rows_name = "devices",
  .fold_name = "total",
  .help = "Traffic and errors of each network interface, and of TCP and UDP on the node.",
  GROUP_METRICS (metrics),
  .left_out = "interfaces of other network namespaces, such as those within containers; what [group network] excludes.",
};

struct interface {
  char *name;
  bool excluded;
  bool seen; /* in this sample */
  struct reader carrier;
  struct value link, speed; /* as last read */
  unsigned speed_age;       /* samples until it is asked for again */
};

struct network {
  const struct sampler_context *context;
  struct reader dev, snmp, netstat;
  struct buffer text;
  struct column_map columns;
  struct key_index keys;
  size_t carrier_column, speed_column;
  struct interface *interfaces; /* in the order of /proc/net/dev */
  size_t count, capacity;
};

static void *
network_open (const struct sampler_context *context)
{
  struct network *network = memory_new (1, sizeof *network);

  network->context = context;
  reader_init (&network->dev, context->root, "/proc/net/dev");
  reader_init (&network->snmp, context->root, "/proc/net/snmp");
  reader_init (&network->netstat, context->root, "/proc/net/netstat");
  column_map_init (&network->columns, &group);
  key_index_init (&network->keys, &group, METRIC_OF_NODE);
  network->carrier_column = fact_column (&group, "carrier");
  network->speed_column = fact_column (&group, "speed");
  return network;
}

static void
interface_free (struct interface *interface)
{
  reader_free (&interface->carrier);
  free (interface->name);
}

static bool
is_named (const struct interface *interface, const struct scan *name)
{
  return strncmp (interface->name, name->at, scan_length (name)) == 0 && interface->name[scan_length (name)] == '\0';
}

/* The interface of that name, which mostly is where it was. A new one takes the place `at`. */
static struct interface *
interface_find (struct network *network, struct scan name, size_t at)
{
  struct interface *interface;
  char *text;

  for (size_t i = at; i < network->count; i++)
    if (is_named (&network->interfaces[i], &name))
      return &network->interfaces[i];
  for (size_t i = 0; i < at && i < network->count; i++)
    if (is_named (&network->interfaces[i], &name))
      return &network->interfaces[i];

  if (network->count == network->capacity) {
    network->capacity = network->capacity ? 2 * network->capacity : 16;
    network->interfaces = memory_resize (network->interfaces, network->capacity, sizeof *network->interfaces);
  }
  if (at > network->count)
    at = network->count;
  interface = &network->interfaces[at];
  memmove (interface + 1, interface, (network->count++ - at) * sizeof *interface);
  text = memory_copy (name.at, scan_length (&name));
  *interface =
      (struct interface){ .name = text, .excluded = glob_list_matches (network->context->network_exclude, text) };
  reader_init (&interface->carrier, network->context->root, "/sys/class/net/%s/carrier", text);
  return interface;
}

static void
interfaces_prune (struct network *network)
{
  size_t kept = 0;

  for (size_t i = 0; i < network->count; i++)
    if (network->interfaces[i].seen) {
      network->interfaces[kept] = network->interfaces[i];
      network->interfaces[kept++].seen = false;
    } else {
      interface_free (&network->interfaces[i]);
    }
  network->count = kept;
}

/* An interface that is down gives an error, one without a known speed -1: both are missing. */
static void
interface_refresh (struct network *network, struct interface *interface, size_t at)
{
  struct value before = interface->link;
  uint64_t speed;
  char text[32];
  struct scan scan;

  interface->link.type = VALUE_MISSING;
  if (reader_read_value (&interface->carrier, text, sizeof text) > 0) {
    scan = scan_over (text, strlen (text));
    scan_value (&scan, COUNTER, &interface->link);
  }
  if (at >= CARRIERS_OPEN_MAX)
    reader_close (&interface->carrier);

  if (interface->speed_age > 0 && before.type == interface->link.type && before.as.u == interface->link.as.u) {
    interface->speed_age--;
    return;
  }
  interface->speed_age = SPEED_SAMPLES - 1;
  interface->speed.type = VALUE_MISSING;
  if (fact_uint (&speed, network->context->root, "/sys/class/net/%s/speed", interface->name) && speed < UINT32_MAX)
    interface->speed = (struct value){ .type = VALUE_UINT, .as.u = speed };
}

static int
dev_sample (struct network *network, struct table *table)
{
  int rc = reader_read (&network->dev, &network->text);
  struct scan rest = scan_buffer (&network->text), line, name;
  size_t at = 0;

  if (rc < 0)
    return reader_error (&network->dev, rc, table->error, sizeof table->error);
  while (scan_line (&rest, &line)) {
    struct interface *interface;
    size_t row;
    if (!scan_word (&line, &name) || !(line.at = memchr (name.at, ':', (size_t) (line.end - name.at))))
      continue; /* the head, which has no colon */
    name.end = line.at++;
    interface = interface_find (network, name, at++);
    if (interface->seen)
      continue;
    interface->seen = true;
    if (interface->excluded || (row = table_add_row (table, name.at, scan_length (&name))) == SIZE_MAX)
      continue;
    parse_columns (line, 2, &network->columns, table, row);
    interface_refresh (network, interface, at);
    *table_value (table, row, network->carrier_column) = interface->link;
    *table_value (table, row, network->speed_column) = interface->speed;
  }
  interfaces_prune (network);
  return 0;
}

static void
keys_sample (struct network *network, struct reader *reader, struct table *table)
{
  if (reader_read (reader, &network->text) == 0)
    parse_paired (scan_buffer (&network->text), &network->keys, table);
}

static int
network_sample (void *state, struct table *table)
{
  struct network *network = state;

  keys_sample (network, &network->snmp, table);
  keys_sample (network, &network->netstat, table);
  return dev_sample (network, table);
}

static void
network_close (void *state)
{
  struct network *network = state;

  for (size_t i = 0; i < network->count; i++)
    interface_free (&network->interfaces[i]);
  free (network->interfaces);
  reader_free (&network->dev);
  reader_free (&network->snmp);
  reader_free (&network->netstat);
  buffer_free (&network->text);
  key_index_free (&network->keys);
  free (network);
}

const struct sampler sampler_network = { &group, NULL, network_open, network_sample, network_close };
