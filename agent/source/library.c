/* Trying to load a foreign library; see library.h.
 *
 * A truncated file (an upgrade under way, a full disk) is a SIGBUS in dlopen, which writes to its end; a file on a dead
 * file server or a FIFO makes dlopen wait for ever, and the library's own code that runs in it may do anything. So a
 * child loads it first, and the agent only when the child succeeded. Comparing the file's headers with its size would
 * cost less, but would miss the library's code and the libraries that it needs, and would have to find a bare name as
 * the loader does.
 *
 * The child runs on after fork without exec, in a program with threads. glibc keeps malloc usable for that; if another
 * thread is in a dlopen of its own at that moment, the child may hang, which is reported as such and tried again after
 * a pause.
 *
 * The agent polls for its end, since a descriptor of a process needs a newer kernel than those that we run on. */
#include "agent/source/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "synop/clock.h"

#define LIMIT_S 5
#define CAME_THROUGH 77 /* exit code of success, which no library would use */
#define FILES_MAX 65536 /* the resource limit may be thousands of millions */
#define FIRST_LOOK (NS_PER_MS / 4)
#define LAST_LOOK (32 * NS_PER_MS)

/* ---- in the child ---- */

/* Closes all files: the child would keep the agent's file locks. Linux before 5.9 closes one at a time. */
static void
files_close (void)
{
  long end = sysconf (_SC_OPEN_MAX);

  if (syscall (SYS_close_range, 3u, UINT32_MAX, 0) == 0)
    return;
  for (int fd = 3; fd < FILES_MAX && fd < end; fd++)
    close (fd);
}

/* Gives up the agent's files and connections, silences all output, and ties the child's life to the thread that
 * waits for it. */
static void
child_withdraw (pid_t parent)
{
  static const int crashes[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
  const struct rlimit none = { 0 };
  int null;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (0);
  setrlimit (RLIMIT_CORE, &none); /* a core would contain the agent's secrets */
  for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
    signal (crashes[i], SIG_DFL); /* sanitizers install handlers */
  files_close ();
  null = open ("/dev/null", O_RDWR);
  for (int fd = 0; null >= 0 && fd < 3; fd++)
    dup2 (null, fd);
}

/* Only tests that dlopen returns: whether it succeeds the agent finds out itself. */
static _Noreturn void
child_try (const char *name, pid_t parent)
{
  child_withdraw (parent);
  dlopen (name, RTLD_NOW | RTLD_LOCAL);
  _exit (CAME_THROUGH);
}

/* ---- in the agent ---- */

/* False: it did not end within the limit and was killed. A child that cannot be killed (it hangs in the kernel) is
 * waited for: another try would leave one more behind. */
static bool
child_ends (pid_t pid, int *status)
{
  int64_t end_ns = clock_monotonic () + LIMIT_S * NS_PER_S, pause_ns = FIRST_LOOK;

  while (waitpid (pid, status, WNOHANG) == 0) {
    struct timespec pause = { .tv_nsec = (long) pause_ns };

    if (clock_monotonic () > end_ns) {
      kill (pid, SIGKILL);
      while (waitpid (pid, status, 0) < 0 && errno == EINTR)
        continue;
      return false;
    }
    nanosleep (&pause, NULL);
    pause_ns = pause_ns < LAST_LOOK ? 2 * pause_ns : LAST_LOOK;
  }
  return true;
}

int
library_try (const char *name, struct error *error)
{
  pid_t parent = getpid (), pid = fork ();
  int status = 0;

  if (pid == 0)
    child_try (name, parent);
  if (pid < 0)
    return error_set (error, "%s is not loaded: no process to try it in: %s", name, strerror (errno));
  if (!child_ends (pid, &status))
    return error_set (error, "loading %s takes more than %d s", name, LIMIT_S);
  if (WIFSIGNALED (status))
    return error_set (error, "loading %s crashes (%s): is it whole?", name, strsignal (WTERMSIG (status)));
  if (WEXITSTATUS (status) != CAME_THROUGH)
    return error_set (error, "loading %s ends the program (exit code %d)", name, WEXITSTATUS (status));
  return 0;
}
