/* See job_look.h. Reading /proc/PID/environ or smaps_rollup waits for the lock of the process's memory map, and a
 * process may hold that for as long as a dead file server lasts. So may a directory of users be slow to answer. */
#include "agent/job_look.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job_environment.h"
#include "agent/job_process.h"
#include "synop/buffer.h"
#include "synop/file.h"
#include "synop/memory.h"

#define FILE_MAX (2 * 1024 * 1024) /* of an environment; more of it is not looked at */

struct look {
  char *root, *variables;
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

static uint32_t
owner_of (const struct look *look, pid_t pid)
{
  char path[4096];
  struct stat status;

  snprintf (path, sizeof path, "%s/proc/%d", look->root, (int) pid);
  return stat (path, &status) < 0 ? JOB_UID_UNKNOWN : status.st_uid;
}

/* Most schedulers tell the user's name in the environment; where none does it is the one that this machine knows the user
 * by, or the number. The extern step of SLURM runs as root, whoever's the job is. A recorded machine's users are not
 * this one's. */
static void
name_user (const struct look *look, struct job_found *found)
{
  struct job_identity *identity = &found->identity;
  uint32_t uid = identity->uid != JOB_UID_UNKNOWN ? identity->uid : found->uid;
  struct passwd entry, *known = NULL;
  char text[4096];

  if (identity->user[0] || uid == JOB_UID_UNKNOWN || strcmp (identity->step, "extern") == 0)
    return;
  if (look->root[0] == '\0' && getpwuid_r (uid, &entry, text, sizeof text, &known) == 0 && known)
    text_put ((struct text){ entry.pw_name, strlen (entry.pw_name) }, identity->user, sizeof identity->user);
  else
    snprintf (identity->user, sizeof identity->user, "%u", (unsigned) uid);
}

static void
take_found (struct job_query *query, const struct look *look, const struct job_identity *identity,
            const struct buffer *cgroup, bool denied)
{
  struct job_found *found = memory_new (1, sizeof *found + cgroup->length);

  found->identity = *identity;
  found->uid = owner_of (look, query->pid);
  found->denied = denied;
  name_user (look, found);
  found->cgroup_length = cgroup->length;
  if (cgroup->length)
    memcpy (found->cgroup, cgroup->data, cgroup->length);
  query->found = found;
  query->result = LOOK_JOB;
}

static void
answer_look (void *context, struct job_query *query)
{
  const struct look *look = context;
  struct buffer environment = { 0 }, cgroup = { 0 };
  struct job_identity identity;
  int no_cgroup = read_whole (look, query->pid, "cgroup", &cgroup);
  int failed = read_whole (look, query->pid, "environ", &environment);
  bool denied = failed == -EACCES || failed == -EPERM;

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
answer_rollup (void *context, struct job_query *query)
{
  struct buffer text = { 0 };

  query->result = read_whole (context, query->pid, "smaps_rollup", &text) == 0 &&
                  process_rollup_parse (&query->values[0], &query->values[1], text.data, text.length);
  buffer_free (&text);
}

static void
look_forget (struct job_query *query)
{
  free (query->found);
}

static void
look_close (void *context)
{
  struct look *look = context;

  free (look->root);
  free (look->variables);
  free (look);
}

static const struct job_work identifying = {
  .name = "job_identity", .answer = answer_look, .forget = look_forget, .close = look_close
};
static const struct job_work measuring = { .name = "job_pss", .answer = answer_rollup, .close = look_close };

static struct job_worker *
create (const struct job_work *work, const char *root, const char *variables)
{
  struct look *look = memory_new (1, sizeof *look);

  look->root = memory_string (root);
  look->variables = memory_string (variables);
  return job_worker_create (work, look);
}

struct job_worker *
job_look_create (const char *root, const char *variables)
{
  return create (&identifying, root, variables);
}

struct job_worker *
job_rollup_create (const char *root)
{
  return create (&measuring, root, NULL);
}
