/* The event loop: order, precision, and that callbacks may remove anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/loop.h"

struct scene {
  struct loop *loop;
  struct loop_watch *watches[2];
  struct loop_timer *timers[3];
  int fds[2];
  int runs[3];
  int order[8], length;
  int64_t due, ran;
};

static void
note (struct scene *scene, int what)
{
  if (scene->length < 8)
    scene->order[scene->length++] = what;
}

static void
stop (void *context, int64_t due_ns)
{
  struct scene *scene = context;
  scene->due = due_ns;
  scene->ran = clock_monotonic ();
  note (scene, 9);
  loop_stop (scene->loop);
}

static void
first (void *context, int64_t due_ns)
{
  (void) due_ns;
  note (context, 1);
}

static void
second (void *context, int64_t due_ns)
{
  (void) due_ns;
  note (context, 2);
}

static void
timers_run_in_order_of_time (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  int64_t now = clock_monotonic ();
  struct loop_timer *last = loop_timer_add (scene.loop, stop, &scene);
  struct loop_timer *one = loop_timer_add (scene.loop, first, &scene);
  struct loop_timer *two = loop_timer_add (scene.loop, second, &scene);
  loop_timer_set (last, now + 3 * NS_PER_MS);
  loop_timer_set (two, now + 2 * NS_PER_MS);
  loop_timer_set (one, now + 1 * NS_PER_MS);
  loop_run (scene.loop);
  assert_int_equal (scene.length, 3);
  assert_int_equal (scene.order[0], 1);
  assert_int_equal (scene.order[1], 2);
  assert_int_equal (scene.order[2], 9);
  assert_true (scene.due == now + 3 * NS_PER_MS);
  assert_true (scene.ran >= scene.due);
  loop_destroy (scene.loop);
}

/* Of ten tries at odd instants one must be better than a millisecond, which epoll_wait alone cannot do. */
static void
timers_are_finer_than_milliseconds (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  struct loop_timer *timer = loop_timer_add (scene.loop, stop, &scene);
  int64_t best = INT64_MAX;
  for (int i = 0; i < 10; i++) {
    loop_timer_set (timer, clock_monotonic () + 300 * 1000);
    loop_run (scene.loop);
    assert_true (scene.ran >= scene.due);
    if (scene.ran - scene.due < best)
      best = scene.ran - scene.due;
  }
  assert_true (best < 600 * 1000);
  loop_destroy (scene.loop);
}

static void
again_in_the_past (void *context, int64_t due_ns)
{
  struct scene *scene = context;
  scene->runs[0]++;
  loop_timer_set (scene->timers[0], due_ns);
}

static void
readable_stop (void *context, uint32_t events)
{
  struct scene *scene = context;
  assert_true (events & EPOLLIN);
  loop_stop (scene->loop);
}

static void
a_late_timer_starves_nobody (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  int fd = eventfd (1, EFD_NONBLOCK);
  scene.timers[0] = loop_timer_add (scene.loop, again_in_the_past, &scene);
  loop_timer_set (scene.timers[0], -5);
  loop_watch_add (scene.loop, fd, EPOLLIN, readable_stop, &scene);
  loop_run (scene.loop);
  assert_in_range (scene.runs[0], 1, 2);
  close (fd);
  loop_destroy (scene.loop);
}

static void
remove_both_timers (void *context, int64_t due_ns)
{
  struct scene *scene = context;
  (void) due_ns;
  scene->runs[0]++;
  for (int i = 0; i < 2; i++) {
    loop_timer_remove (scene->timers[i]);
    scene->timers[i] = NULL;
  }
  loop_timer_remove (NULL);
}

static void
a_timer_may_remove_itself_and_its_twin (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  int64_t now = clock_monotonic ();
  for (int i = 0; i < 2; i++) {
    scene.timers[i] = loop_timer_add (scene.loop, remove_both_timers, &scene);
    loop_timer_set (scene.timers[i], now);
  }
  loop_timer_set (loop_timer_add (scene.loop, stop, &scene), now + NS_PER_MS);
  loop_run (scene.loop);
  assert_int_equal (scene.runs[0], 1);
  loop_destroy (scene.loop);
}

static void
remove_both_watches (void *context, uint32_t events)
{
  struct scene *scene = context;
  (void) events;
  scene->runs[0]++;
  for (int i = 0; i < 2; i++) {
    loop_watch_remove (scene->watches[i]);
    close (scene->fds[i]);
    scene->watches[i] = NULL;
  }
  loop_watch_remove (NULL);
}

static void
a_watch_may_remove_itself_and_its_twin (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  for (int i = 0; i < 2; i++) {
    scene.fds[i] = eventfd (1, EFD_NONBLOCK);
    scene.watches[i] = loop_watch_add (scene.loop, scene.fds[i], EPOLLIN, remove_both_watches, &scene);
  }
  loop_timer_set (loop_timer_add (scene.loop, stop, &scene), clock_monotonic () + NS_PER_MS);
  loop_run (scene.loop);
  assert_int_equal (scene.runs[0], 1);
  loop_destroy (scene.loop);
}

static void
count_writable (void *context, uint32_t events)
{
  struct scene *scene = context;
  assert_true (events & EPOLLOUT);
  if (++scene->runs[0] == 3)
    loop_watch_change (scene->watches[0], EPOLLIN);
}

static void
a_watch_may_change (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  int fd = eventfd (0, EFD_NONBLOCK);
  scene.watches[0] = loop_watch_add (scene.loop, fd, EPOLLOUT, count_writable, &scene);
  loop_timer_set (loop_timer_add (scene.loop, stop, &scene), clock_monotonic () + 5 * NS_PER_MS);
  loop_run (scene.loop);
  assert_int_equal (scene.runs[0], 3);
  loop_watch_remove (scene.watches[0]);
  close (fd);
  loop_destroy (scene.loop);
}

static void
a_file_cannot_be_watched (void **state)
{
  (void) state;
  struct loop *loop = loop_create ();
  int fd = open ("/etc/passwd", O_RDONLY | O_CLOEXEC);
  assert_true (fd >= 0);
  assert_null (loop_watch_add (loop, fd, EPOLLIN, readable_stop, NULL));
  assert_int_equal (errno, EPERM);
  close (fd);
  loop_destroy (loop);
}

static void
on_signal (void *context, int signal)
{
  struct scene *scene = context;
  note (scene, signal);
  if (scene->length == 2)
    loop_stop (scene->loop);
}

static void
signals_come_through_the_loop (void **state)
{
  (void) state;
  struct scene scene = { .loop = loop_create () };
  loop_signal (scene.loop, SIGUSR1, on_signal, &scene);
  loop_signal (scene.loop, SIGUSR2, on_signal, &scene);
  kill (getpid (), SIGUSR1);
  kill (getpid (), SIGUSR2);
  loop_run (scene.loop);
  assert_int_equal (scene.length, 2);
  assert_int_equal (scene.order[0] + scene.order[1], SIGUSR1 + SIGUSR2);
  loop_destroy (scene.loop);
}

static void
destroy_takes_null (void **state)
{
  (void) state;
  loop_destroy (NULL);
}

int
main (void)
{
  cmocka_set_message_output (CM_OUTPUT_TAP);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (timers_run_in_order_of_time),
    cmocka_unit_test (timers_are_finer_than_milliseconds),
    cmocka_unit_test (a_late_timer_starves_nobody),
    cmocka_unit_test (a_timer_may_remove_itself_and_its_twin),
    cmocka_unit_test (a_watch_may_remove_itself_and_its_twin),
    cmocka_unit_test (a_watch_may_change),
    cmocka_unit_test (a_file_cannot_be_watched),
    cmocka_unit_test (signals_come_through_the_loop),
    cmocka_unit_test (destroy_takes_null),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
