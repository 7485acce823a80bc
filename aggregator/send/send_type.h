/* What a receiver is: how a request looks to it, and what its answers mean. All else is the sender's. */
#ifndef SYNOP_AGGREGATOR_SEND_TYPE_H
#define SYNOP_AGGREGATOR_SEND_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/send/send_series.h"
#include "synop/buffer.h"

struct send_options;

struct send_sample {
  struct send_series *series;
  struct send_symbol *node;
  double value;
  int64_t time_ms;
  bool stale; /* its series ends here: there is no value */
};

/* How a request ended: `status` 0: there was no answer. */
struct send_answer {
  long status;
  int64_t after_ns; /* Retry-After; 0: none */
  bool fresh;       /* over a new connection */
  bool closes;      /* the receiver ends the connection with it */
  bool counted;     /* it says how many samples it took: */
  uint64_t taken;
  char text[256]; /* the receiver's words, or why there was no answer */
};

enum send_verdict {
  SEND_TAKEN,
  SEND_AGAIN,   /* the same once more, after a pause */
  SEND_REFUSED, /* it would never be taken */
  SEND_PART,    /* answer.taken of them were taken, the others never would be */
  SEND_ANOTHER  /* to be packed once more, in another form; answer.text says why */
};

struct send_form {
  const char *name;           /* for people; "": the type's only one */
  const char *const *headers; /* "Content-Type: ...", ended by NULL */
};

struct send_type {
  const char *name;
  const struct send_form *forms;
  size_t form_count;
  void *(*open) (const struct send_options *options);
  void (*close) (void *state);
  /* Makes a request, and says in which form. */
  size_t (*pack) (void *state, const struct send_sample *samples, size_t count, struct buffer *request);
  /* The answer to it. */
  enum send_verdict (*judge) (void *state, struct send_answer *answer);
};

/* All types, by the names that `type` in [send NAME] has. A new one is a file type_NAME.c with `send_NAME`, and a name here. */
#define SEND_TYPES(TYPE) TYPE (remote_write)

#define SEND_TYPE_DECLARE(name) extern const struct send_type send_##name;
SEND_TYPES (SEND_TYPE_DECLARE)

#endif
