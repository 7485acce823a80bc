/* A cluster's core with made-up nodes, frames and times, and everything that comes out of it: for the tests of the core.
 */
#ifndef SYNOP_TESTS_CLUSTER_BENCH_H
#define SYNOP_TESTS_CLUSTER_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/cluster.h"
#include "aggregator/core/node.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/key_set.h"
#include "synop/memory.h"

#define EVENTS_MAX 4096
#define WALL_START (INT64_C (1700000000) * NS_PER_S)

static const struct metric small_metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Bytes." },
  { "tasks", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Tasks." },
};
static const struct group small_group = {
  "small", "system_data", "device", "devices", "total", 0, "A group.", GROUP_METRICS (small_metrics)
};
static const struct metric fact_metrics[] = { { "name", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Name." } };
static const struct group fact_group = { "facts", "", "", "", "", GROUP_ONCE, "Facts.", GROUP_METRICS (fact_metrics) };
static const struct group other_group = {
  "other", "system_data", "device", "devices", "total", 0, "A group.", GROUP_METRICS (small_metrics)
};
static const struct group *const groups[] = { &small_group, &fact_group };
static const struct group *const other_groups[] = { &other_group };

struct seen_event {
  enum event_type type;
  char node[FRAME_NODE_MAX + 1], reason[32];
  uint64_t from, to, count, session;
  double seconds;
  char text[160], groups[128]; /* names with a space behind each */
};

/* A cluster with everything that comes out of it, and a clock that the test moves. */
struct bench {
  struct key_set *keys;
  struct cluster *cluster;
  struct schema *schema, *other;
  int64_t now_ns;
  struct seen_event events[EVENTS_MAX];
  size_t event_count;
  size_t frames;
  uint64_t last_sequence, last_bytes, last_bytes_before;
  bool last_had_before;
  int64_t last_time_ns, last_bound_ns, last_wall_offset_ns; /* of the frame */
  bool last_late;
  size_t ticks, last_reporting, last_waited_for, last_expected;
  int64_t last_tick_ns, last_spread_ns;
  char clock_node[FRAME_NODE_MAX + 1];
  uint64_t clock_session;
  bool has_clock;
  struct control_clock clock;
  struct control answers[64];
  size_t answer_count;
};

static inline void
see_event (void *context, const struct event *event)
{
  struct bench *bench = context;
  struct seen_event *seen = &bench->events[bench->event_count++ % EVENTS_MAX];

  *seen = (struct seen_event){ .type = event->type,
                               .from = event->from,
                               .to = event->to,
                               .count = event->count,
                               .session = event->session,
                               .seconds = event->seconds };
  snprintf (seen->node, sizeof seen->node, "%s", event->node ? event->node : "");
  snprintf (seen->reason, sizeof seen->reason, "%s", event->reason ? event->reason : "");
  snprintf (seen->text, sizeof seen->text, "%s", event->text ? event->text : "");
  for (size_t i = 0, at = 0; i < event->group_count && at < sizeof seen->groups; i++)
    at += (size_t) snprintf (seen->groups + at, sizeof seen->groups - at, "%s ", event->groups[i]);
}

static inline void
see_frame (void *context, const struct cluster_frame *frame)
{
  struct bench *bench = context;
  const struct table *now = frame->groups[0].now;

  bench->frames++;
  bench->last_sequence = frame->header->sequence;
  bench->last_time_ns = frame->time_ns;
  bench->last_bound_ns = frame->bound_ns;
  bench->last_wall_offset_ns = frame->wall_offset_ns;
  bench->last_late = frame->late;
  assert_non_null (now);
  assert_int_equal (now->rows, 1);
  bench->last_bytes = table_get (now, 0, 0)->as.u;
  bench->last_had_before = frame->groups[0].before != NULL;
  bench->last_bytes_before = bench->last_had_before ? table_get (frame->groups[0].before, 0, 0)->as.u : 0;
}

static inline void
see_tick (void *context, const struct cluster_tick_line *line)
{
  struct bench *bench = context;

  bench->ticks++;
  bench->last_tick_ns = line->tick->time_ns;
  bench->last_reporting = line->tick->reporting;
  bench->last_waited_for = line->tick->waited_for;
  bench->last_spread_ns = line->tick->spread_ns;
  bench->last_expected = line->expected;
}

static inline void
see_clock (void *context, const char *node, uint64_t session, const struct control_clock *clock)
{
  struct bench *bench = context;

  snprintf (bench->clock_node, sizeof bench->clock_node, "%s", node);
  bench->clock_session = session;
  bench->has_clock = clock != NULL;
  if (clock)
    bench->clock = *clock;
}

static inline void
see_answer (void *context, const uint8_t *routing, size_t routing_length, const void *bytes, size_t length)
{
  struct bench *bench = context;
  struct control *answer = &bench->answers[bench->answer_count++ % 64];

  assert_true (routing_length == 5 && memcmp (routing, "where", 5) == 0);
  assert_int_equal (control_read (bytes, length, answer, NULL), 0);
}

static inline void
list_node (struct bench *bench, const char *name, uint8_t key_byte)
{
  uint8_t key[KEY_SIZE];
  size_t length = strlen (name);

  memset (key, key_byte, sizeof key);
  memcpy (key, name, length < KEY_SIZE - 1 ? length : KEY_SIZE - 1);
  assert_int_equal (key_set_add (bench->keys, name, key, NULL), 0);
}

static inline struct instant
now (const struct bench *bench)
{
  return (struct instant){ bench->now_ns, WALL_START + bench->now_ns };
}

static inline void
each_key (const void *keys, cluster_take_node_fn *take, void *context)
{
  key_set_each (keys, take, context);
}

static inline int
bench_set_up (void **state)
{
  struct bench *bench = memory_new (1, sizeof *bench);
  struct cluster_options options = { .stale_periods = 3,
                                     .down_periods = 10,
                                     .tick_period_ns = NS_PER_S,
                                     .tick_grace_ns = NS_PER_S / 2,
                                     .clock_limit_ns = NS_PER_S / 2,
                                     .replay_rate = 10000,
                                     .output = { bench, see_frame, see_event, see_tick, see_clock, see_answer } };

  bench->now_ns = 1000 * NS_PER_S;
  bench->keys = key_set_create ();
  bench->cluster = cluster_create (&options);
  bench->schema = schema_create (groups, 2);
  bench->other = schema_create (other_groups, 1);
  list_node (bench, "n1", 1);
  list_node (bench, "n2", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  *state = bench;
  return 0;
}

static inline int
bench_tear_down (void **state)
{
  struct bench *bench = *state;

  cluster_destroy (bench->cluster);
  key_set_destroy (bench->keys);
  schema_destroy (bench->schema);
  schema_destroy (bench->other);
  free (bench);
  return 0;
}

static inline void
deliver (struct bench *bench, const char *user, enum cluster_channel channel, const struct buffer *bytes)
{
  void *copy = memory_copy (bytes->data, bytes->length);
  struct cluster_message message = { .channel = channel,
                                     .node = user,
                                     .routing = (const uint8_t *) "where",
                                     .routing_length = 5,
                                     .received_ns = bench->now_ns,
                                     .ready_ns = bench->now_ns,
                                     .bytes = copy,
                                     .length = bytes->length };

  cluster_message (bench->cluster, &message, now (bench));
  free (copy);
}

struct made_frame {
  const char *user; /* whose key it comes with */
  const char *node; /* whom it names; NULL: the same */
  uint64_t session, sequence, bytes;
  const struct schema *schema; /* NULL: the first */
  size_t cut;                  /* bytes left out at the end */
  const char *error;           /* of the group; NULL: none */
};

static inline void
send_frame (struct bench *bench, const struct made_frame *made)
{
  const struct schema *schema = made->schema ? made->schema : bench->schema;
  struct frame_header header = { .session = made->session,
                                 .sequence = made->sequence,
                                 .monotonic_ns = bench->now_ns,
                                 .wall_ns = WALL_START + bench->now_ns + 5 * NS_PER_MS };
  struct table table;
  const struct table *tables[] = { &table };
  struct buffer bytes = { 0 };

  strcpy (header.node, made->node ? made->node : made->user);
  memcpy (header.schema, schema->hash, SCHEMA_HASH_SIZE);
  table_init (&table, schema->groups[0]);
  table_begin (&table);
  table.monotonic_ns = bench->now_ns;
  table.period_ns = NS_PER_S;
  table_add_row (&table, "d0", 2);
  table_set_uint (&table, 0, 0, made->bytes);
  if (made->error)
    strcpy (table.error, made->error);
  frame_write (&bytes, &header, schema, tables, 1);
  bytes.length -= made->cut;
  deliver (bench, made->user, CLUSTER_DATA, &bytes);
  buffer_free (&bytes);
  table_free (&table);
}

static inline void
send_plain (struct bench *bench, const char *user, uint64_t session, uint64_t sequence)
{
  send_frame (bench, &(struct made_frame){ .user = user, .session = session, .sequence = sequence });
}

static inline void
send_control (struct bench *bench, const char *user, const struct control *control)
{
  struct buffer bytes = { 0 };

  control_write (&bytes, control);
  deliver (bench, user, CLUSTER_CONTROL, &bytes);
  buffer_free (&bytes);
}

static inline void
send_hello (struct bench *bench, const char *user, const char *node, uint64_t session, int64_t period_ns)
{
  struct control hello = { .type = CONTROL_HELLO, .session = session, .period_ns = period_ns, .version = "9" };

  strcpy (hello.node, node);
  memcpy (hello.schema_hash, bench->schema->hash, SCHEMA_HASH_SIZE);
  send_control (bench, user, &hello);
}

static inline void
send_schema (struct bench *bench, const char *user, const uint8_t *hash, const void *bytes, size_t length)
{
  struct control message = { .type = CONTROL_SCHEMA, .schema = bytes, .schema_length = length };

  memcpy (message.schema_hash, hash, SCHEMA_HASH_SIZE);
  send_control (bench, user, &message);
}

static inline void
send_good_schema (struct bench *bench, const char *user)
{
  send_schema (bench, user, bench->schema->hash, bench->schema->encoded.data, bench->schema->encoded.length);
}

/* A node as it usually comes: hello, schema, first frame. */
static inline void
bring_up (struct bench *bench, const char *user, uint64_t session)
{
  send_hello (bench, user, user, session, NS_PER_S);
  send_good_schema (bench, user);
  send_plain (bench, user, session, 1);
}

static inline void
pass (struct bench *bench, int64_t ns)
{
  for (int64_t left = ns; left > 0; left -= 250 * NS_PER_MS) {
    bench->now_ns += left < 250 * NS_PER_MS ? left : 250 * NS_PER_MS;
    cluster_tick (bench->cluster, now (bench));
  }
}

static inline size_t
count_events (const struct bench *bench, enum event_type type, const char *node, const char *reason)
{
  size_t count = 0;

  for (size_t i = 0; i < bench->event_count && i < EVENTS_MAX; i++)
    count += bench->events[i].type == type && (!node || strcmp (bench->events[i].node, node) == 0) &&
             (!reason || strcmp (bench->events[i].reason, reason) == 0);
  return count;
}

static inline size_t
count_answers (const struct bench *bench, enum control_type type)
{
  size_t count = 0;

  for (size_t i = 0; i < bench->answer_count && i < 64; i++)
    count += bench->answers[i].type == type;
  return count;
}

static inline enum node_state
state_of (const struct bench *bench, const char *name)
{
  return cluster_find (bench->cluster, name)->state;
}

#define BENCH_TEST(name) cmocka_unit_test_setup_teardown (name, bench_set_up, bench_tear_down)

#endif
