/* See job_look.h. Reading /proc/PID/environ or smaps_rollup waits for the lock of the process's memory map, and a
 * process may hold that for as long as a dead file server lasts. So may a directory of users be slow to answer. */
#include "agent/job/job_look.h"

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

#define NAMESPACES_MAX 32 /* that may lie in each other; the kernel's own limit */
#define MOUNTS_PERIOD (60 * NS_PER_S)
#define FILE_MAX (2 * 1024 * 1024) /* of an environment; more of it is not looked at */

struct look {
  char *root, *variables;
  pthread_mutex_t mutex; /* of what follows */
  struct cgroup_mounts *mounts;
  int64_t mounts_ns; /* when they were looked at */
};

/* Appends ROOT/proc/PID/NAME to `text`. 0, or as file_open. */
static int
read_whole (const struct look *look, pid_t pid, const char *name, struct buffer *text)
{
  char path[4096];
  ssize_t got;
  int fd;

  snprintf (path, sizeof path, "%s/proc/%d/%s", look->root, (int) pid, name);
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

/* Of "agent run" users make the folders themselves; those of schedulers root makes. */
static bool
is_spoofed (const struct look *look, const struct cgroup_line *line)
{
  struct job_folder folder;

  return job_folder_find (line->path, line->path_length, &folder) && folder.scheduler != JOB_SYNOP &&
         cgroup_mounts_made_by_user (look->mounts, line, folder.length);
}

/* Leaves the lines out whose folder is called like one of a scheduler and was made by a user. */
static void
leave_out_spoofed (struct look *look, struct buffer *cgroup)
{
  const char *at = cgroup->data, *end = at + cgroup->length;
  int64_t now = clock_monotonic ();
  struct cgroup_line line;

  if (cgroup->length == 0)
    return;
  pthread_mutex_lock (&look->mutex);
  if (!look->mounts || now - look->mounts_ns > MOUNTS_PERIOD) {
    cgroup_mounts_destroy (look->mounts);
    look->mounts = cgroup_mounts_create (look->root);
    look->mounts_ns = now;
  }
  while (cgroup_line_next (&at, end, &line))
    if (is_spoofed (look, &line))
      memset (cgroup->data + (line.path + 1 - cgroup->data), ' ', line.path_length - 1); /* "/    ": nobody's */
  pthread_mutex_unlock (&look->mutex);
}

/* ---- users ---- */

static uint32_t
owner_of (const struct look *look, pid_t pid)
{
  char path[4096];
  struct stat status;

  snprintf (path, sizeof path, "%s/proc/%d", look->root, (int) pid);
  return stat (path, &status) < 0 ? JOB_UID_UNKNOWN : status.st_uid;
}

/* A user namespace maps as many users as its owner was given (/etc/subuid), so the owner stands for all of them: of the
 * outermost one below that of this program. -1: it is this program's own, or cannot be known. */
static int64_t
owner_of_namespace (const struct look *look, pid_t pid)
{
  char path[4096];
  struct stat own, of;
  int fd, parent;
  int64_t owner = -1;

  snprintf (path, sizeof path, "%s/proc/%d/ns/user", look->root, (int) pid);
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
payer_of (void *context, pid_t pid)
{
  const struct look *look = context;
  int64_t owner = owner_of_namespace (look, pid);

  return owner >= 0 ? (uint32_t) owner : owner_of (look, pid);
}

/* Sets `name` to what this machine calls the user. */
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

/* Is there a user of that name with another number? */
static bool
is_somebody_else (const char *name, uint32_t uid)
{
  struct passwd entry, *known = NULL;
  char text[4096];

  return getpwnam_r (name, &entry, text, sizeof text, &known) == 0 && known && known->pw_uid != uid;
}

/* Whoever starts a process chooses its environment. What that tells of the job's user counts where root runs the process,
 * as SLURM's step "extern"; else the job's user is who runs it. A name counts that this machine does not know better, as
 * on nodes without the directory of users. A recorded machine's users are not this one's. */
static void
check_user (const struct look *look, struct job_found *found, bool safe)
{
  struct job_identity *identity = &found->identity;
  bool here = look->root[0] == '\0' && !safe;
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
take_found (struct worker_query *query, const struct look *look, const struct job_identity *identity,
            const struct buffer *cgroup, bool denied)
{
  struct job_found *found = memory_new (1, sizeof *found + cgroup->length);

  found->identity = *identity;
  found->uid = owner_of (look, query->pid);
  found->payer = query->user;
  found->denied = denied;
  check_user (look, found, query->safe);
  found->cgroup_length = cgroup->length;
  if (cgroup->length)
    memcpy (found->cgroup, cgroup->data, cgroup->length);
  query->found = found;
  query->result = LOOK_JOB;
}

static void
answer_look (void *context, struct worker_query *query)
{
  struct look *look = context;
  struct buffer environment = { 0 }, cgroup = { 0 };
  struct job_identity identity;
  int no_cgroup = read_whole (look, query->pid, "cgroup", &cgroup);
  int failed = query->safe ? -EACCES : read_whole (look, query->pid, "environ", &environment);
  bool denied = failed == -EACCES || failed == -EPERM;

  leave_out_spoofed (look, &cgroup);
  if (no_cgroup && failed && !denied)
    query->result = LOOK_GONE;
  else if (job_identify (environment.data, environment.length, cgroup.data, cgroup.length, look->variables,
                         &identity) ||
           identity.folder[0])
    take_found (query, look, &identity, &cgroup, denied);
  else
    query->result = denied && owner_of (look, query->pid) != 0 ? LOOK_DENIED : LOOK_NONE;
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
look_forget (struct worker_query *query)
{
  free (query->found);
}

static void
look_close (void *context)
{
  struct look *look = context;

  cgroup_mounts_destroy (look->mounts);
  pthread_mutex_destroy (&look->mutex);
  free (look->root);
  free (look->variables);
  free (look);
}

static const struct job_work identifying = {
  .name = "job_identity", .user = payer_of, .answer = answer_look, .forget = look_forget, .close = look_close
};
static const struct job_work measuring = {
  .name = "job_pss", .user = payer_of, .answer = answer_rollup, .close = look_close
};

static struct job_worker *
create (const struct job_work *work, const char *root, const char *variables, int64_t stuck_ns)
{
  struct look *look = memory_new (1, sizeof *look);

  look->root = memory_string (root);
  look->variables = memory_string (variables);
  pthread_mutex_init (&look->mutex, NULL);
  return job_worker_create (work, look, stuck_ns);
}

struct job_worker *
job_look_create (const char *root, const char *variables, int64_t stuck_ns)
{
  return create (&identifying, root, variables, stuck_ns);
}

struct job_worker *
job_rollup_create (const char *root, int64_t stuck_ns)
{
  return create (&measuring, root, NULL, stuck_ns);
}
