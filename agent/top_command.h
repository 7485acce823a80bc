/* "synop-agent top": this node on the terminal, without an aggregator. */
#ifndef SYNOP_AGENT_TOP_COMMAND_H
#define SYNOP_AGENT_TOP_COMMAND_H

int top_command (int argc, char **argv); /* argv[0] is "top"; returns the exit code */

#endif
