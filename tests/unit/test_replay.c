/* Replay in the cluster's core: made-up agents with rings, messages that get lost, restarts, liars. Whatever happens,
 * each frame comes out once, or is told as lost. */
#include "tests/unit/cluster_bench.h"

#include "aggregator/missing.h"

#define NODES 5
#define FRAMES_MAX 4000

/* ---- an agent with a ring ---- */

struct agent {
  char name[8];
  uint64_t sessions[16], last[16]; /* what it sampled: the current session is the last one */
  uint64_t ring_from[16];          /* the first that is still held of each */
  size_t session_count;
  bool alive, mute;
};

/* The scene: a cluster, agents, and how often each frame came out. */
struct scene {
  struct bench *bench;
  struct agent agents[NODES];
  struct buffer requests; /* struct request, in order */
  uint8_t seen[NODES][16][FRAMES_MAX];
  int64_t sampled_ns[NODES][16][FRAMES_MAX];
  uint64_t random;
  unsigned lose_data, lose_control; /* of 100 */
  size_t late, lost, under_way;
  bool wrong_change;
  int64_t wait_ns; /* of messages, until they are handled */
};

struct request {
  size_t agent;
  struct control control;
};

static struct scene *scene; /* for the bench's callbacks, whose context is the bench */

static uint64_t
chance (uint64_t below)
{
  scene->random ^= scene->random << 13;
  scene->random ^= scene->random >> 7;
  scene->random ^= scene->random << 17;
  return scene->random % below;
}

static size_t
agent_of (const char *name)
{
  for (size_t i = 0; i < NODES; i++)
    if (strcmp (scene->agents[i].name, name) == 0)
      return i;
  fail_msg ("no agent %s", name);
  return 0;
}

static size_t
session_of (const struct agent *agent, uint64_t session)
{
  for (size_t i = 0; i < agent->session_count; i++)
    if (agent->sessions[i] == session)
      return i;
  fail_msg ("no session");
  return 0;
}

/* A frame's counter is a thousand times its sequence number, so a change is told by the frames between. */
static void
take_frame (void *context, const struct cluster_frame *frame)
{
  size_t agent = agent_of (frame->node->name), session = session_of (&scene->agents[agent], frame->header->session);
  const struct report_group *group = &frame->groups[0];

  (void) context;
  assert_true (frame->header->sequence < FRAMES_MAX);
  scene->seen[agent][session][frame->header->sequence]++;
  scene->late += frame->late;
  assert_int_equal (table_get (group->now, 0, 0)->as.u, frame->header->sequence * 1000);
  if (group->before)
    scene->wrong_change |= group->before->sequence >= frame->header->sequence ||
                           table_get (group->before, 0, 0)->as.u != group->before->sequence * 1000;
  assert_int_equal (frame->time_ns, WALL_START + scene->sampled_ns[agent][session][frame->header->sequence]);
  assert_int_equal (frame->wall_offset_ns, 0);
}

static void
take_event (void *context, const struct event *event)
{
  see_event (context, event);
  if (event->type == EVENT_GAP) {
    size_t agent = agent_of (event->node), session = session_of (&scene->agents[agent], event->session);

    assert_int_equal (event->count, event->to - event->from + 1);
    for (uint64_t i = event->from; i <= event->to; i++) {
      scene->seen[agent][session][i] += 100; /* lost: it must never come out as well */
      scene->lost++;
    }
  }
}

/* Where an answer goes is the agent's index. */
static void
take_answer (void *context, const uint8_t *routing, size_t routing_length, const void *bytes, size_t length)
{
  struct request request = { .agent = routing[0] };

  (void) context;
  assert_int_equal (routing_length, 1);
  assert_int_equal (control_read (bytes, length, &request.control, NULL), 0);
  request.control.schema = NULL;
  if (request.control.type == CONTROL_REPLAY_REQUEST)
    scene->under_way++;
  buffer_add (&scene->requests, &request, sizeof request);
}

static void
say (size_t index, enum link_channel channel, const struct buffer *bytes)
{
  struct link_message message = { .channel = channel,
                                  .routing = { (uint8_t) index },
                                  .routing_length = 1,
                                  .received_ns = scene->bench->now_ns - scene->wait_ns,
                                  .bytes = memory_copy (bytes->data, bytes->length),
                                  .length = bytes->length };

  strcpy (message.node, scene->agents[index].name);
  cluster_message (scene->bench->cluster, &message, now (scene->bench));
  free (message.bytes);
}

static void
say_control (size_t index, struct control *control)
{
  struct buffer bytes = { 0 };

  memcpy (control->schema_hash, scene->bench->schema->hash, SCHEMA_HASH_SIZE);
  control_write (&bytes, control);
  say (index, LINK_CONTROL, &bytes);
  buffer_free (&bytes);
}

static void
write_frame (struct buffer *bytes, const char *node, uint64_t session, uint64_t sequence)
{
  const struct agent *agent = &scene->agents[agent_of (node)];
  int64_t sampled_ns = scene->sampled_ns[agent_of (node)][session_of (agent, session)][sequence];
  struct frame_header header = {
    .session = session, .sequence = sequence, .monotonic_ns = sampled_ns, .wall_ns = WALL_START + sampled_ns
  };
  struct table table;
  const struct table *tables[] = { &table };

  strcpy (header.node, node);
  table_init (&table, scene->bench->schema->groups[0]);
  table_begin (&table);
  table.period_ns = NS_PER_S;
  table_add_row (&table, "d0", 2);
  table_set_uint (&table, 0, 0, sequence * 1000);
  frame_write (bytes, &header, scene->bench->schema, tables, 1);
  table_free (&table);
}

static void
hello (size_t index)
{
  struct agent *agent = &scene->agents[index];
  size_t at = agent->session_count - 1;
  struct control message = { .type = CONTROL_HELLO,
                             .session = agent->sessions[at],
                             .first_sequence = agent->ring_from[at],
                             .last_sequence = agent->last[at],
                             .period_ns = NS_PER_S,
                             .version = "9" };

  strcpy (message.node, agent->name);
  for (size_t i = at; i-- > 0 && message.held_count < CONTROL_HELD_MAX;)
    if (agent->ring_from[i] <= agent->last[i])
      message.held[message.held_count++] =
          (struct control_held){ agent->sessions[i], agent->ring_from[i], agent->last[i] };
  say_control (index, &message);
}

static void
begin_cut_off (size_t index)
{
  struct agent *agent = &scene->agents[index];

  agent->sessions[agent->session_count] = index * 1000 + agent->session_count + 1;
  agent->ring_from[agent->session_count] = 1;
  agent->last[agent->session_count++] = 0;
  agent->alive = true;
}

static void
begin_session (size_t index)
{
  begin_cut_off (index);
  hello (index);
}

static void
sample (size_t index)
{
  struct agent *agent = &scene->agents[index];
  size_t at = agent->session_count - 1;
  struct buffer bytes = { 0 };

  agent->last[at]++;
  scene->sampled_ns[index][at][agent->last[at]] = scene->bench->now_ns - scene->wait_ns;
  write_frame (&bytes, agent->name, agent->sessions[at], agent->last[at]);
  if (chance (100) >= scene->lose_data)
    say (index, LINK_DATA, &bytes);
  buffer_free (&bytes);
}

static void
say_schema (size_t index)
{
  struct control message = { .type = CONTROL_SCHEMA,
                             .schema = (const uint8_t *) scene->bench->schema->encoded.data,
                             .schema_length = scene->bench->schema->encoded.length };

  say_control (index, &message);
}

static void
answer_replay (size_t index, const struct control *request)
{
  struct agent *agent = &scene->agents[index];
  size_t at = session_of (agent, request->session);
  struct control end = {
    .type = CONTROL_REPLAY_END, .session = request->session, .from = request->from, .to = request->to
  };
  uint64_t from = request->from > agent->ring_from[at] ? request->from : agent->ring_from[at];

  assert_true (request->frames <= REPLAY_WINDOW_FRAMES);
  for (uint64_t i = from; i <= request->to && i <= agent->last[at]; i++) {
    struct buffer bytes = { 0 };
    struct control replayed = { .type = CONTROL_REPLAYED };

    if (end.sent == request->frames) {
      end.to = i - 1;
      break;
    }
    write_frame (&bytes, agent->name, request->session, i);
    replayed.frame = (const uint8_t *) bytes.data;
    replayed.frame_length = bytes.length;
    if (chance (100) >= scene->lose_control)
      say_control (index, &replayed);
    end.sent++;
    buffer_free (&bytes);
  }
  if (chance (100) >= scene->lose_control)
    say_control (index, &end);
}

/* All that the aggregator asked for until now. */
static void
answer_all (void)
{
  struct buffer requests = scene->requests;

  scene->requests = (struct buffer){ 0 };
  for (size_t at = 0; at < requests.length; at += sizeof (struct request)) {
    struct request request;

    memcpy (&request, requests.data + at, sizeof request);
    if (request.control.type == CONTROL_REPLAY_REQUEST)
      scene->under_way--;
    if (!scene->agents[request.agent].alive || scene->agents[request.agent].mute)
      continue;
    if (request.control.type == CONTROL_SCHEMA_REQUEST ||
        (request.control.type == CONTROL_WELCOME && !request.control.known))
      say_schema (request.agent);
    else if (request.control.type == CONTROL_REPLAY_REQUEST)
      answer_replay (request.agent, &request.control);
  }
  buffer_free (&requests);
}

/* Until nothing is missing any more. */
static void
settle (void)
{
  for (int i = 0; i < 4000 && (i < 40 || cluster_counts (scene->bench->cluster)->missing); i++) {
    pass (scene->bench, 250 * NS_PER_MS);
    answer_all ();
    for (size_t j = 0; j < NODES && i % 4 == 0; j++)
      if (scene->agents[j].alive)
        sample (j);
  }
  assert_int_equal (cluster_counts (scene->bench->cluster)->missing, 0);
}

static void
start_cluster (double rate, bool backfill)
{
  struct cluster_options options = {
    .stale_periods = 3,
    .down_periods = 10,
    .tick_period_ns = NS_PER_S,
    .tick_grace_ns = NS_PER_S / 2,
    .clock_limit_ns = NS_PER_S / 2,
    .replay_rate = rate,
    .backfill = backfill,
    .output = { .context = scene->bench, .frame = take_frame, .event = take_event, .answer = take_answer }
  };

  cluster_destroy (scene->bench->cluster);
  scene->requests.length = scene->under_way = 0;
  scene->bench->cluster = cluster_create (&options);
  cluster_list (scene->bench->cluster, scene->bench->keys, now (scene->bench));
}

static int
begin (void **state)
{
  struct bench *bench;

  bench_set_up (state);
  bench = *state;
  scene = memory_new (1, sizeof *scene);
  scene->bench = bench;
  scene->random = 88172645463325252u;
  for (size_t i = 0; i < NODES; i++) {
    snprintf (scene->agents[i].name, sizeof scene->agents[i].name, "n%zu", i + 1);
    if (i >= 2)
      list_node (bench, scene->agents[i].name, 1);
  }
  start_cluster (10000, false);
  return 0;
}

static int
end (void **state)
{
  assert_false (scene->wrong_change);
  buffer_free (&scene->requests);
  free (scene);
  return bench_tear_down (state);
}

/* Each frame that was sampled came out once, or was told as lost. Returns how many were lost. */
static size_t
check_all (void)
{
  size_t lost = 0;

  for (size_t agent = 0; agent < NODES; agent++)
    for (size_t session = 0; session < scene->agents[agent].session_count; session++)
      for (uint64_t i = 1; i <= scene->agents[agent].last[session]; i++) {
        unsigned seen = scene->seen[agent][session][i];

        if (seen != 1 && seen != 100)
          fail_msg ("%s session %zu frame %u: %u", scene->agents[agent].name, session, (unsigned) i, seen);
        lost += seen == 100;
      }
  return lost;
}

static void
start_all (void)
{
  for (size_t i = 0; i < NODES; i++)
    begin_session (i);
  answer_all ();
}

/* ---- what gets lost ---- */

static void
test_a_gap_is_filled (void **state)
{
  struct bench *bench = *state;
  const struct seen_event *event;

  start_all ();
  sample (0);
  scene->lose_data = 100;
  for (int i = 0; i < 10; i++)
    sample (0);
  scene->lose_data = 0;
  sample (0);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 10);
  assert_int_equal (cluster_find (bench->cluster, "n1")->sessions[0].sequence, 12);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 10);
  assert_int_equal (cluster_counts (bench->cluster)->replayed, 10);
  assert_int_equal (count_events (bench, EVENT_GAP, NULL, NULL), 0);
  assert_int_equal (count_events (bench, EVENT_REPLAYED, "n1", NULL), 1);
  for (event = bench->events; event->type != EVENT_REPLAYED; event++)
    ;
  assert_true (event->from == 2 && event->to == 11 && event->count == 10);
}

/* The first of a session were dropped: the hello said that there was none before. */
static void
test_first_frames_are_asked_for (void **state)
{
  (void) state;
  start_all ();
  scene->lose_data = 100;
  for (int i = 0; i < 3; i++)
    sample (1);
  scene->lose_data = 0;
  sample (1);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 3);
}

static void
test_random_loss (void **state)
{
  (void) state;
  start_all ();
  for (int round = 0; round < 60; round++) {
    scene->lose_data = round % 7 == 0 ? 100 : round % 3 ? 5 : 50;
    scene->lose_control = round % 4 ? 3 : 40;
    for (int i = 0; i < 10; i++) {
      for (size_t j = 0; j < NODES; j++)
        sample (j);
      pass (scene->bench, 100 * NS_PER_MS);
      answer_all ();
      if (chance (20) == 0)
        hello (chance (NODES)); /* its connection came back */
    }
  }
  scene->lose_data = scene->lose_control = 0;
  settle ();
  assert_int_equal (check_all (), 0);
  assert_true (scene->late > 300);
}

/* Agents that are killed again and again while their last frames are on the way. */
static void
test_restarts (void **state)
{
  (void) state;
  start_all ();
  for (int round = 0; round < 10; round++)
    for (size_t j = 0; j < NODES; j++) {
      scene->lose_data = 30;
      for (uint64_t i = chance (30); i > 0; i--)
        sample (j);
      scene->lose_data = 100;
      for (uint64_t i = chance (5); i > 0; i--)
        sample (j);
      scene->lose_data = 0;
      pass (scene->bench, 250 * NS_PER_MS);
      if (round % 2)
        answer_all ();
      begin_session (j);
    }
  settle ();
  for (size_t j = 0; j < NODES; j++)
    hello (j); /* tells of earlier sessions again */
  settle ();
  assert_int_equal (check_all (), 0);
}

/* What the ring has dropped is lost, in one event, and the rest comes. */
static void
test_ring_that_is_too_small (void **state)
{
  struct bench *bench = *state;

  start_all ();
  sample (0);
  scene->lose_data = 100;
  for (int i = 0; i < 500; i++)
    sample (0);
  scene->lose_data = 0;
  scene->agents[0].ring_from[0] = 301;
  sample (0);
  settle ();
  assert_int_equal (check_all (), 299);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_find (bench->cluster, "n1")->lost, 299);
  assert_int_equal (cluster_counts (bench->cluster)->lost, 299);
}

/* Frames of a connection that had ended arrive after those of the next. */
static void
test_late_on_the_data_channel (void **state)
{
  struct bench *bench = *state;
  struct buffer bytes = { 0 };

  start_all ();
  sample (0);
  scene->lose_data = 100;
  sample (0);
  sample (0);
  scene->lose_data = 0;
  sample (0);
  for (int i = 0; i < 2; i++) {
    bytes.length = 0;
    write_frame (&bytes, "n1", 1, 2);
    say (0, LINK_DATA, &bytes);
  }
  assert_int_equal (scene->late, 1);
  assert_int_equal (cluster_counts (bench->cluster)->duplicates, 1);
  buffer_free (&bytes);
  settle ();
  assert_int_equal (check_all (), 0);
}

/* Late tables are their own: the live ones, the node's state and its ticks go on as if nothing had come. */
static void
test_late_frames_disturb_nothing (void **state)
{
  struct bench *bench = *state;
  const struct node *node;
  int64_t heard;
  size_t ticks;

  start_all ();
  for (int i = 0; i < 3; i++)
    sample (0);
  scene->lose_data = 100;
  for (int i = 0; i < 5; i++)
    sample (0);
  scene->lose_data = 0;
  sample (0);
  node = cluster_find (bench->cluster, "n1");
  heard = node->heard_ns;
  ticks = bench->ticks;
  for (int i = 0; i < 8; i++) {
    pass (bench, 500 * NS_PER_MS);
    answer_all ();
  }
  assert_int_equal (scene->late, 5);
  assert_int_equal (node->heard_ns, heard);
  assert_int_equal (bench->ticks, ticks);
  assert_int_equal (node->groups[0]->now.sequence, 9);
  assert_int_equal (node->groups[0]->before.sequence, 3);
  assert_int_equal (node->sessions[0].sequence, 9);
  assert_int_equal (check_all (), 0);
  assert_null (node->replay.late);
}

/* ---- agents that begin while the link is cut ---- */

static void
sample_unheard (size_t index, int count)
{
  scene->lose_data = 100;
  for (int i = 0; i < count; i++)
    sample (index);
  scene->lose_data = 0;
}

/* What an agent sampled before it could say hello is asked for, and once. */
static void
test_samples_before_the_hello (void **state)
{
  (void) state;
  start_all ();
  begin_cut_off (0);
  sample_unheard (0, 30);
  hello (0);
  answer_all ();
  sample (0);
  settle ();
  assert_int_equal (scene->late, 30);
  hello (0);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 30);
}

/* Some that were killed before they could say anything, one of which a few frames had come. */
static void
test_sessions_that_never_said_hello (void **state)
{
  (void) state;
  start_all ();
  sample (0);
  begin_cut_off (0);
  sample_unheard (0, 20);
  begin_cut_off (0);
  sample_unheard (0, 20);
  for (int i = 0; i < 5; i++)
    sample (0);
  sample_unheard (0, 5);
  begin_cut_off (0);
  sample_unheard (0, 20);
  begin_cut_off (0);
  sample_unheard (0, 20);
  for (int i = 0; i < 3; i++) {
    hello (0);
    answer_all ();
    sample (0);
    settle ();
  }
  begin_session (0);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 20 + 25 + 20 + 20);
}

/* A last frame of the one before that comes when the new one has been heard of, but not said hello. */
static void
test_stray_before_the_hello (void **state)
{
  struct buffer bytes = { 0 };

  (void) state;
  start_all ();
  sample (0);
  sample_unheard (0, 1);
  write_frame (&bytes, "n1", 1, 2);
  begin_cut_off (0);
  sample (0);
  say (0, LINK_DATA, &bytes);
  buffer_free (&bytes);
  hello (0);
  settle ();
  assert_int_equal (check_all (), 0);
}

/* ---- the aggregator restarts ---- */

/* Without history it asks for nothing that was before its time. */
static void
test_restart_without_history (void **state)
{
  (void) state;
  start_all ();
  for (int i = 0; i < 20; i++)
    sample (0);
  start_cluster (10000, false);
  hello (0);
  answer_all ();
  scene->lose_data = 100;
  sample (0);
  scene->lose_data = 0;
  sample (0);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 1);
}

/* With history it fetches all that is not stored, of earlier sessions too, and nothing twice. */
static void
test_restart_with_history (void **state)
{
  static const struct missing_range stored[] = { { 1, 1, 10 }, { 1, 21, 25 }, { 2, 3, 30 } };

  (void) state;
  start_all ();
  scene->lose_data = 100; /* nobody hears any of it */
  for (int i = 0; i < 40; i++)
    sample (0);
  begin_session (0);
  for (int i = 0; i < 40; i++)
    sample (0);
  scene->agents[0].ring_from[0] = 6;
  begin_session (0);
  for (int i = 0; i < 7; i++)
    sample (0);
  scene->lose_data = 0;
  memset (scene->seen, 0, sizeof scene->seen);
  start_cluster (10000, true);
  for (size_t i = 0; i < 3; i++) {
    cluster_stored (scene->bench->cluster, "n1", stored[i].session, stored[i].from, stored[i].to);
    for (uint64_t j = stored[i].from; j <= stored[i].to; j++)
      scene->seen[0][stored[i].session - 1][j]++;
  }
  sample (0); /* what libzmq had kept comes before the hello is read */
  hello (0);
  answer_all ();
  sample (0);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 30 - 5 + 12 + 7);
  hello (0);
  settle ();
  assert_int_equal (check_all (), 0);
}

/* What waited in libzmq's queue comes when it has been replayed already. */
static void
test_queue_after_a_restart_with_history (void **state)
{
  struct bench *bench = *state;
  struct buffer bytes = { 0 };

  start_all ();
  scene->lose_data = 100;
  for (int i = 0; i < 40; i++)
    sample (0);
  scene->lose_data = 0;
  start_cluster (10000, true);
  hello (0);
  write_frame (&bytes, "n1", 1, 5); /* in time: it need not be asked for */
  say (0, LINK_DATA, &bytes);
  answer_all ();
  for (int i = 0; i < 20; i++) {
    pass (bench, 250 * NS_PER_MS);
    answer_all ();
  }
  say (0, LINK_DATA, &bytes);
  bytes.length = 0;
  write_frame (&bytes, "n1", 1, 6);
  say (0, LINK_DATA, &bytes);
  buffer_free (&bytes);
  sample (0);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 40);
}

/* The data channel is up long before the control channel: more frames come than are held until their schema is known. */
static void
test_frames_before_the_hello (void **state)
{
  struct agent *agent = &scene->agents[0];
  struct bench *bench = *state;

  agent->sessions[agent->session_count] = 1;
  agent->ring_from[agent->session_count++] = 1;
  agent->alive = true;
  for (int i = 0; i < 100; i++)
    sample (0);
  assert_true (cluster_counts (bench->cluster)->frames_held_dropped > 50);
  agent->last[0] = 0; /* as if nothing had been sampled when it said hello: all is in the queue */
  hello (0);
  agent->last[0] = 100;
  answer_all ();
  settle ();
  assert_int_equal (check_all (), 0);
}

/* ---- agents that do not do what they say ---- */

static void
test_agent_without_a_ring (void **state)
{
  struct bench *bench = *state;

  start_all ();
  scene->agents[0].ring_from[0] = 0; /* what says that it cannot */
  hello (0);
  sample (0);
  scene->lose_data = 100;
  sample (0);
  scene->lose_data = 0;
  sample (0);
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_counts (bench->cluster)->replay_requested, 0);
}

static void
test_switched_off (void **state)
{
  struct bench *bench = *state;

  start_cluster (0, false);
  start_all ();
  sample (0);
  scene->lose_data = 100;
  sample (0);
  scene->lose_data = 0;
  sample (0);
  begin_session (0);
  sample (0);
  settle ();
  assert_int_equal (count_events (bench, EVENT_GAP, "n1", NULL), 1);
  assert_int_equal (cluster_counts (bench->cluster)->replay_requested, 0);
}

/* It is asked ever more seldom, then its frames are lost; the others do not wait for it. */
static void
test_mute_agent (void **state)
{
  struct bench *bench = *state;

  start_all ();
  scene->agents[0].mute = true;
  for (size_t i = 0; i < 2; i++) {
    sample (i);
    scene->lose_data = 100;
    sample (i);
    scene->lose_data = 0;
    sample (i);
  }
  for (int i = 0; i < 30; i++) {
    pass (bench, 250 * NS_PER_MS);
    answer_all ();
  }
  assert_int_equal (scene->seen[1][0][2], 1);
  assert_int_equal (scene->seen[0][0][2], 0);
  settle ();
  assert_int_equal (check_all (), 1);
  assert_int_equal (cluster_counts (bench->cluster)->replay_timeouts, 6);
}

/* Its link is cut for long while it is asked: what its ring holds still is asked for when it is back. */
static void
test_cut_in_a_replay (void **state)
{
  struct bench *bench = *state;

  start_all ();
  sample (0);
  scene->lose_data = 100;
  sample (0);
  scene->lose_data = 0;
  sample (0);
  scene->agents[0].alive = false;
  for (int i = 0; i < 1200; i++) {
    pass (bench, 250 * NS_PER_MS);
    answer_all ();
  }
  assert_int_equal (cluster_counts (bench->cluster)->missing, 1);
  scene->agents[0].alive = true;
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->lost, 0);
}

/* Frames and ends that were not asked for, of another node, broken ones: refused and counted, and nothing changes. */
static void
test_what_was_not_asked_for (void **state)
{
  struct bench *bench = *state;
  struct control end_message = { .type = CONTROL_REPLAY_END, .session = 1, .from = 1, .to = 64, .sent = 64 };
  struct control broken = { .type = CONTROL_REPLAYED, .frame = (const uint8_t *) "nothing", .frame_length = 7 };
  struct buffer bytes = { 0 }, foreign = { 0 };
  const struct cluster_counts *counts = cluster_counts (bench->cluster);

  start_all ();
  for (int i = 0; i < 5; i++)
    sample (0);
  write_frame (&bytes, "n1", 1, 900);
  write_frame (&foreign, "n2", 1001, 900);
  for (int i = 0; i < 100; i++) {
    say_control (0, &(struct control){ .type = CONTROL_REPLAYED,
                                       .frame = (const uint8_t *) bytes.data,
                                       .frame_length = bytes.length });
    say_control (0, &end_message);
  }
  assert_int_equal (counts->replay_refused, 200);
  assert_int_equal (count_events (bench, EVENT_REJECTED, "n1", "replay"), 1);
  say_control (0, &broken);
  assert_int_equal (counts->frames_malformed, 1);
  say_control (0, &(struct control){ .type = CONTROL_REPLAYED,
                                     .frame = (const uint8_t *) foreign.data,
                                     .frame_length = foreign.length });
  assert_int_equal (counts->wrong_node, 1);
  buffer_free (&bytes);
  buffer_free (&foreign);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 0);
}

/* A hello may claim any range: memory and requests stay bounded, and it ends. */
static void
test_claims (void **state)
{
  struct bench *bench = *state;
  struct control message = { .type = CONTROL_HELLO,
                             .session = 500,
                             .first_sequence = 1,
                             .last_sequence = INT64_MAX,
                             .period_ns = NS_PER_S,
                             .version = "9",
                             .node = "n1" };

  start_cluster (10000, true);
  bench->event_count = 0;
  scene->agents[0].sessions[0] = 500;
  scene->agents[0].session_count = 1;
  scene->agents[0].alive = scene->agents[0].mute = true;
  /* Only the count of the gap event matters here: it has more frames than the scene can hold. */
  struct cluster_options options = { .stale_periods = 3,
                                     .down_periods = 10,
                                     .tick_period_ns = NS_PER_S,
                                     .tick_grace_ns = NS_PER_S / 2,
                                     .clock_limit_ns = NS_PER_S / 2,
                                     .replay_rate = 1000,
                                     .backfill = true,
                                     .output = { .context = bench, .event = see_event, .answer = take_answer } };
  cluster_destroy (bench->cluster);
  bench->cluster = cluster_create (&options);
  cluster_list (bench->cluster, bench->keys, now (bench));
  for (size_t i = 0; i < CONTROL_HELD_MAX; i++)
    message.held[message.held_count++] = (struct control_held){ 600 + i, 1, INT64_MAX };
  say_control (0, &message);
  say_schema (0);
  assert_true (cluster_find (bench->cluster, "n1")->replay.missing.count <= CONTROL_HELD_MAX + 1);
  assert_int_equal (cluster_counts (bench->cluster)->missing, (CONTROL_HELD_MAX + 1) * (UINT64_C (1) << 20));
  for (int i = 0; i < 500 * CONTROL_HELD_MAX; i++) {
    pass (bench, 250 * NS_PER_MS);
    scene->requests.length = 0;
  }
  assert_int_equal (cluster_counts (bench->cluster)->missing, 0);
  assert_true (cluster_counts (bench->cluster)->replay_requested <= (CONTROL_HELD_MAX + 1) * 6);
}

/* ---- a storm ---- */

/* All nodes miss everything at once: what is under way stays within the window, and what comes in within the rate. */
static void
test_rate (void **state)
{
  struct bench *bench = *state;
  const double rate = 100;
  size_t before = 0;

  start_cluster (rate, false);
  start_all ();
  for (size_t j = 0; j < NODES; j++) {
    sample (j);
    scene->lose_data = 100;
    for (int i = 0; i < 1000; i++)
      sample (j);
    scene->lose_data = 0;
    sample (j);
  }
  pass (bench, 5 * NS_PER_S); /* clocks are waited for in vain */
  for (int i = 0; i < 100; i++) {
    pass (bench, NS_PER_S);
    answer_all ();
    assert_true (scene->late - before <= (size_t) rate + (NODES + 1) * REPLAY_WINDOW_FRAMES);
    assert_true (i < 5 || scene->late <= (size_t) (rate * (i + 6)) + NODES * REPLAY_WINDOW_FRAMES);
    assert_true (scene->under_way <= REPLAY_SLOTS);
    before = scene->late;
  }
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, NODES * 1000);
}

/* One node misses 300 frames, and is not asked for them yet. */
static void
miss_some (struct bench *bench)
{
  start_cluster (1000, false);
  cluster_hold_replay (bench->cluster, true);
  start_all ();
  sample (0);
  scene->lose_data = 100;
  for (int i = 0; i < 300; i++)
    sample (0);
  scene->lose_data = 0;
  sample (0);
  pass (bench, 5 * NS_PER_S);
  assert_int_equal (cluster_counts (bench->cluster)->missing, 300);
  assert_int_equal (scene->under_way, 0);
}

/* As long as history has no room. */
static void
test_held (void **state)
{
  struct bench *bench = *state;

  miss_some (bench);
  pass (bench, 60 * NS_PER_S);
  assert_int_equal (scene->under_way, 0);
  cluster_hold_replay (bench->cluster, false);
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 300);
}

/* As long as what came waits to be handled: the machine has more to do than it can. */
static void
test_behind (void **state)
{
  struct bench *bench = *state;

  miss_some (bench);
  scene->wait_ns = 300 * NS_PER_MS;
  cluster_hold_replay (bench->cluster, false);
  for (int i = 0; i < 50; i++) {
    bench->now_ns += 20 * NS_PER_MS;
    sample (1);
    cluster_ask_replay (bench->cluster, now (bench));
  }
  assert_int_equal (scene->under_way, 0);
  scene->wait_ns = 0;
  bench->now_ns += 100 * NS_PER_MS;
  sample (1);
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, 300);
}

/* What is asked for counts, not only what came: many nodes at once are not many windows at once. */
static void
test_asked_for_counts (void **state)
{
  struct bench *bench = *state;

  start_cluster (1000, false);
  cluster_hold_replay (bench->cluster, true);
  start_all ();
  for (size_t j = 0; j < NODES; j++) {
    sample (j);
    scene->lose_data = 100;
    for (int i = 0; i < 300; i++)
      sample (j);
    scene->lose_data = 0;
    sample (j);
  }
  pass (bench, 5 * NS_PER_S);
  cluster_hold_replay (bench->cluster, false);
  for (int i = 0; i < 3; i++)
    cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1); /* 50 frames may come at once */
  bench->now_ns += 10 * NS_PER_MS;
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 1); /* 10 more: those that were asked for, 64, are not paid */
  bench->now_ns += 10 * NS_PER_MS;
  cluster_ask_replay (bench->cluster, now (bench));
  assert_int_equal (scene->under_way, 2);
  settle ();
  assert_int_equal (check_all (), 0);
  assert_int_equal (scene->late, NODES * 300);
}

#define REPLAY_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    REPLAY_TEST (test_a_gap_is_filled),
    REPLAY_TEST (test_first_frames_are_asked_for),
    REPLAY_TEST (test_random_loss),
    REPLAY_TEST (test_restarts),
    REPLAY_TEST (test_ring_that_is_too_small),
    REPLAY_TEST (test_late_on_the_data_channel),
    REPLAY_TEST (test_late_frames_disturb_nothing),
    REPLAY_TEST (test_samples_before_the_hello),
    REPLAY_TEST (test_sessions_that_never_said_hello),
    REPLAY_TEST (test_stray_before_the_hello),
    REPLAY_TEST (test_restart_without_history),
    REPLAY_TEST (test_restart_with_history),
    REPLAY_TEST (test_queue_after_a_restart_with_history),
    REPLAY_TEST (test_frames_before_the_hello),
    REPLAY_TEST (test_agent_without_a_ring),
    REPLAY_TEST (test_switched_off),
    REPLAY_TEST (test_mute_agent),
    REPLAY_TEST (test_cut_in_a_replay),
    REPLAY_TEST (test_what_was_not_asked_for),
    REPLAY_TEST (test_claims),
    REPLAY_TEST (test_rate),
    REPLAY_TEST (test_held),
    REPLAY_TEST (test_behind),
    REPLAY_TEST (test_asked_for_counts),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
