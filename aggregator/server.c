/* See server.h. One thread runs the loop; the link has its own for receiving, so that whatever happens here, a reader
 * or a disk that is slow, messages wait in a bounded queue. */
#include "aggregator/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "aggregator/clock_desk.h"
#include "aggregator/cluster.h"
#include "aggregator/history.h"
#include "aggregator/node_line.h"
#include "aggregator/serve.h"
#include "aggregator/standard_output.h"
#include "aggregator/status.h"
#include "aggregator/stream.h"
#include "aggregator/tick_line.h"
#include "synop/clock.h"
#include "synop/key_set.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/loop.h"
#include "synop/memory.h"

#define HOUSEKEEPING (250 * NS_PER_MS)
#define MESSAGES_AT_ONCE 8
#define FLUSH_EVERY 64
#define INTAKE_TIME (20 * NS_PER_MS)    /* then timers and clients have their turn */
#define TICK_PATIENCE (250 * NS_PER_MS) /* how long a queue that does not empty may hold a tick back */
#define KEY_REFUSED_EVERY NS_PER_S
#define FINISH_PATIENCE NS_PER_S

struct server {
  const struct options *options;
  struct loop *loop;
  struct loop_timer *timer, *tick; /* housekeeping; the close of the next tick */
  struct key_set *keys;
  char *key_folder;
  struct clock_desk *desk;
  struct link_server *link;
  struct loop_watch *link_watch;
  struct cluster *cluster;
  struct history *history; /* NULL: none is kept */
  struct stream *stream;
  struct serve *serve;
  struct standard_output *output;
  int64_t started_ns;
  int64_t drained_ns; /* when the queue was last taken in whole */
  uint64_t lines_dropped;
  uint64_t refused_told;
  int64_t refused_told_ns;
  int exit_code;
};

static struct instant
instant_now (void)
{
  return (struct instant){ clock_monotonic (), clock_wall () };
}

/* ---- what the core says ---- */

static void
take_frame (void *context, const struct cluster_frame *frame)
{
  struct server *server = context;
  struct stream_line line = node_line (frame);

  if (server->history)
    history_put_frame (server->history, frame);
  stream_put (server->stream, &line);
}

static void
write_event (const void *event, struct json *json, const struct globs *groups)
{
  (void) groups;
  event_write (json, event);
}

static void
take_event (void *context, const struct event *event)
{
  struct server *server = context;
  struct stream_line line = { .type = "event", .node = event->node, .write = write_event, .context = event };

  event_log (event);
  if (server->history)
    history_put_event (server->history, event);
  stream_put (server->stream, &line);
}

static void
take_tick (void *context, const struct cluster_tick_line *tick)
{
  struct server *server = context;
  struct stream_line line = tick_line (tick);

  if (server->history)
    history_put_tick (server->history, tick);
  stream_put (server->stream, &line);
}

static void
take_clock (void *context, const char *node, uint64_t session, const struct control_clock *clock)
{
  struct server *server = context;

  clock_desk_set (server->desk, node, session, clock);
}

static void
send_answer (void *context, const uint8_t *routing, size_t routing_length, const void *bytes, size_t length)
{
  struct server *server = context;

  link_server_send (server->link, routing, routing_length, bytes, length);
}

/* ---- what comes in ---- */

static void
intake (struct server *server)
{
  struct link_message messages[MESSAGES_AT_ONCE];
  int64_t begun_ns = clock_monotonic ();
  size_t taken = 0, count;
  bool drained;

  do {
    count = link_server_take (server->link, messages, MESSAGES_AT_ONCE);
    for (size_t i = 0; i < count; i++) {
      cluster_message (server->cluster, &messages[i], instant_now ());
      link_server_release (server->link, &messages[i]);
    }
    drained = count < MESSAGES_AT_ONCE;
    taken += count;
    if (taken % FLUSH_EVERY == 0)
      stream_flush (server->stream); /* readers begin to read while there is more */
  } while (!drained && clock_monotonic () - begun_ns < INTAKE_TIME);
  if (drained)
    server->drained_ns = begun_ns;
  if (drained || begun_ns - server->drained_ns > TICK_PATIENCE) /* a frame that waits is not late */
    cluster_close_ticks (server->cluster, instant_now ());
  loop_timer_set (server->tick, cluster_next_tick (server->cluster));
  stream_flush (server->stream);
}

static void
close_tick (void *context, int64_t due_ns)
{
  (void) due_ns;
  intake (context);
}

static void
link_ready (void *context, uint32_t events)
{
  (void) events;
  intake (context);
}

/* Keys that are refused at the handshake belong to no node, so they are told here, gathered. */
static void
tell_refused (struct server *server, struct instant now)
{
  struct link_counts counts;

  link_server_counts (server->link, &counts);
  if (counts.key_refused == server->refused_told ||
      (server->refused_told_ns && now.monotonic_ns - server->refused_told_ns < KEY_REFUSED_EVERY))
    return;
  take_event (server, &(struct event){ .type = EVENT_KEY_REFUSED,
                                       .wall_ns = now.wall_ns,
                                       .count = counts.key_refused - server->refused_told });
  server->refused_told = counts.key_refused;
  server->refused_told_ns = now.monotonic_ns;
}

/* What waits is taken in first: a node is not silent whose frame is in the queue. */
static void
housekeep (void *context, int64_t due_ns)
{
  struct server *server = context;
  struct instant now;

  (void) due_ns;
  intake (server);
  now = instant_now ();
  cluster_tick (server->cluster, now);
  tell_refused (server, now);
  if (server->history)
    history_poll (server->history, now.wall_ns, server, take_event);
  serve_tick (server->serve, now.monotonic_ns);
  stream_flush (server->stream);
  loop_timer_set (server->timer, now.monotonic_ns + HOUSEKEEPING);
}

/* ---- what people ask for ---- */

static int
server_reload (void *context, struct error *error)
{
  struct server *server = context;
  int result = key_set_load (server->keys, server->key_folder, error);
  struct instant now = instant_now ();

  cluster_list (server->cluster, server->keys, now);
  take_event (server, &(struct event){ .type = EVENT_KEYS_RELOADED,
                                       .wall_ns = now.wall_ns,
                                       .text = result < 0 ? error->text : NULL,
                                       .count = key_set_count (server->keys) });
  if (result < 0)
    log_error ("%s", error->text);
  return result;
}

static void
server_status (void *context, bool table, struct buffer *out)
{
  struct server *server = context;
  struct json json = { 0 };
  struct status status = { .cluster = server->cluster,
                           .listen = link_server_endpoint (server->link),
                           .now = instant_now (),
                           .readers = { serve_clients (server->serve), serve_refused (server->serve),
                                        server->lines_dropped } };

  if (server->history)
    history_count (server->history, &status.history);
  status.uptime_ns = status.now.monotonic_ns - server->started_ns;
  link_server_counts (server->link, &status.link);
  if (table) {
    status_write_table (&status, out);
  } else {
    status_write_json (&status, &json);
    buffer_add (out, json.out.data, json.out.length);
    json_free (&json);
  }
}

static void
take_signal (void *context, int number)
{
  struct server *server = context;
  struct error error;

  if (number == SIGHUP) {
    server_reload (server, &error);
    stream_flush (server->stream);
    return;
  }
  log_info ("%s: ends", number == SIGINT ? "SIGINT" : "SIGTERM");
  loop_stop (server->loop);
}

static void
output_ended (void *context, int failure)
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

/* ---- start and end ---- */

/* Each agent is two connections, each a descriptor. */
static void
raise_file_limit (void)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
  }
}

/* What is there and refused is put right, not made anew. */
static const char *
hint_if_absent (const char *path)
{
  return access (path, F_OK) < 0 && errno == ENOENT ? " (\"aggregator keys init\" makes it)" : "";
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
    config_error (options->config, "aggregator", "keys", error, "%s%s", why.text, hint_if_absent (path));
  } else if (stat (server->key_folder, &status) < 0) {
    config_error (options->config, "aggregator", "keys", error, "%s: %s%s", server->key_folder, strerror (errno),
                  hint_if_absent (server->key_folder));
  } else {
    if (key_set_load (server->keys, server->key_folder, &why) < 0)
      log_error ("%s", why.text); /* its node stays out, the others come in */
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
                                    .data_bytes_max = options->max_frame,
                                    .answer_now = clock_desk_answer,
                                    .answer_context = server->desk };
  struct error why;

  if (load_keys (server, &to.keys, error) < 0)
    return -1;
  server->link = link_server_create (&to, &why);
  explicit_bzero (&to.keys, sizeof to.keys);
  if (!server->link)
    return config_error (options->config, "aggregator", "listen", error, "%s", why.text);
  server->link_watch = loop_watch_add (server->loop, link_server_fd (server->link), EPOLLIN, link_ready, server);
  return 0;
}

static int
open_socket (struct server *server, struct error *error)
{
  struct serve_options to = { .loop = server->loop,
                              .stream = server->stream,
                              .path = server->options->socket,
                              .queue_bytes = server->options->reader_queue,
                              .dropped = &server->lines_dropped,
                              .context = server,
                              .status = server_status,
                              .reload = server_reload };
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
                                        .ended = output_ended };

  if (server->options->output == OUTPUT_JSON)
    server->output = standard_output_create (&to);
}

static void
open_history (struct server *server)
{
  const struct options *options = server->options;

  if (options->history)
    server->history = history_create (&(struct history_options){ .path = options->history_path,
                                                                 .max_age_ns = options->history_max_age_ns,
                                                                 .max_size = options->history_max_size,
                                                                 .chunk_frames = (size_t) options->chunk_frames,
                                                                 .chunk_ns = options->chunk_ns,
                                                                 .queue_bytes = options->history_queue });
}

/* Written whole under another name first: a script never reads half of it. */
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

static int
server_open (struct server *server, struct error *error)
{
  static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
  struct cluster_options core = { .stale_periods = (unsigned) server->options->stale_periods,
                                  .down_periods = (unsigned) server->options->down_periods,
                                  .tick_period_ns = server->options->tick_period_ns,
                                  .tick_grace_ns = server->options->tick_grace_ns,
                                  .clock_limit_ns = server->options->clock_limit_ns,
                                  .replay_rate = (double) server->options->replay_rate,
                                  .backfill = server->options->history,
                                  .frame_bytes_max = server->options->max_frame,
                                  .output = { server, take_frame, take_event, take_tick, take_clock, send_answer } };

  raise_file_limit ();
  server->started_ns = clock_monotonic ();
  server->key_folder = memory_format ("%s/nodes", server->options->keys);
  server->keys = key_set_create ();
  server->stream = stream_create ();
  server->desk = clock_desk_create ();
  server->cluster = cluster_create (&core);
  server->loop = loop_create ();
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    loop_signal (server->loop, signals[i], take_signal, server);
  open_history (server); /* first, since it may take a while: agents come as soon as there is a port */
  if (open_link (server, error) < 0 || open_socket (server, error) < 0 || write_endpoint_file (server, error) < 0)
    return -1;
  open_output (server);
  server->tick = loop_timer_add (server->loop, close_tick, server);
  server->timer = loop_timer_add (server->loop, housekeep, server);
  loop_timer_set (server->timer, server->started_ns);
  return 0;
}

static void
server_close (struct server *server)
{
  standard_output_destroy (server->output);
  serve_destroy (server->serve);
  loop_timer_remove (server->timer);
  loop_timer_remove (server->tick);
  loop_watch_remove (server->link_watch);
  cluster_destroy (server->cluster);
  history_destroy (server->history);
  link_server_destroy (server->link);
  clock_desk_destroy (server->desk);
  stream_destroy (server->stream);
  key_set_destroy (server->keys);
  loop_destroy (server->loop);
  free (server->key_folder);
}

static void
note_stored (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last)
{
  struct server *server = context;

  cluster_stored (server->cluster, node, session, first, last);
}

static void
announce (struct server *server)
{
  const char *endpoint = link_server_endpoint (server->link);
  char control[LINK_ENDPOINT_MAX] = "";
  struct instant now = instant_now ();

  link_control_endpoint (endpoint, control, NULL);
  log_info ("listening on %s (data) and %s (control), %zu nodes listed", endpoint, strrchr (control, ':'),
            key_set_count (server->keys));
  /* What came since the port was there counts. */
  cluster_list (server->cluster, server->keys, (struct instant){ server->started_ns, now.wall_ns });
  if (server->history)
    history_each_range (server->history, server, note_stored);
  take_event (server, &(struct event){ .type = EVENT_AGGREGATOR_STARTED,
                                       .wall_ns = now.wall_ns,
                                       .text = endpoint,
                                       .count = key_set_count (server->keys) });
}

int
server_run (const struct options *options)
{
  struct server server = { .options = options };
  struct error error;

  if (server_open (&server, &error) < 0) {
    log_error ("%s", error.text);
    server.exit_code = 2;
  } else {
    announce (&server);
    loop_run (server.loop);
    if (server.output && standard_output_finish (server.output, FINISH_PATIENCE) != 0)
      log_warning ("standard output: the last lines could not be written");
  }
  server_close (&server);
  return server.exit_code;
}
