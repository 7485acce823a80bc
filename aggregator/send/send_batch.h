/* Samples on their way into one request: a part for each frame, so that what a receiver refuses can be found. */
#ifndef SYNOP_AGGREGATOR_SEND_BATCH_H
#define SYNOP_AGGREGATOR_SEND_BATCH_H

#include "aggregator/send/send_type.h"

struct send_node;

struct send_part {
  const struct send_node *node;
  int64_t time_ns, chunk;
  size_t end; /* in the samples */
};

/* Samples or lines. */
struct send_batch {
  struct send_sample *samples;
  struct send_line *lines;
  struct buffer text; /* of the lines */
  size_t count, room;
  size_t size; /* about what they take */
  struct send_part *parts;
  size_t part_count, part_room;
  bool late;
  size_t part_most, size_most;
  bool folds;
};

void send_batch_init (struct send_batch *batch, const struct send_type *type);
void send_batch_begin (struct send_batch *batch);
void send_batch_free (struct send_batch *batch);
bool send_batch_is_full (const struct send_batch *batch);
/* May a frame of this node come too? Each node's once, unless the type folds; late ones, and others, stay by themselves. */
bool send_batch_may (struct send_batch *batch, const struct send_node *node, bool late);
void send_batch_add (void *batch, const struct send_sample *sample);
void send_batch_add_line (struct send_batch *batch, const char *node, const struct buffer *line);
void send_batch_end_part (struct send_batch *batch, const struct send_node *node, int64_t time_ns, int64_t chunk);
/* Those from `from` until before `to`. */
struct send_load send_batch_load (const struct send_batch *batch, size_t from, size_t to);
/* Where to part them in halves, between two parts of the batch; 0: they are of one. */
size_t send_batch_middle (const struct send_batch *batch, size_t from, size_t to);

#endif
