/* Requests to one receiver over one connection that stays open, and what its answers are: by libcurl, which is loaded at run
 * time. */
#ifndef SYNOP_SEND_HTTP_H
#define SYNOP_SEND_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

#define SEND_HEADERS_MAX 8

/* Texts are the type's, and stay until the next `pack`. */
struct send_request {
  struct buffer body;                        /* empty: nothing is posted, and judged as if the status were 200 */
  size_t count;                              /* how many of the load it is for, from the first on; at least 1 */
  const char *form;                          /* for people: which protocol; "": the type's only one */
  const char *url;                           /* NULL: the option's */
  const char *headers[SEND_HEADERS_MAX + 1]; /* "Content-Type: ...", ended by NULL */
  const char *sigv4, *user, *password;       /* AWS' signature: "aws:amz:REGION:SERVICE", and whose; NULL: none */
};

/* How it ended: `status` 0: there was no answer. */
struct send_answer {
  long status;
  int64_t after_ns; /* Retry-After; 0: none */
  int64_t date_s;   /* the receiver's clock; 0: it does not say */
  bool fresh;       /* over a new connection: the receiver may be another one */
  bool closes;      /* the receiver ends the connection with it */
  bool counted;     /* it says how many samples it took: */
  uint64_t taken;
  char text[256]; /* the receiver's words, or why there was no answer */
  size_t length;  /* of the body's beginning, as it came: */
  char body[4096];
};

enum send_verdict {
  SEND_TAKEN,
  SEND_AGAIN,   /* the same once more, after a pause */
  SEND_REFUSED, /* it would never be taken */
  SEND_PART,    /* answer.taken of them were taken, the others never would be */
  SEND_ANOTHER  /* to be packed once more: in another form, answer.text says why; or the rest of it, "" */
};

/* ---- over HTTP ---- */

/* Texts stay until it is destroyed; "": none. */
struct send_http_options {
  const char *url, *bearer_file, *user, *password_file, *ca, *certificate, *key;
  int64_t timeout_ns;
};

struct send_http;

struct send_http *
send_http_create (const struct send_http_options *options); /* without libcurl nothing is posted, and answers say so */
void send_http_destroy (struct send_http *http);            /* NULL is fine */
/* Posts, and waits for the answer: no longer than the timeout, nor than until send_http_stop. Secrets are read from their
 * files each time, so that they may change. */
void send_http_post (struct send_http *http, const struct send_request *request, struct send_answer *answer);
void send_answer_text (const struct send_answer *answer, char *text, size_t size); /* for people */
void send_http_stop (struct send_http *http); /* from any thread, once; NULL is fine */

#endif
