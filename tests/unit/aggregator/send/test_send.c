/* What senders decide without a network: which samples are due, when to try again, what goes into one batch, which labels a
 * sample has, and how remote write encodes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <snappy-c.h>

#include "aggregator/send/remote_write.h"
#include "aggregator/send/send_batch.h"
#include "aggregator/send/send_options.h"
#include "aggregator/send/send_window.h"
#include "synop/send_retry.h"
#include "tests/unit/common/metrics/things.h"

#define S NS_PER_S

/* ---- due ---- */

static void
test_one_sample_each_period (void **state)
{
  const int64_t start = INT64_C (1795372185) * S; /* a multiple of 15 s */

  (void) state;
  for (int64_t off = -2; off <= 2; off++) /* ms that clocks are apart */
    for (int64_t i = 0; i < 60; i++)
      assert_int_equal (send_is_due (start + i * S + off * 1000000, S, 15 * S), i % 15 == 0);
  for (int64_t i = 0; i < 60; i++) /* 10 s: the one at the multiple, or the next */
    assert_int_equal (send_is_due (start - start % (30 * S) + i * 10 * S, 10 * S, 15 * S), i % 3 != 1);
  assert_true (send_is_due (start + 7, 60 * S, 15 * S));
  assert_true (send_is_due (start + 7, 15 * S, 15 * S));
  assert_true (send_is_due (start + 7, 0, 15 * S));
}

/* ---- retry ---- */

static void
test_pauses_grow (void **state)
{
  static const double expected[] = { 0.5, 1, 2, 4, 5, 5, 5 };
  struct send_retry retry = { .most_ns = 5 * S };

  (void) state;
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
    assert_int_equal (send_retry_pause (&retry, 0), (int64_t) (expected[i] * S));
  send_retry_done (&retry);
  assert_int_equal (send_retry_pause (&retry, 0), S / 2);
  assert_int_equal (send_retry_pause (&retry, 45 * S), 45 * S);     /* as it was asked for, */
  assert_int_equal (send_retry_pause (&retry, S), 2 * S);           /* but not sooner, */
  assert_int_equal (send_retry_pause (&retry, 86400 * S), 600 * S); /* and not for ever */
  for (int i = 0; i < 1000; i++)
    assert_in_range (send_retry_pause (&retry, 0), S, 5 * S);
  retry = (struct send_retry){ .most_ns = S / 10 };
  for (int i = 0; i < 5; i++)
    assert_int_equal (send_retry_pause (&retry, 0), S / 10);
}

/* ---- batches ---- */

static void
test_a_node_once_and_late_ones_apart (void **state)
{
  const struct send_node *one = (const void *) "1", *other = (const void *) "2";
  struct send_symbol node = { .length = 0 };
  struct send_series series = { .size = 36 };
  const struct send_sample sample = { .series = &series, .node = &node, .time_ms = 5 };
  struct send_batch batch;

  (void) state;
  send_batch_init (&batch, &send_remote_write);
  send_batch_begin (&batch);
  assert_true (send_batch_may (&batch, one, false));
  send_batch_add (&batch, &sample);
  send_batch_add (&batch, &sample);
  send_batch_end_part (&batch, one, 5, 1);
  assert_false (send_batch_may (&batch, one, false));
  assert_false (send_batch_may (&batch, other, true));
  assert_true (send_batch_may (&batch, other, false));
  send_batch_add (&batch, &sample);
  send_batch_end_part (&batch, other, 6, 2);
  assert_int_equal (batch.part_count, 2);
  assert_int_equal (batch.parts[0].end, 2);
  assert_int_equal (batch.parts[1].end, 3);
  send_batch_begin (&batch);
  assert_true (send_batch_may (&batch, one, true));
  send_batch_end_part (&batch, one, 7, 3);
  assert_true (batch.late && !send_batch_may (&batch, other, false) && send_batch_may (&batch, other, true));
  while (!send_batch_is_full (&batch))
    send_batch_add (&batch, &sample);
  assert_int_equal (batch.count, 1 + (1 << 20) / 100);
  send_batch_free (&batch);
}

/* ---- series ---- */

static const struct send_options ours = { .job = (char *) "ours", .labels = (char *) "rack=r1,cluster=c" };

/* "Zone=z ... instance=? ..." */
static void
say_labels (const struct send_series *series, struct buffer *text)
{
  for (size_t i = 0; i < series->label_count; i++) {
    const struct send_label *label = &series->labels[i];
    buffer_printf (text, "%.*s=%.*s ", (int) label->name->length, label->name->text,
                   label->value ? (int) label->value->length : 1, label->value ? label->value->text : "?");
    assert_true ((label->value == NULL) == (i == series->instance));
  }
}

static void
test_labels_are_sorted_and_whole (void **state)
{
  static const char names[] =
      "[cpu *] {cpu=\"$row\", Zone=\"z\", job=\"theirs\", empty=\"\", rack=\"own\"}\nspeed speed\n";
  struct send_cache *cache = send_cache_create (&(struct send_cache_options){ ours.job, ours.labels, NULL, NULL });
  struct send_series *found[2], *again;
  struct things things;
  struct series_walk walk;
  struct series series;
  struct buffer text = { 0 };

  (void) state;
  things_begin (&things, names, false);
  table_set_real (&things.tables[CPU], 0, SPEED, 1);
  table_set_real (&things.tables[CPU], 1, SPEED, 2);
  for (size_t round = 0; round < 3; round++) {
    series_begin (&walk, things.naming, &things.node, 1);
    for (size_t at = 0; series_next (&walk, &series); at++) {
      assert_true (at < 2);
      again = send_series_find (cache, &series);
      assert_true (round == 0 || again == found[at]);
      found[at] = again;
      if (round == 0)
        say_labels (again, &text);
    }
  }
  assert_string_equal (buffer_text (&text), "Zone=z __name__=speed cluster=c cpu=0 instance=? job=ours rack=own "
                                            "Zone=z __name__=speed cluster=c cpu=0:1 instance=? job=ours rack=own ");
  assert_true (found[0]->hash != found[1]->hash);
  assert_ptr_equal (found[0]->labels[0].value, send_symbol_find (cache, "z", 1));
  buffer_free (&text);
  send_cache_destroy (cache);
  things_end (&things);
}

/* Labels with what a table has of text, and with the node's name, follow from more than the row. */
static void
test_a_text_that_changes_is_another_series (void **state)
{
  static const char names[] = "[cpu *] {cpu=\"$row\", model=\"$model\", n=\"$node\"}\nspeed speed\n";
  static const char *const models[] = { "a", "b", "a", "a" }, *const nodes[] = { "n1", "n1", "n1", "n2" };
  struct send_cache *cache = send_cache_create (&(struct send_cache_options){ ours.job, ours.labels, NULL, NULL });
  struct send_series *found[4];
  struct things things;
  struct series_walk walk;
  struct series series;

  (void) state;
  things_begin (&things, names, false);
  table_set_real (&things.tables[CPU], 0, SPEED, 1);
  for (size_t i = 0; i < 4; i++) {
    things_text (&things.tables[CPU], 0, MODEL, models[i]);
    things.node.name = nodes[i];
    series_begin (&walk, things.naming, &things.node, 1);
    assert_true (series_next (&walk, &series));
    found[i] = send_series_find (cache, &series);
  }
  assert_ptr_equal (found[0], found[2]);
  assert_true (found[0]->hash != found[1]->hash && found[0] != found[1]);
  assert_true (found[0]->hash != found[3]->hash && found[0] != found[3]);
  send_cache_destroy (cache);
  things_end (&things);
}

/* ---- remote write ---- */

struct written {
  struct send_cache *cache;
  struct things things;
  struct send_sample samples[2];
};

/* speed{Zone="z", instance="n1"} 1.5, and its end at n2. */
static void
written_begin (struct written *written)
{
  static const struct send_options plain = { .job = (char *) "", .labels = (char *) "" };
  struct series_walk walk;
  struct series series;

  written->cache = send_cache_create (&(struct send_cache_options){ plain.job, plain.labels, NULL, NULL });
  things_begin (&written->things, "[cpu *] {Zone=\"$row\"}\nspeed load_bytes \"Load.\"\n", false);
  table_set_real (&written->things.tables[CPU], 0, SPEED, 1.5 * 8);
  series_begin (&walk, written->things.naming, &written->things.node, 1);
  assert_true (series_next (&walk, &series));
  for (size_t i = 0; i < 2; i++)
    written->samples[i] = (struct send_sample){ .series = send_series_find (written->cache, &series),
                                                .node = send_symbol_find (written->cache, i ? "n2" : "n1", 2),
                                                .value = 1.5,
                                                .stale = i == 1,
                                                .time_ms = INT64_C (1795372187165) };
}

static void
written_end (struct written *written)
{
  send_cache_destroy (written->cache);
  things_end (&written->things);
}

#define TIME "\x10\x9d\xfc\x95\xa4\xa0\x34"
#define SERIES_1(node, bits)                                                                                           \
  "\x0a\x45"                                                                                                           \
  "\x0a\x09\x0a\x04Zone\x12\x01"                                                                                       \
  "0"                                                                                                                  \
  "\x0a\x16\x0a\x08__name__\x12\x0aload_bytes"                                                                         \
  "\x0a\x0e\x0a\x08instance\x12\x02" node "\x12\x10\x09" bits TIME
#define SERIES_2(node, bits)                                                                                           \
  "\x2a\x22"                                                                                                           \
  "\x0a\x06\x01\x02\x03\x04\x05" node "\x12\x10\x09" bits TIME "\x2a\x06\x08\x02\x18\x06\x20\x07"
#define HALF "\x00\x00\x00\x00\x00\x00\xf8\x3f"
#define END "\x02\x00\x00\x00\x00\x00\xf0\x7f"

/* To the byte, as the specifications have it; often, since encodings are kept. */
static void
test_encoding (void **state)
{
  static const char series_1[] = SERIES_1 ("n1", HALF) SERIES_1 ("n2", END);
  static const char metadata[] = "\x1a\x1c\x08\x02\x12\x0aload_bytes\x22\x05Load.\x2a\x05"
                                 "bytes";
  static const char symbols[] = "\x22\x00\x22\x04Zone\x22\x01"
                                "0"
                                "\x22\x08__name__\x22\x0aload_bytes\x22\x08instance"
                                "\x22\x05Load.\x22\x05"
                                "bytes"
                                "\x22\x02n1\x22\x02n2";
  static const char series_2[] = SERIES_2 ("\x08", HALF) SERIES_2 ("\x09", END);
  struct written written;
  struct buffer body = { 0 }, rest = { 0 };

  (void) state;
  written_begin (&written);
  for (int64_t i = 1; i < 4; i++) {
    buffer_clear (&body);
    write_request_put (&body, written.samples, 2, i < 3 ? i : 2, i);
    assert_memory_equal (body.data, series_1, sizeof series_1 - 1);
    assert_int_equal (body.length, sizeof series_1 - 1 + (i < 3 ? sizeof metadata - 1 : 0));
    if (i < 3)
      assert_memory_equal (body.data + sizeof series_1 - 1, metadata, sizeof metadata - 1);
    buffer_clear (&body);
    request_put (&body, written.samples, 2, (uint64_t) i, &rest);
    assert_int_equal (body.length, sizeof symbols - 1 + sizeof series_2 - 1);
    assert_memory_equal (body.data, symbols, sizeof symbols - 1);
    assert_memory_equal (body.data + sizeof symbols - 1, series_2, sizeof series_2 - 1);
  }
  buffer_free (&body);
  buffer_free (&rest);
  written_end (&written);
}

static enum send_verdict
judged (void *state, long status, bool counted, uint64_t taken)
{
  struct send_answer answer = { .status = status, .counted = counted, .taken = taken };

  return send_remote_write.judge (state, &answer);
}

static const char *
form_of (void *state, const struct written *written)
{
  const struct send_load load = { .samples = written->samples, .count = 2 };
  struct send_request request = { 0 };
  char back[512];
  size_t length = sizeof back;

  send_remote_write.pack (state, &load, &request);
  assert_int_equal (request.count, 2);
  assert_int_equal (snappy_uncompress (request.body.data, request.body.length, back, &length), SNAPPY_OK);
  assert_int_equal (back[0], strcmp (request.form, "1.0") == 0 ? '\x0a' : '\x22');
  buffer_free (&request.body);
  return request.form;
}

static void *
open_with (int protocol)
{
  const struct remote_write_options own = { protocol };

  return send_remote_write.open (&(struct send_setting){ .own = &own });
}

static void
test_answers_to_1 (void **state)
{
  static const struct {
    long status;
    enum send_verdict verdict;
  } answers[] = { { 200, SEND_TAKEN },   { 204, SEND_TAKEN },   { 301, SEND_AGAIN },   { 400, SEND_REFUSED },
                  { 401, SEND_REFUSED }, { 413, SEND_REFUSED }, { 415, SEND_REFUSED }, { 422, SEND_REFUSED },
                  { 429, SEND_AGAIN },   { 500, SEND_AGAIN },   { 503, SEND_AGAIN },   { 599, SEND_AGAIN } };
  struct written written;
  void *open = open_with (PROTOCOL_1);

  (void) state;
  written_begin (&written);
  assert_string_equal (form_of (open, &written), "1.0");
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
    assert_int_equal (judged (open, answers[i].status, false, 0), answers[i].verdict);
  send_remote_write.close (open);
  written_end (&written);
}

/* Who does not say what it wrote takes 1.0 alone; who has said so once may refuse samples. */
static void
test_answers_to_2 (void **state)
{
  static const struct {
    int protocol;
    long status;
    bool counted;
    uint64_t taken;
    enum send_verdict verdict;
    const char *next;
  } answers[] = {
    { PROTOCOL_AUTO, 415, false, 0, SEND_ANOTHER, "1.0" }, { PROTOCOL_AUTO, 204, false, 0, SEND_ANOTHER, "1.0" },
    { PROTOCOL_AUTO, 400, false, 0, SEND_ANOTHER, "1.0" }, { PROTOCOL_AUTO, 503, false, 0, SEND_AGAIN, "2.0" },
    { PROTOCOL_AUTO, 429, false, 0, SEND_AGAIN, "2.0" },   { PROTOCOL_AUTO, 401, false, 0, SEND_REFUSED, "2.0" },
    { PROTOCOL_AUTO, 204, true, 2, SEND_PART, "2.0" },     { PROTOCOL_AUTO, 400, true, 1, SEND_PART, "2.0" },
    { PROTOCOL_AUTO, 400, true, 0, SEND_REFUSED, "2.0" },  { PROTOCOL_2, 415, false, 0, SEND_AGAIN, "2.0" },
    { PROTOCOL_2, 200, false, 0, SEND_AGAIN, "2.0" },      { PROTOCOL_2, 204, true, 2, SEND_PART, "2.0" },
  };
  struct written written;

  (void) state;
  written_begin (&written);
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    void *open = open_with (answers[i].protocol);
    assert_string_equal (form_of (open, &written), "2.0");
    assert_int_equal (judged (open, answers[i].status, answers[i].counted, answers[i].taken), answers[i].verdict);
    assert_string_equal (form_of (open, &written), answers[i].next);
    send_remote_write.close (open);
  }
  void *open = open_with (PROTOCOL_AUTO);
  form_of (open, &written);
  assert_int_equal (judged (open, 204, true, 2), SEND_PART);
  assert_int_equal (judged (open, 400, false, 0), SEND_REFUSED);
  send_remote_write.close (open);
  written_end (&written);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one_sample_each_period),
    cmocka_unit_test (test_pauses_grow),
    cmocka_unit_test (test_a_node_once_and_late_ones_apart),
    cmocka_unit_test (test_labels_are_sorted_and_whole),
    cmocka_unit_test (test_a_text_that_changes_is_another_series),
    cmocka_unit_test (test_encoding),
    cmocka_unit_test (test_answers_to_1),
    cmocka_unit_test (test_answers_to_2),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
