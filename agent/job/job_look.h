/* The two questions about a process whose answers may hang, for job_worker.h: which job it belongs to (asked safely: by
 * its cgroups alone), and how much memory it has to itself. */
#ifndef SYNOP_AGENT_JOB_LOOK_H
#define SYNOP_AGENT_JOB_LOOK_H

#include "agent/job/job_identity.h"
#include "agent/job/job_worker.h"

enum job_look { /* result of a query to the identifying worker */
                LOOK_GONE,
                LOOK_NONE,   /* it names no job */
                LOOK_DENIED, /* the same, but it is a user's and its environment may not be read */
                LOOK_JOB,    /* `found` is set */
};

struct job_found {
  struct job_identity identity; /* without a label: only the folder is known */
  uint32_t uid;                 /* of the process */
  uint32_t payer; /* whose share of the jobs it takes: `uid`, or the owner of the user namespace it is in */
  bool denied;    /* the environment could not be read */
  size_t cgroup_length;
  char cgroup[]; /* /proc/PID/cgroup */
};

/* `stuck_ns` as for job_worker_create. */
struct job_worker *job_look_create (const char *root, const char *variables, int64_t stuck_ns);

/* Result 1: values[0] is the PSS and values[1] the USS, in bytes. */
struct job_worker *job_rollup_create (const char *root, int64_t stuck_ns);

#endif
