/* What the service manager hears: a socket of the test's own plays it, as a path and as an abstract name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/notify.h"
#include "tests/unit/test_folder.h"

#define LIMIT_MS 60000

struct manager {
  int fd;
  char folder[TEST_FOLDER_SIZE], name[2 * TEST_FOLDER_SIZE];
  struct loop *loop;
};

static int
manager_open (struct manager *manager, bool abstract)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  socklen_t length;

  *manager = (struct manager){ 0 };
  test_folder_make (manager->folder);
  snprintf (manager->name, sizeof manager->name, "%s%s", abstract ? "@" : manager->folder,
            abstract ? manager->folder : "/notify");
  strcpy (address.sun_path, manager->name);
  length = (socklen_t) (offsetof (struct sockaddr_un, sun_path) + strlen (manager->name) + !abstract);
  if (abstract)
    address.sun_path[0] = 0;
  manager->fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  assert_int_equal (bind (manager->fd, (const struct sockaddr *) &address, length), 0);
  manager->loop = loop_create ();
  setenv ("NOTIFY_SOCKET", manager->name, 1);
  return 0;
}

static void
manager_close (struct manager *manager)
{
  close (manager->fd);
  if (manager->name[0] == '/')
    unlink (manager->name);
  rmdir (manager->folder);
  loop_destroy (manager->loop);
  unsetenv ("NOTIFY_SOCKET");
}

static const char *
heard (const struct manager *manager, char *text)
{
  ssize_t got = recv (manager->fd, text, 511 + strlen ("STATUS="), MSG_DONTWAIT);

  text[got > 0 ? got : 0] = 0;
  return text;
}

static void
talk (bool abstract)
{
  struct manager manager;
  struct notify *notify;
  char text[600];
  int64_t before_us = clock_monotonic () / 1000, us = 0;

  manager_open (&manager, abstract);
  notify = notify_create (manager.loop);
  assert_non_null (notify);
  assert_null (getenv ("NOTIFY_SOCKET"));

  notify_reloading (notify); /* it is starting yet */
  notify_reloaded (notify);
  assert_string_equal (heard (&manager, text), "");
  notify_status (notify, "%d of %d\nMAINPID=1", 1, 2);
  assert_string_equal (heard (&manager, text), "STATUS=1 of 2");
  notify_status (notify, "1 of 2");
  assert_string_equal (heard (&manager, text), "");
  notify_ready (notify);
  assert_string_equal (heard (&manager, text), "READY=1");
  notify_ready (notify);
  assert_string_equal (heard (&manager, text), "");

  notify_reloading (notify);
  assert_int_equal (sscanf (heard (&manager, text), "RELOADING=1\nMONOTONIC_USEC=%" SCNd64, &us), 1);
  assert_in_range (us, before_us, clock_monotonic () / 1000);
  notify_reloaded (notify);
  assert_string_equal (heard (&manager, text), "READY=1");
  notify_stopping (notify);
  assert_string_equal (heard (&manager, text), "STOPPING=1");
  notify_destroy (notify);
  manager_close (&manager);
}

static void
test_path (void **state)
{
  (void) state;
  talk (false);
}

static void
test_abstract (void **state)
{
  (void) state;
  talk (true);
}

static void
test_long_status (void **state)
{
  struct manager manager;
  struct notify *notify;
  char text[600], much[700];

  (void) state;
  memset (much, 'x', sizeof much);
  manager_open (&manager, true);
  notify = notify_create (manager.loop);
  notify_status (notify, "%.*s", (int) sizeof much, much);
  assert_int_equal (strlen (heard (&manager, text)), strlen ("STATUS=") + 511);
  notify_destroy (notify);
  manager_close (&manager);
}

/* Of a program that has come to a loop, and of one that has not. */
static void
test_failed (void **state)
{
  struct error why = { "agent.ini:2: [agent] period: expected\na duration" };
  struct manager manager;
  struct notify *notify;
  char text[600];

  (void) state;
  manager_open (&manager, true);
  setenv ("WATCHDOG_USEC", "20000", 1);
  notify_failed (NULL, &why);
  assert_string_equal (heard (&manager, text), "STATUS=agent.ini:2: [agent] period: expected");
  notify_failed (NULL, &why); /* the variable is gone */
  assert_string_equal (heard (&manager, text), "");
  setenv ("NOTIFY_SOCKET", manager.name, 1);
  notify = notify_create (manager.loop);
  notify_failed (notify, &why);
  assert_string_equal (heard (&manager, text), "STATUS=agent.ini:2: [agent] period: expected");
  notify_destroy (notify);
  manager_close (&manager);
}

static void
test_nobody (void **state)
{
  struct loop *loop = loop_create ();
  static const char *const wrong[] = { "", "relative", "@", "/", "vsock:2:1" };
  char path[300];

  (void) state;
  unsetenv ("NOTIFY_SOCKET");
  assert_null (notify_create (loop));
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    setenv ("NOTIFY_SOCKET", wrong[i], 1);
    assert_null (notify_create (loop));
    assert_null (getenv ("NOTIFY_SOCKET"));
  }
  memset (path, 'x', sizeof path - 1);
  path[0] = '/';
  path[sizeof path - 1] = 0;
  setenv ("NOTIFY_SOCKET", path, 1);
  assert_null (notify_create (loop));
  notify_ready (NULL);
  notify_status (NULL, "nobody");
  notify_reloading (NULL);
  notify_reloaded (NULL);
  notify_stopping (NULL);
  notify_destroy (NULL);
  loop_destroy (loop);
}

/* A manager that went, and comes back at its name, as systemd does when it executes itself anew. */
static void
test_gone (void **state)
{
  struct manager manager, other;
  struct notify *notify;
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  char text[600];

  (void) state;
  manager_open (&manager, false);
  notify = notify_create (manager.loop);
  close (manager.fd);
  notify_ready (notify); /* a line in the log, no more */
  unlink (manager.name);
  strcpy (address.sun_path, manager.name);
  other = manager;
  other.fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  assert_int_equal (bind (other.fd, (const struct sockaddr *) &address, sizeof address), 0);
  notify_stopping (notify);
  assert_string_equal (heard (&other, text), "STOPPING=1");
  notify_destroy (notify);
  manager_close (&other);
}

/* ---- the watchdog ---- */

struct watch {
  struct manager *manager;
  int signs;
};

static void
hear_sign (void *context, uint32_t events)
{
  struct watch *watch = context;
  char text[600];

  (void) events;
  assert_string_equal (heard (watch->manager, text), "WATCHDOG=1");
  if (++watch->signs == 5)
    loop_stop (watch->manager->loop);
}

static void
test_watchdog (void **state)
{
  struct manager manager;
  struct watch watch = { .manager = &manager };
  struct notify *notify;
  struct loop_watch *hearing;
  char pid[24];
  int64_t begun_ns;

  (void) state;
  manager_open (&manager, true);
  snprintf (pid, sizeof pid, "%d", (int) getpid ());
  setenv ("WATCHDOG_USEC", "20000", 1);
  setenv ("WATCHDOG_PID", pid, 1);
  notify = notify_create (manager.loop);
  assert_null (getenv ("WATCHDOG_USEC"));
  assert_null (getenv ("WATCHDOG_PID"));
  hearing = loop_watch_add (manager.loop, manager.fd, POLLIN, hear_sign, &watch);
  begun_ns = clock_monotonic ();
  loop_run (manager.loop);
  assert_true (clock_monotonic () - begun_ns >= 4 * 10 * NS_PER_MS); /* at once, then at half of it */
  loop_watch_remove (hearing);
  notify_destroy (notify);
  manager_close (&manager);
}

static void
stop_loop (void *loop, int64_t due_ns)
{
  (void) due_ns;
  loop_stop (loop);
}

/* No sign of life is due for another process, or for a time that is none. */
static void
test_no_watchdog (void **state)
{
  static const char *const wrong[][2] = {
    { "20000", "1" },
    { "0", "" },
    { "", "" },
    { "soon", "" },
    { "-5", "" },
    { "1s", "" },
    { "99999999999999999999", "" },
  };
  char text[600], pid[24];

  (void) state;
  snprintf (pid, sizeof pid, "%d", (int) getpid ());
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct manager manager;
    struct notify *notify;
    struct loop_timer *timer;

    manager_open (&manager, true);
    setenv ("WATCHDOG_USEC", wrong[i][0], 1);
    setenv ("WATCHDOG_PID", wrong[i][1][0] ? wrong[i][1] : pid, 1);
    notify = notify_create (manager.loop);
    assert_non_null (notify);
    timer = loop_timer_add (manager.loop, stop_loop, manager.loop);
    loop_timer_set (timer, clock_monotonic () + NS_PER_MS);
    loop_run (manager.loop);
    assert_string_equal (heard (&manager, text), "");
    loop_timer_remove (timer);
    notify_destroy (notify);
    manager_close (&manager);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_path),     cmocka_unit_test (test_abstract),    cmocka_unit_test (test_long_status),
    cmocka_unit_test (test_failed),   cmocka_unit_test (test_nobody),      cmocka_unit_test (test_gone),
    cmocka_unit_test (test_watchdog), cmocka_unit_test (test_no_watchdog),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
