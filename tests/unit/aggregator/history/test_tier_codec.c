/* Points as bytes: what comes out is what went in, whatever the numbers, and damage is seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/history/tier_codec.h"
#include "aggregator/history/tier_grid.h"

#define TIMES 60

static uint64_t state;

static uint64_t
chance (uint64_t below)
{
  state = state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return (state >> 33) % below;
}

/* Of a kind: whole numbers, large ones, negative ones, decimals, any. */
static double
value_of (unsigned kind)
{
  double whole = (double) chance (1000);

  switch (kind) {
  case 0:
    return whole;
  case 1:
    return whole * 1e12;
  case 2:
    return whole - 500;
  case 3:
    return whole / 100;
  default:
    return whole / 7;
  }
}

struct expected {
  struct tier_cell cells[8][TIMES];
  size_t seen;
};

static void
compare (void *context, const struct tier_series *series)
{
  struct expected *expected = context;
  const struct tier_cell *cells = expected->cells[series->metric];
  size_t at = 0;

  expected->seen++;
  assert_int_equal (series->node, 100 + series->metric);
  if (series->metric % 2)
    assert_memory_equal (series->label, "label", series->length);
  else
    assert_null (series->label);
  for (uint32_t time = 0; time < TIMES; time++) {
    if (cells[time].count == 0)
      continue;
    assert_true (at < series->count && series->times[at] == time);
    assert_int_equal (series->cells[at].count, cells[time].count);
    assert_true (series->cells[at].min == cells[time].min && series->cells[at].max == cells[time].max);
    assert_true (fabs (series->cells[at].sum - cells[time].sum) <= 1e-12 * fabs (cells[time].sum));
    at++;
  }
  assert_int_equal (at, series->count);
}

static void
fill (struct expected *expected, struct tier_writer *writer, struct buffer *out)
{
  uint32_t label;

  memset (expected, 0, sizeof *expected);
  for (uint32_t metric = 0; metric < 8; metric++) {
    for (uint32_t time = 0; time < TIMES; time++)
      for (uint64_t i = chance (4); i; i--)
        tier_cell_add (&expected->cells[metric][time], value_of (metric % 5));
    label = metric % 2 ? tier_writer_label (writer, "label", 5) : 0;
    tier_writer_series (writer, metric, 100 + metric, label, expected->cells[metric], 1, 0, TIMES);
    if (metric == 3)
      tier_writer_segment (writer);
  }
  tier_writer_segment (writer);
  buffer_clear (out);
  assert_true (tier_writer_end (writer, out));
}

static void
test_comes_back (void **unused)
{
  struct tier_writer *writer = tier_writer_create (3);
  struct tier_reader *reader = tier_reader_create ();
  struct expected expected;
  struct buffer out = { 0 };

  (void) unused;
  for (state = 1; state < 2000; state++) {
    uint64_t seed = state;
    fill (&expected, writer, &out);
    assert_int_equal (tier_reader_read (reader, out.data, out.length, 0, 9, &expected, compare, NULL), 0);
    assert_int_equal (expected.seen, 8);
    expected.seen = 0;
    assert_int_equal (tier_reader_read (reader, out.data, out.length, 2, 5, &expected, compare, NULL), 0);
    assert_int_equal (expected.seen, 4);
    state = seed + 37;
  }
  buffer_clear (&out);
  assert_false (tier_writer_end (writer, &out)); /* nothing */
  buffer_free (&out);
  tier_writer_destroy (writer);
  tier_reader_destroy (reader);
}

static void
ignore (void *context, const struct tier_series *series)
{
  (void) context;
  (void) series;
}

static void
test_damage_is_seen (void **unused)
{
  struct tier_writer *writer = tier_writer_create (3);
  struct tier_reader *reader = tier_reader_create ();
  struct expected expected;
  struct buffer out = { 0 };

  (void) unused;
  state = 5;
  fill (&expected, writer, &out);
  for (size_t i = 0; i < out.length; i++) {
    out.data[i] ^= (char) (1 << i % 8);
    assert_int_equal (tier_reader_read (reader, out.data, out.length, 0, 9, NULL, ignore, NULL), -1);
    out.data[i] ^= (char) (1 << i % 8);
    assert_int_equal (tier_reader_read (reader, out.data, i, 0, 9, NULL, ignore, NULL), -1);
  }
  buffer_free (&out);
  tier_writer_destroy (writer);
  tier_reader_destroy (reader);
}

/* What several blobs have of a series is one. */
static void
test_grid_adds_up (void **unused)
{
  struct tier_grid *grid = tier_grid_create (TIMES);
  const uint32_t times[] = { 3, 7 };
  const struct tier_cell cells[] = { { 2, 10, 4, 6 }, { 1, 9, 9, 9 } };
  struct tier_series series = { .node = 5, .count = 2, .times = times, .cells = cells };

  (void) unused;
  for (int turn = 0; turn < 3; turn++) {
    for (int64_t node = 0; node < 40; node++) {
      series.label = NULL;
      tier_grid_add (grid, 1, node, &series);
      series.label = node % 2 ? "a" : "b";
      series.length = 1;
      tier_grid_add (grid, 1, node, &series);
      tier_grid_add (grid, 2, 39 - node, &series);
    }
  }
  assert_int_equal (grid->count, 3); /* of metric 1 nodes and rows, of 2 rows */
  assert_int_equal (grid->sections[0].count, 40);
  assert_int_equal (grid->sections[2].count, 40);
  assert_int_equal (grid->label_count, 2);
  for (size_t i = 0; i < 40; i++) {
    const struct grid_series *of = &grid->sections[2].series[i];
    const struct tier_cell *cell = of->cells - of->first; /* those from the first time on */
    assert_true (of->first == 3 && of->room > 5);
    assert_true (cell[3].count == 6 && cell[3].sum == 30 && cell[3].min == 4 && cell[3].max == 6);
    assert_true (cell[7].count == 3 && cell[7].sum == 27 && cell[8].count == 0);
  }
  tier_grid_clear (grid);
  assert_int_equal (grid->cells, 0);
  tier_grid_destroy (grid);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_comes_back), cmocka_unit_test (test_damage_is_seen),
                                      cmocka_unit_test (test_grid_adds_up) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
