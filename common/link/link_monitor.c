/* libzmq's events about a socket's connections.
 *
 * An event has two parts: [event (16 bits) value (32 bits)] and the endpoint. It does not say which connection it is
 * of, except ACCEPTED and DISCONNECTED, whose value is the descriptor. */
#include <string.h>

#include "common/link/link_private.h"

void *
link_monitor_open (void *context, void *socket, const char *address, int events, struct error *error)
{
  void *monitor = link_socket_open (context, ZMQ_PAIR, error);
  if (!monitor)
    return NULL;
  link_set (monitor, ZMQ_RCVHWM, 0); /* unbounded: an I/O thread would block on a full queue */
  if (zmq_socket_monitor (socket, address, events) < 0 || zmq_connect (monitor, address) < 0) {
    error_set (error, "cannot watch a socket: %s", zmq_strerror (zmq_errno ()));
    zmq_close (monitor);
    return NULL;
  }
  return monitor;
}

void
link_monitor_close (void *monitor, void *socket)
{
  if (!monitor)
    return;
  zmq_socket_monitor (socket, NULL, 0); /* first, since it sends a last event, whose reader must still exist */
  zmq_close (monitor);
}

bool
link_monitor_read (void *monitor, unsigned *event, uint32_t *value)
{
  uint8_t head[6], address[1]; /* zmq_recv cuts what is longer */
  int length = zmq_recv (monitor, head, sizeof head, ZMQ_DONTWAIT);
  if (length < 0)
    return false;
  uint16_t number = 0;
  if (length == (int) sizeof head) {
    memcpy (&number, head, sizeof number);
    memcpy (value, head + sizeof number, sizeof *value);
  }
  *event = number;
  int more = 1;
  size_t size = sizeof more;
  while (zmq_getsockopt (monitor, ZMQ_RCVMORE, &more, &size) == 0 && more)
    if (zmq_recv (monitor, address, sizeof address, ZMQ_DONTWAIT) < 0)
      break;
  return true;
}

/* libzmq has two threads: a connection's outcome may be reported before its acceptance. */
static void
accepted (struct link_watcher *watcher, struct link_tally *tally)
{
  link_count (&tally->accepted);
  link_count (&tally->connections);
  if (watcher->early == 0) {
    watcher->pending++;
    return;
  }
  watcher->early--;
  link_count (&tally->handshake_failed);
}

/* A handshake has failed. When none is pending, it was counted before (see `closed`), and the next connection
 * balances it by being accepted and by ending its handshake; or it belongs to a connection whose acceptance is
 * reported later. */
static void
failed (struct link_watcher *watcher, struct link_tally *tally)
{
  if (watcher->pending == 0) {
    watcher->early++;
    return;
  }
  watcher->pending--;
  link_count (&tally->handshake_failed);
}

/* A handshake ended without a failure to count. When none is pending, `closed` took it for one. */
static void
settled (struct link_watcher *watcher, struct link_tally *tally)
{
  if (watcher->pending > 0)
    watcher->pending--;
  else
    atomic_fetch_sub_explicit (&tally->handshake_failed, 1, memory_order_relaxed);
}

/* A connection closed. Some handshakes fail without an event of their own (of a peer with an old ZMTP, as random
 * bytes seem). So while a handshake is pending and no failure was just reported, this close counts as its failure.
 * If it was another connection's, the end of the pending one corrects the count: in the end each failure is counted
 * once. */
static void
closed (struct link_watcher *watcher, struct link_tally *tally, bool was_accepted)
{
  atomic_fetch_sub_explicit (&tally->connections, 1, memory_order_relaxed);
  if (watcher->owed > 0)
    watcher->owed--;
  else if (watcher->pending > 0 || !was_accepted)
    failed (watcher, tally);
}

void
link_watcher_read (struct link_watcher *watcher, struct link_server *link)
{
  struct link_tally *tally = &link->tally;
  unsigned event;
  uint32_t value;
  while (link_monitor_read (watcher->monitor, &event, &value)) {
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
      accepted (watcher, tally);
      link_connection_began (link, watcher->channel, (int) value);
      break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      settled (watcher, tally);
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: /* the ZAP handler counts these */
      watcher->owed++;
      settled (watcher, tally);
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      watcher->owed++;
      failed (watcher, tally);
      break;
    case ZMQ_EVENT_DISCONNECTED:
      closed (watcher, tally, link_connection_ended (link, watcher->channel, (int) value));
      break;
    default:
      break;
    }
  }
}
