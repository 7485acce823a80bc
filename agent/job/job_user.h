/* The limit on jobs, shared by users.
 *
 * Whoever can start a process can have it name a job, so jobs that only a process or its user vouches for share the
 * limit. Below the limit a user may have any number of jobs; at the limit the user who has most loses one to a user who
 * has fewer. Jobs of root, and those in the cgroup of a scheduler, go before all of these. And a user begins at most
 * JOB_USER_BURST such jobs at once, and then one in JOB_USER_PAUSE_NS; further ones wait.
 *
 * Pure: no file is opened and no clock is read. */
#ifndef SYNOP_AGENT_JOB_USER_H
#define SYNOP_AGENT_JOB_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_USER_BURST 32
#define JOB_USER_PAUSE_NS (INT64_C (2) * 1000 * 1000 * 1000)

struct job_user {
  uint32_t uid;
  uint32_t jobs;  /* that it has in the limit */
  int64_t due_ns; /* up to then its jobs last, if each takes JOB_USER_PAUSE_NS */
};

struct job_users { /* all zeros: empty */
  struct job_user *list;
  size_t count, capacity;
};

void job_users_free (struct job_users *users);

/* False: that user has begun too many lately. */
bool job_users_may_begin (struct job_users *users, uint32_t uid, int64_t now_ns);
void job_users_add (struct job_users *users, uint32_t uid, int64_t now_ns); /* a job has begun */
void job_users_remove (struct job_users *users, uint32_t uid);              /* it has ended */
uint32_t job_users_count (const struct job_users *users, uint32_t uid);
/* The user with most jobs; NULL when nobody has any. Valid until the next call. */
const struct job_user *job_users_most (const struct job_users *users);

#endif
