/* The states and sessions of nodes, and the events about them. */
#include "aggregator/core/cluster.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define STALE_LEAST NS_PER_S            /* a node with a very short period is not called stale before this */
#define OWN_PAUSE NS_PER_S              /* a longer pause between two calls: the aggregator itself stood still */
#define EVENT_EVERY NS_PER_S            /* between two events of one kind about a node */
#define DUPLICATE_EVERY (60 * NS_PER_S) /* likewise */
#define OFTEN NS_PER_S                  /* between two events about a kind of rejection: usually, */
#define SELDOM (60 * NS_PER_S)          /* and of kinds that may go on for days */
#define DUPLICATE_STRAYS 2              /* a message may still be under way when the agent restarts */

static void cluster_take_tick (void *cluster, const struct tick_line *tick);

struct cluster *
cluster_create (const struct cluster_options *options)
{
  struct cluster *cluster = memory_new (1, sizeof *cluster);

  cluster->options = *options;
  cluster->asked_ns = INT64_MIN / 2;
  cluster->ticks = ticks_create (&(struct ticks_options){ .period_ns = options->tick_period_ns,
                                                          .grace_ns = options->tick_grace_ns,
                                                          .context = cluster,
                                                          .line = cluster_take_tick,
                                                          .after_ns = options->ticks_after_ns });
  return cluster;
}

void
cluster_set_limits (struct cluster *cluster, const struct cluster_options *options)
{
  cluster->options.stale_periods = options->stale_periods;
  cluster->options.down_periods = options->down_periods;
  cluster->options.clock_limit_ns = options->clock_limit_ns;
  cluster->options.replay_rate = options->replay_rate;
}

void
cluster_destroy (struct cluster *cluster)
{
  if (!cluster)
    return;
  cluster->options.output = (struct cluster_output){ 0 }; /* no events: the next run requests what is missing */
  cluster_free_nodes (cluster);
  ticks_destroy (cluster->ticks);
  schema_store_free (&cluster->schemas);
  buffer_free (&cluster->answer);
  free (cluster);
}

size_t
cluster_schema_count (const struct cluster *cluster)
{
  return cluster->schemas.count;
}

const struct cluster_counts *
cluster_counts (const struct cluster *cluster)
{
  return &cluster->counts;
}

/* ---- events ---- */

void
cluster_event (struct cluster *cluster, const struct event *event)
{
  if (cluster->options.output.event)
    cluster->options.output.event (cluster->options.output.context, event);
}

static const struct {
  const char *name;
  size_t count; /* offset in struct cluster_counts */
  int64_t every_ns;
} rejections[NODE_REJECTIONS] = {
  [REJECTED_FRAME] = { "frame", offsetof (struct cluster_counts, frames_malformed), OFTEN },
  [REJECTED_LARGE] = { "large_frame", offsetof (struct cluster_counts, frames_large), SELDOM },
  [REJECTED_WRONG_NODE] = { "wrong_node", offsetof (struct cluster_counts, wrong_node), SELDOM },
  [REJECTED_WRONG_SCHEMA] = { "wrong_schema", offsetof (struct cluster_counts, wrong_schema), OFTEN },
  [REJECTED_SCHEMA] = { "schema", offsetof (struct cluster_counts, schema_refused), OFTEN },
  [REJECTED_HELD] = { "no_schema", offsetof (struct cluster_counts, frames_held_dropped), OFTEN },
  [REJECTED_REPLAY] = { "replay", offsetof (struct cluster_counts, replay_refused), OFTEN },
  [REJECTED_CONTROL] = { "control", offsetof (struct cluster_counts, control_malformed), OFTEN },
  [REJECTED_CONNECTION] = { "connection", offsetof (struct cluster_counts, connections_refused), SELDOM },
  [REJECTED_LINE] = { "line", offsetof (struct cluster_counts, lines_cut), SELDOM },
};

static bool
reported_within (int64_t reported_ns, struct instant now, int64_t every_ns)
{
  return reported_ns && now.monotonic_ns - reported_ns < every_ns;
}

static bool
reported_lately (int64_t reported_ns, struct instant now)
{
  return reported_within (reported_ns, now, EVENT_EVERY);
}

void
cluster_report_up (struct cluster *cluster, struct node *node, struct instant now)
{
  if (!node->up.reason || reported_lately (node->up.reported_ns, now))
    return;
  cluster_event (cluster, &(struct event){ .type = EVENT_NODE_UP,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .session = node->up.session,
                                           .reason = node->up.reason });
  node->up.reason = NULL;
  node->up.reported_ns = now.monotonic_ns;
}

void
cluster_report_gap (struct cluster *cluster, struct node *node, struct instant now)
{
  if (!node->gap.lost || reported_lately (node->gap.reported_ns, now))
    return;
  cluster_event (cluster, &(struct event){ .type = EVENT_GAP,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .session = node->gap.session,
                                           .from = node->gap.from,
                                           .to = node->gap.to,
                                           .count = node->gap.lost });
  node->gap.lost = 0;
  node->gap.reported_ns = now.monotonic_ns;
}

void
cluster_report_run (struct cluster *cluster, struct node *node, struct instant now)
{
  struct replay_run *run = &node->replay.run;

  if (!run->ended_ns || reported_lately (run->reported_ns, now))
    return;
  cluster_event (cluster, &(struct event){ .type = EVENT_REPLAYED,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .session = run->session,
                                           .from = run->from,
                                           .to = run->to,
                                           .seconds = (double) (run->ended_ns - run->began_ns) / NS_PER_S,
                                           .count = run->count });
  *run = (struct replay_run){ .reported_ns = now.monotonic_ns };
}

static void
sum_add (uint64_t *sum, uint64_t more)
{
  if (__builtin_add_overflow (*sum, more, sum))
    *sum = UINT64_MAX;
}

void
cluster_take_gap (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to,
                  struct instant now)
{
  uint64_t lost = to - from + 1;

  if (!node->gap.lost || node->gap.session != session) {
    node->gap.session = session;
    node->gap.from = from;
  }
  node->gap.to = to;
  sum_add (&node->gap.lost, lost);
  sum_add (&node->lost, lost);
  sum_add (&cluster->counts.lost, lost);
  cluster_report_gap (cluster, node, now);
}

/* Reports the pending rejections of one kind, unless the last event about them is too recent: then a later rejection
 * or tick reports them. */
static void
report_rejected (struct cluster *cluster, struct node *node, enum node_rejection kind, const char *why,
                 struct instant now)
{
  uint64_t pending = node->rejections[kind].pending;

  if (!pending || reported_within (node->rejections[kind].reported_ns, now, rejections[kind].every_ns))
    return;
  node->rejections[kind].pending = 0;
  node->rejections_unreported -= pending;
  node->rejections[kind].reported_ns = now.monotonic_ns;
  cluster_event (cluster, &(struct event){ .type = EVENT_REJECTED,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .reason = rejections[kind].name,
                                           .text = why,
                                           .count = pending });
}

static void
reject_many (struct cluster *cluster, struct node *node, enum node_rejection kind, uint64_t count, const char *why,
             struct instant now)
{
  *(uint64_t *) ((char *) &cluster->counts + rejections[kind].count) += count;
  if (kind != REJECTED_CONNECTION && kind != REJECTED_LINE) /* these cost no message */
    node->rejected += count;
  node->rejections[kind].pending += count;
  node->rejections_unreported += count;
  report_rejected (cluster, node, kind, why, now);
}

void
cluster_reject (struct cluster *cluster, struct node *node, enum node_rejection kind, const char *why,
                struct instant now)
{
  reject_many (cluster, node, kind, 1, why, now);
}

void
cluster_connections_refused (struct cluster *cluster, const char *name, uint64_t count, unsigned most,
                             struct instant now)
{
  struct node *node = cluster_find_node (cluster, name);
  struct error error;

  error_set (&error,
             "its key has %u connections to a port already: several agents use it, or one that does not end them",
             most);
  if (node)
    reject_many (cluster, node, REJECTED_CONNECTION, count, error.text, now);
}

/* ---- sessions and states ---- */

/* The node's period, but at least STALE_LEAST / stale_periods: down is a multiple of it too, so it stays apart from
 * stale. */
static int64_t
silence_unit (const struct cluster *cluster, const struct node *node)
{
  int64_t least = STALE_LEAST / cluster->options.stale_periods;
  int64_t period = node->sessions[0].period_ns;

  return period > least ? period : least;
}

int64_t
cluster_stale_ns (const struct cluster *cluster, const struct node *node)
{
  return silence_unit (cluster, node) * cluster->options.stale_periods;
}

static void
report_duplicate (struct cluster *cluster, struct node *node, struct session *session, struct instant now)
{
  cluster->counts.duplicate_session++;
  if (++session->strays < DUPLICATE_STRAYS)
    return;
  if (node->duplicate_reported_ns && now.monotonic_ns - node->duplicate_reported_ns < DUPLICATE_EVERY)
    return;
  node->duplicate_reported_ns = now.monotonic_ns;
  cluster_event (cluster, &(struct event){ .type = EVENT_DUPLICATE_NODE,
                                           .wall_ns = now.wall_ns,
                                           .node = node->name,
                                           .session = session->id,
                                           .text = "a second agent uses this node's key; its frames are left out" });
}

struct session *
cluster_session (struct cluster *cluster, struct node *node, uint64_t id, struct instant received)
{
  struct session *session = node_session (node, id);
  struct session *current = &node->sessions[0];

  if (session == current)
    return current;
  if (session && received.monotonic_ns - current->seen_ns <= cluster_stale_ns (cluster, node)) {
    report_duplicate (cluster, node, session, received);
    return NULL;
  }
  cluster_drop_held (cluster, node);
  node_tables_free (node);
  node_take_session (node, id, received.monotonic_ns);
  cluster_clock_begin (cluster, node);
  if (node->schema)
    node_tables_create (node, node->schema->schema);
  return current;
}

static void
check_silence (struct cluster *cluster, struct node *node, struct instant now)
{
  int64_t seen_ns = node->seen_ns > cluster->awake_ns ? node->seen_ns : cluster->awake_ns;
  int64_t silence = now.monotonic_ns - seen_ns;
  int64_t unit = silence_unit (cluster, node);

  if (node->state == NODE_UP && silence > unit * cluster->options.stale_periods) {
    node->state = NODE_STALE;
    cluster_event (cluster, &(struct event){ .type = EVENT_NODE_STALE, .wall_ns = now.wall_ns, .node = node->name });
  }
  if (node->state == NODE_STALE && silence > unit * cluster->options.down_periods) {
    node->state = NODE_DOWN;
    cluster_event (cluster, &(struct event){ .type = EVENT_NODE_DOWN, .wall_ns = now.wall_ns, .node = node->name });
  }
}

/* A tick was closed. */
static void
cluster_take_tick (void *context, const struct tick_line *tick)
{
  struct cluster *cluster = context;
  struct cluster_tick_line line = { .tick = tick };

  if (!cluster->options.output.tick)
    return;
  for (size_t i = 0; i < cluster->node_count; i++) {
    enum node_state state = cluster->nodes[i]->state;
    line.expected += state != NODE_NEVER;
    line.stale += state == NODE_STALE;
    line.down += state == NODE_DOWN;
  }
  cluster->options.output.tick (cluster->options.output.context, &line);
}

void
cluster_tick (struct cluster *cluster, struct instant now)
{
  if (cluster->ticked_ns && now.monotonic_ns - cluster->ticked_ns > OWN_PAUSE)
    cluster->awake_ns = now.monotonic_ns;
  cluster->ticked_ns = now.monotonic_ns;
  cluster_keep_epoch (cluster, now);
  for (size_t i = 0; i < cluster->node_count; i++) {
    struct node *node = cluster->nodes[i];
    cluster_report_up (cluster, node, now);
    cluster_report_gap (cluster, node, now);
    cluster_report_run (cluster, node, now);
    cluster_report_groups (cluster, node, now);
    cluster_report_brought (cluster, node, now);
    check_silence (cluster, node, now);
    if (node->want.wanting)
      cluster_ask_schema (cluster, node, &node->want, node->sessions[0].id, now);
    if (node->replay.want.wanting)
      cluster_ask_late_schema (cluster, node, now);
    for (enum node_rejection kind = 0; node->rejections_unreported && kind < NODE_REJECTIONS; kind++)
      report_rejected (cluster, node, kind, NULL, now);
  }
  cluster_tick_replay (cluster, now);
  cluster_tick_gone (cluster, now);
}

void
cluster_message (struct cluster *cluster, const struct cluster_message *message, struct instant now)
{
  struct node *node = cluster_find_node (cluster, message->node);
  struct instant received = { message->received_ns, now.wall_ns - (now.monotonic_ns - message->received_ns) };

  if (!cluster->epoch_known)
    cluster_keep_epoch (cluster, now);

  /* A message from before the node was listed with this key came with its old key. */
  if (!node || message->received_ns < node->since_ns) {
    cluster->counts.unlisted++;
    return;
  }
  cluster_note_wait (cluster, message->ready_ns, now.monotonic_ns);
  if (message->channel == CLUSTER_DATA)
    cluster_take_frame (cluster, node, message, received);
  else
    cluster_take_control (cluster, node, message, received);
}
