/* A thread for what may hang: reading the environment or the memory map of a process that is stuck in the kernel waits
 * for as long as that lasts. Queries go in, answers come out at some time, and who asks never waits.
 *
 * A query that hangs delays those behind it for ten seconds; then another thread goes on with them, up to
 * JOB_WORKER_THREADS in all. So threads do not pile up, and that many stuck processes stop the worker and nothing else. */
#ifndef SYNOP_AGENT_JOB_WORKER_H
#define SYNOP_AGENT_JOB_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JOB_WORKER_THREADS 4
#define JOB_WORKER_QUERIES 65536 /* that wait */

struct job_query {
  pid_t pid;
  uint64_t start; /* the process's, as who asks knows it */
  unsigned tries; /* who asks may count here */
  /* The answer: what the function made of it. */
  int result;
  void *found; /* owned by who takes it */
  uint64_t values[2];
  int64_t taken_ns;
};

struct job_work {
  const char *name;                                        /* of the thread, at most 15 characters */
  void (*answer) (void *context, struct job_query *query); /* in a thread; sometimes in several at once */
  void (*forget) (struct job_query *query);                /* frees `found`; NULL: there is none */
  void (*close) (void *context);
  int64_t stuck_ns; /* after that another thread goes on; 0: ten seconds */
};

struct job_worker;
struct job_worker *job_worker_create (const struct job_work *work, void *context); /* `work` must outlive it */
/* Never waits for a query that hangs: its thread is left to itself and frees all at its end. */
void job_worker_destroy (struct job_worker *worker);

/* False when too many wait already, or there can be no thread. */
bool job_worker_ask (struct job_worker *worker, pid_t pid, uint64_t start, unsigned tries);
/* The answers since the last call, valid until the next one. */
size_t job_worker_take (struct job_worker *worker, struct job_query **answers);
/* Waits until all queries are answered, at most until `deadline_ns` (clock_monotonic). False: they are not. */
bool job_worker_wait (struct job_worker *worker, int64_t deadline_ns);

#endif
