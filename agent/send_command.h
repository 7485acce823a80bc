/* What goes with --send: the child that posts, which the agent starts, and --dry-run. Both return the exit code. */
#ifndef SYNOP_AGENT_SEND_COMMAND_H
#define SYNOP_AGENT_SEND_COMMAND_H

#include "agent/options.h"
#include "synop/schema.h"

struct schema *schema_of_all (void); /* of all groups that there may be */
void schema_of_all_destroy (struct schema *schema);
int send_child_command (void);
int send_dry_run (struct agent_options *options);

#endif
