/* The agent's ring keeps each schema as long as it holds frames of it, wherever it lies and however often it is opened. */
#include "tests/unit/agent/uplink/ring_bench.h"

#include "synop/schema.h"

static const struct group other_group = { "other", "", "", "", "", 0, "Another group.", GROUP_METRICS (metrics) };
static const struct group *const other_groups[] = { &group, &other_group };
static struct schema *first, *other; /* the frames of ring_bench.h have the one that is in `schema` */

static int
begin_schemas (void **state)
{
  begin (state);
  first = schema;
  other = schema_create (other_groups, 2);
  return 0;
}

static int
end_schemas (void **state)
{
  schema_destroy (other);
  schema = first;
  return end (state);
}

static void
add_of (struct ring *ring, struct schema *its, uint64_t sequence, int64_t now_ns)
{
  schema = its;
  ring_keep_schema (ring, its);
  add (ring, 7, sequence, now_ns);
}

/* Is it there, with every byte? */
static bool
has (struct ring *ring, const struct schema *asked)
{
  const void *bytes;
  size_t length;

  do
    if (!ring_schema (ring, asked->hash, &bytes, &length))
      return false;
  while (!bytes && usleep (1000) == 0);
  assert_int_equal (length, asked->encoded.length);
  assert_memory_equal (bytes, asked->encoded.data, length);
  return true;
}

/* It stays while one frame of it is there, though its own record is long gone; the one of new frames always does. */
static void
check_wrap (const char *at)
{
  struct ring *ring = open_at (at, SIZE, 0);
  uint64_t sequence = 0;

  for (int turn = 0; turn < 20; turn++) {
    struct schema *now = turn % 2 ? first : other, *before = turn % 2 ? other : first;
    uint64_t last = sequence;

    for (int i = 0; i < 3 + 17 * (turn % 5); i++) {
      sequence++;
      add_of (ring, now, sequence, (int64_t) sequence);
      assert_true (has (ring, now));
      if (last && first_held (ring, 7) <= last)
        assert_true (has (ring, before));
    }
  }
  for (uint64_t end = sequence + 200; sequence < end; sequence++)
    add_of (ring, first, sequence, (int64_t) sequence);
  assert_true (has (ring, first));
  assert_false (has (ring, other)); /* nothing is of it, so its place is free */
  ring_destroy (ring);
}

static void
test_wrap (void **state)
{
  (void) state;
  check_wrap (path);
  check_wrap ("");
}

/* Pages between the oldest frame and the place of the next one are given back: not those with a schema. */
static void
test_released_pages (void **state)
{
  struct ring *ring = open_at ("", 1024 * 1024, 0);

  (void) state;
  add_of (ring, other, 1, 1 * S);
  for (uint64_t sequence = 2; sequence <= 3000; sequence++) {
    add_of (ring, first, sequence, (int64_t) sequence * S);
    assert_true (has (ring, first));
    if (first_held (ring, 7) == 1)
      assert_true (has (ring, other));
  }
  ring_destroy (ring);
}

/* Each time it is opened, at any place of the ring: also when the record was put again behind frames of it. */
static void
test_restarts (void **state)
{
  struct ring *ring;

  (void) state;
  for (uint64_t sequence = 1; sequence <= 400; sequence++) {
    ring = open_at (path, SIZE, (int64_t) sequence);
    add_of (ring, sequence % 40 < 20 ? first : other, sequence, (int64_t) sequence);
    ring_destroy (ring);
    ring = open_at (path, SIZE, (int64_t) sequence);
    assert_true (has (ring, sequence % 40 < 20 ? first : other));
    if (sequence % 20 < 5 && sequence > 20)
      assert_true (has (ring, first) && has (ring, other));
    ring_destroy (ring);
  }
}

/* A file from before there were schemas in it: its frames are there. */
static void
test_file_without_schemas (void **state)
{
  struct ring *ring = open_at (path, SIZE, 0);

  (void) state;
  for (uint64_t sequence = 1; sequence <= 50; sequence++)
    add (ring, 7, sequence, (int64_t) sequence);
  ring_destroy (ring);
  ring = open_at (path, SIZE, 60);
  assert_string_equal (warning.text, "");
  assert_true (holds (ring, 7, 50, 50));
  assert_false (has (ring, first));
  add_of (ring, first, 51, 51);
  assert_true (has (ring, first));
  ring_destroy (ring);
}

/* From the file to memory, and back into a new one. */
static void
test_file_that_was_removed (void **state)
{
  struct ring *ring = open_at (path, SIZE, 0);

  (void) state;
  add_of (ring, other, 1, 1);
  add_of (ring, first, 2, 2);
  unlink (path);
  add_of (ring, first, 3, 61 * S);
  assert_true (ring_is_file (ring));
  assert_true (has (ring, first) && has (ring, other));
  ring_destroy (ring);
  ring = open_at (path, SIZE, 62 * S);
  assert_true (has (ring, first) && has (ring, other));
  ring_destroy (ring);
}

/* Frames go before: a schema that would take most of the place is not kept, nor are more than there is room for. */
static void
test_more_than_there_is_room_for (void **state)
{
  struct ring *ring = open_at (path, SIZE, 0);
  char name[32];
  struct group made = other_group;
  const struct group *const list[] = { &group, &made };
  size_t kept = 0;
  struct schema *schemas[200], *large;

  (void) state;
  made.name = name;
  for (uint64_t i = 0; i < 200; i++) {
    snprintf (name, sizeof name, "group_%u", (unsigned) i);
    schemas[i] = schema_create (list, 2);
    add_of (ring, schemas[i], i + 1, 0);
    assert_true (has (ring, schemas[i]));
    assert_true (holds (ring, 7, i + 1, 0));
  }
  for (size_t i = 0; i < 200; i++) {
    kept += has (ring, schemas[i]);
    schema_destroy (schemas[i]);
  }
  assert_in_range (kept, 8, 16);
  schema = first;
  ring_destroy (ring);

  large = schema_create (groups, 1);
  ring = open_at ("", 512, 0);
  buffer_reserve (&large->encoded, 400);
  large->encoded.length = 400;
  add_of (ring, large, 1, 0);
  assert_false (has (ring, large));
  ring_destroy (ring);
  schema = first;
  schema_destroy (large);
}

#define SCHEMAS_TEST(name) cmocka_unit_test_setup_teardown (name, begin_schemas, end_schemas)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    SCHEMAS_TEST (test_wrap),
    SCHEMAS_TEST (test_released_pages),
    SCHEMAS_TEST (test_restarts),
    SCHEMAS_TEST (test_file_without_schemas),
    SCHEMAS_TEST (test_file_that_was_removed),
    SCHEMAS_TEST (test_more_than_there_is_room_for),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
