/* The room of traces as a whole: this process, and children of it, register and ask as libkineto does. Nothing here depends
 * on how fast the machine is: conditions are waited for, starts lie far ahead or have no part in the test. */
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

static const char *
job_of (void *context, pid_t pid)
{
  (void) context;
  for (size_t i = 0; i < of_job_count; i++)
    if (of_job[i] == pid)
      return "7";
  return NULL;
}

static size_t
pids_of (void *context, const char *job, pid_t *pids, size_t most)
{
  (void) context;
  if (strcmp (job, "7") != 0 || most < of_job_count)
    return 0;
  memcpy (pids, of_job, of_job_count * sizeof *pids);
  return of_job_count;
}

static char program[128]; /* that runs as `counters`; "": this program, which is not run */

static struct traces *
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

static int
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

static int
tear_down (void **state)
{
  (void) state;
  traces_close (traces);
  test_folder_remove (folder);
  return 0;
}

static struct traces_progress
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

static struct traces_request
request (void)
{
  return (struct traces_request){ .id = ++last_id,
                                  .job = "7",
                                  .start_ns = clock_monotonic () + 600 * NS_PER_S,
                                  .duration_ns = NS_PER_S,
                                  .path = template };
}

static void
begin (const struct traces_request *asked)
{
  struct error error;

  if (traces_begin (traces, asked, &error) < 0)
    fail_msg ("%s", error.text);
}

static void
assert_failed (const struct traces_progress *progress, const char *why)
{
  assert_int_equal (progress->state, TRACES_FAILED);
  if (!strstr (progress->error, why))
    fail_msg ("\"%s\" is not in \"%s\"", why, progress->error);
}

/* ---- a process, as libkineto is in it; these run in children too, where nothing asserts ---- */

static socklen_t
room_address (struct sockaddr_un *address)
{
  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  strcpy (address->sun_path + 1, socket_name + 1);
  return (socklen_t) (offsetof (struct sockaddr_un, sun_path) + 1 + strlen (socket_name + 1) + 1);
}

static int
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
static ssize_t
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

static int32_t
enter (int fd, int32_t gpu, pid_t pid, int wait_ms)
{
  const struct {
    int32_t gpu, pid;
    int64_t job;
  } context = { gpu, pid, 7 };
  int32_t count[2] = { -1, -1 };

  return ask (fd, "ctxt", &context, sizeof context, (char *) count, sizeof count, wait_ms) == 4 ? count[0] : -1;
}

static ssize_t
fetch_of (int fd, int32_t type, pid_t pid, char *text, size_t size, int wait_ms)
{
  const struct {
    int32_t type, count;
    int64_t job;
    int32_t pids[2];
  } asked = { type, 2, 7, { pid, 1 } };

  return ask (fd, "req", &asked, sizeof asked, text, size, wait_ms);
}

static ssize_t
fetch (int fd, pid_t pid, char *text, size_t size, int wait_ms)
{
  return fetch_of (fd, 2, pid, text, size, wait_ms);
}

/* The exit code of `run` in a child, which is another user if this one is root. */
static int
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

static void
stop_process (pid_t pid)
{
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
}

/* ---- registering ---- */

static void
test_register (void **state)
{
  struct traces_process list[4];
  int fd = client_open ();

  (void) state;
  assert_int_equal (enter (fd, 3, getpid (), LIMIT_MS), 1);
  assert_int_equal (traces_list (traces, list, 4), 1);
  assert_int_equal (list[0].pid, getpid ());
  assert_int_equal (list[0].uid, getuid ());
  assert_int_equal (list[0].device, 3);
  assert_string_equal (list[0].job, "7");
  assert_false (list[0].busy);
  assert_int_equal (enter (fd, 3, getpid (), LIMIT_MS), 1); /* once more is once */
  close (fd);
}

static int
pretend (void)
{
  int fd = client_open ();
  char text[4096];

  if (enter (fd, 0, getppid (), REFUSED_MS) != -1 || fetch (fd, getppid (), text, sizeof text, REFUSED_MS) != -1)
    return 1;
  return enter (fd, 0, getpid (), LIMIT_MS) == 1 ? 0 : 2;
}

static void
test_others_do_not_register_for_me (void **state)
{
  struct traces_process list[4];

  (void) state;
  assert_int_equal (in_child (pretend), 0);
  for (size_t i = 0, count = traces_list (traces, list, 4); i < count; i++)
    assert_int_not_equal (list[i].pid, getpid ());
}

static int
fetch_own (void)
{
  char text[4096];

  return fetch (client_open (), getpid (), text, sizeof text, LIMIT_MS) == 0 ? 0 : 1;
}

static int
fetch_mine (void)
{
  char text[4096];

  return fetch (client_open (), getppid (), text, sizeof text, REFUSED_MS) == -1 ? 0 : 1;
}

static int
fetch_nothing (void)
{
  char text[4096];

  return fetch (client_open (), getpid (), text, sizeof text, REFUSED_MS) == -1 ? 0 : 1;
}

/* The configuration is for one process, once. */
static void
test_configuration (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  int fd = client_open ();
  char text[4096], line[300];

  (void) state;
  assert_int_equal (fetch (fd, getpid (), text, sizeof text, LIMIT_MS),
                    0); /* an agent that began later learns of it so */
  asked.config = "PROFILE_WITH_STACK=true";
  begin (&asked);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_FOUND);
  assert_int_equal (progress.pid, getpid ());
  assert_int_equal (progress.id, asked.id);
  assert_false (progress.last);
  assert_int_equal (in_child (fetch_mine), 0);
  assert_int_equal (in_child (fetch_own), 0);
  assert_int_equal (fetch_of (fd, 1, getpid (), text, sizeof text, LIMIT_MS), 0); /* of events, not of activities */
  assert_true (fetch (fd, getpid (), text, sizeof text, LIMIT_MS) > 0);
  snprintf (line, sizeof line, "ACTIVITIES_LOG_FILE=%s/7-%d.trace\nPROFILE_WITH_STACK=true\n", folder, (int) getpid ());
  assert_non_null (strstr (text, line));
  assert_non_null (strstr (text, "ACTIVITIES_DURATION_MSECS=1000\n"));
  assert_int_equal (fetch (fd, getpid (), text, sizeof text, LIMIT_MS), 0);
  traces_cancel (traces, asked.id);
  progress = next_progress ();
  assert_failed (&progress, "cancelled");
  assert_true (progress.last);
  close (fd);
}

/* ---- from the request to the file ---- */

static void
write_file (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

  assert_true (fd >= 0 && write (fd, text, strlen (text)) == (ssize_t) strlen (text));
  close (fd);
}

static void
test_whole (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  int fd = client_open ();
  char text[4096];

  (void) state;
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  asked.start_ns = clock_monotonic ();
  asked.duration_ns = 0;
  asked.iterations = 3; /* which begin when the process asks, not at a time */
  begin (&asked);
  begin (&asked); /* once more is nothing */
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  assert_true (fetch (fd, getpid (), text, sizeof text, LIMIT_MS) > 0);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_BEGUN);
  assert_true (progress.begun_ns >= asked.start_ns);
  write_file (progress.path, "{}\n");
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_ENDED);
  assert_int_equal (progress.size, 3);
  assert_true (progress.last);
  asked.id = ++last_id; /* the file is there now */
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "there already");
  close (fd);
}

/* A process begins at the millisecond that it was told, which is the nearest one to the start; that is reported. */
static void
test_told_start (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  int fd = client_open ();
  char text[4096] = "";
  int64_t told_ns;

  (void) state;
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  for (int64_t ahead_ns = NS_PER_S; !strstr (text, "PROFILE_START_TIME="); ahead_ns *= 2) { /* until it asks in time */
    assert_true (ahead_ns < LIMIT_MS * NS_PER_MS);
    asked.id = ++last_id;
    asked.start_ns = clock_monotonic () + ahead_ns;
    begin (&asked);
    assert_int_equal (next_progress ().state, TRACES_FOUND);
    assert_true (fetch (fd, getpid (), text, sizeof text, LIMIT_MS) >= 0);
    progress = next_progress ();
  }
  assert_int_equal (progress.state, TRACES_BEGUN);
  told_ns = strtoll (strstr (text, "PROFILE_START_TIME=") + 19, NULL, 10) * NS_PER_MS - clock_wall_ahead ();
  assert_true (llabs (told_ns - progress.begun_ns) < NS_PER_MS / 10);
  assert_true (llabs (told_ns - asked.start_ns) < NS_PER_MS * 6 / 10);
  close (fd);
}

/* Newer versions of Kineto put their process id into the name. */
static void
test_other_name (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  int fd = client_open ();
  char text[4096], path[256], other[256];

  (void) state;
  snprintf (path, sizeof path, "%s/{rank}.json", folder);
  snprintf (other, sizeof other, "%s/pid%d_%d.json", folder, (int) getpid (), (int) getpid ());
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  asked.start_ns = clock_monotonic ();
  asked.iterations = 1;
  asked.path = path;
  begin (&asked);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  assert_true (fetch (fd, getpid (), text, sizeof text, LIMIT_MS) > 0);
  assert_int_equal (next_progress ().state, TRACES_BEGUN);
  write_file (other, "{}");
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_ENDED);
  assert_string_equal (progress.path, other);
  close (fd);
}

static void
test_links (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  int fd = client_open ();
  char path[256], link[128];

  (void) state;
  snprintf (link, sizeof link, "%s/link", folder);
  assert_int_equal (symlink ("/etc", link), 0);
  snprintf (path, sizeof path, "%s/link/{pid}", folder);
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  asked.path = path;
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "link");
  assert_true (progress.last);
  snprintf (path, sizeof path, "%s/inner", folder); /* where the link leads within the folder, too */
  assert_int_equal (mkdir (path, 01777), 0);
  snprintf (path, sizeof path, "%s/link", folder);
  assert_int_equal (unlink (path), 0);
  assert_int_equal (symlink ("inner", path), 0);
  snprintf (path, sizeof path, "%s/link/{pid}", folder);
  asked.id = ++last_id;
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "a part of the folder is a link");
  snprintf (path, sizeof path, "%s/absent/{pid}", folder);
  asked.id = ++last_id;
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "not there");
  close (fd);
}

/* Iterations are counted from the start on, which no process is told of before. */
static void
test_iterations_begin_with_the_start (void **state)
{
  struct traces_request asked = request ();
  int fd = client_open ();
  char text[4096];

  (void) state;
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  asked.iterations = 3;
  begin (&asked);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  assert_int_equal (fetch (fd, getpid (), text, sizeof text, LIMIT_MS), 0);
  close (fd);
}

/* Requests that have ended make room for others. */
static void
test_many_requests (void **state)
{
  struct traces_request asked = request ();

  (void) state;
  asked.job = "8";
  for (int i = 0; i < 200; i++) {
    asked.id = ++last_id;
    begin (&asked);
    assert_true (next_progress ().last);
  }
}

/* A process that registers, and then is there until it is ended. */
static pid_t
start_registered (void)
{
  pid_t pid = fork ();

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (enter (client_open (), 0, getpid (), LIMIT_MS) > 0)
      pause ();
    _exit (1);
  }
  of_job[of_job_count++] = pid;
  for (struct traces_process list[2]; traces_list (traces, list, 2) < 2;)
    poll (NULL, 0, 1);
  return pid;
}

static void
test_one_path_for_two (void **state)
{
  struct traces_request asked = request ();
  int fd = client_open (), paths = 0;
  struct traces_progress progress;
  char path[256];
  pid_t other;

  (void) state;
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  other = start_registered ();
  snprintf (path, sizeof path, "%s/{job}", folder);
  asked.path = path;
  begin (&asked);
  do {
    progress = next_progress ();
    paths += progress.state == TRACES_FAILED && strstr (progress.error, "has the same path") != NULL;
  } while (progress.state != TRACES_FOUND);
  if (!paths) { /* it was found first */
    progress = next_progress ();
    assert_failed (&progress, "has the same path");
  }
  stop_process (other);
  close (fd);
}

/* A request that nobody can take part in ends, with what helps. */
static void
test_nobody (void **state)
{
  struct traces_request asked = request ();
  static const int32_t ranks[] = { 5 };
  struct traces_progress progress;
  int fd;

  (void) state;
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "KINETO_USE_DAEMON=1");
  assert_true (progress.last);
  asked = request ();
  asked.job = "8";
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "no process of the job");
  fd = client_open ();
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  asked = request ();
  asked.ranks = ranks;
  asked.rank_count = 1;
  begin (&asked);
  progress = next_progress ();
  assert_true (progress.last && progress.of == 0); /* they are elsewhere, which is no failure */
  close (fd);
}

static void
test_busy (void **state)
{
  struct traces_request first = request (), second = request ();
  struct traces_process list[1];
  struct traces_progress progress;
  int fd = client_open ();

  (void) state;
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  begin (&first);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  assert_int_equal (traces_list (traces, list, 1), 1);
  assert_true (list[0].busy);
  begin (&second);
  progress = next_progress ();
  assert_int_equal (progress.id, second.id);
  assert_failed (&progress, "under way");
  close (fd);
}

static void
test_late (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  int fd = client_open ();

  (void) state;
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  asked.start_ns = clock_monotonic ();
  begin (&asked);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  progress = next_progress ();
  assert_failed (&progress, "before the start");
  close (fd);
}

static void
test_malformed (void **state)
{
  static const char *const paths[] = { "/etc/{pid}", "x", "/tmp/../etc/{pid}", "" };
  struct traces_request asked;
  struct error error;

  (void) state;
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    asked = request ();
    asked.path = paths[i];
    assert_int_equal (traces_begin (traces, &asked, &error), -1);
  }
  asked = request ();
  asked.config = "A=1\nACTIVITIES_LOG_FILE=/etc/x";
  assert_int_equal (traces_begin (traces, &asked, &error), -1);
  asked = request ();
  asked.duration_ns = 0;
  assert_int_equal (traces_begin (traces, &asked, &error), -1);
  asked = request ();
  asked.tool = TRACES_TOOLS;
  assert_int_equal (traces_begin (traces, &asked, &error), -1);
  asked = request ();
  asked.tool = TRACES_COUNTERS;
  asked.config = "groups=nosuch";
  assert_int_equal (traces_begin (traces, &asked, &error), -1);
}

/* ---- tools ---- */

static void
test_root_runs_no_tool (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;

  (void) state;
  if (getuid () != 0)
    skip ();
  asked.tool = TRACES_COUNTERS;
  asked.config = "groups=load";
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "root");
}

/* A process of the job's user, which is not root. */
static pid_t
start_worker (void)
{
  pid_t pid = fork ();

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getuid () == 0 && (setresgid (OTHER, OTHER, OTHER) < 0 || setresuid (OTHER, OTHER, OTHER) < 0))
      _exit (8);
    prctl (PR_SET_PDEATHSIG, SIGKILL);     /* the change of the user has cleared it */
    syscall (SYS_close_range, 3u, ~0u, 0); /* the room's socket is among them */
    for (;;)
      pause ();
  }
  of_job[0] = pid;
  return pid;
}

static bool
is_other (pid_t pid)
{
  char path[64];
  struct stat status;

  snprintf (path, sizeof path, "/proc/%d", (int) pid);
  return stat (path, &status) == 0 && status.st_uid != 0;
}

static pid_t
begin_counters (const char *script)
{
  struct traces_request asked = request ();
  pid_t worker = start_worker ();

  while (!is_other (worker))
    poll (NULL, 0, 1);
  snprintf (program, sizeof program, "%s/program", folder);
  write_file (program, script);
  chmod (program, 0755);
  traces_close (traces);
  traces = open_room ("", &(struct error){ { 0 } });
  assert_non_null (traces);
  asked.tool = TRACES_COUNTERS;
  asked.start_ns = clock_monotonic ();
  asked.config = "groups=load\nperiod=20ms";
  begin (&asked);
  return worker;
}

static void
test_tool (void **state)
{
  pid_t worker = begin_counters ("#!/bin/sh\nid -u\nid -G\ngrep -E 'CapEff|NoNewPrivs' /proc/self/status\n"
                                 "cat /dev/fd/3; ls /proc/self/fd | wc -l\n");
  uid_t uid = getuid () ? getuid () : OTHER;
  struct traces_progress progress;
  char text[4096] = "", expected[64];
  int fd;

  (void) state;
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  assert_int_equal (next_progress ().state, TRACES_BEGUN);
  progress = next_progress ();
  assert_string_equal (progress.error, "");
  assert_int_equal (progress.state, TRACES_ENDED);
  assert_true (progress.last);
  fd = open (progress.path, O_RDONLY);
  assert_true (fd >= 0 && read (fd, text, sizeof text - 1) == (ssize_t) progress.size);
  close (fd);
  snprintf (expected, sizeof expected, "%u\n", (unsigned) uid);
  assert_true (strncmp (text, expected, strlen (expected)) == 0);
  assert_non_null (strstr (text, "CapEff:\t0000000000000000\n"));
  assert_non_null (strstr (text, "NoNewPrivs:\t1\n"));
  assert_non_null (strstr (text, "node = n1\nperiod = 20000us\ncount = 51\n"));
  assert_non_null (strstr (text, "[group load]\nperiod = 20000us\n[group memory_info]\nenabled = no\n"));
  stop_process (worker);
}

static void
test_tool_fails (void **state)
{
  pid_t worker = begin_counters ("#!/bin/sh\necho one >&2; echo the last word >&2; exit 3\n");
  struct traces_progress progress;

  (void) state;
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  assert_int_equal (next_progress ().state, TRACES_BEGUN);
  progress = next_progress ();
  assert_failed (&progress, "exit code 3: ");
  assert_failed (&progress, "the last word");
  stop_process (worker);
}

/* What a tool has started ends with it. */
static void
test_tool_ends (void **state)
{
  pid_t worker = begin_counters ("#!/bin/sh\nsleep 600 & echo $!\nwait\n");
  struct traces_progress progress;
  char text[32] = "";
  int fd;

  (void) state;
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_BEGUN);
  for (int i = 0; i < LIMIT_MS / 10 && !strchr (text, '\n'); i++) {
    fd = open (progress.path, O_RDONLY);
    if (fd >= 0 && read (fd, text, sizeof text - 1) < 0)
      text[0] = 0;
    if (fd >= 0)
      close (fd);
    poll (NULL, 0, 10);
  }
  assert_true (atoi (text) > 1);
  traces_cancel (traces, last_id);
  progress = next_progress ();
  assert_failed (&progress, "cancelled");
  for (int i = 0; i < LIMIT_MS / 10 && kill (atoi (text), 0) == 0; i++) {
    char path[64], stat[256] = "";

    snprintf (path, sizeof path, "/proc/%d/stat", atoi (text));
    fd = open (path, O_RDONLY);
    if (fd < 0 || read (fd, stat, sizeof stat - 1) <= 0 || strstr (stat, ") Z")) { /* nobody may wait for it here */
      if (fd >= 0)
        close (fd);
      stop_process (worker);
      return;
    }
    close (fd);
    poll (NULL, 0, 10);
  }
  stop_process (worker);
  fail_msg ("process %s still runs", text);
}

static void
test_tool_is_absent (void **state)
{
  struct traces_request asked = request ();
  pid_t worker = start_worker ();
  struct traces_progress progress;

  (void) state;
  while (!is_other (worker))
    poll (NULL, 0, 1);
  asked.tool = TRACES_NSYS;
  asked.start_ns = clock_monotonic ();
  begin (&asked);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  progress = next_progress ();
  if (progress.state == TRACES_FAILED) /* it may be there */
    assert_failed (&progress, "nsys");
  stop_process (worker);
}

/* ---- hostile ---- */

static int
flood (void)
{
  char bytes[65536] = { 0 };
  int fd = client_open (), sent = 0;

  for (int i = 0; i < 20000; i++) {
    size_t length = i % 3 == 0 ? 0 : i % 3 == 1 ? 40 : sizeof bytes;

    sent += send (fd, bytes, length, MSG_DONTWAIT) >= 0;
  }
  return sent ? 0 : 1;
}

/* As many as send, so many descriptors come along. */
static int
give_descriptors (void)
{
  char byte = 0, control[CMSG_SPACE (16 * sizeof (int))] __attribute__ ((aligned)) = { 0 };
  struct iovec part = { &byte, 1 };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
  };
  struct cmsghdr *header = CMSG_FIRSTHDR (&message);
  int fd = client_open (), sent = 0;

  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN (16 * sizeof (int));
  for (int i = 0; i < 16; i++)
    memcpy (CMSG_DATA (header) + (size_t) i * sizeof (int), &fd, sizeof fd);
  for (int i = 0; i < 200; i++)
    sent += sendmsg (fd, &message, 0) == 1;
  return sent == 200 ? 0 : 1;
}

static int
open_descriptors (void)
{
  int count = 0;

  for (int fd = 0; fd < 1024; fd++)
    count += fcntl (fd, F_GETFD) >= 0;
  return count;
}

static void
test_hostile (void **state)
{
  int fd = client_open (), before;

  (void) state;
  assert_int_equal (in_child (flood), 0);
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  before = open_descriptors ();
  assert_int_equal (in_child (give_descriptors), 0);
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1); /* all before it was read */
  assert_true (open_descriptors () < before + 16);          /* one or two are open for a moment; 3,200 came along */
  close (fd);
}

/* Another user's process asks by many sockets, and reads none of the answers: ours has no room left. */
static pid_t
hold_answers (void)
{
  int ends[2];
  char byte;
  pid_t pid;

  assert_int_equal (pipe (ends), 0);
  pid = fork ();
  if (pid == 0) {
    const struct {
      int32_t gpu, pid;
      int64_t job;
    } context = { 0, getpid (), 7 };
    char bytes[KINETO_HEAD + sizeof context];
    size_t length = kineto_write (bytes, KINETO_CONTEXT, &context, sizeof context);

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getuid () == 0 && (setresgid (OTHER, OTHER, OTHER) < 0 || setresuid (OTHER, OTHER, OTHER) < 0))
      _exit (8);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 600; i++)
      if (send (client_open (), bytes, length, 0) < 0)
        _exit (9);
    if (write (ends[1], "x", 1) == 1)
      pause ();
    _exit (10);
  }
  close (ends[1]);
  assert_int_equal (read (ends[0], &byte, 1), 1);
  close (ends[0]);
  return pid;
}

static void
test_held_answers (void **state)
{
  struct sockaddr_un from = { 0 }, none = { .sun_family = AF_UNSPEC };
  struct pollfd in = { client_open (), POLLIN, 0 };
  pid_t holder;
  int32_t context[4] = { 0, getpid (), 7, 0 };
  char bytes[256];
  size_t length = kineto_write (bytes, KINETO_CONTEXT, context, sizeof context);
  struct sockaddr_un address;
  socklen_t size = room_address (&address), from_size = sizeof from;

  (void) state;
  if (getuid () != 0)
    skip (); /* it is another user's that fill it */
  holder = hold_answers ();
  assert_int_equal (connect (in.fd, (const struct sockaddr *) &none, sizeof none.sun_family), 0);
  assert_int_equal (sendto (in.fd, bytes, length, 0, (const struct sockaddr *) &address, size), length);
  assert_int_equal (poll (&in, 1, LIMIT_MS), 1);
  assert_int_equal (recvfrom (in.fd, bytes, sizeof bytes, 0, (struct sockaddr *) &from, &from_size), KINETO_HEAD + 4);
  assert_true (from_size > sizeof from.sun_family && from.sun_path[0] == 0); /* libkineto takes none without a name */
  close (in.fd);
  stop_process (holder);
}

/* One that registered as another user, and one that says that it is another user, are not answered. */
static int
change_user (void)
{
  int fd = client_open ();
  char text[4096];

  if (getuid () != 0 || enter (fd, 0, getpid (), LIMIT_MS) != 1 || setresgid (OTHER, OTHER, OTHER) < 0 ||
      setresuid (OTHER, OTHER, OTHER) < 0)
    return 1;
  return fetch (fd, getpid (), text, sizeof text, REFUSED_MS) == -1 ? 0 : 2;
}

static int
claim_user (void)
{
  char control[CMSG_SPACE (sizeof (struct ucred))] __attribute__ ((aligned)) = { 0 }, bytes[256];
  const struct ucred claimed = { getpid (), OTHER, OTHER };
  int32_t context[4] = { 0, getpid (), 7, 0 };
  struct iovec part = { bytes, kineto_write (bytes, KINETO_CONTEXT, context, sizeof context) };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
  };
  struct cmsghdr *header = CMSG_FIRSTHDR (&message);
  struct pollfd in = { client_open (), POLLIN, 0 };

  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN (sizeof claimed);
  memcpy (CMSG_DATA (header), &claimed, sizeof claimed);
  if (sendmsg (in.fd, &message, 0) < 0)
    return 1;
  return poll (&in, 1, REFUSED_MS) == 0 ? 0 : 2;
}

static int
as_root (int (*run) (void))
{
  pid_t pid = fork ();
  int status = -1;

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    _exit (run ());
  }
  waitpid (pid, &status, 0);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
test_users_that_do_not_match (void **state)
{
  (void) state;
  if (getuid () != 0)
    skip ();
  assert_int_equal (as_root (change_user), 0);
  assert_int_equal (as_root (claim_user), 0);
}

/* A path is looked for in our own folder, since containers call that otherwise: what of another user is there by that name
 * is sent nothing. */
static int
borrow_name (void)
{
  struct sockaddr_un own = { .sun_family = AF_UNIX }, room = { .sun_family = AF_UNIX };
  int32_t context[4] = { 0, getpid (), 7, 0 };
  char bytes[256];
  size_t length = kineto_write (bytes, KINETO_CONTEXT, context, sizeof context);
  int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  snprintf (own.sun_path, sizeof own.sun_path, "%.80s/eve/victim", folder);
  snprintf (room.sun_path, sizeof room.sun_path, "%s", socket_name);
  if (bind (fd, (const struct sockaddr *) &own, sizeof own) < 0)
    return 1;
  if (sendto (fd, bytes, length, 0, (const struct sockaddr *) &room, sizeof room) != (ssize_t) length)
    return 2;
  return poll (&(struct pollfd){ fd, POLLIN, 0 }, 1, REFUSED_MS) == 0 ? 0 : 3; /* only who is there is answered */
}

static void
test_a_name_that_is_another_users (void **state)
{
  struct sockaddr_un victim = { .sun_family = AF_UNIX };
  struct pollfd in = { socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), POLLIN, 0 };
  char path[256];

  (void) state;
  if (getuid () != 0)
    skip ();
  traces_close (traces);
  snprintf (socket_name, sizeof socket_name, "%.50s/dynolog", folder);
  traces = open_room ("", &(struct error){ { 0 } });
  assert_non_null (traces);
  snprintf (path, sizeof path, "%s/eve", folder);
  assert_int_equal (mkdir (path, 0777), 0);
  chmod (path, 0777);
  snprintf (victim.sun_path, sizeof victim.sun_path, "%.80s/victim", folder);
  assert_int_equal (bind (in.fd, (const struct sockaddr *) &victim, sizeof victim), 0);
  assert_int_equal (in_child (borrow_name), 0);
  assert_int_equal (poll (&in, 1, REFUSED_MS), 0);
  close (in.fd);
}

/* A process of another user that asks until it is told what to do. */
static pid_t
start_asking (void)
{
  char text[4096];
  pid_t pid = fork ();

  if (pid == 0) {
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (setresgid (OTHER, OTHER, OTHER) < 0 || setresuid (OTHER, OTHER, OTHER) < 0)
      _exit (8);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = client_open (); fetch (fd, getpid (), text, sizeof text, LIMIT_MS) == 0;)
      poll (NULL, 0, 10);
    for (;;)
      pause ();
  }
  of_job[0] = pid;
  for (struct traces_process list[1]; traces_list (traces, list, 1) < 1;)
    poll (NULL, 0, 1);
  return pid;
}

/* What somebody else puts where the file is to come is not the process's trace. */
static void
test_a_file_of_others (void **state)
{
  struct traces_request asked = request ();
  struct traces_progress progress;
  pid_t asking;

  (void) state;
  if (getuid () != 0)
    skip ();
  asking = start_asking ();
  asked.start_ns = clock_monotonic ();
  asked.iterations = 3;
  begin (&asked);
  assert_int_equal (next_progress ().state, TRACES_FOUND);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_BEGUN);
  write_file (progress.path, "mine");
  assert_int_equal (poll (&(struct pollfd){ traces_fd (traces), POLLIN, 0 }, 1, 1500), 0);
  assert_int_equal (chown (progress.path, OTHER, OTHER), 0);
  progress = next_progress ();
  assert_int_equal (progress.state, TRACES_ENDED);
  assert_int_equal (progress.uid, OTHER);
  stop_process (asking);
}

/* Another program has the name, and gives it back. */
static void
test_name_is_taken (void **state)
{
  struct traces_request asked = request ();
  struct traces *first = traces;
  struct traces_progress progress;
  int fd;

  (void) state;
  traces = open_room ("", &(struct error){ { 0 } });
  assert_non_null (traces);
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "another program");
  traces_close (first);
  asked = request ();
  begin (&asked);
  progress = next_progress ();
  assert_failed (&progress, "KINETO_USE_DAEMON=1");
  fd = client_open ();
  assert_int_equal (enter (fd, 0, getpid (), LIMIT_MS), 1);
  close (fd);
}

static void
test_users (void **state)
{
  struct error error;

  (void) state;
  if (getuid () != 0)
    skip ();
  traces_close (traces);
  traces = open_room ("12346", &error);
  assert_non_null (traces);
  assert_int_equal (in_child (fetch_nothing), 0);
  assert_int_equal (traces_list (traces, (struct traces_process[1]){ { 0 } }, 1), 0);
}

int
main (void)
{
#define WITH_ROOM(TEST) cmocka_unit_test_setup_teardown (TEST, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    WITH_ROOM (test_register),
    WITH_ROOM (test_others_do_not_register_for_me),
    WITH_ROOM (test_configuration),
    WITH_ROOM (test_whole),
    WITH_ROOM (test_told_start),
    WITH_ROOM (test_other_name),
    WITH_ROOM (test_links),
    WITH_ROOM (test_iterations_begin_with_the_start),
    WITH_ROOM (test_many_requests),
    WITH_ROOM (test_one_path_for_two),
    WITH_ROOM (test_nobody),
    WITH_ROOM (test_name_is_taken),
    WITH_ROOM (test_busy),
    WITH_ROOM (test_late),
    WITH_ROOM (test_malformed),
    WITH_ROOM (test_root_runs_no_tool),
    WITH_ROOM (test_tool),
    WITH_ROOM (test_tool_fails),
    WITH_ROOM (test_tool_ends),
    WITH_ROOM (test_tool_is_absent),
    WITH_ROOM (test_hostile),
    WITH_ROOM (test_held_answers),
    WITH_ROOM (test_users_that_do_not_match),
    WITH_ROOM (test_a_file_of_others),
    WITH_ROOM (test_a_name_that_is_another_users),
    WITH_ROOM (test_users),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
