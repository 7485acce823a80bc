/* Ticks while their aggregator is stopped, is away for long, has its clock set; and hundreds of nodes whose frames
 * are under way for long. */
#include "tests/unit/aggregator/core/tick_bench.h"

/* ---- what happens to the aggregator ---- */

/* It was stopped for two and a half ticks: the frames of meanwhile, which are read only now, get their chance. */
static void
test_own_pause_holds_ticks (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, S + MS);
  frame (bench, 0, S);
  frame (bench, 1, S);
  pass_until (bench, S + 2 * MS);
  assert_last (bench, 1, S, 2, 0);
  bench->now_ns = START + 3 * S + 600 * MS;
  ticks_advance (bench->ticks, bench->now_ns);
  assert_int_equal (bench->count, 1);
  for (int64_t at = 2; at <= 3; at++)
    for (int node = 0; node < 2; node++)
      assert_int_equal (frame (bench, node, at * S), TICK_IN);
  pass_until (bench, 3 * S + 601 * MS);
  assert_last (bench, 3, 3 * S, 2, 0);

  bench->now_ns = START + 6 * S + 600 * MS; /* once more, and one of them died meanwhile */
  frame (bench, 0, 4 * S);
  frame (bench, 0, 5 * S);
  frame (bench, 0, 6 * S);
  ticks_advance (bench->ticks, bench->now_ns);
  assert_int_equal (bench->count, 3);
  pass_until (bench, 7 * S + 99 * MS);
  assert_int_equal (bench->count, 3);
  pass_until (bench, 7 * S + 100 * MS); /* half a second after it was back */
  assert_last (bench, 6, 6 * S, 1, 1);
}

/* Minutes: of the ticks that nobody is in only those of the ring are told; frames are in time in the last ones only. */
static void
test_long_pause (void **state)
{
  static const int64_t told[] = { 1, 2, 3, 4, 5, 997, 998, 999, 1000 };
  struct bench *bench = *state;

  pass_until (bench, S);
  frame (bench, 0, S);
  pass_until (bench, S);
  bench->now_ns = START + 1000 * S + MS;
  for (int64_t at = 2; at <= 1000; at++)
    assert_int_equal (frame (bench, 0, at * S), at > 5 && at < 997 ? TICK_LATE : TICK_IN);
  pass_until (bench, 1000 * S + S / 2 + MS);
  assert_int_equal (bench->count, sizeof told / sizeof told[0]);
  for (size_t i = 0; i < bench->count; i++) {
    assert_int_equal (bench->lines[i].time_ns - START, told[i] * S);
    assert_int_equal (bench->lines[i].reporting, 1);
  }
}

/* Nobody is there: each tick is told while the aggregator runs, but not those of its long absence. */
static void
test_empty_ticks (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, S);
  frame (bench, 0, S);
  pass_until (bench, 20 * S + S / 2);
  assert_last (bench, 20, 20 * S, 0, 0);
  bench->now_ns = START + 6000 * S + S / 2;
  ticks_advance (bench->ticks, bench->now_ns);
  pass_until (bench, 6001 * S + S / 2);
  assert_last (bench, 24, 6001 * S, 0, 0);
  assert_int_equal (bench->lines[20].time_ns - START, 5998 * S);
}

/* What waited for the aggregator in a node's queue begins no tick of minutes ago. */
static void
test_old_frames_at_the_start (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, 300 * S + MS);
  for (int64_t at = 1; at <= 300; at++)
    assert_int_equal (frame (bench, 0, at * S), at < 297 ? TICK_LATE : TICK_IN);
  pass_until (bench, 300 * S + 2 * MS);
  assert_last (bench, 4, 300 * S, 1, 0);
  assert_int_equal (bench->lines[0].time_ns - START, 297 * S);
}

/* A frame that was received before the last look does not turn the ticks' time back. */
static void
test_times_out_of_order (void **state)
{
  struct bench *bench = *state;

  pass_until (bench, S);
  frame (bench, 0, S);
  expect (bench, 1, S);
  pass_until (bench, 4 * S);
  bench->now_ns -= 3 * S;
  ticks_advance (bench->ticks, bench->now_ns);
  bench->now_ns += 3 * S;
  size_t before = bench->count;
  pass_until (bench, 4 * S + S / 2); /* no pause of its own is seen in that */
  assert_int_equal (bench->count, before + 1);
}

static void
restart (struct bench *bench, int64_t by_ns)
{
  for (int node = 0; node < 3; node++)
    expect (bench, node, S);
  for (int64_t at = 1; at <= 8; at++) {
    pass_until (bench, at * S);
    frame (bench, 0, at * S);
    frame (bench, 1, at * S);
    pass_until (bench, at * S + S / 2);
  }
  assert_last (bench, 8, 8 * S, 2, 0); /* node 2 never came: given up */
  pass_until (bench, 9 * S + MS);
  frame (bench, 0, 9 * S);

  int64_t base = by_ns / S * S;

  bench->now_ns += by_ns;
  ticks_restart (bench->ticks, bench->now_ns);
  assert_last (bench, 9, 9 * S, 1, 1); /* what there is of it is told */
  assert_int_equal (ticks_next_ns (bench->ticks), INT64_MAX);
  for (int64_t at = 10; at <= 20; at++) {
    pass_until (bench, base + at * S + MS);
    assert_int_equal (frame (bench, 0, base + at * S), TICK_IN);
    ticks_advance (bench->ticks, bench->now_ns);
    assert_int_equal (bench->count, (size_t) at - 1); /* the others of before are waited for from the first on */
    assert_int_equal (frame (bench, 1, base + at * S), TICK_IN);
    pass_until (bench, base + at * S + 2 * MS);
    assert_last (bench, (size_t) at, base + at * S, 2, 0);
  }
}

static void
test_restart_forward (void **state)
{
  restart (*state, 3600 * S + 123456789);
}

static void
test_restart_backward (void **state)
{
  restart (*state, -3600 * S);
}

/* ---- many ---- */

#define MANY 300
#define ROUNDS 200

static uint64_t chance_state = 88172645463325252u;

static uint64_t
chance (uint64_t below)
{
  chance_state ^= chance_state << 13;
  chance_state ^= chance_state >> 7;
  chance_state ^= chance_state << 17;
  return chance_state % below;
}

struct flight {
  int64_t sampled_ns, arrives_ns;
  int node;
};

static int
compare_flights (const void *a, const void *b)
{
  const struct flight *one = a, *other = b;
  return one->arrives_ns < other->arrives_ns ? -1 : one->arrives_ns > other->arrives_ns;
}

/* Hundreds of nodes for minutes, frames under way for up to seconds: each frame is in one tick or late, the ticks are in
 * order, none is missing, and their lines say how many frames they took. */
static void
test_many (void **state)
{
  struct bench *bench = *state;
  struct tick_member *members = memory_new (MANY, sizeof *members);
  struct flight *flights = memory_new (MANY * ROUNDS, sizeof *flights);
  int64_t now[MANY] = { 0 };
  size_t taken[ROUNDS + 2] = { 0 }, in = 0, late = 0, count = 0;

  for (int64_t round = 1; round <= ROUNDS; round++)
    for (int node = 0; node < MANY; node++) {
      int64_t sampled = round * S + (int64_t) chance (2 * MS) - MS;
      int64_t delay = chance (50) ? (int64_t) chance (20 * MS) : (int64_t) chance (3 * S);
      if (chance (20) == 0) /* lost */
        continue;
      now[node] = sampled + delay > now[node] ? sampled + delay : now[node]; /* of one node they come in order */
      flights[count++] = (struct flight){ sampled, now[node], node };
    }
  qsort (flights, count, sizeof *flights, compare_flights);
  for (size_t i = 0; i < count; i++) {
    struct report_group report = { .now = &bench->table };
    int64_t index = (flights[i].sampled_ns + S / 2) / S;
    if (flights[i].arrives_ns > bench->now_ns - START)
      pass_until (bench, flights[i].arrives_ns);
    bool closed = bench->count && last (bench)->time_ns >= START + index * S;
    enum tick_place place = tick_frame (bench->ticks, &members[flights[i].node], "node", START + flights[i].sampled_ns,
                                        100, S, bench->schema, &report, bench->now_ns);
    assert_int_equal (place, closed ? TICK_LATE : TICK_IN);
    taken[index] += place == TICK_IN;
    in += place == TICK_IN;
    late += place == TICK_LATE;
  }
  pass_until (bench, (ROUNDS + 4) * S);
  assert_int_equal (in + late, count);
  assert_true (in > late && late > 0);
  assert_int_equal (bench->count, ROUNDS + 3);
  for (size_t i = 0; i < ROUNDS; i++) {
    assert_int_equal (bench->lines[i].time_ns - START, (int64_t) (i + 1) * S);
    assert_int_equal (bench->lines[i].reporting, taken[i + 1]);
    assert_true (bench->lines[i].spread_ns < 2 * MS);
  }
  print_message ("# %zu frames in ticks, %zu late\n", in, late);
  for (int node = 0; node < MANY; node++)
    tick_leave (bench->ticks, &members[node]);
  free (members);
  free (flights);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TICK_TEST (test_own_pause_holds_ticks), TICK_TEST (test_long_pause),
    TICK_TEST (test_empty_ticks),           TICK_TEST (test_old_frames_at_the_start),
    TICK_TEST (test_times_out_of_order),    TICK_TEST (test_restart_forward),
    TICK_TEST (test_restart_backward),      TICK_TEST (test_many),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
