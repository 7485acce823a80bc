/* What cannot be is missing and told once; bursts, pauses, wraps and resets are let through. Time is what the test says.
 */
#include "tests/unit/agent/sampler_test.h"

#include "agent/sampling/bounds.h"
#include "synop/clock.h"
#include "synop/report.h"

#define S NS_PER_S
#define MS NS_PER_MS
#define IMPOSSIBLE "impossible values are left out: "

enum { BUSY, IDLE, BYTES, EVENTS, TICKS, HEAT, SIZE, USED, SPEED, TOTAL };

static const struct metric metrics[] = {
  [BUSY] = { "busy", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100 },
  [IDLE] = { "idle", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 100 },
  [BYTES] = { "rx_bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 4, .bound = { BOUND_LINE ("speed") } },
  [EVENTS] = { "events", COUNTER, UNIT_COUNT, FOLD_SUM },
  [TICKS] = { "ticks", COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_WRAPS32, .per = 1000 },
  [HEAT] = { "temperature", GAUGE, UNIT_CELSIUS, FOLD_MAX, .per = 1000 },
  [SIZE] = { "size", GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1024 },
  [USED] = { "used", GAUGE, UNIT_BYTES, FOLD_SUM, .bound = { BOUND_PART ("size") } },
  [SPEED] = { "speed", GAUGE, UNIT_BITS_PER_SECOND, FOLD_NONE, .times = 1000000 },
  [TOTAL] = { "total", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE },
};
static const struct group group = { .name = "test", .rows_name = "rows", GROUP_METRICS (metrics) };

static struct table table;
static struct bounds *bounds;
static int64_t now_ns;

static int
begin (void **state)
{
  (void) state;
  table_init (&table, &group);
  bounds = bounds_create (&group);
  now_ns = 1000 * S;
  return 0;
}

static int
end (void **state)
{
  (void) state;
  table_free (&table);
  bounds_destroy (bounds);
  return 0;
}

/* A table with these rows, "a b c". */
static void
rows (const char *labels)
{
  table_begin (&table);
  for (; *labels; labels += strcspn (labels, " "), labels += *labels == ' ')
    table_add_row (&table, labels, strcspn (labels, " "));
}

static void
check_after (int64_t elapsed_ns)
{
  now_ns += elapsed_ns;
  bounds_check (bounds, &table, now_ns, now_ns);
}

/* Is it there? */
static bool
there (size_t row, size_t column)
{
  return table_get (&table, row, column)->type != VALUE_MISSING;
}

/* A sample of row "a" alone, so long after the last. True: the value stood. */
static bool
stands (size_t column, uint64_t value, int64_t elapsed_ns)
{
  rows ("a");
  table_set_uint (&table, 0, column, value);
  check_after (elapsed_ns);
  assert_int_equal (there (0, column), !table.error[0]);
  return there (0, column);
}

/* ---- gauges ---- */

static void
test_gauge (void **state)
{
  (void) state;
  rows ("a b c d");
  table_set_int (&table, 0, HEAT, 45000);
  table_set_int (&table, 1, HEAT, -273150);
  table_set_real (&table, 2, HEAT, 1e300);
  table_set_uint (&table, 3, HEAT, UINT64_MAX);
  table_set_uint (&table, 3, SIZE, 16);
  check_after (0);
  assert_true (there (0, HEAT) && there (3, SIZE));
  assert_false (there (1, HEAT) || there (2, HEAT) || there (3, HEAT));
  assert_string_equal (table.error, IMPOSSIBLE "temperature of b, -273.15 celsius (at least -100), and 2 more");

  rows ("a");
  table_set_int (&table, 0, HEAT, -100000);
  check_after (S);
  assert_true (there (0, HEAT));
  assert_string_equal (table.error, "");
}

static void
test_part_of_another (void **state)
{
  (void) state;
  rows ("a b c d");
  table_set_uint (&table, 0, SIZE, 2);
  table_set_uint (&table, 0, USED, 2048);
  table_set_uint (&table, 1, SIZE, 2);
  table_set_uint (&table, 1, USED, 2049);
  table_set_uint (&table, 2, USED, UINT64_C (1) << 40); /* of what, is not known */
  table_set_uint (&table, 3, SIZE, UINT64_MAX);         /* cannot be, so it is no bound */
  table_set_uint (&table, 3, USED, UINT64_C (1) << 63);
  check_after (0);
  assert_true (there (0, USED) && there (2, USED));
  assert_false (there (1, USED) || there (3, SIZE) || there (3, USED));
}

/* The sentence stays while the same is wrong, and stands behind another error where there is room; else it is counted. */
static void
test_sentence (void **state)
{
  static const char sentence[] = IMPOSSIBLE "temperature of a, -273.15 celsius (at least -100)";

  (void) state;
  for (int i = 0; i < 5; i++) {
    char before[sizeof table.error] = "", expected[2 * sizeof before];

    rows ("a");
    table_set_int (&table, 0, HEAT, -273150 - i * 1000);
    if (i == 3)
      strcpy (before, "b: gone");
    if (i == 4)
      memset (before, 'x', sizeof before - 40);
    strcpy (table.error, before);
    check_after (S);
    snprintf (expected, sizeof expected, "%s%s%s", before, i == 3 ? "; " : "", i == 4 ? " (and 1 more)" : sentence);
    assert_string_equal (table.error, expected);
  }
}

/* What is written to standard error meanwhile. */
static void
test_logged_once (void **state)
{
  char log[4096] = "";
  FILE *file = tmpfile ();
  int real = dup (2);

  (void) state;
  dup2 (fileno (file), 2);
  for (int i = 0; i < 6; i++) {
    rows ("a b");
    table_set_int (&table, 0, HEAT, i % 3 == 0 ? 20000 : -273150);
    table_set_int (&table, 1, HEAT, i == 4 ? 1000000 : 20000);
    check_after (S);
  }
  dup2 (real, 2);
  close (real);
  rewind (file);
  assert_true (fread (log, 1, sizeof log - 1, file) > 0);
  fclose (file);
  assert_non_null (strstr (log, "group test: " IMPOSSIBLE "temperature of a"));
  assert_null (strstr (strstr (log, IMPOSSIBLE) + 1, IMPOSSIBLE));
}

/* ---- counters ---- */

/* One that jumps is missing once, and goes on from where it is then; so does one that comes back. */
static void
test_jump (void **state)
{
  (void) state;
  assert_true (stands (EVENTS, 1000, 0));
  assert_true (stands (EVENTS, 1500, S));
  assert_false (stands (EVENTS, UINT64_C (1) << 60, S));
  assert_non_null (strstr (table.error, "events of a, 1.1529e+18 a second (at most 1e+12)"));
  assert_true (stands (EVENTS, (UINT64_C (1) << 60) + 5, S));
  assert_true (stands (EVENTS, 2000, S)); /* a fall: the reader shows no change */
  assert_true (stands (EVENTS, 2100, S));
}

/* A reader shows no change in the sample of the jump and the one behind it, and what is beside it in each. */
static void
test_what_readers_show (void **state)
{
  static const uint64_t events[] = { 10, 20, UINT64_C (1) << 60, (UINT64_C (1) << 60) + 7, (UINT64_C (1) << 60) + 9 };
  static const uint64_t changes[] = { 0, 10, 0, 0, 2 }; /* 0: null */
  struct table before;

  (void) state;
  table_init (&before, &group);
  for (uint64_t i = 0; i < sizeof events / sizeof events[0]; i++) {
    struct report_group pair = { &table, i ? &before : NULL };
    rows ("a b");
    table_set_uint (&table, 0, EVENTS, events[i]);
    table_set_uint (&table, 1, EVENTS, i);
    check_after (S);
    table.monotonic_ns = now_ns;
    for (size_t row = 0; i > 0 && row < 2; row++) {
      struct value change = report_value (&metrics[EVENTS], table_get (&table, row, EVENTS),
                                          table_get (&before, row, EVENTS), report_elapsed_ns (&pair));
      assert_int_equal (report_elapsed_ns (&pair), S);
      assert_int_equal (change.type == VALUE_UINT ? change.as.u : 0, row ? 1 : changes[i]);
    }
    if (table_is_comparable (&table))
      table_swap (&before, &table);
  }
  table_free (&before);
}

static void
test_never_counted_so_far (void **state)
{
  (void) state;
  rows ("");
  table_set_uint (&table, TABLE_NODE, TOTAL, UINT64_MAX);
  check_after (0);
  assert_false (there (TABLE_NODE, TOTAL));
  assert_string_equal (table.error, IMPOSSIBLE "total, 1.8447e+19 in all (at most 9.2234e+18)");
  assert_true (stands (EVENTS, 7, S));
  assert_false (stands (EVENTS, UINT64_C (1) << 63, S));
  assert_false (stands (EVENTS, UINT64_MAX, S));
  assert_true (stands (EVENTS, 9, S));
  assert_true (stands (EVENTS, (UINT64_C (1) << 40), S));
}

/* A wrap of 32 bits is no jump, and a reset is none; one that began anew in its upper half is no wrap of a second. */
static void
test_wrap_and_reset (void **state)
{
  (void) state;
  assert_true (stands (TICKS, UINT32_MAX - 100, 0));
  assert_true (stands (TICKS, 700, S));
  assert_true (stands (TICKS, 3, S));
  assert_true (stands (TICKS, 3000000000, 40 * 86400 * S));
  rows ("a");
  table_set_uint (&table, 0, TICKS, 0);
  check_after (S);
  assert_false (there (0, TICKS));
  assert_true (stands (TICKS, 900, S));
}

/* Where one fell a change says nothing, but what no counter reaches is told. */
static void
test_impossible_beside_a_fall (void **state)
{
  (void) state;
  rows ("a");
  table_set_uint (&table, 0, BUSY, 1000);
  table_set_uint (&table, 0, EVENTS, 1000);
  check_after (0);
  rows ("a");
  table_set_uint (&table, 0, BUSY, 500);
  table_set_uint (&table, 0, EVENTS, UINT64_MAX);
  check_after (S);
  assert_false (there (0, EVENTS));
  assert_string_equal (table.error, IMPOSSIBLE "events of a, 1.8447e+19 in all (at most 9.2234e+18)");
}

static void
test_share (void **state)
{
  (void) state;
  assert_true (stands (BUSY, 100, 0));
  assert_true (stands (BUSY, 205, S));           /* the clock was read a little earlier */
  assert_true (stands (BUSY, 205 + 12, S / 10)); /* two ticks */
  assert_false (stands (BUSY, 205 + 12 + 150, S));
  assert_non_null (strstr (table.error, "busy of a, 150 percent (at most 100)"));
  assert_true (stands (BUSY, 205 + 12 + 150 + 99, S));
  assert_true (stands (BUSY, 466 + 100 * 3600, 3600 * S)); /* the agent was stopped for an hour */
  assert_false (stands (BUSY, INT64_MAX, S));
}

/* A CPU whose row stood still may be told of all at once; not one where something moved. */
static void
test_stood_still (void **state)
{
  (void) state;
  for (int second = 0; second < 30; second++) {
    rows ("still busy");
    table_set_uint (&table, 0, BUSY, 500);
    table_set_uint (&table, 1, BUSY, 500);
    table_set_uint (&table, 1, IDLE, (uint64_t) second * 90);
    check_after (S);
    assert_string_equal (table.error, "");
  }
  rows ("still busy");
  table_set_uint (&table, 0, BUSY, 500 + 3000);
  table_set_uint (&table, 1, BUSY, 500 + 3000);
  table_set_uint (&table, 1, IDLE, 30 * 90);
  check_after (S);
  assert_true (there (0, BUSY) && there (1, IDLE));
  assert_false (there (1, BUSY));
}

/* The kernel takes back time of waiting for a disk and calls it idle: nobody's fault, and no idle of 1000 percent. */
static void
test_time_moved_between_counters (void **state)
{
  (void) state;
  rows ("a");
  table_set_uint (&table, 0, BUSY, 5000);
  table_set_uint (&table, 0, IDLE, 5000);
  check_after (0);
  rows ("a");
  table_set_uint (&table, 0, BUSY, 6000);
  table_set_uint (&table, 0, IDLE, 4100);
  check_after (S);
  assert_false (there (0, BUSY));
  assert_true (there (0, IDLE));
  assert_string_equal (table.error, "");
}

static void
test_line_rate (void **state)
{
  static const struct {
    uint64_t speed;     /* Mb/s; 0: not known */
    uint64_t good, bad; /* bytes in 8 s after 2 s of grace */
  } cases[] = { { 10, 1250000000000, 1260000000000 },
                { 400000, 5000000000000, 5010000000000 },
                { 0, 10000000000000000, 10100000000000000 },
                { UINT64_C (1) << 50, 10000000000000000, 10100000000000000 } };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t bytes[] = { 0, cases[i].good, cases[i].good + cases[i].bad };
    for (size_t k = 0; k < 3; k++) {
      char label[] = { 'a', (char) ('0' + i), 0 };
      rows (label);
      table_set_uint (&table, 0, BYTES, bytes[k] / 4);
      if (cases[i].speed)
        table_set_uint (&table, 0, SPEED, cases[i].speed);
      check_after (8 * S);
      assert_int_equal (there (0, BYTES), k < 2);
    }
  }
}

/* ---- rows ---- */

/* Each is measured against itself, wherever it stands. */
static void
test_rows_come_and_go (void **state)
{
  static const char *const turns[] = { "b c d", "a b c d", "a b d", "d", "n1 n2 d n3", "n2 n3 d", "d", "n1 d" };

  (void) state;
  for (uint64_t turn = 0; turn < sizeof turns / sizeof turns[0]; turn++) {
    rows (turns[turn]);
    for (size_t row = 0; row < table.rows; row++) {
      size_t length;
      char last = table_label (&table, row, &length)[length - 1];
      table_set_uint (&table, row, BUSY, (uint64_t) last * 1000000 + turn * 100);
      if (last == 'd' && turn == 7)
        table_value (&table, row, BUSY)->as.u += 1000;
    }
    check_after (S);
    if (turn < 7)
      assert_string_equal (table.error, "");
  }
  assert_non_null (strstr (table.error, "busy of d, 1100 percent"));
}

/* Many rows that all change their places cost no time, and no row is held to another's numbers. */
static void
test_many_rows (void **state)
{
  (void) state;
  for (uint64_t turn = 0; turn < 6; turn++) {
    table_begin (&table);
    for (uint64_t i = 0; i < 20000; i++) {
      uint64_t name = turn < 3 ? (i * 7919 + turn) % 20000 : turn * 100000 + i;
      char label[24];
      size_t row =
          table_add_row (&table, label, (size_t) snprintf (label, sizeof label, "%llu", (long long unsigned) name));
      table_set_uint (&table, row, BUSY, name * 1000000 + turn * 100);
    }
    check_after (S);
    assert_string_equal (table.error, "");
  }
}

static void
nine_errors (void)
{
  for (int i = 0; i < 9; i++) {
    rows ("");
    strcpy (table.error, "timed out");
    check_after (S);
    assert_string_equal (table.error, "timed out");
  }
}

/* Nothing but an error: what was before stays, and so does its time. */
static void
test_table_of_an_error (void **state)
{
  (void) state;
  assert_true (stands (BUSY, 0, 0));
  nine_errors ();
  assert_true (stands (BUSY, 1000, S));
  nine_errors ();
  assert_false (stands (BUSY, 3000, S));
}

/* A value that was missing in between is a new one. */
static void
test_value_that_was_missing (void **state)
{
  (void) state;
  for (uint64_t second = 0; second < 3; second++) {
    rows ("a");
    table_set_uint (&table, 0, IDLE, second * 50);
    if (second != 1)
      table_set_uint (&table, 0, BUSY, second * 1000);
    check_after (S);
    assert_string_equal (table.error, "");
  }
}

static void
test_warm_without_allocation (void **state)
{
  (void) state;
#if COUNTS_ALLOCATIONS
  size_t before = 0;

  for (uint64_t turn = 0; turn < 6; turn++) {
    if (turn == 3)
      before = allocations;
    rows ("a b c d e");
    for (size_t row = 0; row < 5; row++)
      table_set_uint (&table, row, EVENTS, turn == 4 ? UINT64_MAX : turn * 10);
    check_after (S);
  }
  assert_int_equal (allocations, before);
#else
  print_message ("# skipped: a sanitizer stands in the allocator's place\n");
  skip ();
#endif
}

int
main (void)
{
#define CASE(TEST) cmocka_unit_test_setup_teardown (TEST, begin, end)
  const struct CMUnitTest tests[] = {
    CASE (test_gauge),
    CASE (test_part_of_another),
    CASE (test_sentence),
    CASE (test_logged_once),
    CASE (test_jump),
    CASE (test_what_readers_show),
    CASE (test_never_counted_so_far),
    CASE (test_wrap_and_reset),
    CASE (test_impossible_beside_a_fall),
    CASE (test_share),
    CASE (test_stood_still),
    CASE (test_time_moved_between_counters),
    CASE (test_line_rate),
    CASE (test_rows_come_and_go),
    CASE (test_many_rows),
    CASE (test_table_of_an_error),
    CASE (test_value_that_was_missing),
    CASE (test_warm_without_allocation),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
