/* Cursors in the history's file, and that ids of chunks are the order in which they were committed. */
#include "aggregator/history/history_cursor.h"
#include "tests/unit/aggregator/history/history_bench.h"

static struct history_cursor *
open_cursor (const struct scratch *scratch, const char *name, struct history_place *place)
{
  struct error error = { "" };
  struct history_cursor *cursor = history_cursor_open (scratch->path, name, place, &error);

  if (!cursor)
    fail_msg ("%s", error.text);
  return cursor;
}

static void
test_a_new_one_begins_behind_what_is_there (void **state)
{
  struct scratch *scratch = *state;
  struct history_place place;
  struct error error;

  scratch_open (scratch);
  assert_null (history_cursor_open ("/nowhere/history.db", "a", &place, &error));
  put_range (scratch, "n1", 1, 1, 40); /* three chunks */
  assert_true (history_flush (scratch->history));
  history_cursor_close (open_cursor (scratch, "a", &place));
  assert_int_equal (place.chunk, 3);
  assert_int_equal (place.until, 3);
  put_range (scratch, "n1", 1, 41, 60);
  assert_true (history_flush (scratch->history));
  history_cursor_close (open_cursor (scratch, "a", &place));
  assert_int_equal (place.chunk, 3); /* it is where it was */
  history_cursor_close (open_cursor (scratch, "b", &place));
  assert_int_equal (place.chunk, 5);
}

static void
test_it_comes_back_as_it_was (void **state)
{
  struct scratch *scratch = *state;
  const struct history_place one = { 3, 7, -5, 4, 11 }, other = { 1, 1, INT64_MIN, 0, 2 };
  struct history_place place;
  struct history_cursor *cursor;
  struct error error;

  scratch_open (scratch);
  cursor = open_cursor (scratch, "a", &place);
  assert_int_equal (history_cursor_save (cursor, &one, &error), 0);
  history_cursor_close (cursor);
  cursor = open_cursor (scratch, "b", &place);
  assert_int_equal (history_cursor_save (cursor, &other, &error), 0);
  history_cursor_close (cursor);
  history_cursor_close (open_cursor (scratch, "a", &place));
  assert_memory_equal (&place, &one, sizeof one);
  history_cursor_close (open_cursor (scratch, "b", &place));
  assert_memory_equal (&place, &other, sizeof other);
}

/* Where the last chunks were deleted, others do not take their ids: who has passed them would miss these. */
static void
test_ids_are_given_once (void **state)
{
  struct scratch *scratch = *state;
  struct history_place place;
  struct history_cursor *cursor;
  struct error error;

  scratch_open (scratch);
  cursor = open_cursor (scratch, "a", &place);
  put_range (scratch, "n1", 1, 1, 40);
  assert_true (history_flush (scratch->history));
  scratch_sql (scratch, "DELETE FROM chunks");
  put_range (scratch, "n1", 1, 41, 48);
  assert_true (history_flush (scratch->history));
  assert_int_equal (scratch_number (scratch, "SELECT min (id) FROM chunks"), 4);
  place.chunk = place.until = 4;
  assert_int_equal (history_cursor_save (cursor, &place, &error), 0);
  scratch_sql (scratch, "DELETE FROM chunks");
  scratch_close (scratch); /* and when it is opened again */
  scratch_open (scratch);
  put_range (scratch, "n1", 1, 49, 50);
  assert_true (history_flush (scratch->history));
  assert_int_equal (scratch_number (scratch, "SELECT min (id) FROM chunks"), 5);
  history_cursor_close (cursor);
}

/* A cursor is written while the history is, and neither waits for long. */
static void
test_both_write (void **state)
{
  struct scratch *scratch = *state;
  struct history_place place;
  struct history_cursor *cursor;
  struct error error = { "" };

  scratch_open (scratch);
  cursor = open_cursor (scratch, "a", &place);
  for (uint64_t i = 0; i < 50; i++) {
    put_range (scratch, "n1", 1, 1 + 20 * i, 20 + 20 * i);
    for (int k = 0; k < 10; k++) {
      place.chunk++;
      if (history_cursor_save (cursor, &place, &error) < 0)
        fail_msg ("%s", error.text);
    }
  }
  assert_true (history_flush (scratch->history));
  assert_int_equal (frames_of (scratch, "n1"), 1000);
  history_cursor_close (cursor);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_a_new_one_begins_behind_what_is_there),
    TEST (test_it_comes_back_as_it_was),
    TEST (test_ids_are_given_once),
    TEST (test_both_write),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
