/* Asks for the frames that are missing.
 *
 * A frame is missing when a later one of its session has come on the data channel, or when a hello tells of it. The
 * agent is asked for it on the control channel, the oldest first, a window at a time:
 *
 *   request  session, from, to: at most 64 frames and 256 KiB of those of them that are held
 *   frames   each is checked like any other and taken when it is one of those that were asked for and is missing
 *   end      session, from, to, sent: all frames up to `to` were looked at. When as many came as were sent, those that
 *            did not come are held by nobody any more: they are lost, and told as a gap. Else some were dropped on the
 *            way, and are asked for again.
 *
 * So that a thousand agents with full rings do not stand before live frames: sixteen nodes are asked at once, in turn,
 * and what comes in is held to a rate in frames and in bytes. A node that does not answer is asked again, ever more
 * seldom, and after TRIES_MAX its oldest range is lost. */
#include <string.h>

#include "aggregator/cluster_private.h"
#include "synop/clock.h"

#define PATIENCE (5 * NS_PER_S)
#define WAIT_FIRST NS_PER_S /* doubled with each try */
#define TRIES_MAX 6
#define CLOCK_PATIENCE (3 * NS_PER_S)  /* late frames are placed by the clock's model: it comes first, if it does */
#define RANGE_MAX (UINT64_C (1) << 20) /* more frames than any ring holds: older ones are lost at once */
#define BYTES_PER_FRAME 4096           /* the rate in bytes is that in frames times this */
#define BURST_PARTS 10                 /* of a second: live frames wait for no more than what comes at once */

static void
lose (struct cluster *cluster, struct node *node, const struct missing_range *range, struct instant now)
{
  cluster_take_gap (cluster, node, range->session, range->from, range->to, now);
}

/* Those of a range that are still missing are lost. */
static void
give_up (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to, struct instant now)
{
  struct missing *missing = &node->replay.missing;
  struct missing_range range;

  while (missing_find (missing, session, from, to, &range)) {
    if (!missing_remove (missing, session, range.from, range.to))
      return; /* in the middle of the last range that there is room for: later */
    cluster->counts.missing -= range.to - range.from + 1;
    lose (cluster, node, &range, now);
  }
}

static void
give_up_all (struct cluster *cluster, struct node *node, struct instant now)
{
  while (node->replay.missing.count)
    give_up (cluster, node, node->replay.missing.ranges[0].session, 1, INT64_MAX, now);
}

static void
want (struct cluster *cluster, struct node *node, struct missing_range range, struct instant now)
{
  struct missing *missing = &node->replay.missing;
  uint64_t before = missing->frames;

  if (range.to - range.from >= RANGE_MAX) {
    lose (cluster, node, &(struct missing_range){ range.session, range.from, range.to - RANGE_MAX }, now);
    range.from = range.to - RANGE_MAX + 1;
  }
  if (!missing_add (missing, range.session, range.from, range.to))
    lose (cluster, node, &range, now);
  cluster->counts.missing += missing->frames - before;
  cluster->replay.wanted = true;
}

void
cluster_miss (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to,
              struct instant now)
{
  struct missing_range range = { session, from, to };
  const struct session *current = &node->sessions[0];

  if (cluster->options.replay_rate == 0 || (current->hello && !current->replays))
    lose (cluster, node, &range, now);
  else
    want (cluster, node, range, now);
}

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
slot_end (struct replay_slot *slot)
{
  slot->node->replay.asked = false;
  slot->node = NULL;
}

static bool
is_ready (const struct node *node, int64_t now_ns)
{
  const struct session *session = &node->sessions[0];

  return node->replay.missing.count && !node->replay.asked && session->replays && node->schema && !node->wanting &&
         now_ns >= node->replay.wait_ns &&
         (clock_model_usable (&node->clock.model) || now_ns - session->hello_ns >= CLOCK_PATIENCE);
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
                                .heard_ns = now_ns };
  if (first->from > 1 && !cluster_late_follows (node, first->session, first->from))
    slot->next = request.from = slot->base = first->from - 1;
  node->replay.asked = true;
  cluster->counts.replay_requested++;
  cluster_answer (cluster, session->routing, session->routing_length, &request);
}

/* Asks as many nodes as may be asked now, in turn. */
static void
ask_all (struct cluster *cluster, int64_t now_ns)
{
  struct cluster_replay *replay = &cluster->replay;
  bool wanted = false;

  if (!replay->wanted || replay->held || replay->frames <= 0 || replay->bytes <= 0)
    return;
  for (size_t i = 0; i < cluster->node_count; i++) {
    size_t index = (replay->cursor + i) % cluster->node_count;
    struct node *node = cluster->nodes[index];
    struct replay_slot *slot;

    wanted |= node->replay.missing.count != 0;
    if (!is_ready (node, now_ns))
      continue;
    slot = free_slot (cluster);
    if (!slot) {
      replay->cursor = index;
      return;
    }
    ask (cluster, node, slot, now_ns);
  }
  replay->wanted = wanted;
}

/* A request led to nothing. */
static void
try_later (struct cluster *cluster, struct node *node, struct instant now)
{
  struct node_replay *replay = &node->replay;

  replay->wait_ns = now.monotonic_ns + (WAIT_FIRST << replay->tries);
  if (++replay->tries < TRIES_MAX || !replay->missing.count)
    return;
  replay->tries = 0;
  give_up (cluster, node, replay->missing.ranges[0].session, replay->missing.ranges[0].from,
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
cluster_hold_replay (struct cluster *cluster, bool hold)
{
  cluster->replay.held = hold;
}

void
cluster_tick_replay (struct cluster *cluster, struct instant now)
{
  if (!cluster->replay.wanted)
    return;
  for (size_t i = 0; i < REPLAY_SLOTS; i++) {
    struct replay_slot *slot = &cluster->replay.slots[i];
    struct node *node = slot->node;

    if (!node || now.monotonic_ns - slot->heard_ns < PATIENCE)
      continue;
    cluster->counts.replay_timeouts++;
    slot_end (slot);
    try_later (cluster, node, now);
    cluster_end_run (cluster, node, now);
  }
  cluster_ask_replay (cluster, now);
}

void
cluster_forget_replay (struct cluster *cluster, struct node *node)
{
  struct replay_slot *slot = slot_of (cluster, node);

  if (slot)
    slot_end (slot);
  cluster->counts.missing -= node->replay.missing.frames;
  missing_free (&node->replay.missing);
  missing_free (&node->replay.stored);
  cluster_drop_late (cluster, node);
  schema_store_release (&cluster->schemas, node->schema_before);
  node->schema_before = NULL;
}

/* ---- what agents say ---- */

/* Of a session before the current one, of which a hello tells. `news`: what it sampled before it said hello, or was
 * heard of at all, is asked for too. */
static void
look_at_earlier (struct cluster *cluster, struct node *node, const struct control_held *held, bool news,
                 struct instant now)
{
  struct session *session = node_session (node, held->session);
  uint64_t last;

  if (session == &node->sessions[0])
    return;
  if (session) {
    last = session->sequence > session->base ? session->sequence : session->base;
    if (news && !session->hello && held->first < session->first)
      want (cluster, node, (struct missing_range){ held->session, held->first, session->first - 1 }, now);
    if (last < held->last)
      want (cluster, node, (struct missing_range){ held->session, last + 1, held->last }, now);
    session->sequence = last < held->last ? held->last : last;
  } else if (news)
    want (cluster, node, (struct missing_range){ held->session, held->first, held->last }, now);
}

/* How many sessions, the newest first, never said hello here: the link was cut while they were there. */
static size_t
count_unheard (struct node *node, const struct control *hello)
{
  for (size_t i = 0; i < hello->held_count; i++) {
    const struct session *session = node_session (node, hello->held[i].session);

    if (session && session->hello)
      return i;
  }
  return hello->held_count;
}

/* What the current session sampled before it said hello here. All of that is asked for, so what else comes of it on the
 * data channel, from a queue, is there already. */
static void
look_at_current (struct cluster *cluster, struct node *node, const struct control *hello, struct instant now)
{
  struct session *session = &node->sessions[0];
  uint64_t last = session->first ? session->first - 1 : hello->last_sequence;

  if (hello->first_sequence <= last)
    want (cluster, node, (struct missing_range){ session->id, hello->first_sequence, last }, now);
  if (session->sequence < hello->last_sequence && !session->first)
    session->sequence = hello->last_sequence;
}

static void
leave_out_stored (struct cluster *cluster, struct node *node)
{
  struct node_replay *replay = &node->replay;
  uint64_t before = replay->missing.frames;

  for (size_t i = 0; i < replay->stored.count; i++)
    missing_remove (&replay->missing, replay->stored.ranges[i].session, replay->stored.ranges[i].from,
                    replay->stored.ranges[i].to);
  cluster->counts.missing -= before - replay->missing.frames;
  missing_free (&replay->stored);
}

void
cluster_hello_replay (struct cluster *cluster, struct node *node, const struct control *hello, bool first,
                      struct instant now)
{
  struct replay_slot *slot = slot_of (cluster, node);
  bool backfill = cluster->options.backfill && !node->replay.greeted;
  bool news = node->replay.greeted && first; /* all that it samples is since this aggregator knows the node */
  size_t unheard = news ? count_unheard (node, hello) : 0;

  if (slot) /* its answer went to another connection */
    slot_end (slot);
  node->replay.tries = 0;
  node->replay.wait_ns = 0;
  if (cluster->options.replay_rate == 0 || !node->sessions[0].replays) {
    give_up_all (cluster, node, now);
    return;
  }
  node->replay.greeted = true;
  for (size_t i = hello->held_count; i-- > 0;) /* the oldest first */
    look_at_earlier (cluster, node, &hello->held[i], backfill || i < unheard, now);
  if (backfill || news)
    look_at_current (cluster, node, hello, now);
  leave_out_stored (cluster, node);
}

void
cluster_stored (struct cluster *cluster, const char *name, uint64_t session, uint64_t first, uint64_t last)
{
  struct node *node = (struct node *) cluster_find (cluster, name);

  if (node && !node->replay.greeted)
    missing_add (&node->replay.stored, session, first, last); /* what there is no room for comes twice */
}

static void
refuse (struct cluster *cluster, struct node *node, const char *why, struct instant now)
{
  cluster_reject (cluster, node, REJECTED_REPLAY, why, now);
}

void
cluster_take_replayed (struct cluster *cluster, struct node *node, const struct control *message, struct instant now)
{
  struct replay_slot *slot = slot_of (cluster, node);
  struct frame_header header;
  struct error error;

  cluster->replay.frames--;
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
    refuse (cluster, node, "a replayed frame that was not asked for", now);
    return;
  }
  slot->next = header.sequence + 1;
  slot->heard_ns = now.monotonic_ns;
  slot->got++;
  if (header.sequence == slot->base)
    cluster_see_late (cluster, node, message->frame, message->frame_length, &header, now);
  else if (missing_has (&node->replay.missing, header.session, header.sequence))
    cluster_take_late (cluster, node, message->frame, message->frame_length, &header, now);
  else
    cluster->counts.duplicates++; /* it has come on the data channel meanwhile */
}

void
cluster_end_replay (struct cluster *cluster, struct node *node, const struct control *end, struct instant now)
{
  struct replay_slot *slot = slot_of (cluster, node);
  uint64_t first = slot && slot->base ? slot->base : slot ? slot->from : 0;
  bool whole;

  if (!slot || end->session != slot->session || end->from != first || end->to > slot->to || end->to + 1 < slot->next) {
    refuse (cluster, node, "the end of a replay that was not asked for", now);
    return;
  }
  whole = end->sent == slot->got;
  if (whole && end->to >= slot->from) {
    give_up (cluster, node, end->session, slot->from, end->to, now);
    node->replay.tries = 0;
  } else
    try_later (cluster, node, now);
  slot_end (slot);
  if (!node->replay.missing.count)
    cluster_drop_late (cluster, node);
  if (!node->replay.missing.count || node->replay.missing.ranges[0].session != node->replay.run.session)
    cluster_end_run (cluster, node, now);
  cluster_ask_replay (cluster, now);
}
