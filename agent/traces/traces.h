/* Traces of the processes of jobs: PyTorch's profiler by Kineto's datagrams, other profilers, bursts of our own samples.
 *
 * All of it happens in a thread and in children of its own; nothing here waits. These functions are for the sampling thread,
 * in which alone the job scan may be asked. There is no deadline to watch: traces_fd becomes readable when there is
 * progress to take. */
#ifndef SYNOP_AGENT_TRACES_H
#define SYNOP_AGENT_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/job/job_identity.h"
#include "agent/traces/traces_settings.h"
#include "synop/error.h"

#define TRACES_ID_MAX 64    /* bytes: letters, digits, '-', '_', '.' */
#define TRACES_PATH_MAX 512 /* of a path, once its words are filled in */
#define TRACES_CONFIG_MAX 2048
#define TRACES_RANKS_MAX 4096 /* that a request names */
#define TRACES_ANCESTORS 8
#define TRACES_ERROR_MAX 255
#define TRACES_WORD_MAX 64 /* of a group's name */

enum traces_tool {
  TRACES_KINETO,
  TRACES_COUNTERS,
  TRACES_PERF,
  TRACES_PY_SPY,
  TRACES_NSYS,
  TRACES_ROCPROF,
  TRACES_TOOLS
};
extern const char
    *const traces_tool_names[TRACES_TOOLS + 1]; /* "kineto", "counters", "perf", "py-spy", ...; NULL at the end */

enum traces_state {
  TRACES_FOUND,        /* takes part */
  TRACES_BEGUN,        /* Kineto: the process has its configuration and the start has passed */
  TRACES_ENDED,        /* the file is complete: path, size */
  TRACES_FAILED,       /* error says why, and what helps */
  TRACES_UNREGISTERED, /* is of the job, like one that takes part, but has never registered: error has the remedy */
};
extern const char *const traces_state_names[]; /* "found", "begun", "ended", "failed", "unregistered" */

/* Who knows jobs; both are called in the sampling thread, from within the functions below. */
struct traces_jobs {
  void *context;
  const char *(*job_of) (void *context, pid_t pid); /* its job's label; NULL: none */
  size_t (*pids_of) (void *context, const char *job, pid_t *pids, size_t most);
};

struct traces_options {
  const char *node;                       /* for {node} */
  const struct traces_settings *settings; /* [traces], copied */
  const char *const *groups;              /* the names of all groups, for `counters`; NULL at the end */
  struct traces_jobs jobs;
  const char *program; /* this program, which `counters` runs; NULL: /proc/self/exe */
};

struct traces_request {
  uint64_t id;
  const char *job; /* its label, as in job_info's rows */
  enum traces_tool tool;
  const int32_t *ranks; /* of these processes alone; rank_count 0: of all. Kineto and py-spy */
  size_t rank_count;
  uint32_t limit;      /* processes of this node at most; 0: all */
  int64_t start_ns;    /* on this node's CLOCK_MONOTONIC */
  int64_t duration_ns; /* or, Kineto alone, */
  uint32_t iterations; /* when not 0 */
  const char *config;  /* KEY=VALUE lines; of `counters`: groups=a,b and period=20ms */
  const char *path;    /* with {job} {node} {rank} {pid}; other braces are an error */
};

struct traces_progress {
  uint64_t id;
  pid_t pid;    /* 0: the node as a whole (counters, perf, nsys, rocprof; a request that failed as a whole) */
  int32_t rank; /* -1: not known, or the node as a whole */
  uid_t uid;
  int32_t device; /* -1: not known */
  enum traces_tool tool;
  enum traces_state state;
  int64_t begun_ns; /* CLOCK_MONOTONIC: when it began, or is to begin by the process's own wall clock; 0: it has not */
  uint64_t size;
  size_t of; /* records of the request, of different processes, on this node; 0: none, nor is this one */
  bool last; /* of this request on this node: nothing follows, all have ended or failed */
  char path[TRACES_PATH_MAX + 1];
  char error[TRACES_ERROR_MAX + 1];
};

/* A process that has registered. */
struct traces_process {
  pid_t pid;
  int32_t rank; /* -1: not known */
  uid_t uid;
  int32_t device;           /* GPU, as the process numbers them; -1: not known */
  char job[JOB_LABEL_SIZE]; /* "": of none that is known */
  pid_t ancestors[TRACES_ANCESTORS];
  size_t ancestor_count;
  bool busy; /* a trace of it is under way */
};

struct traces;
/* NULL and error: the settings are wrong. Not to be called unless settings->enabled. */
struct traces *traces_create (const struct traces_options *options, struct error *error);
/* Ends what runs: children are killed, files stay as they are. NULL is fine. Waits for the thread, which waits for nothing. */
void traces_close (struct traces *traces);

int traces_fd (const struct traces *traces); /* readable (EPOLLIN): progress can be taken */
/* Each request ends with a record that is `last`, also one that fails here: -1 and error is for what is malformed. A request
 * with the id of one that is known is the same one: 0, and nothing begins anew. */
int traces_begin (struct traces *traces, const struct traces_request *request, struct error *error);
/* Children end, configurations that nobody has fetched yet are withdrawn. What has not ended becomes failed: "cancelled". */
void traces_cancel (struct traces *traces, uint64_t id);
bool traces_take (struct traces *traces, struct traces_progress *progress); /* false: no more for now */
/* The processes that have registered, at most so many: returns how many. */
size_t traces_list (struct traces *traces, struct traces_process *list, size_t most);

#endif
