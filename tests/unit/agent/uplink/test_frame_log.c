/* The log of frames: what is in the file when there was no room for all of them, or no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/uplink/frame_log.h"
#include "tests/unit/test_folder.h"

static char folder[TEST_FOLDER_SIZE], path[80], said[4000];
static int told[2] = { -1, -1 }; /* standard error, and where it went before */

static int
begin (void **state)
{
  FILE *file = tmpfile ();

  (void) state;
  test_folder_make (folder);
  snprintf (path, sizeof path, "%s/log", folder);
  assert_non_null (file);
  told[0] = dup (fileno (file));
  fclose (file);
  told[1] = dup (2);
  assert_int_equal (dup2 (told[0], 2), 2);
  return 0;
}

static int
end (void **state)
{
  (void) state;
  dup2 (told[1], 2);
  close (told[0]);
  close (told[1]);
  unlink (path);
  return rmdir (folder);
}

/* How many lines say why. */
static unsigned
lines_told (const char *why)
{
  ssize_t length = pread (told[0], said, sizeof said - 1, 0);
  unsigned lines = 0;

  assert_true (length >= 0);
  said[length] = '\0';
  for (char *at = said; (at = strstr (at, why)); at++)
    lines++;
  return lines;
}

static void
assert_file (const char *text)
{
  char all[100] = "";
  int fd = open (path, O_RDONLY);

  assert_true (fd >= 0);
  assert_true (read (fd, all, sizeof all - 1) >= 0);
  assert_string_equal (all, text);
  close (fd);
}

static void
test_appends (void **state)
{
  struct stat status;

  (void) state;
  for (int i = 0; i < 2; i++) {
    struct frame_log *log = frame_log_create (path);

    frame_log_add (log, "one.", 4);
    frame_log_add (log, "two.", 4);
    frame_log_destroy (log);
  }
  assert_file ("one.two.one.two.");
  assert_int_equal (stat (path, &status), 0);
  assert_int_equal (status.st_mode & 0777, 0600);
  assert_int_equal (lines_told ("\n"), 0);
}

static void
test_no_log (void **state)
{
  (void) state;
  assert_null (frame_log_create (""));
  assert_null (frame_log_create (NULL));
  frame_log_add (NULL, "one.", 4);
  frame_log_destroy (NULL);
}

/* A frame that finds no room leaves no half of it behind; those that do are there. */
static void
test_no_room (void **state)
{
  struct frame_log *log = frame_log_create (path);
  struct rlimit limit;

  (void) state;
  signal (SIGXFSZ, SIG_IGN);
  assert_int_equal (getrlimit (RLIMIT_FSIZE, &limit), 0);
  frame_log_add (log, "one.", 4);
  assert_int_equal (setrlimit (RLIMIT_FSIZE, &(struct rlimit){ 2000, limit.rlim_max }), 0);
  for (int i = 0; i < 5; i++) {
    static const char large[1998];
    frame_log_add (log, large, sizeof large);
  }
  assert_int_equal (setrlimit (RLIMIT_FSIZE, &limit), 0);
  frame_log_add (log, "two.", 4);
  frame_log_destroy (log);
  assert_file ("one.two.");
  assert_int_equal (lines_told ("frames are missing"), 1);
}

static void
check_none (const char *where, const char *why)
{
  struct frame_log *log = frame_log_create (where);

  assert_non_null (log);
  for (int i = 0; i < 5; i++)
    frame_log_add (log, "one.", 4);
  frame_log_destroy (log);
  assert_int_equal (lines_told (where), 1);
  assert_int_equal (lines_told (why), 1);
}

static void
test_no_file_possible (void **state)
{
  (void) state;
  check_none ("/nowhere/log", "No such file");
  check_none (folder, "Is a directory");
  check_none ("/dev/null", "not a regular file;");
  assert_int_equal (mkfifo (path, 0600), 0);
  check_none (path, "No such device"); /* a pipe that nobody reads does not stop it */
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_appends, begin, end),
    cmocka_unit_test (test_no_log),
    cmocka_unit_test_setup_teardown (test_no_room, begin, end),
    cmocka_unit_test_setup_teardown (test_no_file_possible, begin, end),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
