/* The agent's probes: when they go, what they carry, which answers count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/uplink/probe_schedule.h"
#include "agent/uplink/prober.h"
#include "synop/clock.h"

#define S NS_PER_S
#define START (INT64_C (1000) * S)

static struct control
answer_to (const struct control *probe)
{
  return (struct control){ .type = CONTROL_PROBE_ANSWER, .known = true, .t1 = probe->t1, .t2 = 7, .t3 = 8 };
}

/* The next probe, sent when it is due, and whether it told of the one before. */
static struct control
next_probe (struct prober *prober)
{
  struct control probe = { 0 };

  prober_send (prober, prober->next_ns, &probe);
  assert_int_equal (probe.type, CONTROL_PROBE);
  return probe;
}

static void
test_rests_until_started (void **state)
{
  struct prober prober;

  (void) state;
  prober_init (&prober, 0); /* 0 is no seed, but no trap either */
  assert_true (prober.next_ns == INT64_MAX);
  prober_start (&prober, START);
  assert_int_equal (prober.next_ns, START);
  next_probe (&prober);
  assert_true (prober.next_ns < INT64_MAX);
  prober_stop (&prober);
  assert_true (prober.next_ns == INT64_MAX);
}

/* A burst, then never more than one a second, then ever more seldom; two agents do not keep step. */
static void
test_schedule (void **state)
{
  struct prober one, other;
  int together = 0;

  (void) state;
  prober_init (&one, 1);
  prober_init (&other, 2);
  prober_start (&one, START);
  prober_start (&other, START);
  for (int i = 1; i <= 300; i++) {
    int64_t at = one.next_ns;
    together += at == other.next_ns;
    next_probe (&one);
    next_probe (&other);
    int64_t pause = one.next_ns - at;
    if (i < PROBE_BURST)
      assert_int_equal (pause, PROBE_BURST_NS);
    else
      assert_in_range (pause, S, PROBE_REST_NS * 4 / 3);
    if (at - START > 3600 * S)
      assert_in_range (pause, PROBE_REST_NS * 2 / 3, PROBE_REST_NS * 4 / 3);
  }
  assert_true (one.next_ns - START < 300 * PROBE_REST_NS);
  assert_int_equal (together, PROBE_BURST);
}

static void
test_last_is_told_once (void **state)
{
  struct prober prober;
  struct control probe, answer;

  (void) state;
  prober_init (&prober, 1);
  prober_start (&prober, START);
  probe = next_probe (&prober);
  assert_false (probe.has_last);
  assert_int_equal (probe.t1, START);
  answer = answer_to (&probe);
  assert_true (prober_take (&prober, &answer, START + 50));
  assert_false (prober_take (&prober, &answer, START + 60)); /* twice the same */
  probe = next_probe (&prober);
  assert_true (probe.has_last);
  const int64_t expected[] = { START, 7, 8, START + 50 };
  assert_memory_equal (probe.last, expected, sizeof expected);
  assert_false (next_probe (&prober).has_last); /* that one had no answer */
}

static void
test_answers_that_do_not_count (void **state)
{
  struct prober prober;
  struct control probe, answer;

  (void) state;
  prober_init (&prober, 1);
  answer = (struct control){ .type = CONTROL_PROBE_ANSWER };
  assert_false (prober_take (&prober, &answer, START)); /* nobody asked, though t1 is 0 */
  prober_start (&prober, START);
  probe = next_probe (&prober);
  answer = answer_to (&probe);
  answer.t1++;
  assert_false (prober_take (&prober, &answer, START + 1));
  answer.t1--;
  next_probe (&prober); /* it took too long: the next one is under way */
  assert_false (prober_take (&prober, &answer, START + S));
  assert_false (next_probe (&prober).has_last);
  prober_stop (&prober);
  assert_false (prober_take (&prober, &answer, START + S));
}

/* It ends the probe: no second exchange, and nothing to tell. */
static void
test_answer_that_does_not_know_the_session (void **state)
{
  struct prober prober;
  struct control probe, answer;
  int64_t next;

  (void) state;
  prober_init (&prober, 1);
  assert_false (prober_runs (&prober));
  prober_start (&prober, START);
  assert_true (prober_runs (&prober));
  for (int i = 1; i <= PROBE_BURST; i++) {
    probe = next_probe (&prober);
    assert_false (probe.has_last);
    answer = answer_to (&probe);
    answer.known = false;
    next = prober.next_ns;
    assert_true (prober_take (&prober, &answer, probe.t1 + 50));
    assert_false (prober_take (&prober, &answer, probe.t1 + 60));
    assert_true (prober.next_ns == next);
    assert_int_equal (prober.sent, i);
  }
  assert_true (prober.next_ns - probe.t1 >= S);
}

/* Another connection may lead to another aggregator, whose clock has nothing to do with the last one's. */
static void
test_new_connection_forgets (void **state)
{
  struct prober prober;
  struct control probe, answer;

  (void) state;
  prober_init (&prober, 1);
  prober_start (&prober, START);
  probe = next_probe (&prober);
  answer = answer_to (&probe);
  assert_true (prober_take (&prober, &answer, START + 50));
  prober_stop (&prober);
  prober_start (&prober, START + 5 * S);
  assert_false (next_probe (&prober).has_last);
}

/* The second exchange of a probe goes as soon as the first is answered, and no third. */
static void
test_second_exchange_follows_the_answer (void **state)
{
  struct prober prober;
  struct control probe, answer;

  (void) state;
  prober_init (&prober, 1);
  prober_start (&prober, START);
  for (int i = 0; i < 20; i++) {
    int64_t at = prober.next_ns;
    for (int exchange = 1; exchange <= PROBE_EXCHANGES; exchange++) {
      probe = next_probe (&prober);
      assert_int_equal (probe.t1, at + (exchange - 1) * 50);
      answer = answer_to (&probe);
      assert_true (prober_take (&prober, &answer, probe.t1 + 50));
    }
    assert_true (prober.next_ns - at >= PROBE_BURST_NS);
  }
  next_probe (&prober); /* without an answer: the next one is a probe of its own */
  for (int exchange = 1; exchange <= PROBE_EXCHANGES; exchange++) {
    probe = next_probe (&prober);
    answer = answer_to (&probe);
    assert_true (prober_take (&prober, &answer, probe.t1 + 50));
    assert_int_equal (prober.next_ns == probe.t1 + 50, exchange < PROBE_EXCHANGES);
  }
}

/* A clock that jumped: half a burst, once it is at rest; an agent in its burst goes on with it. */
static void
test_soon (void **state)
{
  struct prober prober;
  struct control answer;
  int64_t at;

  (void) state;
  prober_init (&prober, 1);
  prober_start (&prober, START);
  for (int i = 1; i <= 20; i++) {
    struct control probe = next_probe (&prober);
    answer = answer_to (&probe);
    assert_true (prober_take (&prober, &answer, probe.t1 + 50));
    probe = next_probe (&prober);
    answer = answer_to (&probe);
    answer.clock.soon = true;
    if (i <= PROBE_BURST) {
      answer.has_clock = true;
      at = prober.next_ns;
      assert_true (prober_take (&prober, &answer, probe.t1 + 50));
      assert_int_equal (prober.next_ns, at);
    }
  }
  at = prober.next_ns;
  answer.has_clock = false; /* `soon` is part of a clock that is not there */
  assert_true (prober_take (&prober, &answer, answer.t1 + 50));
  assert_int_equal (prober.next_ns, at);

  struct control probe = next_probe (&prober);
  answer = answer_to (&probe);
  assert_true (prober_take (&prober, &answer, probe.t1 + 50));
  probe = next_probe (&prober);
  answer = answer_to (&probe);
  answer.has_clock = answer.clock.soon = true;
  assert_true (prober_take (&prober, &answer, probe.t1 + 50));
  for (int i = 0; i < PROBE_BURST / 2; i++) {
    at = prober.next_ns;
    assert_int_equal (at, probe.t1 + 50 + (i + 1) * PROBE_BURST_NS);
    next_probe (&prober);
  }
  assert_true (prober.next_ns - at >= S);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_rests_until_started),
    cmocka_unit_test (test_schedule),
    cmocka_unit_test (test_second_exchange_follows_the_answer),
    cmocka_unit_test (test_last_is_told_once),
    cmocka_unit_test (test_answers_that_do_not_count),
    cmocka_unit_test (test_answer_that_does_not_know_the_session),
    cmocka_unit_test (test_new_connection_forgets),
    cmocka_unit_test (test_soon),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
