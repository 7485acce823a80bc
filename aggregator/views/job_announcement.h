/* The announcement of a job's start or end, by a prolog or epilog or a user (`synop-aggregator job`). A scheduler's (root's, or
 * that of the users who run its prologs) may be about any job; another user's only about jobs of that user. */
#ifndef SYNOP_AGGREGATOR_JOB_ANNOUNCEMENT_H
#define SYNOP_AGGREGATOR_JOB_ANNOUNCEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct job_announcement {
  const char *label;
  const char *user, *name; /* "": unknown. Of an end: only jobs of this user; `name` is not used */
  bool scheduler;
  uint32_t uid; /* who announces it */
  bool start;   /* else its end */
};

#endif
