/* See traces.h. The sampling thread's side, and the life of the thread that does the work. */
#include "agent/traces/traces.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/traces/trace_text.h"
#include "agent/traces/trace_tool.h"
#include "agent/traces/traces_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define PRUNE_NS (10 * NS_PER_S)
#define START_MAX_NS (3600 * NS_PER_S) /* ahead */
#define DURATION_MIN_NS NS_PER_MS
#define DURATION_MAX_NS (3600 * NS_PER_S)

const char *const traces_tool_names[TRACES_TOOLS + 1] = { "kineto", "counters", "perf", "py-spy",
                                                          "nsys",   "rocprof",  NULL };
const char *const traces_state_names[] = { "found", "begun", "ended", "failed", "unregistered" };

/* ---- what both threads call ---- */

static void
signal_fd (int fd)
{
  uint64_t one = 1;

  if (write (fd, &one, sizeof one) < 0)
    return; /* it is signalled already */
}

static void
clear_fd (int fd)
{
  uint64_t count;

  if (read (fd, &count, sizeof count) < 0)
    return; /* it was clear */
}

void
traces_put (struct traces *traces, const struct traces_progress *progress)
{
  pthread_mutex_lock (&traces->lock);
  if (traces->progress_count < PROGRESS_MAX)
    traces->progress[(traces->progress_first + traces->progress_count++) % PROGRESS_MAX] = *progress;
  traces->request_count -= progress->last;
  pthread_mutex_unlock (&traces->lock);
  signal_fd (traces->out);
}

bool
traces_permit (const struct traces *traces, const struct peer *peer)
{
  bool listed = traces->user_count == 0;

  for (size_t i = 0; i < traces->user_count; i++)
    listed |= traces->users[i] == peer->uid;
  return listed && (!traces->has_group || peer->uid == 0 || peer_is_in (peer, traces->group));
}

/* ---- requests, in the sampling thread ---- */

void
trace_batch_free (struct trace_batch *request)
{
  free ((char *) request->asked.job);
  free ((int32_t *) request->asked.ranks);
  free ((char *) request->asked.config);
  free ((char *) request->asked.path);
  free (request->registered);
  free (request->pids);
  free (request);
}

static int
check_request (const struct traces *traces, const struct traces_request *asked, struct error *error)
{
  char path[TRACES_PATH_MAX + 1];
  struct trace_words words = { asked->job, traces->options.node, 0, 1 };
  size_t behind;

  if (!asked->job || !*asked->job || strlen (asked->job) >= JOB_LABEL_SIZE || asked->tool >= TRACES_TOOLS)
    return error_set (error, "no job, or no tool that is known");
  if (asked->iterations ? asked->tool != TRACES_KINETO || asked->iterations > 1000000
                        : asked->duration_ns < DURATION_MIN_NS || asked->duration_ns > DURATION_MAX_NS)
    return error_set (error, "a trace takes 1 ms to 1 h, or, of Kineto, 1 to 1000000 iterations");
  if (asked->start_ns > clock_monotonic () + START_MAX_NS || asked->rank_count > TRACES_RANKS_MAX)
    return error_set (error, "the start is more than 1 h ahead, or there are too many ranks");
  if (trace_path (asked->path ? asked->path : "", &words, path, error) < 0 ||
      trace_path_check (path, traces->settings.folders, &behind, error) < 0 ||
      trace_config_check (asked->tool, asked->config ? asked->config : "", error) < 0)
    return -1;
  return asked->tool == TRACES_COUNTERS
             ? tool_check_counters (asked->config ? asked->config : "", traces->options.groups, error)
             : 0;
}

static bool
is_known (const struct traces *traces, uint64_t id)
{
  size_t count = traces->known_count < KNOWN_MAX ? traces->known_count : KNOWN_MAX;

  for (size_t i = 0; i < count; i++)
    if (traces->known[i] == id)
      return true;
  return false;
}

static struct trace_batch *
copy_request (const struct traces_request *asked)
{
  struct trace_batch *request = memory_new (1, sizeof *request);
  size_t size = asked->rank_count * sizeof *asked->ranks;

  request->asked = *asked;
  request->asked.job = memory_string (asked->job);
  request->asked.config = memory_string (asked->config ? asked->config : "");
  request->asked.path = memory_string (asked->path);
  request->asked.ranks = size ? (const int32_t *) memory_copy (asked->ranks, size) : NULL;
  return request;
}

/* Only this thread may ask which job a process is of. */
static void
find_processes (struct traces *traces, struct trace_batch *request)
{
  const struct traces_jobs *jobs = &traces->options.jobs;

  request->pids = memory_new (JOB_PIDS_MAX, sizeof *request->pids);
  request->pid_count = jobs->pids_of (jobs->context, request->asked.job, request->pids, JOB_PIDS_MAX);
  request->registered = memory_new (traces->registry.count, sizeof *request->registered);
  for (size_t i = 0; i < traces->registry.count; i++) {
    const struct traces_process *process = &traces->registry.list[i]->process;
    const char *job = jobs->job_of (jobs->context, process->pid);

    if (job && strcmp (job, request->asked.job) == 0)
      request->registered[request->registered_count++] = *process;
  }
}

int
traces_begin (struct traces *traces, const struct traces_request *asked, struct error *error)
{
  struct trace_batch *request;
  int rc = check_request (traces, asked, error);

  if (rc < 0)
    return -1;
  pthread_mutex_lock (&traces->lock);
  if (is_known (traces, asked->id)) {
    rc = 0;
  } else if (traces->request_count >= REQUESTS_MAX || traces->progress_count > PROGRESS_MAX / 2) {
    rc = error_set (error, "too many traces are under way on this node");
  } else {
    traces->known[traces->known_count++ % KNOWN_MAX] = asked->id;
    traces->request_count++;
    request = copy_request (asked);
    find_processes (traces, request);
    *traces->asked_end = request;
    traces->asked_end = &request->next;
  }
  pthread_mutex_unlock (&traces->lock);
  signal_fd (traces->wake);
  return rc;
}

void
traces_cancel (struct traces *traces, uint64_t id)
{
  pthread_mutex_lock (&traces->lock);
  if (traces->cancelled_count < REQUESTS_MAX)
    traces->cancelled[traces->cancelled_count++] = id;
  pthread_mutex_unlock (&traces->lock);
  signal_fd (traces->wake);
}

bool
traces_take (struct traces *traces, struct traces_progress *progress)
{
  bool taken;

  clear_fd (traces->out);
  pthread_mutex_lock (&traces->lock);
  taken = traces->progress_count != 0;
  if (taken) {
    *progress = traces->progress[traces->progress_first];
    traces->progress_first = (traces->progress_first + 1) % PROGRESS_MAX;
    if (--traces->progress_count)
      signal_fd (traces->out);
    else
      traces->progress_first = 0; /* what is not needed is not touched */
  }
  pthread_mutex_unlock (&traces->lock);
  return taken;
}

size_t
traces_list (struct traces *traces, struct traces_process *list, size_t most)
{
  const struct traces_jobs *jobs = &traces->options.jobs;
  size_t count = 0;

  pthread_mutex_lock (&traces->lock);
  for (size_t i = 0; i < traces->registry.count && count < most; i++) {
    const char *job;

    list[count] = traces->registry.list[i]->process;
    job = jobs->job_of (jobs->context, list[count].pid);
    snprintf (list[count].job, sizeof list[count].job, "%s", job ? job : "");
    count++;
  }
  pthread_mutex_unlock (&traces->lock);
  return count;
}

int
traces_fd (const struct traces *traces)
{
  return traces->out;
}

/* ---- the thread ---- */

void
traces_tick_soon (struct traces *traces)
{
  int64_t now_ns = clock_monotonic (), due_ns = trace_tasks_due (traces, now_ns);

  if (due_ns == INT64_MAX && traces->registry.count)
    due_ns = traces->pruned_ns + PRUNE_NS;
  loop_timer_set (traces->tick, due_ns);
}

static void
take_ranks (struct traces *traces)
{
  struct worker_query *answers;
  size_t count = job_worker_take (traces->ranks, &answers);

  traces->ranks_open -= count < traces->ranks_open ? count : traces->ranks_open;
  for (size_t i = 0; i < count; i++) {
    struct registered *registered = registry_find (&traces->registry, answers[i].pid);

    if (!registered || registered->peer.start != answers[i].start || answers[i].given_up)
      continue;
    pthread_mutex_lock (&traces->lock);
    registered->process.rank = answers[i].result;
    pthread_mutex_unlock (&traces->lock);
  }
}

static void
tick (void *context, int64_t due_ns)
{
  struct traces *traces = context;
  int64_t now_ns = clock_monotonic ();

  (void) due_ns;
  take_ranks (traces);
  trace_tasks_run (traces, now_ns);
  if (now_ns - traces->pruned_ns >= PRUNE_NS) {
    pthread_mutex_lock (&traces->lock);
    registry_prune (&traces->registry, &traces->files);
    pthread_mutex_unlock (&traces->lock);
    traces->pruned_ns = now_ns;
  }
  traces_tick_soon (traces);
}

static struct trace_batch *
take_request (struct traces *traces)
{
  struct trace_batch *request;

  pthread_mutex_lock (&traces->lock);
  request = traces->asked;
  if (request) {
    traces->asked = request->next;
    if (!traces->asked)
      traces->asked_end = &traces->asked;
  }
  pthread_mutex_unlock (&traces->lock);
  return request;
}

static void
woken (void *context, uint32_t events)
{
  struct traces *traces = context;
  struct trace_batch *request;
  uint64_t cancelled[REQUESTS_MAX];
  size_t count;
  bool stop;

  (void) events;
  clear_fd (traces->wake);
  while ((request = take_request (traces)))
    trace_setup (traces, request);
  pthread_mutex_lock (&traces->lock);
  count = traces->cancelled_count;
  memcpy (cancelled, traces->cancelled, count * sizeof *cancelled);
  traces->cancelled_count = 0;
  stop = traces->stop;
  pthread_mutex_unlock (&traces->lock);
  for (size_t i = 0; i < count; i++)
    trace_tasks_cancel (traces, cancelled[i], false);
  if (stop)
    loop_stop (traces->loop);
  else
    traces_tick_soon (traces);
}

static void *
run (void *context)
{
  struct traces *traces = context;
  struct loop_watch *wake = loop_watch_add (traces->loop, traces->wake, EPOLLIN, woken, traces);

  traces->tick = loop_timer_add (traces->loop, tick, traces);
  traces_socket_start (traces);
  loop_run (traces->loop);
  trace_tasks_cancel (traces, 0, true);
  traces_socket_stop (traces);
  loop_timer_remove (traces->tick);
  loop_watch_remove (wake);
  return NULL;
}

/* ---- ranks, which stand in environments, whose reading may hang ---- */

static uint32_t
user_of (void *context, pid_t pid)
{
  char path[64];
  struct stat status;

  (void) context;
  snprintf (path, sizeof path, "/proc/%d", (int) pid);
  return stat (path, &status) < 0 ? JOB_UID_UNKNOWN : status.st_uid;
}

static void
answer_rank (void *context, struct worker_query *query)
{
  (void) context;
  query->result = peer_read_rank (query->pid);
}

static void
close_ranks (void *context)
{
  (void) context;
}

static const struct job_work rank_work = {
  .name = "trace_ranks", .user = user_of, .answer = answer_rank, .close = close_ranks
};

/* ---- life ---- */

static int
find_user (const char *name, uid_t *uid)
{
  const struct passwd *entry = getpwnam (name);
  char *end;

  *uid = (uid_t) strtoul (name, &end, 10);
  if (!*end && end != name)
    return 0;
  if (!entry)
    return -1;
  *uid = entry->pw_uid;
  return 0;
}

static int
find_users (struct traces *traces, struct error *error)
{
  char name[64];

  for (const char *at = traces->settings.users; *at;) {
    size_t length = strcspn (at, ",");

    snprintf (name, sizeof name, "%.*s", (int) length, at);
    if (traces->user_count == SETTING_USERS)
      return error_set (error, "[traces] users: more than %d", SETTING_USERS);
    if (find_user (name, &traces->users[traces->user_count++]) < 0)
      return error_set (error, "[traces] users: this machine has no user \"%s\"", name);
    at += length + (at[length] == ',');
  }
  return 0;
}

static int
find_group (struct traces *traces, struct error *error)
{
  const struct group *entry;

  if (!*traces->settings.group)
    return 0;
  entry = getgrnam (traces->settings.group);
  if (!entry)
    return error_set (error, "[traces] group: this machine has no group \"%s\"", traces->settings.group);
  traces->group = entry->gr_gid;
  traces->has_group = true;
  return 0;
}

static void
free_all (struct traces *traces)
{
  struct trace_batch *request;

  while ((request = take_request (traces)))
    trace_batch_free (request);
  traces_socket_close (traces);
  job_worker_destroy (traces->ranks);
  process_files_close (&traces->files);
  registry_free (&traces->registry);
  loop_destroy (traces->loop);
  file_close (&traces->wake);
  file_close (&traces->out);
  free (traces->progress);
  free (traces->settings.socket);
  free (traces->settings.group);
  free (traces->settings.folders);
  free (traces->settings.users);
  free ((char *) traces->options.node);
  free ((char *) traces->options.program);
  pthread_mutex_destroy (&traces->lock);
  free (traces);
}

static int
open_all (struct traces *traces, struct error *error)
{
  if (find_users (traces, error) < 0 || find_group (traces, error) < 0 || traces_socket_open (traces, error) < 0)
    return -1;
  if (process_files_open (&traces->files, "") < 0)
    return error_set (error, "/proc cannot be read");
  traces->ranks = job_worker_create (&rank_work, NULL, 0);
  traces->pruned_ns = clock_monotonic ();
  errno = thread_start (&traces->thread, 0, run, traces);
  return errno == 0 ? 0 : error_set (error, "a thread for traces: %s", strerror (errno));
}

struct traces *
traces_create (const struct traces_options *options, struct error *error)
{
  struct traces *traces = memory_new (1, sizeof *traces);
  const struct traces_settings *settings = options->settings;

  traces->options = *options;
  traces->options.node = memory_string (options->node);
  traces->options.program = memory_string (options->program ? options->program : "/proc/self/exe");
  traces->settings.socket = memory_string (settings->socket);
  traces->settings.group = memory_string (settings->group);
  traces->settings.folders = memory_string (settings->folders);
  traces->settings.users = memory_string (settings->users);
  traces->socket = -1;
  traces->files.proc = -1;
  traces->asked_end = &traces->asked;
  traces->wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  traces->out = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  traces->progress = memory_new (PROGRESS_MAX, sizeof *traces->progress);
  traces->loop = loop_create ();
  pthread_mutex_init (&traces->lock, NULL);
  if (open_all (traces, error) == 0)
    return traces;
  free_all (traces);
  return NULL;
}

void
traces_close (struct traces *traces)
{
  if (!traces)
    return;
  pthread_mutex_lock (&traces->lock);
  traces->stop = true;
  pthread_mutex_unlock (&traces->lock);
  signal_fd (traces->wake);
  pthread_join (traces->thread, NULL);
  free_all (traces);
}
