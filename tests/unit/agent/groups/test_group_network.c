/* network: /proc/net/dev, the keys of snmp and netstat, carrier and speed. */
#include "tests/unit/agent/sampler_test.h"

#include "agent/source/paired.h"
#include "synop/clock.h"
#include "synop/report.h"

#define HEAD                                                                                                           \
  "Inter-|   Receive                                                |  Transmit\n"                                     \
  " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "   \
  "compressed\n"

static void
test_columns (void **state)
{
  static const char *const names[] = { "rx_bytes", "rx_packets",    "rx_errors",     "rx_dropped",
                                       "rx_fifo",  "rx_frame",      "rx_compressed", "rx_multicast",
                                       "tx_bytes", "tx_packets",    "tx_errors",     "tx_dropped",
                                       "tx_fifo",  "tx_collisions", "tx_carrier",    "tx_compressed" };
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/dev",
                 HEAD "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                      "  eth0:18446744073709551615 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" /* an old kernel's: no blank */
                      "enp1s0f0np0: 5 6\n");                                        /* and a short one */
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 3);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_uint (&sampled, "lo", names[i], i + 1);
  assert_uint (&sampled, "eth0", "rx_bytes", UINT64_MAX);
  assert_uint (&sampled, "enp1s0f0np0", "rx_packets", 6);
  assert_missing (&sampled, "enp1s0f0np0", "rx_errors");
  assert_missing (&sampled, "eth0", "speed");
  assert_missing (&sampled, "eth0", "carrier");
  assert_missing (&sampled, NULL, "tcp_established");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Keys are found by name, wherever they stand; a table of another name with the same key does not count. */
static void
test_keys (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/dev", HEAD);
  scratch_write (&scratch, "/proc/net/snmp",
                 "Ip: Forwarding InReceives\nIp: 2 55577\n"
                 "Tcp: MaxConn NewKey RetransSegs CurrEstab OutRsts EstabResets\nTcp: -1 99 18 3 19 4\n"
                 "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdp: 443 1 2 611 7 8\n"
                 "UdpLite: InDatagrams RcvbufErrors\nUdpLite: 1000 2000\n");
  scratch_write (&scratch, "/proc/net/netstat",
                 "TcpExt: ListenDrops ListenOverflows TCPTimeouts\nTcpExt: 21 22\n"
                 "IpExt: InOctets\nIpExt: 5\n");
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "tcp_retransmits", 18);
  assert_uint (&sampled, NULL, "tcp_established", 3);
  assert_uint (&sampled, NULL, "tcp_resets", 4);
  assert_uint (&sampled, NULL, "tcp_resets_sent", 19);
  assert_missing (&sampled, NULL, "tcp_in_segments");
  assert_uint (&sampled, NULL, "udp_in", 443);
  assert_uint (&sampled, NULL, "udp_out", 611);
  assert_uint (&sampled, NULL, "udp_receive_buffer_errors", 7);
  assert_uint (&sampled, NULL, "udp_send_buffer_errors", 8);
  assert_uint (&sampled, NULL, "tcp_listen_drops", 21);
  assert_uint (&sampled, NULL, "tcp_listen_overflows", 22);
  assert_missing (&sampled, NULL, "tcp_timeouts"); /* fewer values than keys */
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_odd_pairs (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/dev", "garbage\n:\n::\n: 5\n");
  scratch_write (
      &scratch, "/proc/net/snmp",
      "\n:\nTcp:\nTcp: CurrEstab\nUdp: InDatagrams\nUdp: 5\nUdp: x\nTcp: RetransSegs\nTcp: -7\nTcp: OutRsts");
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "tcp_established");
  assert_missing (&sampled, NULL, "tcp_retransmits");
  assert_uint (&sampled, NULL, "udp_in", 5);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_carrier_and_speed (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/dev", HEAD "  eth0: 1 2\n  eth1: 3 4\n");
  scratch_write (&scratch, "/sys/class/net/eth0/speed", "100000\n");
  scratch_write (&scratch, "/sys/class/net/eth0/carrier", "1\n");
  scratch_write (&scratch, "/sys/class/net/eth1/speed", "-1\n");
  scratch_write (&scratch, "/sys/class/net/eth1/carrier", "0\n");
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "eth0", "speed", 100000);
  assert_int_equal (sampler_network.group->metrics[sampled_column (&sampled, "speed")].times, 1000000);
  assert_uint (&sampled, "eth0", "carrier", 1);
  assert_missing (&sampled, "eth1", "speed");
  assert_uint (&sampled, "eth1", "carrier", 0);

  scratch_write (&scratch, "/sys/class/net/eth1/speed", "1000\n"); /* the link comes up: asked at once */
  scratch_write (&scratch, "/sys/class/net/eth1/carrier", "1\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "eth1", "speed", 1000);
  scratch_write (&scratch, "/sys/class/net/eth1/speed", "2500\n"); /* without a sign: asked after a while */
  for (int i = 0; i < 60; i++)
    sampled_again (&sampled);
  assert_uint (&sampled, "eth1", "speed", 2500);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_interfaces_come_go_and_are_left_out (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled.ini = "[group network]\nexclude = veth*,docker0\n";
  scratch_write (&scratch, "/proc/net/dev", HEAD " eth0: 1 2\nveth12: 3 4\neth1: 5 6\ndocker0: 7 8\n");
  scratch_write (&scratch, "/sys/class/net/eth1/carrier", "1\n");
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  scratch_write (&scratch, "/proc/net/dev", HEAD "eth2: 9 1\neth1: 5 7\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "eth1", "rx_packets", 7);
  assert_uint (&sampled, "eth1", "carrier", 1);
  assert_uint (&sampled, "eth2", "rx_bytes", 9);
  scratch_write (&scratch, "/proc/net/dev", HEAD "eth1: 5 8\neth1: 6 9\neth0: 1 1\n"); /* twice the same: the first */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "eth1", "rx_packets", 8);
  scratch_remove (&scratch, "/proc/net/dev");
  scratch_write (&scratch, "/proc/net/dev", HEAD);
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A fall is a wrap only where the kernel counts in 32 bits. */
static void
test_reset_is_no_wrap (void **state)
{
  const struct metric *bytes = &sampler_network.group->metrics[0];
  const struct value before = { VALUE_UINT, .as.u = 3500000000 }, now = { VALUE_UINT, .as.u = 100000000 };

  (void) state;
  struct value change = report_value (bytes, &now, &before, NS_PER_S);
  assert_int_equal (change.type, sizeof (long) == 4 ? VALUE_UINT : VALUE_MISSING);
}

/* The interfaces with 1 in in_total, in the order of the file. */
static void
assert_counted (struct sampled *sampled, const char *expected)
{
  char text[512] = "";

  assert_int_equal (sampled_again (sampled), 0);
  for (size_t row = 0; row < sampled->table.rows; row++) {
    const struct value *value = table_get (&sampled->table, row, sampled_column (sampled, "in_total"));
    size_t length, at = strlen (text);
    const char *label = table_label (&sampled->table, row, &length);
    assert_int_equal (value->type, VALUE_UINT);
    if (value->as.u == 1)
      snprintf (text + at, sizeof text - at, "%s%.*s", at ? " " : "", (int) length, label);
  }
  assert_string_equal (text, expected);
}

static void
write_interfaces (const struct scratch *scratch, const char *names)
{
  char text[2048] = HEAD, copy[512], *rest, *name;

  snprintf (copy, sizeof copy, "%s", names);
  for (name = strtok_r (copy, " ", &rest); name; name = strtok_r (NULL, " ", &rest))
    snprintf (text + strlen (text), sizeof text - strlen (text), "%s: 1 2\n", name);
  scratch_write (scratch, "/proc/net/dev", text);
}

static void
write_links (const struct scratch *scratch, const char *const *files, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    char path[128];
    snprintf (path, sizeof path, "/sys/class/net/%s", files[i]);
    scratch_write (scratch, path, strstr (path, "/type") ? "65534\n" : strstr (path, "port_name") ? "pf0vf1\n" : "1\n");
  }
}
#define LINKS(scratch, ...)                                                                                            \
  write_links (scratch, (const char *const[]){ __VA_ARGS__ },                                                          \
               sizeof (const char *const[]){ __VA_ARGS__ } / sizeof (const char *))

static void
counted_with (const struct scratch *scratch, const char *exclude, const char *expected)
{
  char ini[200];
  struct sampled sampled = { .ini = ini };

  snprintf (ini, sizeof ini, "[group network]\nexclude = %s\n", exclude);
  sampled_open (&sampled, &sampler_network, scratch->root);
  assert_counted (&sampled, expected);
  sampled_close (&sampled);
}

/* A bond of two with a VLAN on it in a bridge, a tunnel, the functions of an adapter. */
static void
test_total_counts_each_byte_once (void **state)
{
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  write_interfaces (&scratch, "lo eth0 eth1 bond0 bond0.100 br0 veth1 wg0 ib0 rep1");
  LINKS (&scratch, "lo/mtu", "eth0/device", "eth0/upper_bond0", "eth1/device", "eth1/upper_bond0", "bond0/lower_eth0",
         "bond0/lower_eth1", "bond0/bonding/mode", "bond0.100/lower_bond0", "br0/lower_bond0.100", "br0/lower_veth1",
         "veth1/brport/state", "wg0/type", "ib0/device", "rep1/device", "rep1/phys_port_name");
  counted_with (&scratch, "", "eth0 eth1 ib0");
  /* Where the members are left out the bond stands for them, and what lies on it does not. */
  counted_with (&scratch, "eth*", "bond0 ib0");
  counted_with (&scratch, "eth*,bond0,veth*", "bond0.100 ib0");
  counted_with (&scratch, "eth0,eth1,ib0,bond0,bond0.100,veth1", "br0");
  counted_with (&scratch, "eth1,ib0", "eth0"); /* which is a part, as was asked for */
  scratch_free (&scratch);
}

/* Hyper-V's interface tells what its virtual function carries too, and both have a device. */
static void
test_total_of_a_virtual_function_below_its_interface (void **state)
{
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  write_interfaces (&scratch, "lo eth0 enP1s1");
  LINKS (&scratch, "eth0/device", "eth0/lower_enP1s1", "enP1s1/device", "enP1s1/upper_eth0");
  counted_with (&scratch, "", "eth0");
  counted_with (&scratch, "eth0", "enP1s1");
  scratch_free (&scratch);
}

/* A container has no physical interface: those count that lie on no other. */
static void
test_total_without_a_physical_interface (void **state)
{
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  write_interfaces (&scratch, "lo eth0 eth0.5 docker0 vetha tun0 dummy0");
  LINKS (&scratch, "lo/mtu", "eth0/mtu", "eth0.5/lower_eth0", "docker0/bridge/mode", "vetha/brport/state", "tun0/type",
         "dummy0/mtu");
  counted_with (&scratch, "", "eth0");
  LINKS (&scratch, "vxlan1/uevent");
  scratch_write (&scratch, "/sys/class/net/vxlan1/uevent", "DEVTYPE=vxlan\nINTERFACE=vxlan1\n");
  write_interfaces (&scratch, "lo eth0 vxlan1");
  counted_with (&scratch, "", "eth0");
  write_interfaces (&scratch, "lo");
  counted_with (&scratch, "", "");
  scratch_remove (&scratch, "/sys"); /* by their names */
  write_interfaces (&scratch, "lo enp1s0 eno2 bond1 bond1.7 veth12 docker0 br-1f wg1 ib0 ifb0");
  counted_with (&scratch, "", "enp1s0 eno2 ib0");
  scratch_free (&scratch);
}

/* A bond whose members come when it is known already: its carrier says so. */
static void
test_layers_are_looked_at_again (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { .ini = "[group network]\nexclude = eth*\n" };

  (void) state;
  scratch_init (&scratch);
  write_interfaces (&scratch, "lo eth0 bond0");
  LINKS (&scratch, "eth0/device", "bond0/bonding/mode");
  scratch_write (&scratch, "/sys/class/net/bond0/carrier", "0\n");
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_counted (&sampled, "");
  LINKS (&scratch, "bond0/lower_eth0");
  scratch_write (&scratch, "/sys/class/net/bond0/carrier", "1\n");
  assert_counted (&sampled, "bond0");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_no_dev_file (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_network, "/nonexistent");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/net/dev"));
  sampled_close (&sampled);
}

static void
test_recorded_machines (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  need_root (ROOT_BIG480);
  sampled_open (&sampled, &sampler_network, ROOT_PROCFS);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_uint (&sampled, "eth0", "rx_bytes", 874354587);
  assert_uint (&sampled, "eth0", "tx_packets", 732147);
  assert_uint (&sampled, "eth0", "speed", 1000);
  assert_counted (&sampled, "eth0"); /* not lo, docker0 and a veth */
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_network, ROOT_BIG480);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "tcp_retransmits", 18);
  assert_uint (&sampled, NULL, "tcp_established", 2);
  assert_uint (&sampled, NULL, "udp_in", 443);
  sampled_close (&sampled);
}

static void
test_live_machine (void **state)
{
  (void) state;
  assert_true (assert_counters_do_not_fall (&sampler_network));
  assert_warm_without_allocation (&sampler_network, "");
}

#define SNMP                                                                                                           \
  "Ip: Forwarding DefaultTTL\nIp: 2 64\nIcmp: InMsgs InErrors OutMsgs\nIcmp: 1 2 3\n"                                  \
  "Tcp: MaxConn RetransSegs CurrEstab OutRsts EstabResets ActiveOpens PassiveOpens AttemptFails InSegs OutSegs "       \
  "InErrs\nTcp: -1 18 3 19 4 5 6 7 8 9 1\n"                                                                            \
  "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdp: 443 1 2 611 7 8\n"
#define NETSTAT                                                                                                        \
  "TcpExt: SyncookiesSent SyncookiesRecv SyncookiesFailed ListenDrops ListenOverflows TCPTimeouts TCPOFOQueue\n"       \
  "TcpExt: 1 2 3 21 22 23 4\nIpExt: InOctets OutOctets\nIpExt: 5 6\n"
#define SNMP6                                                                                                          \
  "Ip6InReceives                   \t99\n"                                                                             \
  "Ip6InOctets\t1\nIp6OutOctets\t2\nIcmp6InMsgs\t3\nIcmp6InErrors\t4\nIcmp6OutMsgs\t5\n"                               \
  "Udp6InDatagrams                 \t1000\n"                                                                           \
  "Udp6NoPorts                     \t10\nUdp6InErrors\t20\nUdp6OutDatagrams\t2000\nUdp6RcvbufErrors\t70\n"             \
  "Udp6SndbufErrors\t80\nUdpLite6InDatagrams\t5555\n"

static void
test_udp_is_ipv4_and_ipv6 (void **state)
{
  static const char *const names[] = { "udp_in",        "udp_out",
                                       "udp_no_ports",  "udp_receive_buffer_errors",
                                       "udp_in_errors", "udp_send_buffer_errors" };
  static const uint64_t sums[] = { 1443, 2611, 11, 77, 22, 88 };
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/dev", HEAD "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
  scratch_write (&scratch, "/proc/net/snmp", SNMP);
  scratch_write (&scratch, "/proc/net/netstat", NETSTAT);
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "udp_in", 443); /* no IPv6 here */
  assert_string_equal (sampled.table.error, "");
  scratch_write (&scratch, "/proc/net/snmp6", SNMP6);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
      assert_uint (&sampled, NULL, names[at], sums[at]);
    assert_uint (&sampled, NULL, "udp4_in", 443);
    assert_uint (&sampled, NULL, "udp6_in", 1000);
    assert_uint (&sampled, NULL, "icmp6_in_errors", 4);
    assert_int_equal (sampled_value (&sampled, NULL, "tcp_connections_max")->as.i, -1);
  }
  scratch_write (&scratch, "/proc/net/snmp6", "Udp6InDatagrams 1000\nUdp6OutData");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "udp_in", 1443);
  assert_missing (&sampled, NULL, "udp_out"); /* not the half of it */
  assert_uint (&sampled, NULL, "tcp_established", 3);
  assert_non_null (strstr (sampled.table.error, "/proc/net/snmp6: cut short"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Half of UDP is none; what else could be read is there. */
static void
test_files_that_lack (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/dev", HEAD "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
  scratch_write (&scratch, "/proc/net/netstat", NETSTAT);
  scratch_write (&scratch, "/proc/net/snmp6", SNMP6);
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_non_null (strstr (sampled.table.error, "/proc/net/snmp: No such file"));
  assert_null (strstr (sampled.table.error, "more")); /* one thing is wrong */
  assert_missing (&sampled, NULL, "udp_in");
  assert_missing (&sampled, NULL, "tcp_established");
  assert_uint (&sampled, NULL, "tcp_timeouts", 23);
  assert_uint (&sampled, "lo", "rx_bytes", 1);
  scratch_write (&scratch, "/proc/net/snmp", SNMP);
  scratch_remove (&scratch, "/proc/net/netstat");
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_network, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_non_null (strstr (sampled.table.error, "/proc/net/netstat: No such file"));
  assert_uint (&sampled, NULL, "udp_in", 1443);
  assert_missing (&sampled, NULL, "tcp_timeouts");

  scratch_write (&scratch, "/proc/net/netstat", NETSTAT);
  scratch_write (&scratch, "/proc/net/dev", "");
  sampled_again (&sampled);
  assert_non_null (strstr (sampled.table.error, "/proc/net/dev: Bad message"));
  assert_uint (&sampled, NULL, "tcp_timeouts", 23);
  scratch_write (&scratch, "/proc/net/dev", HEAD);
  sampled_again (&sampled);
  assert_non_null (strstr (sampled.table.error, "/proc/net/dev: no interface"));
  scratch_write (&scratch, "/proc/net/dev", "eth7: 1 2 3\neth8: 1 2 3 4\nfoo: bar\n");
  sampled_again (&sampled);
  assert_int_equal (sampled.table.rows, 0);
  assert_non_null (strstr (sampled.table.error, "/proc/net/dev: Bad message"));
  scratch_write (&scratch, "/proc/net/dev",
                 HEAD " garbage: 1 two 3\n a/b: 1 2\n\1\2: 3\n eth123456789012345: 1\n what\n  eth0: 1 2 3\n");
  sampled_again (&sampled);
  assert_int_equal (sampled.table.rows, 1);
  assert_uint (&sampled, "eth0", "rx_errors", 3);
  assert_non_null (strstr (sampled.table.error, "3 of 16 numbers of eth0 (and 1 more)"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_udp_is_ipv4_and_ipv6),
    cmocka_unit_test (test_files_that_lack),
    cmocka_unit_test (test_columns),
    cmocka_unit_test (test_keys),
    cmocka_unit_test (test_odd_pairs),
    cmocka_unit_test (test_carrier_and_speed),
    cmocka_unit_test (test_interfaces_come_go_and_are_left_out),
    cmocka_unit_test (test_reset_is_no_wrap),
    cmocka_unit_test (test_total_counts_each_byte_once),
    cmocka_unit_test (test_total_of_a_virtual_function_below_its_interface),
    cmocka_unit_test (test_total_without_a_physical_interface),
    cmocka_unit_test (test_layers_are_looked_at_again),
    cmocka_unit_test (test_no_dev_file),
    cmocka_unit_test (test_recorded_machines),
    cmocka_unit_test (test_live_machine),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
