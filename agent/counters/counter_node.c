/* A group that counts on the CPUs of the node; see counter_node.h.
 *
 * Events are opened in a thread (a library is loaded, thousands of descriptors are made). They are read without one unless
 * there are hundreds: each read asks another CPU. They are opened anew when CPUs come or go, and when counting was stopped for others. */
#include "agent/counters/counter_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define RETRY_NS (60 * NS_PER_S) /* after a failure */
#define READ_AT_ONCE 512         /* events */

struct counter_node {
  const struct counter_node_type *type;
  struct counters *counters;
  struct counter_plan plan;
  struct counter_cpus cpus;
  struct counter_set *set; /* NULL: nothing is counted */
  bool allowed;            /* to count, at this sample */
  bool opening;            /* the set is to be opened in this sample */
  char reason[160];        /* why not */
  bool planned;
  struct error lack; /* of the plan */
  int failure;       /* of opening: -errno */
  int64_t retry_ns;
};

struct counter_node *
counter_node_create (const struct sampler_context *context, const struct counter_node_type *type)
{
  struct counter_node *node = memory_new (1, sizeof *node);

  node->type = type;
  node->counters = service_take (context, &service_counters);
  return node;
}

static void
node_close (struct counter_node *node)
{
  counter_set_destroy (node->set);
  node->set = NULL;
}

void
counter_node_destroy (void *state)
{
  struct counter_node *node = state;

  node_close (node);
  counter_cpus_free (&node->cpus);
  free (node->plan.batches);
  service_leave (node->counters);
  free (node);
}

/* ---- opening ---- */

static bool
needs_opening (struct counter_node *node)
{
  if (!node->allowed)
    return false;
  if (!node->set || counter_cpus_changed (&node->cpus, node->counters->root))
    return true;
  return node->failure != 0 && clock_monotonic () > node->retry_ns;
}

bool
counter_node_may_block (void *state)
{
  struct counter_node *node = state;

  node->allowed = counters_may_count (node->counters, clock_wall (), node->reason, sizeof node->reason);
  node->opening = needs_opening (node);
  return node->opening || (node->set && counter_set_events (node->set) > READ_AT_ONCE);
}

static int
node_open_batch (struct counter_node *node, const struct counter_batch *batch)
{
  int first = 0;

  for (size_t i = 0; i < node->cpus.count; i++) {
    const struct counter_cpu *cpu = &node->cpus.list[i];
    const struct counter_target target = { .pid = -1, .cpu = cpu->number };
    int result = counter_set_open (node->set, cpu->socket, batch, &target);

    first = first ? first : result;
  }
  return first;
}

/* The sums begin anew: a report takes that for a restart of the counters. */
static void
node_open (struct counter_node *node)
{
  node_close (node);
  if (!node->planned)
    node->type->plan (&node->plan, node->counters->root, &node->lack);
  node->planned = true;
  counter_cpus_read (&node->cpus, node->counters->root);
  node->set = counter_set_create (node->counters->kernel, &node->counters->budget, node->cpus.socket_count);
  node->failure = 0;
  for (size_t i = 0; i < node->plan.count; i++) {
    int result = node_open_batch (node, &node->plan.batches[i]);
    node->failure = node->failure ? node->failure : result;
  }
  node->retry_ns = clock_monotonic () + RETRY_NS;
}

/* ---- a sample ---- */

static void
add_row (const struct counter_node *node, size_t socket, struct table *table)
{
  const struct counter_row *sums = counter_set_row (node->set, socket);
  char label[16];
  int length = snprintf (label, sizeof label, "%u", node->cpus.sockets[socket]);
  size_t row = table_add_row (table, label, (size_t) length);
  uint64_t value;

  for (size_t i = 0; row != SIZE_MAX && i < node->type->running; i++)
    if (counter_row_value (sums, i, &value))
      table_set_uint (table, row, i, value);
  if (row == SIZE_MAX)
    return;
  table_set_real (table, row, node->type->running, sums->running);
  if (node->type->complete)
    node->type->complete (node->counters, sums, table, row);
}

static void
complain (struct counter_node *node, int result, struct table *table)
{
  char remedy[160];

  if (result == 0)
    return;
  counter_remedy (remedy, sizeof remedy, node->counters->root, -result);
  table_complain (table, "%s", remedy);
}

int
counter_node_sample (void *state, struct table *table)
{
  struct counter_node *node = state;
  int result;

  if (!node->allowed) {
    node_close (node);
    return node->counters->enabled ? table_complain (table, "%s", node->reason) : 0;
  }
  if (node->opening)
    node_open (node);
  complain (node, node->failure, table);
  if (counter_set_events (node->set) == 0)
    return node->failure ? -1 : 0;
  result = counter_set_read (node->set);
  complain (node, result, table);
  for (size_t i = 0; i < node->cpus.socket_count; i++)
    add_row (node, i, table);
  return 0;
}

/* ---- why there is none ---- */

static bool
has_main_column (const struct counter_node *node)
{
  return node->cpus.socket_count != 0 && counter_set_row (node->set, 0)->open & (1u << node->type->main);
}

void
counter_node_absent (const struct sampler_context *context, const struct counter_node_type *type, char *text,
                     size_t size)
{
  struct counter_node *node = counter_node_create (context, type);

  text[0] = '\0';
  counter_node_may_block (node);
  if (!node->allowed)
    snprintf (text, size, "%s", node->reason);
  else {
    node_open (node);
    if (node->failure)
      counter_remedy (text, size, context->root, -node->failure);
    else if (node->lack.text[0])
      snprintf (text, size, "%s", node->lack.text);
    else if (!has_main_column (node))
      counter_remedy (text, size, context->root, ENOENT);
  }
  counter_node_destroy (node);
}
