/* The agent's side of the conversation: hello and welcome, the schema, and when frames begin and go on. */
#include "tests/unit/agent/uplink/publisher_stage.h"

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

/* There is time for two probes before it. */
static void
test_first_frame_leaves_time_for_probes (void **state)
{
  (void) state;
  run_until (1001 * S - 20 * NS_PER_MS);
  is_welcomed (true);
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
  is_welcomed (false);
  assert_int_equal (count_sent (CONTROL_SCHEMA), 1);
  assert_int_equal (sent_schema->group_count, 2);
  assert_memory_equal (sent_schema->hash, declared->hash, SCHEMA_HASH_SIZE);
  hears (request); /* of one that it never had: the aggregator need not wait for it */
  assert_int_equal (count_sent (CONTROL_SCHEMA), 2);
  assert_null (sent_schema);
  assert_memory_equal (sent[sent_count - 1].schema_hash, request.schema_hash, SCHEMA_HASH_SIZE);
  memcpy (request.schema_hash, declared->hash, SCHEMA_HASH_SIZE);
  hears (request);
  assert_int_equal (count_sent (CONTROL_SCHEMA), 3);
  assert_memory_equal (sent_schema->hash, declared->hash, SCHEMA_HASH_SIZE);
}

static void
test_forgotten_session_says_hello (void **state)
{
  (void) state;
  is_welcomed (true);
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
  is_welcomed (true);
  run_until (START + 5 * S);
  happens (LINK_DOWN);
  run_until (START + 20 * S);
  assert_int_equal (frame_count, 20);
  happens (LINK_UP);
  assert_int_equal (count_sent (CONTROL_HELLO), 2);
}

static void
test_silence_brings_a_new_connection (void **state)
{
  (void) state;
  is_welcomed (true);
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

/* What it warns of until then. */
static void
warnings_until (int64_t end_ns, char *said, size_t size)
{
  FILE *file = tmpfile ();
  int saved = dup (STDERR_FILENO);

  assert_non_null (file);
  dup2 (fileno (file), STDERR_FILENO);
  log_set_level (LOG_LEVEL_WARNING);
  run_until (end_ns);
  log_set_level (LOG_LEVEL_ERROR);
  dup2 (saved, STDERR_FILENO);
  close (saved);
  rewind (file);
  said[fread (said, 1, size - 1, file)] = '\0';
  fclose (file);
}

static void
test_silence_at_the_start_is_told (void **state)
{
  char said[1024];

  (void) state;
  warnings_until (START + 25 * S, said, sizeof said);
  assert_non_null (strstr (said, "no aggregator answers at tcp://"));
}

/* An aggregator that does not list the key lets the handshake go on for as long as it takes to call it silent. */
static void
test_a_handshake_is_an_answer (void **state)
{
  char said[1024];

  (void) state;
  greeting = true;
  warnings_until (START + 25 * S, said, sizeof said);
  greeting = false;
  assert_string_equal (said, "");
  warnings_until (START + 35 * S, said, sizeof said); /* it came to nothing */
  assert_non_null (strstr (said, "no aggregator answers at tcp://"));
}

/* A reload connects anew, just before it is looked whether somebody answers. */
static void
test_a_new_connection_has_its_time (void **state)
{
  struct error error;
  char said[1024];

  (void) state;
  run_until (START + 9 * S);
  assert_int_equal (publisher_connect (publisher, "tcp://master:5555", folder, 301, &error), 0);
  warnings_until (START + 18 * S, said, sizeof said);
  assert_string_equal (said, "");
  warnings_until (START + 30 * S, said, sizeof said);
  assert_non_null (strstr (said, "no aggregator answers at tcp://"));
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
  assert_non_null (strstr (error.text, "synop-agent keys init --keys /nowhere --node n1"));
}

/* The key has as many connections as it may have: libzmq does not try again, so the agent does. */
static void
test_crowded_key (void **state)
{
  (void) state;
  is_welcomed (true);
  run_until (START + 5 * S);
  happens (LINK_OVER_LIMIT);
  assert_int_equal (reconnects, 0);
  run_until (START + 35 * S);
  assert_int_equal (reconnects, 3);
  assert_int_equal (frame_count, 35);
  is_welcomed (true);
  run_until (START + 65 * S);
  assert_int_equal (reconnects, 3);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_hello_when_connected, begin, end),
    cmocka_unit_test_setup_teardown (test_crowded_key, begin, end),
    cmocka_unit_test_setup_teardown (test_frames_begin_with_the_welcome, begin_without_ring, end),
    cmocka_unit_test_setup_teardown (test_frames_wait_for_the_welcome, begin, end),
    cmocka_unit_test_setup_teardown (test_frames_begin_without_an_aggregator, begin, end),
    cmocka_unit_test_setup_teardown (test_first_frame_leaves_time_for_probes, begin, end),
    cmocka_unit_test_setup_teardown (test_schema_when_it_is_not_known, begin, end),
    cmocka_unit_test_setup_teardown (test_forgotten_session_says_hello, begin, end),
    cmocka_unit_test_setup_teardown (test_welcome_of_another_session_is_nothing, begin_without_ring, end),
    cmocka_unit_test_setup_teardown (test_frames_go_on_while_it_is_away, begin, end),
    cmocka_unit_test_setup_teardown (test_flood_of_schema_requests, begin, end),
    cmocka_unit_test_setup_teardown (test_silence_brings_a_new_connection, begin, end),
    cmocka_unit_test_setup_teardown (test_broken_messages_change_nothing, begin, end),
    cmocka_unit_test_setup_teardown (test_texts_of_a_connection_may_go, begin, end),
    cmocka_unit_test_setup_teardown (test_silence_at_the_start_is_told, begin, end),
    cmocka_unit_test_setup_teardown (test_a_handshake_is_an_answer, begin, end),
    cmocka_unit_test_setup_teardown (test_a_new_connection_has_its_time, begin, end),
    cmocka_unit_test (test_keys_that_are_missing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, make_keys, remove_keys);
}
