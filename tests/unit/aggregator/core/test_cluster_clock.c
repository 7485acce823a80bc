/* Cluster time in the cluster's core: frames get their time from the node's model, clocks that are off or jump are told
 * once each, and the agent is told what it may count on.
 *
 * The nodes here have clocks of their own: a monotonic one that is off by a thousand seconds or so and runs fast, a wall
 * clock that the test sets. The aggregator's clocks are the bench's. */
#include "tests/unit/aggregator/core/cluster_bench.h"

#include "synop/frame.h"

#define S NS_PER_S
#define MS NS_PER_MS
#define PATH (100 * INT64_C (1000)) /* each way */

struct player {
  struct bench *bench;
  const char *name;
  uint64_t session, sequence;
  int64_t ahead_ns; /* of the monotonic clock, at the start */
  double drift;
  int64_t wall_ahead_ns;
  bool answered;
  int64_t last[4];
};

static struct player
player (struct bench *bench, const char *name)
{
  return (struct player){ .bench = bench, .name = name, .session = 7, .ahead_ns = 1000 * S, .drift = 200e-6 };
}

static int64_t
monotonic_at (const struct player *player, int64_t bench_ns)
{
  int64_t since = bench_ns - 1000 * S;

  return bench_ns + player->ahead_ns + (int64_t) ((double) since * player->drift);
}

static void
deliver_at (struct bench *bench, const char *user, enum cluster_channel channel, const struct buffer *bytes,
            int64_t received_ns)
{
  struct cluster_message message = { .channel = channel,
                                     .node = user,
                                     .routing = (const uint8_t *) "where",
                                     .routing_length = 5,
                                     .received_ns = received_ns,
                                     .ready_ns = received_ns,
                                     .bytes = bytes->data,
                                     .length = bytes->length };

  cluster_message (bench->cluster, &message, now (bench));
}

/* A probe that comes now; its answer is on its way back at once. */
static void
send_probe (struct player *player)
{
  struct bench *bench = player->bench;
  struct control control = { .type = CONTROL_PROBE, .session = player->session, .has_last = player->answered };
  struct buffer bytes = { 0 };

  control.t1 = monotonic_at (player, bench->now_ns - PATH);
  memcpy (control.last, player->last, sizeof control.last);
  control_write (&bytes, &control);
  deliver_at (bench, player->name, CLUSTER_CONTROL, &bytes, bench->now_ns);
  buffer_free (&bytes);
  player->answered = true;
  player->last[0] = control.t1;
  player->last[1] = player->last[2] = bench->now_ns;
  player->last[3] = monotonic_at (player, bench->now_ns + PATH);
}

/* A frame that was sampled at `sampled_ns` of the bench's clock and is read now, by when it waited in queues. */
static void
send_sampled (struct player *player, int64_t sampled_ns)
{
  struct bench *bench = player->bench;
  struct frame_header header = { .session = player->session, .sequence = ++player->sequence };
  struct table table;
  const struct table *tables[] = { &table };
  struct buffer bytes = { 0 };

  strcpy (header.node, player->name);
  header.monotonic_ns = monotonic_at (player, sampled_ns);
  header.wall_ns = WALL_START + sampled_ns + player->wall_ahead_ns;
  memcpy (header.schema, bench->schema->hash, SCHEMA_HASH_SIZE);
  table_init (&table, bench->schema->groups[0]);
  table.monotonic_ns = header.monotonic_ns;
  table.period_ns = S;
  table_add_row (&table, "d0", 2);
  table_set_uint (&table, 0, 0, player->sequence);
  frame_write (&bytes, &header, bench->schema, tables, 1);
  deliver_at (bench, player->name, CLUSTER_DATA, &bytes, bench->now_ns);
  buffer_free (&bytes);
  table_free (&table);
}

static void
hello (struct player *player)
{
  send_hello (player->bench, player->name, player->name, player->session, S);
  send_good_schema (player->bench, player->name);
}

/* `seconds` of an ordinary node: a frame at each, a probe every two. */
static void
live (struct player *player, int seconds)
{
  for (int i = 0; i < seconds; i++) {
    if (i % 2 == 0)
      send_probe (player);
    pass (player->bench, S);
    send_sampled (player, player->bench->now_ns - 5 * MS);
  }
}

static size_t
clock_events (const struct bench *bench)
{
  return count_events (bench, EVENT_CLOCK_OFFSET, NULL, NULL) + count_events (bench, EVENT_CLOCK_STEP, NULL, NULL);
}

static void
assert_near (int64_t value, int64_t expected, int64_t margin)
{
  if (llabs (value - expected) > margin)
    fail_msg ("%lld is not %lld +- %lld", (long long) value, (long long) expected, (long long) margin);
}

/* ---- the time of a frame ---- */

static void
test_time_by_the_model (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 30);
  for (int64_t waited = 0; waited < 60 * S; waited += 7 * S) { /* it does not matter when it comes */
    int64_t sampled = bench->now_ns - 6 * S + 1000 * n1.sequence;
    pass (bench, waited);
    send_sampled (&n1, sampled);
    assert_in_range (bench->last_bound_ns, 1, 5 * MS);
    assert_near (bench->last_time_ns, WALL_START + sampled, bench->last_bound_ns);
    assert_near (bench->last_wall_offset_ns, 0, bench->last_bound_ns);
  }
  const struct node *node = cluster_find (bench->cluster, "n1");
  assert_true (node->clock.model.frequency_known);
  assert_true (node->clock.model.frequency < -190e-6 && node->clock.model.frequency > -210e-6);
}

/* As long as nothing better is known it is the time of receipt, and the bound says so. */
static void
test_time_of_receipt (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  n1.wall_ahead_ns = 3 * S;
  send_sampled (&n1, bench->now_ns - 2 * S);
  assert_int_equal (bench->last_time_ns, WALL_START + bench->now_ns);
  assert_int_equal (bench->last_bound_ns, -1);
  assert_int_equal (bench->last_wall_offset_ns, S); /* two of the three seconds it was under way */
  send_probe (&n1);
  assert_false (bench->has_clock); /* one probe tells nothing: its answer is not known yet */
  send_sampled (&n1, bench->now_ns);
  assert_int_equal (bench->last_bound_ns, -1);
  assert_int_equal (clock_events (bench), 0); /* nothing is told of what is not known */
}

/* A mapping that says nothing any more is none. */
static void
test_old_mapping_is_none (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  send_probe (&n1);
  pass (bench, S / 2);
  send_probe (&n1); /* of one probe, so that the frequency is not known: 1000 ppm for 2000 s are 2 s */
  send_sampled (&n1, bench->now_ns);
  assert_true (bench->last_bound_ns >= 0);
  bench->now_ns += 2000 * S;
  send_sampled (&n1, bench->now_ns);
  assert_int_equal (bench->last_bound_ns, -1);
  assert_int_equal (bench->last_time_ns, WALL_START + bench->now_ns);
}

/* Another session has another clock. */
static void
test_new_session_begins_anew (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 20);
  assert_true (bench->last_bound_ns >= 0 && bench->has_clock);
  n1 = (struct player){ .bench = bench, .name = "n1", .session = 8, .ahead_ns = -500 * S };
  hello (&n1);
  assert_false (bench->has_clock);
  assert_int_equal (bench->clock_session, 8);
  send_sampled (&n1, bench->now_ns);
  assert_int_equal (bench->last_bound_ns, -1);
  live (&n1, 4);
  assert_near (bench->last_time_ns, WALL_START + bench->now_ns - 5 * MS, bench->last_bound_ns);
  assert_true (bench->last_bound_ns >= 0);
  assert_int_equal (clock_events (bench), 0);
}

/* A probe of a session that is not the current one is of another clock. */
static void
test_probe_of_another_session (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1"), other = player (bench, "n1");

  hello (&n1);
  live (&n1, 20);
  other.session = 9;
  other.ahead_ns = 7777 * S;
  for (int i = 0; i < 4; i++)
    send_probe (&other);
  send_sampled (&n1, bench->now_ns);
  assert_near (bench->last_time_ns, WALL_START + bench->now_ns, bench->last_bound_ns);
  assert_int_equal (clock_events (bench), 0);
}

/* ---- what the agent is told ---- */

static void
test_agent_is_told (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  assert_string_equal (bench->clock_node, "n1");
  assert_int_equal (bench->clock_session, 7);
  assert_false (bench->has_clock);
  live (&n1, 60);
  assert_true (bench->has_clock && !bench->clock.soon);
  assert_in_range (bench->clock.bound_ns, 1, MS);
  for (int64_t later = 0; later <= 10 * S; later += S) { /* as the agent uses it */
    int64_t at = bench->now_ns + later, x = monotonic_at (&n1, at) - bench->clock.node_ns;
    int64_t cluster = bench->clock.cluster_ns + x + (int64_t) ((double) x * bench->clock.drift);
    assert_near (cluster, WALL_START + at, MS);
  }
}

static void
test_agent_of_a_frame_alone (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  send_sampled (&n1, bench->now_ns); /* its hello was lost: it shall say it again */
  assert_string_equal (bench->clock_node, "n1");
  assert_int_equal (bench->clock_session, 0);
  hello (&n1);
  assert_int_equal (bench->clock_session, 7);
  key_set_destroy (bench->keys);
  bench->keys = key_set_create ();
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  assert_int_equal (bench->clock_session, 0);
}

/* ---- events: each once ---- */

static double
seconds_of_last_event (const struct bench *bench)
{
  return bench->events[(bench->event_count - 1) % EVENTS_MAX].seconds;
}

static void
test_good_clocks_tell_nothing (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1"), n2 = player (bench, "n2");

  hello (&n1);
  hello (&n2);
  n2.drift = -500e-6;
  n2.wall_ahead_ns = 400 * MS; /* within the limit */
  for (int i = 0; i < 100; i++) {
    send_probe (&n1);
    send_probe (&n2);
    pass (bench, S);
    send_sampled (&n1, bench->now_ns - 20 * MS);
    send_sampled (&n2, bench->now_ns - 30 * MS);
    n1.wall_ahead_ns += S / 2000; /* somebody slews it as fast as the kernel does */
    assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, NULL, NULL), 0);
  }
  assert_int_equal (clock_events (bench), 0);
}

/* A clock that is three seconds off, and then jumps by an hour: one event each, however soon one follows the other. */
static void
test_wall_clock (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  n1.wall_ahead_ns = 3 * S;
  live (&n1, 5);
  assert_int_equal (count_events (bench, EVENT_CLOCK_OFFSET, "n1", NULL), 1);
  assert_true (seconds_of_last_event (bench) > 2.9 && seconds_of_last_event (bench) < 3.1);
  size_t frames = bench->frames;
  n1.wall_ahead_ns += 3600 * S;
  live (&n1, 20);
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, "n1", "wall"), 1);
  assert_true (seconds_of_last_event (bench) > 3599.9 && seconds_of_last_event (bench) < 3600.1);
  assert_int_equal (clock_events (bench), 2);
  assert_int_equal (bench->frames, frames + 20);
  assert_near (bench->last_time_ns, WALL_START + bench->now_ns - 5 * MS, MS);
  assert_near (bench->last_wall_offset_ns, 3603 * S, MS);
  n1.wall_ahead_ns = 0; /* and somebody sets it right */
  live (&n1, 20);
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, "n1", "wall"), 2);
  n1.wall_ahead_ns = 300 * MS; /* a step, though not off */
  live (&n1, 20);
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, "n1", "wall"), 3);
  assert_int_equal (clock_events (bench), 4);
}

/* Slewed over the limit and back, again and again, about the limit: told once, and again only after it was well within. */
static void
test_offset_at_the_limit (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  n1.wall_ahead_ns = 490 * MS;
  for (int i = 0; i < 30; i++) {
    n1.wall_ahead_ns += i % 2 ? -20 * MS : 20 * MS;
    live (&n1, 2);
  }
  assert_int_equal (count_events (bench, EVENT_CLOCK_OFFSET, NULL, NULL), 1);
  while (n1.wall_ahead_ns > 200 * MS) {
    n1.wall_ahead_ns -= 40 * MS;
    live (&n1, 2);
  }
  while (n1.wall_ahead_ns < 600 * MS) {
    n1.wall_ahead_ns += 40 * MS;
    live (&n1, 2);
  }
  assert_int_equal (count_events (bench, EVENT_CLOCK_OFFSET, NULL, NULL), 2);
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, NULL, NULL), 0);
}

/* A clock that jumps for ever is no flood. */
static void
test_brake (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 3);
  for (int i = 0; i < 300; i++) {
    n1.wall_ahead_ns = i % 2 ? 5 * S : 0;
    if (i % 7 == 0)
      n1.ahead_ns += i * S;
    live (&n1, 1);
  }
  assert_in_range (count_events (bench, EVENT_CLOCK_STEP, "n1", NULL), 1, 32);
  assert_in_range (count_events (bench, EVENT_CLOCK_OFFSET, "n1", NULL), 0, 32);
}

/* The monotonic clock stood still for ten seconds (a machine that slept): told once, and the node is right again after a
 * probe. */
static void
test_monotonic_step (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 30);
  pass (bench, 10 * S);
  n1.ahead_ns -= 10 * S;
  n1.answered = false;
  send_probe (&n1);
  pass (bench, 200 * MS);
  send_probe (&n1);
  assert_true (bench->has_clock && bench->clock.soon);
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, "n1", "monotonic"), 1);
  assert_true (seconds_of_last_event (bench) < -9.9 && seconds_of_last_event (bench) > -10.1);
  live (&n1, 20);
  assert_int_equal (clock_events (bench), 1);
  assert_false (bench->clock.soon);
  assert_near (bench->last_time_ns, WALL_START + bench->now_ns - 5 * MS, bench->last_bound_ns);
}

/* Frames that wait in the agent's queue for minutes, also under a model that is new: no event, whatever order. */
static void
test_long_queue (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1"), n2 = player (bench, "n2");

  hello (&n1);
  live (&n1, 10);
  int64_t first = bench->now_ns;
  pass (bench, 300 * S);
  for (int i = 1; i < 300; i++)
    send_sampled (&n1, first + i * S); /* all at once */
  live (&n1, 10);

  hello (&n2); /* the aggregator was away: this one is new to it */
  n2.drift = 450e-6;
  int64_t begin = bench->now_ns - 300 * S;
  for (int i = 1; i < 300; i++) {
    send_sampled (&n2, begin + i * S);
    if (i % 50 == 0) {
      send_probe (&n2);
      pass (bench, 200 * MS);
    }
  }
  live (&n2, 60);
  assert_int_equal (clock_events (bench), 0);
}

/* What is not known well enough to say that a clock is off is not said: one probe, and a frame of a quarter of an hour
 * ago, which may be wrong by 0.9 s. */
static void
test_offset_within_the_bound (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  n1.drift = 450e-6;
  n1.wall_ahead_ns = 200 * MS;
  send_probe (&n1);
  pass (bench, 200 * MS);
  send_probe (&n1);
  send_sampled (&n1, bench->now_ns - 900 * S);
  assert_in_range (bench->last_bound_ns, 800 * MS, S);
  assert_in_range (bench->last_wall_offset_ns, 550 * MS, 650 * MS);
  assert_int_equal (clock_events (bench), 0);
}

/* As long as frames have no mapping their times of receipt say nothing of a wall clock. */
static void
test_receipt_is_no_step (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 3);
  assert_true (bench->last_bound_ns >= 0);
  pass (bench, 2000 * S); /* no probe, so no mapping: and then 20 s in a queue */
  send_sampled (&n1, bench->now_ns - 20 * S);
  assert_int_equal (bench->last_bound_ns, -1);
  n1.answered = false;
  send_probe (&n1);
  live (&n1, 20);
  assert_true (bench->last_bound_ns >= 0);
  assert_int_equal (clock_events (bench), 0);
}

/* ---- the aggregator's own wall clock ---- */

/* It is set by an hour: one event, and cluster time follows. A node whose clock was not set is off from then on, but has
 * not jumped; one that was set at the same time has. */
static void
aggregator_step (struct bench *bench, int64_t by_ns, bool follows)
{
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 20);
  size_t ticks = bench->ticks;
  int64_t time_ns = bench->last_time_ns;
  for (int i = 0; i < 40; i++) { /* the bench's `now` is what is set */
    bench->now_ns += 250 * MS;
    struct instant at = { bench->now_ns, WALL_START + bench->now_ns + by_ns };
    cluster_tick (bench->cluster, at);
    cluster_close_ticks (bench->cluster, at);
    if (i % 4 == 3) {
      n1.wall_ahead_ns = follows ? by_ns : 0;
      send_probe (&n1);
      send_sampled (&n1, bench->now_ns - 5 * MS);
    }
  }
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, "", "aggregator"), 1);
  assert_near (bench->last_time_ns, time_ns + 10 * S + by_ns, 20 * MS);
  assert_near (bench->clock.cluster_ns - bench->clock.node_ns, WALL_START + by_ns - n1.ahead_ns, 100 * MS);
  assert_near (bench->last_wall_offset_ns, follows ? 0 : -by_ns, 20 * MS);
  assert_int_equal (count_events (bench, EVENT_CLOCK_STEP, "n1", NULL), follows);
  assert_int_equal (count_events (bench, EVENT_CLOCK_OFFSET, "n1", NULL), !follows);
  assert_in_range (bench->ticks - ticks, 8, 14); /* the last ones of before among them */
  assert_near (bench->last_tick_ns, WALL_START + bench->now_ns + by_ns, 2 * S);
}

static void
test_aggregator_step (void **state)
{
  aggregator_step (*state, 3600 * S, false);
}

static void
test_aggregator_step_back (void **state)
{
  aggregator_step (*state, -3600 * S, false);
}

static void
test_all_machines_step (void **state)
{
  aggregator_step (*state, 3600 * S, true);
}

/* One look at the two clocks that was interrupted between them is no step. */
static void
test_aggregator_interrupted (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 10);
  for (int i = 0; i < 100; i++) {
    bench->now_ns += 250 * MS;
    int64_t late = i % 2 ? 900 * MS : 0;
    cluster_tick (bench->cluster, (struct instant){ bench->now_ns, WALL_START + bench->now_ns + late });
  }
  assert_int_equal (clock_events (bench), 0);
}

/* ---- what a node may say ---- */

/* A clock that runs 8 % fast for some seconds, between two probes: no frame claims a time that is false by more than its
 * bound, and the agent is asked to probe soon. */
static void
test_slewed_fast (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 20);
  send_probe (&n1);
  assert_true (bench->last_bound_ns >= 0 && bench->last_bound_ns < MS);
  for (int i = 0; i < 120; i++) {
    bench->now_ns += 100 * MS;
    n1.ahead_ns += 8 * MS;
    send_sampled (&n1, bench->now_ns - 2 * MS);
    int64_t error = llabs (bench->last_time_ns - (WALL_START + bench->now_ns - 2 * MS));
    assert_true (error <= 10 * MS || error <= bench->last_bound_ns);
    if (i > 2)
      assert_int_equal (bench->last_bound_ns, -1);
  }
  assert_true (bench->clock.soon);
}

/* A clock that stood still for a minute: its frames seem to have taken a minute, so it is asked to probe soon. */
static void
test_stood_still (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1");

  hello (&n1);
  live (&n1, 20);
  assert_false (bench->clock.soon);
  bench->now_ns += 60 * S;
  n1.ahead_ns -= 60 * S;
  send_sampled (&n1, bench->now_ns - 2 * MS);
  assert_true (bench->clock.soon);
}

/* Times as an enemy would choose them: nothing overflows, and it harms itself alone. */
static void
test_extremes (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1"), n2 = player (bench, "n2");
  const int64_t values[] = { 0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 17, INT64_MIN / 17, INT64_MAX / 4, 7 * S };
  const size_t count = sizeof values / sizeof values[0];
  uint64_t random = 88172645463325252u;

  hello (&n1);
  hello (&n2);
  live (&n1, 10);
  for (int i = 0; i < 20000; i++) {
    struct control control = { .type = CONTROL_PROBE, .session = 7, .t1 = values[i % (int) count], .has_last = true };
    for (int t = 0; t < 4; t++) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      control.last[t] = values[random % count];
    }
    send_control (bench, "n2", &control);
    n2.wall_ahead_ns = values[random / 16 % count] / 4;
    n2.ahead_ns = values[random / 256 % count] / 4;
    n2.drift = 0;
    send_sampled (&n2, bench->now_ns);
    if (i % 1000 == 0)
      pass (bench, 50 * MS);
  }
  assert_int_equal (count_events (bench, EVENT_CLOCK_OFFSET, "n1", NULL), 0);
  live (&n1, 5);
  assert_near (bench->last_time_ns, WALL_START + bench->now_ns - 5 * MS, MS);
}

/* ---- ticks ---- */

/* Two nodes whose monotonic clocks are ages apart sample at the same instant: one tick, and the spread is what it was. */
static void
test_tick (void **state)
{
  struct bench *bench = *state;
  struct player n1 = player (bench, "n1"), n2 = player (bench, "n2");

  n2.ahead_ns = -990 * S;
  n2.drift = -100e-6;
  hello (&n1);
  hello (&n2);
  for (int i = 0; i < 30; i++) {
    send_probe (&n1);
    send_probe (&n2);
    pass (bench, S);
    cluster_close_ticks (bench->cluster, now (bench));
    send_sampled (&n1, bench->now_ns);
    send_sampled (&n2, bench->now_ns - 300 * 1000);
    bench->now_ns += MS;
    cluster_close_ticks (bench->cluster, now (bench));
    bench->now_ns -= MS;
    assert_int_equal (bench->ticks, (size_t) i + 1);
    assert_int_equal (bench->last_reporting, 2);
    assert_int_equal (bench->last_waited_for, 0);
    assert_int_equal (bench->last_expected, 2);
    assert_int_equal (bench->last_tick_ns, WALL_START + bench->now_ns);
  }
  assert_near (bench->last_spread_ns, 300 * 1000, 200 * 1000);
  send_sampled (&n1, bench->now_ns - S);
  assert_true (bench->last_late);
  assert_int_equal (bench->ticks, 30);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    BENCH_TEST (test_time_by_the_model),
    BENCH_TEST (test_time_of_receipt),
    BENCH_TEST (test_old_mapping_is_none),
    BENCH_TEST (test_new_session_begins_anew),
    BENCH_TEST (test_probe_of_another_session),
    BENCH_TEST (test_agent_is_told),
    BENCH_TEST (test_agent_of_a_frame_alone),
    BENCH_TEST (test_good_clocks_tell_nothing),
    BENCH_TEST (test_wall_clock),
    BENCH_TEST (test_offset_at_the_limit),
    BENCH_TEST (test_brake),
    BENCH_TEST (test_monotonic_step),
    BENCH_TEST (test_long_queue),
    BENCH_TEST (test_offset_within_the_bound),
    BENCH_TEST (test_receipt_is_no_step),
    BENCH_TEST (test_aggregator_step),
    BENCH_TEST (test_aggregator_step_back),
    BENCH_TEST (test_all_machines_step),
    BENCH_TEST (test_aggregator_interrupted),
    BENCH_TEST (test_slewed_fast),
    BENCH_TEST (test_stood_still),
    BENCH_TEST (test_extremes),
    BENCH_TEST (test_tick),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
