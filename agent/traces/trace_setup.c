/* From a request to its tasks: which processes, with which files, and who cannot take part. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/traces/trace_text.h"
#include "agent/traces/trace_tool.h"
#include "agent/traces/traces_private.h"
#include "synop/memory.h"

#define REMEDY "start the job with KINETO_USE_DAEMON=1 in its environment (docs/traces.md)"
#define UNREGISTERED_MAX 64
#define NAMED_MAX 3

struct setup {
  struct traces *traces;
  struct trace_batch *request;
  struct trace_task *tasks[TASKS_MAX];
  const char *errors[TASKS_MAX]; /* of those that end at once; NULL: it is begun */
  enum traces_state states[TASKS_MAX];
  size_t count;
};

static struct trace_task *
add_task (struct setup *setup, const struct peer *peer, const struct traces_process *process, const char *error,
          enum traces_state state)
{
  struct trace_task *task;

  if (setup->count + setup->traces->task_count >= TASKS_MAX)
    return NULL;
  task = memory_new (1, sizeof *task);
  task->request = setup->request;
  task->process = process ? *process : (struct traces_process){ .rank = -1, .device = -1 };
  if (peer) {
    task->peer = *peer;
    task->process.uid = peer->uid;
  }
  task->watch.fd = -1;
  task->child = (struct child){ .in = -1, .out = -1, .err = -1 };
  setup->errors[setup->count] = error ? memory_string (error) : NULL;
  setup->states[setup->count] = state;
  setup->tasks[setup->count++] = task;
  return task;
}

static void __attribute__ ((format (printf, 2, 3))) refuse (struct setup *setup, const char *format, ...)
{
  char error[TRACES_ERROR_MAX + 1];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (error, sizeof error, format, arguments);
  va_end (arguments);
  add_task (setup, NULL, NULL, error, TRACES_FAILED);
}

static bool
is_asked (const struct traces_request *asked, int32_t rank)
{
  for (size_t i = 0; i < asked->rank_count; i++)
    if (asked->ranks[i] == rank)
      return true;
  return asked->rank_count == 0;
}

static bool
is_within (const struct setup *setup)
{
  uint32_t limit = setup->request->asked.limit;

  return !limit || setup->count < limit;
}

/* ---- processes that have registered ---- */

/* NULL: it has gone meanwhile. */
static struct registered *
still (const struct setup *setup, const struct traces_process *listed)
{
  struct registered *registered = registry_find (&setup->traces->registry, listed->pid);

  return registered && peer_is_alive (&setup->traces->files, listed->pid, registered->peer.start) ? registered : NULL;
}

static void
add_registered (struct setup *setup)
{
  const struct trace_batch *request = setup->request;
  bool kineto = request->asked.tool == TRACES_KINETO;

  for (size_t i = 0; i < request->registered_count && is_within (setup); i++) {
    const struct registered *registered = still (setup, &request->registered[i]);

    if (registered && is_asked (&request->asked, registered->process.rank))
      add_task (setup, &registered->peer, &registered->process,
                kineto && registered->process.busy ? "another trace of this process is under way" : NULL,
                TRACES_FAILED);
  }
}

static bool
descends_from_registered (const struct setup *setup, const struct peer *peer)
{
  struct peer at = *peer;

  for (int depth = 0; depth < TRACES_ANCESTORS && at.parent > 1; depth++) {
    if (registry_find (&setup->traces->registry, at.parent))
      return true;
    if (!peer_read (&setup->traces->files, at.parent, &at))
      return false;
  }
  return false;
}

static bool
resembles_registered (const struct setup *setup, const struct peer *peer)
{
  const struct trace_batch *request = setup->request;

  for (size_t i = 0; i < request->registered_count; i++) {
    const struct registered *registered = still (setup, &request->registered[i]);

    if (registered && strcmp (registered->peer.command, peer->command) == 0)
      return true;
  }
  return false;
}

/* Those of the same program that no registered one has started: ranks whose environment lacks something. */
static void
add_unregistered (struct setup *setup)
{
  const struct trace_batch *request = setup->request;
  size_t found = 0;

  for (size_t i = 0; i < request->pid_count && found < UNREGISTERED_MAX; i++) {
    struct traces_process process = { .pid = request->pids[i], .rank = -1, .device = -1 };
    char error[TRACES_ERROR_MAX + 1];
    struct peer peer;

    if (registry_find (&setup->traces->registry, process.pid) ||
        !peer_read (&setup->traces->files, process.pid, &peer) || !resembles_registered (setup, &peer) ||
        descends_from_registered (setup, &peer))
      continue;
    snprintf (error, sizeof error, "%s has not registered: " REMEDY, peer.command);
    add_task (setup, &peer, &process, error, TRACES_UNREGISTERED);
    found++;
  }
}

/* "python3 4711, python3 4712 and 5 more" */
static void
name_processes (const struct setup *setup, char *text, size_t size)
{
  const struct trace_batch *request = setup->request;
  size_t length = 0, shown = 0;

  *text = 0;
  for (size_t i = 0; i < request->pid_count && shown < NAMED_MAX; i++) {
    struct peer peer;

    if (!peer_read (&setup->traces->files, request->pids[i], &peer))
      continue;
    length += (size_t) snprintf (text + length, size - length, "%s%.15s %d", shown++ ? ", " : "", peer.command,
                                 (int) peer.pid);
  }
  if (request->pid_count > shown)
    snprintf (text + length, size - length, "%s%zu more", shown ? " and " : "", request->pid_count - shown);
}

static void
setup_kineto (struct setup *setup)
{
  char names[128];

  const struct trace_batch *request = setup->request;

  add_registered (setup);
  if (request->registered_count && !request->asked.rank_count && !request->asked.limit)
    add_unregistered (setup);
  if (setup->count || request->asked.rank_count)
    return;
  if (!traces_socket_there (setup->traces))
    refuse (setup, "%s", setup->traces->no_socket.text);
  else if (!request->pid_count)
    refuse (setup, "no process of the job is known on this node");
  else {
    name_processes (setup, names, sizeof names);
    refuse (setup, "no process of the job on this node (%s) has registered: " REMEDY, names);
  }
}

/* ---- tools ---- */

static bool
is_root (const struct peer *peer)
{
  return peer->uid == 0 || peer->gid == 0;
}

/* Without Kineto nobody says which processes are ranks: those of Python are taken. */
static void
setup_processes (struct setup *setup)
{
  const struct trace_batch *request = setup->request;

  add_registered (setup);
  for (size_t i = 0; !request->registered_count && i < request->pid_count && is_within (setup); i++) {
    struct traces_process process = { .pid = request->pids[i], .rank = -1, .device = -1 };
    struct peer peer;

    if (peer_read (&setup->traces->files, process.pid, &peer) && is_asked (&request->asked, -1) &&
        (strncmp (peer.command, "python", 6) == 0 || strncmp (peer.command, "pt_main_thread", 14) == 0))
      add_task (setup, &peer, &process, NULL, TRACES_FAILED);
  }
  for (size_t i = 0; i < setup->count; i++) {
    setup->tasks[i]->pids = memory_new (1, sizeof (pid_t));
    setup->tasks[i]->pids[0] = setup->tasks[i]->process.pid;
    setup->tasks[i]->pid_count = 1;
  }
  if (!setup->count && !request->asked.rank_count)
    refuse (setup, "no process of the job for %s is known on this node", traces_tool_names[request->asked.tool]);
}

static void
setup_node (struct setup *setup)
{
  const struct trace_batch *request = setup->request;
  struct trace_task *task = NULL;

  for (size_t i = 0; i < request->pid_count; i++) {
    struct peer peer;

    if (!peer_read (&setup->traces->files, request->pids[i], &peer) || (is_root (&peer) && request->pid_count > 1))
      continue; /* root's, beside those of the job's user: steps of schedulers */
    if (!task && (task = add_task (setup, &peer, NULL, NULL, TRACES_FAILED)))
      task->pids = memory_new (TOOL_PIDS_MAX, sizeof *task->pids);
    if (task && task->peer.uid == peer.uid && task->pid_count < TOOL_PIDS_MAX)
      task->pids[task->pid_count++] = peer.pid;
  }
  if (!setup->count)
    refuse (setup, "no process of the job's user is known on this node");
}

/* ---- paths ---- */

static int
set_path (const struct setup *setup, size_t index, struct error *error)
{
  struct trace_task *task = setup->tasks[index];
  const struct traces_request *asked = &setup->request->asked;
  const struct peer *peer = &task->peer;
  struct trace_words words = { asked->job, setup->traces->options.node, task->process.rank, peer->pid };
  const char *suffix = tool_suffix (asked->tool);
  size_t length;

  if (trace_path (asked->path, &words, task->path, error) < 0 ||
      trace_path_check (task->path, setup->traces->settings.folders, &task->behind, error) < 0)
    return -1;
  length = strlen (task->path);
  if (length < strlen (suffix) || strcmp (task->path + length - strlen (suffix), suffix) != 0) {
    if (length + strlen (suffix) > TRACES_PATH_MAX)
      return error_set (error, "the path is longer than %d bytes", TRACES_PATH_MAX);
    strcpy (task->path + length, suffix);
  }
  if (asked->tool == TRACES_KINETO)
    trace_path_kineto (task->path, peer->id_count ? peer->ids[peer->id_count - 1] : peer->pid, task->other);
  for (size_t i = 0; i < index; i++)
    if (strcmp (setup->tasks[i]->path, task->path) == 0)
      return error_set (error, "another process has the same path: it needs {rank} or {pid}");
  return 0;
}

static void
begin (const struct setup *setup, size_t index)
{
  struct trace_task *task = setup->tasks[index];
  enum traces_tool tool = setup->request->asked.tool;
  struct error error;

  if (setup->errors[index])
    trace_task_end (setup->traces, task, setup->states[index], 0, "%s", setup->errors[index]);
  else if (tool != TRACES_KINETO && is_root (&task->peer))
    trace_task_end (setup->traces, task, TRACES_FAILED, 0, "%s is not run as root, whose processes these are",
                    traces_tool_names[tool]);
  else if (!traces_permit (setup->traces, &task->peer))
    trace_task_end (setup->traces, task, TRACES_FAILED, 0, "processes of user %u are not traced on this node",
                    (unsigned) task->peer.uid);
  else if (set_path (setup, index, &error) < 0)
    trace_task_end (setup->traces, task, TRACES_FAILED, 0, "%s", error.text);
  else
    trace_task_add (setup->traces, task);
}

void
trace_setup (struct traces *traces, struct trace_batch *request)
{
  struct setup *setup = memory_new (1, sizeof *setup);
  enum traces_tool tool = request->asked.tool;

  setup->traces = traces;
  setup->request = request;
  if (tool == TRACES_KINETO)
    setup_kineto (setup);
  else if (tool_is_per_process (tool))
    setup_processes (setup);
  else
    setup_node (setup);
  request->tasks = request->open = setup->count;
  if (!setup->count) { /* the ranks that are asked for are elsewhere */
    traces_put (traces, &(struct traces_progress){ .id = request->asked.id, .last = true });
    trace_batch_free (request);
  }
  for (size_t i = 0; i < setup->count; i++) { /* the last to end frees the request */
    begin (setup, i);
    free ((char *) setup->errors[i]);
  }
  free (setup);
}
