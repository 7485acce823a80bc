/* Events of jobs, as lines: {"type":"job","event":"started",...}. docs/stream.md has an example of each. */
#ifndef SYNOP_AGGREGATOR_JOB_LINE_H
#define SYNOP_AGGREGATOR_JOB_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"
#include "synop/json.h"

#define JOB_LINE_TYPE "job"
#define JOB_LABEL_MAX 128 /* bytes */

enum job_text { JOB_SCHEDULER, JOB_USER, JOB_NAME, JOB_COMMAND, JOB_ARRAY, JOB_TEXTS };

enum job_event {
  JOB_STARTED,
  JOB_NODE,    /* a node more */
  JOB_RESUMED, /* it was gone, and is shown again */
  JOB_ENDED,
  JOB_FACTS /* of its scheduler */
};

struct job_line {
  enum job_event event;
  int64_t key;     /* of its row in the history; 0: not known */
  int64_t time_ns; /* of the start, of the node's first frame with it, else of the report */
  const char *label;
  const char *const *texts; /* JOB_TEXTS */
  double cpus;              /* NaN: unknown */
  int64_t started_ns;
  const char *const *nodes; /* of JOB_NODE one */
  size_t node_count;
  int64_t ended_ns;      /* of JOB_ENDED, like the rest */
  const char *reason;    /* gone, told, restart */
  const char *summary;   /* JSON */
  size_t summary_length; /* bytes */
  const char *facts;     /* JSON; of JOB_FACTS */
  const char *line; /* as it was written: of one that is read from the history. Then all that is known beside it is what
                          * happened, when, and of JOB_NODE where; texts are "". Else NULL */
  size_t line_length;
};

extern const char *const job_text_names[JOB_TEXTS]; /* "scheduler": in lines, and in the metrics of job_info */

/* A line from the history, with its time and node (NULL: none); both pointers must outlive it. */
void job_line_stored (struct job_line *line, int64_t time_ns, const char *const *node, const char *text, size_t length);
void job_line_write (struct json *json, const struct job_line *line);        /* a whole line with its newline */
int job_label_check (const char *label, size_t length, struct error *error); /* 0: a valid id of a job */

#endif
