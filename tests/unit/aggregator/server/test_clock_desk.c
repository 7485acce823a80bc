/* Probes answered at once: what the answer says, of whom, and while another thread changes it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/server/clock_desk.h"
#include "synop/clock.h"

static size_t
ask (struct clock_desk *desk, const char *node, const struct control *question, struct control *answer)
{
  struct buffer bytes = { 0 };
  uint8_t into[LINK_ANSWER_NOW_MAX];
  size_t length;

  control_write (&bytes, question);
  length = clock_desk_answer (desk, node, bytes.data, bytes.length, 1234, into);
  if (length)
    assert_int_equal (control_read (into, length, answer, NULL), 0);
  buffer_free (&bytes);
  return length;
}

static struct control
probe (struct clock_desk *desk, const char *node, uint64_t session)
{
  const struct control question = {
    .type = CONTROL_PROBE, .session = session, .t1 = 55, .has_last = true, .last = { 1, 2, 3, 4 }
  };
  struct control answer;
  int64_t before = clock_monotonic ();

  assert_true (ask (desk, node, &question, &answer) > 0);
  assert_int_equal (answer.type, CONTROL_PROBE_ANSWER);
  assert_true (answer.session == session);
  assert_int_equal (answer.t1, 55);
  assert_int_equal (answer.t2, 1234);
  assert_true (before <= answer.t3 && answer.t3 <= clock_monotonic ());
  return answer;
}

static void
test_what_it_knows (void **state)
{
  struct clock_desk *desk = clock_desk_create ();
  const struct control_clock clock = { 1, INT64_MAX / 4 - 1, 3, -25e-6, true };
  struct control answer;

  (void) state;
  answer = probe (desk, "n1", 7);
  assert_false (answer.known || answer.has_clock);
  clock_desk_set (desk, "n1", 7, NULL);
  answer = probe (desk, "n1", 7);
  assert_true (answer.known && !answer.has_clock);
  clock_desk_set (desk, "n1", 7, &clock);
  answer = probe (desk, "n1", 7);
  assert_true (answer.known && answer.has_clock && answer.clock.soon);
  assert_int_equal (answer.clock.node_ns, clock.node_ns);
  assert_int_equal (answer.clock.cluster_ns, clock.cluster_ns);
  assert_int_equal (answer.clock.bound_ns, clock.bound_ns);
  assert_true (answer.clock.drift + 25e-6 < 1e-18 && answer.clock.drift + 25e-6 > -1e-18);
  answer = probe (desk, "n1", 8); /* another session hears nothing of this one's clock */
  assert_false (answer.known || answer.has_clock);
  answer = probe (desk, "n2", 7);
  assert_false (answer.known || answer.has_clock);
  clock_desk_set (desk, "n1", 0, NULL); /* gone */
  answer = probe (desk, "n1", 7);
  assert_false (answer.known || answer.has_clock);
  clock_desk_destroy (desk);
}

static void
test_only_probes (void **state)
{
  struct clock_desk *desk = clock_desk_create ();
  static const char *const broken[] = {
    "", "\xc1", "\x93\x01\x03\x07", "\x95\x01\x03\xa1x\x01\xc0", "\x95\x01\x03\x00\x01\xc0", "\x95\x02\x03\x07\x01\xc0"
  };
  const struct control hello = { .type = CONTROL_HELLO, .node = "n1", .session = 7, .period_ns = NS_PER_S };
  uint8_t into[LINK_ANSWER_NOW_MAX];
  struct control answer;

  (void) state;
  clock_desk_set (desk, "n1", 7, NULL);
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
    assert_int_equal (clock_desk_answer (desk, "n1", broken[i], strlen (broken[i]), 1, into), 0);
  assert_int_equal (ask (desk, "n1", &hello, &answer), 0);
  clock_desk_destroy (desk);
}

/* More nodes than it began with room for, with the longest names. */
static void
test_many_nodes (void **state)
{
  struct clock_desk *desk = clock_desk_create ();
  char name[FRAME_NODE_MAX + 1];

  (void) state;
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 5000; i++) {
      struct control_clock clock = { i, round, 0, 0, false };
      snprintf (name, sizeof name, "%064d", i);
      clock_desk_set (desk, name, (uint64_t) i + 1, &clock);
    }
  for (int i = 0; i < 5000; i++) {
    snprintf (name, sizeof name, "%064d", i);
    struct control answer = probe (desk, name, (uint64_t) i + 1);
    assert_true (answer.known && answer.has_clock);
    assert_int_equal (answer.clock.node_ns, i);
    assert_int_equal (answer.clock.cluster_ns, 1);
  }
  clock_desk_destroy (desk);
}

#define CHANGES 20000

static void *
change (void *context)
{
  struct clock_desk *desk = context;
  char name[16];

  for (int64_t i = 1; i <= CHANGES; i++) {
    struct control_clock clock = { i, i, i, 0, false };
    clock_desk_set (desk, "n1", 7, &clock);
    snprintf (name, sizeof name, "m%d", (int) (i % 1000)); /* the table grows meanwhile */
    clock_desk_set (desk, name, 7, NULL);
  }
  return NULL;
}

/* The main thread changes what the receiving thread tells: each answer is whole, and none goes back. */
static void
test_two_threads (void **state)
{
  struct clock_desk *desk = clock_desk_create ();
  struct control_clock clock = { 0 };
  pthread_t thread;
  int64_t last = 0;

  (void) state;
  clock_desk_set (desk, "n1", 7, &clock);
  assert_int_equal (pthread_create (&thread, NULL, change, desk), 0);
  while (last < CHANGES) {
    struct control answer = probe (desk, "n1", 7);
    assert_true (answer.known && answer.has_clock);
    assert_true (answer.clock.node_ns == answer.clock.cluster_ns && answer.clock.node_ns == answer.clock.bound_ns);
    assert_true (answer.clock.node_ns >= last);
    last = answer.clock.node_ns;
  }
  pthread_join (thread, NULL);
  clock_desk_destroy (desk);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_what_it_knows),
    cmocka_unit_test (test_only_probes),
    cmocka_unit_test (test_many_nodes),
    cmocka_unit_test (test_two_threads),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
