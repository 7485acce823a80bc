/* Ticks on a virtual clock that the test moves, nodes that report to them, and the lines that come of them. */
#ifndef SYNOP_TESTS_TICK_BENCH_H
#define SYNOP_TESTS_TICK_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/tick.h"
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

static inline void
see_line (void *context, const struct tick_line *line)
{
  struct bench *bench = context;

  assert_true (bench->count < LINES_MAX);
  bench->lines[bench->count++] =
      (struct seen_line){ line->time_ns, line->spread_ns, line->bound_ns, line->reporting, line->waited_for };
}

static inline int
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

static inline int
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
static inline void
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
static inline enum tick_place
take_group (struct bench *bench, int node, int64_t time_ns, int64_t bound_ns, int64_t period_ns, int64_t group_ns)
{
  struct report_group report = { .now = &bench->table };

  bench->table.period_ns = group_ns;
  return tick_frame (bench->ticks, &bench->nodes[node], "node", START + time_ns, bound_ns, period_ns, bench->schema,
                     &report, bench->now_ns);
}

static inline enum tick_place
take (struct bench *bench, int node, int64_t time_ns, int64_t bound_ns, int64_t period_ns)
{
  return take_group (bench, node, time_ns, bound_ns, period_ns, period_ns);
}

/* A frame of an ordinary node, sampled at `time_ns` and here now. */
static inline enum tick_place
frame (struct bench *bench, int node, int64_t time_ns)
{
  return take (bench, node, time_ns, 1000, S);
}

static inline void
expect (struct bench *bench, int node, int64_t period_ns)
{
  tick_expect (bench->ticks, &bench->nodes[node], period_ns, bench->now_ns);
}

static inline const struct seen_line *
last (const struct bench *bench)
{
  assert_true (bench->count > 0);
  return &bench->lines[bench->count - 1];
}

static inline void
assert_last (const struct bench *bench, size_t count, int64_t time_ns, size_t reporting, size_t waited_for)
{
  assert_int_equal (bench->count, count);
  assert_int_equal (last (bench)->time_ns - START, time_ns);
  assert_int_equal (last (bench)->reporting, reporting);
  assert_int_equal (last (bench)->waited_for, waited_for);
}

/* Only node 0 reports to the tick of that instant, whose grace ends. */
static inline void
pass_tick (struct bench *bench, int64_t time_ns)
{
  pass_until (bench, time_ns + MS);
  frame (bench, 0, time_ns);
  pass_until (bench, time_ns + S / 2);
}

#define TICK_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

#endif
