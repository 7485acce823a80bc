/* memory_info and vm on recorded machines and on this one. */
#include "tests/unit/agent/sampler_test.h"

static void
memory_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_memory_info, ROOT_SMALL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_uint (&sampled, NULL, "total", 16777216);
    assert_uint (&sampled, NULL, "free", 9000000);
    assert_uint (&sampled, NULL, "available", 12000000);
    assert_uint (&sampled, NULL, "used", 16777216 - 12000000);
    assert_uint (&sampled, NULL, "active", 2600000); /* not Active(anon) */
    assert_uint (&sampled, NULL, "swap_total", 8388608);
    assert_uint (&sampled, NULL, "swap_used", 388608);
    assert_uint (&sampled, NULL, "committed", 5100000);
    assert_uint (&sampled, NULL, "page_tables", 21000);
    assert_uint (&sampled, NULL, "hardware_corrupted", 8);
    assert_uint (&sampled, NULL, "huge_pages_total", 128);
    assert_uint (&sampled, NULL, "huge_page_size", 2048);
    assert_int_equal (sampled.table.rows, 2);
    assert_uint (&sampled, "0", "numa_total", 8388608);
    assert_uint (&sampled, "1", "numa_used", 4388608);
    assert_uint (&sampled, "1", "numa_file", 1650001);
    assert_uint (&sampled, "1", "numa_huge_pages_free", 50);
    assert_missing (&sampled, "0", "total"); /* of the node, not of its NUMA nodes */
  }
  for (size_t i = 0; i < sampled.sampler->group->metric_count; i++) { /* the small machine's kernel has all */
    const struct metric *metric = &sampled.sampler->group->metrics[i];
    const char *row = metric->flags & METRIC_OF_NODE ? NULL : "1";
    assert_int_equal (sampled_value (&sampled, row, metric->name)->type, VALUE_UINT);
  }
  sampled_close (&sampled);
}

static void
memory_of_odd (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_memory_info, ROOT_ODD);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "total", 515580);
  assert_missing (&sampled, NULL, "available");
  assert_missing (&sampled, NULL, "used"); /* nothing to reckon it from */
  assert_missing (&sampled, NULL, "cached");
  assert_missing (&sampled, NULL, "dirty");
  assert_missing (&sampled, NULL, "swap_used"); /* more free than there is: never a number near 2^64 */
  assert_missing (&sampled, NULL, "huge_pages_total");
  assert_int_equal (sampled.table.rows, 1); /* node3 has no file */
  assert_uint (&sampled, "0", "numa_total", 515580);
  assert_missing (&sampled, "0", "numa_free");
  sampled_close (&sampled);
}

static void
memory_without_a_source (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_memory_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/meminfo: No such file"));
  scratch_write (&scratch, "/proc/meminfo", "");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/meminfo: Bad message"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A key that is there twice is not added to itself; the first stays. */
static void
memory_keys_twice (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 4 kB\nMemTotal: 11 kB\n");
  scratch_write (&scratch, "/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 8 kB\nNode 0 MemTotal: 8 kB\n");
  sampled_open (&sampled, &sampler_memory_info, scratch.root);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_uint (&sampled, NULL, "total", 10);
    assert_uint (&sampled, NULL, "used", 6);
    assert_uint (&sampled, "0", "numa_total", 8);
    assert_non_null (strstr (sampled.table.error, "MemTotal is there twice"));
  }
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Nothing is taken for kB that is something else. */
static void
memory_in_another_unit (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/meminfo", "MemTotal: 10 MB\nMemAvailable: 4 kB\nHugePages_Total: 3\n");
  scratch_write (&scratch, "/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 10 kB\nNode 0 MemFree: 1\n");
  sampled_open (&sampled, &sampler_memory_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "total");
  assert_missing (&sampled, NULL, "used");
  assert_uint (&sampled, NULL, "available", 4);
  assert_uint (&sampled, NULL, "huge_pages_total", 3);
  assert_uint (&sampled, "0", "numa_total", 10);
  assert_missing (&sampled, "0", "numa_free");
  assert_non_null (strstr (sampled.table.error, "\"MemTotal: 10 MB\": expected kB (and "));
  sampled_close (&sampled);
  scratch_remove (&scratch, "/sys/devices/system/node/node0/meminfo");
  sampled_open (&sampled, &sampler_memory_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_non_null (strstr (sampled.table.error, "\"MemTotal: 10 MB\": expected kB"));
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_hardware_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "memory_total"); /* what else this root lacks is told before */
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Memory is plugged in and out while the agent runs. */
static void
numa_nodes_come_and_go (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/meminfo", "MemTotal: 10 kB\n");
  scratch_write (&scratch, "/sys/devices/system/node/online", "0\n");
  scratch_write (&scratch, "/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 10 kB\n");
  sampled_open (&sampled, &sampler_memory_info, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  scratch_write (&scratch, "/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 5 kB\n");
  scratch_write (&scratch, "/sys/devices/system/node/online", "0,2\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "2", "numa_total", 5);
  scratch_remove (&scratch, "/sys/devices/system/node/node2");
  scratch_write (&scratch, "/sys/devices/system/node/online", "0\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
vm_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_vm, ROOT_SMALL);
  for (int i = 0; i < 2; i++) { /* the second sample does not add to the first */
    assert_int_equal (sampled_again (&sampled), 0);
    assert_uint (&sampled, NULL, "page_faults", 1698047);
    assert_uint (&sampled, NULL, "major_faults", 962);
    assert_uint (&sampled, NULL, "paged_in", 1517449);
    assert_uint (&sampled, NULL, "pages_swapped_out", 19);
    assert_uint (&sampled, NULL, "oom_kills", 2);
    assert_uint (&sampled, NULL, "pages_scanned_kswapd", 991);
    assert_uint (&sampled, NULL, "pages_scanned_direct", 992); /* without pgscan_direct_throttle */
    assert_uint (&sampled, NULL, "pages_stolen_direct", 882);
    assert_uint (&sampled, NULL, "allocation_stalls", 9);
    assert_uint (&sampled, NULL, "pages_allocated", 4321);
    assert_uint (&sampled, NULL, "compaction_stalls", 66);
    assert_uint (&sampled, NULL, "workingset_refaults", 42);
  }
  for (size_t i = 0; i < sampled.sampler->group->metric_count; i++)
    assert_int_equal (sampled_value (&sampled, NULL, sampled.sampler->group->metrics[i].name)->type, VALUE_UINT);
  sampled_close (&sampled);
}

static void
vm_of_odd (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_vm, ROOT_ODD);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "page_faults", 500);
  assert_missing (&sampled, NULL, "paged_in");
  assert_missing (&sampled, NULL, "oom_kills");
  assert_uint (&sampled, NULL, "pages_scanned_kswapd", 4321); /* by zone */
  assert_uint (&sampled, NULL, "allocation_stalls", 77);
  assert_uint (&sampled, NULL, "workingset_refaults", 9);
  sampled_close (&sampled);
}

static void
recorded_procfs (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  sampled_open (&sampled, &sampler_memory_info, ROOT_PROCFS);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "total", 15666184);
  assert_int_equal (sampled.table.rows, 0); /* its NUMA nodes have no meminfo */
  sampled_close (&sampled);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_memory_info, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_vm, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_memory_info, "");
  assert_warm_without_allocation (&sampler_vm, "");
}

static void
live (void **state)
{
  struct sampled sampled = { 0 };
  uint64_t total, used;

  (void) state;
  assert_true (assert_counters_do_not_fall (&sampler_vm));
  sampled_open (&sampled, &sampler_memory_info, "");
  assert_int_equal (sampled_again (&sampled), 0);
  total = sampled_value (&sampled, NULL, "total")->as.u * 1024;
  used = sampled_value (&sampled, NULL, "used")->as.u * 1024;
  assert_int_equal (total, (uint64_t) sysconf (_SC_PHYS_PAGES) * (uint64_t) sysconf (_SC_PAGESIZE));
  assert_true (used > 0 && used < total);
  sampled_close (&sampled);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (memory_of_small),
    cmocka_unit_test (memory_of_odd),
    cmocka_unit_test (memory_without_a_source),
    cmocka_unit_test (memory_keys_twice),
    cmocka_unit_test (memory_in_another_unit),
    cmocka_unit_test (numa_nodes_come_and_go),
    cmocka_unit_test (vm_of_small),
    cmocka_unit_test (vm_of_odd),
    cmocka_unit_test (recorded_procfs),
    cmocka_unit_test (warm_samples_allocate_nothing),
    cmocka_unit_test (live),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
