/* Files that are read again and again, and folders with a number. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "agent/source/facts.h"
#include "agent/source/numbered.h"
#include "agent/source/reader.h"
#include "synop/file.h"
#include "tests/unit/agent/sampler_test.h"

/* Stands in for the kernel's: the next read fails in this way, as one whose device is gone. */
static int next_errno;

ssize_t
pread (int fd, void *into, size_t size, off_t offset)
{
  if (next_errno != 0) {
    errno = next_errno;
    next_errno = 0;
    return -1;
  }
  return (ssize_t) syscall (SYS_pread64, fd, into, size, offset);
}

static void
opens_again_when_the_device_went (void **state)
{
  static const int gone[] = { ENODEV, ESTALE, ENOENT };
  struct scratch scratch;
  struct reader reader;
  struct buffer text = { 0 };
  char value[8];

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/file", "old");
  reader_init (&reader, scratch.root, "/file");
  assert_int_equal (reader_read (&reader, &text), 0);
  for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
    scratch_remove (&scratch, "/file");
    scratch_write (&scratch, "/file", "new");
    next_errno = gone[i];
    assert_int_equal (reader_read (&reader, &text), 0);
    assert_string_equal (text.data, "new");
    next_errno = gone[i];
    assert_int_equal (reader_read_value (&reader, value, sizeof value), 3);
  }
  next_errno = EIO;
  assert_int_equal (reader_read (&reader, &text), -EIO);
  assert_int_equal (text.length, 0);
  scratch_remove (&scratch, "/file");
  next_errno = ENODEV;
  assert_int_equal (reader_read (&reader, &text), -ENOENT);
  next_errno = EINTR;
  scratch_write (&scratch, "/file", "back");
  assert_int_equal (reader_read (&reader, &text), 0);
  assert_string_equal (text.data, "back");
  reader_free (&reader);
  buffer_free (&text);
  scratch_free (&scratch);
}

static void
reads_what_is_there_now (void **state)
{
  struct scratch scratch;
  struct reader reader;
  struct buffer text = { 0 };
  int fd;

  (void) state;
  scratch_init (&scratch);
  reader_init (&reader, scratch.root, "/proc/%s", "file");
  assert_int_equal (reader_read (&reader, &text), -ENOENT);
  assert_int_equal (text.length, 0);
  scratch_write (&scratch, "/proc/file", "first\n");
  assert_int_equal (reader_read (&reader, &text), 0);
  assert_string_equal (text.data, "first\n");
  fd = reader.fd;
  scratch_write (&scratch, "/proc/file", "the second, longer\n");
  assert_int_equal (reader_read (&reader, &text), 0);
  assert_string_equal (text.data, "the second, longer\n");
  assert_int_equal (text.length, strlen (text.data));
  assert_int_equal (reader.fd, fd); /* it stayed open */
  scratch_write (&scratch, "/proc/file", "");
  assert_int_equal (reader_read (&reader, &text), 0);
  assert_string_equal (text.data, "");
  reader_free (&reader);
  reader_free (&reader); /* twice is fine */
  buffer_free (&text);
  scratch_free (&scratch);
}

static void
reads_long_files_whole (void **state)
{
  static const size_t lengths[] = { 1, 4094, 4095, 4096, 4097, 8191, 8192, 200000 };
  struct scratch scratch;
  struct reader reader;
  struct buffer text = { 0 };
  char *bytes = malloc (200000);

  (void) state;
  scratch_init (&scratch);
  reader_init (&reader, scratch.root, "/long");
  for (size_t i = 0; i < 200000; i++)
    bytes[i] = (char) ('a' + i % 23);
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    scratch_write_bytes (&scratch, "/long", bytes, lengths[i]);
    assert_int_equal (reader_read (&reader, &text), 0);
    assert_int_equal (text.length, lengths[i]);
    assert_memory_equal (text.data, bytes, lengths[i]);
    assert_int_equal (text.data[text.length], 0);
  }
  reader_free (&reader);
  buffer_free (&text);
  free (bytes);
  scratch_free (&scratch);
}

static void
reads_values (void **state)
{
  struct scratch scratch;
  struct reader reader;
  char text[8];

  (void) state;
  scratch_init (&scratch);
  reader_init (&reader, scratch.root, "/value");
  assert_int_equal (reader_read_value (&reader, text, sizeof text), -ENOENT);
  assert_string_equal (text, "");
  scratch_write (&scratch, "/value", "123\n");
  assert_int_equal (reader_read_value (&reader, text, sizeof text), 3);
  assert_string_equal (text, "123");
  scratch_write (&scratch, "/value", "123456789");
  assert_int_equal (reader_read_value (&reader, text, sizeof text), 7);
  assert_string_equal (text, "1234567");
  scratch_write (&scratch, "/value", "");
  assert_int_equal (reader_read_value (&reader, text, sizeof text), 0);
  assert_string_equal (text, "");
  reader_free (&reader);
  scratch_free (&scratch);
}

static void
error_of (const struct reader *reader, int result, char *error, size_t size)
{
  struct table table = { 0 };

  assert_int_equal (reader_complain (reader, result, &table), -1);
  snprintf (error, size, "%s", table.error);
}

static void
tells_what_is_wrong (void **state)
{
  struct scratch scratch;
  struct reader reader;
  struct buffer text = { 0 };
  char error[200], expected[200];

  (void) state;
  scratch_init (&scratch);
  reader_init (&reader, scratch.root, "/.");
  assert_int_equal (reader_read (&reader, &text), -EISDIR); /* the folder itself */
  error_of (&reader, -EISDIR, error, sizeof error);
  snprintf (expected, sizeof expected, "%s/.: Is a directory", scratch.root);
  assert_string_equal (error, expected);
  reader_free (&reader);
  scratch_write (&scratch, "/endless", "");
  reader_init (&reader, scratch.root, "/endless");
  assert_int_equal (truncate (reader.path, (off_t) 64 * 1024 * 1024), 0);
  assert_int_equal (reader_read (&reader, &text), -EFBIG);
  assert_int_equal (text.length, 0);
  reader_free (&reader);
  buffer_free (&text);
  scratch_free (&scratch);
}

/* What has the name of a file and is none: it is refused, and nobody waits for it. */
static void
refuses_what_is_no_file (void **state)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int at = socket (AF_UNIX, SOCK_STREAM, 0);
  struct scratch scratch;
  struct reader reader;
  struct buffer text = { 0 };
  char value[16], error[200], expected[200];
  uint64_t number;

  (void) state;
  alarm (120); /* an open of a FIFO waits for ever */
  scratch_init (&scratch);
  reader_init (&reader, scratch.root, "/file");
  snprintf (address.sun_path, sizeof address.sun_path, "%s/file", scratch.root);
  for (int kind = 0; kind < 3; kind++) {
    assert_int_equal (kind == 0   ? mkfifo (reader.path, 0600)
                      : kind == 1 ? bind (at, (struct sockaddr *) &address, sizeof address)
                                  : symlink ("/dev/zero", reader.path),
                      0);
    assert_int_equal (reader_read (&reader, &text), -FILE_IRREGULAR);
    assert_int_equal (text.length, 0);
    assert_int_equal (reader_read_value (&reader, value, sizeof value), -FILE_IRREGULAR);
    assert_string_equal (value, "");
    assert_int_equal (reader.fd, -1);
    assert_false (fact_text (value, sizeof value, scratch.root, "/file"));
    assert_false (fact_uint (&number, scratch.root, "/file"));
    error_of (&reader, -FILE_IRREGULAR, error, sizeof error);
    snprintf (expected, sizeof expected, "%s/file: is no regular file", scratch.root);
    assert_string_equal (error, expected);
    scratch_remove (&scratch, "/file");
  }
  scratch_write (&scratch, "/file", "7");
  assert_int_equal (reader_read_value (&reader, value, sizeof value), 1);
  alarm (0);
  reader_free (&reader);
  buffer_free (&text);
  close (at);
  scratch_free (&scratch);
}

static void
numbered_folders (void **state)
{
  struct scratch scratch;
  struct numbered cpus;
  char text[16];

  (void) state;
  scratch_init (&scratch);
  numbered_init (&cpus, scratch.root, "/cpu", "cpu", "speed");
  numbered_refresh (&cpus);
  assert_int_equal (cpus.count, 0); /* no such folder */
  scratch_write (&scratch, "/cpu/online", "0-1,10\n");
  scratch_write (&scratch, "/cpu/cpu10/speed", "10\n");
  scratch_write (&scratch, "/cpu/cpu9/speed", "9\n");
  scratch_write (&scratch, "/cpu/cpu0/speed", "0\n");
  scratch_write (&scratch, "/cpu/cpufreq/speed", "x\n");
  scratch_write (&scratch, "/cpu/cpu/speed", "x\n");
  scratch_write (&scratch, "/cpu/cpu3x/speed", "x\n");
  numbered_refresh (&cpus);
  assert_int_equal (cpus.count, 3);
  assert_string_equal (cpus.items[0].label, "0");
  assert_string_equal (cpus.items[1].label, "9");
  assert_string_equal (cpus.items[2].label, "10");
  assert_int_equal (reader_read_value (&cpus.items[2].reader, text, sizeof text), 2);
  scratch_write (&scratch, "/cpu/cpu11/speed", "11\n");
  numbered_refresh (&cpus);
  assert_int_equal (cpus.count, 3); /* the list of those online is the same */
  scratch_write (&scratch, "/cpu/online", "0-1,10-11\n");
  numbered_refresh (&cpus);
  assert_int_equal (cpus.count, 4);
  numbered_free (&cpus);
  scratch_free (&scratch);
}

static void
lines_that_were_cut (void **state)
{
  static const struct group group = { .name = "lines" };
  struct scratch scratch;
  struct reader reader;
  struct buffer text = { 0 };
  struct table table;
  char expected[200];

  (void) state;
  scratch_init (&scratch);
  table_init (&table, &group);
  reader_init (&reader, scratch.root, "/lines");
  reader.optional = true;
  assert_int_equal (reader_read_lines (&reader, &text, &table), -ENOENT);
  assert_string_equal (table.error, "");
  reader.optional = false;
  assert_int_equal (reader_read_lines (&reader, &text, &table), -ENOENT);
  snprintf (expected, sizeof expected, "%s/lines: No such file or directory", scratch.root);
  assert_string_equal (table.error, expected);
  table_begin (&table);
  scratch_write (&scratch, "/lines", "one 1\ntwo 2\n");
  assert_int_equal (reader_read_lines (&reader, &text, &table), 0);
  assert_string_equal (text.data, "one 1\ntwo 2\n");
  assert_string_equal (table.error, "");
  scratch_write (&scratch, "/lines", "one 1\ntwo 2");
  assert_int_equal (reader_read_lines (&reader, &text, &table), 0);
  assert_string_equal (text.data, "one 1\n"); /* it may have been 23 */
  assert_int_equal (text.length, 6);
  snprintf (expected, sizeof expected, "%s/lines: cut short", scratch.root);
  assert_string_equal (table.error, expected);
  scratch_write (&scratch, "/lines", "one 1");
  assert_int_equal (reader_read_lines (&reader, &text, &table), -EBADMSG);
  assert_string_equal (text.data, "");
  table_begin (&table);
  scratch_write (&scratch, "/lines", "");
  assert_int_equal (reader_read_lines (&reader, &text, &table), 0);
  assert_string_equal (table.error, "");
  reader_free (&reader);
  buffer_free (&text);
  table_free (&table);
  scratch_free (&scratch);
}

static void
reads_unsigned_numbers (void **state)
{
  static const struct {
    const char *text;
    int result;
    uint64_t value;
  } files[] = { { "93187435632\n", 0, 93187435632 },
                { "0", 0, 0 },
                { "", -EBADMSG, 0 },
                { "-5\n", -EBADMSG, 0 },
                { "12 uJ\n", -EBADMSG, 0 },
                { "x", -EBADMSG, 0 },
                { "99999999999999999999\n", -EBADMSG, 0 } };
  struct scratch scratch;
  struct reader reader;
  uint64_t value;

  (void) state;
  scratch_init (&scratch);
  reader_init (&reader, scratch.root, "/energy_uj");
  assert_int_equal (reader_read_uint (&reader, &value), -ENOENT);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    scratch_write (&scratch, "/energy_uj", files[i].text);
    assert_int_equal (reader_read_uint (&reader, &value), files[i].result);
    if (files[i].result == 0)
      assert_int_equal (value, files[i].value);
  }
  reader_free (&reader);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (lines_that_were_cut),
    cmocka_unit_test (reads_what_is_there_now),
    cmocka_unit_test (reads_long_files_whole),
    cmocka_unit_test (reads_values),
    cmocka_unit_test (reads_unsigned_numbers),
    cmocka_unit_test (tells_what_is_wrong),
    cmocka_unit_test (refuses_what_is_no_file),
    cmocka_unit_test (numbered_folders),
    cmocka_unit_test (opens_again_when_the_device_went),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
