/* Ticks: what they wait for, when they close, and what their lines say. */
#include "tests/unit/aggregator/core/tick_bench.h"

/* ---- when a tick closes ---- */

static void
test_nothing_before_the_first_frame (void **state)
{
  struct bench *bench = *state;

  assert_int_equal (ticks_next_ns (bench->ticks), INT64_MAX);
  expect (bench, 0, S);
  pass_until (bench, 10 * S);
  assert_int_equal (bench->count, 0);
  assert_int_equal (ticks_next_ns (bench->ticks), INT64_MAX);
}

static void
test_closes_when_all_have_reported (void **state)
{
  struct bench *bench = *state;

  for (int node = 0; node < 3; node++)
    expect (bench, node, S);
  pass_until (bench, S + 10 * MS);
  assert_int_equal (frame (bench, 0, S), TICK_IN);
  assert_int_equal (frame (bench, 1, S), TICK_IN);
  pass_until (bench, S + 20 * MS);
  assert_int_equal (bench->count, 0);
  assert_int_equal (frame (bench, 2, S), TICK_IN);
  pass_until (bench, S + 20 * MS);
  assert_last (bench, 1, S, 3, 0);
}

/* A node whose clock is a little ahead reports before the instant: the tick does not close before it is there. */
static void
test_never_before_its_instant (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, S - 30 * MS);
  assert_int_equal (frame (bench, 0, S - 40 * MS), TICK_IN);
  ticks_advance (bench->ticks, bench->now_ns);
  assert_int_equal (bench->count, 0);
  assert_int_equal (ticks_next_ns (bench->ticks), START + S);
  pass_until (bench, S);
  assert_last (bench, 1, S, 1, 0);
}

static void
test_closes_after_the_grace (void **state)
{
  struct bench *bench = *state;

  expect (bench, 0, S);
  expect (bench, 1, S);
  pass_until (bench, S + 10 * MS);
  frame (bench, 0, S);
  pass_until (bench, S + S / 2 - 1);
  assert_int_equal (bench->count, 0);
  assert_int_equal (ticks_next_ns (bench->ticks), START + S + S / 2);
  pass_until (bench, S + S / 2);
  assert_last (bench, 1, S, 1, 1);
  pass_until (bench, S + 600 * MS);
  assert_int_equal (frame (bench, 1, S), TICK_LATE);
  pass_until (bench, 2 * S + 5 * MS);
  assert_int_equal (frame (bench, 0, 2 * S), TICK_IN);
  pass_until (bench, 2 * S + 5 * MS);
  assert_int_equal (bench->count, 1); /* who was late is waited for the next time */
  assert_int_equal (frame (bench, 1, 2 * S), TICK_IN);
  pass_until (bench, 2 * S + 5 * MS);
  assert_last (bench, 2, 2 * S, 2, 0);
}

/* ---- who is waited for ---- */

static void
test_silent_node_is_waited_for_four_ticks (void **state)
{
  struct bench *bench = *state;

  for (int64_t at = 1; at <= 10; at++) {
    pass_until (bench, at * S + MS);
    frame (bench, 0, at * S);
    if (at <= 2)
      frame (bench, 1, at * S);
    if (at == 2)
      assert_int_equal (bench->nodes[1].last, (START + at * S) / S);
    pass_until (bench, at * S + 2 * MS);
    size_t done = (size_t) at - (at > 2 && at <= 6); /* 3, 4, 5 and 6 wait for it, to the end of their grace */
    assert_int_equal (bench->count, done);
    pass_until (bench, at * S + S / 2);
    assert_last (bench, (size_t) at, at * S, at <= 2 ? 2 : 1, at > 2 && at <= 6);
  }
  pass_until (bench, 11 * S + MS); /* and it is waited for again when it is back */
  assert_int_equal (frame (bench, 1, 11 * S), TICK_IN);
  frame (bench, 0, 11 * S);
  pass_until (bench, 12 * S + MS);
  frame (bench, 0, 12 * S);
  pass_until (bench, 12 * S + 2 * MS);
  assert_last (bench, 11, 11 * S, 2, 0);
}

/* One that is late each time is alive: it is waited for, though never longer than the grace. */
static void
test_always_late (void **state)
{
  struct bench *bench = *state;

  expect (bench, 1, S);
  for (int64_t at = 1; at <= 10; at++) {
    pass_tick (bench, at * S);
    assert_last (bench, (size_t) at, at * S, 1, 1);
    assert_int_equal (frame (bench, 1, at * S), TICK_LATE);
  }
}

static void
test_new_node_is_expected_after_its_hello (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, S);
  frame (bench, 0, S);
  pass_until (bench, S + 100 * MS);
  assert_last (bench, 1, S, 1, 0);
  expect (bench, 1, S);
  pass_until (bench, 2 * S);
  frame (bench, 0, 2 * S);
  pass_until (bench, 2 * S + 10 * MS);
  assert_int_equal (bench->count, 1); /* held open for the new one */
  frame (bench, 1, 2 * S);
  pass_until (bench, 2 * S + 10 * MS);
  assert_last (bench, 2, 2 * S, 2, 0);
}

/* One that says hello and then nothing holds up no more than four ticks either. */
static void
test_hello_without_frames (void **state)
{
  struct bench *bench = *state;

  expect (bench, 1, S);
  for (int64_t at = 1; at <= 8; at++) {
    pass_tick (bench, at * S);
    assert_last (bench, (size_t) at, at * S, 1, at <= 4);
  }
}

static void
test_leave_while_waited_for (void **state)
{
  struct bench *bench = *state;

  for (int node = 0; node < 4; node++)
    expect (bench, node, S);
  pass_until (bench, S);
  frame (bench, 0, S);
  frame (bench, 2, S);
  tick_leave (bench->ticks, &bench->nodes[1]);
  tick_leave (bench->ticks, &bench->nodes[1]); /* nothing is undone twice */
  pass_until (bench, S + MS);
  assert_int_equal (bench->count, 0);
  tick_leave (bench->ticks, &bench->nodes[2]); /* its frame stays */
  tick_leave (bench->ticks, &bench->nodes[3]);
  pass_until (bench, S + MS);
  assert_last (bench, 1, S, 2, 0);
  pass_until (bench, 2 * S);
  frame (bench, 0, 2 * S);
  pass_until (bench, 2 * S);
  assert_last (bench, 2, 2 * S, 1, 0);
}

/* ---- several ticks at once ---- */

static void
test_several_open (void **state)
{
  struct bench *bench = *state;

  ticks_destroy (bench->ticks);
  bench->ticks = ticks_create (&(struct ticks_options){ S, S, bench, see_line });
  for (int node = 0; node < 2; node++)
    expect (bench, node, S);
  pass_until (bench, S);
  frame (bench, 0, S);
  pass_until (bench, 2 * S - MS);
  assert_int_equal (frame (bench, 0, 2 * S - 2 * MS), TICK_IN);
  assert_int_equal (frame (bench, 1, 2 * S - 2 * MS), TICK_IN); /* 2 is whole, 1 is not: they close in order */
  ticks_advance (bench->ticks, bench->now_ns);
  assert_int_equal (bench->count, 0);
  assert_int_equal (frame (bench, 1, S), TICK_IN);
  ticks_advance (bench->ticks, bench->now_ns);
  assert_last (bench, 1, S, 2, 0);
  pass_until (bench, 2 * S);
  assert_last (bench, 2, 2 * S, 2, 0);
}

static void
test_spread_and_bound (void **state)
{
  struct bench *bench = *state;

  for (int node = 0; node < 3; node++)
    expect (bench, node, S);
  pass_until (bench, S + MS);
  take (bench, 0, S + 300, 5000, S);
  take (bench, 1, S - 200, 90000, S);
  take (bench, 2, S + 100, 7000, S);
  pass_until (bench, S + MS);
  assert_int_equal (last (bench)->spread_ns, 500);
  assert_int_equal (last (bench)->bound_ns, 90000);
  pass_until (bench, 2 * S + MS);
  take (bench, 0, 2 * S, 5000, S);
  take (bench, 1, 2 * S, -1, S); /* one that is not known makes it unknown */
  take (bench, 2, 2 * S, 5000, S);
  pass_until (bench, 2 * S + MS);
  assert_int_equal (last (bench)->spread_ns, 0);
  assert_int_equal (last (bench)->bound_ns, -1);
  pass_until (bench, 3 * S + 800 * MS); /* nobody */
  assert_last (bench, 3, 3 * S, 0, 3);
  assert_int_equal (last (bench)->spread_ns, 0);
  assert_int_equal (last (bench)->bound_ns, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TICK_TEST (test_nothing_before_the_first_frame),
    TICK_TEST (test_closes_when_all_have_reported),
    TICK_TEST (test_never_before_its_instant),
    TICK_TEST (test_closes_after_the_grace),
    TICK_TEST (test_silent_node_is_waited_for_four_ticks),
    TICK_TEST (test_always_late),
    TICK_TEST (test_new_node_is_expected_after_its_hello),
    TICK_TEST (test_hello_without_frames),
    TICK_TEST (test_leave_while_waited_for),
    TICK_TEST (test_several_open),
    TICK_TEST (test_spread_and_bound),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
