/* The aggregator's end: sockets, their options, and the calls of the main thread. The thread itself is link_receive.c.
 *
 * The options keep peers from harming libzmq 4.3.4:
 * - RCVHWM 0 and no heartbeats: with both set the process aborts when a peer dies while the mark is reached. Our own
 *   queue is the bound, and TCP keepalive detects agents that vanished.
 * - The ZAP handler is bound first, the domain is not empty and enforced: otherwise ZAP fails open.
 * - MAXMSGSIZE: without it a peer makes the process grow before any handshake.
 * - BACKLOG: thousands of agents reconnect in the same second. HANDSHAKE_IVL: a silent connection is closed.
 * - Routing ids are libzmq's own, and ROUTER_HANDOVER stays off: nobody takes over another's answers by claiming its
 *   id. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/link/link_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define ZERO_COPY_RECV 10     /* ZMQ_ZERO_COPY_RECV, a draft option of zmq.h */
#define ZAP_ENFORCE_DOMAIN 93 /* ZMQ_ZAP_ENFORCE_DOMAIN, likewise */
#define IO_THREADS 2
#define BACKLOG 16384
#define ANSWERS_MAX 256 /* queued for one agent that does not read */
#define PORT_FIRST 10000
#define PORT_SPAN 20000 /* below the ephemeral range, whose ports can connect to themselves */
#define PORT_TRIES 300

static int64_t
handshake_ms (const struct link_server_options *options)
{
  return options->handshake_ms > 0 ? options->handshake_ms : LINK_HANDSHAKE_MS;
}

static void
set_options (void *socket, const struct link_server_options *options, const struct link_endpoint *endpoint,
             const char *domain, size_t message_max)
{
  link_set (socket, ZMQ_CURVE_SERVER, 1);
  link_set_key (socket, ZMQ_CURVE_SECRETKEY, options->keys.secret_key);
  zmq_setsockopt (socket, ZMQ_ZAP_DOMAIN, domain, strlen (domain));
  link_set (socket, ZAP_ENFORCE_DOMAIN, 1);
  link_set (socket, ZMQ_RCVHWM, 0);
  link_set (socket, ZMQ_SNDHWM, ANSWERS_MAX);
  link_set_size_max (socket, message_max);
  link_set (socket, ZMQ_HANDSHAKE_IVL, (int) handshake_ms (options));
  link_set (socket, ZMQ_BACKLOG, BACKLOG);
  link_set (socket, ZMQ_IPV6, link_endpoint_is_ipv6 (endpoint));
  link_set (socket, ZMQ_TCP_KEEPALIVE, 1);
  link_set (socket, ZMQ_TCP_KEEPALIVE_IDLE, 60);
  link_set (socket, ZMQ_TCP_KEEPALIVE_INTVL, 15);
  link_set (socket, ZMQ_TCP_KEEPALIVE_CNT, 4);
}

static const char *
bind_reason (int number)
{
  switch (number) {
  case EADDRINUSE:
    return "address in use";
  case ENODEV:
  case EADDRNOTAVAIL:
    return "no such address on this host";
  default:
    return zmq_strerror (number);
  }
}

/* 0, or the errno. */
static int
bind_one (void *socket, const struct link_endpoint *endpoint)
{
  char text[LINK_ENDPOINT_MAX];
  link_endpoint_write (endpoint, text);
  return zmq_bind (socket, text) == 0 ? 0 : zmq_errno ();
}

static int
bind_pair (struct link_server *link, const struct link_endpoint *endpoint, struct error *error)
{
  char text[LINK_ENDPOINT_MAX];
  struct link_endpoint control = *endpoint;
  control.port++;
  int number = bind_one (link->data, endpoint);
  link_endpoint_write (endpoint, text);
  if (number == 0) {
    size_t size = sizeof link->endpoint;
    zmq_getsockopt (link->data, ZMQ_LAST_ENDPOINT, link->endpoint, &size);
    number = bind_one (link->control, &control);
    if (number == 0)
      return 0;
    zmq_unbind (link->data, link->endpoint);
    link_endpoint_write (&control, text);
  }
  error_set (error, "cannot listen on %s: %s", text, bind_reason (number));
  return number;
}

static int
bind_any (struct link_server *link, struct link_endpoint *endpoint, struct error *error)
{
  int number = EADDRINUSE;
  for (int i = 0; i < PORT_TRIES && number == EADDRINUSE; i++) {
    uint16_t random = (uint16_t) i;
    if (getrandom (&random, sizeof random, 0) < 0)
      random = (uint16_t) (getpid () + 2 * i);
    endpoint->port = PORT_FIRST + random % PORT_SPAN;
    number = bind_pair (link, endpoint, error);
  }
  return number;
}

static int
open_sockets (struct link_server *link, const struct link_server_options *options, struct error *error)
{
  struct link_endpoint endpoint;
  if (link_endpoint_parse (options->endpoint, &endpoint, error) < 0)
    return -1;
  link->context = zmq_ctx_new ();
  if (link_context_check (link->context, error) < 0)
    return -1;
  zmq_ctx_set (link->context, ZMQ_IO_THREADS, IO_THREADS);
  zmq_ctx_set (link->context, ZERO_COPY_RECV, 0); /* else a queued message of 1 KB holds 8.5 KB */

  link->zap = link_socket_open (link->context, ZMQ_REP, error);
  if (!link->zap)
    return -1;
  if (zmq_bind (link->zap, "inproc://zeromq.zap.01") < 0)
    return error_set (error, "cannot bind the ZAP handler: %s", zmq_strerror (zmq_errno ()));
  link->data = link_socket_open (link->context, ZMQ_SUB, error);
  link->control = link->data ? link_socket_open (link->context, ZMQ_ROUTER, error) : NULL;
  if (!link->control)
    return -1;
  set_options (link->data, options, &endpoint, LINK_DOMAIN_DATA, options->data_bytes_max);
  set_options (link->control, options, &endpoint, LINK_DOMAIN_CONTROL, CONTROL_BYTES_MAX);
  zmq_setsockopt (link->data, ZMQ_SUBSCRIBE, "", 0);
  link->data_watcher.monitor =
      link_monitor_open (link->context, link->data, "inproc://monitor.data", LINK_WATCHER_EVENTS, error);
  link->control_watcher.monitor =
      link_monitor_open (link->context, link->control, "inproc://monitor.control", LINK_WATCHER_EVENTS, error);
  if (!link->data_watcher.monitor || !link->control_watcher.monitor)
    return -1;
  int number = endpoint.port == 0 ? bind_any (link, &endpoint, error) : bind_pair (link, &endpoint, error);
  return number == 0 ? 0 : -1;
}

static int
link_start (struct link_server *link, struct error *error)
{
  int number = thread_start (&link->thread, 0, link_receive, link);

  if (number != 0)
    return error_set (error, "cannot start a thread: %s", strerror (number));
  link->running = true;
  return 0;
}

struct link_server *
link_server_create (const struct link_server_options *options, struct error *error)
{
  struct link_server *link = memory_new (1, sizeof *link);
  link->allowed = options->allowed;
  link->answer_now = options->answer_now;
  link->answer_context = options->answer_context;
  link->data_bytes_max = options->data_bytes_max;
  link->wake = -1;
  link->data_watcher.channel = LINK_DATA;
  link->control_watcher.channel = LINK_CONTROL;
  link_connections_init (&link->connections, options->connections_max, handshake_ms (options) * NS_PER_MS);
  pthread_mutex_init (&link->refused_lock, NULL);
  link_outbox_init (&link->outbox);
  size_t largest = options->data_bytes_max > CONTROL_BYTES_MAX ? options->data_bytes_max : CONTROL_BYTES_MAX;
  if (link_queue_init (&link->queue, options->queue_bytes, options->queue_messages, largest, error) < 0 ||
      (link->wake = link_eventfd (error)) < 0 || open_sockets (link, options, error) < 0 ||
      link_start (link, error) < 0) {
    link_server_destroy (link);
    return NULL;
  }
  return link;
}

void
link_server_destroy (struct link_server *link)
{
  if (!link)
    return;
  if (link->running) {
    atomic_store (&link->stop, true);
    link_eventfd_raise (link->wake);
    pthread_join (link->thread, NULL);
  }
  link_monitor_close (link->data_watcher.monitor, link->data);
  link_monitor_close (link->control_watcher.monitor, link->control);
  link_socket_close (link->data);
  link_socket_close (link->control);
  link_socket_close (link->zap);
  link_entry_destroy (link->spare);
  link_queue_free (&link->queue);
  link_outbox_free (&link->outbox);
  link_connections_free (&link->connections);
  link_users_free (&link->users);
  if (link->context)
    zmq_ctx_term (link->context);
  file_close (&link->wake);
  pthread_mutex_destroy (&link->refused_lock);
  free (link);
}

const char *
link_server_endpoint (const struct link_server *link)
{
  return link->endpoint;
}

int
link_server_fd (const struct link_server *link)
{
  return link->queue.fd;
}

/* The node that the key is listed for now: the keys may have changed since the message came. */
static const char *
node_now (const struct link_server *link, const struct link_entry *entry)
{
  return entry->generation == key_set_generation (link->allowed) ? entry->node
                                                                 : key_set_node (link->allowed, entry->user->key);
}

size_t
link_server_take (struct link_server *link, struct link_message *messages, size_t max)
{
  size_t count = 0;
  struct link_entry *list = link_queue_take (&link->queue, max);
  while (list) {
    struct link_entry *entry = list;
    list = entry->next;
    const char *node = node_now (link, entry);
    if (!node) {
      link_count (&link->tally.key_revoked);
      link_entry_destroy (entry);
      continue;
    }
    struct link_message *message = &messages[count++];
    message->channel = entry->channel;
    strncpy (message->node, node, sizeof message->node - 1);
    message->node[sizeof message->node - 1] = 0;
    message->routing_length = entry->routing_length;
    memcpy (message->routing, entry->routing, entry->routing_length);
    message->received_ns = entry->received_ns;
    message->ready_ns = entry->ready_ns;
    message->bytes = zmq_msg_data (&entry->message);
    message->length = zmq_msg_size (&entry->message);
    message->private_data = entry;
  }
  return count;
}

void
link_server_release (struct link_server *link, struct link_message *message)
{
  (void) link;
  link_entry_destroy (message->private_data);
  message->private_data = message->bytes = NULL;
  message->length = 0;
}

int
link_server_send (struct link_server *link, const uint8_t *routing, size_t routing_length, const void *bytes,
                  size_t length)
{
  int result = link_outbox_push (&link->outbox, routing, routing_length, bytes, length);
  if (result > 0)
    link_eventfd_raise (link->wake);
  return result < 0 ? -1 : 0;
}

static uint64_t
get (const _Atomic uint64_t *counter)
{
  return atomic_load_explicit (counter, memory_order_relaxed);
}

void
link_server_counts (const struct link_server *link, struct link_counts *counts)
{
  const struct link_tally *tally = &link->tally;
  *counts = (struct link_counts){
    .accepted = get (&tally->accepted),
    .connections = get (&tally->connections),
    .handshake_failed = get (&tally->handshake_failed),
    .key_refused = get (&tally->key_refused),
    .key_revoked = get (&tally->key_revoked),
    .dropped_full = get (&tally->dropped_full),
    .dropped_user = get (&tally->dropped_user),
    .malformed = get (&tally->malformed),
    .zap_malformed = get (&tally->zap_malformed),
    .connections_ended = get (&tally->connections_ended),
  };
}

static struct link_refusal
take_refusal (struct link_server *link, struct link_refusals *refusals)
{
  struct link_refusal one = { .count = 0 };

  pthread_mutex_lock (&link->refused_lock);
  if (refusals->used)
    one = refusals->of[--refusals->used];
  pthread_mutex_unlock (&link->refused_lock);
  return one;
}

uint64_t
link_server_over_limit (struct link_server *link, char node[65])
{
  struct link_refusal one = take_refusal (link, &link->over_limit);

  if (one.count)
    memcpy (node, one.who, sizeof one.who);
  return one.count;
}

uint64_t
link_server_unlisted (struct link_server *link, char key[KEY_TEXT_SIZE], char address[LINK_ADDRESS_MAX])
{
  struct link_refusal one = take_refusal (link, &link->unlisted);

  if (one.count) {
    memcpy (key, one.who, KEY_TEXT_SIZE);
    memcpy (address, one.address, sizeof one.address);
  }
  return one.count;
}
