/* Standard output for JSON lines, fed by the loop: a reader that is slow or gone stops neither the loop nor a signal. */
#ifndef SYNOP_AGENT_OUTPUT_H
#define SYNOP_AGENT_OUTPUT_H

#include <stdbool.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/loop.h"

struct output_handler {
  void *context;
  void (*drained) (void *context); /* all that was sent is written */
  void (*ended) (void *context,
                 int failure); /* nothing more can be written: an errno; EPIPE when the reader has gone */
};

struct output;

struct output *output_create (struct loop *loop, const struct output_handler *handler);
void output_destroy (struct output *output);

bool output_busy (const struct output *output); /* the last send is not written out yet: send no more */
/* One handler is called, at once or later. The bytes are swapped out of `bytes`, which gets an empty buffer for them. */
void output_send (struct output *output, struct buffer *bytes);

#endif
