/* Starts and ends neuron-monitor; see neuron_child.h. */
#include "agent/neuron/neuron_child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/memory.h"

#define ARGUMENTS_MAX 64
#define CONFIGURATION_FD 3
#define CONFIGURATION_PATH "/proc/self/fd/3"
#define PACKAGE_FOLDER "/opt/aws/neuron/bin"

/* Splits the command in `copy`, which the arguments point into. -1: too many arguments, or none. */
static int
arguments_make (char *copy, bool configured, const char *arguments[ARGUMENTS_MAX + 3])
{
  char *rest = NULL;
  int count = 0;

  for (char *argument = strtok_r (copy, " \t", &rest); argument; argument = strtok_r (NULL, " \t", &rest)) {
    if (count == ARGUMENTS_MAX)
      return -1;
    arguments[count++] = argument;
  }
  if (count == 0)
    return -1;
  if (configured) {
    arguments[count++] = "-c";
    arguments[count++] = CONFIGURATION_PATH;
  }
  arguments[count] = NULL;
  return 0;
}

static int
configuration_open (const char *text)
{
  int fd = memfd_create ("neuron-monitor.conf", MFD_CLOEXEC);
  size_t length = strlen (text);

  if (fd >= 0 && write (fd, text, length) != (ssize_t) length)
    file_close (&fd);
  return fd;
}

int
neuron_child_start (struct neuron_child *child, const char *command, const char *configuration, struct error *error)
{
  const char *arguments[ARGUMENTS_MAX + 3];
  char *copy = memory_string (command), path[512];
  struct child_program program = { .words = arguments };
  int rc = -1;

  *child = (struct neuron_child){ .pidfd = -1, .child = { .in = -1, .out = -1, .err = -1 } };
  if (arguments_make (copy, configuration != NULL, arguments) < 0) {
    error_set (error, "\"%.100s\" is no command", command);
    goto end;
  }
  if (neuron_program_find (arguments[0], path, sizeof path))
    program.path = path;
  if ((configuration && (program.extra = configuration_open (configuration)) < 0) ||
      child_start (&child->child, &program) < 0) {
    error_set (error, "%s: %s", arguments[0], strerror (errno));
    goto end;
  }
  child->pidfd = (int) syscall (SYS_pidfd_open, child->child.pid, 0);
  rc = 0;
end:
  if (program.extra > 0)
    close (program.extra);
  free (copy);
  return rc;
}

bool
neuron_child_reap (struct neuron_child *child, char *end, size_t size)
{
  int status;

  if (!child_reap (&child->child, &status))
    return false;
  if (status < 0)
    snprintf (end, size, "is gone");
  else if (WIFSIGNALED (status))
    snprintf (end, size, "was ended by signal %d", WTERMSIG (status));
  else if (WEXITSTATUS (status) == CHILD_ABSENT)
    snprintf (end, size, "there is no such program");
  else
    snprintf (end, size, "ended with exit code %d", WEXITSTATUS (status));
  file_close (&child->pidfd);
  return true;
}

/* The agent has that name where it is in neuron-monitor's place, and is no source for itself. */
static bool
is_own_program (const char *path)
{
  struct stat status, own;

  return stat (path, &status) == 0 && stat ("/proc/self/exe", &own) == 0 && status.st_dev == own.st_dev &&
         status.st_ino == own.st_ino;
}

static bool
folder_has (const char *folder, size_t length, const char *name, char *path, size_t size)
{
  int made = snprintf (path, size, "%.*s/%s", (int) length, folder, name);

  return length > 0 && made > 0 && (size_t) made < size && access (path, X_OK) == 0 && !is_own_program (path);
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
