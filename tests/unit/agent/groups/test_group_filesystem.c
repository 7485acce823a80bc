/* filesystem: space by statvfs, which this test stands in for, so that it can hang as a dead server does. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "tests/unit/agent/sampler_test.h"

#include "synop/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool server_dead;

/* In the place of libc's, for the sampler too. */
int
statvfs (const char *path, struct statvfs *answer)
{
  const char *name = strrchr (path, '/') ? strrchr (path, '/') : path;

  memset (answer, 0, sizeof *answer);
  pthread_mutex_lock (&lock);
  while (strcmp (name, "/nfs") == 0 && server_dead)
    pthread_cond_wait (&moved, &lock);
  pthread_mutex_unlock (&lock);
  if (strcmp (name, "/stale") == 0)
    errno = ESTALE;
  else if (strcmp (name, "/absent") == 0)
    errno = ENOENT;
  else if (strcmp (name, "/secret") == 0)
    errno = EACCES;
  else if (strcmp (name, "/broken") == 0)
    errno = EIO;
  else {
    answer->f_frsize = 4096;
    answer->f_bsize = 1024 * 1024;
    answer->f_blocks = strcmp (name, "/empty") == 0 ? 0 : 1000;
    answer->f_bfree = 400;
    answer->f_bavail = 300;
    answer->f_files = strcmp (name, "/btrfs") == 0 ? 0 : 50;
    answer->f_ffree = strcmp (name, "/endless") == 0 ? (fsfilcnt_t) -1 : 20; /* as CephFS tells it */
    answer->f_flag = strcmp (name, "/ro") == 0 ? ST_RDONLY : 0;
    return 0;
  }
  return -1;
}

static void
server_set (bool dead)
{
  pthread_mutex_lock (&lock);
  server_dead = dead;
  pthread_cond_broadcast (&moved);
  pthread_mutex_unlock (&lock);
}

/* In the place of libc's too: this machine's list of mounts is one that the test writes. */
static const char *machine; /* the folder with its proc; NULL: the kernel's */

int
openat (int folder, const char *path, int flags, ...)
{
  char full[4096];

  snprintf (full, sizeof full, "%s%s", machine && strncmp (path, "/proc/", 6) == 0 ? machine : "", path);
  return (int) syscall (SYS_openat, folder, full, flags, 0);
}

int
poll (struct pollfd *fds, nfds_t count, int timeout)
{
  assert_int_equal (timeout, 0);
  return machine ? 1 : ppoll (fds, count, &(struct timespec){ 0 }, NULL);
}

static void
machine_open (struct sampled *sampled, const struct scratch *scratch)
{
  machine = scratch->root;
  sampled_open (sampled, &sampler_filesystem, "");
}

static void
machine_close (struct sampled *sampled, const struct scratch *scratch)
{
  machine = NULL;
  sampled_close (sampled);
  scratch_free (scratch);
}

#define LINE(POINT, DEVICE, TYPE) "27 1 " DEVICE " / " POINT " rw - " TYPE " " DEVICE "dev rw\n"

static void
test_values (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/self/mountinfo",
                 LINE ("/data", "8:1", "ext4") LINE ("/btrfs", "8:2", "btrfs") LINE ("/ro", "8:3", "xfs")
                     LINE ("/empty", "8:4", "novelfs") LINE ("/endless", "8:6", "ext4"));
  machine_open (&sampled, &scratch);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 4);
  assert_uint (&sampled, "/data", "size", 4096000);
  assert_uint (&sampled, "/data", "used", 600 * 4096);
  assert_uint (&sampled, "/data", "free", 400 * 4096);
  assert_uint (&sampled, "/data", "available", 300 * 4096);
  assert_uint (&sampled, "/data", "inodes_total", 50);
  assert_uint (&sampled, "/data", "inodes_used", 30);
  assert_uint (&sampled, "/data", "inodes_free", 20);
  assert_uint (&sampled, "/data", "read_only", 0);
  assert_text (&sampled, "/data", "type", "ext4");
  assert_text (&sampled, "/data", "device", "8:1dev");
  assert_missing (&sampled, "/btrfs", "inodes_total");
  assert_uint (&sampled, "/ro", "read_only", 1);
  assert_uint (&sampled, "/endless", "inodes_total", 50);
  assert_missing (&sampled, "/endless", "inodes_free");
  assert_missing (&sampled, "/endless", "inodes_used");
  assert_false (sampled_has_row (&sampled, "/empty"));
  machine_close (&sampled, &scratch);
}

/* Whatever the reason: the row stays without values, and the error names it. */
static void
test_failures_are_told (void **state)
{
  static const struct {
    const char *point, *type, *reason;
  } cases[] = {
    { "/absent", "ext4", "No such file or directory" }, { "/secret", "tmpfs", "Permission denied" },
    { "/broken", "xfs", "Input/output error" },         { "/broken", "fuse.sshfs", "Input/output error" },
    { "/stale", "nfs4", "Stale file handle" },          { "/secret", "fuse.sshfs", "Permission denied" },
  };
  char text[512], expected[200], longer[200] = "";

  (void) state;
  memset (longer, 'l', sizeof longer - 1);
  for (size_t i = 0; i < 2 * (sizeof cases / sizeof cases[0]); i++) {
    size_t which = i / 2, front = i % 2 ? 150 : 0; /* names that are longer than an error leave the reason in it */
    struct sampled sampled = { 0 };
    struct scratch scratch;
    char point[200];

    snprintf (point, sizeof point, "%s%.*s%s", front ? "/" : "", (int) front, longer, cases[which].point);
    snprintf (text, sizeof text, "27 1 8:1 / %s rw - %s dev rw\n28 1 8:2 / /data rw - ext4 disk rw\n", point,
              cases[which].type);
    scratch_init (&scratch);
    scratch_write (&scratch, "/proc/self/mountinfo", text);
    machine_open (&sampled, &scratch);
    do
      assert_int_equal (sampled_again (&sampled), 0);
    while (strstr (sampled.table.error, "timed out")); /* a worker that is late on a busy machine */
    snprintf (expected, sizeof expected, "%.100s: %s", point, cases[which].reason);
    assert_string_equal (sampled.table.error, expected);
    assert_int_equal (sampled.table.rows, 2);
    assert_missing (&sampled, point, "size");
    assert_uint (&sampled, point, "device_error", 1);
    assert_uint (&sampled, "/data", "device_error", 0);
    assert_text (&sampled, point, "type", cases[which].type);
    assert_uint (&sampled, "/data", "size", 4096000);
    machine_close (&sampled, &scratch);
  }
}

/* Of a recorded machine only what the record has: the space would be that of this machine. */
static void
test_recorded_machine (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/self/mountinfo",
                 LINE ("/", "8:1", "ext4") LINE ("/home", "0:42", "nfs4") "29 1 8:3 / /old ro - xfs /dev/sdc ro\n");
  sampled_open (&sampled, &sampler_filesystem, scratch.root);
  server_set (true);
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  server_set (false);
  assert_int_equal (sampled.table.rows, 3);
  assert_non_null (strstr (sampled.table.error, "no sizes under --root"));
  assert_missing (&sampled, "/", "size");
  assert_missing (&sampled, "/home", "available");
  assert_missing (&sampled, "/home", "device_error");
  assert_text (&sampled, "/home", "type", "nfs4");
  assert_uint (&sampled, "/", "read_only", 0);
  assert_uint (&sampled, "/old", "read_only", 1);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* What is missing of the list is told. */
static void
test_damaged_list (void **state)
{
  static const struct {
    const char *text, *error;
    size_t rows;
  } cases[] = {
    { "", "/mountinfo: Bad message", 0 },
    { "What is this? 12 monkeys\nno\n", "/mountinfo: 2 lines are not understood", 0 },
    { LINE ("/a", "8:1", "ext4") "no\n" LINE ("/b", "8:2", "ext4"), "/mountinfo: 1 lines are not understood", 2 },
    { LINE ("/a", "8:1", "ext4") "27 1 8:2 / /b rw - ex", "/mountinfo: 1 lines are not understood", 1 },
  };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct sampled sampled = { 0 };
    scratch_write (&scratch, "/proc/self/mountinfo", cases[i].text);
    sampled_open (&sampled, &sampler_filesystem, scratch.root);
    sampled_again (&sampled);
    assert_int_equal (sampled.table.rows, cases[i].rows);
    assert_non_null (strstr (sampled.table.error, cases[i].error));
    sampled_close (&sampled);
  }
  scratch_free (&scratch);
}

static void
test_mounts_come_and_go (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled.ini = "[group filesystem]\nexclude = /boot\n";
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/a", "8:1", "ext4") LINE ("/boot", "8:2", "ext4"));
  machine_open (&sampled, &scratch);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/a", "8:1", "ext4") LINE ("/b", "0:42", "nfs"));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "/b", "size", 4096000);
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/b", "0:42", "nfs"));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  assert_uint (&sampled, "/b", "size", 4096000);
  machine_close (&sampled, &scratch);
}

static void
test_proc_mounts_where_there_is_no_mountinfo (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  machine_open (&sampled, &scratch);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/mounts"));
  scratch_write (&scratch, "/proc/mounts", "/dev/sda1 /a ext4 ro 0 0\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "/a", "read_only", 1);
  machine_close (&sampled, &scratch);
}

/* A dead server: its row has no values and the error names it; the others have theirs, and only the first sample waits
 * for it, a moment. When it answers again, so does the row. */
static void
test_dead_server_takes_only_its_row (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  int64_t before;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/self/mountinfo",
                 LINE ("/data", "8:1", "ext4") LINE ("/nfs", "0:42", "nfs4") LINE ("/home", "0:43", "nfs4"));
  machine_open (&sampled, &scratch);
  server_set (true);
  for (int i = 0; i < 3; i++) {
    before = clock_monotonic ();
    assert_int_equal (sampled_again (&sampled), 0);
    assert_true (clock_monotonic () - before < 60 * NS_PER_S);
    assert_string_equal (sampled.table.error, "/nfs: timed out");
    assert_int_equal (sampled.table.rows, 3);
    assert_missing (&sampled, "/nfs", "size");
    assert_uint (&sampled, "/nfs", "device_error", 1);
    assert_text (&sampled, "/nfs", "type", "nfs4");
    assert_uint (&sampled, "/data", "size", 4096000);
    assert_uint (&sampled, "/home", "size", 4096000);
  }
  /* Another mount makes the list anew; the one that hangs is still the same. */
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/data", "8:1", "ext4") LINE ("/nfs", "0:42", "nfs4"));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "/nfs: timed out");

  server_set (false);
  do
    sampled_again (&sampled);
  while (sampled.table.error[0]);
  assert_uint (&sampled, "/nfs", "size", 4096000);

  server_set (true); /* closed while one hangs: nobody waits */
  sampled_again (&sampled);
  machine_close (&sampled, &scratch);
  server_set (false);
}

static void
test_may_block_unless_all_is_local (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  machine_open (&sampled, &scratch);
  assert_false (sampled_may_block (&sampled)); /* there is no list at all */
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/data", "8:1", "ext4") LINE ("/x", "0:5", "proc"));
  assert_int_equal (sampled_again (&sampled), -1); /* as the question found it */
  assert_non_null (strstr (sampled.table.error, "/proc/mounts"));
  sampled_close (&sampled);

  machine_open (&sampled, &scratch);
  assert_false (sampled_may_block (&sampled));
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/data", "8:1", "ext4") LINE ("/home", "0:42", "nfs4"));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "/home", "size", 4096000);
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/data", "8:1", "ext4") LINE ("/odd", "0:42", "novelfs"));
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  scratch_write (&scratch, "/proc/self/mountinfo", LINE ("/data", "8:1", "ext4"));
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  machine_close (&sampled, &scratch);
}

static bool
reads_one (const struct sampled *sampled, const char *label, const char *metric)
{
  const struct value *value = sampled_value (sampled, label, metric);

  assert_int_equal (value->type, VALUE_UINT);
  return value->as.u == 1;
}

/* The root of a container answers with the numbers of the disk that its files lie on, as /etc/hosts from there does. */
static void
test_what_counts_in_the_total (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/self/mountinfo",
                 LINE ("/", "0:40", "overlay") LINE ("/etc/hosts", "8:1", "ext4")
                     LINE ("/home", "0:42",
                           "nfs4") "27 1 0:43 / /home-ro ro - nfs4 0:42dev ro\n" LINE ("/scratch", "0:44", "lustre"));
  machine_open (&sampled, &scratch);
  do
    assert_int_equal (sampled_again (&sampled), 0);
  while (sampled.table.error[0]); /* a worker that is late on a busy machine */
  assert_int_equal (sampled.table.rows, 5);
  assert_false (reads_one (&sampled, "/", "in_total"));
  assert_true (reads_one (&sampled, "/etc/hosts", "in_total"));
  assert_true (reads_one (&sampled, "/home", "in_total"));
  assert_false (reads_one (&sampled, "/home-ro", "in_total"));
  assert_true (reads_one (&sampled, "/scratch", "in_total"));
  assert_false (reads_one (&sampled, "/etc/hosts", "shared"));
  assert_true (reads_one (&sampled, "/home", "shared"));
  assert_true (reads_one (&sampled, "/scratch", "shared"));
  scratch_write (&scratch, "/proc/self/mountinfo",
                 LINE ("/", "0:40", "overlay") LINE ("/dev/shm", "0:45", "tmpfs") LINE ("/btrfs", "8:2", "btrfs"));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_true (
      reads_one (&sampled, "/", "in_total")); /* it lies on no row: of those of memory one is as large by chance */
  assert_true (reads_one (&sampled, "/dev/shm", "in_total"));
  machine_close (&sampled, &scratch);
}

static void
test_live_machine (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_filesystem, "");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "/", "size", 4096000);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_true (sampled_has_row (&sampled, "/"));
  sampled_close (&sampled);
}

static void
test_allocates_nothing_when_warm (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_filesystem, "");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_values),
    cmocka_unit_test (test_failures_are_told),
    cmocka_unit_test (test_recorded_machine),
    cmocka_unit_test (test_damaged_list),
    cmocka_unit_test (test_mounts_come_and_go),
    cmocka_unit_test (test_proc_mounts_where_there_is_no_mountinfo),
    cmocka_unit_test (test_dead_server_takes_only_its_row),
    cmocka_unit_test (test_may_block_unless_all_is_local),
    cmocka_unit_test (test_what_counts_in_the_total),
    cmocka_unit_test (test_live_machine),
    cmocka_unit_test (test_allocates_nothing_when_warm),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
