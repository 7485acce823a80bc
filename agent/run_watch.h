/* "agent run" with an agent on its node: stays beside its command, and says how it ended. */
#ifndef SYNOP_AGENT_RUN_WATCH_H
#define SYNOP_AGENT_RUN_WATCH_H

/* Runs `become`, which does not return unless it fails, in a child. Signals are passed on, and this process ends as the
 * child did, after it has said so to the agent at `fd`. Returns an exit code when there can be no child. */
int run_watch (int fd, const char *job, char **command, int (*become) (const char *job, char **command));

#endif
