/* The agent's ring: what it holds after any number of frames and restarts. */
#include "tests/unit/agent/uplink/ring_bench.h"

/* ---- what is held ---- */

static void
check_wrap (const char *at)
{
  struct ring *ring = open_at (at, SIZE, 0);
  uint64_t first = 1;

  assert_string_equal (warning.text, "");
  for (uint64_t sequence = 1; sequence <= 500; sequence++) {
    add (ring, 7, sequence, (int64_t) sequence);
    uint64_t now = first_held (ring, 7);
    assert_true (now >= first && now <= sequence);
    first = now;
    for (uint64_t i = first > 3 ? first - 3 : 1; i <= sequence; i++)
      assert_int_equal (holds (ring, 7, i, (int64_t) i), i >= first);
    assert_int_equal (ring_count (ring), sequence - first + 1);
  }
  /* It is full: with some 800 bytes a frame, at most one of the largest is not used at the end, and one at the place. */
  assert_true (ring_count (ring) >= (SIZE - 2 * 1600) / 850);
  ring_destroy (ring);
}

static void
test_wrap (void **state)
{
  (void) state;
  check_wrap (path);
}

static void
test_wrap_in_memory (void **state)
{
  (void) state;
  check_wrap ("");
}

/* Pages are given back every 256 KiB: nothing that is held goes with them. */
static void
check_released_pages (const char *at)
{
  struct ring *ring = open_at (at, 1024 * 1024, 0);

  for (uint64_t sequence = 1; sequence <= 8000; sequence++) {
    add (ring, 7, sequence, (int64_t) sequence * S);
    if (sequence % 100 == 0)
      for (uint64_t i = first_held (ring, 7); i <= sequence; i++)
        assert_true (holds (ring, 7, i, (int64_t) i * S));
  }
  assert_int_equal (first_held (ring, 7), 8000 - 900);
  ring_destroy (ring);
}

static void
test_released_pages (void **state)
{
  (void) state;
  check_released_pages (path);
  check_released_pages ("");
}

static void
test_age (void **state)
{
  struct ring *ring = open_at (path, 1024 * 1024, 0);
  struct control_held held[2];

  (void) state;
  for (uint64_t i = 1; i <= 5; i++)
    add (ring, 7, i, (int64_t) i * 100 * S);
  assert_int_equal (ring_count (ring), 5);
  add (ring, 7, 6, 1200 * S);
  assert_int_equal (first_held (ring, 7), 3);
  assert_int_equal (ring_sessions (ring, 1350 * S, held, 2), 1);
  assert_int_equal (held[0].first, 5);
  assert_int_equal (ring_sessions (ring, 9999 * S, held, 2), 0);
  assert_int_equal (first_held (ring, 7), 0);
  ring_destroy (ring);
}

static void
test_larger_than_the_ring (void **state)
{
  struct ring *ring = open_at (path, 1024, 0);

  (void) state;
  for (uint64_t i = 1; i <= 200; i++)
    add (ring, 7, i, 0); /* some of them are */
  assert_true (ring_count (ring) >= 1);
  ring_destroy (ring);
}

static void
test_gaps_are_passed_over (void **state)
{
  struct ring *ring = open_at ("", SIZE, 0);
  struct ring_frame frame;

  (void) state;
  add (ring, 7, 3, 0);
  add (ring, 7, 4, 0);
  add (ring, 7, 9, 0);
  add (ring, 8, 1, 0);
  assert_true (next_read (ring, 7, 1, 100, &frame) && frame.sequence == 3);
  assert_true (next_read (ring, 7, 4, 100, &frame) && frame.sequence == 4);
  assert_true (next_read (ring, 7, 5, 100, &frame) && frame.sequence == 9);
  assert_false (next_read (ring, 7, 5, 8, &frame));
  assert_false (next_read (ring, 7, 10, 100, &frame));
  assert_true (next_read (ring, 8, 1, 100, &frame) && frame.session == 8);
  assert_false (next_read (ring, 9, 1, 100, &frame));
  ring_destroy (ring);
}

/* ---- restarts ---- */

static void
test_restart (void **state)
{
  struct control_held held[3];
  struct ring *ring;

  (void) state;
  for (uint64_t session = 1; session <= 3; session++) {
    ring = open_at (path, 65536, (int64_t) session * 10 * S);
    assert_string_equal (warning.text, "");
    assert_int_equal (ring_count (ring), (session - 1) * 5);
    for (uint64_t i = 1; i <= 5; i++)
      add (ring, session, i, (int64_t) session * 10 * S);
    assert_int_equal (ring_sessions (ring, 0, held, 3), session);
    for (uint64_t i = 0; i < session; i++) {
      assert_int_equal (held[i].session, session - i);
      assert_int_equal (held[i].first, 1);
      assert_int_equal (held[i].last, 5);
    }
    assert_int_equal (ring_sessions (ring, 0, held, 1), 1);
    for (uint64_t i = 1; i <= 5; i++)
      for (uint64_t other = 1; other <= session; other++)
        assert_true (holds (ring, other, i, (int64_t) other * 10 * S));
    ring_destroy (ring);
  }
}

/* At any point of its way around, and again and again. */
static void
test_restart_anywhere (void **state)
{
  uint64_t sequence = 0, kept = 0;

  (void) state;
  for (int turn = 0; turn < 300; turn++) {
    struct ring *ring = open_at (path, SIZE, (int64_t) sequence);

    assert_string_equal (warning.text, "");
    if (turn > 0)
      assert_in_range (first_held (ring, 7), 1, kept);
    for (uint64_t i = kept; i <= sequence && i > 0; i++)
      assert_true (holds (ring, 7, i, (int64_t) i));
    for (int i = 0; i < turn % 5 + 1; i++) {
      sequence++;
      add (ring, 7, sequence, (int64_t) sequence);
    }
    kept = first_held (ring, 7);
    ring_destroy (ring);
  }
}

/* The machine was off meanwhile: its CLOCK_MONOTONIC began anew, and what is too old is gone. */
static void
test_restart_later (void **state)
{
  struct ring *ring = open_at (path, 65536, 5000 * S);
  const struct ring_options options = { path, 65536, AGE, "n1" };

  (void) state;
  for (uint64_t i = 1; i <= 10; i++)
    add (ring, 7, i, (int64_t) (5000 + i * 100) * S);
  ring_destroy (ring);
  ring = open_ring (&options, S, WALL + 6450 * S);
  assert_int_equal (first_held (ring, 7), 6);
  add (ring, 8, 1, 130 * S); /* frame 6 was 850 s old 129 s ago */
  assert_int_equal (first_held (ring, 7), 7);
  ring_destroy (ring);
  ring = open_ring (&options, S, WALL - 1000000 * S); /* no wall clock yet */
  assert_true (first_held (ring, 7) != 0 && first_held (ring, 8) == 1);
  ring_destroy (ring);
}

static void
test_another_nodes_frames (void **state)
{
  struct buffer bytes = { 0 };
  struct ring *ring = open_at (path, 65536, 0);

  (void) state;
  make_frame (&bytes, "n2", 5, 1, 0);
  ring_add (ring, &(struct ring_frame){ 5, 1, bytes.data, bytes.length }, 0, WALL);
  buffer_free (&bytes);
  add (ring, 7, 1, 0);
  ring_destroy (ring);
  ring = open_at (path, 65536, 0);
  assert_int_equal (ring_count (ring), 1);
  assert_true (holds (ring, 7, 1, 0));
  ring_destroy (ring);
}

static void
test_other_size (void **state)
{
  static const size_t sizes[] = { 8192, 32768, 12288, 4096, 65536 };
  uint64_t sequence = 0;

  (void) state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    struct ring *ring = open_at (path, sizes[i], (int64_t) sequence);
    struct stat status;

    assert_string_equal (warning.text, "");
    assert_true (i == 0 || ring_count (ring) > 0);
    assert_int_equal (stat (path, &status), 0);
    assert_int_equal (status.st_size, sizes[i] + RING_FILE_HEAD);
    for (int more = 0; more < 60; more++) {
      sequence++;
      add (ring, 7, sequence, (int64_t) sequence);
      for (uint64_t j = 1; j <= sequence; j++)
        holds (ring, 7, j, (int64_t) j); /* what is there is whole */
      assert_true (ring_count (ring) > 0);
    }
    ring_destroy (ring);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    RING_TEST (test_wrap),
    RING_TEST (test_wrap_in_memory),
    RING_TEST (test_released_pages),
    RING_TEST (test_age),
    RING_TEST (test_larger_than_the_ring),
    RING_TEST (test_gaps_are_passed_over),
    RING_TEST (test_restart),
    RING_TEST (test_restart_anywhere),
    RING_TEST (test_restart_later),
    RING_TEST (test_another_nodes_frames),
    RING_TEST (test_other_size),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  log_set_level (LOG_LEVEL_ERROR);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
