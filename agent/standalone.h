/* Without an aggregator: this node's report as JSON lines, on standard output or for a screen. */
#ifndef SYNOP_AGENT_STANDALONE_H
#define SYNOP_AGENT_STANDALONE_H

#include <stdint.h>

#include "agent/sampling/sampling.h"
#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/loop.h"
#include "synop/notify.h"

struct standalone_options {
  const char *node;
  uint64_t session;
  uint64_t count;        /* lines to write; 0: no end */
  struct notify *notify; /* is notified after the first sample; may be NULL */
  int64_t once_ns;       /* the line comes after this time and has all groups; 0: lines when they are due */
  void (*line) (void *context, const char *line, size_t length); /* takes the lines; NULL: standard output does */
  void (*shape) (void *context, struct buffer *line);            /* puts another line in its place; NULL: it stays */
  void *context;
};

/* Runs the loop until it is stopped, all lines are written or nobody reads them. -1 when they cannot be written. */
int standalone_run (const struct standalone_options *options, struct loop *loop, struct sampling *sampling,
                    struct error *error);

#endif
