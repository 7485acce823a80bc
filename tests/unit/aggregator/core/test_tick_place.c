/* Where a frame belongs: in which tick, beside the ticks, too late for its own; nodes and groups of any period. */
#include "tests/unit/aggregator/core/tick_bench.h"

static void
test_places (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, 2 * S);
  assert_int_equal (frame (bench, 0, 2 * S), TICK_IN);
  assert_int_equal (frame (bench, 0, 2 * S + 100 * MS), TICK_BETWEEN); /* the tick has its frame */
  pass_until (bench, 2 * S + 50 * MS);
  assert_last (bench, 1, 2 * S, 1, 0);
  assert_int_equal (frame (bench, 1, 2 * S + 10 * MS), TICK_LATE);
  assert_int_equal (frame (bench, 1, S), TICK_LATE);
  assert_int_equal (frame (bench, 2, 3 * S + 60 * MS), TICK_MISPLACED); /* more than a tick ahead of now */
  assert_int_equal (frame (bench, 2, 3 * S + 40 * MS), TICK_IN);
  assert_int_equal (take (bench, 3, INT64_C (1) << 61, 0, S), TICK_MISPLACED);
  assert_int_equal (take (bench, 3, -START, 0, S), TICK_LATE);
  assert_int_equal (take (bench, 3, -START * 2, 0, S), TICK_LATE);
}

/* An earlier run may have the frames of a tick that began before this one did: the first is that behind it. */
static void
test_a_run_before (void **state)
{
  struct bench *bench = *state;

  ticks_destroy (bench->ticks);
  bench->ticks = ticks_create (&(struct ticks_options){ S, S / 2, bench, see_line, START + 2 * S });
  pass_until (bench, 2 * S);
  assert_int_equal (frame (bench, 0, 2 * S), TICK_BETWEEN);
  assert_int_equal (frame (bench, 1, S), TICK_BETWEEN);
  pass_until (bench, 3 * S);
  assert_int_equal (frame (bench, 0, 3 * S), TICK_IN);
  assert_int_equal (frame (bench, 1, 2 * S), TICK_LATE);
  pass_until (bench, 4 * S);
  assert_int_equal (bench->lines[0].time_ns - START, 3 * S);
  assert_int_equal (bench->lines[0].reporting, 1);
}

/* As long as only the time of receipt is known, a frame half way between two ticks belongs to the later one. */
static void
test_every_instant_has_one_tick (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, 3 * S);
  assert_int_equal (take (bench, 0, S + S / 2 - 1, -1, S), TICK_IN);
  assert_int_equal (take (bench, 0, S + S / 2, -1, S), TICK_IN);
  assert_int_equal (take (bench, 0, 2 * S + S / 2 - 1, -1, S), TICK_BETWEEN);
  assert_int_equal (take (bench, 0, 2 * S + S / 2, -1, S), TICK_IN);
  pass_until (bench, 4 * S);
  assert_int_equal (bench->lines[0].time_ns - START, S);
  assert_int_equal (bench->lines[1].time_ns - START, 2 * S);
  assert_int_equal (bench->lines[2].time_ns - START, 3 * S);
}

static void
test_node_that_samples_more_often (void **state)
{
  struct bench *bench = *state;
  int in = 0;

  for (int64_t at = 0; at <= 5 * S; at += 100 * MS) {
    pass_until (bench, at + MS);
    enum tick_place place = take (bench, 0, at, 0, 100 * MS);
    assert_int_equal (place, at % S == 0 ? TICK_IN : TICK_BETWEEN);
    in += place == TICK_IN;
  }
  pass_until (bench, 5 * S + 2 * MS);
  assert_int_equal (in, 6);
  assert_last (bench, 6, 5 * S, 1, 0);
}

/* A node whose period is not the ticks' is in those ticks that are at its instants, and no other waits for it. */
static void
node_of_period (struct bench *bench, int64_t period_ns)
{
  int64_t sampled = 0;

  for (int64_t at = 0; at <= 60 * S; at += S) {
    size_t before = bench->count;
    for (; sampled < at; sampled += period_ns) {
      pass_until (bench, sampled + MS > bench->now_ns - START ? sampled + MS : bench->now_ns - START);
      assert_int_equal (take (bench, 1, sampled, 1000, period_ns), TICK_BETWEEN);
    }
    pass_until (bench, at + 2 * MS);
    assert_int_equal (frame (bench, 0, at), TICK_IN);
    pass_until (bench, at + 3 * MS);
    if (sampled == at) {
      assert_int_equal (bench->count, before + (at == 0)); /* waits, once it knows the node */
      assert_int_equal (take (bench, 1, at, 1000, period_ns), at == 0 ? TICK_LATE : TICK_IN);
      sampled += period_ns;
    }
    pass_until (bench, at + 4 * MS);
    assert_last (bench, before + 1, at, at > 0 && at % period_ns == 0 ? 2 : 1, 0);
  }
}

static void
test_node_of_700_ms (void **state)
{
  node_of_period (*state, 700 * MS);
}

static void
test_node_of_1500_ms (void **state)
{
  node_of_period (*state, 1500 * MS);
}

static void
test_node_of_2500_ms (void **state)
{
  node_of_period (*state, 2500 * MS);
}

static void
test_node_of_5_s (void **state)
{
  node_of_period (*state, 5 * S);
}

/* One group has a period of its own: its frames beside the ticks take no tick from the groups that are due there, and
 * the ticks wait for those. */
static void
group_of_period (struct bench *bench, int64_t group_ns)
{
  int64_t shortest = group_ns < S ? group_ns : S, sampled = group_ns;

  expect (bench, 0, S);
  expect (bench, 1, shortest);
  for (int64_t at = 0; at <= 60 * S; at += S) {
    for (; sampled < at; sampled += group_ns) {
      pass_until (bench, sampled + MS > bench->now_ns - START ? sampled + MS : bench->now_ns - START);
      assert_int_equal (take_group (bench, 1, sampled, 1000, shortest, group_ns), TICK_BETWEEN);
    }
    if (sampled == at)
      sampled += group_ns; /* rides with the others */
    pass_until (bench, at + MS);
    size_t before = bench->count;
    frame (bench, 0, at);
    pass_until (bench, at + 2 * MS);
    assert_int_equal (bench->count, before);
    assert_int_equal (take_group (bench, 1, at, 1000, shortest, S), TICK_IN);
    pass_until (bench, at + 3 * MS);
    assert_last (bench, before + 1, at, 2, 0);
  }
}

static void
test_group_of_700_ms (void **state)
{
  group_of_period (*state, 700 * MS);
}

static void
test_group_of_1100_ms (void **state)
{
  group_of_period (*state, 1100 * MS); /* at 9.9 s it is near a tick that is not its own */
}

static void
test_group_of_1500_ms (void **state)
{
  group_of_period (*state, 1500 * MS);
}

static void
test_group_of_2500_ms (void **state)
{
  group_of_period (*state, 2500 * MS);
}

/* A sample is of its tick's instant to within a tenth of the period and what is not known of its time. */
static void
test_sampled_there (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, 2 * S);
  expect (bench, 9, S);
  assert_int_equal (take (bench, 0, 2 * S - 101 * MS, MS, S), TICK_IN);
  assert_int_equal (take (bench, 1, 2 * S - 101 * MS - 1, MS, S), TICK_BETWEEN);
  assert_int_equal (take (bench, 2, 2 * S + 101 * MS, MS, S), TICK_IN);
  assert_int_equal (take (bench, 3, 2 * S + 101 * MS + 1, MS, S), TICK_BETWEEN);
  assert_int_equal (take (bench, 4, 2 * S + 11 * MS, MS, 100 * MS), TICK_IN);
  assert_int_equal (take (bench, 5, 2 * S + 12 * MS, MS, 100 * MS), TICK_BETWEEN);
  assert_int_equal (take (bench, 6, 2 * S + 51 * MS, S - 1, 100 * MS), TICK_BETWEEN); /* the next one is nearer */
  assert_int_equal (take (bench, 6, 2 * S + 5 * MS, 0, 10 * MS), TICK_IN); /* a wake may always be late by so much */
  assert_int_equal (take (bench, 7, 2 * S + 300 * MS, -1, S), TICK_IN);
}

/* A node that turns from one tick to the next and back is in each of them once. */
static void
test_alternation (void **state)
{
  struct bench *bench = *state;

  expect (bench, 1, S);
  pass_until (bench, S);
  assert_int_equal (frame (bench, 0, S), TICK_IN);
  assert_int_equal (frame (bench, 0, 2 * S), TICK_IN);
  for (int i = 0; i < 5; i++) {
    assert_int_equal (frame (bench, 0, S), TICK_BETWEEN);
    assert_int_equal (frame (bench, 0, 2 * S), TICK_BETWEEN);
  }
  frame (bench, 1, S);
  pass_until (bench, S + MS);
  assert_last (bench, 1, S, 2, 0);
  assert_int_equal (frame (bench, 0, 2 * S), TICK_BETWEEN);
  pass_until (bench, 5 * S);
  assert_int_equal (frame (bench, 0, 5 * S), TICK_IN); /* where the bit of tick 1 was */
}

/* A node of a long period is given up after four of its own ticks. */
static void
test_seldom_node_that_falls_silent (void **state)
{
  struct bench *bench = *state;
  int waited = 0;

  take (bench, 1, 0, 0, 3 * S);
  for (int64_t at = 0; at <= 40 * S; at += S) {
    pass_tick (bench, at);
    waited += last (bench)->waited_for > 0;
    assert_true (last (bench)->waited_for == 0 || at % (3 * S) == 0);
  }
  assert_int_equal (waited, 4);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TICK_TEST (test_places),
    TICK_TEST (test_a_run_before),
    TICK_TEST (test_every_instant_has_one_tick),
    TICK_TEST (test_node_that_samples_more_often),
    TICK_TEST (test_node_of_700_ms),
    TICK_TEST (test_node_of_1500_ms),
    TICK_TEST (test_node_of_2500_ms),
    TICK_TEST (test_node_of_5_s),
    TICK_TEST (test_group_of_700_ms),
    TICK_TEST (test_group_of_1100_ms),
    TICK_TEST (test_group_of_1500_ms),
    TICK_TEST (test_group_of_2500_ms),
    TICK_TEST (test_sampled_there),
    TICK_TEST (test_alternation),
    TICK_TEST (test_seldom_node_that_falls_silent),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
