/* The event loop: epoll for descriptors, one timerfd for all timers, one signalfd for all signals.
 *
 * The timerfd is set to the earliest timer's absolute time, so that a timer runs to the microsecond and on any kernel
 * (epoll_pwait2 is younger than some kernels of compute nodes, and epoll_wait counts in milliseconds). Timers are few,
 * one for each group and a handful more, so a plain list is enough.
 *
 * A callback may remove any watch or timer: it is marked dead and freed at the end of the round, so that neither the
 * events of the round nor the walk over the timers meet freed memory. */
#include "synop/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define ROUND_EVENTS 64

struct loop_watch {
  struct loop *loop;
  struct loop_watch *next;
  int fd;
  bool dead;
  loop_fd_fn run;
  void *context;
};

struct loop_timer {
  struct loop *loop;
  struct loop_timer *next;
  int64_t due_ns;
  uint64_t round; /* round in which it last ran: once a round, so that a timer that is always late starves no other */
  bool dead;
  loop_timer_fn run;
  void *context;
};

struct loop {
  int epoll, timer, signal;
  struct loop_watch *watches;
  struct loop_timer *timers;
  struct loop_watch *timer_watch, *signal_watch;
  int64_t armed_ns; /* time that the timerfd is set to; INT64_MAX: disarmed; INT64_MIN: expired */
  uint64_t round;
  bool any_dead, stopped;
  sigset_t signals;
  struct {
    loop_signal_fn run;
    void *context;
  } handlers[_NSIG];
};

/* Ends the program when a call fails that it cannot run without. */
static int
must (int result, const char *call)
{
  if (result < 0) {
    log_error ("%s: %s", call, strerror (errno));
    abort ();
  }
  return result;
}

static void
timer_ran_out (void *context, uint32_t events)
{
  (void) events;
  struct loop *loop = context;
  loop->armed_ns = INT64_MIN; /* setting it also clears the event */
}

struct loop *
loop_create (void)
{
  struct loop *loop = memory_new (1, sizeof *loop);
  loop->epoll = must (epoll_create1 (EPOLL_CLOEXEC), "epoll_create1");
  loop->timer = must (timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create");
  loop->signal = -1;
  loop->armed_ns = INT64_MAX;
  sigemptyset (&loop->signals);
  loop->timer_watch = loop_watch_add (loop, loop->timer, EPOLLIN, timer_ran_out, loop);
  return loop;
}

static void
sweep (struct loop *loop, bool all)
{
  for (struct loop_watch **at = &loop->watches; *at;) {
    struct loop_watch *watch = *at;
    if (all || watch->dead) {
      *at = watch->next;
      free (watch);
    } else
      at = &watch->next;
  }
  for (struct loop_timer **at = &loop->timers; *at;) {
    struct loop_timer *timer = *at;
    if (all || timer->dead) {
      *at = timer->next;
      free (timer);
    } else
      at = &timer->next;
  }
  loop->any_dead = false;
}

void
loop_destroy (struct loop *loop)
{
  if (!loop)
    return;
  sweep (loop, true);
  file_close (&loop->signal);
  close (loop->timer);
  close (loop->epoll);
  free (loop);
}

struct loop_watch *
loop_watch_add (struct loop *loop, int fd, uint32_t events, loop_fd_fn run, void *context)
{
  struct loop_watch *watch = memory_new (1, sizeof *watch);
  *watch = (struct loop_watch){ .loop = loop, .next = loop->watches, .fd = fd, .run = run, .context = context };
  struct epoll_event event = { .events = events, .data.ptr = watch };
  if (epoll_ctl (loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
    free (watch);
    return NULL;
  }
  loop->watches = watch;
  return watch;
}

void
loop_watch_change (struct loop_watch *watch, uint32_t events)
{
  struct epoll_event event = { .events = events, .data.ptr = watch };
  must (epoll_ctl (watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &event), "epoll_ctl");
}

void
loop_watch_remove (struct loop_watch *watch)
{
  if (!watch || watch->dead)
    return;
  epoll_ctl (watch->loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
  watch->dead = watch->loop->any_dead = true;
}

struct loop_timer *
loop_timer_add (struct loop *loop, loop_timer_fn run, void *context)
{
  struct loop_timer *timer = memory_new (1, sizeof *timer);
  *timer =
      (struct loop_timer){ .loop = loop, .next = loop->timers, .due_ns = INT64_MAX, .run = run, .context = context };
  loop->timers = timer;
  return timer;
}

void
loop_timer_set (struct loop_timer *timer, int64_t due_ns)
{
  timer->due_ns = due_ns;
}

void
loop_timer_remove (struct loop_timer *timer)
{
  if (!timer || timer->dead)
    return;
  timer->due_ns = INT64_MAX;
  timer->dead = timer->loop->any_dead = true;
}

static void
signal_arrived (void *context, uint32_t events)
{
  (void) events;
  struct loop *loop = context;
  struct signalfd_siginfo info;
  while (!loop->stopped && read (loop->signal, &info, sizeof info) == sizeof info)
    if (info.ssi_signo < _NSIG && loop->handlers[info.ssi_signo].run)
      loop->handlers[info.ssi_signo].run (loop->handlers[info.ssi_signo].context, (int) info.ssi_signo);
}

void
loop_signal (struct loop *loop, int signal, loop_signal_fn run, void *context)
{
  sigaddset (&loop->signals, signal);
  pthread_sigmask (SIG_BLOCK, &loop->signals, NULL);
  loop->handlers[signal].run = run;
  loop->handlers[signal].context = context;
  loop->signal = must (signalfd (loop->signal, &loop->signals, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  if (!loop->signal_watch)
    loop->signal_watch = loop_watch_add (loop, loop->signal, EPOLLIN, signal_arrived, loop);
}

/* The earliest timer that has not run in this round yet, if it is due at `now`. */
static struct loop_timer *
timer_due (const struct loop *loop, int64_t now)
{
  struct loop_timer *first = NULL;
  for (struct loop_timer *timer = loop->timers; timer; timer = timer->next)
    if (timer->due_ns <= now && timer->round != loop->round && (!first || timer->due_ns < first->due_ns))
      first = timer;
  return first;
}

static void
run_timers (struct loop *loop)
{
  int64_t now = clock_monotonic ();
  struct loop_timer *timer;
  while (!loop->stopped && (timer = timer_due (loop, now))) {
    int64_t due_ns = timer->due_ns;
    timer->due_ns = INT64_MAX;
    timer->round = loop->round;
    timer->run (timer->context, due_ns);
  }
}

static void
arm (struct loop *loop)
{
  int64_t next = INT64_MAX;
  for (const struct loop_timer *timer = loop->timers; timer; timer = timer->next)
    if (timer->due_ns < next)
      next = timer->due_ns;
  if (next < 1)
    next = 1; /* 0 would disarm the timerfd */
  if (next == loop->armed_ns)
    return;
  struct itimerspec when = { 0 };
  if (next != INT64_MAX)
    when.it_value = (struct timespec){ .tv_sec = next / NS_PER_S, .tv_nsec = next % NS_PER_S };
  must (timerfd_settime (loop->timer, TFD_TIMER_ABSTIME, &when, NULL), "timerfd_settime");
  loop->armed_ns = next;
}

void
loop_run (struct loop *loop)
{
  loop->stopped = false;
  while (!loop->stopped) {
    struct epoll_event events[ROUND_EVENTS];
    arm (loop);
    int count = epoll_wait (loop->epoll, events, ROUND_EVENTS, -1);
    if (count < 0 && errno != EINTR)
      must (count, "epoll_wait");
    loop->round++;
    run_timers (loop); /* first, since timers are due at an instant */
    for (int i = 0; i < count && !loop->stopped; i++) {
      struct loop_watch *watch = events[i].data.ptr;
      if (!watch->dead)
        watch->run (watch->context, events[i].events);
    }
    if (loop->any_dead)
      sweep (loop, false);
  }
}

void
loop_stop (struct loop *loop)
{
  loop->stopped = true;
}
