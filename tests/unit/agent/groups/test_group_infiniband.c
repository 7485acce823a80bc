/* infiniband: ports, their counters and states, whatever the adapter and its driver know of them. */
#include "tests/unit/agent/sampler_test.h"

#define ROOT "tests/roots/infiniband"
#define PORT "/sys/class/infiniband/mlx5_0/ports/1"

static void
test_counters (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_infiniband, ROOT);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 3);
  assert_uint (&sampled, "mlx5_2:1", "port_rcv_data", UINT64_C (250000000000));
  assert_uint (&sampled, "mlx5_2:1", "port_xmit_data", UINT64_C (5000000000000000000));
  assert_int_equal (sampler_infiniband.group->metrics[sampled_column (&sampled, "port_rcv_data")].times, 4);
  assert_int_equal (sampler_infiniband.group->metrics[sampled_column (&sampled, "port_xmit_data")].times, 4);
  assert_uint (&sampled, "mlx5_2:1", "port_rcv_packets", 1000001);
  assert_uint (&sampled, "mlx5_2:1", "port_xmit_packets", 2000002);
  assert_uint (&sampled, "mlx5_2:1", "port_xmit_wait", 77);
  assert_uint (&sampled, "mlx5_2:1", "port_xmit_discards", 3);
  assert_uint (&sampled, "mlx5_2:1", "port_rcv_errors", 4);
  assert_uint (&sampled, "mlx5_2:1", "port_rcv_constraint_errors", 5);
  assert_uint (&sampled, "mlx5_2:1", "port_xmit_constraint_errors", 6);
  assert_uint (&sampled, "mlx5_2:1", "link_downed", 1);
  assert_uint (&sampled, "mlx5_2:1", "symbol_error", 8);
  assert_uint (&sampled, "mlx5_2:1", "vl15_dropped", 9);
  assert_uint (&sampled, "mlx5_2:1", "out_of_sequence", 13);
  assert_uint (&sampled, "mlx5_2:1", "np_cnp_sent", 14);
  assert_missing (&sampled, "mlx5_2:1", "rp_cnp_handled");
  sampled_close (&sampled);
}

static void
test_states_and_rates (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_infiniband, ROOT);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, "mlx5_2:1", "state", "ACTIVE");
  assert_text (&sampled, "mlx5_2:1", "phys_state", "LinkUp");
  assert_text (&sampled, "mlx5_2:1", "link_layer", "InfiniBand");
  assert_uint (&sampled, "mlx5_2:1", "rate", 4000); /* tenths of a gigabit */
  assert_int_equal (sampler_infiniband.group->metrics[sampled_column (&sampled, "rate")].times, 100000000);
  assert_text (&sampled, "mlx5_2:2", "state", "DOWN");
  assert_uint (&sampled, "mlx5_2:2", "rate", 25);
  assert_uint (&sampled, "mlx5_2:2", "port_rcv_data", 0);
  assert_missing (&sampled, "mlx5_2:2", "port_xmit_data");
  sampled_close (&sampled);
}

static void
test_unknown_states_are_text (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_infiniband, ROOT);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, "mlx5_10:1", "state", "HIBERNATING");
  assert_text (&sampled, "mlx5_10:1", "phys_state", "<unknown>");
  assert_missing (&sampled, "mlx5_10:1", "rate");
  assert_missing (&sampled, "mlx5_10:1", "link_layer");
  assert_missing (&sampled, "mlx5_10:1", "symbol_error"); /* N/A (no PMA) */
  assert_uint (&sampled, "mlx5_10:1", "port_rcv_data", 12);
  sampled_close (&sampled);
}

static void
test_no_adapter (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_infiniband, "/nonexistent");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
}

static void
test_adapters_come_and_go (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  scratch_write (&scratch, PORT "/counters/port_rcv_data", "1\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "mlx5_0:1", "port_rcv_data", 1);
  scratch_write (&scratch, "/sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_data", "2\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "mlx5_0:1", "port_rcv_data", 1);
  assert_uint (&sampled, "mlx5_1:1", "port_rcv_data", 2);
  scratch_remove (&scratch, "/sys/class/infiniband/mlx5_0");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  scratch_remove (&scratch, "/sys/class/infiniband");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  scratch_write (&scratch, PORT "/counters/port_rcv_data", "3\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "mlx5_0:1", "port_rcv_data", 3);

  /* Other ports on an adapter of the same name: seen one sample after nothing can be read of the old ones. */
  scratch_write (&scratch, PORT "/counters/port_rcv_data", "");
  scratch_write (&scratch, "/sys/class/infiniband/mlx5_0/ports/2/counters/port_rcv_data", "5\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "mlx5_0:1", "port_rcv_data");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "mlx5_0:2", "port_rcv_data", 5);
  scratch_write (&scratch, PORT "/counters/port_rcv_data", "6\n");

  scratch_write (&scratch, PORT "/hw_counters/out_of_buffer", "4\n"); /* a file that comes late is found in time */
  for (int i = 0; i < 60; i++)
    sampled_again (&sampled);
  assert_uint (&sampled, "mlx5_0:1", "out_of_buffer", 4);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* It says so from the sample on that finds the adapter, and that sample shows what the question found. */
static void
test_may_block_where_there_is_an_adapter (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  for (int i = 0; i < 3; i++) {
    assert_false (sampled_may_block (&sampled));
    assert_int_equal (sampled_again (&sampled), 0);
  }
  assert_false (sampled_may_block (&sampled));
  scratch_write (&scratch, PORT "/counters/port_rcv_data", "1\n");
  assert_int_equal (sampled_again (&sampled), 0); /* whatever came meanwhile */
  assert_int_equal (sampled.table.rows, 0);
  for (int i = 0; i < 3; i++) {
    assert_true (sampled_may_block (&sampled));
    assert_int_equal (sampled_again (&sampled), 0);
    assert_uint (&sampled, "mlx5_0:1", "port_rcv_data", 1);
  }
  scratch_remove (&scratch, "/sys/class/infiniband/mlx5_0");
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_garbage (void **state)
{
  static const char *const texts[] = { "",   "\n",        ":", "4:", "4: ", "-5", "99999999999999999999 Gb/sec",
                                       "1.", "\xff\xfe\n" };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct sampled sampled = { 0 };
    scratch_write (&scratch, PORT "/counters/port_rcv_data", texts[i]);
    scratch_write (&scratch, PORT "/rate", texts[i]);
    scratch_write (&scratch, PORT "/state", texts[i]);
    sampled_open (&sampled, &sampler_infiniband, scratch.root);
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 1);
    assert_missing (&sampled, "mlx5_0:1", "rate");
    assert_missing (&sampled, "mlx5_0:1", "port_rcv_data");
    sampled_close (&sampled);
  }
  scratch_free (&scratch);
}

static void
test_recorded_machine (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  sampled_open (&sampled, &sampler_infiniband, ROOT_PROCFS);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_uint (&sampled, "mlx5_0:1", "port_xmit_data", UINT64_C (2880761508848));
  assert_text (&sampled, "mlx5_0:1", "phys_state", "ACTIVE");
  assert_uint (&sampled, "mlx5_0:1", "rate", 250);
  assert_uint (&sampled, "hfi1_0:1", "port_rcv_data", UINT64_C (345091702026));
  assert_text (&sampled, "hfi1_0:1", "state", "ACTIVE");
  assert_true (sampled_has_row (&sampled, "mlx4_0:1"));
  assert_true (sampled_has_row (&sampled, "mlx4_0:2"));
  sampled_close (&sampled);
}

static void
test_allocates_nothing_when_warm (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_infiniband, ROOT);
}

#define PORTS "/sys/class/infiniband"

static void
write_port (const struct scratch *scratch, const char *port, const char *const files[][2])
{
  char path[256];

  for (size_t i = 0; files[i][0]; i++) {
    snprintf (path, sizeof path, PORTS "/%s/%s", port, files[i][0]);
    scratch_write (scratch, path, files[i][1]);
  }
}

static void
assert_traffic (const struct sampled *sampled, const char *port, const uint64_t words[2], const uint64_t packets[2])
{
  assert_uint (sampled, port, "port_rcv_data", words[0]);
  assert_uint (sampled, port, "port_xmit_data", words[1]);
  assert_uint (sampled, port, "port_rcv_packets", packets[0]);
  assert_uint (sampled, port, "port_xmit_packets", packets[1]);
}

/* Adapters that count traffic elsewhere than InfiniBand's PMA does. */
static void
test_traffic_of_drivers (void **state)
{
  static const char *const none[] = { "counters/port_rcv_data", "counters/port_xmit_data", "counters/port_rcv_packets",
                                      "counters/port_xmit_packets" };
  static const char *const drivers[][5] = {
    { "efa_0/ports/1", "rx_bytes", "tx_bytes", "rx_pkts", "tx_pkts" }, /* bnxt_re too */
    { "mana_0/ports/1", "rx_bytes", "tx_bytes", "rx_packets", "tx_packets" },
    { "erdma_0/ports/1", "hw_rx_bytes_cnt", "hw_tx_bytes_cnt", "hw_rx_packets_cnt", "hw_tx_packets_cnt" },
    { "erdma_1/ports/1", "rx_bytes_cnt", "tx_bytes_cnt", "rx_packets_cnt", "tx_packets_cnt" },
  };
  static const char *const numbers[] = { "4000\n", "8003\n", "77\n", "88\n" };
  struct scratch scratch;
  struct sampled sampled = { 0 };
  char path[256];

  (void) state;
  scratch_init (&scratch);
  for (size_t driver = 0; driver < sizeof drivers / sizeof drivers[0]; driver++)
    for (size_t i = 0; i < 4; i++) {
      snprintf (path, sizeof path, PORTS "/%s/hw_counters/%s", drivers[driver][0], drivers[driver][i + 1]);
      scratch_write (&scratch, path, numbers[i]);
      snprintf (path, sizeof path, PORTS "/%s/%s", drivers[driver][0], none[i]);
      if (driver % 2 == 0)
        scratch_write (&scratch, path, "N/A (no PMA)\n"); /* kernels before 5.14 */
    }
  write_port (&scratch, "irdma_0/ports/1",
              (const char *const[][2]){ { "hw_counters/ip4InOctets", "400\n" },
                                        { "hw_counters/ip6InOctets", "4000\n" },
                                        { "hw_counters/ip4OutOctets", "800\n" },
                                        { "hw_counters/ip6OutOctets", "8000\n" },
                                        { "hw_counters/ip4InPkts", "1\n" },
                                        { "hw_counters/ip6InPkts", "10\n" },
                                        { "hw_counters/ip4OutPkts", "2\n" },
                                        { "hw_counters/ip6OutPkts", "20\n" },
                                        { "hw_counters/cnpSent", "5\n" },
                                        { NULL, NULL } });
  write_port (&scratch, "ionic_0/ports/1",
              (const char *const[][2]){ { "hw_counters/rx_rdma_ucast_bytes", "4000\n" },
                                        { "hw_counters/tx_rdma_ucast_bytes", "7600\n" },
                                        { "hw_counters/tx_rdma_mcast_bytes", "400\n" },
                                        { "hw_counters/rx_rdma_ucast_pkts", "77\n" },
                                        { "hw_counters/tx_rdma_ucast_pkts", "88\n" },
                                        { NULL, NULL } });
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_traffic (&sampled, "ionic_0:1", (uint64_t[]){ 1000, 2000 }, (uint64_t[]){ 77, 88 });
  assert_traffic (&sampled, "efa_0:1", (uint64_t[]){ 1000, 2000 }, (uint64_t[]){ 77, 88 });
  assert_traffic (&sampled, "mana_0:1", (uint64_t[]){ 1000, 2000 }, (uint64_t[]){ 77, 88 });
  assert_traffic (&sampled, "erdma_0:1", (uint64_t[]){ 1000, 2000 }, (uint64_t[]){ 77, 88 });
  assert_traffic (&sampled, "erdma_1:1", (uint64_t[]){ 1000, 2000 }, (uint64_t[]){ 77, 88 });
  assert_traffic (&sampled, "irdma_0:1", (uint64_t[]){ 1100, 2200 }, (uint64_t[]){ 11, 22 });
  assert_uint (&sampled, "irdma_0:1", "np_cnp_sent", 5);
  scratch_write (&scratch, PORTS "/irdma_0/ports/1/hw_counters/ip6InPkts", "?\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "irdma_0:1", "port_rcv_packets"); /* not the half of it */
  assert_non_null (strstr (sampled.table.error, "hw_counters/ip6InPkts: Bad message"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_counters_that_ended (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  write_port (&scratch, "mlx4_0/ports/1",
              (const char *const[][2]){ { "counters/port_rcv_data", "4294967295\n" },
                                        { "counters/port_xmit_data", "4294967294\n" },
                                        { "counters/port_rcv_packets", "4294967296\n" },
                                        { NULL, NULL } });
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "mlx4_0:1", "port_rcv_data");
  assert_uint (&sampled, "mlx4_0:1", "port_xmit_data", 4294967294);
  assert_uint (&sampled, "mlx4_0:1", "port_rcv_packets", 4294967296);
  assert_string_equal (sampled.table.error, "mlx4_0:1: port_rcv_data stands at 4294967295, the end of its counter");
  scratch_write (&scratch, PORTS "/mlx4_0/ports/1/counters/port_rcv_data", "4294967299\n"); /* it passed by */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "mlx4_0:1", "port_rcv_data", 4294967299);
  assert_string_equal (sampled.table.error, "");

  write_port (&scratch, "mlx4_0/ports/1",
              (const char *const[][2]){ { "counters/symbol_error", "65535\n" },
                                        { "counters/link_downed", "255\n" },
                                        { "counters/local_link_integrity_errors", "15\n" },
                                        { "counters/port_rcv_errors", "255\n" },
                                        { "counters/unicast_rcv_packets", "4294967295\n" },
                                        { NULL, NULL } });
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "mlx4_0:1", "symbol_error");
  assert_missing (&sampled, "mlx4_0:1", "link_downed");
  assert_missing (&sampled, "mlx4_0:1", "local_link_integrity_errors");
  assert_uint (&sampled, "mlx4_0:1", "port_rcv_errors", 255);
  assert_uint (&sampled, "mlx4_0:1", "unicast_rcv_packets", 4294967295);
  assert_non_null (strstr (sampled.table.error, "(and 2 more)"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* The wider counter is taken, and no change of one is ever the other's growth. */
static void
test_wider_counters (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  write_port (&scratch, "mlx4_0/ports/1",
              (const char *const[][2]){ { "counters/port_rcv_data", "4294967295\n" },
                                        { "counters_ext/port_rcv_data_64", "500000000000\n" },
                                        { "counters_ext/port_unicast_rcv_packets", "12\n" },
                                        { NULL, NULL } });
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "mlx4_0:1", "port_rcv_data", 500000000000);
  assert_uint (&sampled, "mlx4_0:1", "unicast_rcv_packets", 12);
  scratch_write (&scratch, PORTS "/mlx4_0/ports/1/counters/port_rcv_data", "7\n");
  scratch_write (&scratch, PORTS "/mlx4_0/ports/1/counters_ext/port_rcv_data_64", "N/A (no PMA)\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "mlx4_0:1", "port_rcv_data"); /* between the two */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "mlx4_0:1", "port_rcv_data", 7);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_no_traffic_counter (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  write_port (&scratch, "qedr0/ports/1",
              (const char *const[][2]){ { "state", "4: ACTIVE\n" },
                                        { "counters/port_rcv_data", "N/A (no PMA)\n" },
                                        { "hw_counters/lifespan", "10\n" },
                                        { NULL, NULL } });
  sampled_open (&sampled, &sampler_infiniband, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, "qedr0:1", "state", "ACTIVE");
  assert_string_equal (sampled.table.error, "qedr0:1: no counter of its traffic can be read");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_traffic_of_drivers),
    cmocka_unit_test (test_counters_that_ended),
    cmocka_unit_test (test_wider_counters),
    cmocka_unit_test (test_no_traffic_counter),
    cmocka_unit_test (test_counters),
    cmocka_unit_test (test_states_and_rates),
    cmocka_unit_test (test_unknown_states_are_text),
    cmocka_unit_test (test_no_adapter),
    cmocka_unit_test (test_adapters_come_and_go),
    cmocka_unit_test (test_may_block_where_there_is_an_adapter),
    cmocka_unit_test (test_garbage),
    cmocka_unit_test (test_recorded_machine),
    cmocka_unit_test (test_allocates_nothing_when_warm),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
