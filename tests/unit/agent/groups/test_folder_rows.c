/* Groups whose rows are folders: interfaces, cpu_scaling, cooling_device, power_supply, edac, md, nvme_info,
 * infiniband_info; and beside them bonding, conntrack, clock_source; on recorded machines and on such as are written on the
 * spot. */
#include "tests/unit/agent/sampler_test.h"

#include <time.h>

#define ROOT_DEVICES "tests/roots/devices"

static void
sample_of (struct sampled *sampled, const struct sampler *sampler, const char *root, size_t rows)
{
  sampled_open (sampled, sampler, root);
  assert_int_equal (sampled_again (sampled), 0);
  assert_string_equal (sampled->table.error, "");
  assert_int_equal (sampled->table.rows, rows);
}

static void
interfaces_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sample_of (&sampled, &sampler_interfaces, ROOT_SMALL, 2); /* bonding_masters is no interface */
  assert_text (&sampled, "eth0", "state", "up");
  assert_uint (&sampled, "eth0", "mtu", 9000);
  assert_uint (&sampled, "eth0", "flags", 0x1003);
  assert_uint (&sampled, "eth0", "carrier_changes", 3);
  assert_uint (&sampled, "eth0", "carrier_ups", 2);
  assert_uint (&sampled, "eth0", "rx_no_handler", 7);
  assert_uint (&sampled, "eth0", "arp_entries", 2);
  assert_text (&sampled, "eth0", "alias", "uplink 1");
  assert_uint (&sampled, "lo", "type", 772);
  assert_missing (&sampled, "lo", "alias");
  assert_missing (&sampled, "lo", "arp_entries");
  for (int times = 0; times < 2; times++) { /* as they were read, and as they were kept */
    for (size_t i = 0; i < sampled.sampler->group->metric_count; i++)
      assert_int_not_equal (sampled_value (&sampled, "eth0", sampled.sampler->group->metrics[i].name)->type,
                            VALUE_MISSING);
    assert_text (&sampled, "eth0", "alias", "uplink 1");
    sampled_again (&sampled);
  }
  sampled_close (&sampled);
}

static void
interfaces_come_go_and_are_left_out (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { .ini = "[group network]\nexclude = veth*\n" };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/class/net/eth0/operstate", "up\n");
  scratch_write (&scratch, "/sys/class/net/eth0/mtu", "1500\n");
  scratch_write (&scratch, "/sys/class/net/veth1/operstate", "up\n");
  sample_of (&sampled, &sampler_interfaces, scratch.root, 1);
  assert_missing (&sampled, "eth0", "tx_queue_length");
  scratch_write (&scratch, "/sys/class/net/eth1/operstate", "up\n");
  scratch_write (&scratch, "/sys/class/net/eth0/mtu", "9000 and more\n");
  scratch_write (&scratch, "/sys/class/net/eth1/flags", "0xnone\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_missing (&sampled, "eth0", "mtu");
  assert_missing (&sampled, "eth1", "flags");
  assert_non_null (strstr (sampled.table.error, "/sys/class/net/eth0/mtu: Bad message (and 1 more)"));
  scratch_remove (&scratch, "/sys/class/net/eth0");
  scratch_remove (&scratch, "/sys/class/net/eth1/flags");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  assert_string_equal (sampled.table.error, "");
  scratch_write (&scratch, "/proc/net/arp", "what\n");
  sampled_again (&sampled);
  assert_non_null (strstr (sampled.table.error, "/proc/net/arp: Bad message"));
  scratch_write (&scratch, "/proc/net/arp", "IP address HW type\n1.2.3.4 0x1 0x2 0:0 * eth1\n1.2.3.5 0x1 eth1\n");
  sampled_again (&sampled);
  assert_non_null (strstr (sampled.table.error, "/proc/net/arp: 1 lines are not understood"));
  assert_uint (&sampled, "eth1", "arp_entries", 1);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* What hardly changes is read in one sample of six, and when the first metric has changed. */
static void
settings_are_read_seldom (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  int samples = 0;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/class/net/eth0/operstate", "up\n");
  scratch_write (&scratch, "/sys/class/net/eth0/carrier_changes", "1\n");
  scratch_write (&scratch, "/sys/class/net/eth0/mtu", "1500\n");
  scratch_write (&scratch, "/sys/class/net/eth0/ifalias", "one\n");
  sample_of (&sampled, &sampler_interfaces, scratch.root, 1);
  scratch_write (&scratch, "/sys/class/net/eth0/carrier_changes", "2\n");
  scratch_write (&scratch, "/sys/class/net/eth0/mtu", "9000\n");
  sampled_again (&sampled);
  assert_uint (&sampled, "eth0", "carrier_changes", 2);
  assert_uint (&sampled, "eth0", "mtu", 1500);
  assert_text (&sampled, "eth0", "alias", "one");
  do
    sampled_again (&sampled);
  while (++samples < 10 && sampled_value (&sampled, "eth0", "mtu")->as.u == 1500);
  assert_int_equal (samples, 5);
  scratch_write (&scratch, "/sys/class/net/eth0/operstate", "down\n");
  scratch_write (&scratch, "/sys/class/net/eth0/ifalias", "two\n");
  sampled_again (&sampled);
  assert_text (&sampled, "eth0", "state", "down");
  assert_text (&sampled, "eth0", "alias", "two");
  assert_int_equal (sampled.table.rows, 1);
  scratch_write (&scratch, "/sys/class/net/eth0/operstate", "lowerlayerdown\n");
  scratch_write (&scratch, "/sys/class/net/eth0/mtu", "many\n"); /* a complaint stays until it is mended */
  for (int i = 0; i < 3; i++) {
    sampled_again (&sampled);
    assert_non_null (strstr (sampled.table.error, "mtu: Bad message"));
  }
  scratch_write (&scratch, "/sys/class/net/eth0/mtu", "1400\n");
  sampled_again (&sampled);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "eth0", "mtu", 1400);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
limits_of_cpus (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_cpu_scaling, ROOT_SMALL);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 3); /* the fourth is offline */
  assert_uint (&sampled, "1", "minimum", 800000);
  assert_uint (&sampled, "1", "maximum", 3100000);
  assert_uint (&sampled, "2", "hardware_minimum", 400000);
  assert_uint (&sampled, "2", "hardware_maximum", 3700000);
  assert_text (&sampled, "0", "governor", "powersave");
  assert_text (&sampled, "2", "governor", "performance");
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_cpu_scaling, ROOT_ODD); /* CPUs, and no limits: no thread is needed */
  assert_false (sampled_may_block (&sampled));
  sampled_close (&sampled);
}

static void
devices_of_a_machine (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sample_of (&sampled, &sampler_cooling_device, ROOT_DEVICES, 2);
  assert_true (sampled_may_block (&sampled));
  assert_text (&sampled, "cooling_device0", "type", "Processor");
  assert_uint (&sampled, "cooling_device0", "state", 2);
  assert_uint (&sampled, "cooling_device10", "state_max", 1);
  sampled_close (&sampled);
  sample_of (&sampled, &sampler_power_supply, ROOT_DEVICES, 2);
  assert_uint (&sampled, "AC", "online", 1);
  assert_missing (&sampled, "AC", "capacity");
  assert_uint (&sampled, "BAT0", "capacity", 87);
  assert_int_equal (sampled_value (&sampled, "BAT0", "power")->as.i, -7500000);
  assert_text (&sampled, "BAT0", "status", "Discharging");
  sampled_close (&sampled);
  sample_of (&sampled, &sampler_edac, ROOT_DEVICES, 1);
  assert_uint (&sampled, "0", "corrected", 5);
  assert_uint (&sampled, "0", "uncorrected", 1);
  assert_uint (&sampled, "0", "corrected_anywhere", 2);
  assert_text (&sampled, "0", "type", "Skylake Socket#0 IMC#0");
  sampled_close (&sampled);
  sample_of (&sampled, &sampler_md, ROOT_DEVICES, 2);
  assert_text (&sampled, "md127", "state", "clean");
  assert_text (&sampled, "md127", "sync", "recover");
  assert_uint (&sampled, "md127", "disks_lacking", 1);
  assert_uint (&sampled, "md0", "size", 2048); /* times 512 */
  assert_missing (&sampled, "md0", "disks_lacking");
  sampled_close (&sampled);
  sample_of (&sampled, &sampler_nvme_info, ROOT_DEVICES, 1);
  assert_text (&sampled, "nvme0", "firmware", "GDC5602Q");
  sampled_close (&sampled);
  sample_of (&sampled, &sampler_infiniband_info, ROOT_DEVICES, 1);
  assert_text (&sampled, "mlx5_0", "board", "MT_0000000838");
  sampled_close (&sampled);
}

static void
bonds_come_and_go (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  sample_of (&sampled, &sampler_bonding, ROOT_DEVICES, 1);
  assert_uint (&sampled, "bond0", "interfaces", 2);
  assert_uint (&sampled, "bond0", "links", 1);
  sampled_close (&sampled);
  scratch_init (&scratch);
  sample_of (&sampled, &sampler_bonding, scratch.root, 0);
  scratch_write (&scratch, "/proc/net/bonding/bond1", "MII Status: down\n");
  scratch_write (&scratch, "/proc/net/bonding/bond2", "what\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "bond1", "interfaces", 0);
  assert_uint (&sampled, "bond1", "links", 0);
  assert_missing (&sampled, "bond2", "links");
  assert_non_null (strstr (sampled.table.error, "/proc/net/bonding/bond2: Bad message"));
  scratch_remove (&scratch, "/proc/net/bonding");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
connections_of_small (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  sample_of (&sampled, &sampler_conntrack, ROOT_SMALL, 0);
  assert_uint (&sampled, NULL, "found", 1);
  assert_uint (&sampled, NULL, "invalid", 0x13);
  assert_uint (&sampled, NULL, "ignore", UINT64_C (0xfffffffa));
  assert_uint (&sampled, NULL, "insert", 2);
  assert_uint (&sampled, NULL, "insert_failed", 3);
  assert_uint (&sampled, NULL, "drop", 4);
  assert_uint (&sampled, NULL, "early_drop", 5);
  assert_uint (&sampled, NULL, "search_restart", 7);
  sampled_close (&sampled);
  scratch_init (&scratch);
  sample_of (&sampled, &sampler_conntrack, scratch.root, 0); /* the module is not loaded */
  assert_missing (&sampled, NULL, "drop");
  scratch_write (&scratch, "/proc/net/stat/nf_conntrack", "entries drop\n00000001 00000002\n00000001\n");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_missing (&sampled, NULL, "drop"); /* a sum of some CPUs is none */
  assert_non_null (strstr (sampled.table.error, "nf_conntrack: Bad message"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
sources_of_time (void **state)
{
  struct sampled sampled = { 0 };
  time_t now = time (NULL);
  struct tm here;

  (void) state;
  sample_of (&sampled, &sampler_clock_source, ROOT_SMALL, 3);
  assert_text (&sampled, "tsc", "state", "current");
  assert_text (&sampled, "acpi_pm", "state", "available");
  assert_missing (&sampled, NULL, "time_zone"); /* a recorded machine has none */
  sampled_close (&sampled);
  setenv ("TZ", "EXT-5:30", 1);
  sampled_open (&sampled, &sampler_clock_source, "");
  sampled_again (&sampled);
  assert_text (&sampled, NULL, "time_zone", "EXT");
  assert_int_equal (sampled_value (&sampled, NULL, "time_zone_offset")->as.i, 19800);
  unsetenv ("TZ");
  sampled_again (&sampled);
  localtime_r (&now, &here);
  assert_int_equal (sampled_value (&sampled, NULL, "time_zone_offset")->as.i, here.tm_gmtoff);
  sampled_close (&sampled);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_interfaces, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_interfaces, "");
  assert_warm_without_allocation (&sampler_cpu_scaling, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_cooling_device, ROOT_DEVICES);
  assert_warm_without_allocation (&sampler_power_supply, ROOT_DEVICES);
  assert_warm_without_allocation (&sampler_edac, ROOT_DEVICES);
  assert_warm_without_allocation (&sampler_md, ROOT_DEVICES);
  assert_warm_without_allocation (&sampler_nvme_info, ROOT_DEVICES);
  assert_warm_without_allocation (&sampler_bonding, ROOT_DEVICES);
  assert_warm_without_allocation (&sampler_conntrack, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_clock_source, ROOT_SMALL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (interfaces_of_small),           cmocka_unit_test (interfaces_come_go_and_are_left_out),
    cmocka_unit_test (settings_are_read_seldom),      cmocka_unit_test (limits_of_cpus),
    cmocka_unit_test (devices_of_a_machine),          cmocka_unit_test (bonds_come_and_go),
    cmocka_unit_test (connections_of_small),          cmocka_unit_test (sources_of_time),
    cmocka_unit_test (warm_samples_allocate_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
