/* Requests for missing frames.
 *
 * A frame is missing when a later one of its session has come on the data channel, or when a hello lists it. It is
 * requested from the agent on the control channel, the oldest first, a window at a time:
 *
 *   request  session, from, to: at most 64 frames and 256 KiB of those that the agent holds
 *   frames   each is checked like any other, and taken if it was requested and is still missing
 *   end      session, from, to, sent: the agent has searched up to `to`. When as many came as were sent, nobody holds
 *            the rest of the range any more: it is lost, and reported as a gap. Else some were dropped on the way, and
 *            are requested again.
 *
 * A frame whose schema is unknown stays missing; it is requested again when the schema has come
 * (cluster_late_schema.c).
 *
 * Live frames come first, even with a thousand agents with full rings: requests go to sixteen nodes at a time, in
 * turn, at a limited rate of frames and of bytes; none go while messages wait, nor to a node for which the history
 * has little room. A node that does not answer gets further requests ever more seldom, and after TRIES_MAX its
 * oldest range is lost. */
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"

#define PATIENCE (5 * NS_PER_S)
#define WAIT_FIRST NS_PER_S /* doubled with each try */
#define TRIES_MAX 6
#define CLOCK_PATIENCE (3 * NS_PER_S) /* late frames need the clock's model: they wait for it, but not for ever */
#define BYTES_PER_FRAME 4096          /* the rate in bytes is that in frames times this */
#define BURST_PARTS 20 /* one in, of a second's rate: how long live frames wait at most behind replayed ones */
#define WAIT_MAX (100 * NS_PER_MS) /* if messages wait longer for other nodes', the aggregator is behind: no requests */

/* ---- slots ---- */

static struct replay_slot *
slot_of (struct cluster *cluster, const struct node *node)
{
  for (size_t i = 0; node->replay.asked && i < REPLAY_SLOTS; i++)
    if (cluster->replay.slots[i].node == node)
      return &cluster->replay.slots[i];
  return NULL;
}

static struct replay_slot *
free_slot (struct cluster *cluster)
{
  for (size_t i = 0; i < REPLAY_SLOTS; i++)
    if (!cluster->replay.slots[i].node)
      return &cluster->replay.slots[i];
  return NULL;
}

static void
slot_end (struct cluster *cluster, struct replay_slot *slot)
{
  if (slot->got < slot->due)
    cluster->replay.frames += (double) (slot->due - slot->got);
  slot->node->replay.asked = false;
  slot->node = NULL;
}

void
cluster_end_request (struct cluster *cluster, struct node *node)
{
  struct replay_slot *slot = slot_of (cluster, node);

  if (slot)
    slot_end (cluster, slot);
}

static bool
is_ready (const struct cluster *cluster, const struct node *node, int64_t now_ns)
{
  const struct cluster_output *output = &cluster->options.output;
  const struct session *session = &node->sessions[0];

  return node->replay.missing.count && !node->replay.asked && session->replays && session->routing_length &&
         node->schema && !node->want.wanting && !node->replay.want.wanting && now_ns >= node->replay.wait_ns &&
         (clock_model_usable (&node->clock.model) || now_ns - session->hello_ns >= CLOCK_PATIENCE) &&
         !(output->nearly_full && output->nearly_full (output->context, node->name));
}

static void
ask (struct cluster *cluster, struct node *node, struct replay_slot *slot, int64_t now_ns)
{
  const struct missing_range *first = &node->replay.missing.ranges[0];
  const struct session *session = &node->sessions[0];
  size_t largest = cluster->options.frame_bytes_max;
  struct control request = { .type = CONTROL_REPLAY_REQUEST,
                             .session = first->session,
                             .from = first->from,
                             .to = first->to,
                             .frames = REPLAY_WINDOW_FRAMES,
                             .bytes = largest > REPLAY_WINDOW_BYTES ? (uint32_t) largest : REPLAY_WINDOW_BYTES };

  *slot = (struct replay_slot){ .node = node,
                                .session = first->session,
                                .from = first->from,
                                .to = first->to,
                                .next = first->from,
                                .active_ns = now_ns };
  if (first->from > 1 && !cluster_late_follows (node, first->session, first->from))
    slot->next = request.from = slot->base = first->from - 1;
  slot->due = request.to - request.from < REPLAY_WINDOW_FRAMES ? request.to - request.from + 1 : REPLAY_WINDOW_FRAMES;
  cluster->replay.frames -= (double) slot->due;
  node->replay.asked = true;
  cluster->counts.replay_requested++;
  cluster_answer (cluster, session->routing, session->routing_length, &request);
}

static bool
may_ask (const struct cluster_replay *replay, int64_t now_ns)
{
  return now_ns >= replay->behind_ns && replay->frames > 0 && replay->bytes > 0;
}

/* Sends requests to as many nodes as the limits allow, in turn. */
static void
ask_all (struct cluster *cluster, int64_t now_ns)
{
  struct cluster_replay *replay = &cluster->replay;
  bool wanted = false;

  if (!replay->wanted || !may_ask (replay, now_ns))
    return;
  for (size_t i = 0; i < cluster->node_count; i++) {
    size_t index = (replay->cursor + i) % cluster->node_count;
    struct node *node = cluster->nodes[index];
    struct replay_slot *slot;

    wanted |= node->replay.missing.count != 0;
    if (!is_ready (cluster, node, now_ns))
      continue;
    slot = may_ask (replay, now_ns) ? free_slot (cluster) : NULL;
    if (!slot) {
      replay->cursor = index;
      return;
    }
    ask (cluster, node, slot, now_ns);
  }
  replay->wanted = wanted;
}

/* A request was in vain. That counts only against a node that is up: a silent one still has its ring. */
static void
try_later (struct cluster *cluster, struct node *node, struct instant now)
{
  struct node_replay *replay = &node->replay;

  replay->wait_ns = now.monotonic_ns + (WAIT_FIRST << replay->tries);
  if (node->state == NODE_STALE || node->state == NODE_DOWN)
    return;
  if (++replay->tries < TRIES_MAX || !replay->missing.count)
    return;
  replay->tries = 0;
  cluster_give_up (cluster, node, replay->missing.ranges[0].session, replay->missing.ranges[0].from,
                   replay->missing.ranges[0].to, now);
}

static void
refill (struct cluster *cluster, int64_t now_ns)
{
  struct cluster_replay *replay = &cluster->replay;
  double rate = cluster->options.replay_rate, burst = rate / BURST_PARTS;
  double more = rate * (double) (now_ns - replay->refilled_ns) / NS_PER_S;

  replay->refilled_ns = now_ns;
  replay->frames = replay->frames + more < burst ? replay->frames + more : burst;
  more *= BYTES_PER_FRAME;
  burst *= BYTES_PER_FRAME;
  replay->bytes = replay->bytes + more < burst ? replay->bytes + more : burst;
}

void
cluster_ask_replay (struct cluster *cluster, struct instant now)
{
  if (!cluster->replay.wanted)
    return;
  refill (cluster, now.monotonic_ns);
  ask_all (cluster, now.monotonic_ns);
}

void
cluster_note_wait (struct cluster *cluster, int64_t ready_ns, int64_t now_ns)
{
  if (now_ns - ready_ns > WAIT_MAX)
    cluster->replay.behind_ns = now_ns + WAIT_MAX;
}

void
cluster_tick_replay (struct cluster *cluster, struct instant now)
{
  if (!cluster->replay.wanted)
    return;
  for (size_t i = 0; i < REPLAY_SLOTS; i++) {
    struct replay_slot *slot = &cluster->replay.slots[i];
    struct node *node = slot->node;

    if (!node || now.monotonic_ns - slot->active_ns < PATIENCE)
      continue;
    cluster->counts.replay_timeouts++;
    slot_end (cluster, slot);
    try_later (cluster, node, now);
    cluster_end_run (cluster, node, now);
  }
  cluster_ask_replay (cluster, now);
}

void
cluster_forget_replay (struct cluster *cluster, struct node *node)
{
  cluster_end_request (cluster, node);
  cluster->counts.missing -= node->replay.missing.frames;
  missing_free (&node->replay.missing);
  missing_free (&node->replay.stored);
  cluster_drop_late (cluster, node);
  cluster_drop_schemas_before (cluster, node);
}

/* ---- messages of agents ---- */

static void
refuse_replayed (struct cluster *cluster, struct node *node, const char *why, struct instant now)
{
  cluster_reject (cluster, node, REJECTED_REPLAY, why, now);
}

void
cluster_take_replayed (struct cluster *cluster, struct node *node, const struct control *message, struct instant now)
{
  struct replay_slot *slot = slot_of (cluster, node);
  struct frame_header header;
  struct error error;

  cluster->replay.bytes -= (double) message->frame_length;
  if (frame_read_header (message->frame, message->frame_length, &header, &error) < 0) {
    cluster_reject (cluster, node, REJECTED_FRAME, error.text, now);
    return;
  }
  if (strcmp (header.node, node->name) != 0) {
    error_set (&error, "a replayed frame names node %s, its key is that of %s", header.node, node->name);
    cluster_reject (cluster, node, REJECTED_WRONG_NODE, error.text, now);
    return;
  }
  if (!slot || header.session != slot->session || header.sequence < slot->next || header.sequence > slot->to) {
    refuse_replayed (cluster, node, "a replayed frame that was not asked for", now);
    return;
  }
  slot->next = header.sequence + 1;
  slot->active_ns = now.monotonic_ns;
  slot->got++;
  if (header.sequence == slot->base)
    cluster_see_late (cluster, node, message->frame, message->frame_length, &header, now);
  else if (!missing_has (&node->replay.missing, header.session, header.sequence))
    cluster->counts.duplicates++; /* it came on the data channel meanwhile */
  else if (!cluster_take_late (cluster, node, message->frame, message->frame_length, &header, now) && !slot->stuck)
    slot->stuck = header.sequence;
}

void
cluster_end_replay (struct cluster *cluster, struct node *node, const struct control *end, struct instant now)
{
  struct replay_slot *slot = slot_of (cluster, node);
  uint64_t first = slot && slot->base ? slot->base : slot ? slot->from : 0;
  uint64_t to = slot && slot->stuck ? slot->stuck - 1 : end->to; /* the rest of the range is requested again */
  bool whole;

  if (!slot || end->session != slot->session || end->from != first || end->to > slot->to || end->to + 1 < slot->next) {
    refuse_replayed (cluster, node, "the end of a replay that was not asked for", now);
    return;
  }
  whole = end->sent == slot->got;
  if (whole && to >= slot->from) {
    cluster_give_up (cluster, node, end->session, slot->from, to, now);
    node->replay.tries = 0;
  } else if (!slot->stuck)
    try_later (cluster, node, now);
  slot_end (cluster, slot);
  if (!node->replay.missing.count) {
    cluster_drop_late (cluster, node);
    cluster_drop_schemas_before (cluster, node);
  }
  if (!node->replay.missing.count || node->replay.missing.ranges[0].session != node->replay.run.session)
    cluster_end_run (cluster, node, now);
  cluster_ask_replay (cluster, now);
}
