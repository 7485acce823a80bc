/* The server's start and end: see server.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/history/history_view.h"
#include "aggregator/now/now_view.h"
#include "aggregator/server/server_private.h"
#include "aggregator/stream/stream_view.h"
#include "aggregator/traces/trace_view.h"
#include "synop/clock.h"
#include "synop/key_folder.h"
#include "synop/log.h"
#include "synop/memory.h"

/* Descriptors that connections of agents may not use: for half as many clients of the socket, for HTTP, for the history and
 * the keys, and for connections that are about to be ended. */
#define RESERVE_MOST 640
#define RESERVE_PART 4 /* one in: with few descriptors this part is reserved */

/* An agent has two connections, each a descriptor. */
static void
share_descriptors (struct server *server)
{
  struct rlimit limit = { 1024, 1024 };
  size_t reserve;

  if (getrlimit (RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
    getrlimit (RLIMIT_NOFILE, &limit);
  }
  reserve = limit.rlim_cur / RESERVE_PART < RESERVE_MOST ? limit.rlim_cur / RESERVE_PART : RESERVE_MOST;
  server->connections_max = limit.rlim_cur - reserve;
  server->clients_max = reserve / 2 < SERVE_CLIENTS_MAX ? reserve / 2 : SERVE_CLIENTS_MAX;
  log_debug ("%llu descriptors: for %zu connections of agents and %zu clients of the socket",
             (unsigned long long) limit.rlim_cur, server->connections_max, server->clients_max);
}

/* `keys init` helps only if there are no keys yet. */
static void
fail_keys (const struct options *options, const char *path, const char *why, struct error *error)
{
  if (access (path, F_OK) < 0 && errno == ENOENT)
    config_error (options->config, "aggregator", "keys", error,
                  "%s (\"synop-aggregator keys init --keys %s\" makes it)", why, options->keys);
  else
    config_error (options->config, "aggregator", "keys", error, "%s", why);
}

static int
load_keys (struct server *server, struct key_pair *pair, struct error *error)
{
  const struct options *options = server->options;
  char *path = memory_format ("%s/aggregator.key", options->keys);
  struct stat status;
  struct error why;
  int result = -1;

  if (key_pair_read (path, pair, &why) < 0) {
    fail_keys (options, path, why.text, error);
  } else if (stat (server->key_folder, &status) < 0) {
    error_set (&why, "%s: %s", server->key_folder, strerror (errno));
    fail_keys (options, server->key_folder, why.text, error);
  } else if (key_folder_check_nodes (options->keys, &why) < 0) {
    config_error (options->config, "aggregator", "keys", error, "%s", why.text);
  } else {
    memcpy (server->public_key, pair->public_key, KEY_SIZE);
    if (key_set_load (server->keys, server->key_folder, &why) < 0)
      log_error ("%s", why.text); /* its node is refused, the others are admitted */
    result = 0;
  }
  free (path);
  return result;
}

static int
open_link (struct server *server, struct error *error)
{
  const struct options *options = server->options;
  struct link_server_options to = { .endpoint = options->listen,
                                    .allowed = server->keys,
                                    .queue_bytes = options->intake_queue,
                                    .queue_messages = options->intake_messages,
                                    .data_bytes_max = FRAME_BYTES_MAX, /* the core rejects frames over max_frame */
                                    .connections_max = server->connections_max,
                                    .answer_now = clock_desk_answer,
                                    .answer_context = server->desk };
  struct error why;

  if (load_keys (server, &to.keys, error) < 0)
    return -1;
  server->link = link_server_create (&to, &why);
  explicit_bzero (&to.keys, sizeof to.keys);
  if (!server->link)
    return config_error (options->config, "aggregator", "listen", error, "%s", why.text);
  server->link_watch = loop_watch_add (server->loop, link_server_fd (server->link), EPOLLIN, server_link_ready, server);
  return 0;
}

static int
open_socket (struct server *server, struct error *error)
{
  const struct access_settings *access = options_of_view (server->options, &access_view);
  struct serve_options to = { .loop = server->loop,
                              .stream = server->stream,
                              .now = server->now,
                              .traces = server->traces,
                              .path = server->options->socket,
                              .clients_max = server->clients_max,
                              .queue_bytes = server->options->reader_queue,
                              .dropped = &server->lines_dropped,
                              .context = server,
                              .time = server_time,
                              .everybody = access->socket == ACCESS_SOCKET_EVERYBODY,
                              .viewer = server_viewer,
                              .status = server_status,
                              .groups = server_groups,
                              .nodes = server_nodes,
                              .alerts = server_alerts,
                              .jobs = server_jobs,
                              .reload = server_reload,
                              .flush = server_flush,
                              .job = server_job,
                              .crowded = server_crowded };
  struct error why;

  server->serve = serve_create (&to, &why);
  return server->serve ? 0 : config_error (server->options->config, "aggregator", "socket", error, "%s", why.text);
}

static void
open_output (struct server *server)
{
  struct standard_output_options to = { .loop = server->loop,
                                        .stream = server->stream,
                                        .types = server->options->no_node_lines ? "cluster,event" : "",
                                        .queue_bytes = server->options->reader_queue,
                                        .dropped = &server->lines_dropped,
                                        .context = server,
                                        .ended = server_output_ended };

  if (server->options->output == OUTPUT_JSON)
    server->output = standard_output_create (&to);
}

static const void *
values_of (void *options, const struct view *view)
{
  return options_of_view (options, view);
}

static int
open_views (struct server *server, struct error *error)
{
  const struct views_options to = { .list = server->options->views,
                                    .config = server->options->config,
                                    .loop = server->loop,
                                    .cluster = server->cluster,
                                    .socket = server->options->socket,
                                    .context = (void *) server->options,
                                    .values = values_of,
                                    .counted = server,
                                    .count = server_count };

  server->views = views_open (&to, error);
  if (!server->views)
    return -1;
  server->history = views_state (server->views, &history_view);
  server->stream = views_state (server->views, &stream_view);
  server->now = views_state (server->views, &now_view);
  server->access = views_state (server->views, &access_view);
  server->traces = views_state (server->views, &trace_view);
  trace_view_connect (server->traces, server, server_request_trace);
  if (server->history)
    server->history_watch =
        loop_watch_add (server->loop, history_flush_fd (server->history), EPOLLIN, server_flushed, server);
  return 0;
}

/* Written under another name and then renamed: a script never reads half of it. */
static int
write_endpoint_file (const struct server *server, struct error *error)
{
  const char *path = server->options->endpoint_file;
  char *temporary;
  FILE *file;
  bool written;

  if (!*path)
    return 0;
  temporary = memory_format ("%s.new", path);
  file = fopen (temporary, "we");
  written = file && fprintf (file, "%s\n", link_server_endpoint (server->link)) > 0;
  if (file && fclose (file) != 0)
    written = false;
  if (!written || rename (temporary, path) < 0)
    config_error (server->options->config, "aggregator", "endpoint_file", error, "%s: %s", path, strerror (errno));
  else
    error = NULL;
  free (temporary);
  return error ? -1 : 0;
}

int
server_open (struct server *server, struct error *error)
{
  static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
  const struct history_settings *history = options_of_view (server->options, &history_view);
  struct cluster_options core = { .stale_periods = (unsigned) server->options->stale_periods,
                                  .down_periods = (unsigned) server->options->down_periods,
                                  .tick_period_ns = server->options->tick_period_ns,
                                  .ticks_after_ns = clock_wall (),
                                  .tick_grace_ns = server->options->tick_grace_ns,
                                  .clock_limit_ns = server->options->clock_limit_ns,
                                  .replay_rate = (double) server->options->replay_rate,
                                  .backfill = history->enabled,
                                  .frame_bytes_max = server->options->max_frame,
                                  .output = server_output (server) };

  share_descriptors (server);
  server->started_ns = clock_monotonic ();
  server->key_folder = memory_format ("%s/nodes", server->options->keys);
  server->keys = key_set_create ();
  server->desk = clock_desk_create ();
  server->cluster = cluster_create (&core);
  server->loop = loop_create ();
  server->notify = notify_create (server->loop); /* before any thread starts */
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    loop_signal (server->loop, signals[i], server_signal, server);
  /* The history first: it may take a while, and agents connect as soon as there is a port. */
  if (open_views (server, error) < 0 || open_link (server, error) < 0 || open_socket (server, error) < 0 ||
      write_endpoint_file (server, error) < 0)
    return -1;
  open_output (server);
  server->tick = loop_timer_add (server->loop, server_close_tick, server);
  server->timer = loop_timer_add (server->loop, server_housekeep, server);
  loop_timer_set (server->timer, server->started_ns);
  return 0;
}

void
server_close (struct server *server)
{
  standard_output_destroy (server->output);
  serve_destroy (server->serve);
  loop_timer_remove (server->timer);
  loop_timer_remove (server->tick);
  loop_watch_remove (server->link_watch);
  loop_watch_remove (server->history_watch);
  cluster_destroy (server->cluster);
  if (views_close (server->views) < 0 && server->exit_code == 0)
    server->exit_code = 1;
  link_server_destroy (server->link);
  clock_desk_destroy (server->desk);
  key_set_destroy (server->keys);
  notify_destroy (server->notify);
  loop_destroy (server->loop);
  free (server->key_folder);
}
