/* The data channel: checks a frame's node, session and sequence number, then reads its tables. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"

#define JUMP_MAX (UINT64_C (1) << 32) /* a jump of the sequence numbers; no agent is that far ahead */

static void
node_seen (struct cluster *cluster, struct node *node, struct session *session, struct instant received)
{
  const char *reason = node->up_reason ? node->up_reason : node->state != NODE_UP ? "back" : NULL;

  node->received++;
  node->seen_ns = session->seen_ns = received.monotonic_ns;
  node->state = NODE_UP;
  node->up_reason = NULL;
  if (reason) {
    node->up_ns = received.monotonic_ns;
    node->up.reason = reason;
    node->up.session = session->id;
  }
  cluster_report_up (cluster, node, received);
}

/* False: a duplicate, or an impossible number. Frames between the last one and this one are missing: they are
 * requested or reported as lost; so are those from the hello to the session's first frame. */
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
  if (!last) {
    session->first = sequence;
    last = session->replays && sequence > session->base ? session->base : sequence - 1;
  }
  session->sequence = sequence;
  node_seen (cluster, node, session, received);
  if (sequence - last > 1)
    cluster_miss (cluster, node, session->id, last + 1, sequence - 1, received);
  return true;
}

void
cluster_take_frame (struct cluster *cluster, struct node *node, const struct cluster_message *message,
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
  if (cluster->options.frame_bytes_max && message->length > cluster->options.frame_bytes_max) {
    error_set (&error, "a frame of %zu bytes, over [aggregator] max_frame, %zu", message->length,
               cluster->options.frame_bytes_max);
    cluster_reject (cluster, node, REJECTED_LARGE, error.text, received);
    return;
  }
  if (missing_has (&node->replay.missing, header.session, header.sequence)) {
    if (schema_store_find (&cluster->schemas,
                           header.schema)) /* else the frame is requested again once the schema is known */
      cluster_take_late (cluster, node, message->bytes, message->length, &header, received);
    return;
  }
  session = cluster_session (cluster, node, header.session, received);
  if (!session) {
    session = node_session (node, header.session);
    /* Received, though dropped: no gap when this agent becomes the current one. Without a hello of the current
     * session it may be a frame of the session before, still on its way: that hello will list it. */
    if (header.sequence > session->sequence && node->sessions[0].hello)
      session->sequence = header.sequence;
    return;
  }
  if (!take_sequence (cluster, node, session, header.sequence, received))
    return;
  if (cluster_use_schema (cluster, node, header.schema)) {
    cluster_decode_frame (cluster, node, message->bytes, message->length, &header, received);
  } else if (schema_want_is_refused (&node->want, header.schema)) {
    cluster_reject (cluster, node, REJECTED_WRONG_SCHEMA, "a frame of a schema that was refused", received);
    cluster_take_gap (cluster, node, header.session, header.sequence, header.sequence, received);
  } else {
    cluster_want_schema (cluster, node, header.schema);
    cluster_ask_schema (cluster, node, &node->want, session->id, received);
    cluster_hold_frame (cluster, node, message->bytes, message->length, received);
  }
}

static struct table *
cluster_take_table (void *context, size_t group)
{
  struct node *node = context;

  return node_groups_table (node->groups, node->schema->schema, group);
}

static const struct table *
last_table (void *context, size_t group)
{
  const struct node *node = context;

  return node_groups_last (node->groups, group);
}

void
cluster_lay_out (struct cluster *cluster, struct node_group **groups, const struct schema *schema)
{
  for (size_t i = 0; i < schema->group_count; i++) {
    struct node_group *group = groups[i];
    bool fresh = group && group->fresh;
    cluster->groups[i].now = fresh ? group->now : NULL;
    cluster->groups[i].before = fresh ? group->before : NULL;
    if (fresh)
      group->fresh = false;
  }
}

void
cluster_watch_line (struct cluster *cluster, struct node *node, const struct cluster_frame *frame, struct instant now)
{
  struct report_cut cut;
  struct error error;

  report_cut (frame->groups, frame->schema->group_count, cluster_line_most (frame), &cut);
  if (cut.count) {
    error_set (&error, "group %s%s of a frame of %zu bytes: %s", cut.tables[0].group->name,
               cut.count > 1 ? " and others" : "", frame->length, cut.tables[0].error);
    cluster_reject (cluster, node, REJECTED_LINE, error.text, now);
  }
  report_cut_free (&cut);
}

void
cluster_decode_frame (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                      const struct frame_header *header, struct instant received)
{
  const struct schema *schema = node->schema->schema;
  struct frame_sink sink = { .context = node, .take = cluster_take_table, .last = last_table };
  struct cluster_frame frame = { .node = node,
                                 .header = header,
                                 .bytes = bytes,
                                 .length = length,
                                 .received = received,
                                 .schema = schema,
                                 .groups = cluster->groups };
  enum tick_place place;
  struct error error;

  node_groups_expect (node->groups, schema);
  if (frame_read_tables (bytes, length, header, schema, &sink, &error) < 0 || node_tables_check (node, &error) < 0) {
    cluster_reject (cluster, node, REJECTED_FRAME, error.text, received);
    return;
  }
  cluster_lay_out (cluster, node->groups, schema);
  cluster_watch_groups (cluster, node, schema, received);
  cluster_ask_facts (cluster, node, received.monotonic_ns);
  cluster_place_frame (cluster, node, &frame);
  place = tick_frame (cluster->ticks, &node->tick, node->name, frame.time_ns, frame.bound_ns,
                      node->sessions[0].period_ns, schema, frame.groups, cluster_time (cluster, received.monotonic_ns));
  frame.late = place == TICK_LATE;
  frame.tick_period_ns = place == TICK_IN ? cluster->options.tick_period_ns : 0;
  cluster_watch_line (cluster, node, &frame, received);
  if (cluster->options.output.frame)
    cluster->options.output.frame (cluster->options.output.context, &frame);
}
