/* One cgroup folder of a job: its files, kept open, and what they counted. For job_cgroup.c. */
#ifndef SYNOP_AGENT_JOB_CGROUP_FOLDER_H
#define SYNOP_AGENT_JOB_CGROUP_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/job/job_cgroup.h"
#include "agent/source/reader.h"

/* The hierarchies of cgroup v1 that are read, and the one of v2. */
enum folder_kind {
  FOLDER_CPU,
  FOLDER_MEMORY,
  FOLDER_IO,
  FOLDER_CPUSET,
  FOLDER_DEVICES,
  FOLDER_PERF,
  FOLDER_UNIFIED,
  FOLDER_KINDS
};
const char *folder_controller (enum folder_kind kind); /* NULL for FOLDER_UNIFIED */

#define FOLDER_FILES 7
struct counter {
  uint64_t total, last;
  bool known;
};

struct folder {
  enum folder_kind kind;
  char *path;
  bool gone;
  unsigned readings;
  ino_t inode; /* of its first file; 0: not known */
  struct reader files[FOLDER_FILES];
  bool absent[FOLDER_FILES];
  struct counter time, user, system, user_ticks, system_ticks, kills, read, written;
  struct job_usage usage;
};

void folder_init (struct folder *folder, enum folder_kind kind, char *path); /* takes the path over */
void folder_free (struct folder *folder);
void folder_revive (struct folder *folder); /* a process lies in it: it is there, be it again */
/* Brings `usage` up to date. `text` is for its use. */
void folder_read (struct folder *folder, struct cgroup_mounts *mounts, struct buffer *text);

void usage_clear (struct job_usage *usage); /* nothing is known */

#endif
