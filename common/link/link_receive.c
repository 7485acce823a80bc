/* The receiving thread: the only one that touches the aggregator's sockets once they are bound. It moves messages into
 * the bounded queue, answers ZAP, sends answers, and counts.
 *
 * Waking for each frame costs twice the CPU of draining in batches. So the drained data socket is left alone for 5
 * ms, while its frames gather in libzmq. Control messages and handshakes never wait. */
#include <stdlib.h>
#include <string.h>

#include "common/link/link_private.h"
#include "synop/clock.h"

#define REST_NS (5 * NS_PER_MS)
#define BATCH 1000 /* messages of one socket before the others have their turn */

/* -1: none. 0: the last part of a message. 1: more parts follow. */
static int
receive_part (void *socket, zmq_msg_t *part)
{
  return zmq_msg_recv (part, socket, ZMQ_DONTWAIT) < 0 ? -1 : zmq_msg_more (part);
}

/* A whole message; on the control channel its first part is the routing id. -1: none. 0: good. 1: wrong number of
 * parts, discarded. */
static int
receive_message (struct link_server *link, struct link_entry *entry)
{
  bool good = true;
  int more;
  entry->routing_length = 0;
  if (entry->channel == LINK_DATA)
    more = receive_part (link->data, &entry->message);
  else {
    more = receive_part (link->control, &entry->message);
    if (more > 0) {
      entry->routing_length = zmq_msg_size (&entry->message);
      good = entry->routing_length <= sizeof entry->routing;
      if (good)
        memcpy (entry->routing, zmq_msg_data (&entry->message), entry->routing_length);
      more = receive_part (link->control, &entry->message);
    } else if (more == 0)
      return 1;
  }
  if (more < 0)
    return -1;
  while (more > 0) {
    good = false;
    more = receive_part (entry->channel == LINK_DATA ? link->data : link->control, &entry->message);
  }
  return good ? 0 : 1;
}

/* Sets the sender. False: the message is counted and dropped. */
static bool
admit (struct link_server *link, struct link_entry *entry)
{
  size_t size = zmq_msg_size (&entry->message);
  size_t most = entry->channel == LINK_DATA ? link->data_bytes_max : CONTROL_BYTES_MAX;
  /* On ROUTER the payload has the User-Id, not the routing id. */
  const char *id = zmq_msg_gets (&entry->message, "User-Id");
  struct link_user *user = id ? link_users_find (&link->users, id) : NULL;
  if (!user || size == 0 || size > most) {
    link_count (&link->tally.malformed);
    return false;
  }
  link_connection_used (link, entry->channel, zmq_msg_get (&entry->message, ZMQ_SRCFD), user,
                        strtoull (id + KEY_TEXT_SIZE - 1, NULL, 10), entry->received_ns);
  link_user_look_up (user, link->allowed);
  if (!user->node) {
    link_count (&link->tally.key_revoked);
    return false;
  }
  entry->user = user;
  entry->node = user->node;
  entry->generation = user->generation;
  return true;
}

/* True when the message was answered here. */
static bool
answer_now (struct link_server *link, struct link_entry *entry)
{
  uint8_t answer[LINK_ANSWER_NOW_MAX];
  if (entry->channel != LINK_CONTROL || !link->answer_now)
    return false;
  size_t length = link->answer_now (link->answer_context, entry->node, zmq_msg_data (&entry->message),
                                    zmq_msg_size (&entry->message), entry->received_ns, answer);
  if (length == 0)
    return false;
  if (zmq_send (link->control, entry->routing, entry->routing_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
    zmq_send (link->control, answer, length, ZMQ_DONTWAIT);
  return true;
}

/* Takes one message from a socket to the queue. False: there was none. */
static bool
receive_one (struct link_server *link, enum link_channel channel)
{
  struct link_entry *entry = link->spare ? link->spare : link_entry_create ();
  link->spare = entry;
  entry->channel = channel;
  int result = receive_message (link, entry);
  if (result < 0)
    return false;
  entry->received_ns = clock_monotonic ();
  if (result > 0)
    link_count (&link->tally.malformed);
  else if (admit (link, entry)) {
    entry->quiet = answer_now (link, entry);
    enum link_pushed pushed = link_queue_push (&link->queue, entry);
    if (pushed == LINK_PUSHED) {
      link->spare = NULL;
      return true;
    }
    link_count (pushed == LINK_FULL ? &link->tally.dropped_full : &link->tally.dropped_user);
  }
  zmq_msg_close (&entry->message);
  zmq_msg_init (&entry->message);
  return true;
}

/* False: there may be more. */
static bool
drain (struct link_server *link, enum link_channel channel)
{
  for (int i = 0; i < BATCH; i++)
    if (!receive_one (link, channel))
      return true;
  return false;
}

/* An agent that is gone, or does not read, loses its answer: ROUTER never blocks. */
static void
send_answers (struct link_server *link)
{
  link_eventfd_lower (link->wake);
  struct link_answer *list = link_outbox_take (&link->outbox);
  while (list) {
    struct link_answer *answer = list;
    list = answer->next;
    if (zmq_send (link->control, answer->routing, answer->routing_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
      zmq_send (link->control, answer->bytes, answer->length, ZMQ_DONTWAIT);
    free (answer);
  }
}

/* For zmq_poll; INT64_MAX: no limit. */
static long
wait_ms (int64_t now_ns, int64_t until_ns)
{
  return until_ns == INT64_MAX ? -1 : (long) ((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

void *
link_receive (void *context)
{
  struct link_server *link = context;
  enum { WAKE, ZAP, CONTROL, DATA_MONITOR, CONTROL_MONITOR, DATA, ITEMS };
  zmq_pollitem_t items[ITEMS] = {
    [WAKE] = { .fd = link->wake, .events = ZMQ_POLLIN },
    [ZAP] = { .socket = link->zap, .events = ZMQ_POLLIN },
    [CONTROL] = { .socket = link->control, .events = ZMQ_POLLIN },
    [DATA_MONITOR] = { .socket = link->data_watcher.monitor, .events = ZMQ_POLLIN },
    [CONTROL_MONITOR] = { .socket = link->control_watcher.monitor, .events = ZMQ_POLLIN },
    [DATA] = { .socket = link->data, .events = ZMQ_POLLIN }, /* the last: zmq_poll can leave it out */
  };
  int64_t rest_until = 0;
  while (!atomic_load (&link->stop)) {
    int64_t now_ns = clock_monotonic (), tidy_ns = link_connections_tidy (link, now_ns);
    bool resting = rest_until > now_ns;
    items[DATA].revents = 0;
    zmq_poll (items, resting ? DATA : ITEMS, wait_ms (now_ns, resting && rest_until < tidy_ns ? rest_until : tidy_ns));
    if (items[ZAP].revents)
      link_zap_answer (link);
    if (items[DATA_MONITOR].revents)
      link_watcher_read (&link->data_watcher, link);
    if (items[CONTROL_MONITOR].revents)
      link_watcher_read (&link->control_watcher, link);
    if (items[WAKE].revents)
      send_answers (link);
    if (items[CONTROL].revents)
      drain (link, LINK_CONTROL);
    if (items[DATA].revents && drain (link, LINK_DATA))
      rest_until = clock_monotonic () + REST_NS;
    link_queue_wake (&link->queue);
  }
  return NULL;
}
