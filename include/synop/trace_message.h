/* What the control messages about traces carry (control.h): a request, and the answers to it. Texts lie in the bytes read. */
#ifndef SYNOP_TRACE_MESSAGE_H
#define SYNOP_TRACE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_JOB_MAX 255
#define TRACE_USER_MAX 64
#define TRACE_TOOL_MAX 32
#define TRACE_OPTIONS_MAX 2048
#define TRACE_PATH_MAX 1023
#define TRACE_ERROR_MAX 255
#define TRACE_RANKS_MAX 64
#define TRACE_RECORDS_MAX 24 /* in one message; more come in further ones */
#define TRACE_DURATION_MAX_NS INT64_C (3600000000000)
#define TRACE_ITERATIONS_MAX 1000000

struct trace_text {
  const char *text; /* not NUL-terminated */
  size_t length;
};

enum trace_kind {
  TRACE_LIST,  /* which processes could be traced; of no job: of all */
  TRACE_BEGIN, /* trace the job's processes; of a request that is known: as TRACE_STATE */
  TRACE_STATE, /* all records of this request once more */
  TRACE_KINDS
};

struct trace_request {
  uint64_t id; /* not 0 */
  enum trace_kind kind;
  struct trace_text job, user, tool; /* user: who asks, for the agent's log */
  struct trace_text options;         /* lines KEY=VALUE of the tool */
  struct trace_text output;          /* of {job}, {node}, {rank}, {pid} and other text */
  size_t rank_count;                 /* 0: all */
  uint32_t ranks[TRACE_RANKS_MAX];
  uint32_t limit;      /* processes on this node; 0: all */
  int64_t start_ns;    /* the node's CLOCK_MONOTONIC */
  int64_t duration_ns; /* 0: iterations are counted */
  uint32_t iterations;
};

enum trace_state {
  TRACE_FOUND,
  TRACE_BEGUN,
  TRACE_ENDED,
  TRACE_FAILED,
  TRACE_UNREGISTERED, /* a process of the job that never registered */
  TRACE_STATES
};

struct trace_record {
  int64_t pid, rank, uid, device; /* -1: not known, but of the pid */
  enum trace_state state;
  int64_t begun_ns; /* the node's CLOCK_MONOTONIC; 0: not yet */
  uint64_t size;    /* bytes of the file */
  struct trace_text job, path, error;
};

enum trace_progress {
  TRACE_MORE,    /* of what was found */
  TRACE_GOES_ON, /* all that was found has been listed; records that follow are changes */
  TRACE_DONE,
  TRACE_REFUSED, /* `error` says why */
  TRACE_PROGRESSES
};

struct trace_answer {
  uint64_t id;
  enum trace_progress progress;
  struct trace_text error;
  size_t count;
  struct trace_record records[TRACE_RECORDS_MAX];
};

static inline struct trace_text
trace_text (const char *text)
{
  size_t length = 0;

  while (text && text[length])
    length++;
  return (struct trace_text){ text, length };
}

#endif
