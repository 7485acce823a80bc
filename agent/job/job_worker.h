/* Threads for what may hang: reading the environment or the memory map of a process waits for as long as a dead file
 * server, or a user's own file system (FUSE), holds the process's memory. Queries go in, answers come out at some time,
 * and the caller never waits.
 *
 * One thread answers one query after the other. A query that takes longer than `stuck_ns` is given up: it is answered as
 * `given_up`, and another thread goes on with those behind it. The hanging thread is left alone, and counts against the
 * user whose process it waits for. Queries of a user who holds JOB_WORKER_HUNG_PER_USER threads are given up at once
 * until one of them comes back; and with JOB_WORKER_HUNG threads held those of all users are. So a user's
 * processes cost the others JOB_WORKER_HUNG_PER_USER * stuck_ns of delay at most, and threads do not pile up. */
#ifndef SYNOP_AGENT_JOB_WORKER_H
#define SYNOP_AGENT_JOB_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JOB_WORKER_HUNG_PER_USER 2
#define JOB_WORKER_HUNG 16
#define JOB_WORKER_STUCK_NS (INT64_C (3) * 1000 * 1000 * 1000)
#define JOB_WORKER_QUERIES 65536 /* waiting ones */

struct worker_query {
  pid_t pid;
  uint64_t start; /* of the process, as the caller knows it */
  unsigned tries; /* a count of the caller's */
  bool safe;      /* reads only what cannot hang: never given up */
  /* The answer. */
  uint32_t user; /* charged for a thread that hangs */
  bool given_up; /* the members below are not set */
  int result;
  void *found; /* owned by the taker */
  uint64_t values[2];
  int64_t taken_ns;
};

struct job_work {                              /* the functions are called in threads, sometimes in several at once */
  const char *name;                            /* of the threads, at most 15 characters */
  uint32_t (*user) (void *context, pid_t pid); /* whose process it is; must not hang */
  void (*answer) (void *context, struct worker_query *query);
  void (*forget) (struct worker_query *query); /* frees `found`; NULL: there is none */
  void (*close) (void *context);
};

struct job_worker;
/* `work` must outlive it. `stuck_ns` 0: JOB_WORKER_STUCK_NS. */
struct job_worker *job_worker_create (const struct job_work *work, void *context, int64_t stuck_ns);
/* Never waits for a query that hangs: its thread goes on alone and frees everything at its end. */
void job_worker_destroy (struct job_worker *worker);

/* Takes pid, start, tries and safe. False: too many wait already, or no thread could be started. */
bool job_worker_ask (struct job_worker *worker, const struct worker_query *query);
/* The answers since the last call, valid until the next one. */
size_t job_worker_take (struct job_worker *worker, struct worker_query **answers);
/* How many threads hang; *user, if there are any: whose processes most of them wait for. */
unsigned job_worker_hung (struct job_worker *worker, uint32_t *user);
/* Waits until all queries are answered, at most until `deadline_ns` (clock_monotonic). False: they are not. */
bool job_worker_wait (struct job_worker *worker, int64_t deadline_ns);

#endif
