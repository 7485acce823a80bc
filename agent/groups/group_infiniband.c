/* infiniband: counters and state of each port of each RDMA adapter.
 *
 *   /sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data    words of 4 bytes
 *   .../counters/VL15_dropped                                       "N/A (no PMA)" where the adapter does not count it
 *   .../counters_ext/port_xmit_data_64                              OFED of old: the same in 64 bits
 *   .../hw_counters/out_of_sequence                                 RoCE; what there is depends on the driver
 *   .../state, phys_state                                           "4: ACTIVE", "5: LinkUp"; the number may be unknown
 *   .../rate                                                        "100 Gb/sec (4X EDR)"
 *
 * Adapters come and go (drivers are reloaded, virtual functions are handed out), so the folder is listed at each
 * sample. A driver asks the adapter's firmware for these, and waits for it when it is sick: where there is an adapter
 * the sample may block.
 *
 * `counters` holds the port's performance counters (PMA) of InfiniBand, as wide as its standard makes them
 * (drivers/infiniband/core/sysfs.c). They stop at their end and never wrap: what stands there is no count any more, and
 * a fall is a reset. Many drivers have no PMA, and count traffic in hw_counters, in bytes, by names of their own
 * (drivers/infiniband/hw/DRIVER: efa_verbs.c, bnxt_re/hw_counters.c, irdma/verbs.c, erdma_verbs.c, mana/counters.c,
 * hns_roce_main.c, ionic_hw_stats.c; sw/rxe/rxe_hw_counters.c).
 *
 * Below, the source of a metric is its file, or files parted by blanks of which a port has one: the first that holds a
 * number. "A+B": the sum of two, where there is a B. "FILE:16": it stops at the end of 16 bits. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define PORT(NAME, UNIT, SOURCE, HELP)                                                                                 \
  {                                                                                                                    \
    NAME, COUNTER, UNIT, FOLD_SUM, .source = SOURCE, .help = HELP                                                      \
  }
#define DATA(NAME, SOURCE, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_BYTES, FOLD_SUM, .times = 4, .source = SOURCE, .bound = { BOUND_LINE ("rate") }, .help = HELP  \
  }

/* InfiniBand, as old OFED has it and as the kernel; EFA, bnxt_re, MANA; irdma; ionic; erdma, in two spellings. */
#define RECEIVED_BYTES                                                                                                 \
  "counters_ext/port_rcv_data_64 counters/port_rcv_data:32 hw_counters/rx_bytes "                                      \
  "hw_counters/ip4InOctets+hw_counters/ip6InOctets hw_counters/rx_rdma_ucast_bytes+hw_counters/rx_rdma_mcast_bytes "   \
  "hw_counters/rx_bytes_cnt hw_counters/hw_rx_bytes_cnt"
#define SENT_BYTES                                                                                                     \
  "counters_ext/port_xmit_data_64 counters/port_xmit_data:32 hw_counters/tx_bytes "                                    \
  "hw_counters/ip4OutOctets+hw_counters/ip6OutOctets hw_counters/tx_rdma_ucast_bytes+hw_counters/tx_rdma_mcast_bytes " \
  "hw_counters/tx_bytes_cnt hw_counters/hw_tx_bytes_cnt"
/* The same, but that MANA has a name of its own; and hns and rxe, which count no bytes. */
#define RECEIVED_PACKETS                                                                                               \
  "counters_ext/port_rcv_packets_64 counters/port_rcv_packets:32 hw_counters/rx_pkts hw_counters/rx_packets "          \
  "hw_counters/ip4InPkts+hw_counters/ip6InPkts hw_counters/rx_rdma_ucast_pkts+hw_counters/rx_rdma_mcast_pkts "         \
  "hw_counters/rx_packets_cnt hw_counters/hw_rx_packets_cnt hw_counters/rx_pkt hw_counters/rcvd_pkts"
#define SENT_PACKETS                                                                                                   \
  "counters_ext/port_xmit_packets_64 counters/port_xmit_packets:32 hw_counters/tx_pkts hw_counters/tx_packets "        \
  "hw_counters/ip4OutPkts+hw_counters/ip6OutPkts hw_counters/tx_rdma_ucast_pkts+hw_counters/tx_rdma_mcast_pkts "       \
  "hw_counters/tx_packets_cnt hw_counters/hw_tx_packets_cnt hw_counters/tx_pkt hw_counters/sent_pkts"

static const struct metric metrics[] = {
  DATA ("port_rcv_data", RECEIVED_BYTES, "Bytes received."),
  DATA ("port_xmit_data", SENT_BYTES, "Bytes sent."),
  PORT ("port_rcv_packets", UNIT_COUNT, RECEIVED_PACKETS, "Packets received."),
  PORT ("port_xmit_packets", UNIT_COUNT, SENT_PACKETS, "Packets sent."),
  PORT ("port_xmit_wait", UNIT_COUNT, "counters/port_xmit_wait:32", "Ticks during which data waited for credits."),
  PORT ("port_xmit_discards", UNIT_COUNT, "counters/port_xmit_discards:16", "Packets dropped before they were sent."),
  PORT ("port_rcv_errors", UNIT_COUNT, "counters/port_rcv_errors:16", "Packets received with an error."),
  PORT ("port_rcv_remote_physical_errors", UNIT_COUNT, "counters/port_rcv_remote_physical_errors:16",
        "Packets received that a sender or switch had marked bad."),
  PORT ("port_rcv_switch_relay_errors", UNIT_COUNT, "counters/port_rcv_switch_relay_errors:16",
        "Packets that a switch could not pass on."),
  PORT ("port_rcv_constraint_errors", UNIT_COUNT, "counters/port_rcv_constraint_errors:8",
        "Packets received against a partition or raw rule."),
  PORT ("port_xmit_constraint_errors", UNIT_COUNT, "counters/port_xmit_constraint_errors:8",
        "Packets not sent because of a partition or raw rule."),
  PORT ("link_downed", UNIT_COUNT, "counters/link_downed:8", "Times that the link went down and did not recover."),
  PORT ("link_error_recovery", UNIT_COUNT, "counters/link_error_recovery:8",
        "Times that the link recovered by itself."),
  PORT ("symbol_error", UNIT_COUNT, "counters/symbol_error:16", "Symbol errors on the link."),
  PORT ("local_link_integrity_errors", UNIT_COUNT, "counters/local_link_integrity_errors:4",
        "Times that local physical errors exceeded their threshold."),
  PORT ("excessive_buffer_overrun_errors", UNIT_COUNT, "counters/excessive_buffer_overrun_errors:4",
        "Times that buffer overruns exceeded their threshold."),
  PORT ("vl15_dropped", UNIT_COUNT, "counters/VL15_dropped:16", "Management packets dropped for want of a buffer."),
  PORT ("unicast_rcv_packets", UNIT_COUNT, "counters_ext/port_unicast_rcv_packets counters/unicast_rcv_packets",
        "Unicast packets received."),
  PORT ("unicast_xmit_packets", UNIT_COUNT, "counters_ext/port_unicast_xmit_packets counters/unicast_xmit_packets",
        "Unicast packets sent."),
  PORT ("multicast_rcv_packets", UNIT_COUNT, "counters_ext/port_multicast_rcv_packets counters/multicast_rcv_packets",
        "Multicast packets received."),
  PORT ("multicast_xmit_packets", UNIT_COUNT,
        "counters_ext/port_multicast_xmit_packets counters/multicast_xmit_packets", "Multicast packets sent."),
  PORT ("out_of_buffer", UNIT_COUNT, "hw_counters/out_of_buffer hw_counters/rx_out_of_buffer",
        "Packets dropped for want of a receive buffer."),
  PORT ("out_of_sequence", UNIT_COUNT, "hw_counters/out_of_sequence", "Packets that came out of sequence."),
  PORT ("packet_seq_err", UNIT_COUNT, "hw_counters/packet_seq_err", "Sequence errors that the other side reported."),
  PORT ("local_ack_timeout_err", UNIT_COUNT, "hw_counters/local_ack_timeout_err",
        "Times that an acknowledgement did not come in time."),
  PORT ("rnr_nak_retry_err", UNIT_COUNT, "hw_counters/rnr_nak_retry_err",
        "Times that the other side was never ready to receive."),
  PORT ("np_cnp_sent", UNIT_COUNT, "hw_counters/np_cnp_sent hw_counters/cnpSent", "Congestion notices sent."),
  PORT ("np_ecn_marked_roce_packets", UNIT_COUNT, "hw_counters/np_ecn_marked_roce_packets hw_counters/RxECNMrkd",
        "Packets received that a switch had marked for congestion."),
  PORT ("rp_cnp_handled", UNIT_COUNT, "hw_counters/rp_cnp_handled hw_counters/cnpHandled",
        "Congestion notices obeyed."),
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
  .flags = GROUP_ROWS,
  .help = "Traffic, errors and state of each port of each InfiniBand or RoCE adapter.",
  GROUP_METRICS (metrics),
};

#define TRAFFIC 4 /* the metrics that begin the table: a port without any of them counts no traffic */

/* One of the files that a metric may come from. */
struct file {
  struct reader reader;
  size_t metric;
  uint64_t end; /* where it stops; 0: in 64 bits */
  bool bytes;   /* it counts bytes, and its metric words of 4 */
  bool added;   /* to the file before it */
  bool absent;  /* no such file when the port was found: not tried again */
};

#define NO_FILE SIZE_MAX

struct port {
  char *label;
  struct file *files; /* those of a metric side by side, the best first */
  size_t count;
  size_t first[METRICS]; /* of its files */
  size_t
      used[METRICS]; /* the one that held a number in the last sample, so that two counts are not mixed; or NO_FILE */
};

#define LIST_SAMPLES 60 /* ports are listed anew after so many: a driver may add files late */

struct infiniband {
  char *root; /* a copy: see worker.h */
  struct folder_watch folder;
  struct port *ports;
  size_t count;
  unsigned age; /* samples since the ports were listed */
  bool stale;   /* a port was not there in the last sample */
  bool looked;  /* the folder was read for the next sample */
  bool changed; /* and listed other adapters */
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
    struct port *port = &infiniband->ports[i];
    for (size_t file = 0; file < port->count; file++)
      reader_free (&port->files[file].reader);
    free (port->files);
    free (port->label);
  }
  free (infiniband->ports);
  infiniband->ports = NULL;
  infiniband->count = 0;
}

/* `name`: "counters/symbol_error:16" */
static void
file_add (struct port *port, size_t metric, struct scan name, bool added, const char *folder)
{
  const char *colon = memchr (name.at, ':', scan_length (&name));
  int length = (int) ((colon ? colon : name.end) - name.at);
  struct file *file;

  port->files = memory_resize (port->files, port->count + 1, sizeof *port->files);
  file = &port->files[port->count++];
  *file = (struct file){ .metric = metric, .added = added };
  file->end = colon ? (UINT64_C (1) << strtoul (colon + 1, NULL, 10)) - 1 : 0;
  file->bytes = metrics[metric].unit == UNIT_BYTES && scan_prefix (&name, "hw_counters/");
  reader_init (&file->reader, folder, "/%.*s", length, colon ? colon - length : name.end - length);
}

static void
port_add (struct infiniband *infiniband, const char *device, const char *number)
{
  char *folder = memory_format ("%s/sys/class/infiniband/%s/ports/%s", infiniband->root, device, number);
  struct port *port;

  infiniband->ports = memory_resize (infiniband->ports, infiniband->count + 1, sizeof *port);
  port = &infiniband->ports[infiniband->count++];
  *port = (struct port){ .label = memory_format ("%s:%s", device, number) };
  for (size_t i = 0; i < METRICS; i++) {
    struct scan sources = scan_over (metrics[i].source, strlen (metrics[i].source)), source;
    port->first[i] = port->count;
    port->used[i] = NO_FILE;
    while (scan_word (&sources, &source)) {
      const char *plus = memchr (source.at, '+', scan_length (&source));
      file_add (port, i, (struct scan){ source.at, plus ? plus : source.end }, false, folder);
      if (plus)
        file_add (port, i, (struct scan){ plus + 1, source.end }, true, folder);
    }
  }
  free (folder);
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

/* Reads a file's text; its length, or 0. */
static size_t
infiniband_read_file (struct file *file, char *text, size_t size)
{
  int length = file->absent ? 0 : reader_read_value (&file->reader, text, size);

  if (length == -ENOENT && file->reader.fd < 0) {
    file->absent = true;
    reader_free (&file->reader); /* most are, and their paths would add up */
  }
  return length > 0 ? (size_t) length : 0;
}

/* What the reading of a counter has come to. */
struct reading {
  uint64_t count;
  size_t read;               /* files that held something */
  const struct file *ended;  /* one that stands at its end */
  const struct file *broken; /* one that holds neither a number nor "N/A" */
};

/* Adds what the file counts. False when it holds no count. */
static bool
count_read (struct file *file, struct reading *reading)
{
  char text[128];
  size_t length = infiniband_read_file (file, text, sizeof text);
  struct scan scan = scan_over (text, length);
  struct value value;

  reading->read += length > 0;
  if (!scan_value (&scan, COUNTER, &value) || value.type == VALUE_MISSING) {
    if (length > 0 && strncmp (text, "N/A", 3) != 0)
      reading->broken = file;
    return false;
  }
  if (file->end > 0 && value.as.u == file->end) {
    reading->ended = file;
    return false;
  }
  reading->count += value.as.u;
  return true;
}

/* Reads the count that begins at that file; one that is added may be absent. Returns where the next one begins, or
 * NO_FILE when it holds a number. */
static size_t
counter_try (struct port *port, size_t at, struct reading *reading)
{
  bool good = true;

  reading->count = 0;
  do {
    struct file *file = &port->files[at];
    good = good && (count_read (file, reading) || (file->added && file->absent));
  } while (++at < port->count && port->files[at].added);
  return good ? NO_FILE : at;
}

/* The file that had the count before goes first, and alone: another's count is not to be taken for its growth. */
static void
counter_sample (struct port *port, size_t metric, struct reading *reading, struct table *table, size_t row)
{
  size_t at = port->used[metric], next;

  if (at != NO_FILE) {
    next = counter_try (port, at, reading);
  } else {
    at = port->first[metric];
    while ((next = counter_try (port, at, reading)) != NO_FILE && next < port->count &&
           port->files[next].metric == metric)
      at = next;
  }
  port->used[metric] = next == NO_FILE ? at : NO_FILE;
  if (next == NO_FILE)
    table_set_uint (table, row, metric, port->files[at].bytes ? reading->count / 4 : reading->count);
  else if (reading->ended)
    table_complain (table, "%s: %s stands at %llu, the end of its counter", port->label, metrics[metric].name,
                    (unsigned long long) reading->ended->end);
  else if (reading->broken)
    reader_complain (&reading->broken->reader, -EBADMSG, table);
}

static void
text_sample (struct file *file, struct reading *reading, struct table *table, size_t row)
{
  struct value value = { 0 };
  char text[128];
  size_t length = infiniband_read_file (file, text, sizeof text);

  reading->read += length > 0;
  if (length == 0)
    return;
  if (metrics[file->metric].kind == TEXT) {
    state_set (table, row, file->metric, scan_over (text, length));
    return;
  }
  rate_set (&value, scan_over (text, length));
  *table_value (table, row, file->metric) = value;
}

/* Returns how many files it could read. */
static size_t
port_sample (struct port *port, struct table *table, size_t row)
{
  struct reading reading = { 0 };
  size_t traffic = 0;

  for (size_t i = 0; i < METRICS; i++) {
    reading.ended = reading.broken = NULL;
    if (metrics[i].kind == COUNTER)
      counter_sample (port, i, &reading, table, row);
    else
      text_sample (&port->files[port->first[i]], &reading, table, row);
    traffic += i < TRAFFIC && (port->used[i] != NO_FILE || reading.ended || reading.broken);
  }
  if (traffic == 0)
    table_complain (table, "%s: no counter of its traffic can be read", port->label);
  return reading.read;
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
