/* The server's jobs: what their core says goes to the stream and into the history, and what runs is read back at the
 * start. */
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/history/history_file.h"
#include "aggregator/history/job_store.h"
#include "aggregator/server/server_private.h"
#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/log.h"

static void
take_line (void *context, const struct job_line *job)
{
  struct server *server = context;
  struct stream_line line = job_stream_line (job);

  if (server->history)
    history_put_job_line (server->history, job);
  stream_put (server->stream, &line);
}

static void
take_row (void *context, const struct job_row *row)
{
  struct server *server = context;

  if (server->history)
    history_put_job (server->history, row);
}

static int64_t
now_ns (const struct server *server)
{
  return cluster_time (server->cluster, clock_monotonic ());
}

/* A file that is not there yet, or cannot be read, has no jobs; the history itself says what is wrong with it. */
static void
restore (struct server *server)
{
  struct job_query query = { .from_ns = INT64_MAX, .to_ns = INT64_MAX, .running = true };
  struct job_list list = { 0 };
  struct error error;
  struct history_file *file = history_file_open (server->options->history_path, &error);

  if (file && job_store_list (file, &query, &list, &error) == 0)
    for (size_t i = 0; i < list.count; i++)
      jobs_restore (server->jobs, &list.jobs[i]);
  else
    log_debug ("jobs of before: %s", error.text);
  if (list.damaged)
    log_warning ("%s: %zu jobs that ran are left out; %s", server->options->history_path, list.damaged, error.text);
  if (list.count)
    log_info ("%zu jobs ran when the history was last written", list.count);
  job_list_free (&list);
  history_file_close (file);
}

static void
take_event (void *server, const struct event *event)
{
  server_event (server, event);
}

void
server_jobs_users (struct server *server)
{
  struct globs names;
  const char *name;

  globs_init (&names, server->options->job_scheduler_users);
  name = names.text;
  server->scheduler_count = 0;
  for (size_t i = 0; i < names.count && server->scheduler_count < SCHEDULER_USERS_MAX; i++, name += strlen (name) + 1) {
    const struct passwd *user = getpwnam (name);
    if (user)
      server->scheduler_uids[server->scheduler_count++] = user->pw_uid;
  }
  globs_free (&names);
}

static bool
is_scheduler (const struct server *server, uint32_t uid)
{
  bool found = uid == 0 || uid == geteuid ();

  for (size_t i = 0; i < server->scheduler_count && !found; i++)
    found = server->scheduler_uids[i] == uid;
  return found;
}

void
server_jobs_open (struct server *server)
{
  server->jobs = jobs_create (&(struct jobs_options){ .grace_ns = server->options->job_grace_ns,
                                                      .context = server,
                                                      .line = take_line,
                                                      .row = take_row,
                                                      .event = take_event },
                              clock_wall ());
  server_jobs_users (server);
  if (server->history)
    restore (server);
}

void
server_jobs_frame (struct server *server, const struct cluster_frame *frame)
{
  jobs_frame (server->jobs, frame, now_ns (server));
}

void
server_jobs_event (struct server *server, const struct event *event)
{
  if (event->node && (event->type == EVENT_NODE_DOWN || event->type == EVENT_NODE_REVOKED))
    jobs_node_down (server->jobs, event->node);
}

void
server_jobs_tick (struct server *server)
{
  jobs_tick (server->jobs, now_ns (server));
}

void
server_job (void *context, const struct serve_job *what, struct buffer *out)
{
  struct server *server = context;
  struct job_word word = { .label = what->label,
                           .user = what->user,
                           .name = what->name,
                           .scheduler = is_scheduler (server, what->uid),
                           .uid = what->uid };
  struct error error;
  int result;

  if (what->start)
    result = jobs_start (server->jobs, &word, now_ns (server), &error);
  else
    result = jobs_end (server->jobs, &word, now_ns (server), &error);
  stream_flush (server->stream);
  if (result < 0)
    buffer_printf (out, "error %s\n", error.text);
  else if (!what->start && result == 0)
    buffer_printf (out, "ok no job %s runs\n", what->label);
  else
    buffer_add_string (out, "ok\n");
}
