/* How a command reaches an aggregator. */
#ifndef SYNOP_AGGREGATOR_REACH_H
#define SYNOP_AGGREGATOR_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/buffer.h"
#include "synop/error.h"

struct options;

struct reach {
  const char *socket, *ca, *munge_socket;
  char *url;          /* owned, and ends in '/'; "": none */
  char *user, *token; /* owned: the name of who asks, the file of his token */
  bool chosen;        /* by --url or SYNOP_URL: neither the socket nor the history is looked at */
  bool usual;         /* it is where an aggregator of this host listens, if there is one */
};

void reach_init (struct reach *reach, const struct options *options);
void reach_copy (struct reach *to, const struct reach *from); /* what they have as options is shared */
void reach_free (struct reach *reach);

/* ---- what the UNIX socket answers ---- */

/* Sends a request, a line; the answer comes on this descriptor, which does not block. -1 and error. */
int reach_begin (const struct reach *reach, const char *request, struct error *error);
/* Sends a request and reads the whole answer. It waits up to 10 s each time. */
int reach_request (const struct reach *reach, const char *request, struct buffer *answer, struct error *error);

/* ---- what the API answers ---- */

/* Is the past asked of the API, since the history cannot be read? */
bool reach_is_far (const struct reach *reach, const char *history);

/* A question: "jobs/123/report", and its parameters. */
struct reach_question {
  struct buffer path, parameters;
  bool endless; /* its answer: there may be nothing of it for long */
};
void reach_path (struct reach_question *question, const char *part); /* adds to the path; '/' stays */
void reach_parameter (struct reach_question *question, const char *name, const char *value); /* "": it is not given */
void reach_question_free (struct reach_question *question);
/* Gives out the answer as it comes. -1 and error: where was asked, as whom, and why there is none. */
int reach_ask (const struct reach *reach, struct reach_question *question, void *context,
               int (*put) (void *context, const void *bytes, size_t length, struct error *error), struct error *error);
/* Prints it. The exit code. */
int reach_print (const struct reach *reach, struct reach_question *question);

#endif
