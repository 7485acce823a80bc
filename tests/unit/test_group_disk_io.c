/* disk_io on recorded machines and on this one. */
#include "tests/unit/sampler_test.h"

#define DEFAULT_EXCLUDE "loop*,ram*,fd*,sr*"

static void
of_small (void **state)
{
  struct sampled sampled = { .context.disk_exclude = DEFAULT_EXCLUDE };

  (void) state;
  sampled_open (&sampled, &sampler_disk_io, ROOT_SMALL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 3);
    assert_uint (&sampled, "nvme0n1", "reads", 5001);
    assert_uint (&sampled, "nvme0n1", "reads_merged", 11);
    assert_uint (&sampled, "nvme0n1", "read_bytes", 400008); /* sectors: the declaration says times 512 */
    assert_uint (&sampled, "nvme0n1", "read_time", 1200);
    assert_uint (&sampled, "nvme0n1", "writes", 7002);
    assert_uint (&sampled, "nvme0n1", "writes_merged", 22);
    assert_uint (&sampled, "nvme0n1", "write_bytes", 800016);
    assert_uint (&sampled, "nvme0n1", "write_time", 3400);
    assert_uint (&sampled, "nvme0n1", "in_flight", 3);
    assert_uint (&sampled, "nvme0n1", "io_time", 2500);
    assert_uint (&sampled, "nvme0n1", "weighted_io_time", 4600);
    assert_uint (&sampled, "nvme0n1", "discards", 31);
    assert_uint (&sampled, "nvme0n1", "discards_merged", 1);
    assert_uint (&sampled, "nvme0n1", "discard_bytes", 64);
    assert_uint (&sampled, "nvme0n1", "discard_time", 5);
    assert_uint (&sampled, "nvme0n1", "flushes", 41);
    assert_uint (&sampled, "nvme0n1", "flush_time", 6);
    assert_uint (&sampled, "sda", "flush_time", 117);
    assert_true (sampled_has_row (&sampled, "dm-0"));
  }
  sampled_close (&sampled);
}

static void
partitions_on_request (void **state)
{
  struct sampled sampled = { .context.disk_exclude = DEFAULT_EXCLUDE ",dm-*", .context.disk_partitions = true };

  (void) state;
  sampled_open (&sampled, &sampler_disk_io, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_true (sampled_has_row (&sampled, "nvme0n1p1"));
  assert_true (sampled_has_row (&sampled, "sda1"));
  assert_false (sampled_has_row (&sampled, "dm-0"));
  sampled_close (&sampled);
}

/* Without /sys/block the name decides what a partition is. */
/* A name that is there twice: the first row stays, and those behind it are read all the same. */
static void
names_twice (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/diskstats",
                 "8 0 sda 1 0 0 0 0 0 0 0 0 0 0\n8 0 sda 2 0 0 0 0 0 0 0 0 0 0\n8 16 sdb 3 0 0 0 0 0 0 0 0 0 0\n");
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 2);
    assert_uint (&sampled, "sda", "reads", 1);
    assert_uint (&sampled, "sdb", "reads", 3);
    assert_string_equal (sampled.table.error, "block device \"sda\" is there twice");
  }
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
of_odd (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_disk_io, ROOT_ODD);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 6);
  assert_uint (&sampled, "hda", "weighted_io_time", 552);
  assert_missing (&sampled, "hda", "discards");
  assert_missing (&sampled, "hda", "flushes");
  assert_uint (&sampled, "sdc", "reads", UINT64_MAX);
  assert_missing (&sampled, "sdc", "reads_merged"); /* over 64 bits */
  assert_uint (&sampled, "sdc", "read_bytes", 5);
  assert_missing (&sampled, "sdc", "read_time");
  assert_uint (&sampled, "mmcblk0", "discard_time", 15);
  assert_true (sampled_has_row (&sampled, "cciss/c0d0"));
  assert_true (sampled_has_row (&sampled, "mmcblk0boot0"));
  assert_true (sampled_has_row (&sampled, "md127"));
  sampled_close (&sampled);
}

/* Devices that come and go, in the middle of the file, keep what was decided of them and of their neighbours. */
static void
devices_come_and_go (void **state)
{
#define LINE(NAME, READS) "   8       0 " NAME " " READS " 0 0 0 0 0 0 0 0 0 0\n"
  struct scratch scratch;
  struct sampled sampled = { .context.disk_exclude = "loop*" };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/block/sda/size", "1");
  scratch_write (&scratch, "/sys/block/sdb/size", "1");
  scratch_write (&scratch, "/sys/block/cciss!c0d0/size", "1");
  scratch_write (&scratch, "/proc/diskstats", LINE ("sda", "1") LINE ("sda1", "2") LINE ("loop0", "3"));
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  assert_uint (&sampled, "sda", "reads", 1);
  scratch_write (&scratch, "/proc/diskstats",
                 LINE ("loop0", "3") LINE ("sdb", "4") LINE ("sda", "5") LINE ("cciss/c0d0", "6")
                     LINE ("cciss/c0d0p1", "7"));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 3);
  assert_uint (&sampled, "sda", "reads", 5);
  assert_uint (&sampled, "sdb", "reads", 4);
  assert_uint (&sampled, "cciss/c0d0", "reads", 6);
  scratch_write (&scratch, "/proc/diskstats", ""); /* a machine without disks is no error */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  scratch_write (&scratch, "/proc/diskstats", "no numbers\n");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/diskstats: Bad message"));
  scratch_remove (&scratch, "/proc/diskstats");
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/diskstats: No such file"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
recorded_machines (void **state)
{
  struct sampled sampled = { .context.disk_exclude = DEFAULT_EXCLUDE };

  (void) state;
  need_root (ROOT_PROCFS);
  need_root (ROOT_BIG480);
  sampled_open (&sampled, &sampler_disk_io, ROOT_PROCFS); /* has a /sys/block */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "sdc", "flushes", 127);
  assert_uint (&sampled, "sdc", "flush_time", 182);
  assert_false (sampled_has_row (&sampled, "sdc1"));
  assert_false (sampled_has_row (&sampled, "ram0"));
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_disk_io, ROOT_BIG480); /* has none */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_true (sampled_has_row (&sampled, "sda"));
  assert_false (sampled_has_row (&sampled, "sda1"));
  sampled_close (&sampled);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_disk_io, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_disk_io, ROOT_ODD);
  assert_warm_without_allocation (&sampler_disk_io, "");
}

static void
live (void **state)
{
  (void) state;
  assert_true (assert_counters_do_not_fall (&sampler_disk_io));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (of_small),
    cmocka_unit_test (partitions_on_request),
    cmocka_unit_test (of_odd),
    cmocka_unit_test (names_twice),
    cmocka_unit_test (devices_come_and_go),
    cmocka_unit_test (recorded_machines),
    cmocka_unit_test (warm_samples_allocate_nothing),
    cmocka_unit_test (live),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
