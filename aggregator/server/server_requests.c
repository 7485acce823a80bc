/* Requests of people to the server: on the UNIX socket, by signals, and by closing the reading end of its standard
 * output. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/alerts/alerts_view.h"
#include "aggregator/core/node.h"
#include "aggregator/jobs/jobs_view.h"
#include "aggregator/server/group_list.h"
#include "aggregator/server/server_private.h"
#include "aggregator/server/status.h"
#include "synop/clock.h"
#include "synop/key_folder.h"
#include "synop/log.h"

int
server_reload (void *context, struct error *error)
{
  struct server *server = context;
  struct instant now = server_now ();
  int result;

  if (key_folder_check_nodes (server->options->keys, error) < 0)
    result = error_prefix (error, "the list of nodes stays as it was: ");
  else
    result = key_set_load (server->keys, server->key_folder, error);
  server_list_nodes (server, now);
  views_event (server->views, &(struct event){ .type = EVENT_KEYS_RELOADED,
                                               .wall_ns = now.wall_ns,
                                               .text = result < 0 ? error->text : NULL,
                                               .count = key_set_count (server->keys) });
  if (result < 0)
    log_error ("%s", error->text);
  return result;
}

int
server_viewer (void *context, uint32_t uid, struct viewer *viewer, struct error *why)
{
  const struct server *server = context;

  return access_viewer (server->access, uid, true, viewer, why);
}

static struct status
status_now (const struct server *server)
{
  struct status status = { .cluster = server->cluster,
                           .views = server->views,
                           .listen = link_server_endpoint (server->link),
                           .now = server_now (),
                           .readers = { serve_clients (server->serve), serve_refused (server->serve),
                                        server->lines_dropped } };

  status.uptime_ns = status.now.monotonic_ns - server->started_ns;
  link_server_counts (server->link, &status.link);
  return status;
}

void
server_count (void *context, void *to, view_counter_fn *take)
{
  struct status status = status_now (context);

  status_each_counter (&status, to, take);
}

int64_t
server_time (void *context)
{
  const struct server *server = context;

  return cluster_time (server->cluster, clock_monotonic ());
}

void
server_status (void *context, const struct viewer *viewer, bool table, struct buffer *out)
{
  struct status status = status_now (context);
  struct json json = { 0 };

  status.viewer = viewer;
  if (table) {
    status_write_table (&status, out);
  } else {
    status_write_json (&status, &json);
    buffer_add (out, json.out.data, json.out.length);
    json_free (&json);
  }
}

/* ---- groups, nodes ---- */

void
server_groups (void *context, const struct viewer *viewer, bool json, struct buffer *out)
{
  const struct server *server = context;

  (void) viewer;
  (json ? group_list_json : group_list_names) (server->cluster, out);
}

void
server_nodes (void *context, const struct viewer *viewer, bool json, struct buffer *out)
{
  const struct server *server = context;
  size_t count = cluster_node_count (server->cluster);
  struct instant now = server_now ();
  struct json lines = { 0 };

  for (size_t i = 0; i < count; i++) {
    const struct node *node = cluster_node (server->cluster, i);
    if (json) {
      status_write_node (&lines, node, viewer, now);
      json_newline (&lines);
    } else {
      buffer_printf (out, "%s\t%s\n", node->name, node_state_name (node->state));
    }
  }
  buffer_add (out, lines.out.data, lines.out.length);
  json_free (&lines);
}

void
server_alerts (void *context, const struct viewer *viewer, struct buffer *out)
{
  const struct server *server = context;
  struct json lines = { 0 };

  alerts_view_write (views_state (server->views, &alerts_view), viewer, &lines);
  buffer_add (out, lines.out.data, lines.out.length);
  json_free (&lines);
}

/* ---- flush ---- */

uint64_t
server_flush (void *context, const struct serve_flush *flush, struct buffer *out)
{
  struct server *server = context;
  uint64_t device, inode;
  bool known = server->history && history_identity (server->history, &device, &inode);

  if (!server->history || (known && flush->inode && (flush->device != device || flush->inode != inode))) {
    buffer_printf (out, "other %s\n", server->history ? history_path (server->history) : "");
    return 0;
  }
  views_mark (server->views);
  return history_flush_begin (server->history, flush->to_ns);
}

void
server_flushed (void *context, uint32_t events)
{
  struct server *server = context;
  struct buffer answer = { 0 };
  struct error problem;
  uint64_t ticket = history_flush_done (server->history, &problem);

  (void) events;
  if (*problem.text)
    buffer_printf (&answer, "error %s\n", problem.text);
  else
    buffer_printf (&answer, "ok %s\n", history_path (server->history));
  serve_flushed (server->serve, ticket, answer.data, answer.length);
  buffer_free (&answer);
}

/* ---- jobs ---- */

void
server_jobs (void *context, const struct viewer *viewer, struct buffer *out)
{
  const struct server *server = context;
  struct json lines = { 0 };

  jobs_view_running (views_state (server->views, &jobs_view), viewer, &lines);
  buffer_add (out, lines.out.data, lines.out.length);
  json_free (&lines);
}

void
server_job (void *context, const struct job_announcement *announcement, struct buffer *out)
{
  struct server *server = context;

  views_announce (server->views, announcement, out);
  views_flush (server->views);
}

/* ---- traces ---- */

int
server_request_trace (void *context, const char *node, const struct trace_request *request, struct error *error)
{
  const struct server *server = context;

  return cluster_request_trace (server->cluster, node, request, error);
}

/* ---- more clients than there may be ---- */

void
server_crowded (void *context, uint32_t uid, uint64_t count)
{
  struct server *server = context;
  char user[16];

  snprintf (user, sizeof user, "%" PRIu32, uid);
  views_event (server->views,
               &(struct event){ .type = EVENT_OVER_SHARE,
                                .wall_ns = server_now ().wall_ns,
                                .user = user,
                                .reason = "clients",
                                .text = "the UNIX socket has as many clients as it may have, or this user",
                                .count = count });
}

/* ---- signals, standard output ---- */

void
server_signal (void *context, int number)
{
  struct server *server = context;

  if (number == SIGHUP) {
    server_reload_all (server);
    return;
  }
  log_info ("%s: ends", number == SIGINT ? "SIGINT" : "SIGTERM");
  loop_stop (server->loop);
}

void
server_output_ended (void *context, int failure)
{
  struct server *server = context;

  if (failure == EPIPE) {
    log_info ("nobody reads standard output any more: ends");
  } else {
    log_error ("standard output: %s", strerror (failure));
    server->exit_code = 1;
  }
  loop_stop (server->loop);
}
