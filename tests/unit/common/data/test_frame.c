/* Frames: random tables there and back, and whatever else may come: cut, changed, lying, too large. */
#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "synop/frame.h"
#include "synop/memory.h"
#include "synop/wire.h"

#define GROUPS 3

static const struct metric cpu_metrics[] = {
  { "user", COUNTER, .help = "" },
  { "switches", COUNTER, .flags = METRIC_OF_NODE, .help = "" },
  { "frequency", GAUGE, .help = "" },
};
static const struct metric net_metrics[] = { { "bytes", COUNTER, .help = "" }, { "state", TEXT, .help = "" } };
static const struct metric load_metrics[] = {
  { "load", GAUGE, .flags = METRIC_OF_NODE, .help = "" },
  { "kernel", TEXT, .flags = METRIC_OF_NODE, .help = "" },
};
static const struct group cpu = { "cpu", "", "CPU", "rows", "", 0, "", GROUP_METRICS (cpu_metrics) };
static const struct group net = { "net", "", "device", "rows", "", 0, "", GROUP_METRICS (net_metrics) };
static const struct group load = { "load", "", "", "", "", 0, "", GROUP_METRICS (load_metrics) };
static const struct group *const groups[GROUPS] = { &cpu, &net, &load };

struct fixture {
  struct schema *schema;
  struct table made[GROUPS], read[GROUPS];
  size_t takes, dones;
  bool check_only;
  struct buffer out;
  struct frame_header header;
  uint64_t random;
};

static int
setup (void **state)
{
  struct fixture *f = memory_new (1, sizeof *f);

  f->schema = schema_create (groups, GROUPS);
  for (size_t i = 0; i < GROUPS; i++) {
    table_init (&f->made[i], groups[i]);
    table_init (&f->read[i], groups[i]);
    table_begin (&f->made[i]);
    f->made[i].period_ns = 1000000000;
  }
  f->random = 88172645463325252u;
  f->header = (struct frame_header){ "node-1", 0xfedcba9876543210u, 7, 123456789, 1795274444123456789, { 0 }, 0 };
  *state = f;
  return 0;
}

static int
teardown (void **state)
{
  struct fixture *f = *state;

  for (size_t i = 0; i < GROUPS; i++) {
    table_free (&f->made[i]);
    table_free (&f->read[i]);
  }
  schema_destroy (f->schema);
  buffer_free (&f->out);
  free (f);
  return 0;
}

static uint64_t
random_next (struct fixture *f)
{
  f->random ^= f->random << 13;
  f->random ^= f->random >> 7;
  f->random ^= f->random << 17;
  return f->random >> (f->random >> 58);
}

static void
cell_fill (struct fixture *f, struct table *table, size_t row, size_t column)
{
  enum metric_kind kind = table->group->metrics[column].kind;
  uint64_t random = random_next (f);

  if (random % 4 == 0)
    return;
  if (kind == COUNTER)
    table_set_uint (table, row, column, random);
  else if (kind == TEXT)
    table_set_text (table, row, column, "some text, long enough for more than one head....", random % 50);
  else if (random % 3 == 0)
    table_set_int (table, row, column, -(int64_t) (random >> 1) - 1);
  else if (random % 3 == 1)
    table_set_uint (table, row, column, random);
  else
    table_set_real (table, row, column, (double) random / 1000);
}

static void
table_fill (struct fixture *f, struct table *table, size_t rows, bool numbered)
{
  const struct group *group = table->group;

  table_begin (table);
  if (random_next (f) % 4 == 0)
    snprintf (table->error, sizeof table->error, "error %d", (int) (random_next (f) % 100));
  for (size_t row = 0; row < rows && group_node_metrics (group) != group->metric_count; row++) {
    char label[32];
    int length = snprintf (label, sizeof label, numbered ? "%zu" : "eth%zu", row);

    table_add_row (table, label, (size_t) length);
  }
  for (size_t column = 0; column < group->metric_count; column++) {
    if ((group->metrics[column].flags & METRIC_OF_NODE) != 0)
      cell_fill (f, table, TABLE_NODE, column);
    else if (random_next (f) % 5 != 0)
      for (size_t row = 0; row < table->rows; row++)
        cell_fill (f, table, row, column);
  }
}

static void
frame_make (struct fixture *f)
{
  const struct table *tables[GROUPS];

  for (size_t i = 0; i < GROUPS; i++)
    tables[i] = &f->made[i];
  buffer_clear (&f->out);
  frame_write (&f->out, &f->header, f->schema, tables, GROUPS);
}

static struct table *
sink_take (void *context, size_t group)
{
  struct fixture *f = context;

  f->takes++;
  if (f->check_only)
    return NULL;
  table_begin (&f->read[group]);
  return &f->read[group];
}

static void
sink_done (void *context, size_t group, struct table *table)
{
  struct fixture *f = context;

  assert_ptr_equal (table, &f->read[group]);
  f->dones++;
}

static const struct table *
sink_last (void *context, size_t group)
{
  const struct fixture *f = context;

  return &f->read[group];
}

static int
frame_take (struct fixture *f, const void *bytes, size_t length, struct error *error)
{
  struct frame_header header;
  struct frame_sink sink = { f, sink_take, sink_done, sink_last };

  f->takes = f->dones = 0;
  if (frame_read_header (bytes, length, &header, error) != 0)
    return -1;
  return frame_read_tables (bytes, length, &header, f->schema, &sink, error);
}

static void
assert_same_value (const struct table *one, const struct table *other, size_t row, size_t column)
{
  const struct value *a = table_get (one, row, column), *b = table_get (other, row, column);
  size_t a_length, b_length;

  assert_int_equal (a->type, b->type);
  if (a->type == VALUE_TEXT) {
    const char *text = table_text (one, a, &a_length);

    assert_memory_equal (text, table_text (other, b, &b_length), a_length);
    assert_int_equal (a_length, b_length);
  } else if (a->type != VALUE_MISSING) {
    assert_true (a->as.u == b->as.u);
  }
}

static void
assert_same_table (const struct table *one, const struct table *other)
{
  assert_int_equal (one->rows, other->rows);
  assert_int_equal (one->period_ns, other->period_ns);
  assert_string_equal (one->error, other->error);
  for (size_t row = 0; row < one->rows; row++) {
    size_t a_length, b_length;
    const char *label = table_label (one, row, &a_length);

    assert_memory_equal (label, table_label (other, row, &b_length), a_length);
    assert_int_equal (a_length, b_length);
    for (size_t column = 0; column < one->group->metric_count; column++)
      if ((one->group->metrics[column].flags & METRIC_OF_NODE) == 0)
        assert_same_value (one, other, row, column);
  }
  for (size_t column = 0; column < one->group->metric_count; column++)
    assert_same_value (one, other, TABLE_NODE, column);
}

static void
test_round_trip (void **state)
{
  struct fixture *f = *state;
  struct error error = { "" };
  struct frame_header header;

  for (int round = 0; round < 300; round++) {
    for (size_t i = 0; i < GROUPS; i++)
      table_fill (f, &f->made[i], random_next (f) % 40, round % 2 == 0);
    frame_make (f);
    if (frame_take (f, f->out.data, f->out.length, &error) != 0)
      fail_msg ("%s", error.text);
    assert_int_equal (f->takes, GROUPS);
    assert_int_equal (f->dones, GROUPS);
    for (size_t i = 0; i < GROUPS; i++) {
      assert_same_table (&f->made[i], &f->read[i]);
      assert_int_equal (f->read[i].monotonic_ns, f->header.monotonic_ns);
    }
  }
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), 0);
  assert_string_equal (header.node, "node-1");
  assert_true (header.session == f->header.session);
  assert_int_equal (header.sequence, 7);
  assert_int_equal (header.wall_ns, f->header.wall_ns);
  assert_memory_equal (header.schema, f->schema->hash, SCHEMA_HASH_SIZE);
  f->check_only = true;
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), 0);
  assert_int_equal (f->takes, GROUPS);
  assert_int_equal (f->dones, 0);
}

/* Numbered rows, and columns that nobody has, cost next to nothing. */
static void
test_frames_are_small (void **state)
{
  struct fixture *f = *state;

  for (size_t row = 0; row < 480; row++) {
    char label[32];

    table_add_row (&f->made[0], label, (size_t) snprintf (label, sizeof label, "%zu", row));
  }
  for (size_t row = 0; row < 480; row++)
    table_set_uint (&f->made[0], row, 0, 5);
  frame_make (f);
  assert_in_range (f->out.length, 480, 480 + 150);
}

/* A row that has no value at all is still a row. */
static void
test_rows_without_values (void **state)
{
  struct fixture *f = *state;
  struct error error = { "" };

  table_add_row (&f->made[0], "0", 1);
  table_add_row (&f->made[1], "eth0", 4);
  frame_make (f);
  if (frame_take (f, f->out.data, f->out.length, &error) != 0)
    fail_msg ("%s", error.text);
  assert_int_equal (f->read[0].rows, 1);
  assert_int_equal (f->read[1].rows, 1);
}

/* Whatever kernels name things: each label is there once, and arrives as it is. */
static void
test_odd_labels_arrive (void **state)
{
  static const char *const labels[] = { "/a\xff", "/a\xfe", "/\xc3\xa4", "/b", "/b", "" };
  struct fixture *f = *state;
  struct error error = { "" };
  char text[TABLE_LABEL_MAX + 10];

  for (size_t i = 0; i < 6; i++) {
    size_t row = table_add_row (&f->made[1], labels[i], strlen (labels[i]));
    if (row == SIZE_MAX)
      continue;
    table_set_uint (&f->made[1], row, 0, row);
    table_set_text (&f->made[1], row, 1, labels[5 - i], strlen (labels[5 - i]));
  }
  memset (text, 'x', sizeof text); /* longer than a label, the same but for the end */
  for (size_t i = 0; i < 2; i++) {
    text[TABLE_LABEL_MAX + 5] = (char) ('0' + i);
    table_add_row (&f->made[1], text, sizeof text);
  }
  assert_int_equal (f->made[1].rows, 7);
  frame_make (f);
  if (frame_take (f, f->out.data, f->out.length, &error) != 0)
    fail_msg ("%s", error.text);
  assert_same_table (&f->made[1], &f->read[1]);
}

/* What does not suit its metric is missing, not sent. */
static void
test_unsuitable_values (void **state)
{
  struct fixture *f = *state;
  struct error error;

  table_add_row (&f->made[0], "0", 1);
  table_set_int (&f->made[0], 0, 0, -1);
  table_set_real (&f->made[0], 0, 2, (double) INFINITY);
  table_set_uint (&f->made[2], TABLE_NODE, 1, 5);
  frame_make (f);
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), 0);
  assert_int_equal (table_get (&f->read[0], 0, 0)->type, VALUE_MISSING);
  assert_int_equal (table_get (&f->read[0], 0, 2)->type, VALUE_MISSING);
  assert_int_equal (table_get (&f->read[2], TABLE_NODE, 1)->type, VALUE_MISSING);
}

static void
test_truncated (void **state)
{
  struct fixture *f = *state;
  struct error error;

  for (size_t i = 0; i < GROUPS; i++)
    table_fill (f, &f->made[i], 10, false);
  frame_make (f);
  for (size_t cut = 0; cut < f->out.length; cut++) {
    char *bytes = memory_resize (memory_copy (f->out.data, cut), cut, 1);

    error.text[0] = 0;
    assert_int_equal (frame_take (f, bytes, cut, &error), -1);
    assert_int_equal (f->takes, 0);
    assert_string_not_equal (error.text, "");
    free (bytes);
  }
  buffer_add (&f->out, "\xc0", 1);
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), -1);
}

static void
test_mutated (void **state)
{
  struct fixture *f = *state;
  struct error error;
  size_t sound = 0, broken = 0;

  for (size_t i = 0; i < GROUPS; i++)
    table_fill (f, &f->made[i], 6, i == 0);
  frame_make (f);

  char *bytes = memory_resize (memory_copy (f->out.data, f->out.length), f->out.length, 1);

  for (size_t at = 0; at < f->out.length; at++)
    for (unsigned value = 0; value < 256; value++) {
      bytes[at] = (char) value;
      if (frame_take (f, bytes, f->out.length, &error) == 0) {
        sound++;
        assert_int_equal (f->takes, f->dones);
      } else {
        broken++;
        assert_int_equal (f->takes, 0);
      }
      bytes[at] = f->out.data[at];
    }
  assert_true (sound > 0);
  assert_true (broken > 0);
  free (bytes);
}

/* ---- frames made by hand ---- */

static void
hand_begin (struct fixture *f, msgpack_packer *packer, const char *node, size_t tables)
{
  buffer_clear (&f->out);
  wire_packer (packer, &f->out);
  msgpack_pack_array (packer, 8);
  msgpack_pack_int (packer, FRAME_VERSION);
  wire_pack_text (packer, node, strlen (node));
  msgpack_pack_int (packer, 1);
  msgpack_pack_int (packer, 1);
  msgpack_pack_int (packer, 1);
  msgpack_pack_int (packer, 1);
  wire_pack_binary (packer, "0123456789abcdef", 16);
  msgpack_pack_array (packer, tables);
}

#define HAND_ADD(f, bytes) buffer_add (&(f)->out, bytes, sizeof bytes - 1)

/* The frame of one table, [GROUP, 1, nil, and `rest`, which is msgpack already. */
static void
assert_table (struct fixture *f, int group, const char *rest, size_t length, const char *why)
{
  struct error error = { "" };
  msgpack_packer packer;

  hand_begin (f, &packer, "n", 1);
  msgpack_pack_array (&packer, 6);
  msgpack_pack_int (&packer, group);
  msgpack_pack_int (&packer, 1);
  msgpack_pack_nil (&packer);
  buffer_add (&f->out, rest, length);

  int result = frame_take (f, f->out.data, f->out.length, &error);

  assert_int_equal (result, why == NULL ? 0 : -1);
  if (why != NULL && strstr (error.text, why) == NULL)
    fail_msg ("\"%s\" does not say \"%s\"", error.text, why);
  assert_int_equal (f->takes, why == NULL ? 1 : 0);
}

#define TABLE(group, rest, why) assert_table (f, group, rest, sizeof rest - 1, why)

static void
test_tables_by_hand (void **state)
{
  struct fixture *f = *state;

  TABLE (0, "\x02\x91\x05\x92\x92\x01\xc0\xc0", NULL);
  TABLE (0, "\xc0\x91\x05\x92\xc0\xc0", NULL);
  TABLE (0, "\x02\x91\x05\x92\xc0\x92\xc0\xc0", NULL);
  TABLE (0, "\x92\xa1x\xa1y\x91\x05\x92\x92\x01\xc0\x92\xff\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", NULL);
  TABLE (1, "\x91\xa1x\x90\x92\x91\x01\x91\xa2up", NULL);
  TABLE (2, "\xc0\x92\x01\xa0\x90", NULL);

  TABLE (0, "\x02\x91\x05\x92\xc0\xc0", "group cpu"); /* rows without a column */
  TABLE (1, "\x91\xa1x\x90\x92\xc0\xc0", "group net");
  TABLE (1, "\x92\xa1x\xa1x\x90\x92\x92\x01\x01\xc0", "group net"); /* a label twice */
  TABLE (1, "\x92\xa1x\xa1y\x90\x92\x92\x01\x01\xc0", NULL);
  TABLE (1, "\x91\xa1\xff\x90\x92\x91\x01\xc0", "group net"); /* a label that is not UTF-8 */
  TABLE (1, "\x91\xa2\xc3\xa4\x90\x92\x91\x01\xc0", NULL);
  TABLE (3, "\xc0\x92\x01\xa0\x90", "no group");
  TABLE (0, "\x02\x90\x92\x92\x01\xc0\xc0", "group cpu");                 /* a value of the node is missing */
  TABLE (0, "\x02\x90\x05\x92\x92\x01\xc0\xc0", "group cpu");             /* one that is not announced */
  TABLE (0, "\x02\x92\x05\x92\x92\x01\xc0\xc0", "group cpu");             /* one announced that is not there */
  TABLE (0, "\x02\x91\x05\x91\x92\x01\xc0", "group cpu");                 /* a column is missing */
  TABLE (0, "\x02\x91\x05\x93\x92\x01\xc0\xc0\xc0", "group cpu");         /* one too many */
  TABLE (0, "\x02\x91\x05\x92\x91\x01\xc0", "group cpu");                 /* a short column */
  TABLE (0, "\x02\x91\x05\x92\x93\x01\x01\x01\xc0", "group cpu");         /* a long one */
  TABLE (0, "\x02\x91\x05\x92\x92\xff\xc0\xc0", "group cpu");             /* a negative counter */
  TABLE (0, "\x01\x91\x05\x92\x91\xca\x01\x01\x01\x01\xc0", "group cpu"); /* a counter that is a float */
  TABLE (0, "\x01\x91\x05\x92\xc0\x91\xa1x", "group cpu");                /* a gauge that is a text */
  TABLE (1, "\x91\xa1x\x90\x92\x91\x01\x91\x05", "group net");            /* a text that is a number */
  TABLE (1, "\x91\xa1x\x90\x92\x91\x01\x91\x90", "group net");            /* a value that is an array */
  TABLE (1, "\x91\x05\x90\x92\x91\x01\xc0", "group net");                 /* a label that is a number */
  TABLE (1, "\xff\x90\x92\xc0\xc0", "group net");                         /* minus one rows */
  TABLE (2, "\x01\x92\x01\xa0\x90", "group load");                        /* rows where there are none */
  TABLE (0, "\xce\x00\x01\x00\x01\x91\x05\x92\xc0\xc0", "over a limit");
  TABLE (0, "\xce\xff\xff\xff\xff\x91\x05\x92\xc0\xc0", "over a limit");
  TABLE (0, "\xdd\xff\xff\xff\xff\x91\x05\x92\xc0\xc0", "over a limit");
  TABLE (0, "\x02\x91\x05\xdd\xff\xff\xff\xff", "over a limit");
  TABLE (0, "\x02\x91\x05\x92\xdd\xff\xff\xff\xff\xc0", "over a limit");
}

/* Labels that stay are not checked once more; those that change are, whatever was there before. */
static void
test_labels_change (void **state)
{
  struct fixture *f = *state;
  size_t length;

  TABLE (1, "\x92\xa1x\xa1y\x90\x92\x92\x01\x01\xc0", NULL);
  TABLE (1, "\x92\xa1x\xa1y\x90\x92\x92\x01\x01\xc0", NULL);
  TABLE (1, "\x92\xa1x\xa1x\x90\x92\x92\x01\x01\xc0", "group net");
  TABLE (1, "\x92\xa1y\xa1y\x90\x92\x92\x01\x01\xc0", "group net");
  TABLE (1, "\x92\xa1x\xa1\xff\x90\x92\x92\x01\x01\xc0", "group net");
  TABLE (1, "\x92\xa1x\x01\x90\x92\x92\x01\x01\xc0", "group net");
  TABLE (1, "\x93\xa1x\xa1y\xa1x\x90\x92\x93\x01\x01\x01\xc0", "group net"); /* more rows than before */
  TABLE (1, "\x93\xa1x\xa1y\xa0\x90\x92\x93\x01\x01\x01\xc0", NULL);
  TABLE (1, "\x91\xa1x\x90\x92\x91\x01\xc0", NULL);
  TABLE (1, "\x92\xa1x\xa1x\x90\x92\x92\x01\x01\xc0", "group net");
  TABLE (1, "\x92\xa1y\xa1x\x90\x92\x92\x01\x01\xc0", NULL);
  assert_memory_equal (table_label (&f->read[1], 0, &length), "y", 1);
  assert_memory_equal (table_label (&f->read[1], 1, &length), "x", 1);
  assert_int_equal (f->read[1].rows, 2);
}

static void
missing_pack (msgpack_packer *packer, size_t rows)
{
  msgpack_pack_array (packer, rows);
  for (size_t row = 0; row < rows; row++)
    msgpack_pack_nil (packer);
}

/* A frame must not make many values of few bytes: the limit is on all tables together. */
static void
test_cells_of_all_tables (void **state)
{
  struct fixture *f = *state;
  struct error error;
  msgpack_packer packer;

  for (int second = 0; second < 2; second++) {
    hand_begin (f, &packer, "n", 1 + (size_t) second);
    HAND_ADD (f, "\x96\x00\x01\xc0\xce\x00\x01\x00\x00\x91\x05\x92\xc0"); /* 65536 rows of 3 */
    missing_pack (&packer, TABLE_ROWS_MAX);
    if (second != 0) {
      HAND_ADD (f, "\x96\x01\x01\xc0\xce\x00\x01\x00\x00\x90\x92\xc0"); /* and 65536 of 2 */
      missing_pack (&packer, TABLE_ROWS_MAX);
    }
    assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), second == 0 ? 0 : -1);
  }
  assert_non_null (strstr (error.text, "more than 262144 values"));
  assert_int_equal (f->takes, 0);
}

static void
test_group_twice (void **state)
{
  struct fixture *f = *state;
  struct error error;
  msgpack_packer packer;

  hand_begin (f, &packer, "n", 2);
  HAND_ADD (f, "\x96\x02\x01\xc0\xc0\x92\xc0\xc0\x90");
  HAND_ADD (f, "\x96\x02\x01\xc0\xc0\x92\xc0\xc0\x90");
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), -1);
  assert_string_equal (error.text, "the frame holds group load twice");
  assert_int_equal (f->takes, 0);
}

static void
test_trailing_fields (void **state)
{
  struct fixture *f = *state;
  struct error error;
  msgpack_packer packer;

  hand_begin (f, &packer, "n", 1);
  HAND_ADD (f, "\x98\x02\x01\xa3why\xc0\x92\x07\xc0\x90\xa5later\x81\x01\x92\x01\x02\xa3"
               "end");
  f->out.data[0] = (char) 0x99;
  if (frame_take (f, f->out.data, f->out.length, &error) != 0)
    fail_msg ("%s", error.text);
  assert_string_equal (f->read[2].error, "why");
  assert_int_equal (table_get (&f->read[2], TABLE_NODE, 0)->as.u, 7);

  /* The same with a trailing field that is nested without end. */
  hand_begin (f, &packer, "n", 0);
  f->out.data[0] = (char) 0x99;
  memset (buffer_reserve (&f->out, 1000), 0x91, 1000);
  f->out.length += 1000;
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), -1);
}

static void
test_long_error_is_cut (void **state)
{
  struct fixture *f = *state;
  struct error error;
  msgpack_packer packer;
  char text[1000];

  memset (text, 'e', sizeof text);
  hand_begin (f, &packer, "n", 1);
  HAND_ADD (f, "\x96\x02\x01");
  wire_pack_text (&packer, text, sizeof text);
  HAND_ADD (f, "\xc0\x92\xc0\xc0\x90");
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), 0);
  assert_int_equal (strlen (f->read[2].error), sizeof f->read[2].error - 1);
}

static void
test_headers (void **state)
{
  struct fixture *f = *state;
  struct error error;
  struct frame_header header;
  msgpack_packer packer;
  char *big = memory_new (FRAME_BYTES_MAX + 1, 1);

  hand_begin (f, &packer, "../n", 0);
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), -1);
  assert_non_null (strstr (error.text, "does not begin with '.'"));
  assert_string_equal (header.node, "");
  hand_begin (f, &packer, "n", 0);
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), 0);
  f->out.data[1] = 2;
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), -1);
  assert_string_equal (error.text, "version 2 of frames is not known");
  f->out.data[1] = 1;
  f->out.data[4] = 0; /* session */
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), -1);
  f->out.data[4] = 1;
  f->out.data[5] = 0; /* sequence */
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), -1);
  f->out.data[5] = 1;
  f->out.data[6] = (char) 0xff; /* monotonic ns below 0 */
  assert_int_equal (frame_read_header (f->out.data, f->out.length, &header, &error), -1);
  assert_int_equal (frame_read_header (big, FRAME_BYTES_MAX + 1, &header, &error), -1);
  assert_non_null (strstr (error.text, "over the limit"));
  free (big);
}

static void
test_node_names (void **state)
{
  static const char *const fine[] = { "n", "n1", "gpu-01.rack_3", "_" };
  static const char *const wrong[] = { "", ".n", "-n", "a b", "a/b", "n\n", "\xc3\xa4", "a:b" };
  char long_name[FRAME_NODE_MAX + 1];

  (void) state;
  for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++)
    assert_int_equal (node_name_check (fine[i], strlen (fine[i]), NULL), 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal (node_name_check (wrong[i], strlen (wrong[i]), NULL), -1);
  memset (long_name, 'n', sizeof long_name);
  assert_int_equal (node_name_check (long_name, FRAME_NODE_MAX, NULL), 0);
  assert_int_equal (node_name_check (long_name, FRAME_NODE_MAX + 1, NULL), -1);
  assert_int_equal (node_name_check ("a\0b", 3, NULL), -1);
}

/* ---- frames that are too large ---- */

static void
rows_add (struct table *table, size_t rows)
{
  for (size_t row = 0; row < rows; row++) {
    char label[32];

    table_add_row (table, label, (size_t) snprintf (label, sizeof label, "%zu", row));
  }
}

static void
assert_cut (const struct table *table, size_t rows, size_t least, size_t most, size_t limit)
{
  char text[sizeof table->error];

  assert_in_range (table->rows, least, most);
  snprintf (text, sizeof text, "%zu of %zu rows do not fit a frame of %zu bytes", rows - table->rows, rows, limit);
  assert_string_equal (table->error, text);
}

/* A table too large for a frame has fewer rows, and says so; the others arrive. */
static void
test_large_tables (void **state)
{
  struct fixture *f = *state;
  struct error error = { "" };
  char text[TABLE_TEXT_MAX];

  memset (text, 't', sizeof text);
  rows_add (&f->made[0], 400);
  rows_add (&f->made[1], 300);
  for (size_t row = 0; row < 300; row++)
    table_set_text (&f->made[1], row, 1, text, sizeof text);
  table_set_uint (&f->made[2], TABLE_NODE, 0, 9);
  frame_make (f);
  assert_true (f->out.length <= FRAME_BYTES_MAX);
  if (frame_take (f, f->out.data, f->out.length, &error) != 0)
    fail_msg ("%s", error.text);
  assert_int_equal (f->read[0].rows, 400);
  assert_string_equal (f->read[0].error, "");
  assert_cut (&f->read[1], 300, 245, 255, FRAME_BYTES_MAX);
  assert_int_equal (table_get (&f->read[1], f->read[1].rows - 1, 1)->length, sizeof text);
  assert_int_equal (table_get (&f->read[2], TABLE_NODE, 0)->as.u, 9);

  table_begin (&f->made[0]);
  table_begin (&f->made[1]);
  rows_add (&f->made[0], TABLE_ROWS_MAX);
  rows_add (&f->made[1], TABLE_ROWS_MAX);
  frame_make (f);
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), 0);
  assert_cut (&f->read[0], TABLE_ROWS_MAX, 42600, (FRAME_CELLS_MAX - 2 * TABLE_ROWS_MAX) / 3, FRAME_BYTES_MAX);
  assert_int_equal (f->read[1].rows, TABLE_ROWS_MAX);
}

/* 560 processes that call themselves jobs, with ids as long as can be: the aggregator takes the frame, and what is told
 * of the machine is whole. */
static void
test_rows_of_users_are_cut_first (void **state)
{
  enum { JOBS = 560, CPUS = 600 };
  static const struct metric info_metrics[] = { { "user", TEXT, .help = "" }, { "command", TEXT, .help = "" } };
  static const struct metric use_metrics[] = { { "usage", COUNTER, .help = "" } };
  static const struct group info = { "job_info",      "", "job", "jobs", "", 0, "", GROUP_METRICS (info_metrics),
                                     .of_users = true };
  static const struct group use = { "job_cpu",       "", "job", "jobs", "", 0, "", GROUP_METRICS (use_metrics),
                                    .of_users = true };
  static const struct group *const all[GROUPS] = { &info, &cpu, &use };
  struct fixture *f = *state;
  struct error error = { "" };
  const struct table *tables[GROUPS];
  char label[TABLE_LABEL_MAX], text[600];

  memset (text, 'c', sizeof text);
  memset (label, 'j', sizeof label);
  schema_destroy (f->schema);
  f->schema = schema_create (all, GROUPS);
  for (size_t i = 0; i < GROUPS; i++) {
    table_free (&f->made[i]);
    table_free (&f->read[i]);
    table_init (&f->made[i], all[i]);
    table_init (&f->read[i], all[i]);
    tables[i] = &f->made[i];
  }
  rows_add (&f->made[1], CPUS);
  for (size_t row = 0; row < CPUS; row++)
    table_set_uint (&f->made[1], row, 0, UINT64_MAX);
  for (size_t row = 0; row < JOBS; row++)
    for (size_t i = 0; i < GROUPS; i += 2) {
      memcpy (label + snprintf (label, sizeof label, "%zu", row), "jj", 2);
      table_add_row (&f->made[i], label, sizeof label);
    }
  for (size_t row = 0; row < JOBS; row++) {
    table_set_text (&f->made[0], row, 1, text, sizeof text);
    table_set_uint (&f->made[2], row, 0, UINT64_MAX);
  }
  strcpy (f->made[0].error, "of another user");
  for (size_t limit = FRAME_BYTES_DEFAULT; limit >= FRAME_BYTES_LEAST; limit /= 2) {
    buffer_clear (&f->out);
    frame_write_within (&f->out, &f->header, f->schema, tables, GROUPS, limit);
    assert_true (f->out.length <= limit);
    if (frame_take (f, f->out.data, f->out.length, &error) != 0)
      fail_msg ("%s", error.text);
    assert_int_equal (f->read[0].rows, f->read[2].rows);
    if (limit >= 8192)
      assert_int_equal (f->read[1].rows, CPUS);
    else
      assert_cut (&f->read[1], CPUS, 400, CPUS - 1, limit);
    if (limit < FRAME_BYTES_DEFAULT)
      continue;
    assert_true (f->out.length > limit - limit / 50);
    assert_cut (&f->read[2], JOBS, 200, JOBS - 1, limit);
    assert_non_null (strstr (f->read[0].error, "bytes; of another user"));
  }
}

/* Where texts of the node alone are too many: the errors of as many groups as fit. */
static void
test_large_values_of_the_node (void **state)
{
  struct fixture *f = *state;
  struct error error = { "" };
  const struct table *tables[GROUPS] = { &f->made[0], &f->made[1], &f->made[2] };
  char text[TABLE_TEXT_MAX];

  memset (text, 't', sizeof text);
  table_set_text (&f->made[2], TABLE_NODE, 1, text, sizeof text);
  frame_write_within (&f->out, &f->header, f->schema, tables, GROUPS, FRAME_BYTES_LEAST);
  assert_true (f->out.length <= FRAME_BYTES_LEAST);
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), 0);
  assert_int_equal (f->takes, GROUPS);
  assert_string_equal (f->read[2].error, "the values do not fit a frame");
  buffer_clear (&f->out);
  frame_write_within (&f->out, &f->header, f->schema, tables, GROUPS, 120);
  assert_true (f->out.length <= 120);
  assert_int_equal (frame_take (f, f->out.data, f->out.length, &error), 0);
  assert_int_equal (f->takes, 1);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST (test_round_trip),
    TEST (test_frames_are_small),
    TEST (test_unsuitable_values),
    TEST (test_truncated),
    TEST (test_mutated),
    TEST (test_tables_by_hand),
    TEST (test_cells_of_all_tables),
    TEST (test_labels_change),
    TEST (test_group_twice),
    TEST (test_trailing_fields),
    TEST (test_long_error_is_cut),
    TEST (test_headers),
    TEST (test_node_names),
    TEST (test_large_tables),
    TEST (test_rows_of_users_are_cut_first),
    TEST (test_large_values_of_the_node),
    TEST (test_rows_without_values),
    TEST (test_odd_labels_arrive),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
