/* The only part that knows ZeroMQ: sockets, CURVE, ZAP. An agent's end and an aggregator's end.
 *
 * Data: the agents' PUB connect to the aggregator's SUB on --listen. Control: DEALER to ROUTER on the next port. The
 * aggregator is the CURVE server; its ZAP handler admits only keys of the key set. Settings and the traps of libzmq
 * 4.3.4 that they avoid stand in docs/architecture.md. */
#ifndef SYNOP_LINK_H
#define SYNOP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"
#include "synop/key_set.h"
#include "synop/keys.h"

#define LINK_ENDPOINT_MAX 256
#define LINK_ANSWER_NOW_MAX 256
#define LINK_ADDRESS_MAX 64
#define LINK_KEY_CONNECTIONS 8 /* of one key to one port: an agent needs one, and earlier ones may not have ended yet */

/* "tcp://HOST:PORT" to the control endpoint on the next port; also checks the form. For listening HOST may be "*", and
 * PORT may be "*" (two neighbouring ports that are free). Brackets ask for IPv6: "tcp://[::]:5555". */
int link_control_endpoint (const char *data, char control[LINK_ENDPOINT_MAX], struct error *error);

/* ---- the agent's end: used by one thread ---- */

struct link_agent;

struct link_agent_options {
  const char *endpoint; /* the aggregator's --listen, with a host */
  struct key_pair keys;
  uint8_t server_key[KEY_SIZE];
  int queue_frames; /* frames that libzmq keeps while the aggregator is away */
};

struct link_agent *link_agent_create (const struct link_agent_options *options, struct error *error);
void link_agent_destroy (struct link_agent *link);

/* Never blocks. 0, or -1 when libzmq dropped it. A control message is dropped while the connection is not up, so that
 * nothing stale is sent when it comes up: the caller begins again with its hello at LINK_UP. */
int link_agent_publish (struct link_agent *link, const void *bytes, size_t length);
int link_agent_send (struct link_agent *link, const void *bytes, size_t length);

/* LINK_UP waits for the aggregator's subscription to the data socket too: frames published from then on arrive. */
enum link_event_type { LINK_UP, LINK_DOWN, LINK_REFUSED, LINK_OVER_LIMIT, LINK_MESSAGE };
struct link_event {
  /* Of the control connection. UP: its handshake is done. DOWN: it was up. REFUSED: it connected, but the handshake
   * failed: the node's key is not listed, aggregator.pub is of another aggregator, or another program listens on
   * that port. REFUSED comes at every attempt, every few seconds. OVER_LIMIT: the key is listed, and has as many
   * connections as a key may have; the next attempt waits for link_agent_reconnect. */
  enum link_event_type type;
  const void *bytes; /* LINK_MESSAGE; valid until the next call */
  size_t length;
};
/* An fd for the loop: readable when there may be an event. Then, and after each send, call `next` until it gives false.
 */
int link_agent_fd (const struct link_agent *link);
bool link_agent_next (struct link_agent *link, struct link_event *event);
/* The last attempt to connect failed, or still is, at looking up the host's name. */
bool link_agent_nameless (const struct link_agent *link);
/* A peer accepted the connection, and the handshake goes on: UP or REFUSED follows. An aggregator that does not list
 * the key lets it go on for 10 s. */
bool link_agent_greeting (const struct link_agent *link);
/* Disconnects and connects again: when no message came for two minutes, or after OVER_LIMIT. That is the control
 * socket; the data socket, whose queued frames are lost, only when it is the one that does not connect. Call `next`
 * until it gives false afterwards. */
void link_agent_reconnect (struct link_agent *link);

/* ---- the aggregator's end: a thread of its own receives and moves messages into a bounded queue ---- */

struct link_server;

struct link_server_options {
  const char *endpoint; /* --listen */
  struct key_pair keys;
  struct key_set *allowed;            /* must outlive the link; may be loaded anew at any time */
  size_t queue_bytes, queue_messages; /* bounds of the queue; over them messages are counted and dropped */
  size_t data_bytes_max;              /* largest frame; larger ones end their connection in libzmq */
  /* Answers a control message at once, in the receiving thread, while its time of receipt is fresh: writes the
   * answer into `answer` and returns its length, 0 for none. The message still goes through the queue, but does not
   * make the fd readable by itself: it comes with the next one, or the next call of take. Must not block. NULL: no
   * message is answered so. */
  size_t (*answer_now) (void *context, const char *node, const void *bytes, size_t length, int64_t received_ns,
                        uint8_t answer[LINK_ANSWER_NOW_MAX]);
  void *answer_context;
  int handshake_ms;       /* a connection whose handshake takes longer is closed; 0: 10 s */
  size_t connections_max; /* of all keys, both ports, so that descriptors are left for others; 0: no limit */
};

enum link_channel { LINK_DATA, LINK_CONTROL };

struct link_message {
  enum link_channel channel;
  char node[65];       /* the node that the key is listed for, when the message was received */
  uint8_t routing[64]; /* LINK_CONTROL: where an answer goes */
  size_t routing_length;
  int64_t received_ns; /* CLOCK_MONOTONIC, as soon as it was read */
  int64_t ready_ns;    /* since when no earlier message of its node waited */
  void *bytes;         /* owned by the message until link_server_release */
  size_t length;
  void *private_data;
};

/* Counters of the sockets, since the start, shown by `aggregator status`. An agent has two connections, so a refused
 * agent counts two at each attempt. */
struct link_counts {
  uint64_t accepted;    /* connections, both ports (socket monitors) */
  uint64_t connections; /* now, with those in their handshake */
  /* No CURVE, the key of another aggregator, random bytes, nothing sent in time, closed before the handshake was done
   * (socket monitors). A key that is not listed counts below instead. */
  uint64_t handshake_failed;
  uint64_t key_refused; /* ZAP: a key that is not listed */
  /* Messages of a key that is no longer listed, on a connection from before (by User-Id, when received and again when
   * taken). libzmq cannot end one connection; each new one is refused. */
  uint64_t key_revoked;
  uint64_t dropped_full; /* messages that the full queue did not take */
  uint64_t dropped_user; /* messages of one user over its share of the queue, a quarter */
  uint64_t malformed;    /* wrong number of parts, empty, too large though not for libzmq, or without User-Id */
  uint64_t
      connections_ended;  /* ended by us: over connections_max, or without an owner long after the handshake's time */
  uint64_t zap_malformed; /* requests to the ZAP handler that are not of CURVE: libzmq's fault, never a peer's */
};

struct link_server *link_server_create (const struct link_server_options *options, struct error *error);
void link_server_destroy (struct link_server *link); /* joins the thread */
const char *
link_server_endpoint (const struct link_server *link); /* the data endpoint that was bound ("tcp://...:PORT") */

int link_server_fd (const struct link_server *link); /* readable when there are messages */
/* Takes up to `max` messages, one of each node at most, the nodes in turn; returns how many. Release each. */
size_t link_server_take (struct link_server *link, struct link_message *messages, size_t max);
void link_server_release (struct link_server *link, struct link_message *message);
/* Queues an answer on the control channel; the receiving thread sends it. Bounded: over the bound it is dropped (-1).
 */
int link_server_send (struct link_server *link, const uint8_t *routing, size_t routing_length, const void *bytes,
                      size_t length);
void link_server_counts (const struct link_server *link, struct link_counts *counts);
/* How many connections of a node's key were refused at its limit of LINK_KEY_CONNECTIONS since it was last returned;
 * 0: none of any node. Call it until it gives 0. */
uint64_t link_server_over_limit (struct link_server *link, char node[65]);
/* The same for a key that is not listed, with the last address that it came from. */
uint64_t link_server_unlisted (struct link_server *link, char key[KEY_TEXT_SIZE], char address[LINK_ADDRESS_MAX]);

#endif
