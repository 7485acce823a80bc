/* Profilers: how each is called. They run as the job's user, and find their programs in fixed folders. */
#ifndef SYNOP_AGENT_TRACE_TOOL_H
#define SYNOP_AGENT_TRACE_TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/traces/traces.h"
#include "synop/child.h"
#include "synop/error.h"

#define TOOL_PIDS_MAX 256

struct tool_run {
  enum traces_tool tool;
  const char *path; /* of its file */
  const pid_t *pids;
  size_t pid_count;
  int64_t duration_ns;
  const char *config;
  const char *const *groups;
  const char *program, *node; /* this program */
  const struct child_user *user;
};

bool tool_is_per_process (enum traces_tool tool);
/* What the tool puts behind the path that it is given. */
const char *tool_suffix (enum traces_tool tool);
/* -1 and error: it is not installed, or cannot be started. */
int tool_start (struct child *child, const struct tool_run *run, struct error *error);
/* Checks the options of `counters`. */
int tool_check_counters (const char *config, const char *const *groups, struct error *error);
/* Where it is in the folders "A:B"; false: it is not there. */
bool tool_find (const char *name, const char *folders, char *path, size_t size);

#endif
