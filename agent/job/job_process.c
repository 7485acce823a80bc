/* See job_process.h. What is read:
 *
 *   /proc/7/stat          7 (any) name)) S 1 7 7 0 -1 4194560 ...    the name ends at the last ')'; columns of proc(5)
 *   /proc/7/io            rchar: 323934931                           of all its threads, and of children waited for
 *   /proc/7/status        VmSwap:         0 kB
 *                         SigIgn: 0000000000010000                   bit 16: SIGCHLD
 *                         voluntary_ctxt_switches:        150        of the main thread alone
 *   /proc/7/smaps_rollup  Pss:               252 kB                  costs a walk over all its memory
 *   /proc/7/task/9/children  21 35                                those that this thread forked
 *   /proc/7/fd            since Linux 6.2 its size is the number of entries
 */
#include "agent/job/job_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "agent/source/parse.h"
#include "synop/clock.h"
#include "synop/file.h"

#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD in the column "flags" */
#define KEPT_MAX 2048            /* each holds a page in the kernel */
#define KEPT_PART 2              /* of the descriptors that this program may have, every second one */

/* ---- parsing ---- */

enum column { /* of stat, as proc(5) counts them */
              COLUMN_PARENT = 4,
              COLUMN_FLAGS = 9,
              COLUMN_USER = 14,
              COLUMN_SYSTEM,
              COLUMN_CHILDREN_USER,
              COLUMN_CHILDREN_SYSTEM,
              COLUMN_THREADS = 20,
              COLUMN_START = 22,
              COLUMN_VMS,
              COLUMN_RSS,
              COLUMN_EXIT_SIGNAL = 38,
              COLUMNS
};

static bool
parse_columns_of_stat (struct scan rest, uint64_t columns[COLUMNS])
{
  for (int column = COLUMN_PARENT; column < COLUMNS; column++) {
    struct scan word;

    if (!scan_word (&rest, &word))
      return column > COLUMN_RSS; /* without the signal: old kernels, truncated recordings */
    if (!scan_uint (&word, &columns[column]))
      columns[column] = UINT64_MAX; /* "-1" */
  }
  return true;
}

static uint64_t
ticks_ns (uint64_t ticks)
{
  return ticks * (uint64_t) (NS_PER_S / sysconf (_SC_CLK_TCK));
}

bool
process_stat_parse (struct process_stat *stat, const char *text, size_t length)
{
  const char *open = memchr (text, '(', length), *close = memrchr (text, ')', length);
  uint64_t columns[COLUMNS] = { 0 };
  size_t name;

  if (!open || !close || close < open || text + length - close < 4)
    return false;
  name = (size_t) (close - open - 1);
  if (name >= sizeof stat->comm)
    name = sizeof stat->comm - 1;
  memcpy (stat->comm, open + 1, name);
  stat->comm[name] = 0;
  stat->state = close[2];
  if (!parse_columns_of_stat (scan_over (close + 3, (size_t) (text + length - close - 3)), columns))
    return false;
  stat->parent = (pid_t) columns[COLUMN_PARENT];
  stat->kernel = columns[COLUMN_FLAGS] & KERNEL_THREAD;
  stat->thread = columns[COLUMN_EXIT_SIGNAL] == UINT64_MAX;
  stat->user_ns = ticks_ns (columns[COLUMN_USER] + columns[COLUMN_CHILDREN_USER]);
  stat->system_ns = ticks_ns (columns[COLUMN_SYSTEM] + columns[COLUMN_CHILDREN_SYSTEM]);
  stat->threads = columns[COLUMN_THREADS];
  stat->start = columns[COLUMN_START];
  stat->vms = columns[COLUMN_VMS];
  stat->rss = columns[COLUMN_RSS] * (uint64_t) sysconf (_SC_PAGESIZE);
  return true;
}

/* A main thread that has ended is no zombie while other threads run. */
bool
process_stat_is_zombie (const struct process_stat *stat)
{
  return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

/* Finds the lines "KEY:  VALUE" of those keys; values without a line stay as they are. Returns how many were found. */
struct wanted {
  const char *key; /* with the colon */
  uint64_t *value;
};

static size_t
parse_wanted (const char *text, size_t length, const struct wanted *wanted, size_t count)
{
  struct scan rest = scan_over (text, length), line;
  size_t found = 0;

  while (found < count && scan_line (&rest, &line))
    for (size_t i = 0; i < count; i++) {
      struct scan value = line;

      if (line.at == line.end || line.at[0] != wanted[i].key[0] || !scan_prefix (&value, wanted[i].key))
        continue;
      found += scan_uint (&value, wanted[i].value);
      break;
    }
  return found;
}

#define WANTED(array) (array), sizeof (array) / sizeof ((array)[0])

bool
process_io_parse (uint64_t counters[PROCESS_COUNTERS], const char *text, size_t length)
{
  const struct wanted wanted[] = {
    { "rchar:", &counters[PROCESS_READ_CHARS] },      { "wchar:", &counters[PROCESS_WRITE_CHARS] },
    { "syscr:", &counters[PROCESS_READ_CALLS] },      { "syscw:", &counters[PROCESS_WRITE_CALLS] },
    { "read_bytes:", &counters[PROCESS_READ_BYTES] }, { "write_bytes:", &counters[PROCESS_WRITE_BYTES] },
  };

  return parse_wanted (text, length, WANTED (wanted)) == sizeof wanted / sizeof wanted[0];
}

/* "SigIgn:\t0000000000010000" */
static bool
ignores_signal (const char *text, size_t length, int number)
{
  static const char key[] = "SigIgn:";
  const char *at = memmem (text, length, key, sizeof key - 1), *end = text + length;
  uint64_t mask = 0;

  if (!at)
    return false;
  for (at += sizeof key - 1; at < end && (*at == '\t' || *at == ' '); at++)
    ;
  for (; at < end && *at != '\n'; at++)
    mask = mask << 4 | (uint64_t) (*at <= '9' ? *at - '0' : (*at | 32) - 'a' + 10);
  return mask >> (number - 1) & 1;
}

bool
process_status_parse (struct process_status *status, const char *text, size_t length)
{
  uint64_t file = 0, shmem = 0, swap = 0;
  const struct wanted wanted[] = {
    { "RssFile:", &file },
    { "RssShmem:", &shmem },
    { "VmSwap:", &swap },
    { "voluntary_ctxt_switches:", &status->voluntary },
    { "nonvoluntary_ctxt_switches:", &status->involuntary },
  };
  size_t found;

  status->voluntary = status->involuntary = 0;
  found = parse_wanted (text, length, WANTED (wanted));
  status->shared = (file + shmem) * 1024;
  status->swap = swap * 1024;
  status->ignores_children = ignores_signal (text, length, SIGCHLD);
  return found >= 2; /* an ending process has no memory any more */
}

bool
process_rollup_parse (uint64_t *pss, uint64_t *uss, const char *text, size_t length)
{
  uint64_t clean = 0, dirty = 0;
  const struct wanted wanted[] = { { "Pss:", pss }, { "Private_Clean:", &clean }, { "Private_Dirty:", &dirty } };

  if (parse_wanted (text, length, WANTED (wanted)) < 3)
    return false;
  *pss *= 1024;
  *uss = (clean + dirty) * 1024;
  return true;
}

/* ---- reading ---- */

/* Whether "self" is a link to this program's id: /proc is of its namespace. */
static bool
is_own_namespace (int proc)
{
  char text[32];
  ssize_t length = readlinkat (proc, "self", text, sizeof text - 1);

  text[length > 0 ? length : 0] = 0;
  return length > 0 && strtol (text, NULL, 10) == getpid ();
}

int
process_files_open (struct process_files *files, const char *root)
{
  struct rlimit limit = { 0 };
  struct statfs system;
  char path[4096];

  snprintf (path, sizeof path, "%s/proc", root);
  files->kept = files->kept_max = 0;
  files->proc = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (files->proc < 0)
    return -errno;
  files->live = fstatfs (files->proc, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  files->own = files->live && is_own_namespace (files->proc);
  if (files->live && getrlimit (RLIMIT_NOFILE, &limit) == 0)
    files->kept_max = limit.rlim_cur / KEPT_PART < KEPT_MAX ? (size_t) limit.rlim_cur / KEPT_PART : KEPT_MAX;
  return 0;
}

void
process_files_close (struct process_files *files)
{
  file_close (&files->proc);
}

static int
process_open_file (const struct process_files *files, pid_t pid, const char *name)
{
  char path[64];

  snprintf (path, sizeof path, "%d/%s", (int) pid, name);
  return file_open_at (files->proc, path);
}

static int
read_file (struct process_files *files, int fd)
{
  ssize_t got;

  do
    got = pread (fd, files->text, sizeof files->text - 1, 0);
  while (got < 0 && errno == EINTR);
  files->text[got > 0 ? got : 0] = 0;
  return got < 0 ? -errno : (int) got;
}

int
process_files_read (struct process_files *files, pid_t pid, const char *name)
{
  int fd = process_open_file (files, pid, name), got;

  if (fd < 0)
    return fd;
  got = read_file (files, fd);
  close (fd);
  return got;
}

int
process_files_read_kept (struct process_files *files, pid_t pid, const char *name, int *fd)
{
  int got;

  if (*fd < 0) {
    *fd = process_open_file (files, pid, name);
    if (*fd < 0) {
      got = *fd;
      *fd = -1;
      return got;
    }
    files->kept++;
  }
  got = read_file (files, *fd);
  if (got < 0 || files->kept > files->kept_max)
    process_files_let_go (files, fd);
  return got;
}

void
process_files_let_go (struct process_files *files, int *fd)
{
  if (*fd < 0)
    return;
  close (*fd);
  *fd = -1;
  files->kept--;
}

/* As clock_getcpuclockid(3) makes it, without its system call. */
#define CPU_CLOCK_OF(pid) ((clockid_t) (~(unsigned) (pid) << 3 | 2))

uint64_t
process_files_clock (const struct process_files *files, pid_t pid)
{
  struct timespec now;

  if (!files->own || clock_gettime (CPU_CLOCK_OF (pid), &now) < 0)
    return 0;
  return (uint64_t) now.tv_sec * (uint64_t) NS_PER_S + (uint64_t) now.tv_nsec;
}

static void
children_of_thread (const struct process_files *files, const char *path, void (*child) (void *context, pid_t pid),
                    void *context)
{
  char text[4096];
  int fd = file_open_at (files->proc, path);
  ssize_t got;
  off_t at = 0;

  while (fd >= 0 && (got = pread (fd, text, sizeof text - 1, at)) > 0) {
    char *end, *from = text;

    text[got] = 0;
    for (long pid; (pid = strtol (from, &end, 10)) > 0 && *end; from = end) /* a number at the end may be cut */
      child (context, (pid_t) pid);
    if (from == text)
      break;
    at += from - text;
  }
  file_close (&fd);
}

void
process_files_children (const struct process_files *files, pid_t pid, void (*child) (void *context, pid_t pid),
                        void *context)
{
  struct dirent *entry;
  char path[300];
  DIR *folder;
  int fd;

  snprintf (path, sizeof path, "%d/task", (int) pid);
  fd = openat (files->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  folder = fd < 0 ? NULL : fdopendir (fd);
  if (!folder) {
    file_close (&fd);
    return;
  }
  while ((entry = readdir (folder)))
    if (entry->d_name[0] != '.') {
      snprintf (path, sizeof path, "%d/task/%.32s/children", (int) pid, entry->d_name);
      children_of_thread (files, path, child, context);
    }
  closedir (folder);
}

/* Kernels before 6.2 give 0, and a recording's folder has a size of its own. */
int64_t
process_files_count_open (const struct process_files *files, pid_t pid)
{
  struct stat status;
  struct dirent *entry;
  int64_t count = 0;
  char path[32];
  DIR *folder;
  int fd;

  snprintf (path, sizeof path, "%d/fd", (int) pid);
  if (files->live && fstatat (files->proc, path, &status, 0) == 0 && status.st_size > 0)
    return status.st_size;
  fd = openat (files->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  folder = fd < 0 ? NULL : fdopendir (fd);
  if (!folder) {
    file_close (&fd);
    return -1;
  }
  while ((entry = readdir (folder)))
    count += entry->d_name[0] != '.';
  closedir (folder);
  return count;
}
