/* Late frames: those that come after later ones of their session. They become lines too, marked as late, and change
 * nothing else. They have tables of their own: changes are computed against the frame before, or null where that did
 * not come late too. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct late {
  uint64_t session, sequence; /* of the last frame */
  struct shared_schema *schema;
  struct node_group **groups;
};

void
cluster_drop_late (struct cluster *cluster, struct node *node)
{
  struct late *late = node->replay.late;

  if (!late)
    return;
  node_groups_free (late->groups, late->schema->schema);
  schema_store_release (&cluster->schemas, late->schema);
  free (late);
  node->replay.late = NULL;
}

bool
cluster_late_follows (const struct node *node, uint64_t session, uint64_t sequence)
{
  const struct late *late = node->replay.late;

  return late && late->session == session && late->sequence + 1 == sequence;
}

/* The tables to compare a frame with; new ones when there are only those of another session, a later frame, or
 * another schema. NULL: the frame's schema is unknown. */
static struct late *
late_tables (struct cluster *cluster, struct node *node, const struct frame_header *header)
{
  struct late *late = node->replay.late;
  struct shared_schema *schema;

  if (late && late->session == header->session && late->sequence < header->sequence &&
      memcmp (late->schema->schema->hash, header->schema, SCHEMA_HASH_SIZE) == 0)
    return late;
  schema = cluster_late_schema (cluster, node, header->schema);
  schema_store_use (schema); /* before dropping the old tables, which may be its last user */
  cluster_drop_late (cluster, node);
  if (!schema)
    return NULL;
  late = node->replay.late = memory_new (1, sizeof *late);
  late->schema = schema;
  late->session = header->session;
  late->groups = memory_new (schema->schema->group_count, sizeof late->groups[0]);
  return late;
}

static struct table *
late_take_table (void *context, size_t group)
{
  struct late *late = context;

  return node_groups_table (late->groups, late->schema->schema, group);
}

static const struct table *
last_table (void *context, size_t group)
{
  const struct late *late = context;

  return node_groups_last (late->groups, group);
}

/* Reads the tables; NULL: rejected. */
static struct late *
read_late (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
           const struct frame_header *header, struct instant now)
{
  struct late *late = late_tables (cluster, node, header);
  struct frame_sink sink = { .context = late, .take = late_take_table, .last = last_table };
  struct error error;

  if (!late) {
    cluster_reject (cluster, node, REJECTED_WRONG_SCHEMA, "late frames of a schema that nobody has any more", now);
    return NULL;
  }
  if (frame_read_tables (bytes, length, header, late->schema->schema, &sink, &error) < 0) {
    cluster_reject (cluster, node, REJECTED_FRAME, error.text, now);
    return NULL;
  }
  late->sequence = header->sequence;
  cluster_lay_out (cluster, late->groups, late->schema->schema);
  return late;
}

void
cluster_see_late (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                  const struct frame_header *header, struct instant now)
{
  if (cluster_late_schema (cluster, node, header->schema))
    read_late (cluster, node, bytes, length, header, now);
}

/* Of a run that could not be reported yet, count and beginning go over to the next one. */
static void
count_run (struct cluster *cluster, struct node *node, const struct frame_header *header, struct instant now)
{
  struct replay_run *run = &node->replay.run;

  if (run->count && run->session != header->session)
    cluster_end_run (cluster, node, now);
  if (run->count == 0)
    run->began_ns = now.monotonic_ns;
  if (run->count == 0 || run->session != header->session) {
    run->session = header->session;
    run->from = run->to = header->sequence;
  }
  run->ended_ns = 0;
  run->from = header->sequence < run->from ? header->sequence : run->from;
  run->to = header->sequence > run->to ? header->sequence : run->to;
  run->count++;
}

void
cluster_end_run (struct cluster *cluster, struct node *node, struct instant now)
{
  if (node->replay.run.count)
    node->replay.run.ended_ns = now.monotonic_ns;
  cluster_report_run (cluster, node, now);
}

bool
cluster_take_late (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                   const struct frame_header *header, struct instant now)
{
  struct cluster_frame frame = { .node = node,
                                 .header = header,
                                 .bytes = bytes,
                                 .length = length,
                                 .received = now,
                                 .late = true,
                                 .groups = cluster->groups };
  struct late *late;

  if (!cluster_late_schema (cluster, node, header->schema) && cluster_want_late_schema (cluster, node, header->schema))
    return false;
  if (!missing_remove (&node->replay.missing, header->session, header->sequence, header->sequence)) {
    cluster->counts.duplicates++; /* no room for another range: the frame will be sent again */
    return true;
  }
  cluster->counts.missing--;
  late = read_late (cluster, node, bytes, length, header, now);
  if (!late) {
    cluster_take_gap (cluster, node, header->session, header->sequence, header->sequence, now);
    return true;
  }
  count_run (cluster, node, header, now);
  node->received++;
  cluster->counts.replayed++;
  frame.schema = late->schema->schema;
  cluster_place_late (cluster, node, &frame);
  cluster_watch_line (cluster, node, &frame, now);
  if (cluster->options.output.frame)
    cluster->options.output.frame (cluster->options.output.context, &frame);
  return true;
}
