/* How "agent run" says to the agent of its node that its command has ended, and with what code: a datagram to a UNIX socket,
 * whose sender the kernel names. Whoever may run a job may send one; it counts for his own jobs alone. */
#ifndef SYNOP_AGENT_RUN_END_H
#define SYNOP_AGENT_RUN_END_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/job/job_identity.h"
#include "synop/error.h"

#define RUN_END_SOCKET "/run/synop-agent/run"

struct run_end {
  char job[JOB_LABEL_SIZE];
  uint32_t uid;       /* of the sender */
  unsigned exit_code; /* 128 and the number of a signal that ended it */
};

/* The agent's end; -1 and error. A socket that nobody listens at is replaced. */
int run_end_listen (const char *path, struct error *error);
void run_end_close (int fd, const char *path); /* -1 is fine */
/* The next that has come; false: there is none. What is no such message is left out. */
bool run_end_take (int fd, struct run_end *end);

/* The other end; -1: no agent listens there. */
int run_end_connect (const char *path);
void run_end_send (int fd, const char *job, unsigned exit_code);

#endif
