/* The room of traces as a whole, and processes as libkineto is in them. */
#ifndef SYNOP_TESTS_TRACES_ROOM_H
#define SYNOP_TESTS_TRACES_ROOM_H

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/traces/kineto_messages.h"
#include "agent/traces/traces.h"
#include "synop/clock.h"
#include "tests/unit/test_folder.h"

#define OTHER 12345
#define LIMIT_MS 60000
#define REFUSED_MS 200 /* for an answer that is not to come */

static char folder[TEST_FOLDER_SIZE], socket_name[64], template[256];
static struct traces *traces;
static pid_t of_job[8]; /* the processes of job 7 */
static size_t of_job_count;
static uint64_t last_id;

/* ---- the room ---- */

static inline const char *
job_of (void *context, pid_t pid)
{
  (void) context;
  for (size_t i = 0; i < of_job_count; i++)
    if (of_job[i] == pid)
      return "7";
  return NULL;
}

static inline size_t
pids_of (void *context, const char *job, pid_t *pids, size_t most)
{
  (void) context;
  if (strcmp (job, "7") != 0 || most < of_job_count)
    return 0;
  memcpy (pids, of_job, of_job_count * sizeof *pids);
  return of_job_count;
}

static char program[128]; /* that runs as `counters`; "": this program, which is not run */

static inline struct traces *
open_room (const char *users, struct error *error)
{
  static const char *const groups[] = { "load", "memory_info", NULL };
  struct traces_settings settings = {
    .enabled = true, .socket = socket_name, .group = (char *) "", .folders = folder, .users = (char *) users
  };
  struct traces_options options = { .node = "n1",
                                    .settings = &settings,
                                    .groups = groups,
                                    .program = program,
                                    .jobs = { .job_of = job_of, .pids_of = pids_of } };

  return traces_create (&options, error);
}

static inline int
set_up (void **state)
{
  struct error error;

  (void) state;
  test_folder_make (folder);
  chmod (folder, 01777);
  snprintf (socket_name, sizeof socket_name, "@synop-test-%d", (int) getpid ());
  snprintf (template, sizeof template, "%s/{job}-{pid}.trace", folder);
  of_job[0] = getpid ();
  of_job_count = 1;
  traces = open_room ("", &error);
  return traces ? 0 : -1;
}

static inline int
tear_down (void **state)
{
  (void) state;
  traces_close (traces);
  test_folder_remove (folder);
  return 0;
}

static inline struct traces_progress
next_progress (void)
{
  struct traces_progress progress;
  struct pollfd out = { traces_fd (traces), POLLIN, 0 };

  for (int i = 0; i < 100; i++) {
    if (traces_take (traces, &progress))
      return progress;
    poll (&out, 1, LIMIT_MS / 100);
  }
  fail_msg ("no progress within %d ms", LIMIT_MS);
  return progress;
}

static inline struct traces_request
request (void)
{
  return (struct traces_request){ .id = ++last_id,
                                  .job = "7",
                                  .start_ns = clock_monotonic () + 600 * NS_PER_S,
                                  .duration_ns = NS_PER_S,
                                  .path = template };
}

static inline void
begin (const struct traces_request *asked)
{
  struct error error;

  if (traces_begin (traces, asked, &error) < 0)
    fail_msg ("%s", error.text);
}

static inline void
assert_failed (const struct traces_progress *progress, const char *why)
{
  assert_int_equal (progress->state, TRACES_FAILED);
  if (!strstr (progress->error, why))
    fail_msg ("\"%s\" is not in \"%s\"", why, progress->error);
}

/* ---- a process, as libkineto is in it; these run in children too, where nothing asserts ---- */

static inline socklen_t
room_address (struct sockaddr_un *address)
{
  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  strcpy (address->sun_path + 1, socket_name + 1);
  return (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (socket_name + 1) + 1);
}

static inline int
client_open (void)
{
  struct sockaddr_un own = { .sun_family = AF_UNIX }, address;
  int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  if (bind (fd, (const struct sockaddr *) &own, sizeof (sa_family_t)) < 0 ||
      connect (fd, (const struct sockaddr *) &address, room_address (&address)) < 0)
    _exit (9);
  return fd;
}

/* The payload's length; -1: no answer within `wait_ms`. */
static inline ssize_t
ask (int fd, const char *type, const void *payload, size_t length, char *answer, size_t size, int wait_ms)
{
  char bytes[KINETO_HEAD + 4096] = { 0 };
  struct pollfd in = { fd, POLLIN, 0 };
  uint64_t payload_size = length;
  ssize_t got;

  memcpy (bytes, &payload_size, sizeof payload_size);
  strcpy (bytes + 8, type);
  memcpy (bytes + KINETO_HEAD, payload, length);
  if (send (fd, bytes, KINETO_HEAD + length, 0) < 0 || poll (&in, 1, wait_ms) <= 0)
    return -1;
  got = recv (fd, bytes, sizeof bytes, 0);
  memcpy (&payload_size, bytes, sizeof payload_size);
  if (got < KINETO_HEAD || payload_size != (uint64_t) got - KINETO_HEAD || strcmp (bytes + 8, type) != 0 ||
      payload_size >= size)
    return -2;
  memcpy (answer, bytes + KINETO_HEAD, payload_size);
  answer[payload_size] = 0;
  return (ssize_t) payload_size;
}

static inline int32_t
enter (int fd, int32_t gpu, pid_t pid, int wait_ms)
{
  const struct {
    int32_t gpu, pid;
    int64_t job;
  } context = { gpu, pid, 7 };
  int32_t count[2] = { -1, -1 };

  return ask (fd, "ctxt", &context, sizeof context, (char *) count, sizeof count, wait_ms) == 4 ? count[0] : -1;
}

static inline ssize_t
fetch_of (int fd, int32_t type, pid_t pid, char *text, size_t size, int wait_ms)
{
  const struct {
    int32_t type, count;
    int64_t job;
    int32_t pids[2];
  } asked = { type, 2, 7, { pid, 1 } };

  return ask (fd, "req", &asked, sizeof asked, text, size, wait_ms);
}

static inline ssize_t
fetch (int fd, pid_t pid, char *text, size_t size, int wait_ms)
{
  return fetch_of (fd, 2, pid, text, size, wait_ms);
}

/* The exit code of `run` in a child, which is another user if this one is root. */
static inline int
in_child (int (*run) (void))
{
  pid_t pid = fork ();
  int status = -1;

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getuid () == 0 && (setresgid (OTHER, OTHER, OTHER) < 0 || setresuid (OTHER, OTHER, OTHER) < 0))
      _exit (8);
    _exit (run ());
  }
  waitpid (pid, &status, 0);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static inline void
stop_process (pid_t pid)
{
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
}

static inline void
write_file (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

  assert_true (fd >= 0 && write (fd, text, strlen (text)) == (ssize_t) strlen (text));
  close (fd);
}

static inline int
fetch_nothing (void)
{
  char text[4096];

  return fetch (client_open (), getpid (), text, sizeof text, REFUSED_MS) == -1 ? 0 : 1;
}

#endif
