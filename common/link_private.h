/* What the parts of the link share; for common/link_*.c alone. */
#ifndef SYNOP_LINK_PRIVATE_H
#define SYNOP_LINK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "synop/control.h"
#include "synop/link.h"

#define LINK_ROUTING_MAX sizeof ((struct link_message *) NULL)->routing
#define LINK_SIZE_SLACK 64 /* MAXMSGSIZE counts what CURVE adds, 33 bytes */
#define LINK_HANDSHAKE_MS 10000

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
void link_set (void *socket, int option, int value);        /* of our own making: cannot fail */
void link_set_size_max (void *socket, size_t message_size); /* ZMQ_MAXMSGSIZE */
void link_set_key (void *socket, int option, const uint8_t key[KEY_SIZE]);

/* ---- link_monitor.c: what libzmq tells of a socket's connections ---- */

/* A socket on which the events (of zmq_socket_monitor) of `socket` arrive. Before `socket` binds or connects. */
void *link_monitor_open (void *context, void *socket, const char *address, int events, struct error *error);
void link_monitor_close (void *monitor, void *socket);
bool link_monitor_read (void *monitor, unsigned *event, uint32_t *value); /* false: nothing more for now */
#define LINK_HANDSHAKE_FAILED                                                                                          \
  (ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

/* Counted by the receiving thread, but for key_revoked by the taking one too; read by any. */
struct link_tally {
  _Atomic uint64_t accepted, connections, handshake_failed, key_refused, key_revoked, dropped_full, dropped_user,
      malformed, zap_malformed;
};

struct link_watcher { /* over the connections of one listening socket */
  void *monitor;
  uint64_t pending; /* accepted, and the end of the handshake not known yet */
  uint64_t owed;    /* failures told whose DISCONNECTED has not come yet */
};
#define LINK_WATCHER_EVENTS                                                                                            \
  (ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | LINK_HANDSHAKE_FAILED)
void link_watcher_read (struct link_watcher *watcher, struct link_tally *tally);

/* ---- link_users.c: User-Id to node ---- */

struct link_user { /* lives as long as the link; there are as many as keys were ever admitted */
  struct link_user *next;
  char id[KEY_TEXT_SIZE];
  uint8_t key[KEY_SIZE];
  const char *node; /* NULL: not listed now; as of `generation` */
  uint64_t generation;
  size_t queued_bytes, queued_messages; /* under the queue's lock */
};

#define LINK_USER_BUCKETS 4096
struct link_users { /* of the receiving thread */
  struct link_user *buckets[LINK_USER_BUCKETS];
};
struct link_user *link_users_find (struct link_users *users, const char *id); /* NULL: no key */
void link_users_free (struct link_users *users);
void link_user_look_up (struct link_user *user, const struct key_set *allowed);

/* ---- link_queue.c: what goes from thread to thread ---- */

struct link_entry { /* a message on its way to the main thread */
  struct link_entry *next;
  struct link_user *user;
  const char *node; /* as of `generation` of the key set */
  uint64_t generation;
  int64_t received_ns;
  enum link_channel channel;
  bool quiet; /* answered already: nobody needs to be woken for it */
  size_t routing_length;
  uint8_t routing[LINK_ROUTING_MAX];
  zmq_msg_t message;
};
struct link_entry *link_entry_create (void);
void link_entry_destroy (struct link_entry *entry);

struct link_queue {
  pthread_mutex_t lock;
  struct link_entry *first, **end;
  size_t bytes, messages;
  size_t bytes_max, messages_max, user_bytes_max, user_messages_max;
  int fd;    /* an eventfd, not 0 when there are messages that are not quiet */
  bool loud; /* there is one of those */
  bool told;
};
enum link_pushed { LINK_PUSHED, LINK_FULL, LINK_USER_FULL };
int link_queue_init (struct link_queue *queue, size_t bytes, size_t messages, size_t message_max, struct error *error);
void link_queue_free (struct link_queue *queue);
enum link_pushed link_queue_push (struct link_queue *queue, struct link_entry *entry); /* PUSHED: it owns it */
void link_queue_tell (struct link_queue *queue); /* wakes the other side, once for all that was pushed */
struct link_entry *link_queue_take (struct link_queue *queue, size_t max); /* a list */

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
/* -1: full. 1: it was empty, so somebody must be woken. */
int link_outbox_push (struct link_outbox *outbox, const uint8_t *routing, size_t routing_length, const void *bytes,
                      size_t length);
struct link_answer *link_outbox_take (struct link_outbox *outbox); /* all */

int link_eventfd (struct error *error);
void link_eventfd_raise (int fd);
void link_eventfd_lower (int fd);

/* ---- the aggregator's end ---- */

struct link_server {
  void *context, *data, *control, *zap;
  struct link_watcher data_watcher, control_watcher;
  int wake; /* an eventfd: there are answers, or `stop` */
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
  struct link_users users;  /* of the receiving thread */
  struct link_entry *spare; /* of the receiving thread */
  pthread_mutex_t refused_lock;
  char refused_key[KEY_TEXT_SIZE], refused_address[64];
};

void *link_receive (void *link);                 /* link_receive.c: the receiving thread */
void link_zap_answer (struct link_server *link); /* link_zap.c: all requests that wait */

static inline void
link_count (_Atomic uint64_t *counter)
{
  atomic_fetch_add_explicit (counter, 1, memory_order_relaxed);
}

#endif
