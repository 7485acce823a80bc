/* See job_inspect.h. Reading /proc/PID/environ or smaps_rollup waits for the lock of the process's memory map, which a
 * process may hold for as long as a dead file server lasts. A directory of users may be slow to answer too. */
#include "agent/job/job_inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job/cgroup_mounts.h"
#include "agent/job/job_environment.h"
#include "agent/job/job_process.h"
#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define NAMESPACES_MAX 32 /* nested ones; the kernel's own limit */
#define MOUNTS_PERIOD (60 * NS_PER_S)
#define FILE_MAX (2 * 1024 * 1024) /* of an environment; the rest is ignored */

struct inspector {
  char *root, *variables;
  pthread_mutex_t mutex; /* for what follows */
  struct cgroup_mounts *mounts;
  int64_t mounts_ns; /* when they were read */
};

/* Appends ROOT/proc/PID/NAME to `text`. 0, or as file_open. */
static int
read_whole (const struct inspector *inspector, pid_t pid, const char *name, struct buffer *text)
{
  char path[4096];
  ssize_t got;
  int fd;

  snprintf (path, sizeof path, "%s/proc/%d/%s", inspector->root, (int) pid, name);
  fd = file_open (path);
  if (fd < 0)
    return fd;
  do {
    got = read (fd, buffer_reserve (text, 8192), 8192);
    if (got > 0)
      text->length += (size_t) got;
  } while ((got > 0 && text->length < FILE_MAX) || (got < 0 && errno == EINTR));
  got = got < 0 ? -errno : 0;
  close (fd);
  return (int) got;
}

/* ---- folders ---- */

/* A folder named like a scheduler's that a user made. Folders of "agent run" are made by users; they are no spoof. */
static bool
is_spoofed (const struct inspector *inspector, const struct cgroup_line *line)
{
  struct job_folder folder;

  return job_folder_find (line->path, line->path_length, &folder) && folder.scheduler != JOB_SYNOP &&
         cgroup_mounts_made_by_user (inspector->mounts, line, folder.length);
}

/* Blanks the paths of lines whose folder is named like a scheduler's but was made by a user. */
static void
blank_spoofed (struct inspector *inspector, struct buffer *cgroup)
{
  const char *at, *end;
  int64_t now = clock_monotonic ();
  struct cgroup_line line;

  if (cgroup->length == 0)
    return;
  at = cgroup->data;
  end = at + cgroup->length;
  pthread_mutex_lock (&inspector->mutex);
  if (!inspector->mounts || now - inspector->mounts_ns > MOUNTS_PERIOD) {
    cgroup_mounts_destroy (inspector->mounts);
    inspector->mounts = cgroup_mounts_create (inspector->root);
    inspector->mounts_ns = now;
  }
  while (cgroup_line_next (&at, end, &line))
    if (is_spoofed (inspector, &line))
      memset (cgroup->data + (line.path + 1 - cgroup->data), ' ', line.path_length - 1); /* "/    ": nobody's */
  pthread_mutex_unlock (&inspector->mutex);
}

/* ---- users ---- */

static uint32_t
owner_of (const struct inspector *inspector, pid_t pid)
{
  char path[4096];
  struct stat status;

  snprintf (path, sizeof path, "%s/proc/%d", inspector->root, (int) pid);
  return stat (path, &status) < 0 ? JOB_UID_UNKNOWN : status.st_uid;
}

/* The owner of the outermost user namespace below that of this program. A namespace maps as many users as its owner was
 * given (/etc/subuid), so the owner stands for all of them. -1: it is this program's own, or cannot be known. */
static int64_t
owner_of_namespace (const struct inspector *inspector, pid_t pid)
{
  char path[4096];
  struct stat own, of;
  int fd, parent;
  int64_t owner = -1;

  snprintf (path, sizeof path, "%s/proc/%d/ns/user", inspector->root, (int) pid);
  if (stat ("/proc/self/ns/user", &own) < 0 || stat (path, &of) < 0 || own.st_ino == of.st_ino)
    return -1;
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  for (int depth = 0; fd >= 0 && depth < NAMESPACES_MAX; depth++) {
    uid_t uid;
    if (ioctl (fd, NS_GET_OWNER_UID, &uid) == 0)
      owner = uid;
    parent = ioctl (fd, NS_GET_PARENT);
    close (fd);
    fd = parent;
    if (fd >= 0 && fstat (fd, &of) == 0 && of.st_ino == own.st_ino)
      break;
  }
  file_close (&fd);
  return owner;
}

static uint32_t
charged_user (void *context, pid_t pid)
{
  const struct inspector *inspector = context;
  int64_t owner = owner_of_namespace (inspector, pid);

  return owner >= 0 ? (uint32_t) owner : owner_of (inspector, pid);
}

/* Sets `name` to this machine's name of the user. */
static bool
user_known (uint32_t uid, char *name, size_t size)
{
  struct passwd entry, *known = NULL;
  char text[4096];

  if (getpwuid_r (uid, &entry, text, sizeof text, &known) != 0 || !known)
    return false;
  text_put ((struct text){ entry.pw_name, strlen (entry.pw_name) }, name, size);
  return true;
}

/* Whether this machine has a user of that name with another number. */
static bool
is_somebody_else (const char *name, uint32_t uid)
{
  struct passwd entry, *known = NULL;
  char text[4096];

  return getpwnam_r (name, &entry, text, sizeof text, &known) == 0 && known && known->pw_uid != uid;
}

/* Whoever starts a process chooses its environment. The user that it names counts where root runs the process, as SLURM's
 * step "extern"; else the job's user is the process's. A user name counts if this machine has no other one for it, as on
 * nodes without the directory of users. Users of a recorded machine are not those of this one. */
static void
check_user (const struct inspector *inspector, struct job_found *found, bool safe)
{
  struct job_identity *identity = &found->identity;
  bool here = inspector->root[0] == '\0' && !safe;
  uint32_t uid;

  if (identity->user_by_folder && identity->user[0] && identity->uid == JOB_UID_UNKNOWN)
    return;
  if (identity->by_cgroup && !identity->user_by_folder && found->uid != 0)
    identity->uid = found->uid;
  uid = identity->uid != JOB_UID_UNKNOWN ? identity->uid : found->uid;
  if (uid == JOB_UID_UNKNOWN || (uid != identity->uid && strcmp (identity->step, "extern") == 0))
    return;
  if (here && user_known (uid, identity->user, sizeof identity->user))
    return;
  if (identity->user[0] == '\0' || (here && is_somebody_else (identity->user, uid)))
    snprintf (identity->user, sizeof identity->user, "%u", (unsigned) uid);
}

static void
take_found (struct worker_query *query, const struct inspector *inspector, const struct job_identity *identity,
            const struct buffer *cgroup, bool denied)
{
  struct job_found *found = memory_new (1, sizeof *found + cgroup->length);

  found->identity = *identity;
  found->uid = owner_of (inspector, query->pid);
  found->charged_uid = query->user;
  found->denied = denied;
  check_user (inspector, found, query->safe);
  found->cgroup_length = cgroup->length;
  if (cgroup->length)
    memcpy (found->cgroup, cgroup->data, cgroup->length);
  query->found = found;
  query->result = INSPECTED_JOB;
}

static void
answer_identity (void *context, struct worker_query *query)
{
  struct inspector *inspector = context;
  struct buffer environment = { 0 }, cgroup = { 0 };
  struct job_identity identity;
  int no_cgroup = read_whole (inspector, query->pid, "cgroup", &cgroup);
  int failed = query->safe ? -EACCES : read_whole (inspector, query->pid, "environ", &environment);
  bool denied = failed == -EACCES || failed == -EPERM;

  blank_spoofed (inspector, &cgroup);
  if (no_cgroup && failed && !denied)
    query->result = INSPECTED_GONE;
  else if (job_identify (environment.data, environment.length, cgroup.data, cgroup.length, inspector->variables,
                         &identity) ||
           identity.folder[0])
    take_found (query, inspector, &identity, &cgroup, denied);
  else
    query->result = denied && owner_of (inspector, query->pid) != 0 ? INSPECTED_DENIED : INSPECTED_NONE;
  buffer_free (&environment);
  buffer_free (&cgroup);
}

static void
answer_rollup (void *context, struct worker_query *query)
{
  struct buffer text = { 0 };

  query->result = read_whole (context, query->pid, "smaps_rollup", &text) == 0 &&
                  process_rollup_parse (&query->values[0], &query->values[1], text.data, text.length);
  buffer_free (&text);
}

static void
inspector_forget (struct worker_query *query)
{
  free (query->found);
}

static void
inspector_close (void *context)
{
  struct inspector *inspector = context;

  cgroup_mounts_destroy (inspector->mounts);
  pthread_mutex_destroy (&inspector->mutex);
  free (inspector->root);
  free (inspector->variables);
  free (inspector);
}

static const struct job_work identity_work = { .name = "job_identity",
                                               .user = charged_user,
                                               .answer = answer_identity,
                                               .forget = inspector_forget,
                                               .close = inspector_close };
static const struct job_work rollup_work = {
  .name = "job_pss", .user = charged_user, .answer = answer_rollup, .close = inspector_close
};

static struct job_worker *
create (const struct job_work *work, const char *root, const char *variables, int64_t stuck_ns)
{
  struct inspector *inspector = memory_new (1, sizeof *inspector);

  inspector->root = memory_string (root);
  inspector->variables = memory_string (variables);
  pthread_mutex_init (&inspector->mutex, NULL);
  return job_worker_create (work, inspector, stuck_ns);
}

struct job_worker *
job_inspect_create (const char *root, const char *variables, int64_t stuck_ns)
{
  return create (&identity_work, root, variables, stuck_ns);
}

struct job_worker *
job_rollup_create (const char *root, int64_t stuck_ns)
{
  return create (&rollup_work, root, NULL, stuck_ns);
}
