/* The texts of a trace: its path, made of a template, and the configuration for Kineto. Pure. */
#ifndef SYNOP_AGENT_TRACE_TEXT_H
#define SYNOP_AGENT_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/traces/kineto_messages.h"
#include "agent/traces/traces.h"
#include "synop/error.h"

struct trace_words {
  const char *job, *node;
  int32_t rank; /* -1: none, {rank} is pidPID */
  pid_t pid;
};

/* Fills in the words; a '/' in one of them becomes '_'. -1 and error: the template, or the path that results. */
int trace_path (const char *template, const struct trace_words *words, char path[TRACES_PATH_MAX + 1],
                struct error *error);
/* Does it lie below one of the folders "A,B", by its words alone? Sets where the part behind that folder begins. -1 and error. */
int trace_path_check (const char *path, const char *folders, size_t *behind, struct error *error);
/* Where Kineto writes: since some version it puts its own process id before ".json". False: at that path in all versions. */
bool trace_path_kineto (const char *path, pid_t pid, char other[TRACES_PATH_MAX + 1]);

/* The lines of a request: KEY=VALUE of what a process may be asked, none of what the request says otherwise. -1 and error. */
int trace_config_check (enum traces_tool tool, const char *config, struct error *error);
/* The value of a key among these lines; "" and false: it is not there. */
bool trace_config_find (const char *config, const char *key, char *value, size_t size);

/* Kineto's configuration, for a start at that millisecond, which is `left_ns` away. 0: it is too late for that start. */
size_t trace_config (char text[KINETO_ANSWER_MAX], const struct traces_request *request, const char *path,
                     int64_t start_wall_ns, int64_t left_ns);

#endif
