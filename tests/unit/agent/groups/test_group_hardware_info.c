/* hardware_info: what the node is. */
#include "tests/unit/agent/sampler_test.h"

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
  scratch_write (&scratch, "/proc/sys/kernel/version", "#1 SMP\n");
  scratch_write (&scratch, "/etc/os-release",
                 "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID='12.5'\nID_LIKE=\"\"\n");
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
  assert_text (&sampled, NULL, "os_name", "Debian");
  assert_text (&sampled, NULL, "os_version_id", "12.5");
  assert_real (&sampled, NULL, "os_version_number", 12.5);
  assert_missing (&sampled, NULL, "os_id_like");
  assert_text (&sampled, NULL, "kernel_version", "#1 SMP");
  assert_missing (&sampled, NULL, "board_name");
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

struct made_cpu {
  int package, die, cluster, core; /* negative: no such file */
  const char *siblings;            /* NULL: no such file */
};

static void
write_cpus (const struct scratch *scratch, const struct made_cpu *cpus, int count, const char *siblings)
{
  static const char *const files[] = { "physical_package_id", "die_id", "cluster_id", "core_id" };
  char path[128], text[16];

  for (int cpu = 0; cpu < count; cpu++) {
    const int ids[] = { cpus[cpu].package, cpus[cpu].die, cpus[cpu].cluster, cpus[cpu].core };
    for (size_t i = 0; i < 4; i++) {
      snprintf (path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, files[i]);
      snprintf (text, sizeof text, "%d\n", ids[i]);
      if (ids[i] >= 0)
        scratch_write (scratch, path, text);
    }
    snprintf (path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, siblings);
    if (cpus[cpu].siblings)
      scratch_write (scratch, path, cpus[cpu].siblings);
  }
}

static void
assert_cores (const struct scratch *scratch, uint64_t sockets, uint64_t cores)
{
  struct sampled sampled = { 0 };

  sampled_open (&sampled, &sampler_hardware_info, scratch->root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "sockets", sockets);
  assert_uint (&sampled, NULL, "cores", cores);
  sampled_close (&sampled);
}

/* Dies of a package that repeat the ids of their cores, as AMD's. */
static void
test_cores_of_dies (void **state)
{
  static const struct made_cpu dies[] = {
    { 0, 0, -1, 0, NULL }, { 0, 1, -1, 0, NULL }, { 1, 0, -1, 0, NULL }, { 1, 1, -1, 0, NULL },
    { 0, 0, -1, 0, NULL }, { 0, 1, -1, 0, NULL }, { 1, 0, -1, 0, NULL }, { 1, 1, -1, 1, NULL },
  };
  static const struct made_cpu listed[] = {
    { 0, -1, -1, 0, "0,4\n" }, { 0, -1, -1, 0, "1,5\n" }, { 0, -1, -1, 1, "2,6\n" }, { 0, -1, -1, 1, "3,7\n" },
    { 0, -1, -1, 0, "0,4\n" }, { 0, -1, -1, 0, "1,5\n" }, { 0, -1, -1, 1, "2,6\n" }, { 0, -1, -1, 1, "3,7\n" },
  };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/cpuinfo", "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\n\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpufreq/boost", "1\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu8/online", "0\n"); /* offline: told of nothing */
  write_cpus (&scratch, dies, 8, "core_cpus_list");
  assert_cores (&scratch, 2, 5);
  scratch_remove (&scratch, "/sys");
  write_cpus (&scratch, listed, 8, "core_cpus_list");
  assert_cores (&scratch, 1, 4);
  scratch_remove (&scratch, "/sys");
  write_cpus (&scratch, listed, 8, "thread_siblings_list"); /* before 5.3 */
  assert_cores (&scratch, 1, 4);
  scratch_remove (&scratch, "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list");
  assert_cores (&scratch, 1, 2); /* not of all CPUs: no list is believed, and ids are all there is */
  scratch_free (&scratch);
}

/* Without /sys the kernel's count of a package's cores tells more than ids that repeat themselves. */
static void
test_cores_of_cpuinfo (void **state)
{
  struct scratch scratch;
  char text[4096] = "";
  size_t length = 0;

  (void) state;
  scratch_init (&scratch);
  for (int cpu = 0; cpu < 32; cpu++)
    length += (size_t) snprintf (text + length, sizeof text - length,
                                 "processor\t: %d\nphysical id\t: %d\ncore id\t\t: %d\ncpu cores\t: 16\n\n", cpu,
                                 cpu / 16, cpu % 8);
  scratch_write (&scratch, "/proc/cpuinfo", text);
  assert_cores (&scratch, 2, 32);
  length = 0;
  for (int cpu = 0; cpu < 4; cpu++) /* a container sees four threads of 16 cores */
    length += (size_t) snprintf (text + length, sizeof text - length,
                                 "processor\t: %d\nphysical id\t: 0\ncore id\t\t: %d\ncpu cores\t: 16\n\n", cpu, cpu);
  scratch_write (&scratch, "/proc/cpuinfo", text);
  assert_cores (&scratch, 1, 4);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_cores_of_dies),  cmocka_unit_test (test_cores_of_cpuinfo),
    cmocka_unit_test (test_two_sockets),    cmocka_unit_test (test_caches_and_topology),
    cmocka_unit_test (test_virtualization), cmocka_unit_test (test_nothing_and_garbage),
    cmocka_unit_test (test_480_threads),    cmocka_unit_test (test_live_machine),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
