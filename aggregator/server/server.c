/* See server.h. One thread runs the loop; the link has its own for receiving, so that messages wait in a bounded
 * queue while the loop is busy, or a reader or a disk is slow. */
#include "aggregator/server/server.h"

#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/server/server_private.h"
#include "aggregator/traces/trace_view.h"
#include "synop/clock.h"
#include "synop/log.h"

#define HOUSEKEEPING (250 * NS_PER_MS)
#define MESSAGES_AT_ONCE 8
#define FLUSH_EVERY 64
#define INTAKE_TIME (20 * NS_PER_MS)    /* longest intake before timers and clients have their turn */
#define TICK_PATIENCE (250 * NS_PER_MS) /* longest delay of a tick while the queue is never empty */
#define CONNECTIONS_ENDED_EVERY (60 * NS_PER_S)
#define FINISH_PATIENCE NS_PER_S
#define STATUS_EVERY (2 * NS_PER_S) /* between two status lines for the service manager */

struct instant
server_now (void)
{
  return (struct instant){ clock_monotonic (), clock_wall () };
}

/* ---- output of the core ---- */

static void
server_frame (void *context, const struct cluster_frame *frame)
{
  struct server *server = context;

  views_frame (server->views, frame);
}

static void
server_event (void *context, const struct event *event)
{
  struct server *server = context;

  views_event (server->views, event);
}

static void
server_tick (void *context, const struct cluster_tick_line *tick)
{
  struct server *server = context;

  views_tick (server->views, tick);
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

static void
take_traced (void *context, const struct node *node, const struct trace_answer *answer)
{
  const struct server *server = context;

  trace_view_answer (server->traces, node, answer);
}

static const struct buffer *
stored_schema (void *context, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  const struct server *server = context;

  return server->history ? history_schema (server->history, hash) : NULL;
}

static bool
is_nearly_full (void *context, const char *node)
{
  const struct server *server = context;

  return server->history && history_is_nearly_full (server->history, node);
}

struct cluster_output
server_output (struct server *server)
{
  return (struct cluster_output){ server,      server_frame,  server_event,   server_tick, take_clock,
                                  send_answer, stored_schema, is_nearly_full, take_traced };
}

/* ---- messages ---- */

static void
each_key (const void *keys, cluster_take_node_fn *take, void *context)
{
  key_set_each (keys, take, context);
}

void
server_list_nodes (struct server *server, struct instant now)
{
  cluster_list (server->cluster, each_key, server->keys, now);
}

static void
take_message (struct server *server, const struct link_message *message)
{
  const struct cluster_message taken = { .channel = message->channel == LINK_DATA ? CLUSTER_DATA : CLUSTER_CONTROL,
                                         .node = message->node,
                                         .routing = message->routing,
                                         .routing_length = message->routing_length,
                                         .received_ns = message->received_ns,
                                         .ready_ns = message->ready_ns,
                                         .bytes = message->bytes,
                                         .length = message->length };

  cluster_message (server->cluster, &taken, server_now ());
}

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
      take_message (server, &messages[i]);
      link_server_release (server->link, &messages[i]);
    }
    drained = count == 0;
    taken += count;
    if (taken >= FLUSH_EVERY) {
      views_flush (server->views); /* readers get lines while the intake goes on */
      taken = 0;
    }
  } while (!drained && clock_monotonic () - begun_ns < INTAKE_TIME);
  if (drained)
    server->drained_ns = begun_ns;
  if (drained || begun_ns - server->drained_ns > TICK_PATIENCE) /* frames that wait must not be late */
    cluster_close_ticks (server->cluster, server_now ());
  cluster_ask_replay (server->cluster, server_now ());
  loop_timer_set (server->tick, cluster_next_tick (server->cluster));
  views_flush (server->views);
}

void
server_close_tick (void *context, int64_t due_ns)
{
  (void) due_ns;
  intake (context);
}

void
server_link_ready (void *context, uint32_t events)
{
  (void) events;
  intake (context);
}

/* Keys that are refused at the handshake are not about a node. */
static void
take_unlisted (struct server *server, struct instant now)
{
  char key[KEY_TEXT_SIZE], address[LINK_ADDRESS_MAX];

  for (uint64_t count; (count = link_server_unlisted (server->link, key, address));)
    refused_keys_add (&server->refused_keys, key, address, count);
  refused_keys_tick (&server->refused_keys, now, server_event, server);
}

/* Reports connections that were ended so that descriptors stay free, together. */
static void
report_ended_connections (struct server *server, struct instant now)
{
  struct link_counts counts;

  link_server_counts (server->link, &counts);
  if (counts.connections_ended == server->ended_reported ||
      (server->ended_reported_ns && now.monotonic_ns - server->ended_reported_ns < CONNECTIONS_ENDED_EVERY))
    return;
  views_event (server->views, &(struct event){ .type = EVENT_CONNECTIONS_ENDED,
                                               .wall_ns = now.wall_ns,
                                               .count = counts.connections_ended - server->ended_reported });
  server->ended_reported = counts.connections_ended;
  server->ended_reported_ns = now.monotonic_ns;
}

static void
take_refused_connections (struct server *server, struct instant now)
{
  char node[65];

  for (uint64_t count; (count = link_server_over_limit (server->link, node));)
    cluster_connections_refused (server->cluster, node, count, LINK_KEY_CONNECTIONS, now);
}

static void
notify_node_counts (struct server *server, int64_t now_ns)
{
  size_t count = cluster_node_count (server->cluster), up = 0;

  if (!server->notify || now_ns < server->status_ns)
    return;
  server->status_ns = now_ns + STATUS_EVERY;
  for (size_t i = 0; i < count; i++)
    up += cluster_node (server->cluster, i)->state == NODE_UP;
  notify_status (server->notify, "%zu of %zu nodes up, listening on %s", up, count,
                 link_server_endpoint (server->link));
}

/* First the intake: a node whose frame is in the queue is not silent. */
void
server_housekeep (void *context, int64_t due_ns)
{
  struct server *server = context;
  struct instant now;

  (void) due_ns;
  intake (server);
  now = server_now ();
  cluster_tick (server->cluster, now);
  take_unlisted (server, now);
  report_ended_connections (server, now);
  take_refused_connections (server, now);
  views_poll (server->views, now);
  serve_tick (server->serve, now.monotonic_ns);
  views_flush (server->views);
  notify_node_counts (server, now.monotonic_ns);
  loop_timer_set (server->timer, now.monotonic_ns + HOUSEKEEPING);
}

/* ---- run ---- */

static void
note_stored (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last)
{
  struct server *server = context;

  cluster_stored (server->cluster, node, session, first, last);
}

static void
report_started (struct server *server)
{
  const char *endpoint = link_server_endpoint (server->link);
  char control[LINK_ENDPOINT_MAX] = "";
  struct instant now = server_now ();

  link_control_endpoint (endpoint, control, NULL);
  log_info ("listening on %s (data) and %s (control), %zu nodes listed", endpoint, strrchr (control, ':'),
            key_set_count (server->keys));
  if (2 * key_set_count (server->keys) > server->connections_max)
    log_warning ("%zu nodes are listed, and there are descriptors for %zu of them: raise the limit of open files "
                 "(LimitNOFILE)",
                 key_set_count (server->keys), server->connections_max / 2);
  /* Messages count from the time when the port was opened. */
  server_list_nodes (server, (struct instant){ server->started_ns, now.wall_ns });
  if (server->history)
    history_each_range (server->history, server, note_stored);
  views_event (server->views, &(struct event){ .type = EVENT_AGGREGATOR_STARTED,
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
    notify_failed (server.notify, &error);
    server.exit_code = 2;
  } else {
    report_started (&server);
    notify_ready (server.notify);
    loop_run (server.loop);
    notify_stopping (server.notify);
    views_end (server.views);
    views_flush (server.views);
    if (server.output && standard_output_finish (server.output, FINISH_PATIENCE) != 0)
      log_warning ("standard output: the last lines could not be written");
  }
  server_close (&server);
  return server.exit_code;
}
