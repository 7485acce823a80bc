/* The agent's end: an XPUB for frames and a DEALER for the control channel, used by the main thread alone. Nothing here
 * blocks; libzmq adds its two threads (one for input and output, one that reaps sockets).
 *
 * - The frames' socket is an XPUB, a PUB that reports subscriptions: what is published before the first one has arrived
 *   is lost, so LINK_UP waits for it. The subscription outlasts a restart of the aggregator, and ends with a reconnect.
 * - PUB with IMMEDIATE 0 and without CONFLATE keeps SNDHWM frames while the aggregator is away, and heartbeats make it
 *   detect a dead connection in 15 s, so that few frames are lost on the way into it.
 * - Each attempt to connect comes 0.5 to 2 s after the one before, at random (libzmq adds up to the same again to
 *   RECONNECT_IVL): an aggregator that restarts has its agents back well within 5 s, and 10,000 agents do not come all
 *   at once. Measured: a longer interval would not help the aggregator, whose handshakes take 7 s of CPU time either
 *   way.
 * - libzmq never seeds rand(), from which it draws that delay: without a seed of our own all agents draw the same.
 * - A failed attempt takes at most CONNECT_TIMEOUT; otherwise a host that is off is retried after 2 minutes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/link/link_private.h"
#include "synop/file.h"
#include "synop/memory.h"

#define RECONNECT_MS 500 /* and up to as much again, see above */
#define CONNECT_TIMEOUT_MS 5000
#define HEARTBEAT_MS 5000
#define HEARTBEAT_TIMEOUT_MS 15000
#define ATTEMPT_EVENTS (ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED)
#define CONTROL_QUEUE 128 /* a window of replayed frames, and other messages */

struct link_agent {
  void *context, *data, *control, *monitor, *data_monitor;
  char data_endpoint[LINK_ENDPOINT_MAX], control_endpoint[LINK_ENDPOINT_MAX];
  int epoll;       /* over the descriptors of `data`, `control` and `monitor` */
  bool connected;  /* the control connection's handshake is done */
  bool subscribed; /* the aggregator wants our frames */
  bool up;         /* both, and LINK_UP was returned */
  bool cut;        /* reconnect took the connection down, and LINK_DOWN is due */
  bool over_limit; /* the aggregator refuses more connections of this key, and libzmq gave up one of the two */
  bool data_ended; /* libzmq gave up the data socket's connection */
  bool tried;      /* this attempt to connect found an address for the host's name */
  bool nameless;   /* the last attempt found none */
  bool greeting;   /* the connection is made, its handshake is not over */
  zmq_msg_t message;
};

static unsigned
random_number (void)
{
  unsigned number;
  if (getrandom (&number, sizeof number, 0) != sizeof number)
    number = (unsigned) getpid ();
  return number;
}

static void
set_options (void *socket, const struct link_agent_options *options, bool ipv6)
{
  link_set_key (socket, ZMQ_CURVE_SERVERKEY, options->server_key);
  link_set_key (socket, ZMQ_CURVE_PUBLICKEY, options->keys.public_key);
  link_set_key (socket, ZMQ_CURVE_SECRETKEY, options->keys.secret_key);
  link_set (socket, ZMQ_IPV6, ipv6);
  link_set (socket, ZMQ_IMMEDIATE, 0);
  link_set (socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
  link_set (socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
  link_set (socket, ZMQ_HANDSHAKE_IVL, LINK_HANDSHAKE_MS);
  link_set (socket, ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS);
  link_set (socket, ZMQ_RECONNECT_IVL, RECONNECT_MS + (int) (random_number () % RECONNECT_MS));
  link_set_size_max (socket, CONTROL_BYTES_MAX); /* bounds what a wrong or hostile aggregator sends */
}

static int
watch (struct link_agent *link, void *socket, struct error *error)
{
  int fd;
  size_t size = sizeof fd;
  struct epoll_event event = { .events = EPOLLIN };
  if (zmq_getsockopt (socket, ZMQ_FD, &fd, &size) < 0 || epoll_ctl (link->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
    return error_set (error, "cannot watch a socket: %s", zmq_strerror (zmq_errno ()));
  return 0;
}

static int
connect_both (struct link_agent *link, struct error *error)
{
  if (zmq_connect (link->data, link->data_endpoint) < 0)
    return error_set (error, "cannot connect to %s: %s", link->data_endpoint, zmq_strerror (zmq_errno ()));
  if (zmq_connect (link->control, link->control_endpoint) < 0)
    return error_set (error, "cannot connect to %s: %s", link->control_endpoint, zmq_strerror (zmq_errno ()));
  return 0;
}

static int
open_sockets (struct link_agent *link, const struct link_agent_options *options, struct error *error)
{
  struct link_endpoint endpoint;
  if (link_endpoint_parse (options->endpoint, &endpoint, error) < 0)
    return -1;
  if (endpoint.port == 0 || strcmp (endpoint.host, "*") == 0)
    return error_set (error, "\"%s\": \"*\" is for listening; an agent needs the aggregator's host and port",
                      options->endpoint);
  link_endpoint_write (&endpoint, link->data_endpoint);
  endpoint.port++;
  link_endpoint_write (&endpoint, link->control_endpoint);

  link->context = zmq_ctx_new ();
  if (link_context_check (link->context, error) < 0)
    return -1;
  link->data = link_socket_open (link->context, ZMQ_XPUB, error);
  link->control = link->data ? link_socket_open (link->context, ZMQ_DEALER, error) : NULL;
  if (!link->control)
    return -1;
  bool ipv6 = link_endpoint_is_ipv6 (&endpoint);
  set_options (link->data, options, ipv6);
  set_options (link->control, options, ipv6);
  link_set (link->data, ZMQ_SNDHWM, options->queue_frames > 0 ? options->queue_frames : 1); /* 0 would be unbounded */
  link_set (link->control, ZMQ_SNDHWM, CONTROL_QUEUE);
  link_set (link->control, ZMQ_RCVHWM, CONTROL_QUEUE);
  link->monitor = link_monitor_open (
      link->context, link->control, "inproc://monitor.control",
      ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | LINK_HANDSHAKE_FAILED | ATTEMPT_EVENTS, error);
  link->data_monitor =
      link_monitor_open (link->context, link->data, "inproc://monitor.data", ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, error);
  if (!link->monitor || !link->data_monitor)
    return -1;
  link->epoll = epoll_create1 (EPOLL_CLOEXEC);
  if (link->epoll < 0)
    return error_set (error, "epoll_create1: %s", strerror (errno));
  if (watch (link, link->data, error) < 0 || watch (link, link->control, error) < 0 ||
      watch (link, link->monitor, error) < 0 || watch (link, link->data_monitor, error) < 0)
    return -1;
  return connect_both (link, error);
}

struct link_agent *
link_agent_create (const struct link_agent_options *options, struct error *error)
{
  struct link_agent *link = memory_new (1, sizeof *link);
  link->epoll = -1;
  link->nameless = true; /* until the name has been looked up */
  zmq_msg_init (&link->message);
  srand (random_number ());
  if (open_sockets (link, options, error) < 0) {
    link_agent_destroy (link);
    return NULL;
  }
  return link;
}

void
link_agent_destroy (struct link_agent *link)
{
  if (!link)
    return;
  zmq_msg_close (&link->message);
  link_monitor_close (link->monitor, link->control);
  link_monitor_close (link->data_monitor, link->data);
  link_socket_close (link->data);
  link_socket_close (link->control);
  if (link->context)
    zmq_ctx_term (link->context);
  file_close (&link->epoll);
  free (link);
}

int
link_agent_publish (struct link_agent *link, const void *bytes, size_t length)
{
  return zmq_send (link->data, bytes, length, ZMQ_DONTWAIT) < 0 ? -1 : 0;
}

int
link_agent_send (struct link_agent *link, const void *bytes, size_t length)
{
  return !link->up || zmq_send (link->control, bytes, length, ZMQ_DONTWAIT) < 0 ? -1 : 0;
}

int
link_agent_fd (const struct link_agent *link)
{
  return link->epoll;
}

/* A subscription is a byte 1 and a prefix, its end a byte 0. Other messages of a peer have no meaning. */
static void
read_subscriptions (struct link_agent *link)
{
  uint8_t first;
  int length;
  while ((length = zmq_recv (link->data, &first, sizeof first, ZMQ_DONTWAIT)) >= 0)
    if (length > 0 && first <= 1)
      link->subscribed = first == 1;
}

/* libzmq looks the name up in its own thread, and does not report the result. But an attempt that has found an
 * address has an event before it is given up. */
static void
note_attempt (struct link_agent *link, unsigned number)
{
  link->nameless = number == ZMQ_EVENT_CONNECT_RETRIED && !link->tried;
  link->tried = number != ZMQ_EVENT_CONNECT_RETRIED;
  link->greeting = number == ZMQ_EVENT_CONNECTED;
}

bool
link_agent_nameless (const struct link_agent *link)
{
  return link->nameless;
}

bool
link_agent_greeting (const struct link_agent *link)
{
  return link->greeting;
}

/* A refusal of the control socket stands for both, but for the limit, which each port counts by itself. */
static void
read_data_refusals (struct link_agent *link)
{
  unsigned number;
  uint32_t value;
  while (link_monitor_read (link->data_monitor, &number, &value))
    if (number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value == LINK_OVER_LIMIT_STATUS)
      link->over_limit = link->data_ended = true;
}

/* The descriptor of a libzmq socket only signals that something changed, and no more once a receive on the socket
 * found nothing: so the caller must go on until there is nothing. */
static bool
next_change (struct link_agent *link, struct link_event *event)
{
  unsigned number;
  uint32_t value;
  if (link->cut) {
    link->cut = false;
    event->type = LINK_DOWN;
    return true;
  }
  read_subscriptions (link);
  read_data_refusals (link);
  if (link->over_limit) {
    link->over_limit = link->up = link->connected = false;
    event->type = LINK_OVER_LIMIT;
    return true;
  }
  while (link_monitor_read (link->monitor, &number, &value)) {
    bool was_up = link->up;
    if (number & ATTEMPT_EVENTS) {
      note_attempt (link, number);
      continue;
    }
    link->greeting = false;
    link->connected = number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    if (link->connected)
      continue;
    link->up = false;
    if (number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value == LINK_OVER_LIMIT_STATUS)
      event->type = LINK_OVER_LIMIT;
    else if ((number & LINK_HANDSHAKE_FAILED) != 0)
      event->type = LINK_REFUSED;
    else if (was_up)
      event->type = LINK_DOWN;
    else
      continue; /* the end of a refused connection */
    return true;
  }
  if (link->up || !link->connected || !link->subscribed)
    return false;
  link->up = true;
  event->type = LINK_UP;
  return true;
}

/* A message is one part; longer ones do not come from an aggregator. */
static bool
next_message (struct link_agent *link, struct link_event *event)
{
  while (zmq_msg_recv (&link->message, link->control, ZMQ_DONTWAIT) >= 0) {
    if (!zmq_msg_more (&link->message)) {
      event->type = LINK_MESSAGE;
      event->bytes = zmq_msg_data (&link->message);
      event->length = zmq_msg_size (&link->message);
      return true;
    }
    while (zmq_msg_more (&link->message) && zmq_msg_recv (&link->message, link->control, ZMQ_DONTWAIT) >= 0)
      ;
  }
  return false;
}

bool
link_agent_next (struct link_agent *link, struct link_event *event)
{
  *event = (struct link_event){ 0 };
  return next_change (link, event) || next_message (link, event);
}

void
link_agent_reconnect (struct link_agent *link)
{
  unsigned number;
  uint32_t value;
  while (link_monitor_read (link->monitor, &number, &value))
    ; /* of the old connection, which is ending */
  link->tried = link->greeting = false;
  link->cut = link->cut || link->up;
  link->up = false;
  /* The frames that wait in the data socket are kept, unless the data socket is the one that does not connect. */
  if (link->data_ended || (link->connected && !link->subscribed)) {
    zmq_disconnect (link->data, link->data_endpoint);
    zmq_connect (link->data, link->data_endpoint); /* worked before; no name is looked up here */
    link->data_ended = false;
  }
  link->connected = false;
  zmq_disconnect (link->control, link->control_endpoint);
  zmq_connect (link->control, link->control_endpoint);
}
