/* Opening and closing the events of jobs in a thread of its own: the kernel takes tens to hundreds of microseconds for each,
 * and a job in a cgroup has thousands where there are many CPUs. One list is opened at a time. */
#ifndef SYNOP_AGENT_JOB_OPENER_H
#define SYNOP_AGENT_JOB_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/counters/counters.h"

struct opening {
  void *owner; /* the caller's */
  uint32_t uid;
  char *folder; /* of a cgroup, which is taken over; NULL: */
  pid_t pid;    /* a process with the threads that it has */
  /* The answer. */
  struct counter_set *set; /* of one row; it is the taker's, who sets NULL */
  uint64_t ticks;          /* since the machine was started, when all were open */
  int failure;             /* -errno; 0: none */
};

struct openings { /* `{0}` is empty */
  struct opening *list;
  size_t count, room;
  struct opener_user { /* those of the list */
    uint32_t uid;
    size_t events; /* that are open */
  } * users;
  size_t user_count, user_room;
  uint64_t ticks; /* what is answered as such; 0: the time */
};
void openings_free (struct openings *openings);

struct job_opener;
/* All must outlive it. */
struct job_opener *job_opener_create (struct counters *counters, const struct counter_plan *plan);
void job_opener_destroy (struct job_opener *opener); /* soon: what is not open yet is left */

/* Is there no list that is being opened, or is to be taken? */
bool job_opener_is_free (struct job_opener *opener);
/* Takes the list over. `cpus` stays as it is until the list was taken. A user has at most half of the descriptors. */
void job_opener_open (struct job_opener *opener, const struct openings *openings, const struct counter_cpus *cpus);
/* False: no list has been opened since the last call. */
bool job_opener_take (struct job_opener *opener, struct openings *openings);
/* Closes its events, and frees it. */
void job_opener_close (struct job_opener *opener, struct counter_set *set);
/* Waits until all of that is done, at most until that time (clock_monotonic). */
void job_opener_wait (struct job_opener *opener, int64_t deadline_ns);

#endif
