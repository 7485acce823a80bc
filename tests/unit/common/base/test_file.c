/* Files and their folders. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_folder),
    cmocka_unit_test (test_folder_make),
    cmocka_unit_test (test_write),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
