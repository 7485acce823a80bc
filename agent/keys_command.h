/* "agent keys init": makes this node's keys. */
#ifndef SYNOP_AGENT_KEYS_COMMAND_H
#define SYNOP_AGENT_KEYS_COMMAND_H

/* argv[0] is "keys". Returns the exit code. */
int agent_keys_command (int argc, char **argv);

#endif
