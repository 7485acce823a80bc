/* The stream on standard output, which may be a pipe that nobody empties, a terminal that is stopped, a full disk. */
#ifndef SYNOP_AGGREGATOR_STANDARD_OUTPUT_H
#define SYNOP_AGGREGATOR_STANDARD_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/stream/stream.h"
#include "synop/loop.h"

struct standard_output_options {
  struct loop *loop;
  struct stream *stream;
  const char *types; /* of lines, as in stream_filter */
  size_t queue_bytes;
  uint64_t *dropped;
  void *context;
  void (*ended) (void *context, int failure); /* EPIPE: the reader is gone; or another errno. Called once */
};

struct standard_output;

struct standard_output *standard_output_create (const struct standard_output_options *options);
/* Writes what is queued, within this time at most; 0, or the errno of the failure. */
int standard_output_finish (struct standard_output *output, int64_t patience_ns);
void standard_output_destroy (struct standard_output *output);

#endif
