/* The data channel: a frame is held to its key's node, to its session and sequence, then its tables are read. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aggregator/cluster_private.h"

#define JUMP_MAX (UINT64_C (1) << 32) /* in the sequence of a session; no agent is that far ahead */

static void
node_heard (struct cluster *cluster, struct node *node, struct session *session, struct instant received)
{
  const char *reason = node->up_reason ? node->up_reason : node->state != NODE_UP ? "back" : NULL;

  node->received++;
  node->heard_ns = session->heard_ns = received.monotonic_ns;
  node->state = NODE_UP;
  node->up_reason = NULL;
  if (reason) {
    node->up.reason = reason;
    node->up.session = session->id;
  }
  cluster_tell_up (cluster, node, received);
}

static void
sum_add (uint64_t *sum, uint64_t more)
{
  if (__builtin_add_overflow (*sum, more, sum))
    *sum = UINT64_MAX;
}

/* Gaps that are told together keep the sum; the range is that of the last session among them. */
static void
take_gap (struct cluster *cluster, struct node *node, const struct session *session, uint64_t from, uint64_t to,
          struct instant received)
{
  uint64_t lost = to - from + 1;

  if (!node->gap.lost || node->gap.session != session->id) {
    node->gap.session = session->id;
    node->gap.from = from;
  }
  node->gap.to = to;
  sum_add (&node->gap.lost, lost);
  sum_add (&node->lost, lost);
  sum_add (&cluster->counts.lost, lost);
  cluster_tell_gap (cluster, node, received);
}

/* False for a frame that has been seen, or cannot be. What is missing before it is counted and told; before the first
 * frame of a session nothing is known to be missing. */
static bool
take_sequence (struct cluster *cluster, struct node *node, struct session *session, uint64_t sequence,
               struct instant received)
{
  uint64_t last = session->sequence;

  if (sequence <= last) {
    cluster->counts.duplicates++;
    return false;
  }
  if (last && sequence - last > JUMP_MAX) {
    cluster_reject (cluster, node, REJECTED_FRAME, "the number of a frame is far beyond the one before", received);
    return false;
  }
  session->sequence = sequence;
  node_heard (cluster, node, session, received);
  if (last && sequence - last > 1)
    take_gap (cluster, node, session, last + 1, sequence - 1, received);
  return true;
}

void
cluster_take_frame (struct cluster *cluster, struct node *node, const struct link_message *message,
                    struct instant received)
{
  struct frame_header header;
  struct error error;
  struct session *session;

  cluster->counts.frames++;
  cluster->counts.bytes += message->length;
  if (frame_read_header (message->bytes, message->length, &header, &error) < 0) {
    cluster_reject (cluster, node, REJECTED_FRAME, error.text, received);
    return;
  }
  if (strcmp (header.node, node->name) != 0) {
    error_set (&error, "a frame names node %s, its key is that of %s", header.node, node->name);
    cluster_reject (cluster, node, REJECTED_WRONG_NODE, error.text, received);
    return;
  }
  session = cluster_session (cluster, node, header.session, received);
  if (!session) {
    session = node_session (node, header.session);
    if (header.sequence > session->sequence) /* received, though left out: no gap when this agent is taken again */
      session->sequence = header.sequence;
    return;
  }
  if (!take_sequence (cluster, node, session, header.sequence, received))
    return;
  if (cluster_use_schema (cluster, node, header.schema)) {
    cluster_decode_frame (cluster, node, message->bytes, message->length, &header, received);
  } else if (node->refused && memcmp (node->refused_hash, header.schema, SCHEMA_HASH_SIZE) == 0) {
    cluster_reject (cluster, node, REJECTED_WRONG_SCHEMA, "a frame of a schema that was refused", received);
  } else {
    cluster_want_schema (cluster, node, header.schema);
    cluster_ask_schema (cluster, node, received.monotonic_ns);
    cluster_hold_frame (cluster, node, message->bytes, message->length, received);
  }
}

static struct table *
take_table (void *context, size_t group)
{
  return node_table (context, group);
}

void
cluster_decode_frame (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                      const struct frame_header *header, struct instant received)
{
  const struct schema *schema = node->schema->schema;
  struct frame_sink sink = { .context = node, .take = take_table };
  struct cluster_frame frame = {
    .node = node, .header = header, .received = received, .schema = schema, .groups = cluster->groups
  };
  struct error error;

  if (frame_read_tables (bytes, length, header, schema, &sink, &error) < 0 || node_tables_check (node, &error) < 0) {
    cluster_reject (cluster, node, REJECTED_FRAME, error.text, received);
    return;
  }
  for (size_t i = 0; i < schema->group_count; i++) {
    struct node_group *group = node->groups[i];
    bool fresh = group && group->fresh;
    cluster->groups[i].now = fresh ? &group->now : NULL;
    cluster->groups[i].before = fresh && group->has_before ? &group->before : NULL;
    if (fresh)
      group->fresh = false;
  }
  cluster_ask_facts (cluster, node, received.monotonic_ns);
  cluster_place_frame (cluster, node, &frame);
  frame.late =
      tick_frame (cluster->ticks, &node->tick, node->name, frame.time_ns, frame.bound_ns, node->sessions[0].period_ns,
                  schema, frame.groups, cluster_time (cluster, received.monotonic_ns)) == TICK_LATE;
  if (cluster->options.output.frame)
    cluster->options.output.frame (cluster->options.output.context, &frame);
}
