/* What the parts of the link share; for common/link alone. */
#ifndef SYNOP_LINK_PRIVATE_H
#define SYNOP_LINK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <zmq.h>

#include "synop/control.h"
#include "synop/link.h"

#define LINK_ROUTING_MAX sizeof ((struct link_message *) NULL)->routing
#define LINK_SIZE_SLACK 64 /* MAXMSGSIZE includes what CURVE adds, 33 bytes */
#define LINK_HANDSHAKE_MS 10000
#define LINK_DOMAIN_DATA "synop-data" /* of ZAP: which port is meant */
#define LINK_DOMAIN_CONTROL "synop-control"

/* ---- link_socket.c: endpoints and options ---- */

struct link_endpoint {
  char host[LINK_ENDPOINT_MAX - 32]; /* with its brackets */
  unsigned port;                     /* 0: "*" */
};
int link_endpoint_parse (const char *text, struct link_endpoint *endpoint, struct error *error);
void link_endpoint_write (const struct link_endpoint *endpoint, char text[LINK_ENDPOINT_MAX]);
bool link_endpoint_is_ipv6 (const struct link_endpoint *endpoint);

int link_context_check (void *context, struct error *error); /* and that libzmq has CURVE */
void *link_socket_open (void *context, int type, struct error *error);
void link_socket_close (void *socket);                      /* NULL is fine */
void link_set (void *socket, int option, int value);        /* for options that cannot fail */
void link_set_size_max (void *socket, size_t message_size); /* ZMQ_MAXMSGSIZE */
void link_set_key (void *socket, int option, const uint8_t key[KEY_SIZE]);

/* ---- link_monitor.c: libzmq's events about a socket's connections ---- */

/* A socket that receives the events (zmq_socket_monitor) of `socket`. Call it before `socket` binds or connects. */
void *link_monitor_open (void *context, void *socket, const char *address, int events, struct error *error);
void link_monitor_close (void *monitor, void *socket);
bool link_monitor_read (void *monitor, unsigned *event, uint32_t *value); /* false: no more for now */
#define LINK_OVER_LIMIT_STATUS 400 /* ZAP's answer to a listed key at its limit of connections */
#define LINK_HANDSHAKE_FAILED                                                                                          \
  (ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

/* Counted by the receiving thread, key_revoked by the main thread too; any thread may read them. */
struct link_tally {
  _Atomic uint64_t accepted, connections, handshake_failed, key_refused, key_revoked, dropped_full, dropped_user,
      malformed, zap_malformed, connections_ended;
};

struct link_server;

struct link_watcher { /* over the connections of one listening socket */
  void *monitor;
  enum link_channel channel;
  uint64_t pending; /* accepted, outcome of the handshake not known yet */
  uint64_t owed;    /* failures reported before their DISCONNECTED */
  uint64_t early;   /* failures reported while none was pending: ACCEPTED comes later, or it was counted already */
};
#define LINK_WATCHER_EVENTS                                                                                            \
  (ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | LINK_HANDSHAKE_FAILED)
void link_watcher_read (struct link_watcher *watcher, struct link_server *link);

/* ---- link_users.c: User-Id to node ---- */

#define LINK_CHANNELS 2

struct link_user_share { /* of the connections to a port */
  size_t count;
  struct link_connection *connections[LINK_KEY_CONNECTIONS];
};

struct link_user { /* lives as long as the link: one for each key that was ever admitted */
  struct link_user *next;
  char id[KEY_TEXT_SIZE];
  uint8_t key[KEY_SIZE];
  const char *node; /* NULL: not listed now; as of `generation` */
  uint64_t generation;
  struct link_entry *queued, **queued_end; /* under the queue's lock, as what follows */
  size_t queued_bytes, queued_messages;
  TAILQ_ENTRY (link_user) by_turn; /* while messages wait */
  struct link_user_share shares[LINK_CHANNELS];
};

#define LINK_USER_BUCKETS 4096
struct link_users { /* of the receiving thread */
  struct link_user *buckets[LINK_USER_BUCKETS];
};
/* `id` begins with the key's text, of KEY_TEXT_SIZE - 1 characters. NULL: it is no key. */
struct link_user *link_users_find (struct link_users *users, const char *id);
void link_users_free (struct link_users *users);
void link_user_look_up (struct link_user *user, const struct key_set *allowed);

/* ---- link_source.c: addresses, and their connections without an owner; of the receiving thread ---- */

struct link_address {
  uint8_t ip[16]; /* IPv4 as ::ffff:... */
  uint16_t port;
};
bool link_address_of_fd (int fd, struct link_address *address); /* of its peer */
/* As getnameinfo writes it, without a port; a suffix behind '%' is ignored. */
bool link_address_of_text (const char *text, struct link_address *address);

TAILQ_HEAD (link_list, link_connection);

/* The handshake of a connection without an owner: it goes on; it is paused (link_turn.c); ZAP refused it, and its
 * peer is about to close it. */
enum link_stage { STAGE_SHAKING, STAGE_PAUSED, STAGE_REFUSED, STAGES };

struct link_source { /* as long as there is a connection */
  struct link_source *next;
  uint8_t ip[16];
  size_t count, paused;
  struct link_list lists[LINK_CHANNELS][STAGES]; /* the oldest first */
  TAILQ_ENTRY (link_source) of_ring;
};

#define LINK_SOURCE_BUCKETS 1024
struct link_sources {
  struct link_source *buckets[LINK_SOURCE_BUCKETS];
  TAILQ_HEAD (, link_source) ring; /* sources with paused connections */
  uint8_t hash_key[16];
};
void link_sources_init (struct link_sources *sources);
void link_source_add (struct link_sources *sources, struct link_connection *connection);
void link_source_remove (struct link_sources *sources, struct link_connection *connection);
void link_source_move (struct link_sources *sources, struct link_connection *connection, enum link_stage stage);
struct link_connection *link_source_oldest (struct link_sources *sources, enum link_channel channel,
                                            const struct link_address *address, enum link_stage stage); /* or NULL */
/* The oldest that is paused, of one address after the other; or NULL. */
struct link_connection *link_source_next (struct link_sources *sources);

/* ---- link_connections.c: whose connection is which; of the receiving thread ---- */

struct link_connection {
  int fd;
  enum link_channel channel;
  struct link_address address;
  struct link_user *user;     /* NULL: not known */
  uint64_t serial;            /* of its admission */
  uint64_t first_serial;      /* lower ones were given before it was opened */
  bool certain;               /* a message confirmed the owner */
  bool ending;                /* we shut it down, libzmq is about to close it */
  int64_t used_ns;            /* time of its last message, or of its admission */
  struct link_source *source; /* this and what follows: while it has no owner and is not ending */
  int64_t unowned_ns;         /* since when */
  enum link_stage stage;      /* of its handshake */
  int64_t turn_ns;            /* STAGE_SHAKING: since when */
  TAILQ_ENTRY (link_connection) by_time, by_turn, of_source;
};

struct link_descriptor {
  struct link_connection *connection; /* NULL: none */
  int open[LINK_CHANNELS];            /* opened less closed, as reported */
};

struct link_connections {
  struct link_descriptor *at;
  size_t capacity, count, ending;
  size_t max; /* connections in all; 0: no limit */
  int64_t handshake_ns;
  uint64_t serial;          /* of the last admission */
  struct link_list unowned; /* those without an owner, in the order of unowned_ns */
  struct link_list shaking; /* those whose handshake goes on, in the order of turn_ns */
  size_t shaking_count, shaking_max;
  struct link_sources sources;
};

/* A duplicate of its descriptor, to be released; -1: libzmq has closed the connection. */
int link_connection_hold (const struct link_connection *connection);
void link_connection_release (const struct link_connection *connection, int fd);
void link_connections_init (struct link_connections *connections, size_t max, int64_t handshake_ns);
void link_connections_free (struct link_connections *connections);
/* Called for the monitor's events. */
void link_connection_began (struct link_server *link, enum link_channel channel, int fd);
/* False: its opening was not reported yet. */
bool link_connection_ended (struct link_server *link, enum link_channel channel, int fd);
/* Called by ZAP. The serial number of the admission; 0: the key is at its limit of connections. */
uint64_t link_connection_admit (struct link_server *link, enum link_channel channel, const char *address,
                                struct link_user *user);
void link_connection_refused (struct link_server *link, enum link_channel channel, const char *address);
/* A message of that admission came by that descriptor. */
void link_connection_used (struct link_server *link, enum link_channel channel, int fd, struct link_user *user,
                           uint64_t serial, int64_t now_ns);
/* Ends connections that have no owner for too long; returns when to call it again. */
int64_t link_connections_tidy (struct link_server *link, int64_t now_ns);

/* ---- link_turn.c: how many handshakes go on at a time; of the receiving thread ---- */

void link_turn_add (struct link_connections *connections, struct link_connection *connection);
void link_turn_remove (struct link_connections *connections, struct link_connection *connection);
void link_turn_refuse (struct link_connections *connections, struct link_connection *connection);
/* Pauses handshakes that take long while others wait; returns when to call it again. */
int64_t link_turns_tidy (struct link_connections *connections, int64_t now_ns);

/* ---- link_queue.c: what goes from thread to thread ---- */

TAILQ_HEAD (link_users_waiting, link_user);

struct link_entry { /* a message on its way to the main thread */
  struct link_entry *next;
  struct link_user *user;
  const char *node; /* as of `generation` of the key set */
  uint64_t generation;
  int64_t received_ns;
  int64_t ready_ns; /* since when no earlier message of its user waited */
  enum link_channel channel;
  bool quiet; /* answered already: it wakes nobody */
  size_t routing_length;
  uint8_t routing[LINK_ROUTING_MAX];
  zmq_msg_t message;
};
struct link_entry *link_entry_create (void);
void link_entry_destroy (struct link_entry *entry);

struct link_queue {
  pthread_mutex_t lock;
  struct link_users_waiting users; /* the one whose turn it is first */
  size_t user_count, bytes, messages;
  size_t bytes_max, messages_max, user_bytes_max, user_messages_max;
  int fd;    /* an eventfd, raised when a message needs an answer */
  bool loud; /* a message that is not quiet waits */
  bool raised;
};
enum link_pushed { LINK_PUSHED, LINK_FULL, LINK_USER_FULL };
int link_queue_init (struct link_queue *queue, size_t bytes, size_t messages, size_t message_max, struct error *error);
void link_queue_free (struct link_queue *queue);
enum link_pushed link_queue_push (struct link_queue *queue, struct link_entry *entry); /* PUSHED: it owns it */
void link_queue_wake (struct link_queue *queue); /* wakes the other thread, once for all messages that were pushed */
struct link_entry *link_queue_take (struct link_queue *queue, size_t max); /* a list: one of each user at most */

struct link_answer {
  struct link_answer *next;
  size_t routing_length;
  uint8_t routing[LINK_ROUTING_MAX];
  size_t length;
  uint8_t bytes[];
};

struct link_outbox {
  pthread_mutex_t lock;
  struct link_answer *first, **end;
  size_t bytes, messages;
};
void link_outbox_init (struct link_outbox *outbox);
void link_outbox_free (struct link_outbox *outbox);
/* -1: full. 1: it was empty, and its reader must be woken. */
int link_outbox_push (struct link_outbox *outbox, const uint8_t *routing, size_t routing_length, const void *bytes,
                      size_t length);
struct link_answer *link_outbox_take (struct link_outbox *outbox); /* all */

int link_eventfd (struct error *error);
void link_eventfd_raise (int fd);
void link_eventfd_lower (int fd);

/* ---- the aggregator's end ---- */

/* A node or key whose connections were refused, since the main thread last took it. */
struct link_refusal {
  char who[65]; /* a node, or the text of a key */
  char address[LINK_ADDRESS_MAX];
  uint64_t count;
};
#define LINK_REFUSALS_MAX 64
struct link_refusals {
  struct link_refusal of[LINK_REFUSALS_MAX];
  size_t used;
};

struct link_server {
  void *context, *data, *control, *zap;
  struct link_watcher data_watcher, control_watcher;
  int wake; /* an eventfd, raised for answers or `stop` */
  _Atomic bool stop;
  pthread_t thread;
  bool running;
  struct key_set *allowed;
  size_t (*answer_now) (void *context, const char *node, const void *bytes, size_t length, int64_t received_ns,
                        uint8_t answer[LINK_ANSWER_NOW_MAX]);
  void *answer_context;
  size_t data_bytes_max;
  char endpoint[LINK_ENDPOINT_MAX];
  struct link_tally tally;
  struct link_queue queue;
  struct link_outbox outbox;
  struct link_users users; /* of the receiving thread */
  struct link_connections connections;
  struct link_entry *spare; /* of the receiving thread */
  pthread_mutex_t refused_lock;
  struct link_refusals unlisted, over_limit;
};

void *link_receive (void *link);                 /* link_receive.c: the receiving thread */
void link_zap_answer (struct link_server *link); /* link_zap.c: all requests that wait */

static inline void
link_count (_Atomic uint64_t *counter)
{
  atomic_fetch_add_explicit (counter, 1, memory_order_relaxed);
}

#endif
