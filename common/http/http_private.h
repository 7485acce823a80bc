/* What the files of the server share: http_server.c (its start, its thread, its end), http_connection.c (who is connected),
 * http_answer.c (requests), http_stream.c (bodies). */
#ifndef SYNOP_COMMON_HTTP_PRIVATE_H
#define SYNOP_COMMON_HTTP_PRIVATE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "common/http/http_files.h"
#include "common/http/http_library.h"
#include "common/http/http_password.h"
#include "common/http/http_words.h"
#include "synop/http.h"

struct http_connection {
  int fd; /* -1: the place is free */
  uint64_t host;
  bool answered;                /* a request is being answered */
  bool endless;                 /* without an end: */
  int64_t since_ns;             /* then this is when it last took something */
  struct MHD_Connection *waits; /* suspended; NULL: it is not */
  struct http_wait wait;        /* for this */
  bool gone;                    /* the client is, and what it waited for is to be ended */
  bool owned;                   /* it was found out who opened it: */
  int64_t owner;                /* his number; -1: not known */
};

/* A request, while it is being answered. */
struct http_request {
  struct http *http;
  struct MHD_Connection *connection;
  const char *method, *url;
  struct viewer viewer;
};

struct http {
  struct http_options options;
  const struct http_library *library;
  struct MHD_Daemon *daemon;
  char *certificate, *key; /* texts; NULL: no TLS */
  int listen_fd, wake_fd;
  char url[HTTP_ADDRESS_SIZE + 16];
  pthread_t thread;
  struct http_connection connections[HTTP_CONNECTIONS_MAX];
  size_t connections_max;             /* of them; half as many of one address */
  bool loopback;                      /* only this host reaches it */
  uint64_t proxies[HTTP_PROXIES_MAX]; /* hosts that are trusted */
  size_t proxy_count;
  char *folders[HTTP_FOLDERS_MAX];
  struct http_files files;          /* in them */
  int64_t looked_ns;                /* at them */
  struct http_passwords *passwords; /* NULL: none are needed */
  pthread_mutex_t lock;             /* what a reload gives to the thread: */
  struct http_passwords *passwords_fresh;
  char *certificate_fresh, *key_fresh;
  atomic_bool fresh, stop, ready;
  _Atomic int64_t beat_ns;
  _Atomic uint64_t requests, refused, unauthorized, ended, connected;
};

/* http_connection.c */
enum MHD_Result http_accept (void *http, const struct sockaddr *peer, socklen_t length);
void http_connection_notify (void *http, struct MHD_Connection *connection, void **place,
                             enum MHD_ConnectionNotificationCode what);
uint64_t http_connection_host (const struct http *http, struct MHD_Connection *connection);
void http_connection_asks (struct http *http, struct MHD_Connection *connection, bool answered, bool endless);
void http_connections_look (struct http *http, int64_t now_ns); /* ends those that take too long */
void http_connections_end (struct http *http);
bool http_connections_last (const struct http *http); /* one of them is endless */

struct http_connection *http_connection_find (struct http *http, struct MHD_Connection *connection); /* NULL: none */

/* http_owner.c: the user whose socket is the other end of the connection with that local end; -1: it is not of this host. */
int64_t http_owner_find (const struct sockaddr *peer, const struct sockaddr *local);

/* A reply that waits: the connection rests until it is ready. */
void http_connection_wait (struct http *http, struct MHD_Connection *connection, const struct http_wait *wait);
bool http_connection_is_gone (struct http *http, struct MHD_Connection *connection);
/* Two for each that waits; `until_ns` gets earlier if one of them does not wait so long. Returns how many. */
size_t http_connections_watch (struct http *http, struct pollfd *list, int64_t *until_ns);
void http_connections_wake (struct http *http, const struct pollfd *list, int64_t now_ns);

/* The connection is of this host from now on, for whom a proxy asks. False: that one has too many that are being answered. */
bool http_connection_forward (struct http *http, struct MHD_Connection *connection, uint64_t host);

/* http_forwarded.c */
bool http_is_proxy (const struct http *http, uint64_t host);
int http_proxies_read (const char *list, uint64_t proxies[HTTP_PROXIES_MAX], size_t *count, struct error *error);
/* Who asks by a proxy's X-Forwarded-For: the last that is none of them. */
uint64_t http_forwarded_host (const struct http *http, const char *list, uint64_t peer);

/* http_guard.c: NULL: the request is answered; else why it is not. `page`: it asks for something to be looked at. */
const char *http_guard_refuses (const struct http *http, const struct http_request *request, bool page);
bool http_host_is_known (const char *authority, const char *names);
void http_guard_headers (const struct http *http, struct MHD_Response *response);

/* http_answer.c */
enum MHD_Result http_answer (void *http, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *upload, size_t *upload_size, void **place);
void http_answered (void *http, struct MHD_Connection *connection, void **place, enum MHD_RequestTerminationCode how);

/* http_stream.c: takes over the reply's body. */
struct MHD_Response *http_stream (struct http *http, struct MHD_Connection *connection, struct http_reply *reply,
                                  bool gzip);

#endif
