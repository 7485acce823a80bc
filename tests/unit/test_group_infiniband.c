/* infiniband: ports, their counters and states, whatever the adapter and its driver know of them. */
#include "sampler_test.h"

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

int
main (void)
{
  const struct CMUnitTest tests[] = {
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
