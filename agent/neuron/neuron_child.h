/* neuron-monitor as a child process: started with pipes, killed, reaped. */
#ifndef SYNOP_AGENT_NEURON_CHILD_H
#define SYNOP_AGENT_NEURON_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/child.h"
#include "synop/error.h"

struct neuron_child {
  struct child child;
  int pidfd; /* readable when it has ended; -1: this kernel has none */
};

/* `command`: arguments separated by blanks, the first a path or a name in PATH. `configuration` (may be NULL) is given to
 * it as a file that no file system holds, "-c FILE" behind the arguments. Its output does not block. */
int neuron_child_start (struct neuron_child *child, const char *command, const char *configuration,
                        struct error *error);
/* True when it has ended: `end` gets the reason ("exit code 3"). Closes the pipes then. Never waits. */
bool neuron_child_reap (struct neuron_child *child, char *end, size_t size);

/* Whether there is such a program in PATH, or where the Neuron packages install theirs. */
bool neuron_program_find (const char *name, char *path, size_t size);

#endif
