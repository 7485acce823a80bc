/* Chunks of history: every message comes back byte for byte, a damaged chunk is told, and a value costs little. */
#include <msgpack.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_number.h"
#include "aggregator/history/history_record.h"
#include "synop/clock.h"
#include "synop/frame.h"

static uint64_t
next (uint64_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

/* Returns how many bytes it is packed. */
static size_t
round_trip (const struct chunk *chunk)
{
  struct chunk again = { 0 };
  struct buffer packed = { 0 };
  struct error error;
  size_t length;

  chunk_pack (chunk, &packed);
  length = packed.length;
  assert_int_equal (chunk_unpack (&again, packed.data, packed.length, &error), 0);
  assert_int_equal (again.count, chunk->count);
  assert_int_equal (again.bytes.length, chunk->bytes.length);
  if (chunk->count) {
    assert_memory_equal (again.bytes.data, chunk->bytes.data, chunk->bytes.length);
    assert_memory_equal (again.ends, chunk->ends, chunk->count * sizeof chunk->ends[0]);
  }
  chunk_free (&again);
  buffer_free (&packed);
  return length;
}

/* ---- numbers ---- */

static const uint64_t interesting[] = { 0,
                                        1,
                                        31,
                                        32,
                                        33,
                                        127,
                                        128,
                                        255,
                                        256,
                                        65535,
                                        65536,
                                        UINT32_MAX,
                                        UINT64_C (1) << 32,
                                        INT64_MAX,
                                        UINT64_C (1) << 63,
                                        UINT64_MAX };

static struct number
any_number (uint64_t *seed, unsigned kind)
{
  static const double reals[] = { 0.0, -0.0, 0.25, 3.14, 1e-7, 1e300, 0.1 + 0.2, 100.01, 9e15, -12.5 };
  uint64_t bits = next (seed) % 3 ? interesting[next (seed) % 16] : next (seed) >> next (seed) % 64;
  struct number number = { NUMBER_UINT, bits };
  double real = reals[next (seed) % 10];

  if (kind == 1)
    number = (struct number){ NUMBER_NEGATIVE, bits | UINT64_C (1) << 63 };
  else if (kind == 2)
    memcpy (&number.bits, &real, sizeof real);
  else if (kind == 3)
    number = (struct number){ NUMBER_NIL, 0 };
  if (kind == 2)
    number.class = NUMBER_REAL;
  return number;
}

static void
test_columns (void **state)
{
  struct number numbers[40 * 3], again[40 * 3];
  int64_t scratch[40];
  uint64_t seed = 77;

  (void) state;
  for (int turn = 0; turn < 20000; turn++) {
    struct number_streams out = { 0 };
    struct number_sources in;
    size_t count = 1 + next (&seed) % 40;
    unsigned kinds = 1 + (unsigned) (next (&seed) % 15);
    memset (numbers, 0, sizeof numbers);
    memset (again, 0, sizeof again);
    for (size_t i = 0; i < count; i++) {
      unsigned kind;
      do
        kind = (unsigned) (next (&seed) % 4);
      while (!(kinds & 1u << kind));
      numbers[3 * i] = any_number (&seed, kind);
    }
    number_column_write (&out, numbers, count, 3, scratch);
    in = (struct number_sources){ wire_over (out.modes.data, out.modes.length),
                                  wire_over (out.firsts.data, out.firsts.length),
                                  wire_over (out.rest.data, out.rest.length) };
    assert_int_equal (number_column_read (&in, again, count, 3), 0);
    assert_true (in.modes.at == in.modes.end && in.firsts.at == in.firsts.end && in.rest.at == in.rest.end);
    for (size_t i = 0; i < count; i++) {
      assert_int_equal (numbers[3 * i].class, again[3 * i].class);
      assert_true (numbers[3 * i].bits == again[3 * i].bits);
    }
    buffer_free (&out.modes);
    buffer_free (&out.firsts);
    buffer_free (&out.rest);
  }
}

/* What never changes, or grows evenly, is next to nothing. */
static void
test_even_columns_are_short (void **state)
{
  struct number numbers[64];
  int64_t scratch[64];
  struct number_streams out = { 0 };

  (void) state;
  for (size_t i = 0; i < 64; i++)
    numbers[i] = (struct number){ NUMBER_UINT, 1000000007 * (i + 1) };
  number_column_write (&out, numbers, 64, 1, scratch);
  assert_true (out.modes.length + out.firsts.length + out.rest.length < 80);
  for (size_t i = 0; i < 64; i++)
    numbers[i] = (struct number){ NUMBER_UINT, UINT64_MAX };
  buffer_clear (&out.modes);
  buffer_clear (&out.firsts);
  buffer_clear (&out.rest);
  number_column_write (&out, numbers, 64, 1, scratch);
  assert_true (out.modes.length + out.firsts.length + out.rest.length < 12);
  buffer_free (&out.modes);
  buffer_free (&out.firsts);
  buffer_free (&out.rest);
}

static void
test_varints (void **state)
{
  static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
  struct buffer out = { 0 };
  struct wire wire;

  (void) state;
  for (size_t i = 0; i < 16; i++)
    varint_write (&out, interesting[i]);
  wire = wire_over (out.data, out.length);
  for (size_t i = 0; i < 16; i++)
    assert_true (varint_read (&wire, UINT64_MAX) == interesting[i]);
  assert_false (wire.bad);
  varint_read (&wire, UINT64_MAX);
  assert_true (wire.bad);
  wire = wire_over (endless, sizeof endless);
  varint_read (&wire, UINT64_MAX);
  assert_true (wire.bad);
  wire = wire_over (out.data, 2);
  varint_read (&wire, 0);
  assert_false (wire.bad);
  varint_read (&wire, 0);
  assert_true (wire.bad);
  buffer_free (&out);
}

/* ---- messages of any kind ---- */

static void
pack_any (msgpack_packer *packer, uint64_t *seed, unsigned depth)
{
  struct number number = any_number (seed, (unsigned) (next (seed) % 3));
  char text[40];
  double real;

  memset (text, 'x', sizeof text);
  text[3] = (char) 0xc1; /* looks like a hole */
  switch (next (seed) % (depth ? 9 : 7)) {
  case 0:
  case 1:
    msgpack_pack_uint64 (packer, number.bits);
    break;
  case 2:
    msgpack_pack_int64 (packer, (int64_t) number.bits);
    break;
  case 3:
    memcpy (&real, &number.bits, sizeof real);
    msgpack_pack_double (packer, real);
    break;
  case 4:
    msgpack_pack_nil (packer);
    break;
  case 5:
    wire_pack_text (packer, text, next (seed) % 40);
    break;
  case 6:
    next (seed) % 2 ? msgpack_pack_true (packer) : msgpack_pack_float (packer, 1.5f);
    break;
  case 7: {
    size_t count = next (seed) % 20;
    msgpack_pack_array (packer, count);
    for (size_t i = 0; i < count; i++)
      pack_any (packer, seed, depth - 1);
    break;
  }
  default:
    msgpack_pack_map (packer, 1);
    pack_any (packer, seed, depth - 1);
    pack_any (packer, seed, depth - 1);
  }
}

static void
test_any_messages (void **state)
{
  uint64_t seed = 4711;

  (void) state;
  for (int turn = 0; turn < 400; turn++) {
    struct chunk chunk = { 0 };
    struct buffer message = { 0 };
    msgpack_packer packer;
    size_t count = next (&seed) % 20;
    uint64_t shape = next (&seed);
    wire_packer (&packer, &message);
    for (size_t i = 0; i < count; i++) {
      uint64_t own = next (&seed) % 2 ? shape : seed; /* some are alike */
      buffer_clear (&message);
      msgpack_pack_array (&packer, 6);
      for (int k = 0; k < 6; k++)
        pack_any (&packer, &own, 3);
      if (next (&seed) % 50 == 0) /* not msgpack any more */
        buffer_add (&message, &(char){ (char) next (&seed) }, 1);
      chunk_add (&chunk, message.data, message.length);
    }
    round_trip (&chunk);
    chunk_free (&chunk);
    buffer_free (&message);
  }
}

static void
test_odd_messages (void **state)
{
  /* Numbers that are not written in the shortest way, an empty array, none, an array cut short, c1. */
  static const char *const odd[] = { "\x92\xcd\x00\x05\xce\x00\x00\x00\x07",
                                     "\x92\xd1\x00\x05\xd0\x01",
                                     "\x90",
                                     "",
                                     "\xc0",
                                     "\x93\x01",
                                     "\xc1",
                                     "\x92\x01\xc1",
                                     "\xdd\x00\x00\x00\x01\x05",
                                     "\xdc\x00\x01\x91\x07" };
  static const size_t lengths[] = { 9, 6, 1, 0, 1, 2, 1, 3, 6, 5 };
  struct chunk all = { 0 };

  (void) state;
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    struct chunk chunk = { 0 };
    chunk_add (&chunk, odd[i], lengths[i]);
    round_trip (&chunk);
    chunk_add (&chunk, odd[i], lengths[i]);
    round_trip (&chunk);
    chunk_add (&all, odd[i], lengths[i]);
    chunk_free (&chunk);
  }
  round_trip (&all);
  chunk_free (&all);
}

/* ---- frames ---- */

static const struct metric cpu_metrics[] = {
  { "user", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .help = "User." },
  { "system", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .help = "System." },
  { "idle", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .help = "Idle." },
  { "switches", COUNTER, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Switches." },
};
static const struct metric load_metrics[] = {
  { "load", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Load." },
  { "state", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "State." },
};
static const struct group cpu_group = {
  "cpu", "system_data", "CPU", "cpus", "total", 0, "CPUs.", GROUP_METRICS (cpu_metrics)
};
static const struct group load_group = { "load", "system_data", "", "", "", 0, "Load.", GROUP_METRICS (load_metrics) };
static const struct group *const groups[] = { &cpu_group, &load_group };
#define CPUS 64

static void
make_frames (struct chunk *chunk, size_t count)
{
  struct schema *schema = schema_create (groups, 2);
  struct frame_header header = {
    .node = "n1", .session = UINT64_MAX - 5, .monotonic_ns = 5 * NS_PER_S, .wall_ns = NS_PER_S
  };
  struct table cpu, load;
  const struct table *tables[] = { &load, &cpu };
  uint64_t counters[CPUS][3] = { { 0 } }, seed = 9;
  struct buffer frame = { 0 };

  memcpy (header.schema, schema->hash, SCHEMA_HASH_SIZE);
  table_init (&cpu, &cpu_group);
  table_init (&load, &load_group);
  for (size_t i = 0; i < count; i++) {
    header.sequence = i + 1;
    header.monotonic_ns += NS_PER_S + (int64_t) (next (&seed) % 50000);
    header.wall_ns += NS_PER_S + (int64_t) (next (&seed) % 50000);
    table_begin (&cpu);
    table_begin (&load);
    for (size_t row = 0; row < CPUS; row++) {
      char label[8];
      table_add_row (&cpu, label, (size_t) snprintf (label, sizeof label, "%zu", row));
      for (size_t k = 0; k < 3; k++)
        table_set_uint (&cpu, row, k, counters[row][k] += next (&seed) % (k == 2 ? 100 : 6));
    }
    table_set_uint (&cpu, TABLE_NODE, 3, 1000000 + 7 * i);
    table_set_real (&load, TABLE_NODE, 0, (double) (next (&seed) % 900) / 100);
    table_set_text (&load, TABLE_NODE, 1, i % 10 ? "well" : "unwell", i % 10 ? 4 : 6);
    if (i % 7 == 3) /* missing, and a group that failed */
      table_begin (&load);
    buffer_clear (&frame);
    frame_write (&frame, &header, schema, tables, i % 5 == 0 ? 1 : 2); /* not all groups in each */
    chunk_add (chunk, frame.data, frame.length);
  }
  table_free (&cpu);
  table_free (&load);
  buffer_free (&frame);
  schema_destroy (schema);
}

static void
test_frames_cost_little (void **state)
{
  struct chunk chunk = { 0 };
  size_t packed;

  (void) state;
  make_frames (&chunk, 64);
  packed = round_trip (&chunk);
  print_message ("# %zu bytes become %zu, %.2f a value\n", chunk.bytes.length, packed,
                 (double) packed / (64 * (CPUS * 3 + 3)));
  assert_true (packed < 64 * CPUS * 3); /* random digits: less than a byte for each all the same */
  chunk_free (&chunk);
}

static void
test_damage_is_told (void **state)
{
  struct chunk chunk = { 0 }, again = { 0 };
  struct buffer packed = { 0 };
  struct error error;

  (void) state;
  make_frames (&chunk, 8);
  chunk_pack (&chunk, &packed);
  for (size_t i = 0; i < packed.length; i++) {
    int result;
    error.text[0] = '\0';
    chunk_clear (&again);
    assert_int_equal (chunk_unpack (&again, packed.data, i, &error), -1);
    assert_true (error.text[0]);
    packed.data[i] ^= 0x10;
    chunk_clear (&again);
    result = chunk_unpack (&again, packed.data, packed.length, &error);
    if (result == 0) { /* a bit of the head that says nothing */
      assert_int_equal (again.bytes.length, chunk.bytes.length);
      assert_memory_equal (again.bytes.data, chunk.bytes.data, chunk.bytes.length);
    }
    packed.data[i] ^= 0x10;
  }
  chunk_free (&chunk);
  chunk_free (&again);
  buffer_free (&packed);
}

/* A few bytes that promise a lot take no memory. */
static void
test_bombs_are_refused (void **state)
{
  struct chunk chunk = { 0 };
  struct buffer bomb = { 0 };
  struct error error;

  (void) state;
  buffer_add (&bomb, "\x01", 1);
  varint_write (&bomb, 1); /* a form of 1,000 bytes */
  varint_write (&bomb, 1000);
  for (int i = 0; i < 1000; i++)
    buffer_add (&bomb, "\xc1", 1);
  varint_write (&bomb, 1); /* a shape of 1,000 of it */
  varint_write (&bomb, 1000);
  for (int i = 0; i < 1000; i++)
    varint_write (&bomb, 0);
  varint_write (&bomb, 60000); /* and so many messages */
  for (int i = 0; i < 60000; i++)
    varint_write (&bomb, 0);
  assert_int_equal (chunk_read (&chunk, bomb.data, bomb.length, &error), -1);
  chunk_free (&chunk);
  buffer_clear (&bomb);
  buffer_add (&bomb, "\x00", 1);
  varint_write (&bomb, CHUNK_MESSAGES_MAX + 1);
  assert_int_equal (chunk_read (&chunk, bomb.data, bomb.length, &error), -1);
  chunk_free (&chunk);
  buffer_free (&bomb);
}

/* ---- records ---- */

static void
test_records (void **state)
{
  struct schema *schema = schema_create (groups, 2);
  struct table now = { .sequence = 9 }, before = { .sequence = 5 };
  struct report_group pairs[] = { { &now, &before }, { NULL, NULL } };
  struct frame_header header = { .sequence = 9, .monotonic_ns = INT64_MAX };
  struct cluster_frame frame = { .header = &header,
                                 .time_ns = -7,
                                 .bound_ns = -1,
                                 .drift_ppb = INT64_MIN,
                                 .probe_age_ms = -1,
                                 .late = true,
                                 .tick_period_ns = 0,
                                 .schema = schema,
                                 .groups = pairs };
  struct frame_record record;
  struct buffer out = { 0 };

  (void) state;
  frame_record_write (&out, 12, &frame);
  assert_int_equal (frame_record_read (&record, out.data, out.length, header.monotonic_ns), 0);
  assert_true (record.number == 12 && record.time_ns == -7 && record.bound_ns == -1 && record.probe_age_ms == -1);
  assert_true (record.drift_ppb == INT64_MIN && record.late && record.count == 1 && record.distances[0] == 4);
  for (size_t i = 0; i < out.length; i++)
    assert_int_equal (frame_record_read (&record, out.data, i, 0), -1);
  buffer_clear (&out);
  frame = (struct cluster_frame){ .header = &header,
                                  .time_ns = INT64_MAX,
                                  .bound_ns = 5,
                                  .drift_ppb = -3,
                                  .probe_age_ms = 7,
                                  .tick_period_ns = NS_PER_S,
                                  .schema = schema,
                                  .groups = pairs };
  header.monotonic_ns = 0;
  pairs[0].before = NULL;
  frame_record_write (&out, 13, &frame);
  assert_int_equal (frame_record_read (&record, out.data, out.length, 0), 0);
  assert_true (record.time_ns == INT64_MAX && record.bound_ns == 5 && record.drift_ppb == -3 && !record.late);
  assert_true (record.probe_age_ms == 7 && record.tick_period_ns == NS_PER_S && record.distances[0] == 0);
  buffer_free (&out);
  schema_destroy (schema);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_varints),
    cmocka_unit_test (test_columns),
    cmocka_unit_test (test_even_columns_are_short),
    cmocka_unit_test (test_any_messages),
    cmocka_unit_test (test_odd_messages),
    cmocka_unit_test (test_frames_cost_little),
    cmocka_unit_test (test_damage_is_told),
    cmocka_unit_test (test_bombs_are_refused),
    cmocka_unit_test (test_records),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
