/* A ring in a folder of its own, frames whose every byte is known from their numbers, and the bytes of its file. */
#ifndef SYNOP_TESTS_RING_BENCH_H
#define SYNOP_TESTS_RING_BENCH_H

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

#include "agent/uplink/ring.h"
#include "agent/uplink/ring_file.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

#define S NS_PER_S
#define AGE (900 * S)
#define SIZE 16384
#define WALL (INT64_C (1700000000) * S) /* CLOCK_MONOTONIC 0 */

static const struct metric metrics[] = { { "text", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "Text." } };
static const struct group group = { "group", "", "", "", "", 0, "A group.", GROUP_METRICS (metrics) };
static const struct group *const groups[] = { &group };

static char folder[TEST_FOLDER_SIZE], path[96];
static struct schema *schema;
static struct error warning; /* what the ring that was opened last says of its file */

static inline int
begin (void **state)
{
  (void) state;
  test_folder_make (folder);
  snprintf (path, sizeof path, "%s/ring", folder);
  schema = schema_create (groups, 1);
  return 0;
}

static inline int
end (void **state)
{
  (void) state;
  schema_destroy (schema);
  unlink (path);
  return rmdir (folder);
}

static inline struct ring *
open_ring (const struct ring_options *options, int64_t now_ns, int64_t wall_ns)
{
  struct ring *ring = ring_create (options, now_ns, wall_ns);

  error_set (&warning, "%s", ring_trouble (ring));
  return ring;
}

static inline struct ring *
open_at (const char *at, size_t size, int64_t now_ns)
{
  return open_ring (&(struct ring_options){ at, size, AGE, "n1" }, now_ns, WALL + now_ns);
}

/* A frame whose length depends on its numbers, so that places never repeat. */
static inline void
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

static inline void
add (struct ring *ring, uint64_t session, uint64_t sequence, int64_t now_ns)
{
  struct buffer bytes = { 0 };

  make_frame (&bytes, "n1", session, sequence, now_ns);
  ring_add (ring, &(struct ring_frame){ session, sequence, bytes.data, bytes.length }, now_ns, WALL + now_ns);
  buffer_free (&bytes);
}

/* Waits for what a thread reads. */
static inline bool
next_read (struct ring *ring, uint64_t session, uint64_t from, uint64_t to, struct ring_frame *frame)
{
  bool held;

  while ((held = ring_next (ring, session, from, to, SIZE_MAX, frame)) && !frame->bytes) {
    from = frame->sequence;
    usleep (50);
  }
  return held;
}

/* That frame and no other is what `ring_next` gives for it, with every byte. */
static inline bool
holds (struct ring *ring, uint64_t session, uint64_t sequence, int64_t now_ns)
{
  struct buffer bytes = { 0 };
  struct ring_frame frame;
  bool held = next_read (ring, session, sequence, sequence, &frame);

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
static inline struct buffer
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

static inline void
write_all (const char *bytes, size_t length)
{
  int fd = open (path, O_WRONLY | O_CREAT, 0600); /* no O_TRUNC: some file systems write such a file out at once */

  assert_true (fd >= 0);
  assert_int_equal (write (fd, bytes, length), (ssize_t) length);
  assert_int_equal (ftruncate (fd, (off_t) length), 0);
  close (fd);
}

static inline uint64_t
first_held (struct ring *ring, uint64_t session)
{
  struct ring_frame frame;

  return next_read (ring, session, 1, UINT64_MAX, &frame) ? frame.sequence : 0;
}

/* No file grows beyond that from now on, as on a full disk; RLIM_INFINITY: as far as it may at all. */
static inline void
limit_files (rlim_t bytes)
{
  struct rlimit limit;

  assert_int_equal (getrlimit (RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  signal (SIGXFSZ, SIG_IGN);
  assert_int_equal (setrlimit (RLIMIT_FSIZE, &limit), 0);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown (name, begin, end)

#endif
