/* Control messages: each type there and back, cut, changed, and of versions to come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synop/control.h"
#include "synop/memory.h"

static const struct control messages[] = {
  { .type = CONTROL_HELLO,
    .node = "gpu-01",
    .session = UINT64_MAX,
    .schema_hash = "0123456789abcde",
    .first_sequence = 0,
    .last_sequence = INT64_MAX,
    .period_ns = 1000000000,
    .version = "0.1.0",
    .held_count = 2,
    .held = { { 9, 1, 4000000000 }, { UINT64_MAX, INT64_MAX, INT64_MAX } } },
  { .type = CONTROL_REPLAYED, .frame = (const uint8_t *) "frame", .frame_length = 5 },
  { .type = CONTROL_REPLAY_END, .session = 5, .from = 7, .to = 6, .sent = 0 },
  { .type = CONTROL_REPLAY_END, .session = 5, .from = 1, .to = INT64_MAX, .sent = 64 },
  { .type = CONTROL_REPLAY_REQUEST, .session = 5, .from = 1, .to = INT64_MAX, .frames = 64, .bytes = UINT32_MAX },
  { .type = CONTROL_SCHEMA, .schema_hash = "0123456789abcde", .schema = (const uint8_t *) "bytes", .schema_length = 5 },
  { .type = CONTROL_PROBE, .session = 5, .t1 = INT64_MAX },
  { .type = CONTROL_WELCOME, .session = 5, .known = true, .last_sequence = 77, .version = "0.1.0", .bytes = 262144 },
  { .type = CONTROL_PROBE_ANSWER, .session = 5, .t1 = 1, .t2 = -2, .t3 = 3, .known = true },
  { .type = CONTROL_SCHEMA_REQUEST, .schema_hash = "0123456789abcde" },
  { .type = CONTROL_WRONG_NODE, .session = 5, .node = "n1" },
  { .type = CONTROL_TRACE_REQUEST,
    .session = 5,
    .trace = { .id = UINT64_MAX,
               .kind = TRACE_BEGIN,
               .job = { "123/1", 5 },
               .user = { "ana", 3 },
               .tool = { "kineto", 6 },
               .options = { "A=1\nB=2", 7 },
               .output = { "/t/{rank}", 9 },
               .rank_count = 3,
               .ranks = { 0, 8, INT32_MAX },
               .limit = 7,
               .start_ns = 5000000000,
               .duration_ns = 500000000 } },
  { .type = CONTROL_TRACE_REQUEST, .session = 5, .trace = { .id = 1, .kind = TRACE_STATE } },
  { .type = CONTROL_TRACE_ANSWER,
    .session = 5,
    .traced = { .id = 9,
                .progress = TRACE_GOES_ON,
                .count = 2,
                .records = { { .pid = 71, .rank = -1, .uid = 1000, .device = -1, .job = { "123", 3 } },
                             { .rank = 8,
                               .uid = UINT32_MAX,
                               .device = 3,
                               .state = TRACE_ENDED,
                               .begun_ns = 77,
                               .size = 5,
                               .path = { "/t/8", 4 },
                               .error = { "why", 3 } } } } },
  { .type = CONTROL_TRACE_ANSWER,
    .session = 5,
    .traced = { .id = 9, .progress = TRACE_REFUSED, .error = { "off", 3 } } },
};
#define MESSAGES (sizeof messages / sizeof messages[0])

static void
assert_same_text (struct trace_text one, struct trace_text other)
{
  assert_int_equal (one.length, other.length);
  if (one.length > 0)
    assert_memory_equal (one.text, other.text, one.length);
}

static void
assert_same_request (const struct trace_request *one, const struct trace_request *other)
{
  assert_true (one->id == other->id && one->kind == other->kind && one->limit == other->limit);
  assert_same_text (one->job, other->job);
  assert_same_text (one->user, other->user);
  assert_same_text (one->tool, other->tool);
  assert_same_text (one->options, other->options);
  assert_same_text (one->output, other->output);
  assert_int_equal (one->rank_count, other->rank_count);
  assert_memory_equal (one->ranks, other->ranks, sizeof one->ranks);
  assert_true (one->start_ns == other->start_ns && one->duration_ns == other->duration_ns);
  assert_int_equal (one->iterations, other->iterations);
}

static void
assert_same_answer (const struct trace_answer *one, const struct trace_answer *other)
{
  assert_true (one->id == other->id && one->progress == other->progress);
  assert_same_text (one->error, other->error);
  assert_int_equal (one->count, other->count);
  for (size_t i = 0; i < one->count; i++) {
    const struct trace_record *a = &one->records[i], *b = &other->records[i];
    assert_true (a->pid == b->pid && a->rank == b->rank && a->uid == b->uid && a->device == b->device);
    assert_true (a->state == b->state && a->begun_ns == b->begun_ns && a->size == b->size);
    assert_same_text (a->job, b->job);
    assert_same_text (a->path, b->path);
    assert_same_text (a->error, b->error);
  }
}

static void
assert_same (const struct control *one, const struct control *other)
{
  assert_int_equal (one->type, other->type);
  assert_string_equal (one->node, other->node);
  if (one->type == CONTROL_TRACE_REQUEST)
    assert_same_request (&one->trace, &other->trace);
  if (one->type == CONTROL_TRACE_ANSWER)
    assert_same_answer (&one->traced, &other->traced);
  assert_true (one->session == other->session);
  assert_memory_equal (one->schema_hash, other->schema_hash, SCHEMA_HASH_SIZE);
  assert_true (one->first_sequence == other->first_sequence);
  assert_true (one->last_sequence == other->last_sequence);
  assert_int_equal (one->period_ns, other->period_ns);
  assert_string_equal (one->version, other->version);
  assert_int_equal (one->schema_length, other->schema_length);
  if (one->schema_length != 0)
    assert_memory_equal (one->schema, other->schema, one->schema_length);
  assert_int_equal (one->held_count, other->held_count);
  for (size_t i = 0; i < one->held_count; i++) {
    assert_true (one->held[i].session == other->held[i].session);
    assert_true (one->held[i].first == other->held[i].first);
    assert_true (one->held[i].last == other->held[i].last);
  }
  assert_true (one->from == other->from && one->to == other->to && one->sent == other->sent);
  assert_true (one->frames == other->frames && one->bytes == other->bytes);
  assert_int_equal (one->frame_length, other->frame_length);
  if (one->frame_length != 0)
    assert_memory_equal (one->frame, other->frame, one->frame_length);
  assert_int_equal (one->t1, other->t1);
  assert_int_equal (one->t2, other->t2);
  assert_int_equal (one->t3, other->t3);
  assert_int_equal (one->known, other->known);
}

static void
test_round_trip (void **state)
{
  (void) state;
  for (size_t i = 0; i < MESSAGES; i++) {
    struct buffer out = { 0 };
    struct control read;
    struct error error = { "" };

    control_write (&out, &messages[i]);
    if (control_read (out.data, out.length, &read, &error) != 0)
      fail_msg ("%s", error.text);
    assert_same (&messages[i], &read);
    buffer_free (&out);
  }
}

static void
test_truncated_and_mutated (void **state)
{
  (void) state;
  for (size_t i = 0; i < MESSAGES; i++) {
    struct buffer out = { 0 };
    struct control read;
    struct error error;

    control_write (&out, &messages[i]);
    for (size_t cut = 0; cut < out.length; cut++) {
      char *bytes = memory_resize (memory_copy (out.data, cut), cut, 1);

      assert_int_equal (control_read (bytes, cut, &read, &error), -1);
      free (bytes);
    }

    char *bytes = memory_resize (memory_copy (out.data, out.length), out.length, 1);

    for (size_t at = 0; at < out.length; at++)
      for (unsigned value = 0; value < 256; value++) {
        bytes[at] = (char) value;
        control_read (bytes, out.length, &read, &error);
        bytes[at] = out.data[at];
      }
    buffer_add (&out, "\xc0", 1);
    assert_int_equal (control_read (out.data, out.length, &read, &error), -1);
    free (bytes);
    buffer_free (&out);
  }
}

static int
result_of (const char *bytes, size_t length)
{
  struct control read;
  struct error error = { "" };
  int result = control_read (bytes, length, &read, &error);

  assert_int_equal (result == 0, error.text[0] == 0);
  return result;
}

#define RESULT(bytes) result_of (bytes, sizeof bytes - 1)
#define HASH                                                                                                           \
  "\xc4\x10"                                                                                                           \
  "0123456789abcdef"

static void
test_by_hand (void **state)
{
  (void) state;
  assert_int_equal (RESULT ("\x94\x01\x03\x05\x07"), 0);
  assert_int_equal (RESULT ("\x95\x01\x03\x05\x07\xc0"), 0);
  assert_int_equal (RESULT ("\x95\x01\x03\x05\x07\x94\x01\x02\x03\x04"), 0);
  assert_int_equal (RESULT ("\x95\x01\x03\x05\x07\x93\x01\x02\x03"), -1);
  assert_int_equal (RESULT ("\x97\x01\x03\x05\x07\xc0\xa5later\x92\x01\x81\x01\x02"), 0); /* trailing fields */
  assert_int_equal (RESULT ("\x92\x01\x26"), 1);                                          /* a type to come */
  assert_int_equal (RESULT ("\x93\x01\xcf\x00\x00\x00\x01\x00\x00\x00\x01\x07"), 1);      /* not cut to 32 bits */
  assert_int_equal (RESULT ("\x91\x02"), 1);                                              /* a version to come */
  assert_int_equal (RESULT ("\x91\x01"), -1);
  assert_int_equal (RESULT ("\x90"), -1);
  assert_int_equal (RESULT ("\x01"), -1);
  assert_int_equal (RESULT ("\x81\x01\x03"), -1);
  assert_int_equal (RESULT ("\x93\x01\x03\x05"), -1);      /* a field is missing */
  assert_int_equal (RESULT ("\x94\x01\x03\x00\x07"), -1);  /* session 0 */
  assert_int_equal (RESULT ("\x93\x01\x24\xc4\x01x"), -1); /* a short hash */
  assert_int_equal (RESULT ("\x93\x01\x24" HASH), 0);
  assert_int_equal (RESULT ("\x96\x01\x20\x07\xc3\x05\xa1v"), 0); /* of an aggregator that does not tell its limit */
  assert_int_equal (RESULT ("\x97\x01\x20\x07\xc3\x05\xa1v\xa1v"), -1);
  assert_int_equal (RESULT ("\x94\x01\x02" HASH "\xc6\xff\xff\xff\xff"), -1);

#define HELLO(node, period, version) "\x99\x01\x01" node "\x05" HASH "\x01\x02" period version
#define SECOND "\xce\x3b\x9a\xca\x00"
  assert_int_equal (RESULT (HELLO ("\xa1n", SECOND,
                                   "\xa1"
                                   "1")),
                    0);
  assert_int_equal (RESULT (HELLO ("\xa2.n", SECOND,
                                   "\xa1"
                                   "1")),
                    -1);
  assert_int_equal (RESULT (HELLO ("\xa0", SECOND,
                                   "\xa1"
                                   "1")),
                    -1);
  assert_int_equal (RESULT (HELLO ("\xa2n\0", SECOND,
                                   "\xa1"
                                   "1")),
                    -1);
  assert_int_equal (RESULT (HELLO ("\xa1n", "\x00",
                                   "\xa1"
                                   "1")),
                    -1);
  assert_int_equal (RESULT (HELLO ("\xa1n", "\xff",
                                   "\xa1"
                                   "1")),
                    -1);
  assert_int_equal (RESULT (HELLO ("\xa1n", "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff",
                                   "\xa1"
                                   "1")),
                    -1);
  assert_int_equal (RESULT (HELLO ("\xa1n", SECOND, "\xa1\x1b")), -1);
}

static void
test_replay_by_hand (void **state)
{
  struct control hello = messages[0], read;
  struct buffer out = { 0 };

  (void) state;
  assert_int_equal (RESULT ("\x93\x01\x04\xc4\x01x"), 0);
  assert_int_equal (RESULT ("\x93\x01\x04\xa1x"), -1);            /* a text */
  assert_int_equal (RESULT ("\x96\x01\x05\x07\x02\x01\x00"), 0);  /* nothing could be sent */
  assert_int_equal (RESULT ("\x96\x01\x05\x07\x03\x01\x00"), -1); /* it ends too long before it begins */
  assert_int_equal (RESULT ("\x96\x01\x05\x07\x00\x01\x00"), -1); /* there is no frame 0 */
  assert_int_equal (RESULT ("\x97\x01\x22\x07\x02\x02\x01\x01"), 0);
  assert_int_equal (RESULT ("\x97\x01\x22\x07\x02\x01\x01\x01"), -1);
  assert_int_equal (RESULT ("\x97\x01\x22\x00\x02\x02\x01\x01"), -1);

#define HELD(held) "\x9a\x01\x01\xa1n\x05" HASH "\x01\x02" SECOND "\xa1v" held
  assert_int_equal (RESULT (HELD ("\x90")), 0);
  assert_int_equal (RESULT (HELD ("\x91\x93\x05\x01\x02")), 0);
  assert_int_equal (RESULT (HELD ("\x91\x95\x05\x01\x02\xc0\x90")), 0); /* trailing fields */
  assert_int_equal (RESULT (HELD ("\x91\x92\x05\x01")), -1);
  assert_int_equal (RESULT (HELD ("\x91\x93\x05\x02\x01")), -1);
  assert_int_equal (RESULT (HELD ("\x91\x93\x00\x01\x02")), -1);
  assert_int_equal (RESULT (HELD ("\x91\x93\x05\x00\x02")), -1);
  assert_int_equal (RESULT (HELD ("\xdd\xff\xff\xff\xff")), -1);
  assert_int_equal (RESULT (HELD ("\xc0")), -1);

  hello.held_count = CONTROL_HELD_MAX; /* of more, the first are taken */
  for (size_t i = 0; i < CONTROL_HELD_MAX; i++)
    hello.held[i] = (struct control_held){ i % 100 + 1, 1, 2 };
  control_write (&out, &hello);
  out.length -= CONTROL_HELD_MAX * 4 + 3; /* an array of so many has a head of 3 bytes */
  buffer_add (&out, (char[]){ (char) 0xdc, 0, (char) (CONTROL_HELD_MAX + 2) }, 3);
  for (unsigned i = 0; i < CONTROL_HELD_MAX + 2; i++)
    buffer_add (&out, (char[]){ (char) 0x93, (char) (i % 100 + 1), 1, 2 }, 4);
  assert_int_equal (control_read (out.data, out.length, &read, NULL), 0);
  assert_int_equal (read.held_count, CONTROL_HELD_MAX);
  assert_int_equal (read.held[CONTROL_HELD_MAX - 1].session, (CONTROL_HELD_MAX - 1) % 100 + 1);
  buffer_free (&out);
}

static int
result_when_written (const struct control *message)
{
  struct buffer out = { 0 };
  int result;

  control_write (&out, message);
  result = result_of (out.data, out.length);
  buffer_free (&out);
  return result;
}

static const struct control *
first_of (enum control_type type)
{
  size_t i = 0;

  while (messages[i].type != type)
    i++;
  return &messages[i];
}

static void
test_rules_of_traces (void **state)
{
  static char long_text[TRACE_OPTIONS_MAX + 2];
  const struct control good = *first_of (CONTROL_TRACE_REQUEST), answer = *first_of (CONTROL_TRACE_ANSWER);
  struct control message;

  (void) state;
  memset (long_text, 'x', sizeof long_text - 1);
#define BROKEN(from, change) (message = from, message.change, assert_int_equal (result_when_written (&message), -1))
#define FINE(from, change) (message = from, message.change, assert_int_equal (result_when_written (&message), 0))
  FINE (good, trace.limit = 0);
  BROKEN (good, session = 0);
  BROKEN (good, trace.id = 0);
  BROKEN (good, trace.kind = TRACE_KINDS);
  BROKEN (good, trace.job.length = 0);
  BROKEN (good, trace.tool.length = 0);
  BROKEN (good, trace.user = trace_text ("a\nb"));
  BROKEN (good, trace.output = trace_text ("/x\n"));
  BROKEN (good, trace.options = trace_text ("A=\x7f"));
  FINE (good, trace.options = ((struct trace_text){ long_text, TRACE_OPTIONS_MAX }));
  BROKEN (good, trace.options = ((struct trace_text){ long_text, TRACE_OPTIONS_MAX + 1 }));
  BROKEN (good, trace.output = ((struct trace_text){ long_text, TRACE_PATH_MAX + 1 }));
  BROKEN (good, trace.ranks[1] = UINT32_MAX);
  BROKEN (good, trace.start_ns = -1);
  BROKEN (good, trace.iterations = 1); /* and a duration */
  BROKEN (good, trace.duration_ns = 0);
  BROKEN (good, trace.duration_ns = TRACE_DURATION_MAX_NS + 1);
  BROKEN (answer, traced.id = 0);
  BROKEN (answer, traced.progress = TRACE_PROGRESSES);
  BROKEN (answer, traced.error = trace_text ("\x1b[2J"));
  BROKEN (answer, traced.records[1].state = TRACE_STATES);
  BROKEN (answer, traced.records[1].pid = -1);
  BROKEN (answer, traced.records[0].rank = -2);
  BROKEN (answer, traced.records[0].begun_ns = INT64_MAX);
  BROKEN (answer, traced.records[0].path = ((struct trace_text){ long_text, TRACE_PATH_MAX + 1 }));
}

static void
test_too_large (void **state)
{
  char *bytes = memory_new (CONTROL_BYTES_MAX + 1, 1);

  (void) state;
  memset (bytes, 0x91, CONTROL_BYTES_MAX + 1);
  assert_int_equal (result_of (bytes, CONTROL_BYTES_MAX + 1), -1);
  assert_int_equal (result_of (bytes, CONTROL_BYTES_MAX), -1);
  memcpy (bytes, "\x95\x01\x03\x05\x07", 5);
  assert_int_equal (result_of (bytes, 1000), -1); /* the trailing field is nested without end */
  free (bytes);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_round_trip), cmocka_unit_test (test_truncated_and_mutated),
    cmocka_unit_test (test_by_hand),    cmocka_unit_test (test_replay_by_hand),
    cmocka_unit_test (test_too_large),  cmocka_unit_test (test_rules_of_traces),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
