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

#include "aggregator/send/send_batch.h"
#include "aggregator/send/send_labels.h"
#include "aggregator/send/send_retry.h"
#include "aggregator/send/send_window.h"
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

static const struct metric_family family = { "load", "Load.", FAMILY_GAUGE };

static void
test_a_node_once_and_late_ones_apart (void **state)
{
  const struct send_node *one = (const void *) "1", *other = (const void *) "2";
  const struct send_sample sample = { .family = &family, .time_ms = 5 };
  struct send_batch batch = { .type = &send_remote_write };

  (void) state;
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
  assert_int_equal (batch.parts[0].samples, 2);
  assert_int_equal (batch.parts[1].samples, 1);
  assert_int_equal (batch.parts[0].end * 3, batch.parts[1].end * 2);
  send_batch_begin (&batch);
  assert_true (send_batch_may (&batch, one, true));
  send_batch_end_part (&batch, one, 7, 3);
  assert_true (batch.late && !send_batch_may (&batch, other, false) && send_batch_may (&batch, other, true));
  while (!send_batch_is_full (&batch))
    send_batch_add (&batch, &sample);
  assert_in_range (batch.body.length, 1 << 20, 2 << 20);
  send_batch_free (&batch);
}

/* ---- labels ---- */

static void
test_labels_are_sorted_and_whole (void **state)
{
  static const char names[] =
      "[cpu *] {cpu=\"$row\", Zone=\"z\", job=\"theirs\", empty=\"\", rack=\"own\"}\nspeed speed\n";
  struct send_options options = { .job = (char *) "ours", .labels = (char *) "rack=r1,cluster=c" };
  struct send_labels *labels = memory_new (1, sizeof *labels);
  struct things things;
  struct series_walk walk;
  struct series series;
  struct buffer text = { 0 };
  uint64_t hashes[2];

  (void) state;
  things_begin (&things, names, false);
  table_set_real (&things.tables[CPU], 0, SPEED, 1);
  table_set_real (&things.tables[CPU], 1, SPEED, 2);
  send_labels_init (labels, &options);
  series_begin (&walk, things.naming, &things.node, 1);
  for (size_t at = 0; series_next (&walk, &series); at++) {
    assert_true (at < 2);
    send_labels_of (labels, &series);
    hashes[at] = send_labels_hash (labels, series.family);
    for (size_t i = 0; i < labels->count; i++)
      buffer_printf (&text, "%s=%.*s ", labels->list[i].name, (int) labels->list[i].length, labels->list[i].value);
  }
  buffer_add (&text, "", 1);
  assert_string_equal (text.data, "Zone=z cluster=c cpu=0 instance=n1 job=ours rack=own "
                                  "Zone=z cluster=c cpu=0:1 instance=n1 job=ours rack=own ");
  assert_true (hashes[0] != hashes[1]);
  buffer_free (&text);
  send_labels_free (labels);
  free (labels);
  things_end (&things);
}

/* ---- remote write ---- */

/* To the byte, as the specification has it. */
static void
test_encoding (void **state)
{
  static const struct send_label list[] = { { "Zone", "z", 1 }, { "instance", "n1", 2 } };
  static const struct send_sample sample = {
    .family = &family, .labels = list, .label_count = 2, .value = 1.5, .time_ms = INT64_C (1795372187165)
  };
  static const char expected[] = "\x0a\x3f"
                                 "\x0a\x09\x0a\x04Zone\x12\x01z"
                                 "\x0a\x10\x0a\x08__name__\x12\x04load"
                                 "\x0a\x0e\x0a\x08instance\x12\x02n1"
                                 "\x12\x10\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x10\x9d\xfc\x95\xa4\xa0\x34";
  struct send_sample stale = sample;
  struct buffer body = { 0 }, request = { 0 };
  char back[512];
  size_t length = sizeof back;

  (void) state;
  send_remote_write.add (&body, &sample);
  assert_int_equal (body.length, sizeof expected - 1);
  assert_memory_equal (body.data, expected, body.length);
  stale.stale = true;
  send_remote_write.add (&body, &stale);
  assert_int_equal (body.length, 2 * (sizeof expected - 1));
  assert_memory_equal (body.data + body.length - 15, "\x02\x00\x00\x00\x00\x00\xf0\x7f", 8);
  send_remote_write.pack (body.data, body.length, &request);
  assert_int_equal (snappy_uncompress (request.data, request.length, back, &length), SNAPPY_OK);
  assert_int_equal (length, body.length);
  assert_memory_equal (back, body.data, length);
  buffer_free (&body);
  buffer_free (&request);
}

static void
test_answers (void **state)
{
  static const struct {
    long status;
    enum send_verdict verdict;
  } answers[] = { { 200, SEND_TAKEN },   { 204, SEND_TAKEN },   { 301, SEND_AGAIN },   { 400, SEND_REFUSED },
                  { 401, SEND_REFUSED }, { 413, SEND_REFUSED }, { 422, SEND_REFUSED }, { 429, SEND_AGAIN },
                  { 500, SEND_AGAIN },   { 503, SEND_AGAIN },   { 599, SEND_AGAIN } };

  (void) state;
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
    assert_int_equal (send_remote_write.judge (&(struct send_answer){ .status = answers[i].status }),
                      answers[i].verdict);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one_sample_each_period),
    cmocka_unit_test (test_pauses_grow),
    cmocka_unit_test (test_a_node_once_and_late_ones_apart),
    cmocka_unit_test (test_labels_are_sorted_and_whole),
    cmocka_unit_test (test_encoding),
    cmocka_unit_test (test_answers),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
