/* What was sent last of each node, and from it and a frame: the frame's samples, and a marker for each series that has none any
 * more, since its row, its value or its node went.
 *
 * A frame that is older than what was sent of its node is late: it gives samples and changes nothing. Facts, which nodes send
 * once, are samples of each frame. */
#ifndef SYNOP_AGGREGATOR_SEND_NODES_H
#define SYNOP_AGGREGATOR_SEND_NODES_H

#include "aggregator/send/send_options.h"
#include "aggregator/send/send_window.h"

struct send_nodes;

typedef void send_give_fn (void *context, const struct send_sample *sample);

/* `type_state`: the type's, which may be asked what it wants. */
struct send_nodes *send_nodes_create (const struct send_options *options, void *type_state, struct history_file *file,
                                      struct error *error);
void send_nodes_take_each (struct send_nodes *nodes); /* from now on each frame is due */
void send_nodes_destroy (struct send_nodes *nodes);   /* NULL is fine */
/* One that is not known yet is read from the history: what was sent of it up to that chunk. */
struct send_node *send_nodes_find (struct send_nodes *nodes, const char *name, int64_t chunk);
int64_t send_node_newest (const struct send_node *node); /* time of what was sent last; INT64_MIN: nothing was */

/* `give` NULL: it was sent before, and is only noted. -1: it is broken. */
int send_nodes_take (struct send_nodes *nodes, struct send_node *node, const struct send_frame_parts *frame,
                     send_give_fn *give, void *context, struct error *error);
/* The node fell silent, or is gone. */
void send_nodes_end (struct send_nodes *nodes, struct send_node *node, int64_t time_ns, send_give_fn *give,
                     void *context);
/* Now and then, so that what was needed for frames of before is given back. */
void send_nodes_rest (struct send_nodes *nodes);

#endif
