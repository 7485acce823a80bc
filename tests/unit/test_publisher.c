/* The agent's side of the conversation, without sockets and without time: the link, the loop and the clock are this
 * file's own, so that minutes pass at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/probe_schedule.h"
#include "agent/publisher.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/frame.h"
#include "synop/keys.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/memory.h"

#define S NS_PER_S
#define SESSION UINT64_C (0x1234567890abcdef)
#define START (INT64_C (1000) * S + 3)

/* ---- the clock ---- */

static int64_t now_ns;

int64_t
clock_monotonic (void)
{
  return now_ns;
}

int64_t
clock_wall (void)
{
  return now_ns + INT64_C (1700000000) * S;
}

size_t
clock_text (int64_t wall_ns, char text[CLOCK_TEXT_SIZE])
{
  return (size_t) snprintf (text, CLOCK_TEXT_SIZE, "%lld", (long long) wall_ns);
}

/* ---- the loop ---- */

struct loop_timer {
  loop_timer_fn run;
  void *context;
  int64_t due_ns;
};

static struct loop_timer timers[3];
static size_t timer_count;
static loop_fd_fn ready;
static void *ready_context;

struct loop_timer *
loop_timer_add (struct loop *loop, loop_timer_fn run, void *context)
{
  struct loop_timer *timer = &timers[timer_count++];

  (void) loop;
  assert_true (timer_count <= sizeof timers / sizeof timers[0]);
  *timer = (struct loop_timer){ run, context, INT64_MAX };
  return timer;
}

void
loop_timer_set (struct loop_timer *timer, int64_t due_ns)
{
  timer->due_ns = due_ns;
}

void
loop_timer_remove (struct loop_timer *timer)
{
  if (timer)
    timer->due_ns = INT64_MAX;
}

struct loop_watch *
loop_watch_add (struct loop *loop, int fd, uint32_t events, loop_fd_fn run, void *context)
{
  (void) loop;
  (void) events;
  assert_int_equal (fd, 77);
  ready = run;
  ready_context = context;
  return (struct loop_watch *) &ready;
}

void
loop_watch_remove (struct loop_watch *watch)
{
  (void) watch;
}

static void
run_until (int64_t end_ns)
{
  for (;;) {
    struct loop_timer *next = &timers[0];
    int64_t due_ns;

    for (size_t i = 1; i < timer_count; i++)
      if (timers[i].due_ns < next->due_ns)
        next = &timers[i];
    due_ns = next->due_ns;

    if (due_ns > end_ns)
      break;
    now_ns = due_ns;
    next->due_ns = INT64_MAX;
    next->run (next->context, due_ns);
  }
  now_ns = end_ns;
}

/* ---- the link ---- */

static struct link_event events[4];
static size_t event_count;
static struct control sent[512];
static uint64_t replayed[512]; /* the sequence numbers of replayed frames */
static size_t room = SIZE_MAX; /* messages that the socket takes */
static size_t sent_count;
static struct frame_header frames[8192];
static int64_t frame_times[8192];
static bool frame_has_facts[8192];
static size_t frame_count, reconnects;
static struct schema *sent_schema;

struct link_agent *
link_agent_create (const struct link_agent_options *options, struct error *error)
{
  (void) error;
  assert_string_equal (options->endpoint, "tcp://master:5555");
  assert_int_equal (options->queue_frames, 300);
  return (struct link_agent *) &event_count;
}

void
link_agent_destroy (struct link_agent *link)
{
  (void) link;
}

int
link_agent_fd (const struct link_agent *link)
{
  (void) link;
  return 77;
}

static struct table *
take_table (void *context, size_t group)
{
  *(bool *) context |= group == 1;
  return NULL;
}

static void
done_table (void *context, size_t group, struct table *table)
{
  (void) context;
  (void) group;
  (void) table;
}

static struct schema *declared;
static struct buffer published; /* all frames, one behind the other */

int
link_agent_publish (struct link_agent *link, const void *bytes, size_t length)
{
  struct frame_sink sink = { &frame_has_facts[frame_count], take_table, done_table };
  struct error error;

  (void) link;
  assert_int_equal (frame_read_header (bytes, length, &frames[frame_count], &error), 0);
  assert_memory_equal (frames[frame_count].schema, declared->hash, SCHEMA_HASH_SIZE);
  frame_has_facts[frame_count] = false;
  assert_int_equal (frame_read_tables (bytes, length, &frames[frame_count], declared, &sink, &error), 0);
  frame_times[frame_count++] = now_ns;
  buffer_add (&published, bytes, length);
  return 0;
}

int
link_agent_send (struct link_agent *link, const void *bytes, size_t length)
{
  struct control *message = &sent[sent_count++];
  struct error error;

  (void) link;
  assert_true (sent_count <= sizeof sent / sizeof sent[0]);
  if (room == 0) {
    sent_count--;
    return -1;
  }
  room--;
  assert_int_equal (control_read (bytes, length, message, &error), 0);
  if (message->type == CONTROL_REPLAYED) {
    struct frame_header header;

    assert_int_equal (frame_read_header (message->frame, message->frame_length, &header, &error), 0);
    replayed[sent_count - 1] = header.sequence;
  }
  if (message->type == CONTROL_SCHEMA) {
    schema_destroy (sent_schema);
    sent_schema = schema_read (message->schema, message->schema_length, &error);
    assert_non_null (sent_schema);
  }
  return 0;
}

bool
link_agent_next (struct link_agent *link, struct link_event *event)
{
  (void) link;
  if (event_count == 0)
    return false;
  *event = events[0];
  memmove (events, events + 1, --event_count * sizeof events[0]);
  return true;
}

void
link_agent_reconnect (struct link_agent *link)
{
  (void) link;
  reconnects++;
}

static void
happens (enum link_event_type type)
{
  events[event_count++] = (struct link_event){ .type = type };
  ready (ready_context, 1);
}

static void
hears_bytes (const void *bytes, size_t length)
{
  events[event_count++] = (struct link_event){ LINK_MESSAGE, bytes, length };
  ready (ready_context, 1);
}

static void
hears (struct control message)
{
  struct buffer bytes = { 0 };

  control_write (&bytes, &message);
  hears_bytes (bytes.data, bytes.length);
  buffer_free (&bytes);
}

static void
hears_welcome (bool known)
{
  hears ((struct control){ .type = CONTROL_WELCOME, .session = SESSION, .known = known, .version = "9" });
}

/* To the last message, a probe. */
static void
hears_answer (uint64_t session, bool known)
{
  assert_int_equal (sent[sent_count - 1].type, CONTROL_PROBE);
  hears ((struct control){
      .type = CONTROL_PROBE_ANSWER, .session = session, .known = known, .t1 = sent[sent_count - 1].t1 });
}

static size_t
count_sent (enum control_type type)
{
  size_t count = 0;

  for (size_t i = 0; i < sent_count; i++)
    count += sent[i].type == type;
  return count;
}

/* ---- a node to tell of ---- */

static const struct metric metrics[] = { { "value", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE,
                                           .help = "A value." } };
static const struct group group_plain = { .name = "plain",
                                          .section = "system_data",
                                          .row = "",
                                          .rows_name = "",
                                          .fold_name = "",
                                          .help = "Plain.",
                                          GROUP_METRICS (metrics) };
static const struct group group_facts = { .name = "facts",
                                          .section = "",
                                          .row = "",
                                          .rows_name = "",
                                          .fold_name = "",
                                          .flags = GROUP_ONCE,
                                          .help = "Facts.",
                                          GROUP_METRICS (metrics) };

static void *
value_open (const struct sampler_context *context)
{
  (void) context;
  return NULL;
}

static int
value_sample (void *state, struct table *table)
{
  (void) state;
  table_set_uint (table, TABLE_NODE, 0, 1);
  return 0;
}

static void
value_close (void *state)
{
  (void) state;
}

static const struct sampler plain = { &group_plain, NULL, value_open, value_sample, value_close };
static const struct sampler facts = { &group_facts, NULL, value_open, value_sample, value_close };

static char folder[] = "/tmp/synop-test-publisher.XXXXXX";
static struct sampling *sampling;
static struct publisher *publisher;

static int
make_keys (void **state)
{
  struct key_pair pair;
  char *path;
  int rc;

  (void) state;
  log_set_level (LOG_LEVEL_ERROR);
  if (!mkdtemp (folder))
    return -1;
  key_pair_make (&pair);
  path = memory_format ("%s/agent.key", folder);
  rc = key_secret_write (path, pair.secret_key, NULL, NULL);
  free (path);
  path = memory_format ("%s/aggregator.pub", folder);
  rc |= key_public_write (path, pair.public_key, NULL, NULL);
  free (path);
  return rc;
}

static int
remove_keys (void **state)
{
  char *key = memory_format ("%s/agent.key", folder), *pub = memory_format ("%s/aggregator.pub", folder);
  int rc;

  (void) state;
  unlink (key);
  unlink (pub);
  rc = rmdir (folder);
  free (key);
  free (pub);
  return rc;
}

static struct ring *ring;
static const char *frame_log; /* for the next publisher */

static struct publisher *
create_publisher (uint64_t session)
{
  struct publisher_options options = { .node = "n1",
                                       .session = session,
                                       .endpoint = "tcp://master:5555",
                                       .keys = folder,
                                       .queue_frames = 300,
                                       .ring = ring,
                                       .frame_log = frame_log };
  struct error error;

  return publisher_create (&options, NULL, sampling, &error);
}

static int
begin_without_ring (void **state)
{
  static const struct sampler *const list[] = { &plain, &facts };
  static const int64_t periods[] = { S, S };
  static const struct sampler_context context = { .root = "" };
  const struct group *const *groups;
  size_t count;

  (void) state;
  now_ns = START;
  timer_count = event_count = sent_count = frame_count = reconnects = 0;
  sampling = sampling_create (list, periods, 2, &context);
  groups = sampling_groups (sampling, &count);
  declared = schema_create (groups, count);
  publisher = create_publisher (SESSION);
  return publisher ? 0 : -1;
}

static int
begin (void **state)
{
  const struct ring_options in_memory = { "", 65536, 900 * S, "n1" };

  ring = ring_create (&in_memory, START, START);
  return begin_without_ring (state);
}

static int
end (void **state)
{
  (void) state;
  publisher_destroy (publisher);
  ring_destroy (ring);
  ring = NULL;
  sampling_destroy (sampling);
  schema_destroy (declared);
  schema_destroy (sent_schema);
  sent_schema = NULL;
  buffer_free (&published);
  published = (struct buffer){ 0 };
  return 0;
}

/* ---- the conversation ---- */

static void
test_hello_when_connected (void **state)
{
  (void) state;
  run_until (START + S / 2);
  assert_int_equal (sent_count, 0);
  happens (LINK_UP);
  assert_int_equal (sent_count, 1);
  assert_int_equal (sent[0].type, CONTROL_HELLO);
  assert_string_equal (sent[0].node, "n1");
  assert_true (sent[0].session == SESSION);
  assert_int_equal (sent[0].period_ns, S);
  assert_int_equal (sent[0].last_sequence, 0);
  assert_memory_equal (sent[0].schema_hash, declared->hash, SCHEMA_HASH_SIZE);
}

/* The frames since `first`: at whole seconds, numbered on, the facts with that one alone. */
static void
assert_frames (size_t first, size_t count)
{
  assert_int_equal (frame_count, first + count);
  for (size_t i = first; i < frame_count; i++) {
    assert_int_equal (frame_times[i] % S, 0);
    assert_int_equal (frame_times[i], frame_times[first] + (int64_t) (i - first) * S);
    assert_int_equal (frames[i].monotonic_ns, frame_times[i]);
    assert_int_equal (frames[i].sequence, i + 1);
    assert_true (frames[i].session == SESSION);
    assert_string_equal (frames[i].node, "n1");
    assert_int_equal (frame_has_facts[i], i == first);
  }
}

/* Without a ring nothing is sampled before the welcome: nobody would ever get it. */
static void
test_frames_begin_with_the_welcome (void **state)
{
  (void) state;
  happens (LINK_UP);
  assert_int_equal (sent[0].first_sequence, 0);
  run_until (START + 3 * S);
  assert_int_equal (frame_count, 0);
  hears_welcome (true);
  assert_int_equal (count_sent (CONTROL_SCHEMA), 0);
  run_until (START + 8 * S);
  assert_frames (0, 5);
  hears_welcome (true);
  run_until (START + 10 * S);
  assert_frames (5, 2);
}

/* An aggregator that is there is waited for, so that the first frame arrives. */
static void
test_frames_wait_for_the_welcome (void **state)
{
  (void) state;
  run_until (START + S / 10);
  happens (LINK_UP);
  run_until (START + 9 * S / 10);
  hears_welcome (true);
  run_until (1002 * S - 1);
  assert_int_equal (frame_count, 0);
  run_until (START + 8 * S);
  assert_frames (0, 7);
}

/* One that is not there is not. The hello tells of the frames, and they are there to be asked for. */
static void
test_frames_begin_without_an_aggregator (void **state)
{
  size_t before;

  (void) state;
  run_until (START + S);
  assert_int_equal (frame_count, 0);
  run_until (START + 10 * S);
  assert_frames (0, 9);
  assert_int_equal (frame_times[0], 1002 * S);
  happens (LINK_UP);
  assert_int_equal (sent_count, 1);
  assert_int_equal (sent[0].first_sequence, 1);
  assert_int_equal (sent[0].last_sequence, 9);
  hears_welcome (true);
  run_until (START + 15 * S);
  assert_frames (9, 5); /* with the facts again */
  assert_int_equal (frame_times[9], frame_times[8] + S);
  before = sent_count;
  hears ((struct control){
      .type = CONTROL_REPLAY_REQUEST, .session = SESSION, .from = 1, .to = 9, .frames = 64, .bytes = 100000 });
  assert_int_equal (sent_count, before + 10);
}

/* From its own clock to the cluster's: no two samples that almost touch, and none left out. */
static void
test_own_clock_then_the_clusters (void **state)
{
  (void) state;
  run_until (START + 10 * S + S / 4);
  happens (LINK_UP);
  hears_welcome (true);
  hears ((struct control){ .type = CONTROL_PROBE_ANSWER,
                           .session = SESSION,
                           .known = true,
                           .t1 = sent[sent_count - 1].t1,
                           .has_clock = true,
                           .clock = { START, INT64_C (1800000000) * S + S / 3, 1000, 0, false } });
  run_until (START + 20 * S);
  assert_int_equal (frame_count, 9 + 10);
  for (size_t i = 1; i < frame_count; i++) {
    assert_in_range (frame_times[i] - frame_times[i - 1], S / 2, 3 * S / 2);
    if (i > 9)
      assert_in_range ((frame_times[i] - START + S / 3 + 10) % S, 0, 20);
  }
}

/* There is time for two probes before it. */
static void
test_first_frame_leaves_time_for_probes (void **state)
{
  (void) state;
  run_until (1001 * S - 20 * NS_PER_MS);
  happens (LINK_UP);
  hears_welcome (true);
  run_until (1002 * S - 1);
  assert_int_equal (frame_count, 0);
  run_until (1002 * S);
  assert_int_equal (frame_count, 1);
}

static void
test_schema_when_it_is_not_known (void **state)
{
  struct control request = { .type = CONTROL_SCHEMA_REQUEST };

  (void) state;
  happens (LINK_UP);
  hears_welcome (false);
  assert_int_equal (count_sent (CONTROL_SCHEMA), 1);
  assert_int_equal (sent_schema->group_count, 2);
  assert_memory_equal (sent_schema->hash, declared->hash, SCHEMA_HASH_SIZE);
  hears (request); /* of another schema */
  assert_int_equal (count_sent (CONTROL_SCHEMA), 1);
  memcpy (request.schema_hash, declared->hash, SCHEMA_HASH_SIZE);
  hears (request);
  assert_int_equal (count_sent (CONTROL_SCHEMA), 2);
}

static void
test_forgotten_session_says_hello (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 3 * S);
  hears_answer (SESSION, true);
  run_until (now_ns + 1); /* the second exchange */
  hears_answer (SESSION + 1, false);
  assert_int_equal (count_sent (CONTROL_HELLO), 1);
  hears_answer (SESSION, false);
  assert_int_equal (count_sent (CONTROL_HELLO), 2);
  assert_int_equal (sent[sent_count - 1].last_sequence, 3);
}

static void
test_welcome_of_another_session_is_nothing (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears ((struct control){ .type = CONTROL_WELCOME, .session = 1 });
  run_until (START + 5 * S);
  assert_int_equal (sent_count, 1);
  assert_int_equal (frame_count, 0);
}

/* Frames go on whatever becomes of the control channel. */
static void
test_frames_go_on_while_it_is_away (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 5 * S);
  happens (LINK_DOWN);
  run_until (START + 20 * S);
  assert_int_equal (frame_count, 20);
  happens (LINK_UP);
  assert_int_equal (count_sent (CONTROL_HELLO), 2);
}

/* A burst, then ever more seldom, never more than one a second, and at last at rest; the second exchange of each comes
 * with the answer to the first; each message tells the four times of the exchange before. */
static void
test_probes (void **state)
{
  int64_t last = 0;

  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  for (size_t i = 0; i < 250; i++) {
    const struct control *probe = &sent[sent_count - 1];
    int64_t pause = now_ns - last;

    assert_int_equal (probe->type, CONTROL_PROBE);
    assert_int_equal (probe->t1, now_ns);
    assert_int_equal (probe->has_last, i > 0);
    if (i > 0) {
      assert_int_equal (probe->last[0], last);
      assert_int_equal (probe->last[1], last + 7);
      assert_int_equal (probe->last[2], last + 8);
      assert_int_equal (probe->last[3], last + S / 100);
      if (i % PROBE_EXCHANGES != 0)
        assert_int_equal (pause, S / 100);
      else if (i < PROBE_BURST * PROBE_EXCHANGES)
        assert_int_equal (pause, PROBE_BURST_NS);
      else
        assert_in_range (pause, i > 180 ? PROBE_REST_NS / 2 : S, PROBE_REST_NS * 3 / 2);
    }
    last = now_ns;
    run_until (now_ns + S / 100);
    hears ((struct control){
        .type = CONTROL_PROBE_ANSWER, .session = SESSION, .known = true, .t1 = last, .t2 = last + 7, .t3 = last + 8 });
    for (size_t before = count_sent (CONTROL_PROBE); count_sent (CONTROL_PROBE) == before;)
      run_until (timers[1].due_ns);
  }
  assert_int_equal (reconnects, 0); /* no pause is so long that it counts as silence */
}

/* An aggregator that welcomes and never knows, as when another agent has the same key: hellos become seldom. Then it
 * knows the session, and forgets it: the next hello comes soon. */
static void
test_never_known (void **state)
{
  size_t heard = 0, hellos;

  (void) state;
  happens (LINK_UP);
  for (bool known = false;; known = true) {
    for (int64_t stop = now_ns + 150 * S; now_ns < stop; run_until (now_ns + S / 100))
      for (; heard < sent_count; heard++) {
        if (sent[heard].type == CONTROL_HELLO)
          hears_welcome (true);
        else
          hears ((struct control){
              .type = CONTROL_PROBE_ANSWER, .session = SESSION, .known = known, .t1 = sent[heard].t1 });
      }
    if (known)
      break;
    /* The first, one at once, and after 1, 2, 4, 8, 16, 30, 30, 30 s and more. */
    assert_in_range (count_sent (CONTROL_HELLO), 7, 10);
    assert_in_range (sent_count, 50, 200);
  }

  while (sent_count == heard)
    run_until (now_ns + S / 100);
  hellos = count_sent (CONTROL_HELLO);
  hears_answer (SESSION, false);
  assert_int_equal (count_sent (CONTROL_HELLO), hellos + 1);
}

/* At once, and not at all for answers that nobody waits for. */
static void
test_flood_of_answers (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  for (; now_ns < START + 30 * S; run_until (now_ns + S / 100))
    for (int i = 0; i < 10; i++)
      hears ((struct control){ .type = CONTROL_PROBE_ANSWER, .session = SESSION, .t1 = now_ns + i + 1 });
  assert_int_equal (count_sent (CONTROL_HELLO), 1);
  hears ((struct control){ .type = CONTROL_PROBE_ANSWER, .session = SESSION, .t1 = sent[sent_count - 1].t1 });
  assert_int_equal (count_sent (CONTROL_HELLO), 2);
}

static void
test_flood_of_welcomes (void **state)
{
  (void) state;
  happens (LINK_UP);
  for (; now_ns < START + 10 * S; run_until (now_ns + S / 100))
    hears_welcome (false);
  assert_in_range (count_sent (CONTROL_PROBE), 10, 10 * PROBE_BURST);
  assert_in_range (count_sent (CONTROL_SCHEMA), 10, 40);
  assert_int_equal (count_sent (CONTROL_HELLO), 1);
  assert_in_range (frame_count, 9, 10);
  happens (LINK_DOWN); /* the next one may be another aggregator */
  happens (LINK_UP);
  hears_welcome (true);
  assert_int_equal (sent[sent_count - 1].type, CONTROL_PROBE);
}

static void
test_flood_of_schema_requests (void **state)
{
  struct control request = { .type = CONTROL_SCHEMA_REQUEST };

  (void) state;
  memcpy (request.schema_hash, declared->hash, SCHEMA_HASH_SIZE);
  happens (LINK_UP);
  for (; now_ns < START + 10 * S; run_until (now_ns + S / 100))
    hears (request);
  assert_in_range (count_sent (CONTROL_SCHEMA), 10, 40);
  run_until (START + 20 * S);
  size_t before = count_sent (CONTROL_SCHEMA);
  hears (request);
  assert_int_equal (count_sent (CONTROL_SCHEMA), before + 1);
}

/* An answer that is not of the probe under way tells nothing. */
static void
test_stray_answers_tell_nothing (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  hears ((struct control){ .type = CONTROL_PROBE_ANSWER, .session = SESSION, .known = true, .t1 = START - 1 });
  run_until (START + S / 4);
  assert_int_equal (count_sent (CONTROL_PROBE), 2);
  assert_false (sent[sent_count - 1].has_last);
}

static void
hears_clock (int64_t node_ns, int64_t cluster_ns, double drift, bool soon)
{
  hears ((struct control){ .type = CONTROL_PROBE_ANSWER,
                           .session = SESSION,
                           .known = true,
                           .t1 = sent[sent_count - 1].t1,
                           .has_clock = true,
                           .clock = { node_ns, cluster_ns, 1000, drift, soon } });
}

/* Once cluster time is known it is its multiples at which is sampled, whatever drift it has. */
static void
test_samples_on_cluster_time (void **state)
{
  const double drift = 300e-6;

  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 3 * S + S / 4);
  size_t before = frame_count;

  hears_clock (START, INT64_C (1800000000) * S + S / 3, drift, false);
  run_until (START + 20 * S);
  assert_true (frame_count >= before + 16);
  for (size_t i = before; i < frame_count; i++) {
    int64_t since = frame_times[i] - START;
    int64_t there = S / 3 + since + (int64_t) ((double) since * drift);

    assert_in_range ((there + 10) % S, 0, 20);
    assert_true (i == 0 || frame_times[i] > frame_times[i - 1]);
  }
}

/* A mapping that moves by microseconds makes no instant go by. */
static void
test_better_mapping_skips_nothing (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  for (int i = 1; i < 60; i++) {
    hears_clock (START, INT64_C (1800000000) * S + (i % 2 ? 40000 : -40000), 0, false);
    run_until (START + i * S / 2 - 1000);
  }
  assert_in_range (frame_count, 28, 30);
}

static void
test_probes_soon_when_asked (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 300 * S);
  size_t before = count_sent (CONTROL_PROBE);

  hears_clock (START, START, 0, true);
  run_until (now_ns + S);
  assert_int_equal (count_sent (CONTROL_PROBE), before + PROBE_EXCHANGES - 1 + PROBE_BURST / 2);
}

static void
test_silence_brings_a_new_connection (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 119 * S);
  assert_int_equal (reconnects, 0);
  run_until (START + 133 * S);
  assert_int_equal (reconnects, 1);
  run_until (START + 119 * S + 120 * S);
  assert_int_equal (reconnects, 1);
  run_until (START + 133 * S + 133 * S);
  assert_int_equal (reconnects, 2);
}

static void
test_broken_messages_change_nothing (void **state)
{
  (void) state;
  happens (LINK_UP);
  hears_bytes ("", 0);
  hears_bytes ("\xc1", 1);
  hears_bytes ("\x92\x01\x63", 3);
  hears_bytes ("\xdd\xff\xff\xff\xff", 5);
  assert_int_equal (sent_count, 1);
  hears_welcome (true);
  run_until (START + 2 * S);
  assert_int_equal (frame_count, 2);
}

/* ---- replay ---- */

static void
asks (uint64_t session, uint64_t from, uint64_t to, uint32_t most, uint32_t bytes)
{
  hears ((struct control){
      .type = CONTROL_REPLAY_REQUEST, .session = session, .from = from, .to = to, .frames = most, .bytes = bytes });
}

/* Since `before` messages: frames `from` to `to`, and the end that says that all up to `end` were looked for. */
static void
assert_replayed (size_t before, uint64_t from, uint64_t to, uint64_t end)
{
  size_t count = (size_t) (to + 1 - from);

  assert_int_equal (sent_count, before + count + 1);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal (sent[before + i].type, CONTROL_REPLAYED);
    assert_int_equal (replayed[before + i], from + i);
  }
  assert_int_equal (sent[sent_count - 1].type, CONTROL_REPLAY_END);
  assert_int_equal (sent[sent_count - 1].sent, count);
  assert_int_equal (sent[sent_count - 1].to, end);
}

static void
test_replay (void **state)
{
  size_t before;

  (void) state;
  happens (LINK_UP);
  assert_int_equal (sent[0].first_sequence, 1);
  hears_welcome (true);
  run_until (START + 20 * S);
  happens (LINK_DOWN);
  happens (LINK_UP);
  assert_int_equal (sent[sent_count - 1].first_sequence, 1);
  assert_int_equal (sent[sent_count - 1].last_sequence, 20);
  assert_int_equal (sent[sent_count - 1].held_count, 0);

  before = sent_count;
  asks (SESSION, 5, 9, 64, 100000);
  assert_replayed (before, 5, 9, 9);
  assert_int_equal (sent[sent_count - 1].from, 5);
  assert_true (sent[sent_count - 1].session == SESSION);
  before = sent_count;
  asks (SESSION, 5, 20, 3, 100000);
  assert_replayed (before, 5, 7, 7);
  before = sent_count;
  asks (SESSION, 15, INT64_MAX, 64, 100000); /* there are none behind 20 */
  assert_replayed (before, 15, 20, INT64_MAX);
  before = sent_count;
  asks (SESSION, 5, 9, 64, 1); /* all of them are larger than that */
  assert_replayed (before, 5, 4, 9);
  before = sent_count;
  asks (SESSION + 1, 5, 9, 64, 100000);
  assert_replayed (before, 5, 4, 9);
  assert_int_equal (frame_count, 20); /* none of that was published */
}

static void
test_replay_that_the_socket_does_not_take (void **state)
{
  size_t before;

  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 20 * S);
  before = sent_count;
  room = 3;
  asks (SESSION, 5, 9, 64, 100000);
  assert_int_equal (sent_count, before + 3); /* and no end, so it is asked for again */
  room = SIZE_MAX;
  before = sent_count;
  asks (SESSION, 5, 9, 64, 100000);
  assert_replayed (before, 5, 9, 9);
}

static void
test_replay_of_an_earlier_session (void **state)
{
  size_t before;

  (void) state;
  happens (LINK_UP);
  hears_welcome (true);
  run_until (START + 5 * S);
  publisher_destroy (publisher); /* the ring stays, as the file does */
  timer_count = 0;
  publisher = create_publisher (SESSION + 5);
  happens (LINK_UP);
  assert_int_equal (sent[sent_count - 1].first_sequence, 1);
  assert_int_equal (sent[sent_count - 1].last_sequence, 0);
  assert_int_equal (sent[sent_count - 1].held_count, 1);
  assert_true (sent[sent_count - 1].held[0].session == SESSION);
  assert_int_equal (sent[sent_count - 1].held[0].first, 1);
  assert_int_equal (sent[sent_count - 1].held[0].last, 5);
  before = sent_count;
  asks (SESSION, 3, 5, 64, 100000);
  assert_replayed (before, 3, 5, 5);
}

/* ---- the log of frames ---- */

static int
begin_log (void **state)
{
  static char path[sizeof folder + 4];

  snprintf (path, sizeof path, "%s/log", folder);
  frame_log = path;
  return begin (state);
}

static int
end_log (void **state)
{
  int rc = end (state);

  unlink (frame_log);
  frame_log = NULL;
  return rc;
}

static void
assert_log_is_what_was_published (void)
{
  struct buffer logged = { 0 };
  struct stat status;
  int fd = open (frame_log, O_RDONLY);

  assert_true (fd >= 0 && fstat (fd, &status) == 0);
  assert_int_equal (status.st_mode & 0777, 0600);
  assert_int_equal (status.st_size, published.length);
  assert_true (published.length > 0);
  buffer_reserve (&logged, published.length);
  assert_int_equal (read (fd, logged.data, published.length), published.length);
  assert_memory_equal (logged.data, published.data, published.length);
  buffer_free (&logged);
  close (fd);
}

/* As they are sent, whether anybody takes them or not; the next agent goes on behind. */
static void
test_frame_log (void **state)
{
  (void) state;
  run_until (START + 5 * S);
  assert_log_is_what_was_published ();
  publisher_destroy (publisher);
  timer_count = 0;
  publisher = create_publisher (SESSION + 1);
  happens (LINK_UP);
  run_until (START + 10 * S);
  assert_log_is_what_was_published ();
}

/* A reload frees the texts that it was told of; the keys' folder is named when the key is refused later. */
static void
test_texts_of_a_connection_may_go (void **state)
{
  char *endpoint = memory_string ("tcp://master:5555"), *keys = memory_string (folder);
  struct error error;

  (void) state;
  happens (LINK_UP);
  assert_int_equal (publisher_connect (publisher, endpoint, keys, 300, &error), 0);
  assert_int_equal (publisher_connect (publisher, endpoint, "/nowhere", 300, &error), -1);
  free (endpoint);
  free (keys);
  assert_int_equal (count_sent (CONTROL_HELLO), 1); /* nothing differs, or it failed: the connection stays */
  log_set_level (LOG_LEVEL_WARNING);
  happens (LINK_REFUSED);
  log_set_level (LOG_LEVEL_ERROR);
}

static void
test_keys_that_are_missing (void **state)
{
  struct publisher_options options = {
    .node = "n1", .session = 1, .endpoint = "tcp://master:5555", .keys = "/nowhere"
  };
  struct error error;

  (void) state;
  assert_null (publisher_create (&options, NULL, NULL, &error));
  assert_non_null (strstr (error.text, "/nowhere/agent.key"));
  assert_non_null (strstr (error.text, "agent keys init"));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_hello_when_connected, begin, end),
    cmocka_unit_test_setup_teardown (test_frames_begin_with_the_welcome, begin_without_ring, end),
    cmocka_unit_test_setup_teardown (test_frames_wait_for_the_welcome, begin, end),
    cmocka_unit_test_setup_teardown (test_frames_begin_without_an_aggregator, begin, end),
    cmocka_unit_test_setup_teardown (test_own_clock_then_the_clusters, begin, end),
    cmocka_unit_test_setup_teardown (test_first_frame_leaves_time_for_probes, begin, end),
    cmocka_unit_test_setup_teardown (test_schema_when_it_is_not_known, begin, end),
    cmocka_unit_test_setup_teardown (test_forgotten_session_says_hello, begin, end),
    cmocka_unit_test_setup_teardown (test_welcome_of_another_session_is_nothing, begin_without_ring, end),
    cmocka_unit_test_setup_teardown (test_frames_go_on_while_it_is_away, begin, end),
    cmocka_unit_test_setup_teardown (test_probes, begin, end),
    cmocka_unit_test_setup_teardown (test_never_known, begin, end),
    cmocka_unit_test_setup_teardown (test_flood_of_answers, begin, end),
    cmocka_unit_test_setup_teardown (test_flood_of_welcomes, begin, end),
    cmocka_unit_test_setup_teardown (test_flood_of_schema_requests, begin, end),
    cmocka_unit_test_setup_teardown (test_stray_answers_tell_nothing, begin, end),
    cmocka_unit_test_setup_teardown (test_samples_on_cluster_time, begin, end),
    cmocka_unit_test_setup_teardown (test_better_mapping_skips_nothing, begin, end),
    cmocka_unit_test_setup_teardown (test_probes_soon_when_asked, begin, end),
    cmocka_unit_test_setup_teardown (test_silence_brings_a_new_connection, begin, end),
    cmocka_unit_test_setup_teardown (test_broken_messages_change_nothing, begin, end),
    cmocka_unit_test_setup_teardown (test_replay, begin, end),
    cmocka_unit_test_setup_teardown (test_replay_that_the_socket_does_not_take, begin, end),
    cmocka_unit_test_setup_teardown (test_replay_of_an_earlier_session, begin, end),
    cmocka_unit_test_setup_teardown (test_frame_log, begin_log, end_log),
    cmocka_unit_test_setup_teardown (test_texts_of_a_connection_may_go, begin, end),
    cmocka_unit_test (test_keys_that_are_missing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, make_keys, remove_keys);
}
