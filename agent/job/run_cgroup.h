/* A cgroup folder of its own for what "agent run" starts. */
#ifndef SYNOP_AGENT_RUN_CGROUP_H
#define SYNOP_AGENT_RUN_CGROUP_H

#include <stdbool.h>

#include "agent/job/job_identity.h"

/* Whether this process belongs to a job already, and to which, whatever its environment will say. */
bool run_cgroup_find_job (struct job_identity *identity);

/* Moves this process into folders of the job with that id: one in each hierarchy that counts something and permits it.
 * Returns whether there is at least one; the reasons of failures are logged at level debug. */
bool run_cgroup_enter (const char *id);

#endif
