/* neuron-monitor as a child process: started with pipes, killed, reaped. */
#ifndef SYNOP_AGENT_NEURON_CHILD_H
#define SYNOP_AGENT_NEURON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "synop/error.h"

struct neuron_child {
  pid_t pid;    /* 0: none, or reaped */
  int pidfd;    /* readable when it has ended; -1: this kernel has none */
  int out, err; /* its standard output and error, non-blocking; -1: closed */
};

/* `command`: words parted by blanks, the first a path or a name in PATH. `configuration` (may be NULL) is given to it as
 * a file, "-c FILE" behind the words, that no file system holds. It ends with this thread. */
int neuron_child_start (struct neuron_child *child, const char *command, const char *configuration,
                        struct error *error);
void neuron_child_kill (struct neuron_child *child);
/* True when it has ended: `how` says how ("exit code 3"). Closes the pipes then. Never waits. */
bool neuron_child_reap (struct neuron_child *child, char *how, size_t size);

/* Is there such a program in PATH, or where the Neuron packages put theirs? */
bool neuron_program_find (const char *name, char *path, size_t size);

#endif
