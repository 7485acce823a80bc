/* The mounted file systems: /proc/self/mountinfo (or /proc/mounts) without the pseudo ones, each file system once. */
#ifndef SYNOP_AGENT_MOUNTS_H
#define SYNOP_AGENT_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* Pseudo file systems, listed in the documentation too. By type: without storage, or only the copy of another's
 * (overlay; it stays when it is the root, as a container's), or always full by nature (squashfs). By mount point:
 * memory file systems that services make for themselves and nobody fills. */
#define MOUNTS_PSEUDO_TYPES                                                                                            \
  "autofs bdev binfmt_misc bpf cgroup cgroup2 configfs cpuset debugfs devfs devpts devtmpfs efivarfs fusectl "         \
  "fuse.gvfsd-fuse fuse.lxcfs fuse.portal fuse.snapfuse hugetlbfs iso9660 mqueue nfsd none nsfs overlay pipefs proc "  \
  "pstore resctrl rootfs rpc_pipefs securityfs selinuxfs smackfs sockfs squashfs sysfs tracefs usbfs"
#define MOUNTS_PSEUDO_POINTS "/proc/*,/sys/*,/run/credentials/*,/run/user/*" /* globs */

struct mount { /* the texts lie in struct mounts */
  const char *point;
  const char *type;
  const char *device;
  const char *id;   /* "8:1": the same in two mounts of one file system; "" when not known */
  const char *root; /* the mounted folder of the file system: "/" is all of it */
  bool read_only;
  bool remote; /* served by a server or a process: it may hang */
  bool local;  /* answers from memory, as does the path to it: it never hangs */
  bool shared; /* other nodes may have the same one mounted */
  bool layer;  /* a layer over a folder of another one, whose numbers it shows */
  bool again;  /* the same folder as an earlier one in the list */
  bool wanted; /* used while reading: stays in the list */
};

struct mounts { /* `{0}` is an empty one */
  struct mount *list;
  size_t count;
  size_t capacity;
  char *text;
};

enum mounts_format {
  MOUNTS_INFO, /* /proc/self/mountinfo */
  MOUNTS_TABLE /* /proc/mounts */
};

/* Cuts the next field off a line of either and decodes it in place ("\040"); "" at the end. */
char *mounts_field (char **line);

/* Replaces the content of `mounts`. Returns how many lines are left out, malformed or incomplete. `exclude` and
 * `types_exclude`: comma-separated globs of mount points and types; NULL: none. */
size_t mounts_parse (struct mounts *mounts, const char *text, size_t length, enum mounts_format format,
                     const char *exclude, const char *types_exclude);
void mounts_free (struct mounts *mounts);

#endif
