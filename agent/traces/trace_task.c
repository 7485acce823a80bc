/* Tasks: a process, or the node, that is traced once. Each is checked (its folder, by a child that is its user), waits for
 * its start, runs, and ends when its file is complete. Nothing waits here: each step looks what has come meanwhile. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/traces/trace_text.h"
#include "agent/traces/trace_tool.h"
#include "agent/traces/traces_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"

#define TICK_NS (50 * NS_PER_MS)
#define CHECK_NS (10 * NS_PER_S)  /* for a file system to answer */
#define WRITE_NS (180 * NS_PER_S) /* for a trace to be written, after its end */
#define FULL_NS (5 * NS_PER_S)    /* the same, where no room is left */
#define FETCH_NS (20 * NS_PER_S)  /* for a process to ask, where iterations are traced */
#define ITERATIONS_NS (900 * NS_PER_S)
#define TOOL_NS (60 * NS_PER_S) /* for a tool to end, after its time */

/* ---- its life ---- */

static void
put (struct traces *traces, const struct trace_task *task, enum traces_state state, uint64_t size, const char *path,
     const char *error)
{
  struct traces_progress progress = {
    .id = task->request->asked.id,
    .pid = task->process.pid,
    .rank = task->process.rank,
    .uid = task->process.uid,
    .device = task->process.device,
    .tool = task->request->asked.tool,
    .state = state,
    .begun_ns = task->begun_ns,
    .size = size,
    .of = task->request->tasks,
    .last = task->request->open == 0,
  };

  snprintf (progress.path, sizeof progress.path, "%s", path);
  snprintf (progress.error, sizeof progress.error, "%s", error);
  traces_put (traces, &progress);
}

static void
set_busy (struct traces *traces, const struct trace_task *task, bool busy)
{
  struct registered *registered;

  if (task->request->asked.tool != TRACES_KINETO || !task->process.pid)
    return;
  pthread_mutex_lock (&traces->lock);
  registered = registry_find (&traces->registry, task->process.pid);
  if (registered && registered->peer.start == task->peer.start)
    registered->process.busy = busy;
  pthread_mutex_unlock (&traces->lock);
}

/* A child that hangs in a file system cannot be ended at once. */
static void
stop_watch (struct traces *traces, struct trace_watch *watch)
{
  pid_t pid = watch->pid;

  trace_watch_stop (watch);
  if (pid > 0 && waitpid (pid, NULL, WNOHANG) == 0 && traces->left_count < LEFT_MAX)
    traces->left[traces->left_count++] = (struct trace_watch){ .pid = pid, .fd = -1 };
}

static void
stop_child (struct traces *traces, struct child *child)
{
  int status;

  if (child->pid <= 0)
    return;
  child_kill (child);
  for (int i = 0; i < 20 && !child_reap (child, &status); i++)
    usleep (1000);
  if (child->pid > 0 && traces->left_count < LEFT_MAX)
    traces->left[traces->left_count++] = (struct trace_watch){ .pid = child->pid, .fd = -1 };
}

void
trace_task_end (struct traces *traces, struct trace_task *task, enum traces_state state, uint64_t size,
                const char *format, ...)
{
  struct trace_batch *request = task->request;
  struct trace_task **at = &traces->tasks;
  char error[TRACES_ERROR_MAX + 1];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (error, sizeof error, format, arguments);
  va_end (arguments);
  stop_watch (traces, &task->watch);
  stop_child (traces, &task->child);
  set_busy (traces, task, false);
  while (*at && *at != task)
    at = &(*at)->next;
  if (*at) {
    *at = task->next;
    traces->task_count--;
  }
  request->open--;
  put (traces, task, state, size, task->path, error);
  if (request->open == 0)
    trace_batch_free (request);
  free (task->pids);
  free (task);
}

static const char *
user_error (int number)
{
  switch (number) {
  case EEXIST:
    return "the file is there already";
  case EACCES:
  case EPERM:
    return "the job's user may not write there";
  case EROFS:
    return "the folder is read-only there";
  case ENOENT:
    return "the folder is not there";
  case ELOOP:
  case ENOTDIR:
    return "a part of the folder is a link, or no folder";
  default:
    return strerror (number);
  }
}

static int
start_watch (struct trace_task *task, bool fresh)
{
  bool kineto = task->request->asked.tool == TRACES_KINETO;
  struct child_user user = { task->peer.uid, task->peer.gid, task->peer.groups, task->peer.group_count };
  struct watch_options options = { .user = &user,
                                   .root = kineto ? task->peer.pid : 0,
                                   .path = { task->path, task->other[0] ? task->other : NULL },
                                   .behind = task->behind,
                                   .fresh = fresh };

  return trace_watch_start (&task->watch, &options);
}

void
trace_task_add (struct traces *traces, struct trace_task *task)
{
  task->next = traces->tasks;
  traces->tasks = task;
  traces->task_count++;
  task->phase = TASK_CHECKING;
  task->deadline_ns = clock_monotonic () + CHECK_NS;
  set_busy (traces, task, true);
  if (start_watch (task, true) < 0)
    trace_task_end (traces, task, TRACES_FAILED, 0, "a child cannot be started: %s", strerror (errno));
}

/* ---- steps; each returns false when it has ended the task ---- */

static bool
is_gone (const struct traces *traces, const struct trace_task *task)
{
  struct process_files *files = (struct process_files *) &traces->files;

  return task->process.pid && !peer_is_alive (files, task->peer.pid, task->peer.start);
}

static bool
check (struct traces *traces, struct trace_task *task, int64_t now_ns)
{
  struct watch_report report;
  bool ended = trace_watch_has_ended (&task->watch);

  if (!trace_watch_take (&task->watch, &report)) {
    if (!ended && now_ns < task->deadline_ns)
      return true;
    trace_task_end (traces, task, TRACES_FAILED, 0, "the file system of its folder does not answer");
    return false;
  }
  if (report.event == WATCH_REFUSED) {
    trace_task_end (traces, task, TRACES_FAILED, 0, "%s", user_error (report.error));
    return false;
  }
  if (report.event != WATCH_READY)
    return true;
  task->phase = TASK_WAITING;
  put (traces, task, TRACES_FOUND, 0, task->path, "");
  return true;
}

/* Kineto: until the process has its configuration, and the start has passed. */
static bool
wait_for_process (struct traces *traces, struct trace_task *task, int64_t now_ns)
{
  const struct traces_request *asked = &task->request->asked;

  if (now_ns < asked->start_ns || (asked->iterations && !task->fetched && now_ns < asked->start_ns + FETCH_NS))
    return true;
  if (!task->fetched) {
    trace_task_end (traces, task, TRACES_FAILED, 0,
                    "it did not ask what to do before the start: processes ask every 5 s, so let it start later");
    return false;
  }
  task->begun_ns = asked->iterations ? now_ns : task->told_ns - clock_wall_ahead ();
  task->phase = TASK_WRITING;
  task->deadline_ns = asked->iterations ? now_ns + ITERATIONS_NS : asked->start_ns + asked->duration_ns + WRITE_NS;
  put (traces, task, TRACES_BEGUN, 0, task->path, "");
  return true;
}

static bool
start_tool (struct traces *traces, struct trace_task *task, int64_t now_ns)
{
  const struct traces_request *asked = &task->request->asked;
  struct child_user user = { task->peer.uid, task->peer.gid, task->peer.groups, task->peer.group_count };
  char path[TRACES_PATH_MAX + 1];
  struct tool_run run = { .tool = asked->tool,
                          .path = path,
                          .pids = task->pids,
                          .pid_count = task->pid_count,
                          .duration_ns = asked->duration_ns,
                          .config = asked->config,
                          .groups = traces->options.groups,
                          .program = traces->options.program,
                          .node = traces->options.node,
                          .user = &user };
  struct error error;

  if (now_ns < asked->start_ns)
    return true;
  stop_watch (traces, &task->watch);
  snprintf (path, sizeof path, "%.*s", (int) (strlen (task->path) - strlen (tool_suffix (asked->tool))), task->path);
  if (tool_start (&task->child, &run, &error) < 0) {
    trace_task_end (traces, task, TRACES_FAILED, 0, "%s", error.text);
    return false;
  }
  task->begun_ns = clock_monotonic ();
  task->phase = TASK_RUNNING;
  task->deadline_ns = now_ns + asked->duration_ns + TOOL_NS;
  put (traces, task, TRACES_BEGUN, 0, task->path, "");
  return true;
}

/* Keeps the end of what it wrote, in one line. */
static void
hear (struct trace_task *task)
{
  char text[1024];
  ssize_t got;

  while (task->child.out >= 0 && read (task->child.out, text, sizeof text) > 0)
    continue;
  while (task->child.err >= 0 && (got = read (task->child.err, text, sizeof text - 1)) > 0) {
    size_t length = (size_t) got, from;

    while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
      length--;
    for (size_t i = 0; i < length; i++)
      if ((unsigned char) text[i] < ' ' || text[i] == 127)
        text[i] = ' ';
    from = length < sizeof task->said ? 0 : length - sizeof task->said + 1;
    if (length)
      snprintf (task->said, sizeof task->said, "%.*s", (int) (length - from), text + from);
  }
}

static void
end_tool (struct traces *traces, struct trace_task *task, int status)
{
  const char *name = traces_tool_names[task->request->asked.tool];
  int code = WIFEXITED (status) ? WEXITSTATUS (status) : -1;

  if (code == CHILD_FORBIDDEN)
    trace_task_end (
        traces, task, TRACES_FAILED, 0,
        "this agent may not run programs as user %u: it needs CAP_SETUID, CAP_SETGID, CAP_KILL (docs/traces.md)",
        (unsigned) task->peer.uid);
  else if (code == CHILD_CANNOT || code == CHILD_ABSENT)
    trace_task_end (traces, task, TRACES_FAILED, 0, "%s cannot be started by the job's user, or its file not be made",
                    name);
  else if (code < 0)
    trace_task_end (traces, task, TRACES_FAILED, 0, "%s was ended by signal %d: %s", name, WTERMSIG (status),
                    task->said);
  else
    trace_task_end (traces, task, TRACES_FAILED, 0, "%s ended with exit code %d: %s", name, code,
                    task->said[0] ? task->said : "it wrote no reason; is the file system full?");
}

static bool
run_tool (struct traces *traces, struct trace_task *task, int64_t now_ns)
{
  int status;

  hear (task);
  if (now_ns >= task->begun_ns + task->request->asked.duration_ns)
    file_close (&task->child.in);
  if (!child_reap (&task->child, &status)) {
    if (now_ns < task->deadline_ns)
      return true;
    trace_task_end (traces, task, TRACES_FAILED, 0, "%s did not end in time, and was ended",
                    traces_tool_names[task->request->asked.tool]);
    return false;
  }
  if (!WIFEXITED (status) || WEXITSTATUS (status) != 0) {
    end_tool (traces, task, status);
    return false;
  }
  task->phase = TASK_WRITING;
  task->deadline_ns = now_ns + CHECK_NS;
  if (start_watch (task, false) == 0)
    return true;
  trace_task_end (traces, task, TRACES_FAILED, 0, "a child cannot be started: %s", strerror (errno));
  return false;
}

static void
end_written (struct traces *traces, struct trace_task *task, const struct watch_report *report)
{
  if (report->which == 1)
    memcpy (task->path, task->other, sizeof task->path);
  if (task->full)
    trace_task_end (traces, task, TRACES_FAILED, report->size,
                    "the file system is full: the file may have been cut off");
  else
    trace_task_end (traces, task, TRACES_ENDED, report->size, "%s", "");
}

static bool
look (struct traces *traces, struct trace_task *task, int64_t now_ns)
{
  struct watch_report report;

  while (trace_watch_take (&task->watch, &report)) {
    if (report.event == WATCH_DONE) {
      end_written (traces, task, &report);
      return false;
    }
    if (report.event == WATCH_REFUSED) {
      trace_task_end (traces, task, TRACES_FAILED, 0, "%s", user_error (report.error));
      return false;
    }
    task->full |= report.event == WATCH_FULL;
  }
  if (task->full && now_ns >= task->begun_ns + task->request->asked.duration_ns + FULL_NS) {
    trace_task_end (traces, task, TRACES_FAILED, 0, "the file system is full, and no file has come");
    return false;
  }
  if (is_gone (traces, task))
    task->deadline_ns = task->deadline_ns < now_ns + 3 * NS_PER_S ? task->deadline_ns : now_ns + 3 * NS_PER_S;
  if (now_ns < task->deadline_ns)
    return true;
  trace_task_end (traces, task, TRACES_FAILED, 0, "%s",
                  is_gone (traces, task) ? "the process has ended without a file"
                                         : "no file has come: may Kineto write there (KINETO_ONDEMAND_TRACE_DIR)?");
  return false;
}

static void
step (struct traces *traces, struct trace_task *task, int64_t now_ns)
{
  bool kineto = task->request->asked.tool == TRACES_KINETO;

  if (task->phase == TASK_CHECKING && !check (traces, task, now_ns))
    return;
  if (task->phase == TASK_WAITING && is_gone (traces, task)) {
    trace_task_end (traces, task, TRACES_FAILED, 0, "the process has ended before the start");
    return;
  }
  if (task->phase == TASK_WAITING &&
      !(kineto ? wait_for_process (traces, task, now_ns) : start_tool (traces, task, now_ns)))
    return;
  if (task->phase == TASK_RUNNING && !run_tool (traces, task, now_ns))
    return;
  if (task->phase == TASK_WRITING)
    look (traces, task, now_ns);
}

/* ---- all of them ---- */

void
trace_tasks_run (struct traces *traces, int64_t now_ns)
{
  for (struct trace_task *task = traces->tasks, *next; task; task = next) {
    next = task->next;
    step (traces, task, now_ns);
  }
  for (size_t i = traces->left_count; i-- > 0;)
    if (waitpid (traces->left[i].pid, NULL, WNOHANG) != 0)
      traces->left[i] = traces->left[--traces->left_count];
}

void
trace_tasks_cancel (struct traces *traces, uint64_t id, bool all)
{
  for (struct trace_task *task = traces->tasks, *next; task; task = next) {
    next = task->next;
    if (all || task->request->asked.id == id)
      trace_task_end (traces, task, TRACES_FAILED, 0, "cancelled");
  }
}

int64_t
trace_tasks_due (const struct traces *traces, int64_t now_ns)
{
  int64_t due_ns = traces->tasks || traces->ranks_open ? now_ns + TICK_NS : INT64_MAX;

  for (const struct trace_task *task = traces->tasks; task; task = task->next) {
    int64_t next_ns = task->phase == TASK_WAITING   ? task->request->asked.start_ns
                      : task->phase == TASK_RUNNING ? task->begun_ns + task->request->asked.duration_ns
                                                    : 0;

    if (next_ns > now_ns && next_ns < due_ns)
      due_ns = next_ns;
  }
  return due_ns;
}

size_t
trace_task_fetch (struct traces *traces, const struct peer *peer, char text[], struct trace_task **for_task)
{
  int64_t now_ns = clock_monotonic ();

  for (struct trace_task *task = traces->tasks; task; task = task->next) {
    const struct traces_request *asked = &task->request->asked;
    int64_t left_ns = asked->start_ns - now_ns;

    if (asked->tool != TRACES_KINETO || task->phase != TASK_WAITING || task->fetched || task->peer.pid != peer->pid ||
        task->peer.start != peer->start || task->peer.uid != peer->uid || (asked->iterations && left_ns > 0))
      continue;
    task->told_ns = (asked->start_ns + clock_wall_ahead () + NS_PER_MS / 2) / NS_PER_MS * NS_PER_MS;
    *for_task = task;
    return trace_config (text, asked, task->path, task->told_ns, left_ns);
  }
  return 0;
}
