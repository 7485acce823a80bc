/* A bounded queue of whole lines for a descriptor that may be slow.
 *
 * When it is full, whole lines are dropped, and once half of it is free again, an event line has their number:
 * {"type":"event","event":"dropped","lines":12}. Nothing here ever blocks. One line that is larger than the whole
 * queue, of up to 64 MiB, may wait beside it. */
#ifndef SYNOP_AGGREGATOR_OUTLET_H
#define SYNOP_AGGREGATOR_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line that any number of outlets share. */
struct line {
  size_t users;
  size_t length;
  char text[];
};

struct line *line_create (const char *text, size_t length); /* with its newline; the caller is its first user */
void line_release (struct line *line);

enum outlet_kind {
  OUTLET_SOCKET, /* sent with MSG_DONTWAIT */
  OUTLET_OPEN,   /* a file, which takes all at once, or a descriptor of our own that is non-blocking */
  OUTLET_SHARED  /* a pipe or terminal that others have open too: written in pieces, when poll says that one fits */
};

struct outlet;

/* The descriptor is not owned. `dropped` counts dropped lines. */
struct outlet *outlet_create (int fd, enum outlet_kind kind, size_t queue_bytes, uint64_t *dropped);
void outlet_destroy (struct outlet *outlet);

void outlet_put (struct outlet *outlet, struct line *line); /* adds a reference */
bool outlet_empty (const struct outlet *outlet);
/* Writes what the descriptor takes now. 0: all is written; 1: there is more; -errno: it has failed. */
int outlet_flush (struct outlet *outlet);

#endif
