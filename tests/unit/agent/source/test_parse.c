/* Words, numbers, key-value lines and columns of kernel files. */
#include "agent/source/parse.h"
#include "tests/unit/agent/sampler_test.h"

static struct value
number (const char *text, enum metric_kind kind)
{
  struct scan rest = scan_over (text, strlen (text));
  struct value value = { .type = VALUE_TEXT };

  assert_true (scan_value (&rest, kind, &value));
  return value;
}

static void
assert_is_uint (const char *text, enum metric_kind kind, uint64_t expected)
{
  struct value value = number (text, kind);

  assert_int_equal (value.type, VALUE_UINT);
  assert_int_equal (value.as.u, expected);
}

static void
assert_is_real (const char *text, double expected)
{
  struct value value = number (text, GAUGE);

  assert_int_equal (value.type, VALUE_REAL);
  assert_memory_equal (&value.as.d, &expected, sizeof expected);
}

static void
assert_is_missing (const char *text, enum metric_kind kind)
{
  assert_int_equal (number (text, kind).type, VALUE_MISSING);
}

static void
whole_numbers (void **state)
{
  (void) state;
  assert_is_uint ("0", COUNTER, 0);
  assert_is_uint (" \t 12 34", COUNTER, 12);
  assert_is_uint ("007", COUNTER, 7);
  assert_is_uint ("18446744073709551615", COUNTER, UINT64_MAX);
  assert_is_uint ("9999999999999999999", COUNTER, UINT64_C (9999999999999999999));
  assert_is_uint ("5\n", GAUGE, 5);
  assert_is_missing ("18446744073709551616", COUNTER);
  assert_is_missing ("18446744073709551616", GAUGE);
  assert_is_missing ("99999999999999999999", COUNTER);
  assert_is_missing ("184467440737095516150", COUNTER);
  assert_is_missing ("12abc", COUNTER);
  assert_is_missing ("-5", COUNTER);
  assert_is_missing ("1.5", COUNTER);
  assert_is_missing ("N/A (no PMA)", COUNTER);
  assert_is_missing ("+3", GAUGE);
  assert_is_missing ("0x10", GAUGE);
}

static void
signs_and_fractions (void **state)
{
  struct value value = number ("-42", GAUGE);

  (void) state;
  assert_int_equal (value.type, VALUE_INT);
  assert_int_equal (value.as.i, -42);
  assert_is_real ("0.69", 0.69);
  assert_is_real ("12.07", 12.07);
  assert_is_real ("-0.5", -0.5);
  assert_is_real ("350735.47", 350735.47);
  assert_is_real ("2000.000", 2000.0);
  assert_is_real ("3.14159265358979", 3.14159265358979);
  assert_is_real ("0.3333333333333333333333333333333333", 0.333333333333333);
  assert_is_real ("7.", 7);
  assert_is_missing ("-", GAUGE);
  assert_is_missing (".5", GAUGE);
  assert_is_missing ("1.2.3", GAUGE);
  assert_is_missing ("nan", GAUGE);
  assert_is_missing ("-9223372036854775809", GAUGE);
}

/* What has no word: at the end of a text, of a line. Nothing behind the end is looked at. */
static void
ends (void **state)
{
  static const char text[] = { '1', '2', '3' };
  struct scan rest = scan_over (text, 2), line, word;
  struct value value;
  uint64_t count;

  (void) state;
  assert_true (scan_value (&rest, COUNTER, &value));
  assert_int_equal (value.as.u, 12);
  assert_false (scan_value (&rest, COUNTER, &value));
  assert_int_equal (value.type, VALUE_MISSING);
  assert_false (scan_uint (&rest, &count));
  assert_false (scan_word (&rest, &word));
  assert_false (scan_line (&rest, &line));
  rest = scan_over ("\n\nlast", 6);
  assert_true (scan_line (&rest, &line));
  assert_int_equal (scan_length (&line), 0);
  assert_true (scan_line (&rest, &line));
  assert_true (scan_line (&rest, &line));
  assert_memory_equal (line.at, "last", 4);
  assert_false (scan_line (&rest, &line));
  rest = scan_over (NULL, 0);
  assert_false (scan_line (&rest, &line));
}

static const struct metric metrics[] = {
  { "one", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "One" },
  { "sum", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = "a a_dma  a_normal" },
  { "none", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE },
  { "second", COUNTER, UNIT_COUNT, FOLD_SUM, .source = "2" },
  { "fourth", GAUGE, UNIT_COUNT, FOLD_SUM, .source = "4" },
  { "never", GAUGE, UNIT_COUNT, FOLD_SUM, .source = "65" },
  { "memory", GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .times = 1024, .source = "Mem" },
};
static const struct group group = { .name = "test", .row = "row", .rows_name = "rows", GROUP_METRICS (metrics) };

static void
key_values (void **state)
{
  static const char text[] = "One: 12\na 5\nunknown 7\na_normal\t6\na_dma: x\n2 99\none 13\n: 4\nOne";
  struct key_index index;
  struct table table;

  (void) state;
  key_index_init (&index, &group, METRIC_OF_NODE);
  assert_int_equal (key_index_find (&index, "One", 3), 0);
  assert_int_equal (key_index_find (&index, "a_normal", 8), 1);
  assert_int_equal (key_index_find (&index, "On", 2), SIZE_MAX);
  assert_int_equal (key_index_find (&index, "2", 1), SIZE_MAX); /* a row's */
  assert_int_equal (key_index_find (&index, "", 0), SIZE_MAX);
  table_init (&table, &group);
  assert_int_equal (parse_key_values (scan_over (text, sizeof text - 1), 0, &index, &table, TABLE_NODE), 3);
  assert_int_equal (table_get (&table, TABLE_NODE, 0)->as.u, 12);
  assert_int_equal (table_get (&table, TABLE_NODE, 1)->as.u, 11);
  assert_int_equal (table_get (&table, TABLE_NODE, 2)->type, VALUE_MISSING);
  assert_string_equal (table.error, "One is there twice");
  key_index_check (&index, "", NULL, &table, TABLE_NODE);
  table_begin (&table);
  assert_int_equal (parse_key_values (scan_over ("Node 0 One: 3\nNode\n", 19), 2, &index, &table, TABLE_NODE), 1);
  assert_int_equal (table_get (&table, TABLE_NODE, 0)->as.u, 3);
  table_free (&table);
  key_index_free (&index);
}

/* A number in another unit is wrong by 1024, so it is missing; where no unit can stand none is asked for. */
static void
units (void **state)
{
  static const struct {
    const char *text, *error;
  } cases[] = {
    { "Mem: 12 kB\n", "" },
    { "Mem:\t12  kB", "" },
    { "Mem 12\n", "" },
    { "Mem: lots MB\n", NULL },
    { "Mem: 12\n", "\"Mem: 12\": expected kB" },
    { "Mem: 12 MB\n", "\"Mem: 12 MB\": expected kB" },
    { "Mem: 12 kBytes\nOne: 1 kB\n", "\"Mem: 12 kBytes\": expected kB" },
    { "Mem: 12kB\n", NULL },
    { "One: 12 kB\n", "\"One: 12 kB\": expected no unit" },
    { "One: 12\n", "" },
    { "One 12 13\n", "" },
  };
  struct key_index index;
  struct table table;

  (void) state;
  key_index_init (&index, &group, METRIC_OF_NODE);
  table_init (&table, &group);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t metric = cases[i].text[0] == 'M' ? 6 : 0;
    bool fine = cases[i].error && !cases[i].error[0];

    table_begin (&table);
    assert_int_equal (
        parse_key_values (scan_over (cases[i].text, strlen (cases[i].text)), 0, &index, &table, TABLE_NODE), fine);
    assert_int_equal (table_get (&table, TABLE_NODE, metric)->type, fine ? VALUE_UINT : VALUE_MISSING);
    assert_int_equal (
        strncmp (table.error, cases[i].error ? cases[i].error : "", strlen (cases[i].error ? cases[i].error : "")), 0);
    assert_int_equal (table.error[0] == '\0', fine || !cases[i].error);
    key_index_check (&index, "", NULL, &table, TABLE_NODE);
  }
  table_free (&table);
  key_index_free (&index);
}

static void
columns (void **state)
{
  struct column_map map;
  struct table table;
  size_t row;

  (void) state;
  column_map_init (&map, &group);
  assert_int_equal (map.last, 4);
  table_init (&table, &group);
  row = table_add_row (&table, "r", 1);
  assert_int_equal (parse_columns (scan_over ("10 20 -3 40", 11), 2, &map, &table, row), 2);
  assert_int_equal (table_get (&table, row, 3)->as.u, 10);
  assert_int_equal (table_get (&table, row, 4)->as.i, -3);
  row = table_add_row (&table, "s", 1);
  assert_int_equal (parse_columns (scan_over ("x 20", 4), 2, &map, &table, row), 0);
  assert_int_equal (table_get (&table, row, 3)->type, VALUE_MISSING);
  assert_int_equal (table_get (&table, row, 4)->type, VALUE_MISSING);
  table_free (&table);
}

static const struct metric sums[] = {
  { "sum", COUNTER, .flags = METRIC_OF_NODE, .source = "A:x Bx" },
  { "maybe", COUNTER, .flags = METRIC_OF_NODE, .source = "?A:y" },
};
static const struct group sum_group = { .name = "sums", GROUP_METRICS (sums) };

static void
sum_up (const struct key_index *index, struct table *table, const char *a, const char *b)
{
  table_begin (table);
  parse_key_values (scan_over (a, strlen (a)), 1, index, table, TABLE_NODE);
  parse_key_values (scan_over (b, strlen (b)), 0, index, table, TABLE_NODE);
}

/* The keys of a sum: all that should be there are, or it is missing. */
static void
keys_that_lack (void **state)
{
  struct key_index index;
  struct table table;
  const struct value *sum, *maybe;

  (void) state;
  key_index_init (&index, &sum_group, METRIC_OF_NODE);
  for (size_t i = 0; i <= index.mask; i++) /* keys of the first file have a colon, which the parser would end them at */
    if (index.slots[i].key != NULL && index.slots[i].length == 3)
      assert_int_equal (index.slots[i].optional, index.slots[i].key[2] == 'y');
  table_init (&table, &sum_group);
  sum = table_get (&table, TABLE_NODE, 0);
  maybe = table_get (&table, TABLE_NODE, 1);

  struct scan five = scan_over ("5", 1), again = five, word = scan_over ("x", 1);
  assert_true (key_index_take (&index, "A:x", 3, &five, &table, TABLE_NODE));
  sum_up (&index, &table, "", "Bx 7\n");
  assert_int_equal (sum->as.u, 7);
  key_index_check (&index, "A:", "/a", &table, TABLE_NODE); /* it was taken; the other may lack */
  assert_string_equal (table.error, "");
  key_index_check (&index, "B", "/b", &table, TABLE_NODE);
  assert_string_equal (table.error, "");
  assert_int_equal (maybe->type, VALUE_MISSING);

  sum_up (&index, &table, "", "Bx 7\n"); /* what was taken before is forgotten */
  key_index_check (&index, "A:", "/a", &table, TABLE_NODE);
  assert_string_equal (table.error, "/a: no A:x");
  assert_int_equal (sum->type, VALUE_MISSING);
  key_index_check (&index, "B", "/b", &table, TABLE_NODE);

  table_begin (&table);
  assert_true (key_index_take (&index, "A:x", 3, &again, &table, TABLE_NODE));
  assert_false (key_index_take (&index, "A:y", 3, &word, &table, TABLE_NODE));
  key_index_check (&index, "A:", "/a", &table, TABLE_NODE);
  assert_string_equal (table.error, "/a: no number for A:y");
  assert_int_equal (sum->as.u, 5);
  key_index_check (&index, "B", NULL, &table, TABLE_NODE); /* the file itself could not be read: told already */
  assert_string_equal (table.error, "/a: no number for A:y");
  assert_int_equal (sum->type, VALUE_MISSING);
  table_free (&table);
  key_index_free (&index);
}

static void
parts_of_lists (void **state)
{
  static const struct {
    const char *text;
    uint64_t parts[3][2];
    size_t count, numbers; /* 0: it is no such list, or empty */
    const char *rest;
  } lists[] = {
    { "0-3,8,10-11\n", { { 0, 3 }, { 8, 8 }, { 10, 11 } }, 3, 7, "\n" },
    { "5", { { 5, 5 } }, 1, 1, "" },
    { "", { { 0, 0 } }, 0, 0, "" },
    { "1,3-", { { 1, 1 } }, 1, 0, "3-" },
    { "4-2", { { 0, 0 } }, 0, 0, "4-2" },
    { "0-1099511627776", { { 0, 0 } }, 0, 0, "0-1099511627776" },
    { "2,x", { { 2, 2 } }, 1, 1, "x" },
  };

  (void) state;
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    struct scan list = scan_over (lists[i].text, strlen (lists[i].text)), rest = list;
    uint64_t first, last, numbers;

    for (size_t k = 0; k < lists[i].count; k++) {
      assert_true (scan_list_next (&rest, &first, &last));
      assert_int_equal (first, lists[i].parts[k][0]);
      assert_int_equal (last, lists[i].parts[k][1]);
    }
    assert_false (scan_list_next (&rest, &first, &last));
    assert_string_equal (rest.at, lists[i].rest);
    assert_int_equal (scan_list_count (list, &numbers), lists[i].numbers != 0);
    if (lists[i].numbers)
      assert_int_equal (numbers, lists[i].numbers);
  }
}

static void
lists_of_numbers (void **state)
{
  static const char list[] = "0-3,8,10-11";
  static const bool in[] = { 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0 };
  size_t numbers;

  (void) state;
  for (uint64_t i = 0; i < sizeof in; i++)
    assert_int_equal (scan_list_has (scan_over (list, sizeof list - 1), i), in[i]);
  assert_false (scan_list_has (scan_over ("", 0), 0));
  assert_false (scan_list_has (scan_over ("0-", 2), 0));
  assert_int_equal (scan_count (scan_over (" 1 x 3\t-4 ", 10), &numbers), 4);
  assert_int_equal (numbers, 2);
  assert_int_equal (scan_count (scan_over ("", 0), &numbers), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (keys_that_lack),
    cmocka_unit_test (parts_of_lists),
    cmocka_unit_test (lists_of_numbers),
    cmocka_unit_test (whole_numbers),
    cmocka_unit_test (signs_and_fractions),
    cmocka_unit_test (ends),
    cmocka_unit_test (key_values),
    cmocka_unit_test (columns),
    cmocka_unit_test (units),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
