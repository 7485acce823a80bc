/* Where cgroup hierarchies are mounted, and so where a path of /proc/PID/cgroup lies in the file system. */
#ifndef SYNOP_AGENT_CGROUP_MOUNTS_H
#define SYNOP_AGENT_CGROUP_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/job/job_identity.h"

struct cgroup_mounts;
struct cgroup_mounts *cgroup_mounts_create (const char *root); /* "" is the machine itself, as for samplers */
void cgroup_mounts_destroy (struct cgroup_mounts *mounts);
/* Reads the mounts again. */
void cgroup_mounts_refresh (struct cgroup_mounts *mounts);

/* The line's hierarchy has this controller of cgroup v1. */
bool cgroup_line_has (const struct cgroup_line *line, const char *controller);
/* The first `length` bytes of the line's path as a folder below the root, to be freed; NULL when its hierarchy is not
 * mounted, or not that part of it. `controller` is NULL for cgroup v2. */
char *cgroup_mounts_folder (const struct cgroup_mounts *mounts, const struct cgroup_line *line, const char *controller,
                            size_t length);

/* Whether the folder, or one above it, belongs to another user than the hierarchy's top. A user to whom a folder was
 * delegated (a service with Delegate=yes and User=, a container of a user) makes others below it, under any name. False
 * where it cannot be known from here; true for a folder that is gone. */
bool cgroup_mounts_made_by_user (const struct cgroup_mounts *mounts, const struct cgroup_line *line, size_t length);

/* A device whose I/O is another device's too (LVM, RAID, loop), so that a sum would have it twice. */
bool cgroup_mounts_is_stacked (struct cgroup_mounts *mounts, unsigned major, unsigned minor);

#endif
