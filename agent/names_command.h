/* "agent names SET...": checks names files. */
#ifndef SYNOP_AGENT_NAMES_COMMAND_H
#define SYNOP_AGENT_NAMES_COMMAND_H

/* argv[0] is "names". Returns the exit code. */
int names_command (int argc, char **argv);

#endif
