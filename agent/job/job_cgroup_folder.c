/* The files of one cgroup folder, as they are read here:
 *
 *   v1  cpuacct.usage 123456789 (ns)     cpuacct.stat "user 12\nsystem 3\n" (ticks): cpuacct.usage_user and _sys, which
 *       are in ns, count nearly all as user before Linux 5.17, so the exact sum is split as the ticks are
 *       memory.usage_in_bytes, memory.max_usage_in_bytes, memory.limit_in_bytes (near 2^63: none)
 *       memory.oom_control "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n": of this folder alone, not of those below
 *       blkio.throttle.io_service_bytes_recursive "8:0 Read 4096\n8:0 Write 0\n...8:0 Total 4096\nTotal 4096\n"
 *       cpuset.cpus "0-3,8\n"
 *       devices.list: see job_devices.c
 *   v2  cpu.stat "usage_usec 9\nuser_usec 5\nsystem_usec 4\n..."    memory.current, memory.peak, memory.max ("max": none)
 *       memory.events "...oom_kill 0\n"    io.stat "8:0 rbytes=4096 wbytes=0 rios=1 ...\n"    cpuset.cpus
 *
 * Files that hardly ever change are read every 30th time and closed in between; missing files are tried as often. */
#include "agent/job/job_cgroup_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job/job_devices.h"
#include "agent/source/parse.h"
#include "synop/file.h"

#define SLOW_EVERY 30
#define KILLS_EVERY 5     /* counting them takes a walk over the folders of steps and tasks */
#define KILLS_FOLDERS 512 /* of one walk */
#define LIMIT_NONE ((uint64_t) 1 << 62)

enum { CPU_USAGE, CPU_STAT };                                           /* FOLDER_CPU */
enum { MEMORY_USAGE, MEMORY_PEAK, MEMORY_OOM, MEMORY_LIMIT };           /* FOLDER_MEMORY */
enum { IO_THROTTLE, IO_BFQ, IO_FOLDER };                                /* FOLDER_IO */
enum { CPUSET_CPUS };                                                   /* FOLDER_CPUSET */
enum { DEVICES_LIST };                                                  /* FOLDER_DEVICES */
enum { V2_CPU, V2_MEMORY, V2_PEAK, V2_EVENTS, V2_IO, V2_MAX, V2_CPUS }; /* FOLDER_UNIFIED */

static const struct kind {
  const char *controller;
  struct kind_file {
    const char *name; /* the first one is there as long as the folder is */
    bool slow;
  } files[FOLDER_FILES];
} kinds[FOLDER_KINDS] = {
  { "cpuacct", { { "cpuacct.usage", false }, { "cpuacct.stat", false } } },
  { "memory",
    { { "memory.usage_in_bytes", false },
      { "memory.max_usage_in_bytes", false },
      { "memory.oom_control", false },
      { "memory.limit_in_bytes", true } } },
  { "blkio",
    { { "blkio.throttle.io_service_bytes_recursive", false },
      { "blkio.bfq.io_service_bytes_recursive", false },
      { "blkio.throttle.io_service_bytes", false } } },
  { "cpuset", { { "cpuset.cpus", true } } },
  { "devices", { { "devices.list", true } } },
  { "perf_event", { { "notify_on_release", true } } },
  { NULL,
    { { "cpu.stat", false },
      { "memory.current", false },
      { "memory.peak", false },
      { "memory.events", false },
      { "io.stat", false },
      { "memory.max", true },
      { "cpuset.cpus", true } } },
};

const char *
folder_controller (enum folder_kind kind)
{
  return kinds[kind].controller;
}

void
usage_clear (struct job_usage *usage)
{
  memset (usage, 0xff, sizeof *usage); /* JOB_MISSING in each */
}

void
folder_init (struct folder *folder, enum folder_kind kind, char *path)
{
  memset (folder, 0, sizeof *folder);
  folder->kind = kind;
  folder->path = path;
  for (size_t i = 0; i < FOLDER_FILES && kinds[kind].files[i].name; i++)
    reader_init (&folder->files[i], path, "/%s", kinds[kind].files[i].name);
  usage_clear (&folder->usage);
}

void
folder_free (struct folder *folder)
{
  for (size_t i = 0; i < FOLDER_FILES; i++)
    reader_free (&folder->files[i]);
  free (folder->path);
}

/* ---- counters ---- */

/* When the value fell, the counter was reset: all of the value is new. */
static void
counter_follow (struct counter *counter, uint64_t value)
{
  counter->total += value >= counter->last ? value - counter->last : value;
  counter->last = value;
  counter->known = true;
}

/* Follows a sum over folders, some of which disappear. */
static void
counter_follow_sum (struct counter *counter, uint64_t value)
{
  if (value > counter->last)
    counter->total += value - counter->last;
  counter->last = value;
  counter->known = true;
}

static uint64_t
counter_value (const struct counter *counter)
{
  return counter->known ? counter->total : JOB_MISSING;
}

static void
counters_begin_anew (struct folder *folder)
{
  folder->time.last = folder->user.last = folder->system.last = 0;
  folder->user_ticks.last = folder->system_ticks.last = 0;
  folder->kills.last = folder->read.last = folder->written.last = 0;
}

void
folder_revive (struct folder *folder)
{
  if (!folder->gone)
    return;
  folder->gone = false;
  folder->readings = 0;
  counters_begin_anew (folder);
}

/* ---- files ---- */

/* The reader reopens a file whose folder was removed. Then this may be another folder of that name. */
static void
notice_another (struct folder *folder)
{
  struct stat is;

  if (folder->files[0].fd < 0 || fstat (folder->files[0].fd, &is) != 0)
    return;
  if (folder->inode != 0 && folder->inode != is.st_ino)
    counters_begin_anew (folder);
  folder->inode = is.st_ino;
}

/* The file's text, or false: not there, not permitted, or not due. */
static bool
cgroup_read_file (struct folder *folder, size_t file, struct buffer *text)
{
  const struct kind_file *as = &kinds[folder->kind].files[file];
  bool due = folder->readings % SLOW_EVERY == 0;
  int result;

  if (folder->gone || ((as->slow || folder->absent[file]) && !due))
    return false;
  result = reader_read (&folder->files[file], text);
  if (as->slow)
    reader_close (&folder->files[file]);
  folder->absent[file] = result == -ENOENT || result == -EOPNOTSUPP;
  if ((result == -ENOENT || result == -ENODEV) && access (folder->path, F_OK) != 0 && errno == ENOENT)
    folder->gone = true;
  if (file == 0 && result == 0)
    notice_another (folder);
  return result == 0;
}

static bool
file_read_number (struct folder *folder, size_t file, struct buffer *text, uint64_t *value)
{
  struct scan scan;

  if (!cgroup_read_file (folder, file, text))
    return false;
  scan = scan_buffer (text);
  return scan_uint (&scan, value);
}

/* The number in the line "KEY NUMBER". */
static bool
find_number (const struct buffer *text, const char *key, uint64_t *value)
{
  struct scan rest = scan_buffer (text), line;

  while (scan_line (&rest, &line))
    if (scan_prefix (&line, key) && line.at < line.end && *line.at == ' ')
      return scan_uint (&line, value);
  return false;
}

/* The file is empty where the set is inherited. */
static void
read_cpus (struct folder *folder, size_t file, struct buffer *text)
{
  uint64_t count;

  if (cgroup_read_file (folder, file, text) && scan_list_count (scan_buffer (text), &count))
    folder->usage.cpus = count;
}

/* ---- cgroup v1 ---- */

static void
read_cpuacct (struct folder *folder, struct buffer *text)
{
  struct job_usage *usage = &folder->usage;
  uint64_t time, user, system, ticks, share;

  if (file_read_number (folder, CPU_USAGE, text, &time))
    counter_follow (&folder->time, time);
  if (cgroup_read_file (folder, CPU_STAT, text) && find_number (text, "user", &user) &&
      find_number (text, "system", &system)) {
    counter_follow (&folder->user_ticks, user);
    counter_follow (&folder->system_ticks, system);
  }
  if (!folder->time.known)
    return;
  if (usage->user_ns == JOB_MISSING)
    usage->user_ns = usage->system_ns = 0;
  ticks = folder->user_ticks.total + folder->system_ticks.total;
  share = ticks == 0 ? folder->time.total
                     : (uint64_t) ((unsigned __int128) folder->time.total * folder->user_ticks.total / ticks);
  /* Neither goes backwards, and the sum is exact. */
  if (share > folder->time.total - usage->system_ns)
    share = folder->time.total - usage->system_ns;
  if (share > usage->user_ns)
    usage->user_ns = share;
  usage->system_ns = folder->time.total - usage->user_ns;
}

/* OOM kills in the folders below `at`, which is closed; `left` bounds the walk. */
static uint64_t
kills_below (int at, int depth, int *left)
{
  DIR *list = fdopendir (at);
  const struct dirent *entry;
  uint64_t sum = 0;

  if (list == NULL) {
    close (at);
    return 0;
  }
  while ((entry = readdir (list)) != NULL && *left > 0) {
    char bytes[256];
    struct buffer text = { .data = bytes };
    uint64_t kills;
    int folder, file;
    ssize_t got;
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
      continue;
    *left -= 1;
    folder = openat (dirfd (list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
      continue;
    file = file_open_at (folder, "memory.oom_control");
    got = file < 0 ? -1 : read (file, bytes, sizeof bytes);
    file_close (&file);
    text.length = got > 0 ? (size_t) got : 0;
    if (find_number (&text, "oom_kill", &kills))
      sum += kills;
    if (depth > 1)
      sum += kills_below (folder, depth - 1, left);
    else
      close (folder);
  }
  closedir (list);
  return sum;
}

static void
read_kills (struct folder *folder, struct buffer *text)
{
  uint64_t kills;
  int at, left = KILLS_FOLDERS;

  if (folder->readings % KILLS_EVERY != 0 || !cgroup_read_file (folder, MEMORY_OOM, text) ||
      !find_number (text, "oom_kill", &kills))
    return;
  at = open (folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at >= 0)
    kills += kills_below (at, 3, &left); /* steps, tasks, and what these made */
  counter_follow_sum (&folder->kills, kills);
  folder->usage.oom_kills = counter_value (&folder->kills);
}

static void
read_memory (struct folder *folder, struct buffer *text)
{
  struct job_usage *usage = &folder->usage;
  uint64_t value;

  if (file_read_number (folder, MEMORY_USAGE, text, &value))
    usage->memory = value;
  if (file_read_number (folder, MEMORY_PEAK, text, &value))
    usage->memory_peak = value;
  if (file_read_number (folder, MEMORY_LIMIT, text, &value))
    usage->memory_limit = value < LIMIT_NONE ? value : JOB_MISSING;
  read_kills (folder, text);
}

static void
read_devices (struct folder *folder, struct buffer *text)
{
  if (cgroup_read_file (folder, DEVICES_LIST, text))
    job_devices_parse (folder->usage.devices, scan_buffer (text));
}

/* ---- block devices ---- */

struct io_bytes {
  uint64_t read, written;
};

/* Takes "8:0 " of a device that counts. */
static bool
take_device (struct scan *line, struct cgroup_mounts *mounts)
{
  uint64_t major, minor;

  return scan_uint (line, &major) && scan_prefix (line, ":") && scan_uint (line, &minor) && major <= UINT32_MAX &&
         minor <= UINT32_MAX && !cgroup_mounts_is_stacked (mounts, (unsigned) major, (unsigned) minor);
}

static struct io_bytes
io_v1 (const struct buffer *text, struct cgroup_mounts *mounts)
{
  struct scan rest = scan_buffer (text), line;
  struct io_bytes sum = { 0 };

  while (scan_line (&rest, &line)) {
    uint64_t bytes;
    if (!take_device (&line, mounts))
      continue;
    if (scan_prefix (&line, " Read ") && scan_uint (&line, &bytes))
      sum.read += bytes;
    else if (scan_prefix (&line, " Write ") && scan_uint (&line, &bytes))
      sum.written += bytes;
  }
  return sum;
}

static struct io_bytes
io_v2 (const struct buffer *text, struct cgroup_mounts *mounts)
{
  struct scan rest = scan_buffer (text), line, word;
  struct io_bytes sum = { 0 };

  while (scan_line (&rest, &line)) {
    uint64_t bytes;
    if (!take_device (&line, mounts))
      continue;
    while (scan_word (&line, &word))
      if (scan_prefix (&word, "rbytes=") && scan_uint (&word, &bytes))
        sum.read += bytes;
      else if (scan_prefix (&word, "wbytes=") && scan_uint (&word, &bytes))
        sum.written += bytes;
  }
  return sum;
}

static void
take_io (struct folder *folder, struct io_bytes bytes)
{
  counter_follow (&folder->read, bytes.read);
  counter_follow (&folder->written, bytes.written);
  folder->usage.read_bytes = counter_value (&folder->read);
  folder->usage.write_bytes = counter_value (&folder->written);
}

static void
read_blkio (struct folder *folder, struct cgroup_mounts *mounts, struct buffer *text)
{
  for (size_t file = IO_THROTTLE; file <= IO_FOLDER; file++)
    if (cgroup_read_file (folder, file, text)) {
      take_io (folder, io_v1 (text, mounts));
      return;
    }
}

/* ---- cgroup v2 ---- */

static void
read_v2_cpu (struct folder *folder, struct buffer *text)
{
  uint64_t user, system;

  if (!cgroup_read_file (folder, V2_CPU, text) || !find_number (text, "user_usec", &user) ||
      !find_number (text, "system_usec", &system))
    return;
  counter_follow (&folder->user, user);
  counter_follow (&folder->system, system);
  folder->usage.user_ns = folder->user.total * 1000;
  folder->usage.system_ns = folder->system.total * 1000;
}

static void
read_v2_memory (struct folder *folder, struct buffer *text)
{
  struct job_usage *usage = &folder->usage;
  uint64_t value;

  if (file_read_number (folder, V2_MEMORY, text, &value)) {
    usage->memory = value;
    if (usage->memory_peak == JOB_MISSING || value > usage->memory_peak) /* memory.peak is of Linux 5.19 */
      usage->memory_peak = value;
  }
  if (file_read_number (folder, V2_PEAK, text, &value))
    usage->memory_peak = value;
  if (cgroup_read_file (folder, V2_MAX, text)) {
    struct scan scan = scan_buffer (text);
    usage->memory_limit = scan_uint (&scan, &value) && value < LIMIT_NONE ? value : JOB_MISSING;
  }
  if (cgroup_read_file (folder, V2_EVENTS, text) && find_number (text, "oom_kill", &value)) {
    counter_follow (&folder->kills, value);
    usage->oom_kills = counter_value (&folder->kills);
  }
}

void
folder_read (struct folder *folder, struct cgroup_mounts *mounts, struct buffer *text)
{
  struct io_bytes bytes;

  if (folder->gone)
    return;
  switch (folder->kind) {
  case FOLDER_CPU:
    read_cpuacct (folder, text);
    break;
  case FOLDER_MEMORY:
    read_memory (folder, text);
    break;
  case FOLDER_IO:
    read_blkio (folder, mounts, text);
    break;
  case FOLDER_CPUSET:
    read_cpus (folder, CPUSET_CPUS, text);
    break;
  case FOLDER_DEVICES:
    read_devices (folder, text);
    break;
  case FOLDER_PERF: /* nothing is read there but whether it is */
    cgroup_read_file (folder, 0, text);
    break;
  default:
    read_v2_cpu (folder, text);
    read_v2_memory (folder, text);
    if (cgroup_read_file (folder, V2_IO, text)) {
      bytes = io_v2 (text, mounts);
      take_io (folder, bytes);
    }
    read_cpus (folder, V2_CPUS, text);
  }
  folder->readings++;
  if (folder->gone && folder->usage.memory != JOB_MISSING)
    folder->usage.memory = 0;
  if (folder->gone)
    for (size_t i = 0; i < FOLDER_FILES && folder->files[i].path; i++)
      reader_close (&folder->files[i]);
}
