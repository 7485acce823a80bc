/* The history's writer before its time: flushes that readers ask for, and open chunks that hold too much; and a file that
 * shrinks. */
#include <poll.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "aggregator/history/history_gather.h"
#include "tests/unit/aggregator/history/history_bench.h"

/* ---- flushes ---- */

static bool
is_ready (struct scratch *scratch, int milliseconds)
{
  struct pollfd done = { .fd = history_flush_fd (scratch->history), .events = POLLIN };

  return poll (&done, 1, milliseconds) == 1;
}

static void
wait_flushed (struct scratch *scratch, uint64_t ticket)
{
  struct error problem;

  while (history_flush_done (scratch->history, &problem) < ticket)
    assert_true (is_ready (scratch, 60000));
  assert_string_equal (problem.text, "");
  assert_false (is_ready (scratch, 0));
}

static void
assert_stored (struct scratch *scratch, uint64_t frames, uint64_t chunks)
{
  struct history_counts counts;

  history_count (scratch->history, &counts);
  assert_int_equal (counts.frames_stored, frames);
  assert_int_equal (counts.chunks, chunks);
}

static int64_t
at (const struct scratch *scratch, uint64_t sequence)
{
  return scratch->start_ns + (int64_t) sequence * NS_PER_S;
}

static void
test_open_chunks_are_written (void **state)
{
  struct scratch *scratch = *state;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 5);
  put_range (scratch, "n2", 2, 101, 105);
  wait_flushed (scratch, history_flush_begin (scratch->history, at (scratch, 50)));
  assert_stored (scratch, 5, 1); /* the other one begins later */
  assert_stored_once (scratch, 1, 1, 5);
  wait_flushed (scratch, history_flush_begin (scratch->history, INT64_MAX));
  assert_stored (scratch, 10, 2);
}

static void
test_nothing_open_of_then (void **state)
{
  struct scratch *scratch = *state;

  scratch_open (scratch);
  for (int i = 0; i < 20; i++) { /* as often as anybody likes */
    put_range (scratch, "n1", 1, (uint64_t) (1 + i), (uint64_t) (1 + i));
    wait_flushed (scratch, history_flush_begin (scratch->history, at (scratch, 1)));
  }
  assert_stored (scratch, 16, 1); /* the one that is full */
}

/* Three at once, the fourth waits for its turn; one that waits for nobody does not. */
static void
test_flushes_are_limited (void **state)
{
  struct scratch *scratch = *state;
  struct error problem;
  uint64_t ticket;

  scratch_open (scratch);
  for (uint64_t i = 1; i <= 3; i++) {
    put_made (scratch, "n1", 1, i, i - 1, false);
    wait_flushed (scratch, history_flush_begin (scratch->history, INT64_MAX));
  }
  assert_stored (scratch, 3, 3);
  put_range (scratch, "n1", 1, 4, 6);
  ticket = history_flush_begin (scratch->history, INT64_MAX);
  assert_false (is_ready (scratch, 300));
  assert_true (history_flush_done (scratch->history, &problem) < ticket);
  assert_stored (scratch, 3, 3);
  assert_true (history_flush (scratch->history));
  wait_flushed (scratch, ticket);
  assert_stored (scratch, 6, 4);
}

static void
test_flush_that_fails (void **state)
{
  struct scratch *scratch = *state;
  uint64_t ticket, device, inode;
  struct error problem;
  struct stat status;

  assert_int_equal (mkdir (scratch->path, 0755), 0); /* a folder is no database */
  scratch_open (scratch);
  assert_false (history_identity (scratch->history, &device, &inode));
  put_range (scratch, "n1", 1, 1, 5);
  ticket = history_flush_begin (scratch->history, INT64_MAX);
  assert_true (is_ready (scratch, 60000));
  assert_int_equal (history_flush_done (scratch->history, &problem), ticket);
  assert_non_null (strstr (problem.text, "history.db"));
  assert_int_equal (rmdir (scratch->path), 0);
  wait_flushed (scratch, history_flush_begin (scratch->history, INT64_MAX));
  assert_int_equal (stat (scratch->path, &status), 0);
  assert_true (history_identity (scratch->history, &device, &inode));
  assert_true (device == status.st_dev && inode == status.st_ino);
  assert_stored_once (scratch, 1, 1, 5);
}

/* ---- open chunks ---- */

struct closed {
  uint64_t sessions[32];
  size_t count;
};

static void
see_closed (void *context, struct open_chunk *chunk)
{
  struct closed *closed = context;

  closed->sessions[closed->count++] = chunk->row.session;
  open_chunk_destroy (chunk);
}

static void
gather_one (struct gather *gather, uint64_t session, uint64_t sequence)
{
  static const char bytes[100];
  char node[16];
  struct gathered one = { .node = node,
                          .session = session,
                          .sequence = sequence,
                          .time_ns = (int64_t) session * 1000,
                          .record = "",
                          .frame = bytes,
                          .frame_length = sizeof bytes };

  snprintf (node, sizeof node, "n%d", (int) session);
  assert_true (gather_add (gather, &one, (int64_t) sequence));
}

static void
test_open_chunks_hold_so_much (void **state)
{
  struct closed closed = { 0 };
  struct gather *gather = gather_create (&(struct gather_options){
      .chunk_frames = 10, .chunk_ns = 1000, .bytes_max = 1000, .context = &closed, .whole = see_closed });

  (void) state;
  for (uint64_t i = 1; i <= 10; i++)
    gather_one (gather, i, 1);
  assert_int_equal (closed.count, 0);
  gather_one (gather, 5, 2);
  assert_int_equal (closed.count, 1); /* the oldest */
  assert_int_equal (closed.sessions[0], 1);
  for (uint64_t i = 2; i <= 10; i++)
    gather_one (gather, 10, i); /* in the end it is full, and counts no more */
  assert_int_equal (closed.count, 9);
  for (size_t i = 0; i < 8; i++)
    assert_int_equal (closed.sessions[i], i + 1);
  assert_int_equal (closed.sessions[8], 10);
  for (uint64_t i = 11; i <= 19; i++)
    gather_one (gather, i, 1);
  assert_int_equal (closed.count, 9);
  gather_destroy (gather);
}

static void
test_close_before (void **state)
{
  struct closed closed = { 0 };
  struct gather *gather = gather_create (
      &(struct gather_options){ .chunk_frames = 10, .chunk_ns = 1000, .context = &closed, .whole = see_closed });

  (void) state;
  assert_false (gather_has_before (gather, INT64_MAX));
  gather_one (gather, 7, 1);
  gather_one (gather, 3, 1);
  gather_one (gather, 5, 1);
  assert_false (gather_has_before (gather, 3000));
  assert_true (gather_has_before (gather, 3001));
  gather_close_before (gather, 7000);
  assert_int_equal (closed.count, 2);
  assert_true (closed.sessions[0] == 3 && closed.sessions[1] == 5);
  assert_int_equal (gather_due (gather), 1001);
  gather_destroy (gather);
}

/* Many nodes with large chunks: they are closed before they take the room of what comes, and nothing finds none. */
static void
test_open_chunks_leave_room (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct history_counts counts;
  int waits = 0;

  options.queue_bytes = 1 << 20;
  options.chunk_frames = 4096;
  scratch->history = history_create (&options);
  for (uint64_t i = 1; i <= 250; i++)
    for (int node = 0; node < 50; node++) {
      char name[16];
      snprintf (name, sizeof name, "n%d", node);
      put_made (scratch, name, 1, i, i - 1, false);
      while (history_is_nearly_full (scratch->history, name)) { /* what comes can wait, the writer catches up */
        assert_true (++waits < 30000);
        usleep (1000);
      }
    }
  assert_true (history_flush (scratch->history));
  history_count (scratch->history, &counts);
  assert_int_equal (counts.frames_stored, 12500);
  assert_int_equal (counts.frames_not_stored, 0);
  assert_true (counts.chunks > 50); /* some were closed early */
}

/* ---- the file ---- */

static int64_t
ask_file (struct scratch *scratch, const char *select)
{
  struct error error;
  struct history_file *file = history_file_open (scratch->path, &error);
  int64_t number = -1;

  assert_non_null (file);
  assert_int_equal (history_file_number (file, select, &number, &error), 0);
  history_file_close (file);
  return number;
}

static off_t
size_of (const char *path)
{
  struct stat status;

  assert_int_equal (stat (path, &status), 0);
  return status.st_size;
}

static void
fill (struct scratch *scratch)
{
  scratch_open (scratch);
  for (uint64_t i = 1; i <= 1600; i++) {
    put_made (scratch, "n1", 1, i, i - 1, false);
    for (int k = 0; k < 10; k++)
      history_put_event (scratch->history, &(struct event){ .type = EVENT_GAP, .wall_ns = at (scratch, i) });
  }
  scratch_close (scratch);
}

/* Deletes all but the last frames and events, and shrinks the file in steps; how many it took. */
static int
shrink (struct scratch *scratch)
{
  struct error error;
  struct history_store *store = history_store_open (scratch->path, &error);
  int64_t before, pages = ask_file (scratch, "PRAGMA page_count");
  int steps = 0;

  assert_non_null (store);
  while (history_store_trim (store, at (scratch, 1585), UINT64_MAX, NULL, &error) == 1)
    ;
  do {
    before = pages;
    assert_int_equal (history_store_shrink (store, 16, &error), 0);
    pages = ask_file (scratch, "PRAGMA page_count");
    assert_true (pages >= before - 17); /* one of its own pages may become superfluous */
    steps++;
  } while (pages < before);
  history_store_close (store);
  return steps;
}

static void
test_file_shrinks (void **state)
{
  struct scratch *scratch = *state;
  off_t full;

  fill (scratch);
  full = size_of (scratch->path);
  assert_int_equal (ask_file (scratch, "PRAGMA auto_vacuum"), 2);
  assert_true (shrink (scratch) > 4);
  assert_true (size_of (scratch->path) < full * 2 / 3);
  assert_true (ask_file (scratch, "PRAGMA freelist_count") > 200); /* the next rows have room */
  assert_stored_once (scratch, 1, 1585, 1600);
}

static void
test_old_file_goes_on (void **state)
{
  struct scratch *scratch = *state;
  sqlite3 *database;

  fill (scratch);
  assert_int_equal (sqlite3_open (scratch->path, &database), SQLITE_OK);
  assert_int_equal (
      sqlite3_exec (database, "PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM", NULL, NULL, NULL),
      SQLITE_OK);
  sqlite3_close (database);
  assert_int_equal (ask_file (scratch, "PRAGMA auto_vacuum"), 0);
  assert_int_equal (shrink (scratch), 1);
  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1601, 1640);
  assert_true (history_flush (scratch->history));
  scratch_close (scratch);
  assert_stored_once (scratch, 1, 1585, 1640);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_open_chunks_are_written),
    TEST (test_nothing_open_of_then),
    TEST (test_flushes_are_limited),
    TEST (test_flush_that_fails),
    cmocka_unit_test (test_open_chunks_hold_so_much),
    cmocka_unit_test (test_close_before),
    TEST (test_open_chunks_leave_room),
    TEST (test_file_shrinks),
    TEST (test_old_file_goes_on),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
