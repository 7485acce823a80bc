/* What job_report_minutes.c and job_report_minutes_chunks.c share. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_MINUTES_PRIVATE_H
#define SYNOP_AGGREGATOR_JOB_REPORT_MINUTES_PRIVATE_H

#include "aggregator/report/job_report_minutes.h"
#include "synop/globs.h"

struct minute {
  uint16_t samples;   /* of the job */
  uint8_t idle, used; /* how many of the job's GPUs, and 1; 0: not known */
  bool closed;        /* its frames are read */
  bool shared;        /* another job had samples */
};

struct job_minutes {
  struct job_scene *scene;
  const struct job_walk *walk;
  struct globs names;
  int64_t first, count;  /* minutes since 1970 */
  struct minute **lists; /* one a node; NULL: all frames are read */
  bool *gpus;            /* of each node: all that are open say how many GPUs are idle */
  size_t current;        /* the node that is read, and its chunks */
  struct walk_chunk *chunks;
  size_t chunk_count;
  bool chosen, again;
};

/* The frames of these minutes are read. */
void job_minutes_close (const struct job_minutes *minutes, size_t node, int64_t from, int64_t to);
/* The minutes of a node that has a list are open, but for those that its chunks close. */
void job_minutes_open (const struct job_minutes *minutes, size_t node, const struct walk_chunk *chunks, size_t count);

#endif
