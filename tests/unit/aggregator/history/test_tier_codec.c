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

/* ---- shapes ---- */

#define SHAPES 18

/* What minutes look like: constant, growing, jumping, with a few large ones, far below 0, very large, decimals and thirds with
 * sums that adding up has blurred. */
static struct tier_cell
cell_of (unsigned shape, uint32_t time)
{
  double noise = (double) chance (1000), grown = 5000 + 17.0 * time;

  switch (shape) {
  case 0:
    return (struct tier_cell){ 60, 60 * 7.0, 7, 7 };
  case 1:
    return (struct tier_cell){ 60 - time % 2, (60 - time % 2) * 7.0, 7, 7 };
  case 2: /* one range, one sum above the least */
    return (struct tier_cell){ 10, 10 * grown + 30, grown, grown + 9 };
  case 3:
    return (struct tier_cell){ 60, 60 * grown + 50 * noise, grown, grown + noise };
  case 4: /* one of sixty */
    return (struct tier_cell){ 60, noise, 0, noise };
  case 5: /* a step in the middle */
    return (struct tier_cell){ 60, 60 * 40 + 23 * noise, 40, 40 + noise };
  case 6:
    return (struct tier_cell){ 60, -60 * noise - 1, -2 * noise - 1, noise };
  case 7:
    return (struct tier_cell){ 2, 2 * (TIER_WHOLE_MAX / 4 - noise), TIER_WHOLE_MAX / 4 - 2 * noise,
                               TIER_WHOLE_MAX / 4 };
  case 8:
    return (struct tier_cell){ 1, -TIER_WHOLE_MAX + noise, -TIER_WHOLE_MAX + noise, -TIER_WHOLE_MAX + noise };
  case 9:
    return (struct tier_cell){ 60, 60 * noise / 100, noise / 100, noise / 100 };
  case 10:
    return (struct tier_cell){ 3, noise / 3 + 2.5, noise / 3, noise / 3 + 1.25 };
  case 11:
    return (struct tier_cell){ 3, (noise + 1e7) / 7, sqrt (noise), 1e9 * sqrt (noise + 1) };
  case 12: /* maxima that stay while minima move, and steps of these */
    return (struct tier_cell){ 60, 60 * 20000 - 3 * noise, 20000 - noise, 20000 };
  case 13:
    return (struct tier_cell){ 60, 60 * (grown + 1e12) + noise, grown + 1e12, grown + 1e12 + 40 + time };
  case 14: /* nothing above the least, but for a part of a range: what no sum of samples is */
    return (struct tier_cell){ 60, 60 * 5 - noise, 5, 5 + noise };
  case 15:
    return (struct tier_cell){ time % 7 ? 0 : 60, 60, 1, 1 };
  case 16: /* range 0, and a sum that is none of these */
    return (struct tier_cell){ 2, 2 * grown + noise + 1, grown, grown };
  default:
    return (struct tier_cell){ 1, 0.1 + 0.2 + noise, 0.1 + noise, 0.2 + noise };
  }
}

struct shapes {
  struct tier_cell cells[3 * SHAPES][TIMES];
  size_t seen;
};

static void
compare_shape (void *context, const struct tier_series *series)
{
  struct shapes *shapes = context;
  const struct tier_cell *cells = shapes->cells[series->metric];
  size_t at = 0;

  shapes->seen++;
  for (uint32_t time = 0; time < TIMES; time++) {
    const struct tier_cell *is = &series->cells[at], *was = &cells[time];
    if (was->count == 0)
      continue;
    assert_true (at < series->count && series->times[at++] == time && is->count == was->count);
    assert_true (is->min == was->min && is->max == was->max);
    assert_true (fabs (is->sum - was->sum) <= 1e-12 * fabs (was->sum));
    assert_true (is->sum == was->sum || was->sum != floor (was->sum));
  }
  assert_int_equal (at, series->count);
}

/* Each shape twice with other numbers, then the first once more; in one segment, and read one by one. */
static void
test_shapes_come_back (void **unused)
{
  struct tier_writer *writer = tier_writer_create (3);
  struct tier_reader *reader = tier_reader_create ();
  struct buffer out = { 0 };
  struct shapes shapes;

  (void) unused;
  for (uint64_t seed = 1; seed < 60; seed++) {
    uint32_t points = seed % 3 ? TIMES : 1 + (uint32_t) seed % 5;
    state = seed;
    memset (&shapes, 0, sizeof shapes);
    for (uint32_t metric = 0; metric < 3 * SHAPES; metric++) {
      for (uint32_t time = 0; time < points; time++)
        shapes.cells[metric][time] =
            metric < 2 * SHAPES ? cell_of (metric % SHAPES, time) : shapes.cells[metric - 2 * SHAPES][time];
      tier_writer_series (writer, metric, 1, 0, shapes.cells[metric], 1, 0, TIMES);
      if (seed % 2 && metric % 10 == 9)
        tier_writer_segment (writer);
    }
    tier_writer_segment (writer);
    buffer_clear (&out);
    assert_true (tier_writer_end (writer, &out));
    assert_int_equal (tier_reader_read (reader, out.data, out.length, 0, UINT32_MAX, &shapes, compare_shape, NULL), 0);
    assert_int_equal (shapes.seen, 3 * SHAPES);
    for (uint32_t metric = 0; metric < 3 * SHAPES; metric++)
      assert_int_equal (tier_reader_read (reader, out.data, out.length, metric, metric, &shapes, compare_shape, NULL),
                        0);
    assert_int_equal (shapes.seen, 6 * SHAPES);
  }
  buffer_free (&out);
  tier_writer_destroy (writer);
  tier_reader_destroy (reader);
}

/* What is there already takes little more. */
static void
test_what_comes_again_is_small (void **unused)
{
  struct tier_writer *writer = tier_writer_create (3);
  struct tier_cell cells[TIMES];
  struct buffer once = { 0 }, often = { 0 };

  (void) unused;
  state = 3;
  for (uint32_t time = 0; time < TIMES; time++)
    cells[time] = cell_of (3, time);
  tier_writer_series (writer, 1, 1, 0, cells, 1, 0, TIMES);
  tier_writer_segment (writer);
  tier_writer_end (writer, &once);
  for (uint32_t metric = 1; metric <= 20; metric++)
    tier_writer_series (writer, metric, 1, 0, cells, 1, 0, TIMES);
  tier_writer_segment (writer);
  tier_writer_end (writer, &often);
  assert_true (once.length > 100 && often.length < once.length + 60);
  buffer_free (&once);
  buffer_free (&often);
  tier_writer_destroy (writer);
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

/* ---- pieces ---- */

struct fetching {
  const struct buffer *blob;
  size_t fetched, fails_at; /* bytes; 0: it never fails */
};

static int
fetch (void *context, void *to, size_t offset, size_t length)
{
  struct fetching *fetching = context;

  assert_true (offset + length <= fetching->blob->length);
  memcpy (to, fetching->blob->data + offset, length);
  fetching->fetched += length;
  return fetching->fails_at && fetching->fetched >= fetching->fails_at ? -1 : 0;
}

/* Of a block of all metrics of 16 nodes no more than one metric's part is fetched, nor is damage elsewhere seen. */
static void
test_one_metric_fetches_little (void **unused)
{
  struct tier_grid *grid = tier_grid_create (TIMES);
  struct tier_writer *writer = tier_writer_create (3);
  struct tier_reader *reader = tier_reader_create ();
  struct tier_cell cells[TIMES];
  uint32_t times[TIMES];
  struct buffer blob = { 0 };
  struct fetching fetching = { .blob = &blob };
  struct tier_source source = { .context = &fetching, .fetch = fetch };

  (void) unused;
  state = 11;
  for (int64_t metric = 1; metric <= 40; metric++)
    for (int64_t node = 1; node <= 16; node++) {
      for (uint32_t time = 0; time < TIMES; time++) {
        times[time] = time;
        cells[time] = cell_of (3, time);
      }
      struct tier_series series = { .count = TIMES, .times = times, .cells = cells };
      series.label = metric % 4 ? "row" : NULL; /* most have rows alone */
      series.length = 3;
      tier_grid_add (grid, metric, node, &series);
    }
  assert_true (tier_grid_write_all (grid, 0, writer, &blob));
  source.length = blob.length;
  assert_int_equal (tier_reader_read_source (reader, &source, 7, 7, NULL, ignore, NULL), 0);
  assert_in_range (fetching.fetched, blob.length / 80, blob.length / 20);
  blob.data[blob.length - 1] ^= 1;
  assert_int_equal (tier_reader_read_source (reader, &source, 7, 7, NULL, ignore, NULL), 0);
  assert_int_equal (tier_reader_read_source (reader, &source, 40, 40, NULL, ignore, NULL), -1);
  assert_int_equal (tier_reader_read_source (reader, &source, 0, UINT32_MAX, NULL, ignore, NULL), -1);
  for (fetching.fails_at = 1; fetching.fails_at < 2000; fetching.fails_at += 97) {
    fetching.fetched = 0;
    assert_int_equal (tier_reader_read_source (reader, &source, 7, 7, NULL, ignore, NULL), -1);
  }
  buffer_free (&blob);
  tier_grid_destroy (grid);
  tier_writer_destroy (writer);
  tier_reader_destroy (reader);
}

/* ---- the first format ---- */

/* A series of two points, and that beside one of other numbers. */
static const uint8_t first_plain[] = {
  0x01, 0x00, 0x5f, 0x29, 0x21, 0x83, 0x01, 0x1b, 0x05, 0x05, 0x01, 0x02, 0x00, 0x00, 0x09, 0x0a, 0x00, 0x00, 0x00,
  0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x0a, 0x12, 0x00, 0x04, 0x00, 0x04, 0xd0, 0x0f, 0x0e, 0x0e, 0x02, 0x02,
};
static const uint8_t first_packed[] = {
  0x01, 0x01, 0x90, 0x6d, 0x3d, 0x46, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x69, 0xad, 0x02, 0x00, 0x44, 0x04,
  0x02, 0x20, 0x05, 0x05, 0x42, 0x06, 0x06, 0x01, 0x02, 0x00, 0x01, 0x04, 0x65, 0x74, 0x68, 0x30, 0x09,
  0x0a, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x0a, 0x12, 0x00, 0x04, 0x00, 0x04, 0xd0,
  0x0f, 0x0e, 0x0e, 0x02, 0x02, 0x01, 0x02, 0x01, 0x08, 0x28, 0xff, 0xff, 0x0c, 0x12, 0x02, 0x04, 0x00,
  0x04, 0xc7, 0x01, 0x02, 0x32, 0x03, 0x56, 0x55, 0xe5, 0xbf, 0x03, 0xab, 0xaa, 0xda, 0xfa, 0xf2, 0xbf,
  0x06, 0x00, 0x80, 0x08, 0x0b, 0x5d, 0x10, 0x1a, 0x2e, 0x2c, 0x18, 0x57, 0x23, 0x53, 0x65,
};

static void
see_first (void *context, const struct tier_series *series)
{
  size_t *seen = context;

  ++*seen;
  assert_true (series->node == 9 && series->count == 2 && series->times[0] == 0 && series->times[1] == 1);
  for (int i = 0; i < 2; i++) {
    const struct tier_cell *cell = &series->cells[i];
    double min = series->metric == 5 ? 1000 + i : i * 0.25 - 1;
    assert_true (cell->count == 2 && cell->min == min);
    assert_true (cell->max == (series->metric == 5 ? min + 7 : min + 1.0 / 3));
    assert_true (series->metric == 5 ? cell->sum == 2 * min + 7 : fabs (cell->sum - 2 * min - 1.0 / 3) < 1e-12);
  }
  if (series->metric == 5)
    assert_null (series->label);
  else
    assert_memory_equal (series->label, "eth0", series->length);
}

static void
test_the_first_format_is_read (void **unused)
{
  static const struct {
    const uint8_t *bytes;
    size_t length, series;
  } blobs[] = { { first_plain, sizeof first_plain, 1 }, { first_packed, sizeof first_packed, 2 } };
  struct tier_reader *reader = tier_reader_create ();

  (void) unused;
  for (size_t i = 0; i < 2; i++) {
    size_t seen = 0, length = blobs[i].length;
    uint8_t bytes[128];
    memcpy (bytes, blobs[i].bytes, length);
    assert_int_equal (tier_reader_read (reader, bytes, length, 0, 9, &seen, see_first, NULL), 0);
    assert_int_equal (seen, blobs[i].series);
    assert_int_equal (tier_reader_read (reader, bytes, length, 5, 5, &seen, see_first, NULL), 0);
    assert_int_equal (seen, blobs[i].series + 1);
    for (size_t k = 0; k < length; k++) {
      bytes[k] ^= 16;
      assert_int_equal (tier_reader_read (reader, bytes, length, 0, 9, NULL, ignore, NULL), -1);
      bytes[k] ^= 16;
      assert_int_equal (tier_reader_read (reader, bytes, k, 0, 9, NULL, ignore, NULL), -1);
    }
  }
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
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_comes_back),
                                      cmocka_unit_test (test_shapes_come_back),
                                      cmocka_unit_test (test_what_comes_again_is_small),
                                      cmocka_unit_test (test_damage_is_seen),
                                      cmocka_unit_test (test_one_metric_fetches_little),
                                      cmocka_unit_test (test_the_first_format_is_read),
                                      cmocka_unit_test (test_grid_adds_up) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
