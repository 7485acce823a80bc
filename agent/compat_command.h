/* "synop-agent --compat neuron-monitor [-c FILE] [--verbose N]": this node's values as another tool writes them, so that
 * scripts made for it go on. So does the agent under that tool's name. */
#ifndef SYNOP_AGENT_COMPAT_COMMAND_H
#define SYNOP_AGENT_COMPAT_COMMAND_H

#include <stdbool.h>

bool compat_is_asked (int argc, char **argv);
int compat_command (int argc, char **argv);

#endif
