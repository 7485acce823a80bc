/* The agent's ring: what it holds after any number of frames, restarts, and writes that were cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ring.h"
#include "agent/ring_file.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/log.h"
#include "synop/memory.h"

#define S NS_PER_S
#define AGE (900 * S)
#define SIZE 16384
#define WALL (INT64_C (1700000000) * S) /* CLOCK_MONOTONIC 0 */

static const struct metric metrics[] = { { "text", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Text." } };
static const struct group group = { "group", "", "", "", "", 0, "A group.", GROUP_METRICS (metrics) };
static const struct group *const groups[] = { &group };

static char folder[64], path[96];
static struct schema *schema;
static struct error warning; /* what the ring that was opened last says of its file */

static int
begin (void **state)
{
  (void) state;
  strcpy (folder, "/tmp/synop-test-ring.XXXXXX");
  assert_non_null (mkdtemp (folder));
  snprintf (path, sizeof path, "%s/ring", folder);
  schema = schema_create (groups, 1);
  return 0;
}

static int
end (void **state)
{
  (void) state;
  schema_destroy (schema);
  unlink (path);
  return rmdir (folder);
}

static struct ring *
open_ring (const struct ring_options *options, int64_t now_ns, int64_t wall_ns)
{
  struct ring *ring = ring_create (options, now_ns, wall_ns);

  error_set (&warning, "%s", ring_trouble (ring));
  return ring;
}

static struct ring *
open_at (const char *at, size_t size, int64_t now_ns)
{
  return open_ring (&(struct ring_options){ at, size, AGE, "n1" }, now_ns, WALL + now_ns);
}

/* A frame whose length depends on its numbers, so that places never repeat. */
static void
make_frame (struct buffer *bytes, const char *node, uint64_t session, uint64_t sequence, int64_t now_ns)
{
  struct frame_header header = {
    .session = session, .sequence = sequence, .monotonic_ns = now_ns, .wall_ns = WALL + now_ns
  };
  struct table table;
  const struct table *tables[] = { &table };
  char text[2000];

  strcpy (header.node, node);
  memset (text, 'a' + (int) (sequence % 26), sizeof text);
  table_init (&table, &group);
  table_begin (&table);
  table_set_text (&table, TABLE_NODE, 0, text, (size_t) ((sequence * 7919 + session * 31) % 1500));
  buffer_clear (bytes);
  frame_write (bytes, &header, schema, tables, 1);
  table_free (&table);
}

static void
add (struct ring *ring, uint64_t session, uint64_t sequence, int64_t now_ns)
{
  struct buffer bytes = { 0 };

  make_frame (&bytes, "n1", session, sequence, now_ns);
  ring_add (ring, &(struct ring_frame){ session, sequence, bytes.data, bytes.length }, now_ns, WALL + now_ns);
  buffer_free (&bytes);
}

/* That frame and no other is what `ring_next` gives for it, with every byte. */
static bool
holds (struct ring *ring, uint64_t session, uint64_t sequence, int64_t now_ns)
{
  struct buffer bytes = { 0 };
  struct ring_frame frame;
  bool held = ring_next (ring, session, sequence, sequence, &frame);

  if (held) {
    make_frame (&bytes, "n1", session, sequence, now_ns);
    assert_int_equal (frame.sequence, sequence);
    assert_int_equal (frame.length, bytes.length);
    assert_memory_equal (frame.bytes, bytes.data, bytes.length);
  }
  buffer_free (&bytes);
  return held;
}

/* What a file says of itself. */
static struct buffer
read_all (void)
{
  struct buffer all = { 0 };
  int fd = open (path, O_RDONLY);
  struct stat status;

  assert_true (fd >= 0 && fstat (fd, &status) == 0);
  buffer_reserve (&all, (size_t) status.st_size + 1);
  assert_int_equal (read (fd, all.data, (size_t) status.st_size), status.st_size);
  all.length = (size_t) status.st_size;
  close (fd);
  return all;
}

static void
write_all (const char *bytes, size_t length)
{
  int fd = open (path, O_WRONLY | O_CREAT, 0600); /* no O_TRUNC: some file systems write such a file out at once */

  assert_true (fd >= 0);
  assert_int_equal (write (fd, bytes, length), (ssize_t) length);
  assert_int_equal (ftruncate (fd, (off_t) length), 0);
  close (fd);
}

static uint64_t
first_held (struct ring *ring, uint64_t session)
{
  struct ring_frame frame;

  return ring_next (ring, session, 1, UINT64_MAX, &frame) ? frame.sequence : 0;
}

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
  assert_true (ring_next (ring, 7, 1, 100, &frame) && frame.sequence == 3);
  assert_true (ring_next (ring, 7, 4, 100, &frame) && frame.sequence == 4);
  assert_true (ring_next (ring, 7, 5, 100, &frame) && frame.sequence == 9);
  assert_false (ring_next (ring, 7, 5, 8, &frame));
  assert_false (ring_next (ring, 7, 10, 100, &frame));
  assert_true (ring_next (ring, 8, 1, 100, &frame) && frame.session == 8);
  assert_false (ring_next (ring, 9, 1, 100, &frame));
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

static void
test_garbage_is_left_alone (void **state)
{
  struct buffer now;

  (void) state;
  write_all ("important\n", 10);
  check_memory ("no ring");
  now = read_all ();
  assert_int_equal (now.length, 10);
  assert_memory_equal (now.data, "important\n", 10);
  buffer_free (&now);
}

static void
test_other_version (void **state)
{
  struct buffer all, now;

  (void) state;
  make_ring ();
  all = read_all ();
  all.data[8]++;
  write_all (all.data, all.length);
  check_memory ("version 2");
  now = read_all ();
  assert_memory_equal (now.data, all.data, all.length);
  buffer_free (&all);
  buffer_free (&now);
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
  ring = open_at (path, SIZE, 0);
  assert_int_equal (ring_count (ring), 2);
  ring_destroy (ring);
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
  struct rlimit limit, before;
  struct buffer all;

  (void) state;
  make_ring ();
  assert_int_equal (getrlimit (RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 30000; /* as a full disk: fallocate fails */
  signal (SIGXFSZ, SIG_IGN);
  assert_int_equal (setrlimit (RLIMIT_FSIZE, &limit), 0);
  struct ring *ring = open_at (path, 100000, 0);
  assert_int_equal (setrlimit (RLIMIT_FSIZE, &before), 0);
  assert_false (ring_is_file (ring));
  assert_non_null (strstr (warning.text, "[ring] max_size"));
  ring_destroy (ring);
  all = read_all ();
  assert_int_equal (all.length, SIZE + RING_FILE_HEAD);
  buffer_free (&all);
  ring = open_at (path, SIZE, 0);
  assert_int_equal (ring_count (ring), 2);
  ring_destroy (ring);
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

/* ---- a file that comes and goes ---- */

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

static void
limit_files (rlim_t bytes)
{
  struct rlimit limit;

  assert_int_equal (getrlimit (RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  signal (SIGXFSZ, SIG_IGN);
  assert_int_equal (setrlimit (RLIMIT_FSIZE, &limit), 0);
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
  for (size_t i = RING_FILE_HEAD; i < all.length; i++)
    all.data[i] ^= 1;
  write_all (all.data, all.length);
  buffer_free (&all);
  assert_false (ring_next (ring, 7, 1, 100, &frame));
  add_seconds (ring, 6, 6);
  assert_true (ring_next (ring, 7, 1, 100, &frame) && frame.sequence == 6);
  ring_destroy (ring);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

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
    RING_TEST (test_killed_in_a_write),
    RING_TEST (test_garbage_is_left_alone),
    RING_TEST (test_other_version),
    RING_TEST (test_broken_head),
    RING_TEST (test_cut_short),
    RING_TEST (test_two_agents),
    RING_TEST (test_no_room),
    RING_TEST (test_no_file_possible),
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
