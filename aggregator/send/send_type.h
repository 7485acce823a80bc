/* What a receiver is: how a batch looks to it, and what its answers mean. All else is the sender's. */
#ifndef SYNOP_AGGREGATOR_SEND_TYPE_H
#define SYNOP_AGGREGATOR_SEND_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/series.h"

struct send_label {
  const char *name;
  const char *value; /* of `length` bytes, never empty */
  size_t length;
};

struct send_sample {
  const struct metric_family *family;
  const struct send_label *labels; /* in order of their names, each once; the family's name is not among them */
  size_t label_count;
  double value;
  bool stale; /* its series ends here: there is no value */
  int64_t time_ms;
};

/* How a request ended: `status` 0: there was no answer. */
struct send_answer {
  long status;
  int64_t after_ns; /* Retry-After; 0: none */
  bool fresh;       /* over a new connection */
  bool closes;      /* the receiver ends the connection with it */
  char text[256];   /* the receiver's words, or why there was no answer */
};

enum send_verdict {
  SEND_TAKEN,
  SEND_AGAIN,  /* the same once more, after a pause */
  SEND_REFUSED /* it would never be taken */
};

struct send_type {
  const char *name;
  const char *const *headers; /* "Content-Type: ...", ended by NULL */
  /* Adds a sample behind others; bodies that stand one behind the other are one. */
  void (*add) (struct buffer *body, const struct send_sample *sample);
  /* Adds the request that such a body makes. */
  void (*pack) (const void *body, size_t length, struct buffer *request);
  enum send_verdict (*judge) (const struct send_answer *answer);
};

/* All types, by the names that `type` in [send NAME] has. A new one is a file type_NAME.c with `send_NAME`, and a name here. */
#define SEND_TYPES(TYPE) TYPE (remote_write)

#define SEND_TYPE_DECLARE(name) extern const struct send_type send_##name;
SEND_TYPES (SEND_TYPE_DECLARE)

#endif
