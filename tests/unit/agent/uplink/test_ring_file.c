/* The ring's file when it is opened: after a write that was cut off, when it is none, when there can be none. */
#include "tests/unit/agent/uplink/ring_bench.h"

/* ---- writes that were cut off ---- */

/* Between two states of the file, whichever part of the new record had come to the disk: the frames before it that are
 * not in its way are all there, and it itself only when it is whole. */
static void
check_torn (const struct buffer *before, const struct buffer *after, uint64_t last)
{
  size_t from = 0, to = after->length;
  struct ring *ring;
  uint64_t untouched;

  while (before->data[from] == after->data[from])
    from++;
  while (before->data[to - 1] == after->data[to - 1])
    to--;
  write_all (after->data, after->length);
  ring = open_at (path, SIZE, (int64_t) last);
  untouched = first_held (ring, 7); /* the first that the new one left whole */
  assert_true (holds (ring, 7, last, (int64_t) last));
  ring_destroy (ring);
  for (size_t cut = from; cut < to; cut++)
    for (int reversed = 0; reversed < 2; reversed++) {
      struct buffer torn = { 0 };

      buffer_add (&torn, reversed ? before->data : after->data, cut);
      buffer_add (&torn, (reversed ? after->data : before->data) + cut, before->length - cut);
      write_all (torn.data, torn.length);
      ring = open_at (path, SIZE, (int64_t) last);
      assert_string_equal (warning.text, "");
      for (uint64_t i = untouched; i < last; i++)
        assert_true (holds (ring, 7, i, (int64_t) i));
      if (memcmp (torn.data, after->data, torn.length) != 0)
        assert_false (holds (ring, 7, last, (int64_t) last));
      add (ring, 7, last + 1, (int64_t) last + 1); /* and it goes on */
      assert_true (holds (ring, 7, last + 1, (int64_t) last + 1));
      ring_destroy (ring);
      buffer_free (&torn);
    }
}

static void
test_killed_in_a_write (void **state)
{
  (void) state;
  for (uint64_t last = 2; last < 60; last += last < 20 ? 7 : 11) { /* in the first round and in later ones */
    struct buffer before, after;
    struct ring *ring;

    unlink (path);
    ring = open_at (path, SIZE, 0);
    for (uint64_t i = 1; i < last; i++)
      add (ring, 7, i, (int64_t) i);
    before = read_all ();
    add (ring, 7, last, (int64_t) last);
    after = read_all ();
    ring_destroy (ring);
    check_torn (&before, &after, last);
    buffer_free (&before);
    buffer_free (&after);
  }
}

/* ---- files that are none ---- */

static void
check_memory (const char *word)
{
  struct ring *ring = open_at (path, SIZE, 0);

  assert_false (ring_is_file (ring));
  assert_non_null (strstr (warning.text, path));
  assert_non_null (strstr (warning.text, word));
  add (ring, 7, 1, 0);
  assert_true (holds (ring, 7, 1, 0));
  ring_destroy (ring);
}

static void
make_ring (void)
{
  struct ring *ring = open_at (path, SIZE, 0);

  add (ring, 7, 1, 0);
  add (ring, 7, 2, 0);
  ring_destroy (ring);
}

/* And it can be read. */
static void
check_made_ring (void)
{
  struct ring *ring = open_at (path, SIZE, 0);

  assert_int_equal (ring_count (ring), 2);
  ring_destroy (ring);
}

static void
check_file (const char *bytes, size_t length)
{
  struct buffer now = read_all ();

  assert_int_equal (now.length, length);
  assert_memory_equal (now.data, bytes, length);
  buffer_free (&now);
}

static void
test_garbage_is_left_alone (void **state)
{
  (void) state;
  write_all ("important\n", 10);
  check_memory ("no ring");
  check_file ("important\n", 10);
}

static void
test_other_version (void **state)
{
  struct buffer all;

  (void) state;
  make_ring ();
  all = read_all ();
  all.data[8]++;
  write_all (all.data, all.length);
  check_memory ("version 2");
  check_file (all.data, all.length);
  buffer_free (&all);
}

static void
test_broken_head (void **state)
{
  struct buffer all;
  struct ring *ring;

  (void) state;
  make_ring ();
  all = read_all ();
  all.data[20] ^= 1; /* in the key */
  write_all (all.data, all.length);
  buffer_free (&all);
  ring = open_at (path, SIZE, 0);
  assert_true (ring_is_file (ring));
  assert_non_null (strstr (warning.text, "begun anew"));
  assert_int_equal (ring_count (ring), 0);
  ring_destroy (ring);
  make_ring ();
  check_made_ring ();
}

/* A file is mended, and what is left of its frames is kept: whatever its length. */
static void
test_cut_short (void **state)
{
  struct buffer all;

  (void) state;
  make_ring ();
  all = read_all ();
  for (size_t length = 0; length < 8192; length += length < 48 ? 1 : 97) {
    struct ring *ring;

    write_all (all.data, length);
    ring = open_at (path, SIZE, 0);
    if (ring_is_file (ring)) {
      assert_true (length == 0 || length > 8);
      assert_int_equal (ring_count (ring), holds (ring, 7, 1, 0) + holds (ring, 7, 2, 0));
      assert_true (length < 8000 || ring_count (ring) == 2);
    }
    ring_destroy (ring);
  }
  buffer_free (&all);
}

static void
test_two_agents (void **state)
{
  struct ring *first = open_at (path, SIZE, 0), *again;

  (void) state;
  add (first, 7, 1, 0);
  check_memory ("another agent");
  assert_true (holds (first, 7, 1, 0));
  ring_destroy (first);
  again = open_at (path, SIZE, 0);
  assert_true (ring_is_file (again) && holds (again, 7, 1, 0));
  ring_destroy (again);
}

static void
test_no_room (void **state)
{
  struct buffer all;
  struct ring *ring;

  (void) state;
  make_ring ();
  limit_files (30000); /* fallocate fails */
  ring = open_at (path, 100000, 0);
  limit_files (RLIM_INFINITY);
  assert_false (ring_is_file (ring));
  assert_non_null (strstr (warning.text, "[ring] max_size"));
  ring_destroy (ring);
  all = read_all ();
  assert_int_equal (all.length, SIZE + RING_FILE_HEAD);
  buffer_free (&all);
  check_made_ring ();
}

static void
test_no_file_possible (void **state)
{
  char kept[sizeof path];

  (void) state;
  strcpy (kept, path);
  assert_int_equal (mkdir (path, 0700), 0);
  check_memory ("[ring] path");
  assert_int_equal (rmdir (path), 0);
  assert_int_equal (mkfifo (path, 0600), 0);
  check_memory ("[ring] path");
  unlink (path);
  assert_int_equal (symlink ("/nowhere/else", path), 0);
  check_memory ("is a symbolic link");
  unlink (path);
  strcpy (path, "/proc/no/folder/ring");
  check_memory ("[ring] path");
  strcpy (path, kept);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    RING_TEST (test_killed_in_a_write), RING_TEST (test_garbage_is_left_alone),
    RING_TEST (test_other_version),     RING_TEST (test_broken_head),
    RING_TEST (test_cut_short),         RING_TEST (test_two_agents),
    RING_TEST (test_no_room),           RING_TEST (test_no_file_possible),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  log_set_level (LOG_LEVEL_ERROR);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
