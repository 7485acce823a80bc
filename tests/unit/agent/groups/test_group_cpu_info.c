/* cpu_info, on machines that are written on the spot. */
#include "tests/unit/agent/sampler_test.h"

#define TOPOLOGY "/sys/devices/system/cpu/%s/topology/%s"

static void
cpu_write (const struct scratch *scratch, const char *cpu, const char *package, const char *core)
{
  char path[128];

  snprintf (path, sizeof path, TOPOLOGY, cpu, "physical_package_id");
  scratch_write (scratch, path, package);
  snprintf (path, sizeof path, TOPOLOGY, cpu, "core_id");
  scratch_write (scratch, path, core);
}

static void
cpus_of_two_nodes (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  for (int i = 0; i < 12; i++) {
    char cpu[8], core[8];

    snprintf (cpu, sizeof cpu, "cpu%d", i);
    snprintf (core, sizeof core, "%d\n", i % 6);
    if (i != 9)
      cpu_write (&scratch, cpu, i % 2 ? "1\n" : "0\n", core);
  }
  scratch_write (&scratch, "/sys/devices/system/cpu/cpufreq/boost", "1\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpuidle/current_driver", "none\n");
  scratch_write (&scratch, "/sys/devices/system/node/node0/cpulist", "0-2,8,10-11\n");
  scratch_write (&scratch, "/sys/devices/system/node/node3/cpulist", "3-7,9,x\n");
  scratch_write (&scratch, "/sys/devices/system/node/node4/cpulist", "\n"); /* memory alone */
  sampled_open (&sampled, &sampler_cpu_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 11);
  assert_uint (&sampled, "0", "package", 0);
  assert_uint (&sampled, "0", "core", 0);
  assert_uint (&sampled, "0", "numa_node", 0);
  assert_uint (&sampled, "7", "package", 1);
  assert_uint (&sampled, "7", "core", 1);
  assert_uint (&sampled, "7", "numa_node", 3);
  assert_uint (&sampled, "11", "numa_node", 0);
  assert_false (sampled_has_row (&sampled, "9")); /* offline */
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
cpus_of_odd_machines (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_cpu_info, scratch.root); /* nothing is there */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  cpu_write (&scratch, "cpu0", "-1\n", "5\n"); /* as on some Arm boards */
  scratch_write (&scratch, "/sys/devices/system/node/node0/cpulist", "0-99999999999999999999\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "0", "package");
  assert_uint (&sampled, "0", "core", 5);
  assert_missing (&sampled, "0", "numa_node");
  scratch_write (&scratch, "/sys/devices/system/node/node0/cpulist", "0-4000000000\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "0", "numa_node"); /* no machine has so many */
  scratch_write (&scratch, "/sys/devices/system/node/node0/cpulist", "0-400000\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "0", "numa_node", 0);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (cpus_of_two_nodes),
    cmocka_unit_test (cpus_of_odd_machines),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
