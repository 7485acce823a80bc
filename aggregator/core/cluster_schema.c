/* Schemas of nodes, and the frames that wait for one.
 *
 * A frame may come before the hello that names its schema, and the hello before the schema. So a few frames are
 * held, with a limit for each node and for all, while the schema is requested. A schema is taken only from a node
 * from which it was requested, and only when its bytes match the hash that the frames name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define HELD_FRAMES_MAX 16
#define HELD_BYTES_MAX FRAME_BYTES_MAX           /* of one node */
#define HELD_ALL_MAX ((size_t) 64 * 1024 * 1024) /* of all nodes */
#define ASK_WAIT_FIRST NS_PER_S /* doubled each time, so that a node that does not answer delays no other */
#define ASK_WAIT_MAX (4 * NS_PER_S)
#define ASK_OTHERS_AFTER (200 * NS_PER_MS)  /* 1,000 agents that connect at once need not all send the same schema */
#define BRING_EVERY (10 * NS_PER_S)         /* between two new schemas of a node, on average */
#define BRING_AHEAD (15 * BRING_EVERY)      /* a burst: 16 at once after a quiet time */
#define BROUGHT_EVENT_EVERY (60 * NS_PER_S) /* between two events about a node */

static void
give_schema (struct cluster *cluster, struct node *node, struct shared_schema *shared)
{
  if (!schema_want_is (&node->want, shared->schema->hash))
    cluster_drop_held (cluster, node);
  schema_store_use (shared);
  if (node->schema && node->replay.missing.count)
    cluster_keep_schema (cluster, node, node->schema);
  cluster_drop_schema (cluster, node);
  node->schema = shared;
  node->want.wanting = false;
  node_tables_create (node, shared->schema);
  cluster_carry_groups (node, shared->schema);
}

/* Frames wait for another schema, and a frame of the current schema came after them: they were sampled between two
 * reloads. They become late frames. */
static void
pass_over_wanted (struct cluster *cluster, struct node *node)
{
  node->want.wanting = false;
  if (node->held && node->sessions[0].replays)
    cluster_want_late_schema (cluster, node, node->want.hash);
  cluster_drop_held (cluster, node);
}

bool
cluster_use_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct shared_schema *shared;

  if (node->schema && memcmp (node->schema->schema->hash, hash, SCHEMA_HASH_SIZE) == 0) {
    if (node->want.wanting)
      pass_over_wanted (cluster, node);
    return true;
  }
  shared = schema_store_find (&cluster->schemas, hash);
  if (shared)
    give_schema (cluster, node, shared);
  return shared != NULL;
}

void
cluster_drop_schema (struct cluster *cluster, struct node *node)
{
  node_tables_free (node);
  schema_store_release (&cluster->schemas, node->schema);
  node->schema = NULL;
}

void
cluster_want_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  if (node->want.wanting && schema_want_is (&node->want, hash))
    return;
  cluster_drop_held (cluster, node);
  schema_want_begin (&node->want, hash);
  node->brought.held = false;
}

bool
cluster_may_bring (struct cluster *cluster, struct node *node, struct instant now)
{
  bool may = node->brought.due_ns - now.monotonic_ns <= BRING_AHEAD;

  if (!may && !node->brought.held) {
    node->brought.held = true;
    node->brought.pending++;
    cluster->counts.schemas_over_share++;
    cluster_report_brought (cluster, node, now);
  }
  return may;
}

void
cluster_report_brought (struct cluster *cluster, struct node *node, struct instant now)
{
  if (!node->brought.pending ||
      (node->brought.reported_ns && now.monotonic_ns - node->brought.reported_ns < BROUGHT_EVENT_EVERY))
    return;
  cluster_event (cluster, &(struct event){ .type = EVENT_OVER_SHARE,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .reason = "schemas",
                                           .text = "it brings one new schema after the other: one is taken each 10 s, "
                                                   "frames of the others come late",
                                           .count = node->brought.pending });
  node->brought.pending = 0;
  node->brought.reported_ns = now.monotonic_ns;
}

/* Was this schema just requested from any node? If not, it counts as requested now. */
static bool
asked_lately (struct cluster *cluster, const uint8_t hash[SCHEMA_HASH_SIZE], int64_t now_ns)
{
  if (now_ns - cluster->asked_ns < ASK_OTHERS_AFTER && memcmp (cluster->asked_hash, hash, SCHEMA_HASH_SIZE) == 0)
    return true;
  memcpy (cluster->asked_hash, hash, SCHEMA_HASH_SIZE);
  cluster->asked_ns = now_ns;
  return false;
}

bool
cluster_ask_due (struct cluster *cluster, struct node *node, struct schema_want *want, struct instant now)
{
  if (!want->wanting || !node->sessions[0].routing_length || now.monotonic_ns < want->ask_at_ns)
    return false;
  if (!cluster_may_bring (cluster, node, now) || asked_lately (cluster, want->hash, now.monotonic_ns))
    return false;
  want->ask_at_ns = now.monotonic_ns + (want->asked < 2 ? ASK_WAIT_FIRST << want->asked : ASK_WAIT_MAX);
  want->asked++;
  return true;
}

void
cluster_ask_schema (struct cluster *cluster, struct node *node, struct schema_want *want, uint64_t session,
                    struct instant now)
{
  struct control request = { .type = CONTROL_SCHEMA_REQUEST, .session = session };

  if (!cluster_ask_due (cluster, node, want, now))
    return;
  memcpy (request.schema_hash, want->hash, SCHEMA_HASH_SIZE);
  cluster_answer (cluster, node->sessions[0].routing, node->sessions[0].routing_length, &request);
}

struct schema *
cluster_read_schema (const struct control *message, struct error *error)
{
  struct schema *schema = NULL;

  if (message->schema_length == 0)
    error_set (error, "the agent does not have the schema of its frames any more");
  else
    schema = schema_read (message->schema, message->schema_length, error);
  if (schema && memcmp (schema->hash, message->schema_hash, SCHEMA_HASH_SIZE) != 0) {
    error_set (error, "a schema whose bytes do not have its hash");
    schema_destroy (schema);
    schema = NULL;
  }
  return schema;
}

/* Decodes the frames that waited for the node's schema. */
static void
release_held (struct cluster *cluster, struct node *node, struct instant now)
{
  struct held_frame *held = node->held;

  cluster->held_bytes -= node->held_bytes;
  node->held = NULL;
  node->held_end = &node->held;
  node->held_count = node->held_bytes = 0;
  while (held) {
    struct held_frame *next = held->next;
    struct instant received = { held->received_ns, now.wall_ns - (now.monotonic_ns - held->received_ns) };
    struct frame_header header;
    if (frame_read_header (held->bytes, held->length, &header, NULL) == 0)
      cluster_decode_frame (cluster, node, held->bytes, held->length, &header, received);
    free (held);
    held = next;
  }
}

static void
report_schema (struct cluster *cluster, const struct node *node, const struct schema *schema, struct instant now)
{
  char hex[2 * SCHEMA_HASH_SIZE + 1];

  for (size_t i = 0; i < SCHEMA_HASH_SIZE; i++)
    snprintf (hex + 2 * i, 3, "%02x", schema->hash[i]);
  cluster_event (cluster, &(struct event){ .type = EVENT_SCHEMA_NEW,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .text = hex,
                                           .count = schema->group_count });
}

void
cluster_new_schema (struct cluster *cluster, struct node *node, struct shared_schema *shared, struct instant now)
{
  int64_t due_ns = node->brought.due_ns;

  node->brought.due_ns = (due_ns > now.monotonic_ns ? due_ns : now.monotonic_ns) + BRING_EVERY;
  report_schema (cluster, node, shared->schema, now);
  for (size_t i = 0; i < cluster->node_count; i++) {
    struct node *other = cluster->nodes[i];
    struct schema_want *late = &other->replay.want;

    if (late->wanting && cluster_late_schema (cluster, other, late->hash))
      late->wanting = false;
    if (other->want.wanting && cluster_use_schema (cluster, other, other->want.hash))
      release_held (cluster, other, now);
  }
}

void
cluster_take_schema (struct cluster *cluster, struct node *node, const struct control *message, struct instant now)
{
  struct schema *schema;
  struct error error;

  if (!node->want.wanting || !schema_want_is (&node->want, message->schema_hash)) {
    if (!cluster_take_late_schema (cluster, node, message, now) &&
        !schema_store_find (&cluster->schemas, message->schema_hash))
      cluster_reject (cluster, node, REJECTED_SCHEMA, "a schema that was not asked for", now);
    return;
  }
  if (!cluster_may_bring (cluster, node, now)) /* over its rate: it is requested later */
    return;
  schema = cluster_read_schema (message, &error);
  if (!schema) {
    schema_want_refuse (&node->want);
    cluster_reject (cluster, node, REJECTED_SCHEMA, error.text, now);
    cluster_drop_held (cluster, node);
    return;
  }
  give_schema (cluster, node, schema_store_add (&cluster->schemas, schema));
  release_held (cluster, node, now);
  cluster_new_schema (cluster, node, node->schema, now);
}

/* A held frame is dropped: it is missing, and requested again or lost. */
static void
miss_again (struct cluster *cluster, struct node *node, const void *bytes, size_t length, int64_t received_ns)
{
  struct instant received = { received_ns, cluster_time (cluster, received_ns) };
  struct frame_header header;

  if (frame_read_header (bytes, length, &header, NULL) == 0)
    cluster_miss (cluster, node, header.session, header.sequence, header.sequence, received);
}

void
cluster_hold_frame (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                    struct instant received)
{
  struct held_frame *held;

  if (cluster->held_bytes + length > HELD_ALL_MAX || length > HELD_BYTES_MAX) {
    cluster_reject (cluster, node, REJECTED_HELD, "too many frames wait for their schema", received);
    miss_again (cluster, node, bytes, length, received.monotonic_ns);
    return;
  }
  while (node->held_count == HELD_FRAMES_MAX || node->held_bytes + length > HELD_BYTES_MAX) {
    held = node->held; /* the oldest is dropped: newer frames are worth more */
    node->held = held->next;
    if (!node->held)
      node->held_end = &node->held;
    node->held_count--;
    node->held_bytes -= held->length;
    cluster->held_bytes -= held->length;
    miss_again (cluster, node, held->bytes, held->length, held->received_ns);
    free (held);
    cluster_reject (cluster, node, REJECTED_HELD, "its schema has not come", received);
  }
  held = memory_new (1, sizeof *held + length);
  held->received_ns = received.monotonic_ns;
  held->length = length;
  memcpy (held->bytes, bytes, length);
  *node->held_end = held;
  node->held_end = &held->next;
  node->held_count++;
  node->held_bytes += length;
  cluster->held_bytes += length;
}

void
cluster_drop_held (struct cluster *cluster, struct node *node)
{
  cluster->counts.frames_held_dropped += node->held_count;
  cluster->held_bytes -= node->held_bytes;
  while (node->held) {
    struct held_frame *next = node->held->next;
    miss_again (cluster, node, node->held->bytes, node->held->length, node->held->received_ns);
    free (node->held);
    node->held = next;
  }
  node->held_end = &node->held;
  node->held_count = node->held_bytes = 0;
}
