/* Reads the kernel's list of mounts, and selects those that people call file systems.
 *
 *   mountinfo: 36 35 98:0 /folder /mnt/data rw,noatime master:1 - ext3 /dev/sda1 rw,errors=continue
 *              id parent device root point options [optional fields] - type source options of the file system
 *   mounts:    /dev/sda1 /mnt/data ext3 rw,noatime 0 0
 *
 * Blanks inside a field are octal: "\040". A later mount on the same point hides the earlier one. */
#include "agent/source/mounts.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "synop/array.h"
#include "synop/globs.h"
#include "synop/memory.h"

static const char *const remote_types[] = {
  "9p",      "acfs",     "afs",   "beegfs", "beegfs_*", "ceph",  "cifs",     "coda",   "fuse", "fuse.*",
  "fuseblk", "gfs2",     "gpfs",  "lnfs",   "lustre",   "mmfs",  "ncpfs",    "nfs",    "nfs4", "nfs[0-9]",
  "ocfs2",   "orangefs", "panfs", "pvfs2",  "smb3",     "smbfs", "virtiofs", "wekafs",
};

/* Types whose statvfs waits for no disk. Types that are neither here nor remote are unknown, and so may hang too. */
static const char *const local_types[] = {
  "bcachefs", "btrfs", "erofs",    "exfat", "ext[234]", "f2fs", "jffs2", "jfs", "msdos",
  "nilfs2",   "ramfs", "reiserfs", "tmpfs", "ubifs",    "vfat", "xfs",   "zfs",
};

static const char *const layer_types[] = { "aufs", "ecryptfs", "overlay" };

static bool
in_list (const char *const *list, size_t count, const char *text)
{
  for (size_t i = 0; i < count; i++) /* none begins with a wildcard */
    if (list[i][0] == text[0] && fnmatch (list[i], text, 0) == 0)
      return true;
  return false;
}

#define IN_LIST(list, text) in_list ((list), sizeof (list) / sizeof (list)[0], (text))

static bool
is_pseudo_type (const char *type)
{
  static const char words[] = MOUNTS_PSEUDO_TYPES;
  size_t length = strlen (type);

  for (const char *at = words; length > 0 && (at = strstr (at, type)) != NULL; at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
      return true;
  return false;
}

char *
mounts_field (char **at)
{
  char *field = *at, *to, *from;

  while (*field == ' ')
    field++;
  for (from = to = field; *from && *from != ' '; to++)
    if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
        from[3] <= '7') {
      *to = (char) ((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
      from += 4;
    } else
      *to = *from++;
  *at = *from ? from + 1 : from;
  *to = '\0';
  return field;
}

static bool
options_read_only (const char *options)
{
  return strncmp (options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

static bool
mountinfo_line (struct mount *mount, char *line)
{
  const char *options, *field;

  mounts_field (&line);
  mounts_field (&line);
  mount->id = mounts_field (&line);
  mount->root = mounts_field (&line);
  mount->point = mounts_field (&line);
  options = mounts_field (&line);
  do
    field = mounts_field (&line);
  while (*field && strcmp (field, "-") != 0);
  mount->type = mounts_field (&line);
  mount->device = mounts_field (&line);
  mount->read_only = options_read_only (options) || options_read_only (mounts_field (&line));
  return mount->point[0] == '/' && mount->type[0] && strchr (mount->id, ':');
}

static bool
table_line (struct mount *mount, char *line)
{
  mount->device = mounts_field (&line);
  mount->point = mounts_field (&line);
  mount->type = mounts_field (&line);
  mount->read_only = options_read_only (mounts_field (&line));
  mount->id = mount->device[0] == '/' ? mount->device : "";
  mount->root = "/";
  return mount->point[0] == '/' && mount->type[0];
}

static bool
is_below (const char *point, const char *parent)
{
  while (*parent && *parent == *point)
    parent++, point++;
  return *parent == '\0' && (*point == '/' || *point == '\0');
}

static bool
is_hidden (const struct mounts *mounts, size_t at)
{
  for (size_t i = at + 1; i < mounts->count; i++)
    if (strcmp (mounts->list[i].point, mounts->list[at].point) == 0)
      return true;
  return false;
}

static void
set_kind (struct mount *mount)
{
  mount->remote = IN_LIST (remote_types, mount->type);
  mount->layer = IN_LIST (layer_types, mount->type);
  mount->shared = mount->remote && strcmp (mount->type, "fuseblk") != 0; /* fuseblk is a local disk */
  mount->local = !mount->remote && (IN_LIST (local_types, mount->type) || is_pseudo_type (mount->type));
}

/* The path to a mount below a remote one leads through that one, and so may hang. */
static void
set_way (const struct mounts *mounts, struct mount *mount)
{
  for (size_t i = 0; i < mounts->count; i++) {
    const struct mount *before = &mounts->list[i];
    if (before->local || !is_below (mount->point, before->point))
      continue;
    mount->remote |= before->remote;
    mount->local = false;
  }
}

static bool
is_wanted (const struct mount *mount, const char *exclude, const char *types_exclude)
{
  if (is_pseudo_type (mount->type) && !(strcmp (mount->type, "overlay") == 0 && strcmp (mount->point, "/") == 0))
    return false;
  if (globs_list_matches (MOUNTS_PSEUDO_POINTS, mount->point))
    return false;
  if (types_exclude && globs_list_matches (types_exclude, mount->type))
    return false;
  return !(exclude && globs_list_matches (exclude, mount->point));
}

/* Keeps one mount of each file system: the one that shows all of it, else the first. */
static void
drop_repeated (struct mounts *mounts)
{
  size_t kept = 0;

  for (size_t i = 0; i < mounts->count; i++) {
    struct mount *mount = &mounts->list[i];
    size_t same = 0;

    while (same < kept && !(mount->id[0] && strcmp (mounts->list[same].id, mount->id) == 0))
      same++;
    if (same == kept)
      mounts->list[kept++] = *mount;
    else if (strcmp (mounts->list[same].root, "/") != 0 && strcmp (mount->root, "/") == 0)
      mounts->list[same] = *mount;
  }
  mounts->count = kept;
}

/* Marks repeated mounts of a server's folder: with other options each is a file system of its own to the kernel. */
static void
mark_repeated (struct mounts *mounts)
{
  for (size_t i = 0; i < mounts->count; i++)
    for (size_t k = 0; k < i && mounts->list[i].shared && !mounts->list[i].again; k++)
      mounts->list[i].again = strcmp (mounts->list[k].type, mounts->list[i].type) == 0 &&
                              strcmp (mounts->list[k].device, mounts->list[i].device) == 0;
}

/* Returns how many lines were not understood. */
static size_t
lines_read (struct mounts *mounts, enum mounts_format format)
{
  size_t strange = 0;
  char *end;

  mounts->count = 0;
  for (char *line = mounts->text; *line; line = end + 1) {
    struct mount mount = { 0 };
    end = strchr (line, '\n');
    if (end == NULL)
      return strange + 1;
    *end = '\0';
    if (format == MOUNTS_INFO ? mountinfo_line (&mount, line) : table_line (&mount, line))
      *array_add (mounts->list, mounts->count, mounts->capacity) = mount;
    else
      strange++;
  }
  return strange;
}

size_t
mounts_parse (struct mounts *mounts, const char *text, size_t length, enum mounts_format format, const char *exclude,
              const char *types_exclude)
{
  size_t strange, kept = 0;

  free (mounts->text);
  mounts->text = memory_copy (text, length);
  strange = lines_read (mounts, format);
  for (size_t i = 0; i < mounts->count; i++)
    set_kind (&mounts->list[i]);
  for (size_t i = 0; i < mounts->count; i++) {
    struct mount *mount = &mounts->list[i];
    mount->wanted = is_wanted (mount, exclude, types_exclude) && !is_hidden (mounts, i);
    if (mount->wanted)
      set_way (mounts, mount);
  }
  for (size_t i = 0; i < mounts->count; i++)
    if (mounts->list[i].wanted)
      mounts->list[kept++] = mounts->list[i];
  mounts->count = kept;
  drop_repeated (mounts);
  mark_repeated (mounts);
  return strange;
}

void
mounts_free (struct mounts *mounts)
{
  free (mounts->list);
  free (mounts->text);
  *mounts = (struct mounts){ 0 };
}
