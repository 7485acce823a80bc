/* What the publisher gives again of its ring, and the log of all that it published. */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/agent/uplink/publisher_stage.h"

static size_t asked_at; /* how many messages had been sent before */

/* Between answers there is a pause. */
static void
asks (uint64_t session, uint64_t from, uint64_t to, uint32_t most, uint32_t bytes)
{
  run_until (now_ns + S / 100);
  asked_at = sent_count;
  hears ((struct control){
      .type = CONTROL_REPLAY_REQUEST, .session = session, .from = from, .to = to, .frames = most, .bytes = bytes });
}

/* What was asked for last came: frames `from` to `to`, and the end that says that all up to `end` were looked for. */
static void
assert_replayed (uint64_t from, uint64_t to, uint64_t end)
{
  size_t count = (size_t) (to + 1 - from);

  assert_int_equal (sent_count, asked_at + count + 1);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal (sent[asked_at + i].type, CONTROL_REPLAYED);
    assert_int_equal (replayed[asked_at + i], from + i);
  }
  assert_int_equal (sent[sent_count - 1].type, CONTROL_REPLAY_END);
  assert_int_equal (sent[sent_count - 1].sent, count);
  assert_int_equal (sent[sent_count - 1].to, end);
}

static void
test_replay (void **state)
{
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

  asks (SESSION, 5, 9, 64, 100000);
  assert_replayed (5, 9, 9);
  assert_int_equal (sent[sent_count - 1].from, 5);
  assert_true (sent[sent_count - 1].session == SESSION);
  asks (SESSION, 5, 20, 3, 100000);
  assert_replayed (5, 7, 7);
  asks (SESSION, 15, INT64_MAX, 64, 100000); /* there are none behind 20 */
  assert_replayed (15, 20, INT64_MAX);
  asks (SESSION, 5, 9, 64, 1); /* all of them are larger than that */
  assert_replayed (5, 4, 9);
  asks (SESSION + 1, 5, 9, 64, 100000);
  assert_replayed (5, 4, 9);
  assert_int_equal (frame_count, 20); /* none of that was published */
}

/* What was sampled before a reload, or by the agent before an upgrade, has another schema: the ring knows it. */
static void
test_schema_of_earlier_samples (void **state)
{
  static const struct sampler *const list[] = { &plain };
  static const int64_t periods[] = { S };
  static const struct sampler_context context = { .root = "" };
  struct control request = { .type = CONTROL_SCHEMA_REQUEST };
  struct schema *before = declared;
  size_t count;

  (void) state;
  is_welcomed (true);
  run_until (START + 5 * S);
  publisher_drop_sampling (publisher);
  sampling_destroy (sampling);
  sampling = sampling_create (list, periods, 1, &context);
  declared = schema_create (sampling_groups (sampling, &count), 1);
  publisher_use_sampling (publisher, sampling);
  run_until (START + 10 * S);
  memcpy (request.schema_hash, before->hash, SCHEMA_HASH_SIZE);
  hears (request);
  assert_non_null (sent_schema);
  assert_memory_equal (sent_schema->hash, before->hash, SCHEMA_HASH_SIZE);
  assert_memory_equal (sent[sent_count - 1].schema_hash, before->hash, SCHEMA_HASH_SIZE);

  restart_publisher (SESSION + 1);
  hears (request);
  assert_memory_equal (sent_schema->hash, before->hash, SCHEMA_HASH_SIZE);
  memcpy (request.schema_hash, declared->hash, SCHEMA_HASH_SIZE);
  hears (request);
  assert_memory_equal (sent_schema->hash, declared->hash, SCHEMA_HASH_SIZE);
  schema_destroy (before);
}

static void
test_replay_that_the_socket_does_not_take (void **state)
{
  (void) state;
  is_welcomed (true);
  run_until (START + 20 * S);
  room = 3;
  asks (SESSION, 5, 9, 64, 100000);
  assert_int_equal (sent_count, asked_at + 3); /* and no end, so it is asked for again */
  room = SIZE_MAX;
  asks (SESSION, 5, 9, 64, 100000);
  assert_replayed (5, 9, 9);
}

/* 9,200 a second, each for all that there ever was, in pieces that no frame fits: samples are taken as ever, little is
 * heard of it, and answered less. */
static void
test_requests_in_a_row (void **state)
{
  struct control request = {
    .type = CONTROL_REPLAY_REQUEST, .session = SESSION, .from = 1, .to = INT64_MAX, .frames = UINT32_MAX, .bytes = 1
  };
  struct buffer bytes = { 0 };
  size_t ends;

  (void) state;
  is_welcomed (true);
  run_until (START + 20 * S);
  control_write (&bytes, &request);
  asked_at = sent_count;
  ends = count_sent (CONTROL_REPLAY_END);
  events_heard = 0;
  repeats = 9199;
  hears_bytes (bytes.data, bytes.length);
  assert_in_range (events_heard, 1, 64); /* then others have their turn */
  assert_false (watched);
  run_until (START + 21 * S);
  assert_int_equal (frame_count, 21);
  assert_in_range (events_heard, 1000, 5000);
  assert_in_range (count_sent (CONTROL_REPLAY_END) - ends, 50, 250);
  run_until (START + 24 * S);
  assert_int_equal (events_heard, 9200);
  assert_true (watched);
  assert_int_equal (count_sent (CONTROL_REPLAYED), 0);
  buffer_free (&bytes);
}

/* However much is asked for at once, an answer has an end. */
static void
test_large_request (void **state)
{
  (void) state;
  is_welcomed (true);
  run_until (START + 100 * S);
  asks (SESSION, 1, INT64_MAX, UINT32_MAX, UINT32_MAX);
  assert_replayed (1, 64, 64);
  asks (SESSION, 65, INT64_MAX, UINT32_MAX, UINT32_MAX);
  assert_replayed (65, 100, INT64_MAX);
}

static void
test_replay_of_an_earlier_session (void **state)
{
  (void) state;
  is_welcomed (true);
  run_until (START + 5 * S);
  restart_publisher (SESSION + 5);
  assert_int_equal (sent[sent_count - 1].first_sequence, 1);
  assert_int_equal (sent[sent_count - 1].last_sequence, 0);
  assert_int_equal (sent[sent_count - 1].held_count, 1);
  assert_true (sent[sent_count - 1].held[0].session == SESSION);
  assert_int_equal (sent[sent_count - 1].held[0].first, 1);
  assert_int_equal (sent[sent_count - 1].held[0].last, 5);
  asks (SESSION, 3, 5, 64, 100000);
  assert_replayed (3, 5, 5);
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
  restart_publisher (SESSION + 1);
  run_until (START + 10 * S);
  assert_log_is_what_was_published ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_schema_of_earlier_samples, begin, end),
    cmocka_unit_test_setup_teardown (test_replay, begin, end),
    cmocka_unit_test_setup_teardown (test_replay_that_the_socket_does_not_take, begin, end),
    cmocka_unit_test_setup_teardown (test_requests_in_a_row, begin, end),
    cmocka_unit_test_setup_teardown (test_large_request, begin, end),
    cmocka_unit_test_setup_teardown (test_replay_of_an_earlier_session, begin, end),
    cmocka_unit_test_setup_teardown (test_frame_log, begin_log, end_log),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, make_keys, remove_keys);
}
