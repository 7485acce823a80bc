/* Tables, and the small parts below them: buffers, errors, memory, times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/error.h"
#include "synop/memory.h"
#include "synop/table.h"

static const struct metric metrics[] = {
  { "count", COUNTER, .help = "A counter." },
  { "level", GAUGE, .flags = METRIC_OF_NODE, .help = "A gauge." },
  { "state", TEXT, .unit = UNIT_NONE, .help = "A text." },
};
static const struct group group = { "things", "", "thing", "things", "", 0, "Things.", GROUP_METRICS (metrics) };

static size_t
row_add (struct table *table, const char *label)
{
  return table_add_row (table, label, strlen (label));
}

static size_t
row_add_number (struct table *table, int number)
{
  char label[16];

  return table_add_row (table, label, (size_t) snprintf (label, sizeof label, "row %d", number));
}

/* Memory stays from one sample to the next, but not that of one that was far larger. */
static void
test_memory_is_given_back (void **state)
{
  struct table table;
  size_t most;

  (void) state;
  table_init (&table, &group);
  table_begin (&table);
  for (int i = 0; i < 50000; i++)
    row_add_number (&table, i);
  most = table_bytes (&table);
  assert_true (most >= 50000 * 3 * sizeof (struct value));
  table_begin (&table);
  assert_in_range (table_bytes (&table), 50000 * 3 * sizeof (struct value), most);
  row_add (&table, "a label");
  table_begin (&table);
  assert_int_equal (table_bytes (&table), 3 * sizeof (struct value));
  row_add (&table, "a label");
  table_begin (&table);
  most = table_bytes (&table);
  row_add (&table, "a label");
  table_begin (&table);
  table_begin (&table);
  assert_int_equal (table_bytes (&table), most);
  table_free (&table);
}

static void
test_values (void **state)
{
  struct table table;
  size_t length;

  (void) state;
  table_init (&table, &group);
  table_begin (&table);
  assert_int_equal (row_add (&table, "a"), 0);
  assert_int_equal (row_add (&table, ""), 1);
  assert_int_equal (table_get (&table, 0, 0)->type, VALUE_MISSING);
  table_set_uint (&table, 0, 0, UINT64_MAX);
  table_set_int (&table, 1, 1, -5);
  table_set_real (&table, TABLE_NODE, 1, 2.5);
  table_set_text (&table, 1, 2, "up", 2);
  for (int i = 0; i < 100; i++)
    row_add (&table, "more");
  assert_true (table_get (&table, 0, 0)->as.u == UINT64_MAX);
  assert_int_equal (table_get (&table, 1, 1)->as.i, -5);
  assert_true (table_get (&table, TABLE_NODE, 1)->as.d == 2.5);
  assert_memory_equal (table_text (&table, table_get (&table, 1, 2), &length), "up", 2);
  assert_int_equal (length, 2);
  table_label (&table, 1, &length);
  assert_int_equal (length, 0);
  table_set_real (&table, 0, 1, (double) NAN);
  assert_int_equal (table_get (&table, 0, 1)->type, VALUE_MISSING);

  table_begin (&table);
  assert_int_equal (table.rows, 0);
  assert_int_equal (table_get (&table, TABLE_NODE, 1)->type, VALUE_MISSING);
  row_add (&table, "a");
  assert_int_equal (table_get (&table, 0, 0)->type, VALUE_MISSING);
  table_free (&table);
}

static void
test_find_row (void **state)
{
  struct table table;

  (void) state;
  table_init (&table, &group);
  table_begin (&table);
  assert_true (table_find_row (&table, "a", 1, 0) == SIZE_MAX);
  row_add (&table, "a");
  row_add (&table, "b");
  row_add (&table, "c");
  assert_int_equal (table_find_row (&table, "b", 1, 0), 1);
  assert_int_equal (table_find_row (&table, "a", 1, 0), 0);
  assert_int_equal (table_find_row (&table, "a", 1, 1), 0);
  assert_int_equal (table_find_row (&table, "c", 1, 1), 2);
  assert_int_equal (table_find_row (&table, "b", 1, 2), 1);
  assert_int_equal (table_find_row (&table, "b", 1, 77), 1);
  assert_true (table_find_row (&table, "bb", 2, 1) == SIZE_MAX);
  table_free (&table);
}

/* What order the labels come in, and whatever those of the sample before were, each is there once: the first of a name
 * stays. */
static void
test_labels_are_there_once (void **state)
{
  static const char *const samples[] = { "abc",  "abc", "acb",  "aabbcc", "a",  "abc", "cab",   "",
                                         "aaaa", "bca", "abcb", "zabc",   "bc", "c",   "aXbXc", "abcdefghijklmnop" };
  struct table table;

  (void) state;
  table_init (&table, &group);
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    char expected[32] = "";
    bool twice = false;

    table_begin (&table);
    for (const char *at = samples[i]; *at; at++) {
      size_t length = strlen (expected), row = table_add_row (&table, at, 1);

      if (strchr (expected, *at)) {
        assert_true (row == SIZE_MAX);
        twice = true;
      } else {
        assert_int_equal (row, length);
        table_set_uint (&table, row, 0, (uint64_t) *at);
        expected[length] = *at;
      }
    }
    assert_int_equal (table.rows, strlen (expected));
    for (size_t row = 0; row < table.rows; row++) {
      size_t length;
      assert_int_equal (*table_label (&table, row, &length), expected[row]);
      assert_int_equal (length, 1);
      assert_int_equal (table_get (&table, row, 0)->as.u, expected[row]);
    }
    assert_int_equal (table.error[0] != '\0', twice);
  }
  table_begin (&table);
  row_add (&table, "sda");
  row_add (&table, "sda");
  row_add (&table, "sda");
  assert_string_equal (table.error, "thing \"sda\" is there twice (and 1 more)");
  table_free (&table);
}

static void
assert_label (const struct table *table, size_t row, const char *expected)
{
  size_t length;
  const char *label = table_label (table, row, &length);

  if (length != strlen (expected) || memcmp (label, expected, length) != 0)
    fail_msg ("\"%.*s\"; expected \"%s\"", (int) length, label, expected);
}

/* Names that are too long or no UTF-8 stay different from each other, and the same from sample to sample wherever they
 * stand. */
static void
test_odd_labels_are_mended (void **state)
{
  char one[TABLE_LABEL_MAX + 50], other[sizeof one], kept[TABLE_LABEL_MAX + 1] = "";
  struct table table;
  size_t length;

  (void) state;
  memset (one, 'x', sizeof one);
  memcpy (one + TABLE_LABEL_MAX - 18, "\xc3\xa4", 2); /* is cut within this character */
  memcpy (other, one, sizeof one);
  other[sizeof other - 1] = 'y';
  table_init (&table, &group);
  for (int sample = 0; sample < 4; sample++) {
    table_begin (&table);
    if (sample == 2) /* others before it */
      row_add (&table, "/b");
    table_add_row (&table, one, sizeof one);
    table_add_row (&table, other, sizeof other);
    table_add_row (&table, "/a\xff", 3);
    table_add_row (&table, "/a\xfe", 3);
    table_add_row (&table, "/\xc3\xa4", 3);
    assert_int_equal (table.rows, sample == 2 ? 6 : 5);
    assert_true (table_add_row (&table, other, sizeof other) == SIZE_MAX);
    const char *label = table_label (&table, sample == 2 ? 1 : 0, &length);
    assert_int_equal (length, TABLE_LABEL_MAX - 1);
    assert_memory_equal (label, one, TABLE_LABEL_MAX - 18);
    assert_int_equal (label[TABLE_LABEL_MAX - 18], '~');
    if (sample == 0)
      memcpy (kept, label, length);
    assert_label (&table, sample == 2 ? 1 : 0, kept);
    assert_label (&table, sample == 2 ? 5 : 4, "/\xc3\xa4");
    assert_label (&table, sample == 2 ? 3 : 2, "/a\xef\xbf\xbd~55d8186cef34bfbd");
    assert_label (&table, sample == 2 ? 4 : 3, "/a\xef\xbf\xbd~3e9ed05a62cf63d4");
  }
  table_free (&table);
}

static void
test_limits (void **state)
{
  struct table table;
  size_t length;
  char *big = memory_new (TABLE_TEXT_MAX + 10, 1);

  (void) state;
  table_init (&table, &group);
  table_begin (&table);
  assert_int_equal (table_add_row (&table, big, TABLE_LABEL_MAX), 0);
  table_label (&table, 0, &length);
  assert_int_equal (length, TABLE_LABEL_MAX);
  table_set_text (&table, 0, 2, big, TABLE_TEXT_MAX + 10);
  table_text (&table, table_get (&table, 0, 2), &length);
  assert_int_equal (length, TABLE_TEXT_MAX);
  for (size_t row = 1; row < TABLE_ROWS_MAX; row++)
    assert_int_equal (row_add_number (&table, (int) row), row);
  assert_string_equal (table.error, "");
  assert_true (row_add (&table, "x") == SIZE_MAX);
  assert_string_equal (table.error, "more than 65536 rows");
  table_free (&table);
  free (big);
}

static void
test_copy_and_swap (void **state)
{
  struct table one, other;
  size_t length;

  (void) state;
  table_init (&one, &group);
  table_init (&other, &group);
  table_begin (&one);
  table_begin (&other);
  for (int i = 0; i < 20; i++)
    table_set_text (&one, row_add_number (&one, i), 2, "text", 4);
  one.monotonic_ns = 5;
  one.period_ns = 6;
  snprintf (one.error, sizeof one.error, "old");
  table_copy (&other, &one);
  table_begin (&one);
  row_add (&one, "other");
  assert_int_equal (other.rows, 20);
  assert_int_equal (other.monotonic_ns, 5);
  assert_int_equal (other.period_ns, 6);
  assert_string_equal (other.error, "old");
  assert_memory_equal (table_text (&other, table_get (&other, 19, 2), &length), "text", 4);
  assert_memory_equal (table_label (&other, 19, &length), "row 19", 6);
  assert_true (row_add_number (&other, 7) == SIZE_MAX);
  table_swap (&one, &other);
  assert_int_equal (one.rows, 20);
  assert_int_equal (other.rows, 1);
  table_free (&one);
  table_free (&other);
}

static void
test_no_memory_once_warm (void **state)
{
  struct table table;
  struct value *cells;
  const char *names, *text;

  (void) state;
  table_init (&table, &group);
  for (int round = 0; round < 3; round++) {
    table_begin (&table);
    for (int i = 0; i < 50; i++)
      table_set_text (&table, row_add_number (&table, i), 2, "text", 4);
    if (round > 0) {
      assert_ptr_equal (cells, table.cells);
      assert_ptr_equal (names, table.names.data);
      assert_ptr_equal (text, table.text.data);
      assert_null (table.seen); /* the labels are as they were: nothing was looked up */
    }
    cells = table.cells;
    names = table.names.data;
    text = table.text.data;
  }
  table_free (&table);
}

static void
test_error (void **state)
{
  struct error error;
  char big[1000];

  (void) state;
  memset (big, 'x', sizeof big - 1);
  big[sizeof big - 1] = 0;
  assert_int_equal (error_set (&error, "%s %d", "a\nb\x1b", 1), -1);
  assert_string_equal (error.text, "a?b? 1");
  assert_int_equal (error_prefix (&error, "%s:%d: ", "file", 3), -1);
  assert_string_equal (error.text, "file:3: a?b? 1");
  error_set (&error, "again: %s", error.text);
  assert_string_equal (error.text, "again: file:3: a?b? 1");
  error_prefix (&error, "%s", big);
  assert_int_equal (strlen (error.text), sizeof error.text - 1);
  error_set (&error, "%s", big);
  error_prefix (&error, "name: ");
  assert_int_equal (strlen (error.text), sizeof error.text - 1);
  assert_memory_equal (error.text, "name: xx", 8);
  assert_int_equal (error_set (NULL, "nobody"), -1);
  assert_int_equal (error_prefix (NULL, "nobody"), -1);
}

static void
test_buffer (void **state)
{
  struct buffer buffer = { 0 };
  char big[1000];

  (void) state;
  memset (big, 'y', sizeof big);
  big[sizeof big - 1] = 0;
  buffer_add (&buffer, NULL, 0);
  buffer_printf (&buffer, "%d-", 7);
  buffer_printf (&buffer, "%s", big);
  buffer_add_string (&buffer, "end");
  assert_int_equal (buffer.length, 2 + 999 + 3);
  assert_memory_equal (buffer.data, "7-yyy", 5);
  assert_memory_equal (buffer.data + 998, "yyyend", 6);
  memset (buffer_reserve (&buffer, 100000), 1, 100000);
  assert_int_equal (buffer.length, 1004);
  buffer_clear (&buffer);
  assert_int_equal (buffer.length, 0);
  buffer_free (&buffer);
  assert_null (buffer.data);
}

static void
test_time_text (void **state)
{
  char text[CLOCK_TEXT_SIZE];

  (void) state;
  assert_int_equal (clock_text (INT64_C (1795274444123456789), text), 30);
  assert_string_equal (text, "2026-11-21T15:20:44.123456789Z");
  clock_text (0, text);
  assert_string_equal (text, "1970-01-01T00:00:00.000000000Z");
  clock_text (-1, text);
  assert_string_equal (text, "1969-12-31T23:59:59.999999999Z");
  clock_text (INT64_MIN, text);
  assert_string_equal (text, "1677-09-21T00:12:43.145224192Z");
  clock_text (INT64_MAX, text);
  assert_string_equal (text, "2262-04-11T23:47:16.854775807Z");
}

static void
test_complaints (void **state)
{
  struct table table;
  char name[300];

  (void) state;
  table_init (&table, &group);
  table_begin (&table);
  assert_false (table_has_values (&table));
  assert_true (table_is_comparable (&table)); /* nothing is there, and nothing is wrong */
  assert_int_equal (table_complain (&table, "%s: %s", "/proc/a", "cut short"), -1);
  assert_string_equal (table.error, "/proc/a: cut short");
  assert_false (table_is_comparable (&table));
  table_complain (&table, "/proc/b: absent");
  assert_string_equal (table.error, "/proc/a: cut short (and 1 more)");
  for (int i = 0; i < 11; i++)
    table_complain (&table, "/proc/c: absent");
  assert_string_equal (table.error, "/proc/a: cut short (and 12 more)");
  table_set_uint (&table, TABLE_NODE, 1, 1);
  assert_true (table_is_comparable (&table));
  table_begin (&table);
  assert_string_equal (table.error, "");
  row_add (&table, "a");
  table_complain (&table, "again");
  assert_string_equal (table.error, "again");
  assert_true (table_is_comparable (&table));

  table_begin (&table); /* however long the first is, the number of the others is told */
  memset (name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  table_complain (&table, "%s", name);
  assert_true (strlen (table.error) < sizeof table.error - 20);
  table_complain (&table, "more");
  assert_non_null (strstr (table.error, "x (and 1 more)"));
  memcpy (table.error, name, sizeof table.error - 1); /* one that was set in another way */
  table_complain (&table, "more");
  assert_non_null (strstr (table.error, "x (and 2 more)"));
  table_free (&table);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_complaints),
    cmocka_unit_test (test_values),
    cmocka_unit_test (test_memory_is_given_back),
    cmocka_unit_test (test_find_row),
    cmocka_unit_test (test_labels_are_there_once),
    cmocka_unit_test (test_odd_labels_are_mended),
    cmocka_unit_test (test_limits),
    cmocka_unit_test (test_copy_and_swap),
    cmocka_unit_test (test_no_memory_once_warm),
    cmocka_unit_test (test_error),
    cmocka_unit_test (test_buffer),
    cmocka_unit_test (test_time_text),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
