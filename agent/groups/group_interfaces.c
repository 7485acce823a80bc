/* interfaces: what each network interface is set to and how it is; what went over it is in network.
 *
 *   /sys/class/net/eth0/{operstate,mtu,tx_queue_len,flags,carrier_changes,...}    "up", "1500", "1000", "0x1003", "2"
 *   /proc/net/arp    "IP address       HW type     Flags       HW address            Mask     Device"
 *                    "192.0.2.1        0x1         0x2         02:fc:00:00:00:05     *        eth0"
 *
 * All of that changes seldom, so it is read every 10 s, and most once a minute (folder_rows.h). Files that wait for the lock of the whole network configuration
 * (duplex) are not read, and addresses are not shown. */
#include <errno.h>
#include <stdlib.h>

#include "agent/groups/folder_rows.h"
#include "agent/groups/network_options.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SETTING(NAME, FILE, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_NONE, .source = FILE, .help = HELP                                                   \
  }
#define CHANGES(NAME, FILE, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .source = FILE, .help = HELP                                                  \
  }

enum { STATE, CHANGES_OF_CARRIER, UPS, DOWNS, NO_HANDLER, LIVE, ARP_ENTRIES = LIVE };

static const struct metric metrics[] = {
  [STATE] = { "state", TEXT, UNIT_NONE, FOLD_NONE, .source = "operstate",
              .help = "State: up, down, dormant, lowerlayerdown, unknown." },
  [CHANGES_OF_CARRIER] = CHANGES ("carrier_changes", "carrier_changes", "Times that the link came or went."),
  [UPS] = CHANGES ("carrier_ups", "carrier_up_count", "Times that the link came."),
  [DOWNS] = CHANGES ("carrier_downs", "carrier_down_count", "Times that the link went."),
  [NO_HANDLER] = CHANGES ("rx_no_handler", "statistics/rx_nohandler", "Packets received that no protocol took."),
  [ARP_ENTRIES] = { "arp_entries", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Neighbours over IPv4 in the ARP table." },
  { "mtu", GAUGE, UNIT_BYTES, FOLD_NONE, .source = "mtu", .help = "Largest packet that it takes." },
  SETTING ("tx_queue_length", "tx_queue_len", "Packets that its send queue holds."),
  SETTING ("flags", "flags", "Flags, as in if.h."),
  SETTING ("index", "ifindex", "Number of the interface."),
  SETTING ("lower_index", "iflink", "Number of the interface that it lies on; its own where there is none."),
  SETTING ("type", "type", "What it is, as in if_arp.h: 1 Ethernet, 32 InfiniBand, 772 loopback."),
  SETTING ("link_mode", "link_mode", "1 when it stays dormant until a program says otherwise."),
  SETTING ("dormant", "dormant", "1 while it waits for something, such as a login."),
  SETTING ("device_id", "dev_id", "Number of the port among those that share an address."),
  SETTING ("device_group", "netdev_group", "Group that it is in."),
  SETTING ("address_assign_type", "addr_assign_type",
           "Where its address is from: 0 the card, 1 chance, 2 another, 3 set."),
  SETTING ("name_assign_type", "name_assign_type",
           "Where its name is from: 1 the kernel, 2 predicted, 3 a user, 4 renamed."),
  { "alias", TEXT, UNIT_NONE, FOLD_NONE, .source = "ifalias", .help = "Name that the administrator gave it." },
};

static const struct group group = {
  .name = "interfaces",
  .section = "system_data",
  .row = "interface",
  .rows_name = "devices",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "What each network interface is set to, and how it is. At most every 10 s.",
  GROUP_METRICS (metrics),
  .left_out = "addresses; what [group network] excludes.",
};

static const struct folder_rows_type type = { &group, "/sys/class/net", "", 0, LIVE };

struct interfaces {
  const struct network_options *options;
  struct folder_rows *rows;
  struct reader arp;
  struct buffer text;
};

static void *
interfaces_open (const struct sampler_context *context)
{
  struct interfaces *state = memory_new (1, sizeof *state);

  state->options = context_options (context, &network_own_options);
  state->rows = folder_rows_create (&type, context->root);
  reader_init (&state->arp, context->root, "/proc/net/arp");
  state->arp.optional = true;
  return state;
}

/* The line's device is its last word, the sixth. */
static bool
arp_device (struct scan line, struct scan *device)
{
  for (int words = 0; words < 6; words++)
    if (!scan_word (&line, device))
      return false;
  return !scan_word (&line, &(struct scan){ 0 });
}

static void
arp_count (struct table *table, struct scan device)
{
  size_t row = table_find_row (table, device.at, scan_length (&device), 0);

  if (row != SIZE_MAX)
    parse_add (table_value (table, row, ARP_ENTRIES), &(struct value){ .type = VALUE_UINT, .as.u = 1 });
}

static void
arp_sample (struct interfaces *state, struct table *table)
{
  struct scan rest, line, device;
  size_t strange = 0;

  if (reader_read_lines (&state->arp, &state->text, table) < 0)
    return;
  rest = scan_buffer (&state->text);
  if (!scan_line (&rest, &line) || !scan_prefix (&line, "IP address")) {
    reader_complain (&state->arp, -EBADMSG, table);
    return;
  }
  while (scan_line (&rest, &line))
    if (arp_device (line, &device))
      arp_count (table, device);
    else
      strange++;
  if (strange > 0)
    table_complain (table, "%s: %zu lines are not understood", state->arp.path, strange);
}

static int
interfaces_sample (void *context, struct table *table)
{
  struct interfaces *state = context;

  folder_rows_sample (state->rows, state->options->exclude, table);
  if (table->rows > 0)
    arp_sample (state, table);
  return 0;
}

static void
interfaces_close (void *context)
{
  struct interfaces *state = context;

  folder_rows_destroy (state->rows);
  reader_free (&state->arp);
  buffer_free (&state->text);
  free (state);
}

const struct sampler sampler_interfaces = {
  &group, NULL, interfaces_open, interfaces_sample, interfaces_close, .period_ns = 10 * NS_PER_S,
};
