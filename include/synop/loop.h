/* One thread's event loop over epoll: file descriptors, timers, signals. Callbacks run in the thread that called
 * loop_run. A callback may add, change and remove watches and timers, its own too. */
#ifndef SYNOP_LOOP_H
#define SYNOP_LOOP_H

#include <stdint.h>

struct loop;
struct loop_watch;
struct loop_timer;

typedef void (*loop_fd_fn) (void *context, uint32_t events);   /* events: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */
typedef void (*loop_timer_fn) (void *context, int64_t due_ns); /* due_ns: when it should have run, CLOCK_MONOTONIC */
typedef void (*loop_signal_fn) (void *context, int signal);

struct loop *loop_create (void);
void loop_destroy (struct loop *loop);

/* The loop does not own `fd`; remove the watch before closing it. NULL with errno when it cannot be watched: EPERM for a
 * regular file, which is always ready. */
struct loop_watch *loop_watch_add (struct loop *loop, int fd, uint32_t events, loop_fd_fn run, void *context);
void loop_watch_change (struct loop_watch *watch, uint32_t events);
void loop_watch_remove (struct loop_watch *watch); /* NULL is fine */

/* A timer runs once at `due_ns` on CLOCK_MONOTONIC, and again only when it is set again. INT64_MAX: at rest. */
struct loop_timer *loop_timer_add (struct loop *loop, loop_timer_fn run, void *context);
void loop_timer_set (struct loop_timer *timer, int64_t due_ns);
void loop_timer_remove (struct loop_timer *timer); /* NULL is fine */

/* Blocks `signal` for the process (threads started later inherit that) and runs the callback in the loop. */
void loop_signal (struct loop *loop, int signal, loop_signal_fn run, void *context);

void loop_run (struct loop *loop);  /* until loop_stop */
void loop_stop (struct loop *loop); /* from a callback */

#endif
