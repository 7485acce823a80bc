/* /proc/self/mountinfo, for its cgroup hierarchies:
 *
 *   33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
 *   41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
 *   id parent device root point options [optional fields] - type source options of the file system
 *
 * `root` is not "/" in a container that has a part of the hierarchy: paths are then below that. */
#include "agent/job/cgroup_mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/source/mounts.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define DEVICES_MAX 256

struct hierarchy {
  char *top, *point;
  char *controllers; /* "rw,cpu,cpuacct"; NULL: cgroup v2 */
};

struct cgroup_mounts {
  char *root;
  struct reader reader;
  struct buffer text;
  struct hierarchy *list;
  size_t count;
  struct {
    unsigned major, minor;
    bool stacked;
  } devices[DEVICES_MAX];
  size_t device_count;
};

static void
take_line (struct cgroup_mounts *mounts, char *line)
{
  const char *top, *point, *word, *type, *options;
  struct hierarchy *hierarchy;

  for (int i = 0; i < 3; i++)
    mounts_field (&line);
  top = mounts_field (&line);
  point = mounts_field (&line);
  do
    word = mounts_field (&line);
  while (*word && strcmp (word, "-") != 0);
  type = mounts_field (&line);
  mounts_field (&line);
  options = mounts_field (&line);
  if (*point != '/' || *options == '\0' || (strcmp (type, "cgroup") != 0 && strcmp (type, "cgroup2") != 0))
    return;
  mounts->list = memory_resize (mounts->list, mounts->count + 1, sizeof *mounts->list);
  hierarchy = &mounts->list[mounts->count++];
  hierarchy->top = memory_string (top);
  hierarchy->point = memory_string (point);
  hierarchy->controllers = strcmp (type, "cgroup") == 0 ? memory_string (options) : NULL;
}

static void
forget (struct cgroup_mounts *mounts)
{
  for (size_t i = 0; i < mounts->count; i++) {
    free (mounts->list[i].top);
    free (mounts->list[i].point);
    free (mounts->list[i].controllers);
  }
  mounts->count = mounts->device_count = 0;
}

void
cgroup_mounts_refresh (struct cgroup_mounts *mounts)
{
  char *line, *rest;

  forget (mounts);
  reader_read (&mounts->reader, &mounts->text);
  for (line = strtok_r (mounts->text.data, "\n", &rest); line; line = strtok_r (NULL, "\n", &rest))
    take_line (mounts, line);
}

struct cgroup_mounts *
cgroup_mounts_create (const char *root)
{
  struct cgroup_mounts *mounts = memory_new (1, sizeof *mounts);

  mounts->root = memory_string (root);
  reader_init (&mounts->reader, root, "/proc/self/mountinfo");
  cgroup_mounts_refresh (mounts);
  return mounts;
}

void
cgroup_mounts_destroy (struct cgroup_mounts *mounts)
{
  if (mounts == NULL)
    return;
  forget (mounts);
  free (mounts->list);
  buffer_free (&mounts->text);
  reader_free (&mounts->reader);
  free (mounts->root);
  free (mounts);
}

/* Whether the list with commas has that item. */
static bool
list_has (const char *list, size_t length, const char *word)
{
  const char *at = list, *end = list + length;

  while (at < end) {
    const char *comma = memchr (at, ',', (size_t) (end - at));
    const char *stop = comma ? comma : end;
    if ((size_t) (stop - at) == strlen (word) && memcmp (at, word, strlen (word)) == 0)
      return true;
    at = stop + 1;
  }
  return false;
}

bool
cgroup_line_has (const struct cgroup_line *line, const char *controller)
{
  return list_has (line->controllers, line->controllers_length, controller);
}

/* The path leads out of the reader's cgroup namespace: its folder cannot be found from here. */
static bool
leads_out (const char *path, size_t length)
{
  for (size_t i = 0; i + 3 <= length; i++)
    if (memcmp (path + i, "/..", 3) == 0 && (i + 3 == length || path[i + 3] == '/'))
      return true;
  return false;
}

/* `above`: how many of the bytes are the path of the hierarchy's mount. */
static char *
find_folder (const struct cgroup_mounts *mounts, const struct cgroup_line *line, const char *controller, size_t length,
             size_t *above)
{
  if (leads_out (line->path, length))
    return NULL;
  while (length != 0 && line->path[length - 1] == '/')
    length--;
  for (size_t i = 0; i < mounts->count; i++) {
    const struct hierarchy *hierarchy = &mounts->list[i];
    size_t top = strcmp (hierarchy->top, "/") == 0 ? 0 : strlen (hierarchy->top);
    if (controller ? hierarchy->controllers == NULL ||
                         !list_has (hierarchy->controllers, strlen (hierarchy->controllers), controller)
                   : hierarchy->controllers != NULL)
      continue;
    if (length < top || memcmp (line->path, hierarchy->top, top) != 0 || (length > top && line->path[top] != '/'))
      continue;
    *above = strlen (mounts->root) + strlen (hierarchy->point);
    return memory_format ("%s%s%.*s", mounts->root, hierarchy->point, (int) (length - top), line->path + top);
  }
  return NULL;
}

char *
cgroup_mounts_folder (const struct cgroup_mounts *mounts, const struct cgroup_line *line, const char *controller,
                      size_t length)
{
  size_t above;

  return find_folder (mounts, line, controller, length, &above);
}

bool
cgroup_mounts_made_by_user (const struct cgroup_mounts *mounts, const struct cgroup_line *line, size_t length)
{
  char *controller = memory_format ("%.*s", (int) line->controllers_length, line->controllers), *path, *slash;
  struct stat top, folder;
  size_t above;
  bool by_user = false;

  controller[strcspn (controller, ",")] = '\0'; /* one of them leads to the hierarchy */
  path = find_folder (mounts, line, line->unified ? NULL : controller, length, &above);
  free (controller);
  if (!path)
    return false;
  slash = strchr (path + above, '/');
  path[above] = '\0';
  if (stat (path, &top) == 0)
    while (slash && !by_user) {
      *slash = '/';
      slash = strchr (slash + 1, '/');
      if (slash)
        *slash = '\0';
      by_user = lstat (path, &folder) < 0 || folder.st_uid != top.st_uid;
    }
  free (path);
  return by_user;
}

static bool
find_is_stacked (const struct cgroup_mounts *mounts, unsigned major, unsigned minor)
{
  static const char *const signs[] = { "dm", "md", "loop" };
  bool stacked = false;

  for (size_t i = 0; i < sizeof signs / sizeof *signs && !stacked; i++) {
    char path[4096];
    snprintf (path, sizeof path, "%s/sys/dev/block/%u:%u/%s", mounts->root, major, minor, signs[i]);
    stacked = access (path, F_OK) == 0;
  }
  return stacked;
}

bool
cgroup_mounts_is_stacked (struct cgroup_mounts *mounts, unsigned major, unsigned minor)
{
  bool stacked;

  for (size_t i = 0; i < mounts->device_count; i++)
    if (mounts->devices[i].major == major && mounts->devices[i].minor == minor)
      return mounts->devices[i].stacked;
  stacked = find_is_stacked (mounts, major, minor);
  if (mounts->device_count == DEVICES_MAX)
    mounts->device_count = 0;
  mounts->devices[mounts->device_count].major = major;
  mounts->devices[mounts->device_count].minor = minor;
  mounts->devices[mounts->device_count++].stacked = stacked;
  return stacked;
}
