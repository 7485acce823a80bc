/* What a receiver is: what it takes, how a request looks to it, and what its answers mean; or how it is reached otherwise. All
 * else is the sender's: what is sent when, what is tried again, what is refused, how far it is. */
#ifndef SYNOP_AGGREGATOR_SEND_TYPE_H
#define SYNOP_AGGREGATOR_SEND_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/config.h"
#include "synop/send_http.h"
#include "synop/send_series.h"

struct send_options;

/* ---- what is sent ---- */

/* A frame as the stream's JSON: {"type":"node",...}. In the load's text: */
struct send_line {
  size_t node, at, length; /* the node's name, with a NUL behind; the line, with its newline */
};

/* Samples or lines, as the type takes them; those of a node in order of time, but for late ones. At least one. */
struct send_load {
  const struct send_sample *samples;
  const struct send_line *lines;
  const char *text; /* of the lines */
  size_t count;
};

/* ---- a type ---- */

/* Of a sender, for its type; stays as long as the type's state. */
struct send_setting {
  const char *name; /* the section's */
  const struct send_options *options;
  const void *own; /* the type's own options */
  int stop;        /* readable once the sender is to end: whoever waits polls this too */
};

struct send_type {
  const char *name;
  const char *schemes;                    /* of `url`, parted by blanks: "http https"; NULL: it has no url */
  const char *shared;                     /* keys of options that it uses of those that are not for all: SEND_FOR_... */
  struct config_part own;                 /* its own options; keys are unique among all types */
  const char *names;                      /* default of the option; NULL: SEND_NAMES */
  int64_t period_ns;                      /* the same; 0: each frame */
  bool lines;                             /* it takes lines; else samples */
  bool stale;                             /* samples say when a series ends */
  bool folds;                             /* several frames of a node may be in one load; so it is with lines */
  bool url_optional;                      /* it knows itself where to */
  size_t load_most, load_bytes;           /* about what it is given at once: frames, and their size; 0: 1000, 1 MB */
  int64_t (*gather_ns) (const void *own); /* samples are gathered for so long, to be folded; NULL: they are not */
  int (*check) (const struct send_options *options, const void *own, struct error *error); /* may be NULL */
  const char *(*target) (const struct send_setting *setting); /* for people: where to; NULL: the url */

  void *(*open) (const struct send_setting *setting); /* waits for nothing */
  void (*close) (void *state);
  /* Is this series to be sent? Asked once a series, before it is sent the first time. May be NULL: all are. */
  bool (*wants) (void *state, const struct send_series *series);

  /* Over HTTP, where the url begins with http. Makes a request of the first ones, as many as go into one. */
  void (*pack) (void *state, const struct send_load *load, struct send_request *request);
  /* Before each try: credentials, headers. -1: answer.text says why not; it is tried again. May be NULL. */
  int (*prepare) (void *state, struct send_request *request, struct send_answer *answer);
  /* The answer to it. */
  enum send_verdict (*judge) (void *state, struct send_answer *answer);

  /* Otherwise: brings the first ones there, as many as go at once (`count`), and returns what became of them; SEND_ANOTHER is
   * not for it. Returns in about the timeout, and soon when it is to stop. After SEND_AGAIN the same load comes again, or
   * none. answer.status stays 0; `fresh`: what was taken just before may be lost. */
  enum send_verdict (*deliver) (void *state, const struct send_load *load, size_t *count, struct send_answer *answer);
  /* Now and then while nothing waits. May be NULL. */
  void (*rest) (void *state);
};

/* Keys of options that several types share, for `shared`. */
#define SEND_FOR_SAMPLES "names job labels "
#define SEND_FOR_LOGIN "user password_file "
#define SEND_FOR_TLS "ca certificate key "
#define SEND_FOR_FILES "folder size age keep "
#define SEND_FOR_HTTP "bearer_file " SEND_FOR_LOGIN SEND_FOR_TLS

#define SEND_NAMES "node-exporter,dcgm-exporter,synop"

/* All types, by the names that `type` in [send NAME] has. A new one is a file type_NAME.c with `send_NAME`, and a name here. */
#define SEND_TYPES(TYPE)                                                                                               \
  TYPE (remote_write)                                                                                                  \
  TYPE (file)                                                                                                          \
  TYPE (exec)                                                                                                          \
  TYPE (influx)                                                                                                        \
  TYPE (nats)                                                                                                          \
  TYPE (kafka)                                                                                                         \
  TYPE (cloudwatch)                                                                                                    \
  TYPE (otlp)

#define SEND_TYPE_DECLARE(name) extern const struct send_type send_##name;
SEND_TYPES (SEND_TYPE_DECLARE)

#endif
