/* See run_watch.h. Signals of the terminal reach the child by itself, being of the same group; those that somebody sends to
 * this process are passed on. When this process is killed, so is the child. */
#include "agent/run_watch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/command.h"
#include "agent/job/run_end.h"

/* Those of a fault of our own, and of job control, do what they always do. */
static void
choose_signals (sigset_t *passed)
{
  static const int left[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGTSTP, SIGTTIN, SIGTTOU };

  sigfillset (passed);
  for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
    sigdelset (passed, left[i]);
}

/* Its status once it has ended. */
static int
wait_for (pid_t child, const sigset_t *passed)
{
  siginfo_t info;
  int status;

  for (;;) {
    int number = sigwaitinfo (passed, &info);
    if (number > 0 && number != SIGCHLD && info.si_code <= 0)
      kill (child, number);
    if (number == SIGCHLD && waitpid (child, &status, WNOHANG) == child)
      return status;
  }
}

static int
end_as (int status)
{
  const struct rlimit none = { 0, 0 };
  sigset_t all;

  if (!WIFSIGNALED (status))
    return WEXITSTATUS (status);
  setrlimit (RLIMIT_CORE, &none); /* the child has left its own */
  signal (WTERMSIG (status), SIG_DFL);
  sigemptyset (&all);
  sigprocmask (SIG_SETMASK, &all, NULL);
  kill (getpid (), WTERMSIG (status));
  return 128 + WTERMSIG (status);
}

int
run_watch (int fd, const char *job, char **command, int (*become) (const char *job, char **command))
{
  const struct sigaction usual = { .sa_handler = SIG_DFL };
  struct sigaction before;
  sigset_t passed, mask;
  pid_t self = getpid (), child;
  struct error error;
  int status;

  choose_signals (&passed);
  sigprocmask (SIG_BLOCK, &passed, &mask);
  sigaction (SIGCHLD, &usual, &before); /* who started us may ignore it: then no status would come */
  child = fork ();
  if (child < 0) {
    error_set (&error, "run: %s", strerror (errno));
    return command_fail (EXIT_FAILED, &error);
  }
  if (child == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    sigaction (SIGCHLD, &before, NULL);
    sigprocmask (SIG_SETMASK, &mask, NULL);
    _exit (getppid () == self ? become (job, command) : EXIT_FAILED);
  }
  status = wait_for (child, &passed);
  run_end_send (fd, job, WIFSIGNALED (status) ? 128u + (unsigned) WTERMSIG (status) : (unsigned) WEXITSTATUS (status));
  return end_as (status);
}
