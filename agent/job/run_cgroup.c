/* The folder is made below the one that this process is in, so that all limits of that one go on to hold. The job's id is in
 * its name; a job that is started twice at a time has one folder.
 *
 * The command replaces this process, so nobody removes the folder when it has ended: the next "agent run" removes empty
 * folders. It may remove ours between making and entering it: then ours is made again.
 *
 * In cgroup v2 a folder with processes cannot give its children controllers. This process requests memory and io for them
 * when it has left its folder: that works if it was alone there, as in a service or a scope of its own, or in the root.
 * Elsewhere the new folder counts CPU time only, which every folder of v2 does. */
#include "agent/job/run_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job/cgroup_mounts.h"
#include "agent/job/job_identity.h"
#include "agent/source/reader.h"
#include "synop/log.h"
#include "synop/memory.h"

#define TRIES 10

bool
run_cgroup_find_job (struct job_identity *identity)
{
  struct buffer environment = { 0 }, cgroup = { 0 };
  struct reader reader;
  bool found;

  reader_init (&reader, "", "/proc/self/environ");
  reader_read (&reader, &environment);
  reader_free (&reader);
  reader_init (&reader, "", "/proc/self/cgroup");
  reader_read (&reader, &cgroup);
  reader_free (&reader);
  found = job_identify (environment.data, environment.length, cgroup.data, cgroup.length, NULL, identity) &&
          (identity->scheduler != JOB_SYNOP || identity->by_cgroup);
  buffer_free (&environment);
  buffer_free (&cgroup);
  return found;
}

static int
write_file (const char *folder, const char *name, const char *text)
{
  char *path = memory_format ("%s/%s", folder, name);
  int fd = open (path, O_WRONLY | O_CLOEXEC | O_NONBLOCK), failed = errno;

  free (path);
  if (fd < 0) {
    errno = failed;
    return -1;
  }
  failed = write (fd, text, strlen (text)) < 0 ? errno : 0;
  close (fd);
  errno = failed;
  return failed == 0 ? 0 : -1;
}

/* Removes the folders of commands that ended. The kernel keeps one that has processes. */
static void
remove_empty (const char *parent)
{
  DIR *list = opendir (parent);
  const struct dirent *entry;

  while (list && (entry = readdir (list)) != NULL)
    if (strncmp (entry->d_name, JOB_FOLDER_PREFIX, strlen (JOB_FOLDER_PREFIX)) == 0)
      unlinkat (dirfd (list), entry->d_name, AT_REMOVEDIR);
  if (list)
    closedir (list);
}

static bool
enter (const char *parent, const char *id)
{
  char *folder = memory_format ("%s/" JOB_FOLDER_PREFIX "%s", parent, id);
  int result = -1;

  remove_empty (parent);
  for (int i = 0; i < TRIES && result != 0; i++) {
    if (mkdir (folder, 0755) != 0 && errno != EEXIST)
      break;
    result = write_file (folder, "cgroup.procs", "0");
    if (result != 0 && errno != ENOENT && errno != ENODEV)
      break;
  }
  if (result != 0) {
    log_debug ("run: %s: %s", folder, strerror (errno));
    rmdir (folder); /* unless another job is in it */
  } else
    log_debug ("run: entered %s", folder);
  free (folder);
  return result == 0;
}

static void
request_controllers (const char *parent)
{
  static const char *const all[] = { "+memory", "+io" };

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (write_file (parent, "cgroup.subtree_control", all[i]) != 0)
      log_debug ("run: %s/cgroup.subtree_control: %s: %s", parent, all[i], strerror (errno));
}

static bool
enter_line (const struct cgroup_mounts *mounts, const struct cgroup_line *line, const char *id)
{
  static const char *const controllers[] = { "cpuacct", "memory", "blkio" };
  const char *controller = NULL;
  bool entered = false;
  char *parent;

  for (size_t i = 0; i < sizeof controllers / sizeof *controllers && !controller && !line->unified; i++)
    if (cgroup_line_has (line, controllers[i]))
      controller = controllers[i];
  if (!controller && !line->unified)
    return false;
  parent = cgroup_mounts_folder (mounts, line, controller, line->path_length);
  if (parent)
    entered = enter (parent, id);
  if (entered && line->unified)
    request_controllers (parent);
  free (parent);
  return entered;
}

bool
run_cgroup_enter (const char *id)
{
  struct cgroup_mounts *mounts = cgroup_mounts_create ("");
  struct cgroup_line line;
  struct reader reader;
  struct buffer text = { 0 };
  const char *at;
  bool entered = false;

  reader_init (&reader, "", "/proc/self/cgroup");
  if (reader_read (&reader, &text) == 0 && text.length != 0)
    for (at = text.data; cgroup_line_next (&at, text.data + text.length, &line);)
      entered |= enter_line (mounts, &line, id);
  reader_free (&reader);
  buffer_free (&text);
  cgroup_mounts_destroy (mounts);
  return entered;
}
