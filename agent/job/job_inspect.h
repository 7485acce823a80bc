/* The two queries about a process that may hang, for job_worker.h: which job it belongs to (safely: by its cgroups
 * alone), and how much memory it has to itself. */
#ifndef SYNOP_AGENT_JOB_INSPECT_H
#define SYNOP_AGENT_JOB_INSPECT_H

#include "agent/job/job_identity.h"
#include "agent/job/job_worker.h"

enum job_inspection { /* result of a query to the identifying worker */
                      INSPECTED_GONE,
                      INSPECTED_NONE,   /* it names no job */
                      INSPECTED_DENIED, /* the same, but a user runs it and its environment may not be read */
                      INSPECTED_JOB,    /* `found` is set */
};

struct job_found {
  struct job_identity identity; /* without a label: only the folder is known */
  uint32_t uid;                 /* of the process */
  uint32_t charged_uid; /* in whose share of jobs it counts: `uid`, or the owner of the process's user namespace */
  bool denied;          /* the environment could not be read */
  size_t cgroup_length;
  char cgroup[]; /* /proc/PID/cgroup */
};

/* `stuck_ns` as for job_worker_create. */
struct job_worker *job_inspect_create (const char *root, const char *variables, int64_t stuck_ns);

/* Result 1: values[0] is the PSS and values[1] the USS, in bytes. */
struct job_worker *job_rollup_create (const char *root, int64_t stuck_ns);

#endif
