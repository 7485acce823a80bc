/* See trace_watch.h. Behind fork stand only calls that are allowed in the child of a program with threads. */
#include "agent/traces/trace_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "synop/file.h"

#define OUT_FD 3
#define ROUND_MS 100
#define STILL_ROUNDS 10
#define FULL_BYTES 65536

struct watched {
  char root[32], folder[PATH_MAX], below[PATH_MAX], name[2][NAME_MAX + 1];
  bool forbidden; /* this program may not be that user: it looks as itself */
  int parent;
};

static _Noreturn void
leave (enum watch_event event, int error)
{
  struct watch_report report = { .event = event, .error = error };

  _exit (write (OUT_FD, &report, sizeof report) == sizeof report ? 0 : 1);
}

static void
say (enum watch_event event, int which, uint64_t size)
{
  struct watch_report report = { .event = event, .which = which, .size = size };

  if (write (OUT_FD, &report, sizeof report) != sizeof report)
    _exit (1);
}

/* Part by part, no link is followed: for kernels that have no openat2. */
static int
walk (int at, char *path)
{
  int fd = dup (at);

  for (char *part = path; fd >= 0 && *part;) {
    char *end = strchrnul (part, '/'), last = *end;
    int next;

    *end = 0;
    next = *part ? openat (fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : dup (fd);
    close (fd);
    fd = next;
    part = end + (last == '/');
  }
  return fd;
}

static int
open_folder (int at, char *path, uint64_t resolve)
{
  struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS };
  int fd = (int) syscall (SYS_openat2, at, path, &how, sizeof how);

  return fd < 0 && errno == ENOSYS ? walk (at, path) : fd;
}

/* The administrator's folder may have links in its path; below it, where users write, none is followed. */
static int
open_parent (struct watched *watched, const struct child_user *user)
{
  int root = open (watched->root, O_PATH | O_DIRECTORY | O_CLOEXEC), folder, parent;

  if (root < 0)
    root = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  folder = open_folder (root, watched->folder, RESOLVE_IN_ROOT);
  if (folder < 0)
    return -1;
  if (child_become_user (user) < 0) {
    if (errno != EPERM)
      return -1;
    watched->forbidden = true;
  }
  parent = open_folder (folder, watched->below, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  return parent;
}

static void
check_fresh (const struct watched *watched)
{
  struct stat status;

  for (int i = 0; i < 2; i++)
    if (watched->name[i][0] && fstatat (watched->parent, watched->name[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
      leave (WATCH_REFUSED, EEXIST);
}

static bool
is_full (const struct watched *watched)
{
  struct statvfs room;

  return fstatvfs (watched->parent, &room) == 0 && room.f_blocks != 0 &&
         (uint64_t) room.f_bavail * room.f_frsize < FULL_BYTES;
}

static _Noreturn void
watch_files (const struct watched *watched, uid_t uid)
{
  struct pollfd reader = { OUT_FD, 0, 0 };
  uint64_t sizes[2] = { 0, 0 };
  int still[2] = { 0, 0 };
  bool full = false;

  for (;;) {
    if (poll (&reader, 1, ROUND_MS) != 0) /* it has gone, perhaps without the right to end us */
      _exit (0);
    if (!full && is_full (watched)) {
      full = true;
      say (WATCH_FULL, 0, 0);
    }
    for (int i = 0; i < 2; i++) {
      struct stat status;

      if (!watched->name[i][0] || fstatat (watched->parent, watched->name[i], &status, AT_SYMLINK_NOFOLLOW) < 0 ||
          !S_ISREG (status.st_mode) || status.st_uid != uid || status.st_size == 0)
        continue;
      still[i] = (uint64_t) status.st_size == sizes[i] ? still[i] + 1 : 0;
      sizes[i] = (uint64_t) status.st_size;
      if (still[i] >= STILL_ROUNDS) {
        say (WATCH_DONE, i, sizes[i]);
        _exit (0);
      }
    }
  }
}

static _Noreturn void
child_run (struct watched *watched, const struct watch_options *options, int out, pid_t parent)
{
  sigset_t none;

  setpgid (0, 0);
  if (dup2 (out, OUT_FD) < 0)
    _exit (1);
  syscall (SYS_close_range, 0u, OUT_FD - 1u, 0);
  syscall (SYS_close_range, OUT_FD + 1u, UINT_MAX, 0);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  watched->parent = open_parent (watched, options->user);
  if (watched->parent < 0)
    leave (WATCH_REFUSED, errno);
  prctl (PR_SET_DUMPABLE, 0);        /* its memory is the agent's still, and not for its user */
  prctl (PR_SET_PDEATHSIG, SIGKILL); /* a change of the user has cleared it */
  if (getppid () != parent)
    _exit (1);
  if (!watched->forbidden && faccessat (watched->parent, ".", W_OK | X_OK, 0) < 0)
    leave (WATCH_REFUSED, errno);
  if (options->fresh)
    check_fresh (watched);
  say (WATCH_READY, 0, 0);
  watch_files (watched, options->user->uid);
}

/* What comes behind fork is copied before it. */
static int
prepare (struct watched *watched, const struct watch_options *options)
{
  const char *path = options->path[0], *last = strrchr (path, '/');
  size_t folder = (size_t) (last - path);

  *watched = (struct watched){ 0 };
  if (options->root)
    snprintf (watched->root, sizeof watched->root, "/proc/%d/root", (int) options->root);
  else
    strcpy (watched->root, "/");
  snprintf (watched->folder, sizeof watched->folder, "%.*s", (int) options->behind, path);
  if (folder > options->behind)
    snprintf (watched->below, sizeof watched->below, "%.*s", (int) (folder - options->behind), path + options->behind);
  else
    strcpy (watched->below, ".");
  for (int i = 0; i < 2; i++) {
    const char *name = options->path[i] ? strrchr (options->path[i], '/') + 1 : "";

    if (strlen (name) > NAME_MAX || (i == 0 && !*name)) {
      errno = ENAMETOOLONG;
      return -1;
    }
    /* Kineto's own process id may come into a folder's name, which nobody wants. */
    if (i == 0 || (options->path[1] && strncmp (options->path[1], path, folder + 1) == 0))
      strcpy (watched->name[i], name);
  }
  return 0;
}

int
trace_watch_start (struct trace_watch *watch, const struct watch_options *options)
{
  pid_t parent = getpid ();
  struct watched watched;
  int ends[2], failed;

  *watch = (struct trace_watch){ .fd = -1 };
  if (prepare (&watched, options) < 0 || pipe2 (ends, O_CLOEXEC) < 0)
    return -1;
  if (ends[1] <= OUT_FD) { /* dup2 onto itself would leave O_CLOEXEC, which does not matter; but ours may be 3 */
    int high = fcntl (ends[1], F_DUPFD_CLOEXEC, OUT_FD + 1);

    close (ends[1]);
    ends[1] = high;
  }
  watch->pid = fork ();
  if (watch->pid == 0)
    child_run (&watched, options, ends[1], parent);
  failed = errno;
  close (ends[1]);
  watch->fd = ends[0];
  fcntl (watch->fd, F_SETFL, O_NONBLOCK);
  if (watch->pid > 0)
    return 0;
  watch->pid = 0;
  file_close (&watch->fd);
  errno = failed;
  return -1;
}

bool
trace_watch_take (struct trace_watch *watch, struct watch_report *report)
{
  return watch->fd >= 0 && read (watch->fd, report, sizeof *report) == sizeof *report;
}

bool
trace_watch_has_ended (const struct trace_watch *watch)
{
  siginfo_t info = { 0 };

  return watch->pid == 0 || waitid (P_PID, (id_t) watch->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
         info.si_pid != 0;
}

void
trace_watch_stop (struct trace_watch *watch)
{
  if (watch->pid > 0) {
    kill (watch->pid, SIGKILL);
    for (int i = 0; i < 20 && waitpid (watch->pid, NULL, WNOHANG) == 0; i++)
      nanosleep (&(struct timespec){ .tv_nsec = 1000000 }, NULL);
  }
  file_close (&watch->fd);
  watch->pid = 0;
}
