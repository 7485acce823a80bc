/* The log: nobody who reads it slowly, or not at all, stops the program, and every line that is missing is counted.
 * Each test is a child of its own, whose standard error is the pipe or the terminal under test; an alarm ends the one
 * that waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/log.h"

#define LIMIT_SECONDS 60
#define LINES 100000
#define THREADS 4
#define THREAD_LINES 10000

/* What has been read: whole lines, and of how many it was told that they are missing. */
struct seen {
  unsigned long long lines, dropped;
  char last[2048];
};

static void
see (struct seen *seen, const char *line)
{
  const char *note = strstr (line, "warning: ");
  unsigned long long count;
  int end = 0;

  if (note && sscanf (note, "warning: %llu lines of this log were dropped%n", &count, &end) == 1 && end)
    seen->dropped += count;
  else
    seen->lines++;
  snprintf (seen->last, sizeof seen->last, "%s", line);
}

/* All that is there until it is empty, or until its end. */
static struct seen
read_all (int fd)
{
  struct seen seen = { 0 };
  char line[2048];
  size_t length = 0;
  ssize_t got;

  while ((got = read (fd, line + length, 1)) > 0)
    if (line[length] == '\n' || length + 2 == sizeof line) {
      line[length] = 0;
      see (&seen, line);
      length = 0;
    } else {
      length++;
    }
  return seen;
}

/* Runs `body` in a child; its exit code, or -1 when it was killed. */
static int
child (int (*body) (void))
{
  int status;
  pid_t pid = fork ();

  assert_true (pid >= 0);
  if (pid == 0) {
    alarm (LIMIT_SECONDS);
    _exit (body ());
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
log_many (int count)
{
  for (int i = 0; i < count; i++)
    log_info ("line %d", i);
}

/* Fills it to the brim; what it holds are the "lines" of the one that filled it. */
static unsigned long long
fill (int fd)
{
  unsigned long long count = 0;

  fcntl (fd, F_SETFL, O_NONBLOCK);
  while (write (fd, "full\n", 5) == 5)
    count++;
  fcntl (fd, F_SETFL, 0);
  return count;
}

static int
full_pipe (void)
{
  int ends[2];
  unsigned long long before;
  struct seen seen;

  if (pipe (ends) < 0)
    return 10;
  before = fill (ends[1]);
  fcntl (ends[0], F_SETFL, O_NONBLOCK);
  dup2 (ends[1], STDERR_FILENO);
  errno = 4711;
  log_many (LINES);
  if (errno != 4711)
    return 11;
  seen = read_all (ends[0]);
  if (seen.dropped != 0 || seen.lines != before)
    return 12;
  log_warning ("room again");
  seen = read_all (ends[0]);
  if (seen.dropped != LINES || seen.lines != 1 || !strstr (seen.last, "warning: room again"))
    return 13;
  log_warning ("and on"); /* told once */
  seen = read_all (ends[0]);
  return seen.dropped == 0 && seen.lines == 1 ? 0 : 14;
}

static void
test_full_pipe (void **state)
{
  (void) state;
  assert_int_equal (child (full_pipe), 0);
}

/* A terminal that nobody shows: it is full at any byte, also amid a line. */
static int
full_terminal (void)
{
  int master = posix_openpt (O_RDWR | O_NOCTTY);
  int terminal;

  if (master < 0 || grantpt (master) < 0 || unlockpt (master) < 0)
    return 10;
  terminal = open (ptsname (master), O_RDWR | O_NOCTTY);
  if (terminal < 0)
    return 11;
  dup2 (terminal, STDERR_FILENO);
  log_many (LINES);
  return fcntl (terminal, F_GETFL) & O_NONBLOCK ? 12 : 0;
}

static void
test_full_terminal (void **state)
{
  (void) state;
  assert_int_equal (child (full_terminal), 0);
}

static void *
log_thread (void *context)
{
  log_many (THREAD_LINES);
  return context;
}

static void *
read_thread (void *fd)
{
  struct seen *seen = malloc (sizeof *seen);

  if (seen)
    *seen = read_all (*(int *) fd);
  return seen;
}

/* Many write, one reads more slowly than they write: each line comes or is counted. */
static int
many_threads (void)
{
  pthread_t threads[THREADS], reader;
  int ends[2], more[2];
  void *result;
  struct seen seen, rest;

  if (pipe (ends) < 0 || pthread_create (&reader, NULL, read_thread, &ends[0]) != 0)
    return 10;
  dup2 (ends[1], STDERR_FILENO);
  close (ends[1]);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create (&threads[i], NULL, log_thread, NULL) != 0)
      return 11;
  for (int i = 0; i < THREADS; i++)
    pthread_join (threads[i], NULL);

  /* What was dropped last is told in another pipe. */
  if (pipe (more) < 0 || dup2 (more[1], STDERR_FILENO) < 0)
    return 12;
  close (more[1]);
  pthread_join (reader, &result);
  if (!result)
    return 13;
  seen = *(struct seen *) result;
  free (result);
  log_info ("the last");
  close (STDERR_FILENO);
  rest = read_all (more[0]);
  return seen.lines + seen.dropped + rest.dropped == (unsigned long long) THREADS * THREAD_LINES && rest.lines == 1
             ? 0
             : 14;
}

static void
test_many_threads (void **state)
{
  (void) state;
  assert_int_equal (child (many_threads), 0);
}

/* A file takes all of them. */
static int
whole_file (void)
{
  FILE *file = tmpfile ();
  struct seen seen;

  if (!file)
    return 10;
  dup2 (fileno (file), STDERR_FILENO);
  for (int i = 0; i < 1000; i++)
    log_info ("line %d\nof one\x7f \xc2\x9b\xe2\x80\xae\xd8\x9c\x9b \xc3\xa4", i);
  rewind (file);
  seen = read_all (fileno (file));
  return seen.lines == 1000 && seen.dropped == 0 && strstr (seen.last, "info: line 999?of one? ???? \xc3\xa4") ? 0 : 11;
}

static void
test_whole_file (void **state)
{
  (void) state;
  assert_int_equal (child (whole_file), 0);
}

/* The journal's stream gets priorities instead of time and level, and only that stream. */
static int
journal (void)
{
  char variable[64], text[256] = "";
  int ends[2];
  struct stat status;

  if (pipe (ends) < 0 || dup2 (ends[1], STDERR_FILENO) < 0 || fstat (STDERR_FILENO, &status) < 0)
    return 10;
  snprintf (variable, sizeof variable, "%ju:%ju", (uintmax_t) status.st_dev, (uintmax_t) status.st_ino);
  setenv ("JOURNAL_STREAM", variable, 1);
  log_set_level (LOG_LEVEL_DEBUG);
  log_error ("one");
  log_warning ("two");
  log_info ("three");
  log_debug ("four");
  if (read (ends[0], text, sizeof text - 1) <= 0 || strcmp (text, "<3>one\n<4>two\n<6>three\n<7>four\n") != 0)
    return 11;
  snprintf (variable, sizeof variable, "%ju:%ju", (uintmax_t) status.st_dev, (uintmax_t) status.st_ino + 1);
  setenv ("JOURNAL_STREAM", variable, 1);
  log_info ("elsewhere");
  memset (text, 0, sizeof text);
  return read (ends[0], text, sizeof text - 1) > 0 && strstr (text, "Z info: elsewhere\n") ? 0 : 12;
}

static void
test_journal (void **state)
{
  (void) state;
  assert_int_equal (child (journal), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_full_pipe),  cmocka_unit_test (test_full_terminal), cmocka_unit_test (test_many_threads),
    cmocka_unit_test (test_whole_file), cmocka_unit_test (test_journal),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
