/* "agent bench-node": measures what this machine can do at most. */
#ifndef SYNOP_AGENT_BENCH_COMMAND_H
#define SYNOP_AGENT_BENCH_COMMAND_H

/* argv[0] is "bench-node". Returns the exit code. */
int bench_command (int argc, char **argv);

#endif
