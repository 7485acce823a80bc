/* Ticks on a virtual clock: what they wait for, when they close, what becomes of frames that come early, late or beside
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/tick.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define S NS_PER_S
#define MS NS_PER_MS
#define START (INT64_C (1700002920) * S) /* a multiple of all periods here */
#define LINES_MAX 4096
#define NODES_MAX 16

static const struct metric metrics[] = { { "level", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Level." } };
static const struct group group = { "plain", "", "", "", "", 0, "A group.", GROUP_METRICS (metrics) };
static const struct group *const groups[] = { &group };

struct seen_line {
  int64_t time_ns, spread_ns, bound_ns;
  size_t reporting, waited_for;
};

/* Ticks, the lines that came of them, and a clock that the test moves. */
struct bench {
  struct ticks *ticks;
  struct schema *schema;
  struct table table;
  int64_t now_ns;
  struct tick_member nodes[NODES_MAX];
  struct seen_line lines[LINES_MAX];
  size_t count;
};

static void
see_line (void *context, const struct tick_line *line)
{
  struct bench *bench = context;

  assert_true (bench->count < LINES_MAX);
  bench->lines[bench->count++] =
      (struct seen_line){ line->time_ns, line->spread_ns, line->bound_ns, line->reporting, line->waited_for };
}

static int
begin (void **state)
{
  struct bench *bench = memory_new (1, sizeof *bench);

  bench->ticks = ticks_create (&(struct ticks_options){ S, S / 2, bench, see_line });
  bench->schema = schema_create (groups, 1);
  table_init (&bench->table, &group);
  bench->table.period_ns = S;
  bench->now_ns = START;
  *state = bench;
  return 0;
}

static int
end (void **state)
{
  struct bench *bench = *state;

  ticks_destroy (bench->ticks);
  schema_destroy (bench->schema);
  table_free (&bench->table);
  free (bench);
  return 0;
}

/* Lets time pass as the aggregator does: it looks again when the ticks want it. */
static void
pass_until (struct bench *bench, int64_t ns)
{
  for (int64_t next; (next = ticks_next_ns (bench->ticks)) <= START + ns;) {
    bench->now_ns = next > bench->now_ns ? next : bench->now_ns;
    size_t before = bench->count;
    ticks_advance (bench->ticks, bench->now_ns);
    assert_true (bench->count > before || ticks_next_ns (bench->ticks) > bench->now_ns); /* or it would spin */
  }
  bench->now_ns = START + ns;
  ticks_advance (bench->ticks, bench->now_ns);
}

/* A frame with a group of `group_ns` alone, of a node whose shortest period is `period_ns`. */
static enum tick_place
take_group (struct bench *bench, int node, int64_t time_ns, int64_t bound_ns, int64_t period_ns, int64_t group_ns)
{
  struct report_group report = { .now = &bench->table };

  bench->table.period_ns = group_ns;
  return tick_frame (bench->ticks, &bench->nodes[node], "node", START + time_ns, bound_ns, period_ns, bench->schema,
                     &report, bench->now_ns);
}

static enum tick_place
take (struct bench *bench, int node, int64_t time_ns, int64_t bound_ns, int64_t period_ns)
{
  return take_group (bench, node, time_ns, bound_ns, period_ns, period_ns);
}

/* A frame of an ordinary node, sampled at `time_ns` and here now. */
static enum tick_place
frame (struct bench *bench, int node, int64_t time_ns)
{
  return take (bench, node, time_ns, 1000, S);
}

static void
expect (struct bench *bench, int node, int64_t period_ns)
{
  tick_expect (bench->ticks, &bench->nodes[node], period_ns, bench->now_ns);
}

static const struct seen_line *
last (const struct bench *bench)
{
  assert_true (bench->count > 0);
  return &bench->lines[bench->count - 1];
}

static void
assert_last (const struct bench *bench, size_t count, int64_t time_ns, size_t reporting, size_t waited_for)
{
  assert_int_equal (bench->count, count);
  assert_int_equal (last (bench)->time_ns - START, time_ns);
  assert_int_equal (last (bench)->reporting, reporting);
  assert_int_equal (last (bench)->waited_for, waited_for);
}

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
    pass_until (bench, at * S + MS);
    frame (bench, 0, at * S);
    pass_until (bench, at * S + S / 2);
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
    pass_until (bench, at * S + MS);
    frame (bench, 0, at * S);
    pass_until (bench, at * S + S / 2);
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

/* ---- where a frame belongs ---- */

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
    pass_until (bench, at + MS);
    frame (bench, 0, at);
    pass_until (bench, at + S / 2);
    waited += last (bench)->waited_for > 0;
    assert_true (last (bench)->waited_for == 0 || at % (3 * S) == 0);
  }
  assert_int_equal (waited, 4);
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

#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_nothing_before_the_first_frame),
    TEST (test_closes_when_all_have_reported),
    TEST (test_never_before_its_instant),
    TEST (test_closes_after_the_grace),
    TEST (test_silent_node_is_waited_for_four_ticks),
    TEST (test_always_late),
    TEST (test_new_node_is_expected_after_its_hello),
    TEST (test_hello_without_frames),
    TEST (test_leave_while_waited_for),
    TEST (test_places),
    TEST (test_every_instant_has_one_tick),
    TEST (test_node_that_samples_more_often),
    TEST (test_node_of_700_ms),
    TEST (test_node_of_1500_ms),
    TEST (test_node_of_2500_ms),
    TEST (test_node_of_5_s),
    TEST (test_group_of_700_ms),
    TEST (test_group_of_1100_ms),
    TEST (test_group_of_1500_ms),
    TEST (test_group_of_2500_ms),
    TEST (test_sampled_there),
    TEST (test_alternation),
    TEST (test_seldom_node_that_falls_silent),
    TEST (test_several_open),
    TEST (test_spread_and_bound),
    TEST (test_own_pause_holds_ticks),
    TEST (test_long_pause),
    TEST (test_empty_ticks),
    TEST (test_old_frames_at_the_start),
    TEST (test_times_out_of_order),
    TEST (test_restart_forward),
    TEST (test_restart_backward),
    TEST (test_many),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
