/* The room of traces as a whole: this process, and children of it, register and ask as libkineto does. Nothing here depends
 * on how fast the machine is: conditions are waited for, starts lie far ahead or have no part in the test. */
#include "tests/unit/agent/traces/traces_room.h"

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
    WITH_ROOM (test_busy),
    WITH_ROOM (test_late),
    WITH_ROOM (test_malformed),
    WITH_ROOM (test_root_runs_no_tool),
    WITH_ROOM (test_tool),
    WITH_ROOM (test_tool_fails),
    WITH_ROOM (test_tool_ends),
    WITH_ROOM (test_tool_is_absent),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
