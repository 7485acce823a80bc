/* The protocol of sd_notify(3): each datagram holds lines of NAME=VALUE; nothing is answered.
 *
 *   READY=1                          it has started; or a reload is over
 *   RELOADING=1\nMONOTONIC_USEC=n    a reload begins, at that time of CLOCK_MONOTONIC
 *   STOPPING=1                       it is about to end
 *   STATUS=sentence
 *   WATCHDOG=1                       the main loop turns
 *
 * $NOTIFY_SOCKET is a path, or "@" and a name without a file. Written here to keep libsystemd off compute nodes. */
#include "synop/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define STATUS_MAX 512 /* an error's text */

struct notify {
  int fd;
  struct sockaddr_un address;
  socklen_t address_length;
  struct loop_timer *timer; /* NULL: no watchdog */
  int64_t half_ns;          /* half of the watchdog's timeout */
  bool ready, complained;
  char status[STATUS_MAX]; /* the last one */
};

/* A change of state waits up to a second for a busy manager; what is sent again anyway does not wait. */
static void
notify_send (struct notify *notify, const char *text, int flags)
{
  ssize_t sent;

  while ((sent = sendto (notify->fd, text, strlen (text), flags | MSG_NOSIGNAL,
                         (const struct sockaddr *) &notify->address, notify->address_length)) < 0 &&
         errno == EINTR)
    ;
  if (sent < 0 && !notify->complained)
    log_warning ("the service manager cannot be notified: %s", strerror (errno));
  notify->complained = sent < 0;
}

static void
notify_alive (void *context, int64_t due_ns)
{
  struct notify *notify = context;

  (void) due_ns;
  notify_send (notify, "WATCHDOG=1", MSG_DONTWAIT);
  loop_timer_set (notify->timer, clock_monotonic () + notify->half_ns);
}

static int
address_read (struct notify *notify, const char *name)
{
  size_t length = strlen (name);
  bool abstract = name[0] == '@';

  if ((!abstract && name[0] != '/') || length < 2 || length >= sizeof notify->address.sun_path)
    return -1;
  notify->address.sun_family = AF_UNIX;
  memcpy (notify->address.sun_path, name, length);
  if (abstract)
    notify->address.sun_path[0] = 0;
  /* An abstract socket's name is all bytes given, a path ends with its NUL. */
  notify->address_length = (socklen_t) (offsetof (struct sockaddr_un, sun_path) + length + !abstract);
  return 0;
}

/* Nanoseconds, 0 for none. $WATCHDOG_PID names the process that it is for. */
static int64_t
watchdog_read (const char *patience, const char *pid)
{
  char *end;
  unsigned long long us;

  if (!patience || patience[0] < '0' || patience[0] > '9' || (pid && strtoll (pid, NULL, 10) != getpid ()))
    return 0;
  errno = 0;
  us = strtoull (patience, &end, 10);
  return *end || errno || us > INT64_MAX / 1000 ? 0 : (int64_t) us * 1000;
}

struct notify *
notify_create (struct loop *loop)
{
  const char *name = getenv ("NOTIFY_SOCKET");
  struct notify *notify = name && *name ? memory_new (1, sizeof *notify) : NULL;
  struct timeval patience = { .tv_sec = 1 };

  if (notify &&
      (address_read (notify, name) < 0 || (notify->fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)) {
    log_warning ("NOTIFY_SOCKET: \"%s\" is no socket: the service manager is not notified", name);
    free (notify);
    notify = NULL;
  }
  if (notify)
    setsockopt (notify->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (notify && loop) {
    notify->half_ns = watchdog_read (getenv ("WATCHDOG_USEC"), getenv ("WATCHDOG_PID")) / 2;
    if (notify->half_ns > 0) {
      notify->timer = loop_timer_add (loop, notify_alive, notify);
      loop_timer_set (notify->timer, clock_monotonic ());
    }
  }
  unsetenv ("NOTIFY_SOCKET");
  unsetenv ("WATCHDOG_USEC");
  unsetenv ("WATCHDOG_PID");
  return notify;
}

void
notify_destroy (struct notify *notify)
{
  if (!notify)
    return;
  loop_timer_remove (notify->timer);
  close (notify->fd);
  free (notify);
}

void
notify_ready (struct notify *notify)
{
  if (!notify || notify->ready)
    return;
  notify->ready = true;
  notify_send (notify, "READY=1", 0);
}

/* Until it is ready it is starting, not reloading. */
void
notify_reloading (struct notify *notify)
{
  char text[64];

  if (!notify || !notify->ready)
    return;
  snprintf (text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_monotonic () / 1000);
  notify_send (notify, text, 0);
}

void
notify_reloaded (struct notify *notify)
{
  if (notify && notify->ready)
    notify_send (notify, "READY=1", 0);
}

void
notify_stopping (struct notify *notify)
{
  if (notify)
    notify_send (notify, "STOPPING=1", 0);
}

static void
status_send (struct notify *notify, char *status, int flags)
{
  char text[STATUS_MAX + 8];

  status[strcspn (status, "\n")] = 0; /* a second line would be another assignment of the protocol */
  if (strcmp (status, notify->status) == 0)
    return;
  strcpy (notify->status, status);
  snprintf (text, sizeof text, "STATUS=%s", status);
  notify_send (notify, text, flags);
}

void
notify_status (struct notify *notify, const char *format, ...)
{
  char status[STATUS_MAX];
  va_list arguments;

  if (!notify)
    return;
  va_start (arguments, format);
  vsnprintf (status, sizeof status, format, arguments);
  va_end (arguments);
  status_send (notify, status, MSG_DONTWAIT);
}

void
notify_failed (struct notify *notify, const struct error *why)
{
  struct notify *own = notify ? NULL : notify_create (NULL);
  char status[STATUS_MAX];

  if (!notify && !own)
    return;
  snprintf (status, sizeof status, "%s", why->text);
  status_send (notify ? notify : own, status, 0); /* it is sent once, without a wait */
  notify_destroy (own);
}
