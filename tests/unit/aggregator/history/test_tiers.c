/* Tiers in the file: each frame counts once, whatever ends in between; damage is mended; what is old or too much goes. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "aggregator/core/combine.h"
#include "aggregator/history/history_points_tier.h"
#include "aggregator/history/tier_check.h"
#include "aggregator/history/tier_store_private.h"
#include "tests/unit/aggregator/history/history_bench.h"

/* Each look at the clock takes so long, in any thread. */
static _Atomic int64_t each_call_ns;
int64_t __real_clock_monotonic (void);
int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  static _Atomic int64_t passed_ns;

  if (!each_call_ns)
    passed_ns = 0;
  return __real_clock_monotonic () + atomic_fetch_add (&passed_ns, each_call_ns);
}

/* ---- reading ---- */

struct read_out {
  uint64_t count;
  double sum, min, max;
  size_t points, series, broken;
  int64_t first_ns, last_ns;
};

static void *
see_series (void *context, const char *node, const char *row, size_t row_length, const struct metric *metric)
{
  struct read_out *out = context;

  (void) node;
  (void) row;
  (void) row_length;
  (void) metric;
  out->series++;
  return out;
}

static void
see_points (void *context, void *series, const struct history_point *points, size_t count)
{
  struct read_out *out = context;

  (void) series;
  for (size_t i = 0; i < count; i++) {
    out->min = out->points == 0 || points[i].min < out->min ? points[i].min : out->min;
    out->max = out->points == 0 || points[i].max > out->max ? points[i].max : out->max;
    out->first_ns = out->points == 0 || points[i].time_ns < out->first_ns ? points[i].time_ns : out->first_ns;
    out->last_ns = out->points == 0 || points[i].time_ns > out->last_ns ? points[i].time_ns : out->last_ns;
    out->points++;
    out->count += points[i].count;
    out->sum += points[i].sum;
  }
}

static struct read_out
read_tier (struct scratch *scratch, enum history_tier tier, const char *metric, const char *node, bool combined)
{
  struct error error = { "" };
  struct history_file *file = history_file_open (scratch->path, &error);
  struct globs nodes;
  struct points_query query = { .group = "made",
                                .metric = metric,
                                .nodes = &nodes,
                                .combined = combined,
                                .from_ns = -(INT64_C (1) << 62),
                                .to_ns = INT64_C (1) << 62 };
  struct read_out out = { 0 };

  globs_init (&nodes, node ? node : "");
  assert_non_null (file);
  assert_int_equal (history_points_tier (file, tier, &query, &(struct points_into){ &out, see_series, see_points },
                                         &out.broken, &error),
                    0);
  globs_free (&nodes);
  history_file_close (file);
  return out;
}

static bool blocks_of_one; /* metric each, as of batches that are large */

static void
do_work (struct scratch *scratch, int64_t seconds, int steps, const struct tier_limits *limits)
{
  struct error error = { "" };
  struct history_store *store = history_store_open (scratch->path, &error);
  struct tier_limits all = { .minutes_before_ns = INT64_MIN, .hours_before_ns = INT64_MIN, .max_size = 1 << 30 };
  int more = 1;

  if (!store)
    fail_msg ("%s", error.text);
  if (blocks_of_one)
    store->tiers->whole_most = 0;
  all = limits ? *limits : all;
  all.now_ns = clock_wall () + seconds * NS_PER_S;
  while (more == 1 && steps-- > 0)
    more = tier_store_work (store, &all, 0, &error);
  assert_int_equal (more < 0, 0);
  history_store_close (store);
}

#define DAYS (3 * 86400)
#define ALL 100000

/* Every frame is in both tiers once. */
static void
assert_counts (struct scratch *scratch, uint64_t frames)
{
  for (enum history_tier tier = HISTORY_MINUTES; tier <= HISTORY_HOURS; tier++) {
    struct read_out out = read_tier (scratch, tier, "level", NULL, false);
    assert_int_equal (out.count, frames);
    assert_int_equal (out.broken, 0);
  }
}

/* ---- once ---- */

static void
test_each_frame_once (void **state)
{
  struct scratch *scratch = *state;
  struct read_out out;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 10, 400);
  put_range (scratch, "n1", 1, 10, 40); /* while their chunks are open, or written */
  history_flush (scratch->history);
  put_range (scratch, "n1", 1, 1, 450);
  put_made (scratch, "n1", 1, 451, 450, true);
  put_range (scratch, "n2", 2, 1, 100);
  scratch_close (scratch);
  scratch_open (scratch);
  put_range (scratch, "n1", 1, 430, 600);
  scratch_close (scratch);
  do_work (scratch, 0, ALL, NULL);
  assert_counts (scratch, 700);
  do_work (scratch, DAYS, ALL, NULL);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM tier_staged"), 0);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM tier_blocks WHERE part > 0"), 0);
  assert_counts (scratch, 700);
  out = read_tier (scratch, HISTORY_MINUTES, "bytes", "n2", false);
  assert_int_equal (out.series, 1);
  assert_int_equal (out.count, 99);
  assert_true (out.sum == 99 * 1000 + 100 * 100 - 1 && out.min == 1000 + 3 && out.max == 1000 + 199);
}

/* Killed while it writes and while it works, again and again. */
static void
write_until_killed (struct scratch *scratch, uint64_t from, uint64_t seed)
{
  scratch_open (scratch);
  for (uint64_t i = from; i < from + 200; i++) {
    put_made (scratch, "n1", 1, i, i - 1, false);
    if (i % 40 == 0)
      history_flush (scratch->history);
  }
  scratch_close (scratch);
  for (;;)
    do_work (scratch, DAYS, 1 + (int) (seed % 3), NULL);
}

static void
test_killed_at_any_point (void **state)
{
  struct scratch *scratch = *state;
  uint64_t seed = 9;

  for (uint64_t turn = 0; turn < 12 || (turn < 100 && frames_of (scratch, "n1") <= 100); turn++) {
    pid_t child;
    fflush (NULL);
    child = fork ();
    if (child == 0)
      write_until_killed (scratch, 1 + 150 * turn, seed);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    usleep (2000 + (useconds_t) (seed >> 40) % 60000);
    kill (child, SIGKILL);
    waitpid (child, NULL, 0);
    if (turn % 4 == 3)
      do_work (scratch, 0, ALL, NULL);
    if (turn % 4 == 3)
      assert_counts (scratch, (uint64_t) frames_of (scratch, "n1"));
  }
  do_work (scratch, DAYS, ALL, NULL);
  assert_counts (scratch, (uint64_t) frames_of (scratch, "n1"));
  assert_true (frames_of (scratch, "n1") > 100);
}

/* However long there is to do, what is done is committed, and the next goes on from there: also in another process. */
static void
test_long_work_is_committed (void **state)
{
  struct scratch *scratch = *state;
  const struct tier_limits limits = {
    .now_ns = clock_wall (), .minutes_before_ns = INT64_MIN, .hours_before_ns = INT64_MIN, .max_size = 1 << 30
  };
  int64_t all, left, before;
  struct error error = { "" };
  int more = 1, calls = 0, progress = 0;

  scratch_open (scratch);
  for (uint64_t hour = 0; hour < 6; hour++, scratch->start_ns -= 3600 * NS_PER_S)
    put_range (scratch, "n1", 1 + hour, 1, 160);
  scratch_close (scratch);
  all = before = scratch_number (scratch, "SELECT count (*) FROM unfolded");
  assert_true (all >= 60);
  each_call_ns = NS_PER_S / 15; /* so that a second is over soon */
  while (more == 1) {
    struct history_store *store = history_store_open (scratch->path, &error);
    more = tier_store_work (store, &limits, INT64_MAX, &error);
    history_store_close (store);
    left = scratch_number (scratch, "SELECT count (*) FROM unfolded");
    assert_true (left <= before);
    progress += left < before && left > 0;
    before = left;
    calls++;
  }
  each_call_ns = 0;
  assert_int_equal (more, 0);
  assert_int_equal (before, 0);
  assert_true (calls > 3 && progress > 3);
  assert_counts (scratch, 6 * 160);
}

/* ---- damage ---- */

static void
count_fault (void *context, const char *text)
{
  (void) text;
  ++*(uint64_t *) context;
}

static uint64_t
check_faults (struct scratch *scratch)
{
  struct error error = { "" };
  struct history_file *file = history_file_open (scratch->path, &error);
  struct tier_check check;
  uint64_t faults = 0;

  assert_int_equal (tier_check (file, &check, &faults, count_fault, &error), 0);
  assert_true (check.minutes + check.hours + check.staged > 0);
  history_file_close (file);
  return faults;
}

#define DAMAGE(where) "UPDATE tier_blocks SET data = substr (data, 1, length (data) - 1) || x'55' WHERE " where

/* A block has all metrics, or one of a large batch. */
static void
assert_damage_is_mended (struct scratch *scratch, bool few)
{
  uint64_t nodes = few ? 2 : 12, frames = few ? 300 : 1500;
  struct read_out before[2], after;
  char name[16];

  blocks_of_one = !few;
  scratch->start_ns -= scratch->start_ns % (3600 * NS_PER_S) + few * 150 * NS_PER_S; /* of two hours, or one */
  scratch_open (scratch);
  for (uint64_t i = 1; i <= nodes; i++) {
    snprintf (name, sizeof name, "n%u", (unsigned) i);
    put_range (scratch, name, i, 1, frames);
  }
  scratch_close (scratch);
  do_work (scratch, DAYS, ALL, NULL);
  assert_true ((scratch_number (scratch, "SELECT count (*) FROM tier_blocks WHERE metric = 0") > 0) == few);
  assert_true ((scratch_number (scratch, "SELECT count (*) FROM tier_blocks WHERE metric > 0") == 0) == few);
  assert_int_equal (check_faults (scratch), 0);
  before[0] = read_tier (scratch, HISTORY_MINUTES, "bytes", NULL, false);
  before[1] = read_tier (scratch, HISTORY_HOURS, "bytes", NULL, false);
  for (int tier = 0; tier < 2; tier++) {
    scratch_sql (scratch, tier ? DAMAGE ("tier = 1") : DAMAGE ("tier = 0"));
    assert_true (check_faults (scratch) >= (few ? 1 : 3));
    assert_true (read_tier (scratch, tier ? HISTORY_HOURS : HISTORY_MINUTES, "bytes", NULL, false).broken > 0);
    do_work (scratch, 0, ALL, NULL);
    assert_int_equal (check_faults (scratch), 0);
    for (enum history_tier of = HISTORY_MINUTES; of <= HISTORY_HOURS; of++) {
      const struct read_out *was = &before[of == HISTORY_HOURS];
      after = read_tier (scratch, of, "bytes", NULL, false);
      assert_true (after.count == was->count && after.sum == was->sum && after.points == was->points &&
                   after.min == was->min && after.max == was->max);
    }
  }
  /* Where the frames are gone it is left out. */
  scratch_sql (scratch, "DELETE FROM chunks");
  scratch_sql (scratch, few ? DAMAGE ("tier = 0") : DAMAGE ("tier = 0 AND rows = 0 AND metric = 2"));
  do_work (scratch, 0, ALL, NULL);
  assert_int_equal (check_faults (scratch), 0);
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "level", NULL, false).count, 0);
  assert_int_equal (read_tier (scratch, HISTORY_HOURS, "level", NULL, false).count, frames * nodes);
}

static void
test_damage_is_mended (void **state)
{
  assert_damage_is_mended (*state, true);
}

static void
test_damage_of_many_is_mended (void **state)
{
  assert_damage_is_mended (*state, false);
  blocks_of_one = false;
}

static void
assert_as_before (struct scratch *scratch, const struct read_out *before)
{
  assert_int_equal (check_faults (scratch), 0);
  for (enum history_tier tier = HISTORY_MINUTES; tier <= HISTORY_HOURS; tier++) {
    const struct read_out *was = &before[tier == HISTORY_HOURS];
    struct read_out now = read_tier (scratch, tier, "bytes", NULL, false);
    assert_true (now.count == was->count && now.sum == was->sum && now.min == was->min && now.max == was->max);
  }
}

/* Frames that are deleted already take nothing from minutes of which one metric was damaged; minutes that lost a part get it
 * back from frames. */
static void
test_the_fuller_counts (void **state)
{
  struct scratch *scratch = *state;
  struct read_out before[2];

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 300);
  put_range (scratch, "n2", 2, 1, 300);
  scratch_close (scratch);
  do_work (scratch, DAYS, ALL, NULL);
  for (int tier = 0; tier < 2; tier++)
    before[tier] = read_tier (scratch, tier ? HISTORY_HOURS : HISTORY_MINUTES, "bytes", NULL, false);
  scratch_sql (scratch, "DELETE FROM chunks WHERE node = 1");
  scratch_sql (scratch,
               "INSERT INTO tier_repairs SELECT DISTINCT start, batch, 1, 65536 FROM tier_blocks WHERE tier = 0");
  do_work (scratch, 0, ALL, NULL);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM tier_repairs"), 0);
  assert_as_before (scratch, before);
  scratch_sql (scratch, "DELETE FROM tier_blocks WHERE tier = 0");
  scratch_sql (scratch,
               "INSERT INTO tier_repairs SELECT DISTINCT start, batch, 1, 65536 FROM tier_blocks WHERE tier = 1");
  scratch_sql (scratch,
               "INSERT OR IGNORE INTO tier_repairs SELECT first_time / 3600000000000 * 3600, 0, 1, 65536 FROM chunks");
  do_work (scratch, 0, ALL, NULL);
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "level", "n1", false).count, 0);
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "level", "n2", false).count, 300);
}

/* What is staged of the hour behind names no chunk: its hour is made again. */
static void
test_staged_is_mended (void **state)
{
  struct scratch *scratch = *state;
  struct read_out before[2];

  scratch->start_ns += 3600 * NS_PER_S; /* the second hour is not over */
  scratch->start_ns -= scratch->start_ns % (3600 * NS_PER_S) + 150 * NS_PER_S;
  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 300);
  scratch_close (scratch);
  do_work (scratch, 0, ALL, NULL); /* blocks of the first hour, and what a chunk has of the second */
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM tier_staged"), 1);
  for (int tier = 0; tier < 2; tier++)
    before[tier] = read_tier (scratch, tier ? HISTORY_HOURS : HISTORY_MINUTES, "bytes", NULL, false);
  assert_int_equal (before[0].count, 299);
  scratch_sql (scratch, "UPDATE tier_staged SET data = substr (data, 1, 20) || x'55'");
  assert_int_equal (check_faults (scratch), 1);
  do_work (scratch, DAYS, ALL, NULL);
  assert_as_before (scratch, before);
}

/* Any of the tables may be dropped, with the file in any state. */
static void
test_lost_tables (void **state)
{
  static const char *const names[] = { "unfolded", "tier_staged", "tier_blocks", "tier_maps", "tier_metrics" };
  struct scratch *scratch = *state;
  struct read_out before[2];
  char text[128];

  scratch->start_ns -= scratch->start_ns % (3600 * NS_PER_S) + 150 * NS_PER_S;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    uint64_t first = 1 + 300 * i;
    scratch_open (scratch);
    put_range (scratch, "n1", 1, first, first + 299);
    scratch_close (scratch);
    if (i != 1)
      do_work (scratch, i == 2 ? 0 : DAYS, ALL, NULL); /* merged, halfway, unfolded */
    for (int tier = 0; tier < 2; tier++)
      before[tier] = read_tier (scratch, tier ? HISTORY_HOURS : HISTORY_MINUTES, "bytes", NULL, false);
    snprintf (text, sizeof text, "DROP TABLE %s", names[i]);
    scratch_sql (scratch, text);
    do_work (scratch, DAYS, ALL, NULL);
    assert_as_before (scratch, before);
    assert_counts (scratch, first + 299);
    assert_true (scratch_number (scratch, "SELECT sum (bytes) FROM uses WHERE room = 'tiers'") ==
                 scratch_number (scratch, "SELECT sum (length (data) + 100) FROM tier_blocks"));
  }
}

/* Also where nothing comes. */
static void
test_an_idle_writer_looks (void **state)
{
  struct scratch *scratch = *state;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 100);
  scratch_close (scratch);
  do_work (scratch, DAYS, ALL, NULL);
  scratch_open (scratch);
  scratch_sql (scratch, DAMAGE ("tier = 0"));
  for (int i = 0; i < 600 && read_tier (scratch, HISTORY_MINUTES, "level", NULL, false).count < 100; i++)
    usleep (100000);
  assert_counts (scratch, 100);
  scratch_close (scratch);
}

/* ---- retention ---- */

static void
test_old_goes (void **state)
{
  struct scratch *scratch = *state;
  struct tier_limits limits = { .minutes_before_ns = clock_wall () + 2 * 86400 * NS_PER_S,
                                .hours_before_ns = INT64_MIN,
                                .max_size = 1 << 30 };

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 300);
  scratch_close (scratch);
  do_work (scratch, DAYS, ALL, NULL);
  assert_counts (scratch, 300);
  do_work (scratch, DAYS, ALL, &limits);
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "level", NULL, false).count, 0);
  assert_int_equal (read_tier (scratch, HISTORY_HOURS, "level", NULL, false).count, 300);
  limits.hours_before_ns = limits.minutes_before_ns + 86400 * NS_PER_S;
  do_work (scratch, DAYS, ALL, &limits);
  assert_int_equal (read_tier (scratch, HISTORY_HOURS, "level", NULL, false).count, 0);
}

/* Over a fifth of the size the oldest minutes go; hours stay while they are less than half of that. */
static void
test_too_much_goes (void **state)
{
  struct scratch *scratch = *state;
  struct tier_limits limits = { .minutes_before_ns = INT64_MIN, .hours_before_ns = INT64_MIN };
  int64_t minutes, hours, room;
  struct read_out out;

  scratch_open (scratch);
  for (int hour = 0; hour < 20; hour++) {
    put_range (scratch, "n1", 1 + (uint64_t) hour, 1, 120);
    scratch->start_ns -= 3600 * NS_PER_S;
  }
  scratch_close (scratch);
  do_work (scratch, DAYS, ALL, NULL);
  minutes = scratch_number (scratch, "SELECT sum (length (data) + 100) FROM tier_blocks WHERE tier = 0");
  hours = scratch_number (scratch, "SELECT sum (length (data) + 100) FROM tier_blocks WHERE tier = 1");
  room = hours * 2 + minutes / 4;
  assert_true (room < minutes + hours);
  limits.max_size = (uint64_t) room * 5;
  do_work (scratch, DAYS, ALL, &limits);
  assert_in_range (scratch_number (scratch, "SELECT sum (bytes) FROM uses WHERE room = 'tiers'"), 1, room);
  assert_int_equal (read_tier (scratch, HISTORY_HOURS, "level", NULL, false).count, 20 * 120);
  out = read_tier (scratch, HISTORY_MINUTES, "level", NULL, false);
  assert_true (out.count > 0 && out.count < 20 * 120);
  assert_true (out.last_ns > scratch->start_ns + 20 * 3600 * NS_PER_S - 60 * NS_PER_S); /* the newest stay */
}

/* ---- combined ---- */

static void
test_combined (void **state)
{
  struct scratch *scratch = *state;
  struct combine *combine = combine_create ();
  struct read_out out;

  scratch_open (scratch);
  for (int64_t i = 0; i < 200; i++) {
    struct tick_line tick = { .time_ns = scratch->start_ns + i * NS_PER_S, .period_ns = NS_PER_S, .combine = combine };
    struct take_made made = { 0 };
    struct report_group pair = { &made.tables[0], &made.tables[1] };
    struct buffer frame = { 0 };
    struct frame_header header;
    for (; made.at < 2; made.at++) {
      buffer_clear (&frame);
      made_frame (scratch, &frame, "n1", 1, (uint64_t) i + 2 - made.at);
      frame_read_header (frame.data, frame.length, &header, NULL);
      frame_read_tables (frame.data, frame.length, &header, scratch->schema,
                         &(struct frame_sink){ .context = &made, .take = take_made }, NULL);
    }
    combine_clear (combine);
    combine_add (combine, "n1", scratch->schema, &pair);
    combine_add (combine, "n2", scratch->schema, &pair);
    history_put_tick (scratch->history, &(struct cluster_tick_line){ &tick, 2, 0, 0 });
    table_free (&made.tables[0]);
    table_free (&made.tables[1]);
    buffer_free (&frame);
  }
  scratch_close (scratch);
  for (int turn = 0; turn < 2; turn++) {
    out = read_tier (scratch, turn ? HISTORY_HOURS : HISTORY_MINUTES, "bytes", NULL, true);
    assert_int_equal (out.series, 4);
    assert_int_equal (out.count, 800);
    assert_true (out.min == 1003 && out.max == 2 * (1000 + 2 * 200 + 1)); /* of a node; of both together */
    do_work (scratch, DAYS, ALL, NULL);
  }
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "bytes", NULL, false).count, 0); /* no node's */
  combine_destroy (combine);
}

/* ---- what cannot be ---- */

/* A counter is compared with no frame that was sampled after it, or at the same instant, whatever a node says. */
static void
test_a_base_is_before_its_frame (void **state)
{
  struct scratch *scratch = *state;

  scratch_open (scratch);
  for (uint64_t i = 1; i <= 90; i++) {
    scratch->stand_still = i >= 31 && i <= 40;
    put_made (scratch, "n1", 1, i, i == 1 ? 0 : i - 1, false);
  }
  scratch_close (scratch);
  do_work (scratch, DAYS, ALL, NULL);
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "level", NULL, false).count, 90);
  assert_int_equal (read_tier (scratch, HISTORY_MINUTES, "bytes", NULL, false).count, 89 - 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, scratch_create, scratch_destroy)

int
main (void)
{
  const struct CMUnitTest tests[] = { TEST (test_each_frame_once),
                                      TEST (test_killed_at_any_point),
                                      TEST (test_long_work_is_committed),
                                      TEST (test_damage_is_mended),
                                      TEST (test_damage_of_many_is_mended),
                                      TEST (test_the_fuller_counts),
                                      TEST (test_staged_is_mended),
                                      TEST (test_lost_tables),
                                      TEST (test_an_idle_writer_looks),
                                      TEST (test_old_goes),
                                      TEST (test_too_much_goes),
                                      TEST (test_combined),
                                      TEST (test_a_base_is_before_its_frame) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
