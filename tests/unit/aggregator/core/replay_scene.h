/* Made-up agents with rings, whose messages get lost, before a cluster's core that asks for what is missing. Whatever
 * happens, each frame comes out once, or is told as lost. */
#ifndef SYNOP_TESTS_REPLAY_SCENE_H
#define SYNOP_TESTS_REPLAY_SCENE_H

#include "tests/unit/aggregator/core/cluster_bench.h"

#define NODES 5
#define FRAMES_MAX 4000

/* ---- an agent with a ring ---- */

struct agent {
  char name[8];
  uint64_t sessions[16], last[16]; /* what it sampled: the current session is the last one */
  uint64_t ring_from[16];          /* the first that is still held of each */
  size_t session_count;
  bool alive, mute;
  bool other;                                                        /* it samples with the other schema now */
  enum { KEEPS_SCHEMAS, HAS_LOST_SCHEMAS, IGNORES_SCHEMAS } earlier; /* those that it does not sample with any more */
};

/* The scene: a cluster, agents, and how often each frame came out. */
struct scene {
  struct bench *bench;
  struct agent agents[NODES];
  struct buffer requests; /* struct request, in order */
  uint8_t seen[NODES][16][FRAMES_MAX];
  bool other[NODES][16][FRAMES_MAX]; /* its schema */
  int64_t sampled_ns[NODES][16][FRAMES_MAX];
  uint64_t random;
  unsigned lose_data, lose_control; /* of 100 */
  size_t late, lost, under_way, schema_requests;
  bool wrong_change;
  int64_t wait_ns;    /* of messages, until they are handled */
  size_t nearly_full; /* so many of the agents send what history has no room for */
};

struct request {
  size_t agent;
  struct control control;
};

static struct scene *scene; /* for the bench's callbacks, whose context is the bench */

static inline uint64_t
chance (uint64_t below)
{
  scene->random ^= scene->random << 13;
  scene->random ^= scene->random >> 7;
  scene->random ^= scene->random << 17;
  return scene->random % below;
}

static inline size_t
agent_of (const char *name)
{
  for (size_t i = 0; i < NODES; i++)
    if (strcmp (scene->agents[i].name, name) == 0)
      return i;
  fail_msg ("no agent %s", name);
  return 0;
}

static inline size_t
session_of (const struct agent *agent, uint64_t session)
{
  for (size_t i = 0; i < agent->session_count; i++)
    if (agent->sessions[i] == session)
      return i;
  fail_msg ("no session");
  return 0;
}

static inline bool
is_nearly_full (void *context, const char *node)
{
  (void) context;
  return agent_of (node) < scene->nearly_full;
}

/* A frame's counter is a thousand times its sequence number, so a change is told by the frames between. */
static inline void
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

static inline void
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
static inline void
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

static inline void
say (size_t index, enum cluster_channel channel, const struct buffer *bytes)
{
  void *copy = memory_copy (bytes->data, bytes->length);
  struct cluster_message message = { .channel = channel,
                                     .node = scene->agents[index].name,
                                     .routing = (const uint8_t[]){ (uint8_t) index },
                                     .routing_length = 1,
                                     .received_ns = scene->bench->now_ns - scene->wait_ns,
                                     .ready_ns = scene->bench->now_ns - scene->wait_ns,
                                     .bytes = copy,
                                     .length = bytes->length };

  cluster_message (scene->bench->cluster, &message, now (scene->bench));
  free (copy);
}

static inline const struct schema *
schema_of (size_t index)
{
  return scene->agents[index].other ? scene->bench->other : scene->bench->schema;
}

static inline void
say_control (size_t index, struct control *control)
{
  struct buffer bytes = { 0 };

  if (control->type != CONTROL_SCHEMA)
    memcpy (control->schema_hash, schema_of (index)->hash, SCHEMA_HASH_SIZE);
  control_write (&bytes, control);
  say (index, CLUSTER_CONTROL, &bytes);
  buffer_free (&bytes);
}

static inline void
write_frame (struct buffer *bytes, const char *node, uint64_t session, uint64_t sequence)
{
  const struct agent *agent = &scene->agents[agent_of (node)];
  size_t at = session_of (agent, session);
  bool other = scene->other[agent_of (node)][at][sequence];
  const struct schema *schema = other ? scene->bench->other : scene->bench->schema;
  int64_t sampled_ns = scene->sampled_ns[agent_of (node)][at][sequence];
  struct frame_header header = {
    .session = session, .sequence = sequence, .monotonic_ns = sampled_ns, .wall_ns = WALL_START + sampled_ns
  };
  struct table table;
  const struct table *tables[] = { &table };

  strcpy (header.node, node);
  table_init (&table, schema->groups[0]);
  table_begin (&table);
  table.period_ns = NS_PER_S;
  table_add_row (&table, "d0", 2);
  table_set_uint (&table, 0, 0, sequence * 1000);
  frame_write (bytes, &header, schema, tables, 1);
  table_free (&table);
}

static inline void
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

static inline void
begin_cut_off (size_t index)
{
  struct agent *agent = &scene->agents[index];

  agent->sessions[agent->session_count] = index * 1000 + agent->session_count + 1;
  agent->ring_from[agent->session_count] = 1;
  agent->last[agent->session_count++] = 0;
  agent->alive = true;
}

static inline void
begin_session (size_t index)
{
  begin_cut_off (index);
  hello (index);
}

static inline void
sample (size_t index)
{
  struct agent *agent = &scene->agents[index];
  size_t at = agent->session_count - 1;
  struct buffer bytes = { 0 };

  agent->last[at]++;
  scene->sampled_ns[index][at][agent->last[at]] = scene->bench->now_ns - scene->wait_ns;
  scene->other[index][at][agent->last[at]] = agent->other;
  write_frame (&bytes, agent->name, agent->sessions[at], agent->last[at]);
  if (chance (100) >= scene->lose_data)
    say (index, CLUSTER_DATA, &bytes);
  buffer_free (&bytes);
}

/* Nobody hears of the next ones. */
static inline void
sample_unheard (size_t index, int count)
{
  scene->lose_data = 100;
  for (int i = 0; i < count; i++)
    sample (index);
  scene->lose_data = 0;
}

/* One is heard, the next `count` are not, and one is again. */
static inline void
sample_gap (size_t index, int count)
{
  sample (index);
  sample_unheard (index, count);
  sample (index);
}

/* A frame that was sampled comes, perhaps once more. */
static inline void
say_frame (size_t index, uint64_t session, uint64_t sequence)
{
  struct buffer bytes = { 0 };

  write_frame (&bytes, scene->agents[index].name, session, sequence);
  say (index, CLUSTER_DATA, &bytes);
  buffer_free (&bytes);
}

static inline void
say_bytes_of (size_t index, const struct schema *schema, bool bytes)
{
  struct control message = { .type = CONTROL_SCHEMA,
                             .schema = (const uint8_t *) schema->encoded.data,
                             .schema_length = bytes ? schema->encoded.length : 0 };

  memcpy (message.schema_hash, schema->hash, SCHEMA_HASH_SIZE);
  say_control (index, &message);
}

static inline void
say_schema (size_t index)
{
  say_bytes_of (index, schema_of (index), true);
}

static inline void
answer_schema (size_t index, const struct control *request)
{
  const struct agent *agent = &scene->agents[index];
  const struct schema *asked = memcmp (request->schema_hash, scene->bench->other->hash, SCHEMA_HASH_SIZE) == 0
                                   ? scene->bench->other
                                   : scene->bench->schema;

  if (asked == schema_of (index) || agent->earlier != IGNORES_SCHEMAS)
    say_bytes_of (index, asked, asked == schema_of (index) || agent->earlier == KEEPS_SCHEMAS);
}

static inline void
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
static inline void
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
    if (request.control.type == CONTROL_SCHEMA_REQUEST) {
      scene->schema_requests++;
      answer_schema (request.agent, &request.control);
    } else if (request.control.type == CONTROL_WELCOME && !request.control.known)
      say_schema (request.agent);
    else if (request.control.type == CONTROL_REPLAY_REQUEST)
      answer_replay (request.agent, &request.control);
  }
  buffer_free (&requests);
}

static inline void
answer_for (int64_t ns)
{
  for (; ns > 0; ns -= 250 * NS_PER_MS) {
    pass (scene->bench, 250 * NS_PER_MS);
    answer_all ();
  }
}

/* Until nothing is missing any more. */
static inline void
settle (void)
{
  for (int i = 0; i < 4000 && (i < 40 || cluster_counts (scene->bench->cluster)->missing); i++) {
    answer_for (250 * NS_PER_MS);
    for (size_t j = 0; j < NODES && i % 4 == 0; j++)
      if (scene->agents[j].alive)
        sample (j);
  }
  assert_int_equal (cluster_counts (scene->bench->cluster)->missing, 0);
}

static inline void
start_cluster_for (const struct cluster_output *output, double rate, bool backfill)
{
  struct cluster_options options = { .stale_periods = 3,
                                     .down_periods = 10,
                                     .tick_period_ns = NS_PER_S,
                                     .tick_grace_ns = NS_PER_S / 2,
                                     .clock_limit_ns = NS_PER_S / 2,
                                     .replay_rate = rate,
                                     .backfill = backfill,
                                     .output = *output };

  cluster_destroy (scene->bench->cluster);
  scene->requests.length = scene->under_way = 0;
  scene->bench->cluster = cluster_create (&options);
  cluster_list (scene->bench->cluster, each_key, scene->bench->keys, now (scene->bench));
}

static inline void
start_cluster (double rate, bool backfill)
{
  start_cluster_for (&(struct cluster_output){ .context = scene->bench,
                                               .frame = take_frame,
                                               .event = take_event,
                                               .answer = take_answer,
                                               .nearly_full = is_nearly_full },
                     rate, backfill);
}

static inline int
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

static inline int
end (void **state)
{
  assert_false (scene->wrong_change);
  buffer_free (&scene->requests);
  free (scene);
  return bench_tear_down (state);
}

/* Each frame that was sampled came out once, or was told as lost. Returns how many were lost. */
static inline size_t
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

/* Nothing is missing any more, and nothing was lost. */
static inline void
settle_whole (void)
{
  settle ();
  assert_int_equal (check_all (), 0);
}

static inline void
start_all (void)
{
  for (size_t i = 0; i < NODES; i++)
    begin_session (i);
  answer_all ();
}

#define REPLAY_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

#endif
