/* Looks after the file of a trace, in a child that is the process's user: file systems of users may hang. */
#ifndef SYNOP_AGENT_TRACE_WATCH_H
#define SYNOP_AGENT_TRACE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "synop/child.h"

enum watch_event {
  WATCH_READY,   /* the folder is there, and its user may write into it; `fresh`: no file is there */
  WATCH_REFUSED, /* errno says why; nothing follows */
  WATCH_FULL,    /* the file system has no room left */
  WATCH_DONE,    /* a file is there, has not grown for a second: size, which */
};

struct watch_report {
  int32_t event, error, which;
  uint64_t size;
};

struct watch_options {
  const struct child_user *user;
  pid_t root;          /* as this process sees the files; 0: as this program does */
  const char *path[2]; /* either; NULL: none */
  size_t behind;       /* what of the path is behind the folder that the administrator names */
  bool fresh;          /* that no file is there is a condition */
};

struct trace_watch {
  pid_t pid; /* 0: none */
  int fd;
};

int trace_watch_start (struct trace_watch *watch, const struct watch_options *options); /* -1 and errno */
bool trace_watch_take (struct trace_watch *watch, struct watch_report *report);         /* false: none for now */
bool trace_watch_has_ended (const struct trace_watch *watch);
void trace_watch_stop (struct trace_watch *watch); /* never waits */

#endif
