/* Which frames are missing: gaps within a session, and frames that a hello lists and the history does not have. They
 * are requested (cluster_replay.c) or, when nobody can have them any more, reported as lost. */
#include "aggregator/core/cluster_private.h"

#define RANGE_MAX (UINT64_C (1) << 20) /* more frames than any ring holds: older ones are lost at once */

static void
lose (struct cluster *cluster, struct node *node, const struct missing_range *range, struct instant now)
{
  cluster_take_gap (cluster, node, range->session, range->from, range->to, now);
}

/* Gives up what is still missing of a range: it is lost. */
void
cluster_give_up (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to,
                 struct instant now)
{
  struct missing *missing = &node->replay.missing;
  struct missing_range range;

  while (missing_find (missing, session, from, to, &range)) {
    if (!missing_remove (missing, session, range.from, range.to))
      return; /* it would split a range, and there is no room for another: later */
    cluster->counts.missing -= range.to - range.from + 1;
    lose (cluster, node, &range, now);
  }
}

void
cluster_give_up_all (struct cluster *cluster, struct node *node, struct instant now)
{
  while (node->replay.missing.count)
    cluster_give_up (cluster, node, node->replay.missing.ranges[0].session, 1, INT64_MAX, now);
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

/* ---- frames that a hello lists ---- */

/* A session before the current one that a hello lists. `news`: what it sampled before its own hello, or all if the
 * session is unknown here, is missing too. */
static void
want_earlier (struct cluster *cluster, struct node *node, const struct control_held *held, bool news,
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

/* How many of the newest sessions never said hello here: the link was cut during them. */
static size_t
count_without_hello (struct node *node, const struct control *hello)
{
  for (size_t i = 0; i < hello->held_count; i++) {
    const struct session *session = node_session (node, hello->held[i].session);

    if (session && session->hello)
      return i;
  }
  return hello->held_count;
}

/* What the current session sampled before its hello here. All of that is requested, so the same frames on the data
 * channel, from a queue, are duplicates. */
static void
want_current (struct cluster *cluster, struct node *node, const struct control *hello, struct instant now)
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
  bool backfill = cluster->options.backfill && !node->replay.greeted;
  bool news = node->replay.greeted && first; /* the node is known: all of a new session is wanted */
  size_t without_hello = news ? count_without_hello (node, hello) : 0;

  cluster_end_request (cluster, node); /* the answer went to the old connection */
  node->replay.tries = 0;
  node->replay.wait_ns = 0;
  cluster_ask_late_anew (node);
  if (cluster->options.replay_rate == 0 || !node->sessions[0].replays) {
    node->replay.want.wanting = false;
    cluster_give_up_all (cluster, node, now);
    return;
  }
  node->replay.greeted = true;
  for (size_t i = hello->held_count; i-- > 0;) /* the oldest first */
    want_earlier (cluster, node, &hello->held[i], backfill || i < without_hello, now);
  if (backfill || news)
    want_current (cluster, node, hello, now);
  leave_out_stored (cluster, node);
}

void
cluster_stored (struct cluster *cluster, const char *name, uint64_t session, uint64_t first, uint64_t last)
{
  struct node *node = (struct node *) cluster_find (cluster, name);

  if (node && !node->replay.greeted)
    missing_add (&node->replay.stored, session, first, last); /* without room some frames are requested needlessly */
}
