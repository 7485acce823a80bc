/* Which of the kernel's mounts count as file systems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/source/mounts.h"

static struct mounts mounts;

static void
parse (const char *text, enum mounts_format format, const char *exclude, const char *types_exclude)
{
  mounts_parse (&mounts, text, strlen (text), format, exclude, types_exclude);
}

/* "POINT TYPE DEVICE flags" of each, a line each; "unknown" is neither remote nor local. */
static void
assert_mounts (const char *expected)
{
  char text[2048] = "";

  for (size_t i = 0; i < mounts.count; i++) {
    const struct mount *mount = &mounts.list[i];
    size_t length = strlen (text);
    assert_false (mount->remote && mount->local);
    snprintf (text + length, sizeof text - length, "%s|%s|%s|%s%s%s\n", mount->point, mount->type, mount->device,
              mount->read_only ? "ro" : "rw", mount->remote ? ",remote" : "",
              mount->remote || mount->local ? "" : ",unknown");
  }
  assert_string_equal (text, expected);
  mounts_free (&mounts);
}

static void
test_real_file_systems_only (void **state)
{
  (void) state;
  parse ("22 27 0:21 / /proc rw,relatime - proc proc rw\n"
         "23 27 0:22 / /sys rw - sysfs sysfs rw\n"
         "31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
         "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n"
         "28 27 0:25 / /dev/shm rw - tmpfs tmpfs rw\n"
         "29 27 8:1 / /data ro,noatime - xfs /dev/sda1 rw\n"
         "30 27 8:2 / /broken rw - ext4 /dev/sdb1 ro,errors=remount-ro\n"
         "33 27 0:40 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw\n",
         MOUNTS_INFO, NULL, NULL);
  assert_mounts ("/|ext4|/dev/vda|rw\n"
                 "/dev/shm|tmpfs|tmpfs|rw\n"
                 "/data|xfs|/dev/sda1|ro\n"
                 "/broken|ext4|/dev/sdb1|ro\n");
}

static void
test_container_root_stays (void **state)
{
  (void) state;
  parse ("27 1 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/a\n", MOUNTS_INFO, "", "");
  assert_mounts ("/|overlay|overlay|rw\n");
}

static void
test_escaped_names (void **state)
{
  (void) state;
  parse ("27 1 8:1 / /mnt/two\\040words\\011tab\\134 rw - ext4 /dev/disk\\0401 rw\n"
         "28 1 8:2 / /mnt/\\04 rw - ext4 /dev/\\999 rw\n",
         MOUNTS_INFO, NULL, NULL);
  assert_mounts ("/mnt/two words\ttab\\|ext4|/dev/disk 1|rw\n"
                 "/mnt/\\04|ext4|/dev/\\999|rw\n");
}

static void
test_each_file_system_once (void **state)
{
  (void) state;
  parse ("27 1 8:1 /home /bind/home rw - ext4 /dev/sda1 rw\n"
         "28 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
         "29 1 8:1 /var /bind/var rw - ext4 /dev/sda1 rw\n"
         "30 1 0:42 /home /home rw - btrfs /dev/sdb rw\n"
         "31 1 0:42 /var /var rw - btrfs /dev/sdb rw\n",
         MOUNTS_INFO, NULL, NULL);
  assert_mounts ("/|ext4|/dev/sda1|rw\n"
                 "/home|btrfs|/dev/sdb|rw\n");
}

static void
test_hidden_mounts_are_left_out (void **state)
{
  (void) state;
  parse ("27 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n"
         "28 1 8:2 / /mnt rw - xfs /dev/sdb1 rw\n"
         "29 1 8:3 / /gone rw - xfs /dev/sdc1 rw\n"
         "30 1 0:9 / /gone rw - proc proc rw\n",
         MOUNTS_INFO, NULL, NULL);
  assert_mounts ("/mnt|xfs|/dev/sdb1|rw\n");
}

static void
test_what_may_hang (void **state)
{
  (void) state;
  parse ("27 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
         "28 1 0:42 / /nfs rw - nfs4 10.0.0.1:/srv rw\n"
         "29 28 8:2 / /nfs/local rw - ext4 /dev/sdb1 rw\n"
         "30 1 8:3 / /nfsd rw - ext4 /dev/sdc1 rw\n"
         "31 1 0:43 / /scratch rw - lustre 10.0.0.2@o2ib:/scratch rw\n"
         "32 1 0:44 / /home/me/s3 rw - fuse.s3fs s3fs rw\n"
         "33 1 0:45 / /win rw - cifs //server/share rw\n",
         MOUNTS_INFO, NULL, NULL);
  assert_mounts ("/|ext4|/dev/sda1|rw\n"
                 "/nfs|nfs4|10.0.0.1:/srv|rw,remote\n"
                 "/nfs/local|ext4|/dev/sdb1|rw,remote\n"
                 "/nfsd|ext4|/dev/sdc1|rw\n"
                 "/scratch|lustre|10.0.0.2@o2ib:/scratch|rw,remote\n"
                 "/home/me/s3|fuse.s3fs|s3fs|rw,remote\n"
                 "/win|cifs|//server/share|rw,remote\n");
}

/* What other nodes have too, and what is there twice: a server's folder with other options is one more to the kernel. */
static void
test_shared_and_repeated (void **state)
{
  static const struct {
    const char *point;
    bool shared, again, layer;
  } expected[] = {
    { "/", false, false, true },        { "/etc/hosts", false, false, false }, { "/home", true, false, false },
    { "/home-ro", true, true, false },  { "/scratch", true, false, false },    { "/nfs/local", false, false, false },
    { "/usb", false, false, false },    { "/dev/shm", false, false, false },   { "/tmp", false, false, false },
    { "/project", true, false, false },
  };

  (void) state;
  parse ("27 1 0:40 / / rw - overlay overlay rw\n"
         "28 27 8:1 /docker/x/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
         "29 27 8:1 /docker/x/name /etc/hostname rw - ext4 /dev/sda1 rw\n"
         "30 27 0:42 / /home rw - nfs4 10.0.0.1:/home rw\n"
         "31 27 0:43 / /home-ro ro - nfs4 10.0.0.1:/home ro\n"
         "32 27 0:44 / /scratch rw - lustre 10.0.0.2@o2ib:/scratch rw\n"
         "33 27 0:45 / /nfs rw - autofs auto rw\n"
         "34 27 8:2 / /nfs/local rw - ext4 /dev/sdb1 rw\n"
         "35 27 8:17 / /usb rw - fuseblk /dev/sdc1 rw\n"
         "36 27 0:46 / /dev/shm rw - tmpfs tmpfs rw\n"
         "37 27 0:47 / /tmp rw - tmpfs tmpfs rw\n"
         "38 27 0:48 / /project rw - gpfs project rw\n"
         "39 27 0:48 /deep /bound rw - gpfs project rw\n",
         MOUNTS_INFO, NULL, NULL);
  assert_int_equal (mounts.count, sizeof expected / sizeof expected[0]);
  for (size_t i = 0; i < mounts.count; i++) {
    assert_string_equal (mounts.list[i].point, expected[i].point);
    assert_int_equal (mounts.list[i].shared, expected[i].shared);
    assert_int_equal (mounts.list[i].again, expected[i].again);
    assert_int_equal (mounts.list[i].layer, expected[i].layer);
  }
  mounts_free (&mounts);
}

static void
test_exclude (void **state)
{
  const char *text = "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                     "28 1 8:2 / /boot rw - vfat /dev/sda2 rw\n"
                     "29 1 8:3 / /mnt/a rw - xfs /dev/sdb1 rw\n"
                     "30 1 8:4 / /mnt/b rw - xfs /dev/sdc1 rw\n";

  (void) state;
  parse (text, MOUNTS_INFO, "/boot,/mnt/*", NULL);
  assert_mounts ("/|ext4|/dev/sda1|rw\n");
  parse (text, MOUNTS_INFO, NULL, "vfat, x*");
  assert_mounts ("/|ext4|/dev/sda1|rw\n");
}

static void
test_proc_mounts (void **state)
{
  (void) state;
  parse ("proc /proc proc rw 0 0\n"
         "/dev/sda1 / ext4 rw,relatime 0 0\n"
         "/dev/sda1 /bind ext4 rw,relatime 0 0\n"
         "tmpfs /tmp tmpfs ro 0 0\n"
         "tmpfs /dev/shm tmpfs rw 0 0\n"
         "server:/home /home nfs rw 0 0\n",
         MOUNTS_TABLE, NULL, NULL);
  assert_mounts ("/|ext4|/dev/sda1|rw\n"
                 "/tmp|tmpfs|tmpfs|ro\n"
                 "/dev/shm|tmpfs|tmpfs|rw\n"
                 "/home|nfs|server:/home|rw,remote\n");
}

static void
test_garbage (void **state)
{
  (void) state;
  parse ("", MOUNTS_INFO, NULL, NULL);
  assert_mounts ("");
  parse ("\n\n \n27\n27 1 8:1 / / rw\n27 1 8:1 / / rw shared:1 shared:2\n1 2 x / / rw - ext4 /dev/x rw\n"
         "1 2 8:1 / relative rw - ext4 /dev/x rw\n\\\\\\ - - -",
         MOUNTS_INFO, NULL, NULL);
  assert_mounts ("");
  parse ("/dev/sda1\n/dev/sda1 /\n/dev/sda1 relative ext4 rw\n", MOUNTS_TABLE, NULL, NULL);
  assert_mounts ("");
}

/* A type that nobody knows may be a network's; so may what lies below it, even if it is not shown itself. */
static void
test_unknown_types (void **state)
{
  (void) state;
  parse ("27 1 254:0 / / rw - ext4 /dev/vda rw\n"
         "28 27 0:40 / /new rw - novelfs server rw\n"
         "29 28 8:1 / /new/disk rw - xfs /dev/sda1 rw\n"
         "30 27 0:41 / /auto rw - autofs systemd-1 rw\n"
         "31 30 8:2 / /auto/disk rw - ext2 /dev/sdb1 rw\n"
         "32 27 8:3 / /newer rw - zfs tank/newer rw\n",
         MOUNTS_INFO, NULL, "novelfs");
  assert_mounts ("/|ext4|/dev/vda|rw\n"
                 "/new/disk|xfs|/dev/sda1|rw,unknown\n"
                 "/auto/disk|ext2|/dev/sdb1|rw\n"
                 "/newer|zfs|tank/newer|rw\n");
  parse ("28 27 0:40 / /new rw - novelfs server rw\n", MOUNTS_INFO, NULL, NULL);
  assert_mounts ("/new|novelfs|server|rw,unknown\n");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_real_file_systems_only),
    cmocka_unit_test (test_container_root_stays),
    cmocka_unit_test (test_escaped_names),
    cmocka_unit_test (test_each_file_system_once),
    cmocka_unit_test (test_hidden_mounts_are_left_out),
    cmocka_unit_test (test_what_may_hang),
    cmocka_unit_test (test_shared_and_repeated),
    cmocka_unit_test (test_exclude),
    cmocka_unit_test (test_proc_mounts),
    cmocka_unit_test (test_garbage),
    cmocka_unit_test (test_unknown_types),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
