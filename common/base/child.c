/* See child.h. A fork copies the tables of all of the program's memory, and each of its threads waits for that and faults
 * afterwards; vfork halts the calling thread alone, until exec. Until then the child has our memory: it makes system calls
 * only, and no handler of a signal may run in it. */
#include "synop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/file.h"

#define EXTRA_FD 3
#define ABOVE 10 /* what the child dups onto */

/* The calls themselves: those of the C library also change other threads, which are not in this process. */
int
child_become_user (const struct child_user *user)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct none[2] = { 0 };

  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return -1;
  if (user->uid != geteuid () && (syscall (SYS_setgroups, user->group_count, user->groups) < 0 ||
                                  syscall (SYS_setresgid, user->gid, user->gid, user->gid) < 0 ||
                                  syscall (SYS_setresuid, user->uid, user->uid, user->uid) < 0))
    return -1;
  return user->uid == 0 ? 0 : (int) syscall (SYS_capset, &header, none);
}

/* In the child: all signals are blocked. The descriptors are ABOVE. */
static _Noreturn void
child_become (const struct child_program *program, const int ends[3], pid_t parent)
{
  sigset_t none;

  setpgid (0, 0);
  if (program->user && child_become_user (program->user) < 0)
    _exit (CHILD_FORBIDDEN);
  prctl (PR_SET_PDEATHSIG, SIGKILL); /* a change of the user has cleared it */
  if (getppid () != parent)
    _exit (CHILD_CANNOT);
  prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  signal (SIGPIPE, SIG_DFL);
  signal (SIGXFSZ, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  for (int i = 0; i < 3; i++)
    if (dup2 (ends[i], i) < 0)
      _exit (CHILD_CANNOT);
  if (program->output &&
      dup2 (open (program->output, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644), STDOUT_FILENO) < 0)
    _exit (CHILD_CANNOT);
  if (program->extra > 0 && dup2 (program->extra, EXTRA_FD) < 0)
    _exit (CHILD_CANNOT);
  syscall (SYS_close_range, program->extra > 0 ? EXTRA_FD + 1u : EXTRA_FD + 0u, UINT32_MAX, 0);
  execvpe (program->path ? program->path : program->words[0], (char *const *) (uintptr_t) program->words,
           program->environment ? program->environment : environ);
  _exit (errno == ENOENT ? CHILD_ABSENT : CHILD_CANNOT);
}

/* Moves it above what the child dups onto. */
static int
fd_raise (int *fd)
{
  int high = *fd < 0 ? -1 : fcntl (*fd, F_DUPFD_CLOEXEC, ABOVE);

  file_close (fd);
  *fd = high;
  return high < 0 ? -1 : 0;
}

/* The child's ends, and ours. */
static int
ends_open (struct child *child, const struct child_program *program, int ends[3])
{
  int in[2] = { -1, open ("/dev/null", O_RDONLY | O_CLOEXEC) }, out[2] = { -1, -1 }, err[2] = { -1, -1 };

  if (program->listens) {
    file_close (&in[1]);
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0)
      return -1;
  }
  child->in = in[0];
  ends[0] = in[1];
  if (pipe2 (out, O_CLOEXEC) < 0)
    return -1;
  child->out = out[0];
  ends[1] = out[1];
  fcntl (child->out, F_SETFL, O_NONBLOCK);
  if (program->shares_error)
    err[1] = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, ABOVE);
  else if (pipe2 (err, O_CLOEXEC) == 0)
    fcntl (err[0], F_SETFL, O_NONBLOCK);
  child->err = err[0];
  ends[2] = err[1];
  if (err[1] < 0)
    return -1;
  return fd_raise (&ends[0]) < 0 || fd_raise (&ends[1]) < 0 || fd_raise (&ends[2]) < 0 ? -1 : 0;
}

static void
ends_close (struct child *child)
{
  file_close (&child->in);
  file_close (&child->out);
  file_close (&child->err);
}

static pid_t
child_launch (const struct child_program *program, const int ends[3])
{
  pid_t parent = getpid (), pid;
  sigset_t all, before;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  pid = program->user ? fork () : vfork (); /* file systems of users may hang, and the caller would with them */
  if (pid == 0)
    child_become (program, ends, parent);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return pid;
}

int
child_start (struct child *child, const struct child_program *program)
{
  struct child_program raised = *program;
  int ends[3] = { -1, -1, -1 }, failed = 0;

  *child = (struct child){ .in = -1, .out = -1, .err = -1 };
  raised.extra = program->extra > 0 ? fcntl (program->extra, F_DUPFD_CLOEXEC, ABOVE) : 0;
  if (raised.extra < 0 || ends_open (child, program, ends) < 0)
    failed = errno;
  else if ((child->pid = child_launch (&raised, ends)) < 0)
    failed = errno;
  else
    setpgid (child->pid, child->pid); /* here and in the child, since either may run first */
  for (int i = 0; i < 3; i++)
    file_close (&ends[i]);
  if (raised.extra > 0)
    close (raised.extra);
  if (!failed)
    return 0;
  child->pid = 0;
  ends_close (child);
  errno = failed;
  return -1;
}

void
child_kill (struct child *child)
{
  if (child->pid <= 0)
    return;
  kill (-child->pid, SIGKILL);
  kill (child->pid, SIGKILL);
}

bool
child_reap (struct child *child, int *status)
{
  pid_t got = waitpid (child->pid, status, WNOHANG);

  if (got == 0 || (got < 0 && errno == EINTR))
    return false;
  if (got < 0)
    *status = -1;
  kill (-child->pid, SIGKILL);
  child->pid = 0;
  ends_close (child);
  return true;
}
