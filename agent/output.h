/* Standard output for JSON lines, fed by the loop: a reader that is slow or gone stops neither the loop nor a signal. */
#ifndef SYNOP_AGENT_OUTPUT_H
#define SYNOP_AGENT_OUTPUT_H

#include <stdbool.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/loop.h"

/* Makes sure that descriptors 0 to 2 are taken, so that no file or socket of ours lands there. First of all. */
void output_claim (void);

/* Writes all of it and waits as long as that takes: for help and lists. A reader that has gone is no error. */
int output_text (const struct buffer *text, struct error *error);

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
