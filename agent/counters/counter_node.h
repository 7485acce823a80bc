/* A group that counts on the CPUs of the node: rows are sockets. */
#ifndef SYNOP_AGENT_COUNTER_NODE_H
#define SYNOP_AGENT_COUNTER_NODE_H

#include "agent/counters/counters.h"
#include "agent/sampling/sampler.h"
#include "synop/array.h"
#include "synop/error.h"

struct counter_plan { /* `{0}` is empty */
  struct counter_batch *batches;
  size_t count, room;
};

struct counter_node_type {
  const struct group *group;
  size_t running; /* the column of that metric; those before it are counters */
  /* Adds what this machine can count. `error`: why there is nothing or not all. May block. */
  void (*plan) (struct counter_plan *plan, const char *root, struct error *error);
};

/* The functions of a sampler, whose state it is. */
struct counter_node;
struct counter_node *counter_node_create (const struct sampler_context *context, const struct counter_node_type *type);
bool counter_node_may_block (void *node);
int counter_node_sample (void *node, struct table *table);
void counter_node_destroy (void *node);
/* Why this machine has none of it; "" when it has. */
void counter_node_absent (const struct sampler_context *context, const struct counter_node_type *type, char *text,
                          size_t size);

#endif
