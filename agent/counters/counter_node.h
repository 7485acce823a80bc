/* A group that counts on the CPUs of the node: rows are sockets. */
#ifndef SYNOP_AGENT_COUNTER_NODE_H
#define SYNOP_AGENT_COUNTER_NODE_H

#include "agent/counters/counters.h"
#include "agent/sampling/sampler.h"
#include "synop/error.h"

struct counter_node_type {
  const struct group *group;
  size_t running; /* the column of that metric; those before it are counters */
  size_t main;    /* the column of the hardware without which the machine is said to have none of it */
  /* Adds what this machine can count. `error`: why there is nothing or not all. May block. */
  void (*plan) (struct counter_plan *plan, const char *root, struct error *error);
  /* Sets what follows from a row's sums; may be NULL. */
  void (*complete) (struct counters *counters, const struct counter_row *sums, struct table *table, size_t row);
};

#define COUNTER_RUNNING_METRIC                                                                                         \
  {                                                                                                                    \
    "running", GAUGE, UNIT_RATIO, FOLD_MIN,                                                                            \
        .help = "Share of the time that the events counted; below 1 others took turns with them, and the counts are "  \
                "scaled. Those that ran for less than 0.05 of it are missing."                                         \
  }

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
