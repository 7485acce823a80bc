/* "agent run --job NAME -- COMMAND": a job where there is no scheduler. */
#ifndef SYNOP_AGENT_RUN_COMMAND_H
#define SYNOP_AGENT_RUN_COMMAND_H

/* argv[0] is "run". Becomes the command; returns an exit code when it cannot. To be called before anything changed how
 * signals and standard output are handled, since the command inherits that. */
int run_command (int argc, char **argv);

#endif
