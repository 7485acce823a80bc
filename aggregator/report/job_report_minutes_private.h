/* What the files of a long job's minutes share: job_report_minutes.c reads and adds them, job_report_minutes_choose.c chooses
 * them by what they have, job_report_minutes_chunks.c by the node's chunks. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_MINUTES_PRIVATE_H
#define SYNOP_AGGREGATOR_JOB_REPORT_MINUTES_PRIVATE_H

#include "aggregator/report/job_report_minutes.h"

#define HOUR_MINUTES 60

enum { NOT_IN_HOUR, MAYBE_IN_HOUR, IN_HOUR };

struct minute {
  uint16_t samples;   /* of the job */
  uint8_t idle, used; /* how many of the job's GPUs, and 1; 0: not known */
  bool closed : 1;    /* its frames are read */
  bool shared : 1;    /* another job had samples */
  bool gone : 1;      /* the job had no process in some sample */
  uint8_t hour;       /* is it read as a part of its hour? */
};

struct node_minutes {
  struct minute *list; /* NULL: all frames are read */
  int64_t bare;        /* how many of the first ones have no frames any more: they are open */
  double period;       /* of these: seconds from one sample to the next */
  bool unread;         /* it has no frames at all */
  bool gpus;           /* all that are open say how many GPUs are idle */
  bool given_up;       /* only the bare ones are open */
};

struct job_minutes {
  struct job_scene *scene;
  const struct job_walk *walk;
  int64_t first, count;       /* minutes since 1970 */
  bool is_long;               /* else only bare minutes are read */
  struct node_minutes *nodes; /* of the report */
  struct metric *adopted;     /* of each item, which no frame had */
  size_t current;             /* the node that is read, and its chunks */
  struct walk_chunk *chunks;
  size_t chunk_count;
  bool chosen, again;
};

/* A series of the tier that is wanted: of a quantity, or of what shows that a minute is like any other. */
enum liveness { SAMPLES, PROCESSES, IDLE_GPUS, USED_GPUS, GPU_ERRORS, CPUS, LIVENESS };
struct wanted {
  struct job_minutes *minutes;
  struct job_tally *tally; /* of the quantity; NULL: it is of liveness */
  size_t node, item;
  bool of_job;
  enum liveness liveness;
};

/* The frames of these minutes are read. */
void job_minutes_close (const struct job_minutes *minutes, size_t node, int64_t from, int64_t to);
/* The minutes of a node that has a list are open, but for those that its chunks close. */
void job_minutes_open (const struct job_minutes *minutes, size_t node, const struct walk_chunk *chunks, size_t count);
/* How many of the first ones no chunk is left of, up to that in which the first chunk begins. */
int64_t job_minutes_without_chunks (const struct job_minutes *minutes, const struct walk_chunk *chunks, size_t count);
/* Closes those that are not like the others; which are read in hours. */
void job_minutes_choose_all (struct job_minutes *minutes);
/* What the bare minutes of a node show of its gaps. */
void job_minutes_begin_bare (const struct job_minutes *minutes, size_t node);
void job_minutes_take_liveness (const struct wanted *wanted, const struct history_point *point);
/* Asks for it, of minutes or of hours. */
int job_minutes_ask (struct job_minutes *minutes, enum history_tier tier, enum liveness liveness, struct error *error);

#endif
