/* Trying a library of others; see library.h.
 *
 * A file that is cut off (an upgrade under way, a full disk) is a SIGBUS amid dlopen, which writes to its end; one on a
 * file server that is dead or a FIFO makes dlopen wait for ever, and a library's own code that runs there may do
 * anything. So a child tries first, and the agent does the same only when the child came through. To compare the file's
 * headers with its size would cost less, but knows nothing of what the library's code does and of the other libraries
 * that it needs, and would have to find a bare name as the loader does.
 *
 * The child runs on after fork without exec, in a program with threads. glibc keeps malloc fit for that; should another
 * thread be amid a dlopen of its own just then, the child may hang, which is told as such and tried again a pause later.
 *
 * It is waited for by looking, since a descriptor of a process needs a newer kernel than those that we run on. */
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
#define CAME_THROUGH 77 /* no code that a library would exit with */
#define FILES_MAX 65536 /* the limit may be thousands of millions */
#define FIRST_LOOK (NS_PER_MS / 4)
#define LAST_LOOK (32 * NS_PER_MS)

/* ---- in the child ---- */

/* A lock on a file of ours is held as long as the child has it. Linux before 5.9 closes one at a time. */
static void
files_close (void)
{
  long end = sysconf (_SC_OPEN_MAX);

  if (syscall (SYS_close_range, 3u, UINT32_MAX, 0) == 0)
    return;
  for (int fd = 3; fd < FILES_MAX && fd < end; fd++)
    close (fd);
}

/* It has none of our files and connections, is as silent as it can be, and ends with the thread that waits for it. */
static void
child_withdraw (pid_t parent)
{
  static const int crashes[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
  const struct rlimit none = { 0 };
  int null;

  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (0);
  setrlimit (RLIMIT_CORE, &none); /* it would hold our secrets */
  for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
    signal (crashes[i], SIG_DFL); /* a sanitizer has its own */
  files_close ();
  null = open ("/dev/null", O_RDWR);
  for (int fd = 0; null >= 0 && fd < 3; fd++)
    dup2 (null, fd);
}

/* Whether it can be loaded the agent finds out itself: that dlopen returns is all that it must know before. */
static _Noreturn void
child_try (const char *name, pid_t parent)
{
  child_withdraw (parent);
  dlopen (name, RTLD_NOW | RTLD_LOCAL);
  _exit (CAME_THROUGH);
}

/* ---- in the agent ---- */

/* False: it did not end within the limit and was killed. One that cannot be killed (it hangs in the kernel) is waited
 * for: to try again would leave one more behind. */
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
