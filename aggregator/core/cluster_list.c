/* The list of nodes, which is the list of keys, and the nodes that were on it lately.
 *
 * Revoking or replacing a key is like cutting the link: the agent goes on sampling into its ring. Its sessions are
 * remembered, so that no frame is taken twice when it is admitted again. A node that is not back within GONE_FOR,
 * the longest that a ring reaches back, is forgotten: its missing frames are lost then. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/array.h"
#include "synop/clock.h"

#define GONE_FOR (24 * 3600 * NS_PER_S)
#define GONE_MAX 16384

size_t
cluster_node_count (const struct cluster *cluster)
{
  return cluster->node_count;
}

const struct node *
cluster_node (const struct cluster *cluster, size_t index)
{
  return cluster->nodes[index];
}

uint64_t
cluster_lists (const struct cluster *cluster)
{
  return cluster->lists;
}

static int
compare_name (const void *name, const void *node)
{
  return strcmp (name, (*(struct node *const *) node)->name);
}

static int
listed_nodes_compare (const void *one, const void *other)
{
  return strcmp ((*(struct node *const *) one)->name, (*(struct node *const *) other)->name);
}

struct node *
cluster_find_node (const struct cluster *cluster, const char *name)
{
  struct node **found = NULL;

  if (cluster->node_count)
    found = bsearch (name, cluster->nodes, cluster->node_count, sizeof cluster->nodes[0], compare_name);
  return found ? *found : NULL;
}

const struct node *
cluster_find (const struct cluster *cluster, const char *name)
{
  return cluster_find_node (cluster, name);
}

/* ---- nodes that are removed ---- */

static void
node_free (struct cluster *cluster, struct node *node)
{
  cluster_drop_held (cluster, node);
  cluster_forget_replay (cluster, node);
  cluster_drop_schema (cluster, node);
  tick_leave (cluster->ticks, &node->tick);
  node_destroy (node);
}

/* Keeps the sessions, and the list of missing frames. */
static void
node_leave (struct cluster *cluster, struct node *node, const char *reason, struct instant now)
{
  cluster_event (
      cluster,
      &(struct event){ .type = EVENT_NODE_REVOKED, .wall_ns = now.wall_ns, .node = node->name, .reason = reason });
  if (cluster->options.output.clock)
    cluster->options.output.clock (cluster->options.output.context, node->name, 0, NULL);
  node->replay.run.reported_ns = 0;
  cluster_end_run (cluster, node, now);
  cluster_drop_held (cluster, node);
  cluster_end_request (cluster, node);
  cluster_drop_late (cluster, node);
  cluster_drop_schemas_before (cluster, node);
  cluster_drop_schema (cluster, node);
  tick_leave (cluster->ticks, &node->tick);
  node_forget_failures (node);
  node->gap.reported_ns = 0;
  cluster_report_gap (cluster, node, now);
  cluster->counts.missing -= node->replay.missing.frames;
  node->state = NODE_NEVER;
  node->up.reason = NULL;
  node->want.wanting = node->want.refused = node->replay.want.wanting = false;
  node->sessions[0].routing_length = 0; /* nothing is requested of it before its next hello */
  node->since_ns = now.monotonic_ns;
}

static void
node_enter (struct cluster *cluster, struct node *node, const uint8_t key[KEY_SIZE], struct instant now)
{
  memcpy (node->key, key, KEY_SIZE);
  node->since_ns = now.monotonic_ns;
  cluster->counts.missing += node->replay.missing.frames;
  cluster->replay.wanted |= node->replay.missing.count != 0;
}

static void
gone_forget (struct cluster *cluster, struct instant now)
{
  struct node *node = cluster->gone[0];

  cluster->gone_count--;
  memmove (&cluster->gone[0], &cluster->gone[1], cluster->gone_count * sizeof cluster->gone[0]);
  cluster->counts.missing += node->replay.missing.frames;
  cluster_give_up_all (cluster, node, now);
  node->gap.reported_ns = 0;
  cluster_report_gap (cluster, node, now);
  node_free (cluster, node);
}

static void
gone_keep (struct cluster *cluster, struct node *node, struct instant now)
{
  if (!node->sessions[0].id) { /* it never sent anything */
    node_free (cluster, node);
    return;
  }
  if (cluster->gone_count == GONE_MAX)
    gone_forget (cluster, now);
  *array_add (cluster->gone, cluster->gone_count, cluster->gone_capacity) = node;
}

static struct node *
gone_take (struct cluster *cluster, const char *name)
{
  for (size_t i = 0; i < cluster->gone_count; i++) {
    struct node *node = cluster->gone[i];

    if (strcmp (node->name, name) != 0)
      continue;
    cluster->gone_count--;
    memmove (&cluster->gone[i], &cluster->gone[i + 1], (cluster->gone_count - i) * sizeof cluster->gone[0]);
    return node;
  }
  return NULL;
}

void
cluster_tick_gone (struct cluster *cluster, struct instant now)
{
  while (cluster->gone_count && now.monotonic_ns - cluster->gone[0]->since_ns >= GONE_FOR)
    gone_forget (cluster, now);
}

void
cluster_free_nodes (struct cluster *cluster)
{
  for (size_t i = 0; i < cluster->node_count; i++)
    node_free (cluster, cluster->nodes[i]);
  for (size_t i = 0; i < cluster->gone_count; i++)
    node_free (cluster, cluster->gone[i]);
  free (cluster->nodes);
  free (cluster->gone);
}

/* ---- a new list ---- */

struct listing {
  struct cluster *cluster;
  struct node **nodes; /* the new list */
  size_t count, capacity;
  struct instant now;
};

static void
list_node (void *context, const char *name, const uint8_t key[KEY_SIZE])
{
  struct listing *listing = context;
  struct node *node = cluster_find_node (listing->cluster, name);

  if (node && !node->listed) {
    if (memcmp (node->key, key, KEY_SIZE) != 0) {
      node_leave (listing->cluster, node, "replaced", listing->now);
      node_enter (listing->cluster, node, key, listing->now);
    }
  } else {
    node = gone_take (listing->cluster, name);
    if (node)
      node_enter (listing->cluster, node, key, listing->now);
    else
      node = node_create (name, key, listing->now.monotonic_ns);
  }
  node->listed = true;
  *array_add (listing->nodes, listing->count, listing->capacity) = node;
}

void
cluster_list (struct cluster *cluster, cluster_each_node_fn *each, const void *list, struct instant now)
{
  struct listing listing = { .cluster = cluster, .now = now };
  struct node **before = cluster->nodes;
  size_t before_count = cluster->node_count;

  for (size_t i = 0; i < before_count; i++)
    before[i]->listed = false;
  each (list, list_node, &listing);
  if (listing.count)
    qsort (listing.nodes, listing.count, sizeof listing.nodes[0], listed_nodes_compare);
  cluster->nodes = listing.nodes;
  cluster->node_count = listing.count;
  cluster->lists++;
  for (size_t i = 0; i < listing.count; i++)
    listing.nodes[i]->place = i;
  for (size_t i = 0; i < before_count; i++)
    if (!before[i]->listed) {
      node_leave (cluster, before[i], "revoked", now);
      gone_keep (cluster, before[i], now);
    }
  free (before);
}
