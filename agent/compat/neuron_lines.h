/* The agent's lines as neuron-monitor writes them, one for one: the same objects and names, nested as there.
 *
 * A line has the groups that were sampled for it. What no source knows is 0 or "" there, as neuron-monitor has it, and
 * latencies are null; a group without any value has an error instead. Counts are of the group's period. */
#ifndef SYNOP_AGENT_NEURON_LINES_H
#define SYNOP_AGENT_NEURON_LINES_H

#include "agent/compat/neuron_config.h"
#include "synop/buffer.h"

struct neuron_lines;

struct neuron_lines *neuron_lines_create (const struct neuron_config *config); /* which must outlive it */
void neuron_lines_destroy (struct neuron_lines *lines);                        /* NULL is fine */
/* Puts another line in place of the line, which it takes no more of than its object. */
void neuron_lines_shape (void *lines, struct buffer *line);

#endif
