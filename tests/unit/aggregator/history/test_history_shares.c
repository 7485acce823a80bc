/* One node that sends too much costs the history of the others nothing: shares of what waits, and of the writer's time. */
#include "aggregator/history/history_private.h"
#include "tests/unit/aggregator/history/history_bench.h"

/* ---- what waits ---- */

/* The history has no file as long as something is in the place of its folder: all that is put waits. */
static void
block (struct scratch *scratch)
{
  char *in_the_way = memory_format ("%s/sub", scratch->folder);

  fclose (fopen (in_the_way, "w"));
  snprintf (scratch->path, sizeof scratch->path, "%s/history.db", in_the_way);
  free (in_the_way);
}

static void
unblock (struct scratch *scratch)
{
  char *in_the_way = memory_format ("%s/sub", scratch->folder);

  assert_int_equal (unlink (in_the_way), 0);
  free (in_the_way);
}

/* A node fills what it can while nothing can be written; what the others send then has room nevertheless. */
static void
test_room_for_all (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct history_counts counts;

  block (scratch);
  options.queue_bytes = 1 << 20;
  scratch->history = history_create (&options);
  for (uint64_t i = 1; i <= 6000; i++)
    put_made (scratch, "evil", 3, i, 0, false);
  put_range (scratch, "n1", 1, 1, 100);
  put_range (scratch, "n2", 2, 1, 100);
  for (uint64_t i = 6001; i <= 10000; i++)
    put_made (scratch, "evil", 3, 2 * i, 0, false);
  put_range (scratch, "n1", 1, 101, 200);
  assert_false (history_flush (scratch->history));
  poll_events (scratch);
  poll_events (scratch);
  assert_int_equal (told (scratch, "history_queue", "evil"), 1);
  assert_int_equal (told (scratch, "history_queue", "n1"), 0);
  history_count (scratch->history, &counts);
  assert_true (counts.frames_over_share > 1000);
  assert_true (counts.frames_not_stored >= counts.frames_over_share);
  for (uint64_t i = 10001; i <= 14000; i++) /* a turn of what waited may have been taken */
    put_made (scratch, "evil", 3, 2 * i, 0, false);
  assert_true (history_is_nearly_full (scratch->history, "evil"));
  assert_false (history_is_nearly_full (scratch->history, "n1"));
  unblock (scratch);
  assert_true (history_flush (scratch->history));
  assert_int_equal (frames_of (scratch, "n1"), 200);
  assert_int_equal (frames_of (scratch, "n2"), 100);
}

/* A node alone has half of the room, and is not told to be over its share: its disk is too slow. */
static void
test_alone (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct history_counts counts;

  block (scratch);
  options.queue_bytes = 100000;
  scratch->history = history_create (&options);
  for (uint64_t i = 1; i <= 2000; i++)
    put_made (scratch, "n1", 3, i, 0, false);
  poll_events (scratch);
  history_count (scratch->history, &counts);
  assert_true (counts.frames_not_stored > 0);
  assert_int_equal (counts.frames_over_share, 0);
  assert_int_equal (told (scratch, "history_queue", "n1"), 0);
}

static struct item *
make_item (size_t size)
{
  struct item *item = memory_new (1, sizeof *item);

  item->size = size;
  return item;
}

static size_t
take_turn (struct history_shares *shares, size_t *bytes)
{
  size_t count = 0;

  *bytes = 0;
  for (struct item *item = history_shares_next (shares), *next; item; item = next) {
    next = item->next;
    *bytes += item->size;
    count++;
    free (item);
  }
  return count;
}

/* Each in turn, a little; whoever came last is next but one. */
static void
test_turns (void **state)
{
  struct history_shares shares = { 0 };
  struct history_share *evil, *healthy;
  size_t bytes, sum = 0;

  (void) state;
  history_shares_init (&shares, 1 << 20);
  evil = history_share_of (&shares, "evil");
  healthy = history_share_of (&shares, "n1");
  assert_ptr_equal (history_share_of (&shares, "evil"), evil);
  for (uint64_t i = 1; i <= 1000; i++) {
    struct item *item = make_item (100);
    item->put = i;
    history_share_put (&shares, evil, item);
  }
  sum = take_turn (&shares, &bytes);
  assert_in_range (sum, 164, 165);
  for (int i = 0; i < 3; i++) {
    struct item *item = make_item (1000000);
    item->put = 2000;
    history_share_put (&shares, healthy, item);
  }
  sum += take_turn (&shares, &bytes);
  assert_int_equal (take_turn (&shares, &bytes), 1);
  assert_int_equal (bytes, 1000000);
  assert_true (history_shares_wait (&shares, 1000));
  for (size_t got; (got = take_turn (&shares, &bytes));)
    sum += got;
  assert_int_equal (sum, 1002);
  assert_false (history_shares_wait (&shares, 2000));
  history_shares_free (&shares);
}

/* Room is taken and given back; of many that take all they can, each gets as much, and there is room for one more. */
static void
test_equal_shares (void **state)
{
  struct history_shares shares = { 0 };
  struct history_share *list[9];
  bool more = true;

  (void) state;
  history_shares_init (&shares, 1 << 20);
  for (int i = 0; i < 9; i++) {
    char name[16];
    snprintf (name, sizeof name, "n%d", i);
    list[i] = history_share_of (&shares, name);
  }
  while (more) {
    more = false;
    for (int i = 0; i < 8; i++)
      more |= history_share_take (&shares, list[i], 100);
  }
  for (int i = 0; i < 8; i++) {
    assert_in_range (list[i]->used, (1 << 20) / 9 - 200, (1 << 20) / 9 + 200);
    assert_false (history_share_is_over (&shares, list[i]));
  }
  for (int i = 0; i < 500; i++)
    assert_true (history_share_take (&shares, list[8], 100));
  for (int i = 0; i < 9; i++)
    history_share_give (&shares, list[i], list[i]->used);
  assert_int_equal (shares.used, 0);
  assert_int_equal (shares.users, 0);
  history_shares_free (&shares);
}

/* Few chunks of a node are open, whatever its sessions: each open one is memory. */
static void
count_chunk (void *context, struct open_chunk *chunk)
{
  ++*(size_t *) context;
  open_chunk_destroy (chunk);
}

static void
test_open_chunks_of_a_node (void **state)
{
  size_t closed = 0;
  struct gather *gather = gather_create (
      &(struct gather_options){ .chunk_frames = 64, .chunk_ns = 1000, .context = &closed, .whole = count_chunk });

  (void) state;
  for (uint64_t i = 1; i <= 100; i++) {
    struct gathered one = {
      .node = "evil", .session = i, .sequence = 1, .record = "", .frame = "x", .frame_length = 1
    };
    assert_true (gather_add (gather, &one, (int64_t) i));
    one.node = i % 2 ? "n1" : "n2";
    one.session = 1;
    one.sequence = (i + 1) / 2;
    assert_true (gather_add (gather, &one, (int64_t) i));
  }
  assert_int_equal (closed, 96);
  gather_destroy (gather);
}

/* The end comes in bounded time whatever waits; the others are written by then. */
static void
test_end_is_bounded (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct history_rest rest;
  int64_t begun;

  options.end_ns = 1; /* one moment's work */
  options.queue_bytes = 256 << 20;
  scratch->history = history_create (&options);
  for (uint64_t i = 1; i <= 60000; i++)
    put_made (scratch, "evil", 1000 + i, 1, 0, false);
  put_range (scratch, "n1", 1, 1, 100);
  put_range (scratch, "n2", 2, 1, 100);
  begun = clock_monotonic ();
  history_finish (scratch->history, &rest);
  print_message ("# %.2f s, %llu frames left\n", (double) (clock_monotonic () - begun) / NS_PER_S,
                 (unsigned long long) rest.frames);
  assert_true (rest.failed);
  assert_true (rest.frames > 1000);
  assert_non_null (strstr (rest.problem.text, "within"));
  scratch_close (scratch);
  assert_int_equal (frames_of (scratch, "n1"), 100);
  assert_int_equal (frames_of (scratch, "n2"), 100);
  assert_int_equal (frames_of (scratch, "evil"), 60000 - (int64_t) rest.frames);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_room_for_all),
    TEST (test_alone),
    cmocka_unit_test (test_turns),
    cmocka_unit_test (test_equal_shares),
    cmocka_unit_test (test_open_chunks_of_a_node),
    TEST (test_end_is_bounded),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
