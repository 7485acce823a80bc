/* HTTP for both programs: a thread of its own that answers GET and HEAD, in pieces, to a bounded number of connections.
 *
 * libmicrohttpd and zlib are loaded when a server is made, so that a program without one has neither. Answers are made in
 * the server's thread; what they are made of is whose who gives the routes. Who is over a bound is counted: more than
 * HTTP_CONNECTIONS_MAX (or a sixteenth of the descriptors that the program may have), or half of them of one address; a
 * request that is not whole after HTTP_WAIT; an answer that is not taken in whole after HTTP_ANSWER, or of an endless one
 * nothing; headers of more than HTTP_MEMORY. */
#ifndef SYNOP_HTTP_H
#define SYNOP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/error.h"
#include "synop/viewer.h"

#define HTTP_CONNECTIONS_MAX 256
#define HTTP_MEMORY (32 * 1024)
#define HTTP_WAIT (30 * NS_PER_S)
#define HTTP_ANSWER (60 * NS_PER_S)
#define HTTP_FOLDERS_MAX 2
#define HTTP_PROXIES_MAX 16

/* ---- options ---- */

enum http_auth { HTTP_AUTH_PASSWORD, HTTP_AUTH_NONE };

struct http_settings {
  char *listen, *password_file, *certificate, *key;
  int auth; /* enum http_auth */
  bool timestamps;
  char *names, *trusted_proxies; /* lists */
};

/* Its rows, for a table of a struct TYPE that has it as MEMBER. */
#define HTTP_OPTIONS(TYPE, MEMBER, LISTEN, LISTEN_HELP)                                                                \
  { "http",                                                                                                            \
    "listen",                                                                                                          \
    "http",                                                                                                            \
    OPTION_TEXT,                                                                                                       \
    offsetof (TYPE, MEMBER.listen),                                                                                    \
    LISTEN,                                                                                                            \
    .check = http_check_listen,                                                                                        \
    .help = LISTEN_HELP },                                                                                             \
      { "http",                                                                                                        \
        "password_file",                                                                                               \
        "http-password-file",                                                                                          \
        OPTION_PATH,                                                                                                   \
        offsetof (TYPE, MEMBER.password_file),                                                                         \
        .help = "File with a line USER:HASH for each who may ask (HTTP Basic), as \"synop-aggregator keys password "   \
                "USER\" makes them. Empty: who asks from this host needs none, and no other can be listened for." },   \
      { "http",                                                                                                        \
        "auth",                                                                                                        \
        "http-auth",                                                                                                   \
        OPTION_CHOICE,                                                                                                 \
        offsetof (TYPE, MEMBER.auth),                                                                                  \
        "password",                                                                                                    \
        .choices = http_auth_names,                                                                                    \
        .help = "none: everybody who reaches the address is answered." },                                              \
      { "http",                                                                                                        \
        "certificate",                                                                                                 \
        "http-certificate",                                                                                            \
        OPTION_PATH,                                                                                                   \
        offsetof (TYPE, MEMBER.certificate),                                                                           \
        .help = "PEM file with the certificate, and those above it, for HTTPS. Empty: HTTP." },                        \
      { "http",                                                                                                        \
        "key",                                                                                                         \
        "http-key",                                                                                                    \
        OPTION_PATH,                                                                                                   \
        offsetof (TYPE, MEMBER.key),                                                                                   \
        .help = "PEM file with the certificate's secret key." },                                                       \
      { "http",                                                                                                        \
        "names",                                                                                                       \
        "http-names",                                                                                                  \
        OPTION_LIST,                                                                                                   \
        offsetof (TYPE, MEMBER.names),                                                                                 \
        .help = "Names by which browsers and others call this host, beside localhost, its own name, and addresses: "   \
                "requests for other names are refused. Empty: that is so only where no password is needed, and "       \
                "this host alone is listened to." },                                                                   \
      { "http",                                                                                                        \
        "trusted_proxies",                                                                                             \
        "http-trusted-proxies",                                                                                        \
        OPTION_LIST,                                                                                                   \
        offsetof (TYPE, MEMBER.trusted_proxies),                                                                       \
        .check = http_check_proxies,                                                                                   \
        .help = "Addresses of proxies whose X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host are believed: "    \
                "bounds for each host count those who ask the proxy." },                                               \
  {                                                                                                                    \
    "http", "timestamps", "http-timestamps", OPTION_BOOLEAN, offsetof (TYPE, MEMBER.timestamps), "no",                 \
        .help = "Whether each value bears the time at which it was sampled. Prometheus does without: a node that "     \
                "falls silent is gone at once then."                                                                   \
  }

extern const char *const http_auth_names[];
int http_check_listen (const char *value, struct error *error); /* "", HOST:PORT, [IPV6]:PORT, *:PORT */
int http_check_proxies (const char *value, struct error *error);
/* Checks that they fit each other; errors begin with "[http] ". */
int http_settings_check (const struct http_settings *settings, struct error *error);

/* A line for the password file. */
int http_password_line (const char *user, const char *password, struct buffer *line, struct error *error);

/* ---- answers ---- */

struct http_request;
const char *http_request_header (const struct http_request *request, const char *name); /* NULL: none */
/* All ?NAME= of it, parted by commas. The caller frees it; NULL: none. */
char *http_request_arguments (const struct http_request *request, const char *name);
/* Each of them, in their order; `value` NULL: it has none. */
void http_request_each_argument (const struct http_request *request, void *context,
                                 void (*take) (void *context, const char *name, const char *value));
bool http_request_accepts (const struct http_request *request, const char *type); /* named in Accept, and not q=0 */
bool http_request_is_tls (const struct http_request *request);
const char *
http_request_authority (const struct http_request *request);     /* the Host that the client asked for; NULL: none */
uint64_t http_request_host (const struct http_request *request); /* a number for the host that asks */
size_t http_request_places (const struct http_request *request); /* so many connections there may be */

/* Who asks, as `who` of the options says; without that everybody sees all. */
const struct viewer *http_request_viewer (const struct http_request *request);
bool http_request_is_proxied (const struct http_request *request); /* one of trusted_proxies asks for somebody */
/* The user of this host who opened the other end of the connection, as the kernel says; -1: it is not of this host. */
int64_t http_request_owner (const struct http_request *request);
/* "GET /api/v1/jobs?user=ana&limit=5": what is asked, in one spelling: all bytes but letters, digits and -._~ (and / of the
 * path) as %XX. Credentials are bound to it. */
void http_request_target (const struct http_request *request, struct buffer *out);
void http_target_add (struct buffer *out, const char *text,
                      const char *plain); /* `plain`: bytes that stay beside these */

/* A body in pieces: adds whole pieces until `out` holds `limit` bytes or more. False: the body is complete. */
typedef bool http_next_fn (void *context, struct buffer *out, size_t limit);

/* What a reply waits for: a descriptor that becomes readable (-1: none), or a time. Who asked and goes away meanwhile
 * ends it. */
struct http_wait {
  int fd;
  int64_t until_ns; /* CLOCK_MONOTONIC */
};

struct http_reply {
  unsigned status;
  const char *type;
  unsigned retry_s; /* Retry-After; 0: none */
  const char *file; /* a download of this name (letters, digits, '-', '.', '_'); NULL: it is shown */
  char tag[64];     /* ETag: the client may keep it, and asks whether it is still so; "": it keeps nothing */
  bool kept;        /* it is the same for ever, and is not asked for again */
  void *context;    /* of the body: freed by `free`, also when it was not read to its end; */
  http_next_fn *next;
  void (*free) (void *context);
  /* Of a body that comes from elsewhere, asked before each `next`: false: it can be called. It never blocks. May be NULL. */
  bool (*wait) (void *context, struct http_wait *wait);
  /* Of a reply whose status is known only when that is false for the first time: then this fills it in. */
  void (*begin) (void *context, struct http_reply *reply);
  bool (*broken) (
      void *context); /* after the last piece: it is not whole, and the client shall see that. May be NULL */
  bool endless;       /* it lasts as long as the client takes what comes; each piece goes out at once */
  struct buffer text; /* or else this, which is owned */
};
void http_reply_text (struct http_reply *reply, unsigned status, const char *type, const char *text);
/* {"error":{"message":TEXT}} */
void http_reply_error (struct http_reply *reply, unsigned status, const char *text);

struct http_route {
  const char *path;  /* "/sd"; a path that ends in '/' matches all that begin with it */
  const char *title; /* on the page "/addresses"; NULL: it is not there */
  /* `rest`: of the path behind that. The reply is 404 at first. */
  void (*answer) (void *context, const struct http_request *request, const char *rest, struct http_reply *reply);
  bool json; /* what is refused before it is asked is http_reply_error, else text */
};

struct http_site {
  const struct http_route *routes;
  size_t route_count;
  void *context; /* of the routes */
};

/* ---- the server ---- */

struct http_counts {
  uint64_t requests;
  uint64_t refused;      /* connections over a bound; answers 429 of routes, and 503 with a Retry-After */
  uint64_t unauthorized; /* requests without a name and password that are known */
  uint64_t ended;        /* connections that took too long */
  uint64_t connections;  /* now */
};

enum http_who {
  HTTP_NOBODY,  /* nothing says who it is: where passwords are needed he is refused */
  HTTP_LOCAL,   /* a user of this host: likewise */
  HTTP_KNOWN,   /* he has shown who he is */
  HTTP_IMPOSTOR /* what he shows is wrong */
};

struct http_options {
  const struct http_settings *settings;
  /* Whose request is it, where it does not bear a name and a password? Those see all. NULL: everybody does. */
  enum http_who (*who) (void *context, const struct http_request *request, struct viewer *viewer, struct error *why);
  void *who_context;
  const char *title; /* of the page "/addresses" */
  const struct http_site *sites;
  size_t site_count;
  const char *folders[HTTP_FOLDERS_MAX]; /* of files, "/" being index.html; NULL: no more of them */
};

struct http;
/* Listens, and begins to answer. Beside the routes there are "/addresses", "/healthz", "/readyz", and the files; "/"
 * is "/addresses" where they are not there. NULL and error: it
 * failed; `taken`: the address is in use, or not assigned to the host yet. */
struct http *http_create (const struct http_options *options, bool *taken, struct error *error);
void http_destroy (struct http *http);          /* NULL is fine */
const char *http_url (const struct http *http); /* where it listens: "http://127.0.0.1:5580/" */
/* The program's main loop calls it several times a second; /healthz and /readyz answer by it. */
void http_beat (struct http *http, int64_t now_ns, bool ready);
void http_count (const struct http *http, struct http_counts *counts);
/* Reads the password file again, and the certificate if it changed. -1 and error: nothing changes. */
int http_reload (struct http *http, struct error *error);

#endif
