/* A job as the history holds it: what the core of jobs restores after a restart. */
#ifndef SYNOP_AGGREGATOR_JOB_RECORD_H
#define SYNOP_AGGREGATOR_JOB_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/views/job_facts.h"

struct job_record {
  int64_t key; /* unique, also where a label is used again; grows with time */
  char *label, *scheduler, *user, *name, *command, *array; /* "": unknown */
  char *shown;  /* as people write it: "2_1" of an array, "demo/1": the second of that name */
  uint64_t run; /* how many of its id, user and scheduler are older */
  double cpus;  /* NaN: unknown */
  int64_t started_ns;
  int64_t
      after_ns; /* when the run before it ended, which may be later by the period of its samples; 0: there is none */
  int64_t ended_ns; /* 0: it ran when the history was last written */
  char *reason;     /* gone, told, restart; "" while it runs */
  char *summary;    /* the object of the line "ended"; "" while it runs */
  char *state;      /* of a job that runs: of its last mark, or "" */
  struct job_facts facts;
  int64_t seen_ns; /* of the end or the last mark; its start, if there is neither */
  size_t node_count;
  struct job_record_node {
    char *name;
    int64_t first_ns;
  } * nodes; /* in natural order: n2 before n10 */
};

#endif
