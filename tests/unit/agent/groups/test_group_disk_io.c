/* disk_io on recorded machines and on this one. */
#include "tests/unit/agent/sampler_test.h"

#define EXCLUDE(GLOBS) "[group disk_io]\nexclude = " GLOBS "\n"

static void
of_small (void **state)
{
  struct sampled sampled = { 0 };

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
  struct sampled sampled = { .ini = EXCLUDE ("loop*,ram*,fd*,sr*,dm-*") "partitions = yes\n" };

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
  struct sampled sampled = { .ini = EXCLUDE ("loop*") };

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
  scratch_write (&scratch, "/proc/diskstats", "");
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

#define DISK(NAME) "   8       0 " NAME " 1 0 8 0 1 0 8 0 0 0 0\n"

/* The devices with 1 in in_total, in the order of the file, and how many there are in all. */
static void
assert_counted (struct sampled *sampled, size_t rows, const char *expected)
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
  assert_int_equal (sampled->table.rows, rows);
}

/* LVM on multipath on two paths; a mirror of partitions with an encrypted volume on it; a cache; files and memory. */
static void
make_layers (const struct scratch *scratch)
{
  static const char *const disks[] = { "sda",  "sda1", "sdb",     "sdb1",    "sdc",   "sdd",   "dm-0",      "dm-1",
                                       "dm-2", "md0",  "bcache0", "nvme0n1", "loop0", "zram0", "cciss/c0d0" };
  static const char *const files[] = {
    "dm-0/slaves/sdc", "dm-0/slaves/sdd", "dm-1/slaves/dm-0", "dm-2/slaves/md0",     "md0/slaves/sda1",
    "md0/slaves/sdb1", "loop0/size",      "zram0/size",       "bcache0/slaves/sdb1", "bcache0/slaves/nvme0n1",
    "sda/size",        "sdb/size",        "sdc/size",         "cciss!c0d0/size",     "sdd/size",
    "nvme0n1/size"
  };
  char text[1024] = "";

  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char path[128];
    snprintf (path, sizeof path, "/sys/block/%s", files[i]);
    scratch_write (scratch, path, "1");
  }
  for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++)
    snprintf (text + strlen (text), sizeof text - strlen (text), DISK ("%s"), disks[i]);
  scratch_write (scratch, "/proc/diskstats", text);
}

static void
total_counts_each_byte_once (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { .ini = EXCLUDE ("") };

  (void) state;
  scratch_init (&scratch);
  make_layers (&scratch);
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 13, "sda sdb sdc sdd nvme0n1 cciss/c0d0");
  sampled_close (&sampled);
  sampled.ini = EXCLUDE ("") "partitions = yes\n";
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 15, "sda sdb sdc sdd nvme0n1 cciss/c0d0");
  sampled_close (&sampled);

  /* Where the paths are left out the multipath stands for them, and what lies on it does not. */
  sampled.ini = EXCLUDE ("sd*,loop*");
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 8, "dm-0 md0 nvme0n1 cciss/c0d0");
  sampled_close (&sampled);
  sampled.ini = EXCLUDE ("sd*,dm-0");
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 8, "dm-1 md0 nvme0n1 cciss/c0d0");
  sampled_close (&sampled);

  scratch_remove (&scratch, "/sys"); /* then by their names */
  sampled.ini = EXCLUDE ("");
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 13, "sda sdb sdc sdd nvme0n1 cciss/c0d0");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* The paths of NVMe multipath count, and their head does not; without them it does. */
static void
nvme_multipath_counts_once (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { .ini = EXCLUDE ("") };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/diskstats", DISK ("nvme0c0n1") DISK ("nvme0n1") DISK ("nvme0c1n1") DISK ("nvme1n1"));
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 4, "nvme0c0n1 nvme0c1n1 nvme1n1");
  scratch_write (&scratch, "/proc/diskstats", DISK ("nvme0c0n1") DISK ("nvme0n1"));
  assert_counted (&sampled, 2, "nvme0c0n1");
  scratch_write (&scratch, "/proc/diskstats", DISK ("nvme0n1"));
  assert_counted (&sampled, 1, "nvme0n1");
  scratch_write (&scratch, "/proc/diskstats", DISK ("nvme0n1") DISK ("nvme0c0n1"));
  assert_counted (&sampled, 2, "nvme0c0n1");
  sampled_close (&sampled);
  sampled.ini = EXCLUDE ("nvme*c*");
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_counted (&sampled, 1, "nvme0n1");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
recorded_machines (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  need_root (ROOT_BIG480);
  sampled_open (&sampled, &sampler_disk_io, ROOT_PROCFS); /* has a /sys/block */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "sdc", "flushes", 127);
  assert_uint (&sampled, "sdc", "flush_time", 182);
  assert_false (sampled_has_row (&sampled, "sdc1"));
  assert_false (sampled_has_row (&sampled, "ram0"));
  /* Of its volumes that have a folder the slaves are disks that are shown; three disks have none: they count. */
  assert_counted (&sampled, 12, "sda mmcblk0 vda nvme0n1 sdb sdc");
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

/* What /sys/block does not have is shown when it may be a whole device, and told. */
static void
devices_that_sys_does_not_have (void **state)
{
#define TEN " 0 0 0 0 0 0 0 0 0 0\n"
  struct scratch scratch;
  struct sampled sampled = { .ini = EXCLUDE ("loop*") };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/block/dasda/size", "1");
  scratch_write (&scratch, "/sys/block/nvme0n1/size", "1");
  scratch_write (&scratch, "/proc/diskstats",
                 " 94 0 dasda 1" TEN " 94 1 dasda1 2" TEN " 259 0 nvme0n1 3" TEN " 259 1 nvme0n1p1 4" TEN
                 " 7 0 loop0 5" TEN);
  sampled_open (&sampled, &sampler_disk_io, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_string_equal (sampled.table.error, "");
  scratch_write (&scratch, "/proc/diskstats",
                 " 8 0 sda 1" TEN " 8 1 sda1 2" TEN " 259 0 nvme0n1 3" TEN " 252 0 vda 4" TEN " 7 0 loop0 5" TEN);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 3);
    assert_uint (&sampled, "sda", "reads", 1);
    assert_uint (&sampled, "vda", "reads", 4);
    assert_non_null (strstr (sampled.table.error, "/sys/block has no sda,"));
    assert_non_null (strstr (sampled.table.error, "(and 2 more)"));
  }
  scratch_write (&scratch, "/sys/block/sda/size", "1"); /* they come: no agent has to be started again */
  scratch_write (&scratch, "/sys/block/vda/size", "1");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 3);
  assert_string_equal (sampled.table.error, "");
  scratch_write (&scratch, "/proc/diskstats", "");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_non_null (strstr (sampled.table.error, "/proc/diskstats: Bad message"));
  scratch_remove (&scratch, "/sys/block/sda");
  scratch_remove (&scratch, "/sys/block/vda");
  scratch_remove (&scratch, "/sys/block/dasda");
  scratch_remove (&scratch, "/sys/block/nvme0n1");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, ""); /* a machine without disks */
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (devices_that_sys_does_not_have),
    cmocka_unit_test (of_small),
    cmocka_unit_test (partitions_on_request),
    cmocka_unit_test (of_odd),
    cmocka_unit_test (names_twice),
    cmocka_unit_test (devices_come_and_go),
    cmocka_unit_test (total_counts_each_byte_once),
    cmocka_unit_test (nvme_multipath_counts_once),
    cmocka_unit_test (recorded_machines),
    cmocka_unit_test (warm_samples_allocate_nothing),
    cmocka_unit_test (live),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
