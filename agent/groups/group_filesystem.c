/* Space and inodes of each mounted file system, by statvfs.
 *
 * statvfs of a network file system whose server is gone waits for ever, so each of those has a worker of its own: it
 * loses its values, and the error names it, while the others go on. The group as a whole runs in a worker as well, whose
 * thread is needed where there are such mounts, or some of a type that is not known; the local ones answer from memory,
 * even when their disk is sick. The kernel says by poll when its list of mounts has changed; between changes the list
 * is not read.
 *
 * A recorded machine's mounts are shown without space: the kernel knows that of this machine only. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/sampling/sampler.h"
#include "agent/sampling/worker.h"
#include "agent/source/facts.h"
#include "agent/source/mounts.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define REMOTE_PATIENCE (40 * NS_PER_MS) /* less than the patience for the group's own worker */
#define REMOTE_MAX 256                   /* each has a thread */

enum column {
  SIZE,
  USED,
  FREE,
  AVAILABLE,
  INODES_TOTAL,
  INODES_USED,
  INODES_FREE,
  READ_ONLY,
  STATVFS_COLUMNS, /* the ones before are from statvfs */
  TYPE = STATVFS_COLUMNS,
  DEVICE,
  SHARED,
  IN_TOTAL,
  DEVICE_ERROR
};

#define SERVED .most = 0x1p63 /* servers without a limit say 8 EiB */

static const struct metric metrics[] = {
  [SIZE] = { "size", GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { SERVED }, .help = "Size of the file system." },
  [USED] = { "used", GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { SERVED }, .help = "Bytes in use." },
  [FREE] = { "free", GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { SERVED },
             .help = "Bytes not in use, with those reserved for root." },
  [AVAILABLE] = { "available", GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { SERVED },
                  .help = "Bytes that a user without privileges can write." },
  [INODES_TOTAL] = { "inodes_total", GAUGE, UNIT_COUNT, FOLD_SUM, .bound = { SERVED },
                     .help = "Inodes that the file system can hold." },
  [INODES_USED] = { "inodes_used", GAUGE, UNIT_COUNT, FOLD_SUM, .bound = { SERVED }, .help = "Inodes in use." },
  [INODES_FREE] = { "inodes_free", GAUGE, UNIT_COUNT, FOLD_SUM, .bound = { SERVED }, .help = "Inodes not in use." },
  [READ_ONLY] = { "read_only", GAUGE, UNIT_BOOLEAN, FOLD_MAX, .help = "1 when nothing can be written." },
  [TYPE] = { "type", TEXT, UNIT_NONE, FOLD_NONE, .help = "Type of the file system." },
  [DEVICE] = { "device", TEXT, UNIT_NONE, FOLD_NONE, .help = "What is mounted: a block device, or server and folder." },
  [SHARED] = { "shared", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_SHARED,
               .help = "1 when other nodes may have the same one: NFS, Lustre, GPFS, BeeGFS, Ceph and the like." },
  [IN_TOTAL] = { "in_total", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS,
                 .help = "1 when it counts in the total: no other row counts the same bytes." },
  [DEVICE_ERROR] = { "device_error", GAUGE, UNIT_BOOLEAN, FOLD_MAX, .help = "1 when it does not answer." },
};

static const struct group group = {
  .name = "filesystem",
  .section = "system_data",
  .row = "mount point",
  .rows_name = "mounts",
  .fold_name = "total",
  .flags = GROUP_ROWS,
  .help = "Space of the mounted file systems, without pseudo ones, each once. The total has the shared ones of this "
          "node; in combined reports they are left out of sums, means and percentiles, since each node has them.",
  .of_users = true,
  GROUP_METRICS (metrics),
  .left_out =
      "mount points " MOUNTS_PSEUDO_POINTS "; file systems of the types " MOUNTS_PSEUDO_TYPES
      " (an overlay is shown where it is the root, as in a container), and others that have no size; further "
      "mounts of one that is shown; what a later mount on the same point hides; what [group filesystem] excludes.",
};

struct filesystem_options {
  char *exclude, *types_exclude;
};

#define IN_FILESYSTEM(member) offsetof (struct filesystem_options, member)

static const struct option option_rows[] = {
  { "group filesystem", "exclude", "", OPTION_LIST, IN_FILESYSTEM (exclude), "",
    .help = "Globs of mount points to leave out." },
  { "group filesystem", "types_exclude", "", OPTION_LIST, IN_FILESYSTEM (types_exclude), "",
    .help =
        "Globs of types of file systems to leave out, beside those that hold no files of users (proc, sysfs, ...)." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct filesystem_options);

/* One file system. A remote one's worker has a copy of it as its state. */
struct file_system {
  char *point;           /* owned */
  char *id;              /* distinguishes file systems that are mounted on one point in turn */
  struct worker *worker; /* NULL: asked directly */
  size_t row;            /* in this sample; SIZE_MAX: none */
};

struct filesystem {
  char *root, *exclude, *types_exclude; /* copies: see worker.h */
  struct reader reader;
  bool of_machine; /* the list is process 1's, not our own */
  enum mounts_format format;
  bool known;   /* `mounts` is valid */
  bool updated; /* `mounts` was updated for the next sample, with this result: */
  int result;
  struct buffer text;
  struct mounts mounts;
  size_t lines_strange;        /* of the list, when it was read */
  struct file_system *systems; /* one for each of `mounts` */
  size_t count;
  struct table answer; /* a remote one's */
};

static void
answer_set (struct table *table, size_t row, const struct statvfs *answer)
{
  uint64_t unit = answer->f_frsize ? answer->f_frsize : answer->f_bsize;

  table_set_uint (table, row, SIZE, answer->f_blocks * unit);
  table_set_uint (table, row, FREE, answer->f_bfree * unit);
  table_set_uint (table, row, AVAILABLE, answer->f_bavail * unit);
  if (answer->f_bfree <= answer->f_blocks)
    table_set_uint (table, row, USED, (answer->f_blocks - answer->f_bfree) * unit);
  if (answer->f_files > 0) { /* else it has none to count, as btrfs */
    table_set_uint (table, row, INODES_TOTAL, answer->f_files);
    if (answer->f_ffree <= answer->f_files) { /* CephFS says -1 */
      table_set_uint (table, row, INODES_FREE, answer->f_ffree);
      table_set_uint (table, row, INODES_USED, answer->f_files - answer->f_ffree);
    }
  }
  table_set_uint (table, row, READ_ONLY, (answer->f_flag & ST_RDONLY) != 0);
}

/* Adds a row, unless the file system has no size at all: then it is a pseudo one that the list does not know. */
static size_t
point_sample (const char *point, struct table *table)
{
  struct statvfs answer;
  bool answered = statvfs (point, &answer) == 0;
  int reason = errno;
  size_t row;

  if (answered && answer.f_blocks == 0)
    return SIZE_MAX;
  row = table_add_row (table, point, strlen (point));
  if (row == SIZE_MAX)
    return row;
  if (answered)
    answer_set (table, row, &answer);
  else
    table_complain (table, "%.100s: %s", point, strerror (reason));
  return row;
}

static int
remote_sample (void *state, struct table *table)
{
  point_sample (state, table);
  return 0;
}

static bool
remote_may_block (void *state)
{
  (void) state;
  return true;
}

/* What a worker runs for one remote file system: a table of at most one row. Its state is the mount point. */
static const struct sampler remote_sampler = {
  .group = &group, .may_block = remote_may_block, .sample = remote_sample, .close = free
};

/* In the view of a hardened service all is mounted read-only; the machine's mounts are in the view of process 1. In a
 * container that sees the host's processes process 1 has another tree, and our own view is right. */
static bool
machine_is_seen (const char *root)
{
  struct stat here, there;
  int fd = -1;

  if (!root[0] && stat ("/", &here) == 0 && stat ("/proc/1/root/", &there) == 0 && here.st_dev == there.st_dev &&
      here.st_ino == there.st_ino)
    fd = file_open ("/proc/1/mountinfo");
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static void *
filesystem_open (const struct sampler_context *context)
{
  const struct filesystem_options *options = context_options (context, &own_options);
  struct filesystem *filesystem = memory_new (1, sizeof *filesystem);

  filesystem->root = memory_string (context->root);
  filesystem->exclude = memory_string (options->exclude);
  filesystem->types_exclude = memory_string (options->types_exclude);
  filesystem->of_machine = machine_is_seen (context->root);
  reader_init (&filesystem->reader, context->root, "/proc/%s/mountinfo", filesystem->of_machine ? "1" : "self");
  filesystem->format = MOUNTS_INFO;
  table_init (&filesystem->answer, &group);
  return filesystem;
}

static void
systems_free (struct file_system *systems, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    worker_destroy (systems[i].worker);
    free (systems[i].point);
    free (systems[i].id);
  }
  free (systems);
}

/* Moves the worker of the same mount over from the old list, so that one that hangs is not begun again and again. */
static struct worker *
worker_for (struct filesystem *filesystem, const struct file_system *system)
{
  for (size_t i = 0; i < filesystem->count; i++) {
    struct file_system *old = &filesystem->systems[i];
    if (old->worker && strcmp (old->point, system->point) == 0 && strcmp (old->id, system->id) == 0) {
      struct worker *worker = old->worker;
      old->worker = NULL;
      return worker;
    }
  }
  return worker_create (&remote_sampler, memory_string (system->point));
}

static void
systems_rebuild (struct filesystem *filesystem)
{
  struct mounts *mounts = &filesystem->mounts;
  struct file_system *systems = memory_new (mounts->count, sizeof *systems);
  size_t remotes = 0;

  for (size_t i = 0; i < mounts->count; i++) {
    systems[i].point = memory_string (mounts->list[i].point);
    systems[i].id = memory_string (mounts->list[i].id);
    if (mounts->list[i].remote && !filesystem->root[0] && remotes++ < REMOTE_MAX)
      systems[i].worker = worker_for (filesystem, &systems[i]);
  }
  systems_free (filesystem->systems, filesystem->count);
  filesystem->systems = systems;
  filesystem->count = mounts->count;
}

/* The kernel's own file reports changes by poll; a recorded one is read every time. */
static bool
mounts_changed (const struct filesystem *filesystem)
{
  struct pollfd fd = { .fd = filesystem->reader.fd, .events = POLLPRI };

  if (!filesystem->known || filesystem->root[0])
    return true;
  return poll (&fd, 1, 0) != 0;
}

static int
mounts_read (struct filesystem *filesystem)
{
  int rc;

  if (!mounts_changed (filesystem))
    return 0;
  rc = reader_read (&filesystem->reader, &filesystem->text);
  if (rc == -ENOENT && filesystem->format == MOUNTS_INFO) {
    reader_free (&filesystem->reader);
    reader_init (&filesystem->reader, filesystem->root, "/proc/mounts");
    filesystem->format = MOUNTS_TABLE;
    rc = reader_read (&filesystem->reader, &filesystem->text);
  }
  filesystem->known = rc == 0;
  if (rc < 0)
    return rc;
  if (filesystem->text.length == 0) /* there is always a root */
    return -EBADMSG;
  filesystem->lines_strange = mounts_parse (&filesystem->mounts, filesystem->text.data, filesystem->text.length,
                                            filesystem->format, filesystem->exclude, filesystem->types_exclude);
  systems_rebuild (filesystem);
  return 0;
}

static int
mounts_update (struct filesystem *filesystem)
{
  if (!filesystem->updated)
    filesystem->result = mounts_read (filesystem);
  filesystem->updated = true;
  return filesystem->result;
}

static bool
filesystem_may_block (void *state)
{
  struct filesystem *filesystem = state;

  if (mounts_update (filesystem) < 0 || filesystem->root[0])
    return false;
  for (size_t i = 0; i < filesystem->mounts.count; i++)
    if (!filesystem->mounts.list[i].local)
      return true;
  return false;
}

/* Copies a remote file system's answer, or says that there is none. */
static size_t
remote_collect (struct filesystem *filesystem, size_t at, int64_t deadline, struct table *table)
{
  const char *point = filesystem->mounts.list[at].point;
  struct table *answer = &filesystem->answer;
  bool answered = false;
  size_t row;

  if (filesystem->systems[at].worker)
    answered = worker_collect (filesystem->systems[at].worker, answer, deadline);
  else {
    table_begin (answer);
    snprintf (answer->error, sizeof answer->error, "more than %d network file systems", REMOTE_MAX);
  }
  if (answered && answer->rows == 0)
    return SIZE_MAX;
  row = table_add_row (table, point, strlen (point));
  if (row != SIZE_MAX && answered)
    for (size_t column = 0; column < STATVFS_COLUMNS; column++)
      *table_value (table, row, column) = *table_get (answer, 0, column);
  if (answer->error[0] && answered)
    table_complain (table, "%s", answer->error);
  else if (answer->error[0])
    table_complain (table, "%.100s: %.50s", point, answer->error);
  return row;
}

static bool
same_number (const struct table *table, size_t one, size_t other, size_t column)
{
  const struct value *a = table_get (table, one, column), *b = table_get (table, other, column);

  return a->type == b->type && (a->type != VALUE_UINT || a->as.u == b->as.u);
}

/* A layer over another file system answers with that one's numbers: the root of a container, beside the /etc/hosts that
 * is mounted into it from the same disk. Those of memory are often as large as each other. */
static bool
is_layer_over_another (const struct filesystem *filesystem, size_t at, const struct table *table)
{
  const struct file_system *systems = filesystem->systems;
  const struct mount *list = filesystem->mounts.list;

  for (size_t i = 0; list[at].layer && i < filesystem->count; i++)
    if (systems[i].row != SIZE_MAX && !list[i].layer && strcmp (list[i].type, "tmpfs") != 0 &&
        table_get (table, systems[i].row, SIZE)->type == VALUE_UINT &&
        same_number (table, systems[i].row, systems[at].row, SIZE) &&
        same_number (table, systems[i].row, systems[at].row, INODES_TOTAL))
      return true;
  return false;
}

static void
filesystem_set_counts (const struct filesystem *filesystem, struct table *table)
{
  for (size_t i = 0; i < filesystem->count; i++)
    if (filesystem->systems[i].row != SIZE_MAX)
      table_set_uint (table, filesystem->systems[i].row, IN_TOTAL,
                      !filesystem->mounts.list[i].again && !is_layer_over_another (filesystem, i, table));
}

static size_t
recorded_row (const struct mount *mount, struct table *table)
{
  return table_add_row (table, mount->point, strlen (mount->point));
}

static int
filesystem_sample (void *state, struct table *table)
{
  struct filesystem *filesystem = state;
  int64_t deadline = clock_monotonic () + REMOTE_PATIENCE;
  int rc = mounts_update (filesystem);

  filesystem->updated = false;
  if (rc < 0)
    return reader_complain (&filesystem->reader, rc, table);
  if (filesystem->lines_strange > 0)
    table_complain (table, "%s: %zu lines are not understood", filesystem->reader.path, filesystem->lines_strange);
  for (size_t i = 0; i < filesystem->count; i++)
    if (filesystem->systems[i].worker)
      worker_begin (filesystem->systems[i].worker);

  for (size_t i = 0; i < filesystem->count; i++) {
    const struct mount *mount = &filesystem->mounts.list[i];
    size_t row;
    if (filesystem->root[0])
      row = recorded_row (mount, table);
    else if (mount->remote)
      row = remote_collect (filesystem, i, deadline, table);
    else
      row = point_sample (mount->point, table);
    filesystem->systems[i].row = row;
    if (row == SIZE_MAX)
      continue;
    if (mount->read_only || filesystem->of_machine || filesystem->root[0]) /* statvfs is about our own view */
      table_set_uint (table, row, READ_ONLY, mount->read_only);
    table_set_text (table, row, TYPE, mount->type, strlen (mount->type));
    table_set_text (table, row, DEVICE, mount->device, strlen (mount->device));
    table_set_uint (table, row, SHARED, mount->shared);
    if (!filesystem->root[0])
      table_set_uint (table, row, DEVICE_ERROR, table_get (table, row, SIZE)->type == VALUE_MISSING);
  }
  filesystem_set_counts (filesystem, table);
  if (filesystem->root[0] && table->rows > 0)
    table_complain (table, "no sizes under --root: they are known of this machine's mounts alone");
  return 0;
}

static void
filesystem_close (void *state)
{
  struct filesystem *filesystem = state;

  systems_free (filesystem->systems, filesystem->count);
  mounts_free (&filesystem->mounts);
  reader_free (&filesystem->reader);
  buffer_free (&filesystem->text);
  table_free (&filesystem->answer);
  free (filesystem->root);
  free (filesystem->exclude);
  free (filesystem->types_exclude);
  free (filesystem);
}

const struct sampler sampler_filesystem = {
  .group = &group,
  .may_block = filesystem_may_block,
  .open = filesystem_open,
  .sample = filesystem_sample,
  .close = filesystem_close,
  .options = &own_options,
};
