/* Starts and ends neuron-monitor; see neuron_child.h.
 *
 * Between fork and exec stand only calls that are allowed in the child of a program with threads. The child is a process
 * group of its own, so that what it starts is killed with it: all but what leaves the group by itself. It has none of our
 * capabilities: what it is for needs none. */
#include "agent/neuron/neuron_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/memory.h"

#define WORDS_MAX 64
#define CONFIGURATION_FD 3
#define CONFIGURATION_PATH "/proc/self/fd/3"
#define PACKAGE_FOLDER "/opt/aws/neuron/bin"
enum { EXIT_CANNOT = 126, EXIT_ABSENT = 127 };

static void
fd_close (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

/* The words of the command, in `copy`, which they point into. -1: there are too many, or none. */
static int
words_make (char *copy, bool configured, const char *words[WORDS_MAX + 3])
{
  char *rest = NULL;
  int count = 0;

  for (char *word = strtok_r (copy, " \t", &rest); word; word = strtok_r (NULL, " \t", &rest)) {
    if (count == WORDS_MAX)
      return -1;
    words[count++] = word;
  }
  if (count == 0)
    return -1;
  if (configured) {
    words[count++] = "-c";
    words[count++] = CONFIGURATION_PATH;
  }
  words[count] = NULL;
  return 0;
}

static int
configuration_open (const char *text)
{
  int fd = memfd_create ("neuron-monitor.conf", MFD_CLOEXEC);
  size_t length = strlen (text);

  if (fd >= 0 && write (fd, text, length) != (ssize_t) length)
    fd_close (&fd);
  return fd;
}

/* In the child. The descriptors may be any but 0 to 3 (see child_fd_raise). */
static _Noreturn void
child_become (const char *const *words, const char *path, int out, int err, int configuration, pid_t parent)
{
  int null = open ("/dev/null", O_RDONLY);
  sigset_t none;

  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (EXIT_CANNOT);
  prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  signal (SIGPIPE, SIG_DFL);
  signal (SIGXFSZ, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  if (dup2 (null, 0) < 0 || dup2 (out, 1) < 0 || dup2 (err, 2) < 0 ||
      (configuration >= 0 && dup2 (configuration, CONFIGURATION_FD) < 0))
    _exit (EXIT_CANNOT);
  syscall (SYS_close_range, configuration >= 0 ? 4u : 3u, UINT32_MAX, 0);
  execvp (path, (char *const *) (uintptr_t) words);
  _exit (errno == ENOENT ? EXIT_ABSENT : EXIT_CANNOT);
}

/* A copy above what the child dups onto. */
static int
fd_raise (int fd)
{
  int high = fcntl (fd, F_DUPFD_CLOEXEC, 10);

  close (fd);
  return high;
}

static int
pipes_open (int out[2], int err[2])
{
  if (pipe2 (out, O_CLOEXEC) < 0)
    return -1;
  if (pipe2 (err, O_CLOEXEC) < 0) {
    close (out[0]);
    close (out[1]);
    return -1;
  }
  out[1] = fd_raise (out[1]);
  err[1] = fd_raise (err[1]);
  fcntl (out[0], F_SETFL, O_NONBLOCK);
  fcntl (err[0], F_SETFL, O_NONBLOCK);
  return 0;
}

int
neuron_child_start (struct neuron_child *child, const char *command, const char *configuration, struct error *error)
{
  const char *words[WORDS_MAX + 3];
  char *copy = memory_string (command), path[512];
  int out[2] = { -1, -1 }, err[2] = { -1, -1 }, conf = -1, rc = -1;
  pid_t parent = getpid ();

  *child = (struct neuron_child){ .pidfd = -1, .out = -1, .err = -1 };
  if (words_make (copy, configuration != NULL, words) < 0) {
    error_set (error, "\"%.100s\" is no command", command);
    goto end;
  }
  if (!neuron_program_find (words[0], path, sizeof path))
    snprintf (path, sizeof path, "%s", words[0]);
  if (pipes_open (out, err) < 0 || (configuration && (conf = configuration_open (configuration)) < 0)) {
    error_set (error, "%s: %s", words[0], strerror (errno));
    goto end;
  }
  if (conf >= 0)
    conf = fd_raise (conf);
  child->pid = fork ();
  if (child->pid == 0)
    child_become (words, path, out[1], err[1], conf, parent);
  if (child->pid < 0) {
    child->pid = 0;
    error_set (error, "%s: %s", words[0], strerror (errno));
    goto end;
  }
  setpgid (child->pid, child->pid); /* whoever comes first */
  child->pidfd = (int) syscall (SYS_pidfd_open, child->pid, 0);
  child->out = out[0];
  child->err = err[0];
  out[0] = err[0] = -1;
  rc = 0;
end:
  fd_close (&conf);
  fd_close (&out[0]);
  fd_close (&out[1]);
  fd_close (&err[0]);
  fd_close (&err[1]);
  free (copy);
  return rc;
}

void
neuron_child_kill (struct neuron_child *child)
{
  if (child->pid <= 0)
    return;
  kill (-child->pid, SIGKILL);
  kill (child->pid, SIGKILL);
}

bool
neuron_child_reap (struct neuron_child *child, char *how, size_t size)
{
  int status;
  pid_t got = waitpid (child->pid, &status, WNOHANG);

  if (got == 0 || (got < 0 && errno == EINTR))
    return false;
  if (got < 0)
    snprintf (how, size, "is gone");
  else if (WIFSIGNALED (status))
    snprintf (how, size, "was ended by signal %d", WTERMSIG (status));
  else if (WEXITSTATUS (status) == EXIT_ABSENT)
    snprintf (how, size, "there is no such program");
  else
    snprintf (how, size, "ended with exit code %d", WEXITSTATUS (status));
  kill (-child->pid, SIGKILL); /* what it left behind */
  child->pid = 0;
  fd_close (&child->pidfd);
  fd_close (&child->out);
  fd_close (&child->err);
  return true;
}

static bool
folder_has (const char *folder, size_t length, const char *name, char *path, size_t size)
{
  int made = snprintf (path, size, "%.*s/%s", (int) length, folder, name);

  return length > 0 && made > 0 && (size_t) made < size && access (path, X_OK) == 0;
}

bool
neuron_program_find (const char *name, char *path, size_t size)
{
  const char *folder = getenv ("PATH");

  if (strchr (name, '/')) {
    snprintf (path, size, "%s", name);
    return access (name, X_OK) == 0;
  }
  while (folder && *folder) {
    size_t length = strcspn (folder, ":");

    if (folder_has (folder, length, name, path, size))
      return true;
    folder += length + (folder[length] == ':');
  }
  return folder_has (PACKAGE_FOLDER, strlen (PACKAGE_FOLDER), name, path, size);
}
