/* network: what went over each interface, and what went wrong in TCP and UDP.
 *
 *   /proc/net/dev     Inter-|   Receive                            |  Transmit
 *                      face |bytes packets errs drop fifo frame ...|bytes packets errs drop fifo colls carrier ...
 *                       eth0:28086390 1182 0 0 0 0 0 0 77443 1023 0 0 0 0 0 0      (older kernels: no blank after ':')
 *   /proc/net/snmp, /proc/net/netstat       see paired.h
 *   /proc/net/snmp6   Udp6InDatagrams                 	443      (absent where the kernel has no IPv6, or it is off)
 *   /sys/class/net/eth0/{carrier,speed}     "1"; Mb/s, or -1, or an error when the interface is down
 *   /sys/class/net/eth0/{device,lower_*}    see layers.h; looked at when it is new, and when its carrier changes
 *
 * Asking a driver for its speed takes the lock of the whole network configuration, so that is done seldom. */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "agent/groups/network_options.h"
#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/layers.h"
#include "agent/source/paired.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/array.h"
#include "synop/globs.h"
#include "synop/memory.h"

#define SPEED_SAMPLES 60      /* the speed is asked for in one of so many samples, and when the carrier changes */
#define DEV_COLUMNS 16        /* numbers of each; since 2.2 */
#define CARRIERS_OPEN_MAX 128 /* files that stay open; interfaces beyond are opened each time */

/* The kernel counts in longs. Of 64 bits they never wrap: a fall is a reset. */
#define WRAPS (sizeof (long) == 4 ? METRIC_WRAPS32 : 0)

#define INTERFACE(NAME, UNIT, COLUMN, HELP)                                                                            \
  {                                                                                                                    \
    NAME, COUNTER, UNIT, FOLD_SUM, WRAPS, .source = COLUMN, .help = HELP                                               \
  }
#define TRAFFIC(NAME, COLUMN, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_BYTES, FOLD_SUM, WRAPS, .source = COLUMN, .help = HELP, .bound = { BOUND_LINE ("speed") }      \
  }
#define OF_NODE(NAME, KIND, SOURCE, HELP)                                                                              \
  {                                                                                                                    \
    NAME, KIND, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = SOURCE, .help = HELP                                   \
  }

#define IP_BYTES(NAME, KEY, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .source = KEY, .help = HELP                                   \
  }

/* UDP over IPv4, over IPv6, and their sum. */
#define UDP(NAME, KEY, WHAT)                                                                                           \
  OF_NODE ("udp_" NAME, COUNTER, NULL, WHAT ", over IPv4 and IPv6 together."),                                         \
      OF_NODE ("udp4_" NAME, COUNTER, "Udp:" KEY, WHAT ", over IPv4."),                                                \
      OF_NODE ("udp6_" NAME, COUNTER, "Udp6" KEY, WHAT ", over IPv6.")
#define UDP_METRICS 3

/* Of an interface: its column in /proc/net/dev. Of the node: keys of snmp, netstat and snmp6. */
static const struct metric metrics[] = {
  TRAFFIC ("rx_bytes", "2", "Bytes received."),
  INTERFACE ("rx_packets", UNIT_COUNT, "3", "Packets received."),
  INTERFACE ("rx_errors", UNIT_COUNT, "4", "Packets received with an error."),
  INTERFACE ("rx_dropped", UNIT_COUNT, "5", "Packets received and dropped."),
  INTERFACE ("rx_fifo", UNIT_COUNT, "6", "Packets lost because the receive queue was full."),
  INTERFACE ("rx_frame", UNIT_COUNT, "7", "Packets received with a framing error."),
  INTERFACE ("rx_compressed", UNIT_COUNT, "8", "Compressed packets received."),
  INTERFACE ("rx_multicast", UNIT_COUNT, "9", "Multicast packets received."),
  TRAFFIC ("tx_bytes", "10", "Bytes sent."),
  INTERFACE ("tx_packets", UNIT_COUNT, "11", "Packets sent."),
  INTERFACE ("tx_errors", UNIT_COUNT, "12", "Packets that could not be sent."),
  INTERFACE ("tx_dropped", UNIT_COUNT, "13", "Packets dropped before they were sent."),
  INTERFACE ("tx_fifo", UNIT_COUNT, "14", "Packets lost because the send queue ran empty or full."),
  INTERFACE ("tx_collisions", UNIT_COUNT, "15", "Collisions while sending."),
  INTERFACE ("tx_carrier", UNIT_COUNT, "16", "Packets lost because the carrier was."),
  INTERFACE ("tx_compressed", UNIT_COUNT, "17", "Compressed packets sent."),
  { "speed", GAUGE, UNIT_BITS_PER_SECOND, FOLD_NONE, .times = 1000000, .help = "Speed of the link." },
  { "carrier", GAUGE, UNIT_BOOLEAN, FOLD_NONE, .help = "1 when the link is up." },
  { "in_total", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS,
    .help = "1 when it counts in the total: no other interface counts the same bytes." },

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
  OF_NODE ("tcp_syn_retransmits", COUNTER, "?TcpExt:TCPSynRetrans", "TCP connection requests sent again."),
  OF_NODE ("tcp_receive_queue_drops", COUNTER, "?TcpExt:TCPRcvQDrop",
           "TCP segments dropped: a receive buffer was full."),
  OF_NODE ("tcp_out_of_order", COUNTER, "TcpExt:TCPOFOQueue", "TCP segments received out of their order."),
  OF_NODE ("tcp_syncookies_sent", COUNTER, "TcpExt:SyncookiesSent", "SYN cookies sent: a queue of requests was full."),
  OF_NODE ("tcp_syncookies_received", COUNTER, "TcpExt:SyncookiesRecv", "SYN cookies that came back."),
  OF_NODE ("tcp_syncookies_failed", COUNTER, "TcpExt:SyncookiesFailed", "SYN cookies that came back and were wrong."),
  { "tcp_connections_max", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .source = "Tcp:MaxConn",
    .bound = { .most = 0x1p53, .negative = true }, .help = "TCP connections that there may be; -1: no limit." },
  UDP ("in", "InDatagrams", "UDP datagrams received"),
  UDP ("out", "OutDatagrams", "UDP datagrams sent"),
  UDP ("no_ports", "NoPorts", "UDP datagrams for a port where nobody listens"),
  UDP ("in_errors", "InErrors", "UDP datagrams that could not be delivered"),
  UDP ("receive_buffer_errors", "RcvbufErrors", "UDP datagrams lost because a receive buffer was full"),
  UDP ("send_buffer_errors", "SndbufErrors", "UDP datagrams lost because a send buffer was full"),
  OF_NODE ("udplite4_in_errors", COUNTER, "?UdpLite:InErrors",
           "UDP-Lite datagrams that could not be delivered, over IPv4."),
  OF_NODE ("udplite6_in_errors", COUNTER, "?UdpLite6InErrors",
           "UDP-Lite datagrams that could not be delivered, over IPv6."),
  { "ip4_forwarding", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .source = "Ip:Forwarding",
    .help = "1 when the node forwards IPv4 packets, else 2." },
  IP_BYTES ("ip4_in_bytes", "IpExt:InOctets", "Bytes of IPv4 packets received."),
  IP_BYTES ("ip4_out_bytes", "IpExt:OutOctets", "Bytes of IPv4 packets sent."),
  IP_BYTES ("ip6_in_bytes", "Ip6InOctets", "Bytes of IPv6 packets received."),
  IP_BYTES ("ip6_out_bytes", "Ip6OutOctets", "Bytes of IPv6 packets sent."),
  OF_NODE ("icmp4_in", COUNTER, "Icmp:InMsgs", "ICMP messages received."),
  OF_NODE ("icmp4_out", COUNTER, "Icmp:OutMsgs", "ICMP messages sent."),
  OF_NODE ("icmp4_in_errors", COUNTER, "Icmp:InErrors", "ICMP messages received with an error."),
  OF_NODE ("icmp6_in", COUNTER, "Icmp6InMsgs", "ICMP messages received, over IPv6."),
  OF_NODE ("icmp6_out", COUNTER, "Icmp6OutMsgs", "ICMP messages sent, over IPv6."),
  OF_NODE ("icmp6_in_errors", COUNTER, "Icmp6InErrors", "ICMP messages received with an error, over IPv6."),
};

static const struct group group = {
  .name = "network",
  .section = "system_data",
  .row = "interface",
  .rows_name = "devices",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Traffic and errors of each network interface, and of TCP and UDP on the node. The total counts each byte "
          "once, at the physical interfaces: not lo, bonds, bridges, VLANs, tunnels. Where none is physical, as in a "
          "container, it counts those that lie on no other.",
  GROUP_METRICS (metrics),
  .left_out = "interfaces of other network namespaces, such as those within containers; what [group network] excludes.",
};

static const struct option option_rows[] = {
  { "group network", "exclude", "", OPTION_LIST, offsetof (struct network_options, exclude), "",
    .help = "Globs of interfaces to leave out." },
};
const struct own_options network_own_options = OWN_OPTIONS (option_rows, struct network_options);

struct interface {
  char *name;
  bool excluded;
  bool seen;  /* in this sample */
  size_t row; /* there; SIZE_MAX: none */
  enum layer layer;
  struct reader carrier;
  struct value link, speed; /* as last read */
  unsigned speed_age;       /* samples until it is asked for again */
};

struct network {
  const struct sampler_context *context;
  const struct network_options *options;
  struct reader dev, snmp, netstat, snmp6;
  struct buffer text;
  struct column_map columns;
  struct key_index keys;
  size_t carrier_column, speed_column, counts_column, udp_column;
  struct interface *interfaces; /* in the order of /proc/net/dev */
  size_t count, capacity;
};

static void *
network_open (const struct sampler_context *context)
{
  struct network *network = memory_new (1, sizeof *network);

  network->context = context;
  network->options = context_options (context, &network_own_options);
  reader_init (&network->dev, context->root, "/proc/net/dev");
  reader_init (&network->snmp, context->root, "/proc/net/snmp");
  reader_init (&network->netstat, context->root, "/proc/net/netstat");
  reader_init (&network->snmp6, context->root, "/proc/net/snmp6");
  network->snmp6.optional = true;
  column_map_init (&network->columns, &group);
  key_index_init (&network->keys, &group, METRIC_OF_NODE);
  network->carrier_column = fact_column (&group, "carrier");
  network->speed_column = fact_column (&group, "speed");
  network->counts_column = fact_column (&group, "in_total");
  network->udp_column = fact_column (&group, "udp_in");
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

static void
interface_place (struct network *network, struct interface *interface)
{
  interface->layer = layers_network (network->context->root, network->options->exclude, interface->name);
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

  array_reserve (network->interfaces, network->capacity, network->count + 1);
  if (at > network->count)
    at = network->count;
  interface = &network->interfaces[at];
  memmove (interface + 1, interface, (network->count++ - at) * sizeof *interface);
  text = memory_copy (name.at, scan_length (&name));
  *interface = (struct interface){ .name = text, .excluded = globs_list_matches (network->options->exclude, text) };
  interface_place (network, interface);
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

/* An interface that is down gives an error, one without a known speed -1: both are missing. No such file: /sys shows
 * another network namespace. */
static void
interface_refresh (struct network *network, struct interface *interface, size_t at, struct table *table)
{
  struct value before = interface->link;
  uint64_t speed;
  char text[32];
  struct scan scan;

  interface->link.type = VALUE_MISSING;
  if (reader_read_value (&interface->carrier, text, sizeof text) >= 0) {
    scan = scan_over (text, strlen (text));
    if (!scan_value (&scan, COUNTER, &interface->link) || interface->link.type == VALUE_MISSING)
      reader_complain (&interface->carrier, -EBADMSG, table);
  }
  if (at >= CARRIERS_OPEN_MAX)
    reader_close (&interface->carrier);

  bool changed = before.type != interface->link.type || before.as.u != interface->link.as.u;

  if (changed)
    interface_place (network, interface);
  if (interface->speed_age > 0 && !changed) {
    interface->speed_age--;
    return;
  }
  interface->speed_age = SPEED_SAMPLES - 1;
  interface->speed.type = VALUE_MISSING;
  if (fact_uint (&speed, network->context->root, "/sys/class/net/%s/speed", interface->name) && speed < UINT32_MAX)
    interface->speed = (struct value){ .type = VALUE_UINT, .as.u = speed };
}

static void
network_set_counts (const struct network *network, struct table *table)
{
  enum layer counted = LAYER_BOTTOM;

  for (size_t i = 0; i < network->count; i++)
    if (network->interfaces[i].seen && network->interfaces[i].layer > counted)
      counted = network->interfaces[i].layer;
  for (size_t i = 0; i < network->count; i++) {
    const struct interface *interface = &network->interfaces[i];
    if (interface->seen && interface->row != SIZE_MAX)
      table_set_uint (table, interface->row, network->counts_column, interface->layer == counted);
  }
}

/* As the kernel checks names of interfaces. */
static bool
is_name (struct scan name)
{
  if (scan_length (&name) == 0 || scan_length (&name) >= IFNAMSIZ)
    return false;
  for (; name.at < name.end; name.at++)
    if ((unsigned char) *name.at <= ' ' || *name.at == '/')
      return false;
  return true;
}

/* "eth0: 1 2 ..."; the head has no colon. */
static bool
dev_line (struct scan *line, struct scan *name)
{
  size_t words, numbers;

  if (!scan_word (line, name) || !(line->at = memchr (name->at, ':', (size_t) (line->end - name->at))))
    return false;
  name->end = line->at++;
  words = scan_count (*line, &numbers);
  return is_name (*name) && words > 0 && numbers == words;
}

static void
interface_sample (struct network *network, struct interface *interface, size_t at, struct scan line,
                  struct table *table)
{
  size_t row = table_add_row (table, interface->name, strlen (interface->name)), found;

  interface->row = row;
  if (row == SIZE_MAX)
    return;
  found = parse_columns (line, 2, &network->columns, table, row);
  if (found < DEV_COLUMNS)
    table_complain (table, "%s: %zu of %d numbers of %s", network->dev.path, found, DEV_COLUMNS, interface->name);
  interface_refresh (network, interface, at, table);
  *table_value (table, row, network->carrier_column) = interface->link;
  *table_value (table, row, network->speed_column) = interface->speed;
}

/* Takes the two lines of the head, which parts its columns by '|'. */
static bool
dev_head (struct scan *rest)
{
  struct scan line;

  for (int i = 0; i < 2; i++)
    if (!scan_line (rest, &line) || !memchr (line.at, '|', scan_length (&line)))
      return false;
  return true;
}

static int
dev_sample (struct network *network, struct table *table)
{
  struct scan rest, line, name;
  size_t strange = 0, at = 0;
  bool head;

  if (reader_read_lines (&network->dev, &network->text, table) < 0)
    return -1;
  rest = scan_buffer (&network->text);
  head = dev_head (&rest);
  while (head && scan_line (&rest, &line)) {
    struct interface *interface;
    if (!dev_line (&line, &name)) {
      strange++;
      continue;
    }
    interface = interface_find (network, name, at++);
    if (interface->seen)
      continue;
    interface->seen = true;
    interface->row = SIZE_MAX;
    if (!interface->excluded)
      interface_sample (network, interface, at, line, table);
  }
  network_set_counts (network, table);
  interfaces_prune (network);
  if (!head)
    reader_complain (&network->dev, -EBADMSG, table);
  else if (strange > 0)
    table_complain (table, "%s: %zu lines are not understood", network->dev.path, strange);
  else if (at == 0) /* every network namespace has one */
    table_complain (table, "%s: no interface", network->dev.path);
  return 0;
}

/* The keys of a file, by their prefixes. */
static void
keys_check (struct network *network, const struct reader *reader, int result, const char *const *prefixes,
            struct table *table)
{
  if (result < 0 && reader->optional && reader_is_absent (result))
    return;
  for (; *prefixes; prefixes++)
    key_index_check (&network->keys, *prefixes, result == 0 ? reader->path : NULL, table, TABLE_NODE);
}

/* The sum needs both; without IPv6 it is IPv4's value. */
static void
udp_sum (struct network *network, bool has_ip6, struct table *table)
{
  for (size_t at = network->udp_column; strncmp (metrics[at].name, "udp_", 4) == 0; at += UDP_METRICS) {
    const struct value *ip4 = table_get (table, TABLE_NODE, at + 1), *ip6 = table_get (table, TABLE_NODE, at + 2);

    if (ip4->type != VALUE_UINT || (has_ip6 && ip6->type != VALUE_UINT))
      continue;
    table_set_uint (table, TABLE_NODE, at, ip4->as.u + (has_ip6 ? ip6->as.u : 0));
  }
}

static void
keys_sample (struct network *network, struct table *table)
{
  static const char *const snmp_keys[] = { "Tcp:", "Udp:", "UdpLite:", "Ip:", "Icmp:", NULL };
  static const char *const netstat_keys[] = { "TcpExt:", "IpExt:", NULL };
  static const char *const snmp6_keys[] = { "Udp6", "UdpLite6", "Ip6", "Icmp6", NULL };
  int snmp = reader_read_lines (&network->snmp, &network->text, table), netstat, snmp6;

  if (snmp == 0)
    parse_paired (scan_buffer (&network->text), &network->keys, table);
  netstat = reader_read_lines (&network->netstat, &network->text, table);
  if (netstat == 0)
    parse_paired (scan_buffer (&network->text), &network->keys, table);
  snmp6 = reader_read_lines (&network->snmp6, &network->text, table);
  if (snmp6 == 0)
    parse_key_values (scan_buffer (&network->text), 0, &network->keys, table, TABLE_NODE);
  keys_check (network, &network->snmp, snmp, snmp_keys, table);
  keys_check (network, &network->netstat, netstat, netstat_keys, table);
  keys_check (network, &network->snmp6, snmp6, snmp6_keys, table);
  udp_sum (network, !reader_is_absent (snmp6), table);
}

static int
network_sample (void *state, struct table *table)
{
  struct network *network = state;
  int result = dev_sample (network, table);

  keys_sample (network, table);
  return result;
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
  reader_free (&network->snmp6);
  buffer_free (&network->text);
  key_index_free (&network->keys);
  free (network);
}

const struct sampler sampler_network = { &group,         NULL,          network_open,
                                         network_sample, network_close, .options = &network_own_options };
