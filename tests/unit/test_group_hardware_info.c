/* hardware_info: what the node is. */
#include "sampler_test.h"

#include <sys/utsname.h>

static void
test_two_sockets (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/cpuinfo",
                 "processor\t: 0\nmodel name\t: Xeon 1\nphysical id\t: 0\ncore id\t: 0\nflags\t\t: fpu vme sse\n\n"
                 "processor\t: 1\nmodel name\t: Xeon 1\nphysical id\t: 1\ncore id\t: 0\nflags\t\t: fpu vme sse\n\n"
                 "processor\t: 2\nmodel name\t: Xeon 1\nphysical id\t: 0\ncore id\t: 0\n\n"
                 "processor\t: 3\nmodel name\t: Xeon 1\nphysical id\t: 1\ncore id\t: 4\n\n");
  scratch_write (&scratch, "/proc/meminfo", "MemFree: 1 kB\nMemTotal:       24684084 kB\n");
  scratch_write (&scratch, "/proc/stat", "cpu 1 2 3\nbtime 1418183276\n");
  scratch_write (&scratch, "/proc/sys/kernel/hostname", "node-7\n");
  scratch_write (&scratch, "/proc/sys/kernel/osrelease", "6.1.0-9-amd64\n");
  scratch_write (&scratch, "/proc/sys/kernel/arch", "x86_64\n");
  scratch_write (&scratch, "/etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  scratch_write (&scratch, "/sys/devices/system/node/node0/cpulist", "0,2\n");
  scratch_write (&scratch, "/sys/devices/system/node/node1/cpulist", "1,3\n");
  scratch_write (&scratch, "/sys/devices/system/node/online", "0-1\n");
  scratch_write (&scratch, "/sys/class/dmi/id/sys_vendor", "  Dell Inc.  \n");
  scratch_write (&scratch, "/sys/class/dmi/id/product_name", "PowerEdge XE9680\n");
  scratch_write (&scratch, "/sys/class/dmi/id/bios_version", "2.2.4\n");
  sampled_open (&sampled, &sampler_hardware_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, NULL, "host_name", "node-7");
  assert_text (&sampled, NULL, "kernel", "6.1.0-9-amd64");
  assert_text (&sampled, NULL, "architecture", "x86_64");
  assert_text (&sampled, NULL, "os", "Debian GNU/Linux 12 (bookworm)");
  assert_text (&sampled, NULL, "cpu_model", "Xeon 1");
  assert_uint (&sampled, NULL, "sockets", 2);
  assert_uint (&sampled, NULL, "cores", 3);
  assert_uint (&sampled, NULL, "threads", 4);
  assert_uint (&sampled, NULL, "numa_nodes", 2);
  assert_uint (&sampled, NULL, "memory_total", UINT64_C (24684084) * 1024);
  assert_uint (&sampled, NULL, "boot_time", 1418183276);
  assert_text (&sampled, NULL, "vendor", "Dell Inc.");
  assert_text (&sampled, NULL, "product", "PowerEdge XE9680");
  assert_text (&sampled, NULL, "bios_version", "2.2.4");
  assert_text (&sampled, NULL, "virtualization", "none");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_caches_and_topology (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_hardware_info, "tests/roots/thermal"); /* has no cpuinfo */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "l1d_cache", 48 * 1024);
  assert_uint (&sampled, NULL, "l1i_cache", 32 * 1024);
  assert_uint (&sampled, NULL, "l2_cache", 2048 * 1024);
  assert_uint (&sampled, NULL, "l3_cache", 105 * 1024 * 1024);
  assert_uint (&sampled, NULL, "sockets", 2);
  assert_uint (&sampled, NULL, "cores", 4);
  assert_missing (&sampled, NULL, "memory_total");
  sampled_close (&sampled);
}

static void
assert_virtualization (const char *flags, const char *vendor, const char *expected)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  char cpuinfo[128];

  scratch_init (&scratch);
  snprintf (cpuinfo, sizeof cpuinfo, "processor\t: 0\n%s\n", flags);
  scratch_write (&scratch, "/proc/cpuinfo", cpuinfo);
  scratch_write (&scratch, "/sys/class/dmi/id/sys_vendor", vendor);
  sampled_open (&sampled, &sampler_hardware_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  if (expected)
    assert_text (&sampled, NULL, "virtualization", expected);
  else
    assert_missing (&sampled, NULL, "virtualization");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_virtualization (void **state)
{
  (void) state;
  assert_virtualization ("flags\t\t: fpu hypervisor lahf_lm", "Amazon EC2\n", "kvm");
  assert_virtualization ("flags\t\t: fpu lahf_lm", "Amazon EC2\n", "none"); /* a bare metal instance */
  assert_virtualization ("flags\t\t: fpu hypervisor", "Microsoft Corporation\n", "hyperv");
  assert_virtualization ("flags\t\t: fpu hypervisor", "Nobody\n", "unknown");
  assert_virtualization ("Features\t: fp asimd", "Nobody\n", NULL);
}

static void
test_nothing_and_garbage (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_hardware_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  for (size_t i = 0; i < sampler_hardware_info.group->metric_count; i++)
    assert_int_equal (table_get (&sampled.table, TABLE_NODE, i)->type, VALUE_MISSING);
  scratch_write (&scratch, "/proc/cpuinfo", "processor\nprocessor: x\n: \nphysical id: 1\ncore id: 2\nmodel name\t:");
  scratch_write (&scratch, "/proc/meminfo", "MemTotal:\n");
  scratch_write (&scratch, "/proc/stat", "btime\nbtime -5");
  scratch_write (&scratch, "/etc/os-release", "PRETTY_NAME=\"\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu0/cache/index0/size", "K\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "threads");
  assert_missing (&sampled, NULL, "memory_total");
  assert_missing (&sampled, NULL, "boot_time");
  assert_missing (&sampled, NULL, "l1d_cache");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_480_threads (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_BIG480);
  sampled_open (&sampled, &sampler_hardware_info, ROOT_BIG480);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "threads", 480);
  assert_uint (&sampled, NULL, "sockets", 16);
  assert_uint (&sampled, NULL, "cores", 240);
  assert_text (&sampled, NULL, "cpu_model", "Intel(R) Xeon(R) CPU E7-2890 v2 @ 2.80GHz");
  sampled_close (&sampled);
}

static void
test_live_machine (void **state)
{
  struct sampled sampled = { 0 };
  struct utsname system;

  (void) state;
  assert_int_equal (uname (&system), 0);
  sampled_open (&sampled, &sampler_hardware_info, "");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, NULL, "kernel", system.release);
  assert_text (&sampled, NULL, "host_name", system.nodename);
  assert_text (&sampled, NULL, "architecture", system.machine);
  assert_int_equal (sampled_value (&sampled, NULL, "memory_total")->type, VALUE_UINT);
  assert_uint (&sampled, NULL, "threads", (uint64_t) sysconf (_SC_NPROCESSORS_ONLN));
  sampled_close (&sampled);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_two_sockets),    cmocka_unit_test (test_caches_and_topology),
    cmocka_unit_test (test_virtualization), cmocka_unit_test (test_nothing_and_garbage),
    cmocka_unit_test (test_480_threads),    cmocka_unit_test (test_live_machine),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
