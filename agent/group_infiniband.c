/* infiniband: counters and state of each port of each RDMA adapter.
 *
 *   /sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data    words of 4 bytes
 *   .../counters/VL15_dropped                                       "N/A (no PMA)" where the adapter does not count it
 *   .../hw_counters/out_of_sequence                                 RoCE; what there is depends on the driver
 *   .../state, phys_state                                           "4: ACTIVE", "5: LinkUp"; the number may be unknown
 *   .../rate                                                        "100 Gb/sec (4X EDR)"
 *
 * Adapters come and go (drivers are reloaded, virtual functions are handed out), so the folder is listed at each
 * sample. The old 32-bit counters stop at their end and never wrap, so a fall is a reset. A driver asks the adapter's
 * firmware for these, and waits for it when it is sick: where there is an adapter the sample may block. Below, the
 * source of a metric is its file. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/bounds.h"
#include "agent/facts.h"
#include "agent/groups.h"
#include "agent/parse.h"
#include "agent/reader.h"
#include "synop/memory.h"

#define PORT(NAME, UNIT, SOURCE, HELP)                                                                                 \
  {                                                                                                                    \
    NAME, COUNTER, UNIT, FOLD_SUM, .source = SOURCE, .help = HELP                                                      \
  }
#define DATA(NAME, SOURCE, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_BYTES, FOLD_SUM, .times = 4, .source = SOURCE, .bound = { BOUND_LINE ("rate") }, .help = HELP  \
  }

static const struct metric metrics[] = {
  DATA ("port_rcv_data", "counters/port_rcv_data", "Bytes received."),
  DATA ("port_xmit_data", "counters/port_xmit_data", "Bytes sent."),
  PORT ("port_rcv_packets", UNIT_COUNT, "counters/port_rcv_packets", "Packets received."),
  PORT ("port_xmit_packets", UNIT_COUNT, "counters/port_xmit_packets", "Packets sent."),
  PORT ("port_xmit_wait", UNIT_COUNT, "counters/port_xmit_wait", "Ticks during which data waited for credits."),
  PORT ("port_xmit_discards", UNIT_COUNT, "counters/port_xmit_discards", "Packets dropped before they were sent."),
  PORT ("port_rcv_errors", UNIT_COUNT, "counters/port_rcv_errors", "Packets received with an error."),
  PORT ("port_rcv_remote_physical_errors", UNIT_COUNT, "counters/port_rcv_remote_physical_errors",
        "Packets received that a sender or switch had marked bad."),
  PORT ("port_rcv_switch_relay_errors", UNIT_COUNT, "counters/port_rcv_switch_relay_errors",
        "Packets that a switch could not pass on."),
  PORT ("port_rcv_constraint_errors", UNIT_COUNT, "counters/port_rcv_constraint_errors",
        "Packets received against a partition or raw rule."),
  PORT ("port_xmit_constraint_errors", UNIT_COUNT, "counters/port_xmit_constraint_errors",
        "Packets not sent because of a partition or raw rule."),
  PORT ("link_downed", UNIT_COUNT, "counters/link_downed", "Times that the link went down and did not recover."),
  PORT ("link_error_recovery", UNIT_COUNT, "counters/link_error_recovery", "Times that the link recovered by itself."),
  PORT ("symbol_error", UNIT_COUNT, "counters/symbol_error", "Symbol errors on the link."),
  PORT ("local_link_integrity_errors", UNIT_COUNT, "counters/local_link_integrity_errors",
        "Times that local physical errors exceeded their threshold."),
  PORT ("excessive_buffer_overrun_errors", UNIT_COUNT, "counters/excessive_buffer_overrun_errors",
        "Times that buffer overruns exceeded their threshold."),
  PORT ("vl15_dropped", UNIT_COUNT, "counters/VL15_dropped", "Management packets dropped for want of a buffer."),
  PORT ("unicast_rcv_packets", UNIT_COUNT, "counters/unicast_rcv_packets", "Unicast packets received."),
  PORT ("unicast_xmit_packets", UNIT_COUNT, "counters/unicast_xmit_packets", "Unicast packets sent."),
  PORT ("multicast_rcv_packets", UNIT_COUNT, "counters/multicast_rcv_packets", "Multicast packets received."),
  PORT ("multicast_xmit_packets", UNIT_COUNT, "counters/multicast_xmit_packets", "Multicast packets sent."),
  PORT ("out_of_buffer", UNIT_COUNT, "hw_counters/out_of_buffer", "Packets dropped for want of a receive buffer."),
  PORT ("out_of_sequence", UNIT_COUNT, "hw_counters/out_of_sequence", "Packets that came out of sequence."),
  PORT ("packet_seq_err", UNIT_COUNT, "hw_counters/packet_seq_err", "Sequence errors that the other side reported."),
  PORT ("local_ack_timeout_err", UNIT_COUNT, "hw_counters/local_ack_timeout_err",
        "Times that an acknowledgement did not come in time."),
  PORT ("rnr_nak_retry_err", UNIT_COUNT, "hw_counters/rnr_nak_retry_err",
        "Times that the other side was never ready to receive."),
  PORT ("np_cnp_sent", UNIT_COUNT, "hw_counters/np_cnp_sent", "Congestion notices sent."),
  PORT ("np_ecn_marked_roce_packets", UNIT_COUNT, "hw_counters/np_ecn_marked_roce_packets",
        "Packets received that a switch had marked for congestion."),
  PORT ("rp_cnp_handled", UNIT_COUNT, "hw_counters/rp_cnp_handled", "Congestion notices obeyed."),
  { "rate", GAUGE, UNIT_BITS_PER_SECOND, FOLD_NONE, .times = 100000000, .source = "rate",
    .help = "Speed of the link as the adapter reports it." },
  { "state", TEXT, UNIT_NONE, FOLD_NONE, .source = "state", .help = "State of the port: ACTIVE, DOWN, INIT, ..." },
  { "phys_state", TEXT, UNIT_NONE, FOLD_NONE, .source = "phys_state",
    .help = "Physical state of the port: LinkUp, Polling, Disabled, ..." },
  { "link_layer", TEXT, UNIT_NONE, FOLD_NONE, .source = "link_layer", .help = "InfiniBand or Ethernet." },
};

#define METRICS (sizeof metrics / sizeof metrics[0])

static const struct group group = {
  .name = "infiniband",
  .section = "system_data",
  .row = "device:port",
  .rows_name = "devices",
  .fold_name = "total",
  .help = "Traffic, errors and state of each port of each InfiniBand or RoCE adapter.",
  GROUP_METRICS (metrics),
};

struct port {
  char *label;
  struct reader readers[METRICS];
  bool absent[METRICS]; /* no such file when the port was found: not tried again */
};

#define LIST_SAMPLES 60 /* ports are listed anew after so many: a driver may add files late */

struct infiniband {
  char *root; /* a copy: see lane.h */
  struct folder_watch folder;
  struct port *ports;
  size_t count;
  unsigned age; /* samples since the ports were listed */
  bool stale;   /* a port was not there in the last sample */
  bool looked;  /* at the folder, for the sample to come */
  bool changed; /* it had other adapters then */
};

static void *
infiniband_open (const struct sampler_context *context)
{
  struct infiniband *infiniband = memory_new (1, sizeof *infiniband);

  infiniband->root = memory_string (context->root);
  folder_watch_init (&infiniband->folder, context->root, "/sys/class/infiniband");
  return infiniband;
}

static void
ports_free (struct infiniband *infiniband)
{
  for (size_t i = 0; i < infiniband->count; i++) {
    for (size_t metric = 0; metric < METRICS; metric++)
      reader_free (&infiniband->ports[i].readers[metric]);
    free (infiniband->ports[i].label);
  }
  free (infiniband->ports);
  infiniband->ports = NULL;
  infiniband->count = 0;
}

static void
port_add (struct infiniband *infiniband, const char *device, const char *number)
{
  struct port *port;

  infiniband->ports = memory_resize (infiniband->ports, infiniband->count + 1, sizeof *port);
  port = &infiniband->ports[infiniband->count++];
  *port = (struct port){ .label = memory_format ("%s:%s", device, number) };
  for (size_t i = 0; i < METRICS; i++)
    reader_init (&port->readers[i], infiniband->root, "/sys/class/infiniband/%s/ports/%s/%s", device, number,
                 metrics[i].source);
}

static void
adapters_look (struct infiniband *infiniband)
{
  if (!infiniband->looked)
    infiniband->changed = folder_changed (&infiniband->folder);
  infiniband->looked = true;
}

static bool
infiniband_may_block (void *state)
{
  struct infiniband *infiniband = state;

  adapters_look (infiniband);
  return infiniband->folder.sum != 0;
}

/* Builds the ports anew when the adapters are others than before, when one was lost, and now and then. */
static void
ports_refresh (struct infiniband *infiniband)
{
  struct names devices = { 0 }, ports = { 0 };

  adapters_look (infiniband);
  infiniband->looked = false;
  infiniband->age++;
  if (!infiniband->changed && !infiniband->stale && (infiniband->folder.sum == 0 || infiniband->age < LIST_SAMPLES))
    return;
  names_read (&devices, "", infiniband->root, "/sys/class/infiniband");
  infiniband->stale = false;
  infiniband->age = 0;
  ports_free (infiniband);
  for (size_t i = 0; i < devices.count; i++) {
    names_read (&ports, "", infiniband->root, "/sys/class/infiniband/%s/ports", devices.list[i]);
    for (size_t j = 0; j < ports.count; j++)
      port_add (infiniband, devices.list[i], ports.list[j]);
  }
  names_free (&ports);
  names_free (&devices);
}

/* "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)": in tenths of a gigabit, so that it stays an integer. */
static void
rate_set (struct value *value, struct scan text)
{
  uint64_t whole, tenth = 0;

  if (!scan_uint (&text, &whole) || whole > UINT32_MAX)
    return;
  if (scan_prefix (&text, "."))
    tenth = text.at < text.end && isdigit ((unsigned char) *text.at) ? (uint64_t) (*text.at++ - '0') : 0;
  while (text.at < text.end && *text.at != ' ') /* no rate has hundredths */
    text.at++;
  if (scan_prefix (&text, " Gb/sec"))
    *value = (struct value){ .type = VALUE_UINT, .as.u = whole * 10 + tenth };
}

/* "4: ACTIVE" gives "ACTIVE"; what looks otherwise is taken as it is. */
static void
state_set (struct table *table, size_t row, size_t column, struct scan text)
{
  struct scan words = text;
  uint64_t number;

  if (scan_uint (&words, &number) && scan_prefix (&words, ":")) {
    scan_prefix (&words, " ");
    if (words.at < words.end)
      text = words;
  }
  table_set_text (table, row, column, text.at, scan_length (&text));
}

/* Returns how many files it could read. */
static size_t
port_sample (struct port *port, struct table *table, size_t row)
{
  size_t found = 0;
  char text[128];

  for (size_t i = 0; i < METRICS; i++) {
    struct scan scan;
    struct value value = { 0 };
    int length = port->absent[i] ? 0 : reader_read_value (&port->readers[i], text, sizeof text);

    if (length == -ENOENT && port->readers[i].fd < 0)
      port->absent[i] = true;
    if (length <= 0)
      continue;
    found++;
    scan = scan_over (text, (size_t) length);
    if (metrics[i].kind == TEXT) {
      state_set (table, row, i, scan);
      continue;
    }
    if (metrics[i].unit == UNIT_BITS_PER_SECOND)
      rate_set (&value, scan);
    else
      scan_value (&scan, metrics[i].kind, &value); /* "N/A (no PMA)" stays missing */
    *table_value (table, row, i) = value;
  }
  return found;
}

static int
infiniband_sample (void *state, struct table *table)
{
  struct infiniband *infiniband = state;

  ports_refresh (infiniband);
  for (size_t i = 0; i < infiniband->count; i++) {
    struct port *port = &infiniband->ports[i];
    size_t row = table_add_row (table, port->label, strlen (port->label));
    if (row != SIZE_MAX && port_sample (port, table, row) == 0)
      infiniband->stale = true;
  }
  return 0;
}

static void
infiniband_close (void *state)
{
  struct infiniband *infiniband = state;

  ports_free (infiniband);
  folder_watch_free (&infiniband->folder);
  free (infiniband->root);
  free (infiniband);
}

const struct sampler sampler_infiniband = { &group, infiniband_may_block, infiniband_open, infiniband_sample,
                                            infiniband_close };
