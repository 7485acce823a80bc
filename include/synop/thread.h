/* Threads, and conditions on our own clock. */
#ifndef SYNOP_THREAD_H
#define SYNOP_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts a thread with all signals blocked: they are for the main thread. `stack` in bytes, 0: the default. Without `thread`
 * it is detached. Returns 0, or an errno. */
int thread_start (pthread_t *thread, size_t stack, void *(*run) (void *context), void *context);

/* A condition that is waited for until a time of CLOCK_MONOTONIC. */
void thread_condition_init (pthread_cond_t *condition);

#endif
