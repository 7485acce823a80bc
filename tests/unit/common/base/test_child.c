/* Programs as child processes. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "synop/child.h"
#include "synop/file.h"

static int
ended (struct child *child)
{
  int status = -2;

  for (int i = 0; i < 4000 && !child_reap (child, &status); i++)
    poll (NULL, 0, 5);
  return status;
}

static int
shell (const char *script, struct child_program program, const char *told, char *answer, size_t size)
{
  const char *words[] = { "sh", "-c", script, NULL };
  struct child child;
  size_t length = 0;
  ssize_t got;

  program.words = words;
  assert_int_equal (child_start (&child, &program), 0);
  if (told) {
    assert_int_equal (send (child.in, told, strlen (told), MSG_NOSIGNAL), strlen (told));
    file_close (&child.in);
    assert_int_equal (child.in, -1);
  }
  fcntl (child.out, F_SETFL, 0);
  while (length < size - 1 && (got = read (child.out, answer + length, size - 1 - length)) > 0)
    length += (size_t) got;
  answer[length] = '\0';
  return ended (&child);
}

static void
test_talk (void **state)
{
  char answer[256], *environment[] = { (char *) "WORD=plain", NULL };
  int file = open ("/proc/self/comm", O_RDONLY | O_CLOEXEC), status;

  (void) state;
  assert_int_equal (shell ("cat", (struct child_program){ .listens = true }, "hello", answer, sizeof answer), 0);
  assert_string_equal (answer, "hello");
  assert_int_equal (shell ("cat; exit 3", (struct child_program){ 0 }, NULL, answer, sizeof answer), 3 << 8);
  assert_string_equal (answer, "");
  shell ("echo $WORD", (struct child_program){ .environment = environment }, NULL, answer, sizeof answer);
  assert_string_equal (answer, "plain\n");
  status = shell ("cat <&3", (struct child_program){ .extra = file }, NULL, answer, sizeof answer);
  assert_int_equal (status, 0);
  assert_string_equal (answer, "test_child\n");
  assert_int_equal (dup2 (file, 30), 30); /* not ours to have */
  shell ("exec ls /proc/self/fd", (struct child_program){ 0 }, NULL, answer, sizeof answer);
  assert_string_equal (answer, "0\n1\n2\n3\n"); /* the last is the folder */
  close (30);
  close (file);
}

static void
test_cannot (void **state)
{
  const char *words[] = { "synop-there-is-none", NULL };
  struct child child;

  (void) state;
  assert_int_equal (child_start (&child, &(struct child_program){ .words = words }), 0);
  assert_int_equal (ended (&child), CHILD_ABSENT << 8);
  assert_int_equal (child.out, -1);
  assert_int_equal (child_start (&child, &(struct child_program){ .words = words, .path = "/proc/self/comm" }), 0);
  assert_int_equal (ended (&child), CHILD_CANNOT << 8);
}

/* With what it has started. */
static void
test_kill (void **state)
{
  const char *words[] = { "sh", "-c", "sleep 1217 & echo; wait", NULL };
  struct child child;
  char byte;

  (void) state;
  assert_int_equal (child_start (&child, &(struct child_program){ .words = words }), 0);
  fcntl (child.out, F_SETFL, 0);
  assert_int_equal (read (child.out, &byte, 1), 1);
  child_kill (&child);
  assert_int_equal (read (child.out, &byte, 1), 0); /* nobody has it any more */
  assert_int_equal (ended (&child), SIGKILL);
  assert_int_equal (child.pid, 0);
  child_kill (&child);
}

static int forks;

static void
count_fork (void)
{
  forks++;
}

/* Its threads would wait while the tables of its memory are copied. */
static void
test_starter_is_not_copied (void **state)
{
  char answer[16];
  sigset_t before, after;

  (void) state;
#ifdef SANITIZED
  skip (); /* TSan forks in place of vfork */
#endif
  pthread_atfork (count_fork, NULL, NULL);
  sigemptyset (&before);
  sigaddset (&before, SIGUSR1);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  assert_int_equal (shell ("echo fine", (struct child_program){ 0 }, NULL, answer, sizeof answer), 0);
  assert_string_equal (answer, "fine\n");
  assert_int_equal (forks, 0);
  pthread_sigmask (SIG_SETMASK, NULL, &after);
  for (int number = 1; number < SIGRTMIN; number++)
    assert_int_equal (sigismember (&after, number), sigismember (&before, number));
  sigdelset (&before, SIGUSR1);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_talk),
    cmocka_unit_test (test_cannot),
    cmocka_unit_test (test_kill),
    cmocka_unit_test (test_starter_is_not_copied),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
