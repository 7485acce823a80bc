/* Files and their folders. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "synop/file.h"
#include "synop/memory.h"

static void
assert_folder (const char *path, const char *expected)
{
  char *folder = file_folder (path);

  assert_string_equal (folder, expected);
  free (folder);
}

static void
test_folder (void **state)
{
  (void) state;
  assert_folder ("name", ".");
  assert_folder ("/name", "/");
  assert_folder ("folder/name", "folder");
  assert_folder ("/one/two/name", "/one/two");
}

static void
test_folder_make (void **state)
{
  char top[] = "/tmp/synop-file-XXXXXX";
  char *one, *two;
  struct stat status;

  (void) state;
  assert_non_null (mkdtemp (top));
  one = memory_format ("%s/one/name", top);
  two = memory_format ("%s/two/three/name", top);
  assert_int_equal (file_folder_make (one, 0700), 0);
  assert_int_equal (file_folder_make (one, 0700), 0);
  *strrchr (one, '/') = '\0';
  assert_int_equal (stat (one, &status), 0);
  assert_int_equal (status.st_mode, S_IFDIR | 0700);
  assert_int_equal (file_folder_make (two, 0700), -1);
  assert_int_equal (errno, ENOENT);
  rmdir (one);
  rmdir (top);
  free (one);
  free (two);
}

/* More than the pipe holds, and it does not block. */
static void
test_write (void **state)
{
  static char bytes[300000];
  int ends[2], status;
  pid_t reader;

  (void) state;
  assert_int_equal (pipe2 (ends, O_NONBLOCK), 0);
  reader = fork ();
  if (reader == 0) {
    size_t sum = 0;
    ssize_t got;

    close (ends[1]);
    fcntl (ends[0], F_SETFL, 0);
    while ((got = read (ends[0], bytes, 10000)) > 0)
      sum += (size_t) got;
    _exit (sum == sizeof bytes ? 0 : 1);
  }
  close (ends[0]);
  assert_int_equal (file_write (ends[1], bytes, sizeof bytes), 0);
  close (ends[1]);
  assert_int_equal (waitpid (reader, &status, 0), reader);
  assert_int_equal (status, 0);
  assert_int_equal (file_write (-1, bytes, 1), -1);
  assert_int_equal (errno, EBADF);
}

/* In pieces, up to the end or the limit. */
static void
test_read (void **state)
{
  char bytes[16] = { 0 };
  int ends[2], status;
  pid_t writer;

  (void) state;
  assert_int_equal (pipe (ends), 0);
  writer = fork ();
  if (writer == 0) {
    for (int i = 0; i < 3; i++) {
      usleep (10000);
      if (write (ends[1], "abcd", 4) != 4)
        _exit (1);
    }
    _exit (0);
  }
  close (ends[1]);
  assert_int_equal (file_read (ends[0], bytes, 6), 6);
  assert_memory_equal (bytes, "abcdab", 6);
  assert_int_equal (file_read (ends[0], bytes, sizeof bytes), 6);
  assert_memory_equal (bytes, "cdabcd", 6);
  assert_int_equal (file_read (ends[0], bytes, sizeof bytes), 0);
  close (ends[0]);
  assert_int_equal (waitpid (writer, &status, 0), writer);
  assert_int_equal (status, 0);
  assert_int_equal (file_read (-1, bytes, 1), -1);
  assert_int_equal (errno, EBADF);
}

/* In a child, for its descriptors: what does file_print return with that standard output? */
static int
printed_to (int fd, bool claim)
{
  struct buffer text = { 0 };
  pid_t child = fork ();
  int status;

  if (child == 0) {
    signal (SIGPIPE, SIG_IGN);
    close (STDERR_FILENO);
    close (STDOUT_FILENO);
    if (fd >= 0)
      dup2 (fd, STDOUT_FILENO);
    if (claim)
      file_claim_standard ();
    if (claim && open ("/dev/null", O_RDONLY) <= STDERR_FILENO)
      _exit (9);
    buffer_add_string (&text, "text\n");
    _exit (file_print (&text));
  }
  assert_int_equal (waitpid (child, &status, 0), child);
  return WEXITSTATUS (status);
}

/* A full disk and a closed output are errors; a reader that has gone is none. */
static void
test_print (void **state)
{
  int full = open ("/dev/full", O_WRONLY | O_CLOEXEC), null = open ("/dev/null", O_WRONLY | O_CLOEXEC), ends[2];

  (void) state;
  assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
  close (ends[0]);
  assert_int_equal (printed_to (null, true), 0);
  assert_int_equal (printed_to (full, true), 1);
  assert_int_equal (printed_to (-1, true), 1);
  assert_int_equal (printed_to (ends[1], false), 0);
  close (ends[1]);
  close (full);
  close (null);
}

static void
test_read_text (void **state)
{
  static const struct {
    const char *text, *wrong; /* NULL: it is taken */
  } files[] = { { "1234567", NULL }, { "1", NULL }, { "", "it is empty" }, { "12345678", "larger than 7 bytes" } };
  char path[] = "/tmp/synop-file-XXXXXX", text[8];
  struct error error;

  (void) state;
  close (mkstemp (path));
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    FILE *file = fopen (path, "w");

    fputs (files[i].text, file);
    fclose (file);
    assert_int_equal (file_read_text (path, text, sizeof text, &error), files[i].wrong ? -1 : 0);
    if (!files[i].wrong)
      assert_string_equal (text, files[i].text);
    else
      assert_non_null (strstr (error.text, files[i].wrong));
  }
  unlink (path);
  assert_int_equal (file_read_text (path, text, sizeof text, &error), -1);
  assert_non_null (strstr (error.text, path));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_folder), cmocka_unit_test (test_folder_make), cmocka_unit_test (test_write),
    cmocka_unit_test (test_read),   cmocka_unit_test (test_print),       cmocka_unit_test (test_read_text),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
