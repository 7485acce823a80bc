/* See jobs_view.h. */
#include "aggregator/jobs/jobs_view.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_view.h"
#include "aggregator/history/job_store.h"
#include "aggregator/jobs/jobs.h"
#include "aggregator/views/views.h"
#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/log.h"
#include "synop/memory.h"

#define SCHEDULER_USERS_MAX 32
#define MARK_PAUSE (2 * NS_PER_S) /* between two readers who have marks made */
#define AT(member) .offset = offsetof (struct settings, member)

struct settings {
  int64_t grace_ns;
  char *scheduler_users; /* names */
};

struct jobs_view {
  const struct view_context *context;
  struct jobs *jobs;
  uint32_t scheduler_uids[SCHEDULER_USERS_MAX];
  size_t scheduler_count;
  int64_t marked_ns;
};

static const struct option options[] = {
  { "jobs", "grace", "job-grace", OPTION_DURATION, AT (grace_ns), .fallback = "30s", .minimum = "1s", .maximum = "1h",
    .reload = OPTIONS_RELOADED,
    .help = "A job has ended when no node has seen it for this, or for three of its sampling periods." },
  { "jobs", "scheduler_users", "job-scheduler-users", OPTION_LIST, AT (scheduler_users),
    .fallback = "slurm,oar,flux,lsfadmin", .reload = OPTIONS_RELOADED,
    .help =
        "The users, beside root and the aggregator's own, that prologs and epilogs run as: their \"synop-aggregator "
        "job\" is about any job; that of others is about their own jobs." },
};

/* As struct jobs_counts. */
static const char *const counters[] = { "jobs_running",      "jobs_started",  "jobs_ended", "job_rows_refused",
                                        "job_words_refused", "jobs_disputed", NULL };

/* ---- output of the core of jobs ---- */

static void
take_line (void *context, const struct job_line *line)
{
  struct jobs_view *view = context;

  view_job (view->context, line);
}

static void
jobs_view_take_row (void *context, const struct job_row *row)
{
  struct jobs_view *view = context;

  view_job_row (view->context, row);
}

static void
take_event (void *context, const struct event *event)
{
  struct jobs_view *view = context;

  view_event (view->context, event);
}

/* ---- start and end ---- */

/* A file that is missing or cannot be read holds no jobs; the history itself reports what is wrong with it. */
static void
restore (struct jobs *jobs, const char *path)
{
  struct job_query query = { .from_ns = INT64_MAX, .to_ns = INT64_MAX, .running = true };
  struct job_list list = { 0 };
  struct error error;
  struct history_file *file = history_file_open (path, &error);

  if (file && job_store_list (file, &query, &list, &error) == 0)
    for (size_t i = 0; i < list.count; i++)
      jobs_restore (jobs, &list.jobs[i]);
  else
    log_debug ("jobs of before: %s", error.text);
  if (list.damaged)
    log_warning ("%s: %zu jobs that ran are left out; %s", path, list.damaged, error.text);
  if (list.count)
    log_info ("%zu jobs ran when the history was last written", list.count);
  job_list_free (&list);
  history_file_close (file);
}

static void
find_schedulers (struct jobs_view *view, const char *users)
{
  struct globs names;
  const char *name;

  globs_init (&names, users);
  name = names.text;
  view->scheduler_count = 0;
  for (size_t i = 0; i < names.count && view->scheduler_count < SCHEDULER_USERS_MAX; i++, name += strlen (name) + 1) {
    const struct passwd *user = getpwnam (name);
    if (user)
      view->scheduler_uids[view->scheduler_count++] = user->pw_uid;
  }
  globs_free (&names);
}

static int
open_jobs (const struct view_context *context, void **state, struct error *error)
{
  const struct settings *settings = context->options;
  const struct history *history = views_state (context->views, &history_view);
  struct jobs_view *view = *state = memory_new (1, sizeof *view);

  (void) error;
  view->context = context;
  view->jobs = jobs_create (&(struct jobs_options){ .grace_ns = settings->grace_ns,
                                                    .context = view,
                                                    .line = take_line,
                                                    .row = jobs_view_take_row,
                                                    .event = take_event },
                            clock_wall ());
  find_schedulers (view, settings->scheduler_users);
  if (history)
    restore (view->jobs, history_path (history));
  return 0;
}

static void
jobs_view_reload (void *state)
{
  struct jobs_view *view = state;
  const struct settings *settings = view->context->options;

  jobs_set_grace (view->jobs, settings->grace_ns);
  find_schedulers (view, settings->scheduler_users);
}

static void
mark (void *state)
{
  struct jobs_view *view = state;

  view->marked_ns = clock_monotonic ();
  jobs_mark (view->jobs);
}

static void
mark_seldom (void *state)
{
  struct jobs_view *view = state;

  if (clock_monotonic () - view->marked_ns >= MARK_PAUSE)
    mark (state);
}

static int
close_jobs (void *state)
{
  struct jobs_view *view = state;

  jobs_destroy (view->jobs);
  free (view);
  return 0;
}

/* ---- reports of other views and the core ---- */

static void
feed_frame (void *state, const struct cluster_frame *frame)
{
  struct jobs_view *view = state;

  jobs_frame (view->jobs, frame, view_now_ns (view->context));
}

static void
see_event (void *state, const struct event *event)
{
  struct jobs_view *view = state;

  if (event->node && (event->type == EVENT_NODE_DOWN || event->type == EVENT_NODE_REVOKED))
    jobs_node_down (view->jobs, event->node);
  if (event->type == EVENT_AGGREGATOR_STARTED || event->type == EVENT_KEYS_RELOADED)
    jobs_expect_nodes (view->jobs, event->count);
}

static void
poll_jobs (void *state, struct instant now)
{
  struct jobs_view *view = state;

  (void) now;
  jobs_tick (view->jobs, view_now_ns (view->context));
}

static void
jobs_view_count (void *state, uint64_t *values)
{
  struct jobs_view *view = state;
  const struct jobs_counts *counts = jobs_counts (view->jobs);

  memcpy (values, counts, sizeof *counts);
}

void
jobs_view_running (void *state, const struct viewer *viewer, struct json *json)
{
  const struct jobs_view *view = state;

  if (view)
    jobs_write_running (view->jobs, viewer, json);
}

size_t
jobs_view_each_node (void *state, const char *label, void *context,
                     void (*take) (void *context, const char *user, const char *node))
{
  const struct jobs_view *view = state;

  return view ? jobs_each_node (view->jobs, label, context, take) : 0;
}

static bool
is_scheduler (const struct jobs_view *view, uint32_t uid)
{
  bool found = uid == 0 || uid == geteuid ();

  for (size_t i = 0; i < view->scheduler_count && !found; i++)
    found = view->scheduler_uids[i] == uid;
  return found;
}

/* Whether it is a scheduler's is found here. */
static void
take_announcement (void *state, const struct job_announcement *announcement, struct buffer *answer)
{
  struct jobs_view *view = state;
  struct job_announcement own = *announcement;
  int64_t now_ns = view_now_ns (view->context);
  struct error error;
  int result;

  own.scheduler = is_scheduler (view, announcement->uid);
  if (own.start)
    result = jobs_start (view->jobs, &own, now_ns, &error);
  else
    result = jobs_end (view->jobs, &own, now_ns, &error);
  if (result < 0)
    buffer_printf (answer, "error %s\n", error.text);
  else if (!own.start && result == 0)
    buffer_printf (answer, "ok no job %s runs\n", announcement->label);
  else
    buffer_add_string (answer, "ok\n");
}

const struct view jobs_view = {
  .name = "jobs",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct settings),
  .counters = counters,
  .levels = 1, /* jobs_running */
  .open = open_jobs,
  .reload = jobs_view_reload,
  .frame = feed_frame,
  .event = see_event,
  .announce = take_announcement,
  .poll = poll_jobs,
  .count = jobs_view_count,
  .mark = mark_seldom,
  .end = mark,
  .close = close_jobs,
};
