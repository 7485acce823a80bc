/* The schemas of late frames. An agent that changed its groups or was upgraded while it was cut off holds frames of
 * a schema that its hello does not name, and that this aggregator may not know. It is then read from the history, or
 * else requested from the node, whose ring keeps the schemas of its frames. Meanwhile the frames stay missing, and
 * nothing else is requested of the node. When the node answers that it has none, or does not answer ASKED_MAX
 * requests, the frames are requested once more: those of that schema are then lost, and reported. */
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"

#define ASKED_MAX 6

/* ---- schemas that are kept ---- */

void
cluster_keep_schema (struct cluster *cluster, struct node *node, struct shared_schema *shared)
{
  struct shared_schema **list = node->schemas_before, *last = list[NODE_SCHEMAS_BEFORE - 1];

  for (size_t i = 0; i < NODE_SCHEMAS_BEFORE; i++)
    if (list[i] == shared)
      return;
  schema_store_use (shared);
  memmove (&list[1], &list[0], (NODE_SCHEMAS_BEFORE - 1) * sizeof list[0]);
  list[0] = shared;
  schema_store_release (&cluster->schemas, last);
}

void
cluster_drop_schemas_before (struct cluster *cluster, struct node *node)
{
  for (size_t i = 0; i < NODE_SCHEMAS_BEFORE; i++) {
    schema_store_release (&cluster->schemas, node->schemas_before[i]);
    node->schemas_before[i] = NULL;
  }
}

struct shared_schema *
cluster_late_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  const struct cluster_output *output = &cluster->options.output;
  struct shared_schema *shared = schema_store_find (&cluster->schemas, hash);
  const struct buffer *bytes = NULL;
  struct schema *schema = NULL;
  struct error error;

  if (!shared && output->schema)
    bytes = output->schema (output->context, hash);
  if (bytes)
    schema = schema_read (bytes->data, bytes->length, &error);
  if (schema && memcmp (schema->hash, hash, SCHEMA_HASH_SIZE) == 0)
    shared = schema_store_add (&cluster->schemas, schema);
  else
    schema_destroy (schema);
  if (shared && shared != node->schema)
    cluster_keep_schema (cluster, node, shared);
  return shared;
}

/* ---- requests to the node ---- */

bool
cluster_want_late_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct schema_want *want = &node->replay.want;

  (void) cluster;
  if (schema_want_is_refused (want, hash))
    return false;
  if (want->wanting)
    return true; /* one schema at a time */
  schema_want_begin (want, hash);
  want->ask_at_ns = 0;
  return true;
}

/* A silent node still has its ring: its requests wait. */
void
cluster_ask_late_schema (struct cluster *cluster, struct node *node, struct instant now)
{
  struct schema_want *want = &node->replay.want;
  bool silent = node->state == NODE_STALE || node->state == NODE_DOWN;

  if (silent || !node->sessions[0].routing_length || now.monotonic_ns < want->ask_at_ns)
    return;
  if (want->asked == ASKED_MAX)
    schema_want_refuse (want);
  else
    cluster_ask_schema (cluster, node, want, 0, now);
}

void
cluster_ask_late_anew (struct node *node)
{
  node->replay.want.refused = false;
  node->replay.want.asked = 0;
  node->replay.want.ask_at_ns = 0;
}

bool
cluster_take_late_schema (struct cluster *cluster, struct node *node, const struct control *message, struct instant now)
{
  static const uint8_t none[SCHEMA_HASH_SIZE];
  struct schema_want *want = &node->replay.want;
  struct shared_schema *shared;
  struct schema *schema;
  struct error error;

  if (schema_want_is (want, none) || !schema_want_is (want, message->schema_hash))
    return false;
  if (!want->wanting)
    return true; /* an answer that came too late */
  if (cluster_late_schema (cluster, node, want->hash)) {
    want->wanting = false;
    return true;
  }
  if (!cluster_may_bring (cluster, node, now)) /* over its rate: it is requested again later */
    return true;
  schema = cluster_read_schema (message, &error);
  if (!schema) {
    schema_want_refuse (want);
    cluster_reject (cluster, node, REJECTED_SCHEMA, error.text, now);
    return true;
  }
  shared = schema_store_add (&cluster->schemas, schema);
  cluster_keep_schema (cluster, node, shared);
  cluster_new_schema (cluster, node, shared, now);
  return true;
}
