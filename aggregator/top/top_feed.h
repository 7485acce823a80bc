/* A request to the aggregator whose answer comes in lines: connected anew whenever it ends. */
#ifndef SYNOP_AGGREGATOR_TOP_FEED_H
#define SYNOP_AGGREGATOR_TOP_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/reach/reach.h"
#include "synop/loop.h"

struct feed_options {
  struct loop *loop;
  const struct reach *reach;
  int64_t again_ns; /* until it is asked again after an answer's end */
  void *context;
  void (*line) (void *context, const char *line, size_t length); /* without its newline */
  /* The end of an answer, "", or why there is none; it may destroy the feed. */
  void (*end) (void *context, const char *why);
};

struct feed;

/* A client of this request, which ends in a newline. It is asked from the loop. */
struct feed *feed_create (const struct feed_options *options, const char *request);
void feed_destroy (struct feed *feed); /* NULL is fine; not from its `line` */

#endif
