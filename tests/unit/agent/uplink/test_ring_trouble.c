/* The ring's file when it comes late, goes, or takes nothing while the agent runs: the ring goes on in memory, and
 * nothing that is held is lost. */
#include "tests/unit/agent/uplink/ring_bench.h"

/* Frames `from` to `to` of session 7, one a second. */
static void
add_seconds (struct ring *ring, uint64_t from, uint64_t to)
{
  for (uint64_t i = from; i <= to; i++)
    add (ring, 7, i, (int64_t) i * S);
}

static void
assert_holds_seconds (struct ring *ring, uint64_t from, uint64_t to)
{
  for (uint64_t i = from; i <= to; i++)
    assert_true (holds (ring, 7, i, (int64_t) i * S));
}

/* As `assert_holds_seconds`, of what the file has for the next agent: each once, in order, and nothing else. */
static void
assert_file_holds_seconds (uint64_t from, uint64_t to)
{
  struct ring *ring = open_at (path, 1024 * 1024, (int64_t) to * S);
  struct control_held held[2];

  assert_true (ring_is_file (ring));
  assert_string_equal (warning.text, "");
  assert_holds_seconds (ring, from, to);
  assert_int_equal (ring_count (ring), to + 1 - from);
  assert_int_equal (ring_sessions (ring, (int64_t) to * S, held, 2), 1);
  assert_int_equal (held[0].first, from);
  assert_int_equal (held[0].last, to);
  ring_destroy (ring);
}

/* The folder's folder is missing, until somebody makes it. */
static void
test_folder_that_comes_later (void **state)
{
  char kept[sizeof path], outer[80], inner[sizeof outer + 2];
  struct ring *ring;

  (void) state;
  strcpy (kept, path);
  snprintf (outer, sizeof outer, "%s/o", folder);
  snprintf (inner, sizeof inner, "%s/x", outer);
  snprintf (path, sizeof path, "%s/x/r", outer);
  ring = open_at (path, 1024 * 1024, 0);
  assert_false (ring_is_file (ring));
  assert_non_null (strstr (warning.text, path));
  add_seconds (ring, 1, 61);
  assert_int_equal (mkdir (outer, 0700), 0);
  add_seconds (ring, 62, 119);
  assert_false (ring_is_file (ring)); /* not yet: it looks once a minute */
  add_seconds (ring, 120, 130);
  assert_true (ring_is_file (ring));
  assert_string_equal (ring_trouble (ring), "");
  assert_holds_seconds (ring, 1, 130);
  ring_destroy (ring);
  assert_file_holds_seconds (1, 130);
  unlink (path);
  rmdir (inner);
  rmdir (outer);
  strcpy (path, kept);
}

/* A disk that is mounted late, with the frames of the session before. */
static void
test_file_with_earlier_frames_comes_later (void **state)
{
  char away[sizeof path + 8];
  struct ring *ring = open_at (path, 1024 * 1024, 0);
  struct control_held held[3];

  (void) state;
  for (uint64_t i = 1; i <= 20; i++)
    add (ring, 6, i, 0);
  ring_destroy (ring);
  snprintf (away, sizeof away, "%s.away", path);
  assert_int_equal (rename (path, away), 0);
  assert_int_equal (mkdir (path, 0700), 0); /* as a mount point that is empty */
  ring = open_at (path, 1024 * 1024, 0);
  assert_false (ring_is_file (ring));
  add_seconds (ring, 1, 10);
  assert_int_equal (rmdir (path), 0);
  assert_int_equal (rename (away, path), 0);
  add_seconds (ring, 11, 70);
  for (int turn = 0; turn < 2; turn++) {
    assert_true (ring_is_file (ring));
    assert_int_equal (ring_count (ring), 90);
    assert_holds_seconds (ring, 1, 70);
    for (uint64_t i = 1; i <= 20; i++)
      assert_true (holds (ring, 6, i, 0));
    assert_int_equal (ring_sessions (ring, 70 * S, held, 3), 2);
    assert_int_equal (held[1].session, 6);
    ring_destroy (ring);
    ring = open_at (path, 1024 * 1024, 70 * S);
  }
  ring_destroy (ring);
}

/* A disk that takes nothing for a while; also when it fails again just then. */
static void
test_file_that_cannot_be_written (void **state)
{
  struct ring *ring = open_at (path, 1024 * 1024, 0);

  (void) state;
  add_seconds (ring, 1, 30);
  for (uint64_t at = 30; at <= 330; at += 100) {
    limit_files (1);
    add_seconds (ring, at + 1, at + 70); /* it looks, and finds it no better */
    limit_files (RLIM_INFINITY);
    assert_false (ring_is_file (ring));
    assert_non_null (strstr (ring_trouble (ring), path));
    assert_holds_seconds (ring, 1, at + 70);
    add_seconds (ring, at + 71, at + 100);
    if (!ring_is_file (ring))
      continue;
    assert_string_equal (ring_trouble (ring), "");
    assert_holds_seconds (ring, 1, at + 100);
  }
  add_seconds (ring, 431, 500);
  assert_true (ring_is_file (ring));
  assert_int_equal (ring_count (ring), 500);
  ring_destroy (ring);
  assert_file_holds_seconds (1, 500);
}

/* The log has a line when the file is left and one when it is there again, however long it takes. */
static void
test_each_change_is_told_once (void **state)
{
  struct ring *ring;
  FILE *log = tmpfile ();
  int stderr_fd = dup (2);
  char line[1000];
  unsigned lines = 0, warnings = 0;

  (void) state;
  assert_non_null (log);
  assert_int_equal (dup2 (fileno (log), 2), 2);
  log_set_level (LOG_LEVEL_INFO);
  ring = open_at (path, 1024 * 1024, 0);
  limit_files (10000); /* room for the log */
  add_seconds (ring, 1, 600);
  limit_files (RLIM_INFINITY);
  add_seconds (ring, 601, 900);
  ring_destroy (ring);
  log_set_level (LOG_LEVEL_ERROR);
  assert_int_equal (dup2 (stderr_fd, 2), 2);
  close (stderr_fd);
  rewind (log);
  while (fgets (line, sizeof line, log)) {
    lines++;
    warnings += strstr (line, "kept in memory") != NULL;
  }
  fclose (log);
  assert_int_equal (warnings, 1);
  assert_in_range (lines, 3, 4); /* "holds 0 frames", the warning, perhaps another reason, "holds 660 frames" */
}

static void
check_lost_file (void (*lose) (void))
{
  struct ring *ring = open_at (path, 1024 * 1024, 0);

  add_seconds (ring, 1, 30);
  lose ();
  add_seconds (ring, 31, 70);
  assert_true (ring_is_file (ring));
  assert_string_equal (ring_trouble (ring), "");
  assert_holds_seconds (ring, 60, 70);
  ring_destroy (ring);
  ring = open_at (path, 1024 * 1024, 70 * S);
  assert_string_equal (warning.text, "");
  assert_holds_seconds (ring, 60, 70); /* the next one finds them too */
  ring_destroy (ring);
}

static void
remove_file (void)
{
  assert_int_equal (unlink (path), 0);
}

static void
test_removed_file (void **state)
{
  (void) state;
  check_lost_file (remove_file);
  assert_file_holds_seconds (1, 70); /* nothing was lost at all */
}

static void
replace_file (void)
{
  assert_int_equal (unlink (path), 0);
  write_all ("", 0);
}

static void
test_replaced_file (void **state)
{
  (void) state;
  check_lost_file (replace_file);
  assert_file_holds_seconds (1, 70);
}

static void
cut_file (void)
{
  assert_int_equal (truncate (path, 0), 0);
}

/* Here what was in it is gone, and the agent lives. */
static void
test_file_cut_while_it_is_used (void **state)
{
  (void) state;
  check_lost_file (cut_file);
}

/* What somebody else wrote into it is sent to nobody. */
static void
test_file_that_somebody_writes_into (void **state)
{
  struct ring *ring = open_at (path, 65536, 0);
  struct ring_frame frame;
  struct buffer all;

  (void) state;
  add_seconds (ring, 1, 5);
  all = read_all ();
  all.data[RING_FILE_HEAD + 200] ^= 1; /* one letter of frame 1 */
  write_all (all.data, all.length);
  buffer_free (&all);
  assert_true (next_read (ring, 7, 1, 100, &frame) && frame.sequence == 2);
  add_seconds (ring, 6, 6);
  all = read_all ();
  for (size_t i = RING_FILE_HEAD; i < all.length; i++)
    all.data[i] ^= 1;
  write_all (all.data, all.length);
  buffer_free (&all);
  assert_false (next_read (ring, 7, 1, 100, &frame));
  add_seconds (ring, 7, 7);
  assert_true (next_read (ring, 7, 1, 100, &frame) && frame.sequence == 7);
  ring_destroy (ring);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    RING_TEST (test_folder_that_comes_later),
    RING_TEST (test_file_with_earlier_frames_comes_later),
    RING_TEST (test_file_that_cannot_be_written),
    RING_TEST (test_each_change_is_told_once),
    RING_TEST (test_removed_file),
    RING_TEST (test_replaced_file),
    RING_TEST (test_file_cut_while_it_is_used),
    RING_TEST (test_file_that_somebody_writes_into),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  log_set_level (LOG_LEVEL_ERROR);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
