/* Tables of columns: what their encodings are made of, and what holds however many rows and tables there are. Whether other
 * programs read the files is tests/system/test_columnar.py's, which has this program make them:
 *
 *   test_columnar random SEED FOLDER              made_tables.h
 *   test_columnar rows COUNT parquet|arrow FILE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/columnar/columnar_private.h"
#include "aggregator/columnar/dictionary.h"
#include "aggregator/columnar/hybrid.h"
#include "aggregator/columnar/thrift.h"
#include "synop/memory.h"
#include "tests/unit/aggregator/columnar/made_tables.h"

/* ---- encodings ---- */

/* Reads what hybrid_add writes, by the specification. */
static size_t
hybrid_read (const struct buffer *from, uint32_t *numbers, size_t most, unsigned width)
{
  const uint8_t *at = (const uint8_t *) from->data, *end = at + from->length;
  size_t count = 0;

  while (at < end) {
    uint64_t head = 0;
    unsigned shift = 0;
    do
      head |= (uint64_t) (*at & 0x7f) << shift, shift += 7;
    while (*at++ & 0x80);
    if (head & 1) {
      for (size_t bit = 0; bit < (head >> 1) * 8 * width; bit += width, count++)
        if (count < most) {
          numbers[count] = 0;
          for (unsigned i = 0; i < width; i++)
            numbers[count] |= (uint32_t) (at[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
        }
      at += (head >> 1) * width;
    } else {
      uint32_t number = 0;
      for (unsigned bit = 0; bit < width; bit += 8)
        number |= (uint32_t) *at++ << bit;
      for (uint64_t i = 0; i < head >> 1; i++, count++)
        if (count < most)
          numbers[count] = number;
    }
  }
  assert_ptr_equal (at, end);
  return count;
}

static void
test_hybrid (void **state)
{
  uint32_t numbers[300], read[300];
  uint64_t random = 7;

  (void) state;
  for (unsigned round = 0; round < 3000; round++) {
    unsigned width = 1 + round % 32;
    size_t count = round % 299 + 1, padded;
    struct buffer out = { 0 };
    for (size_t i = 0; i < count; i++) {
      random = random * UINT64_C (6364136223846793005) + 1442695040888963407u;
      /* runs of all lengths */
      numbers[i] = i && random >> 60 < round % 17 ? numbers[i - 1] : (uint32_t) (random >> 32) >> (32 - width);
    }
    hybrid_add (&out, numbers, count, width);
    padded = hybrid_read (&out, read, count, width);
    assert_in_range (padded, count, count + 7);
    assert_memory_equal (numbers, read, count * sizeof numbers[0]);
    buffer_free (&out);
  }
  assert_int_equal (hybrid_width (0), 1);
  assert_int_equal (hybrid_width (255), 8);
  assert_int_equal (hybrid_width (256), 9);
}

/* A run of equal ones is a few bytes, whatever its length. */
static void
test_hybrid_is_short (void **state)
{
  static uint32_t numbers[100000];
  struct buffer out = { 0 };

  (void) state;
  hybrid_add (&out, numbers, 100000, 1);
  assert_int_equal (out.length, 4);
  buffer_free (&out);
}

static void
test_thrift (void **state)
{
  /* 1: i32 -3; 3: "ab"; 4: list of 15 i64; 5: true; 6: struct {}; end */
  static const uint8_t expected[] = { 0x15, 5, 0x28, 2, 'a', 'b', 0x19, 0xf6, 15,   1,    1,    1,    1, 1, 1,
                                      1,    1, 1,    1, 1,   1,   1,    1,    0x80, 0x01, 0x11, 0x1c, 0, 0 };
  struct thrift thrift = { 0 };

  (void) state;
  thrift_open (&thrift, THRIFT_ITEM);
  thrift_i32 (&thrift, 1, -3);
  thrift_text (&thrift, 3, "ab");
  thrift_list (&thrift, 4, THRIFT_I64, 15);
  for (size_t i = 0; i < 14; i++)
    thrift_i64 (&thrift, THRIFT_ITEM, -1);
  thrift_i64 (&thrift, THRIFT_ITEM, 64);
  thrift_bool (&thrift, 5, true);
  thrift_nothing (&thrift, 6);
  thrift_close (&thrift);
  assert_int_equal (thrift.out.length, sizeof expected);
  assert_memory_equal (thrift.out.data, expected, sizeof expected);
  buffer_free (&thrift.out);
}

static void
test_dictionary (void **state)
{
  struct dictionary dictionary = { 0 };
  char text[16];

  (void) state;
  for (unsigned round = 0; round < 2; round++)
    for (unsigned i = 0; i < 1000; i++) {
      int length = snprintf (text, sizeof text, "%u", i);
      assert_int_equal (dictionary_index (&dictionary, text, (size_t) length), i);
      assert_int_equal (dictionary_index (&dictionary, text, (size_t) length), i);
    }
  assert_int_equal (dictionary_index (&dictionary, "", 0), 1000);
  assert_int_equal (dictionary_index (&dictionary, "9", 1), 9);
  dictionary_free (&dictionary);
  assert_int_equal (dictionary.count, 0);
}

/* ---- bounds ---- */

struct counted {
  uint64_t bytes, puts, fail_at; /* the put that fails, 0: none */
};

static int
count_put (void *context, const void *bytes, size_t length, struct error *error)
{
  struct counted *counted = context;

  assert_non_null (bytes);
  counted->bytes += length;
  return ++counted->puts == counted->fail_at ? error_set (error, "the disk is full") : 0;
}

#define TABLES 150
#define COLUMNS 60
#ifdef SANITIZED /* which make each dear */
#define ROWS 90000
#else
#define ROWS 200000
#endif

static const struct columnar_form *const forms[] = { &columnar_parquet, &columnar_arrow };

/* Many wide tables side by side, whose cells and texts do not compress. */
static void
test_memory_is_bounded (void **state)
{
  struct columnar_column columns[COLUMNS];
  struct columnar_cell cells[COLUMNS];
  struct columnar *tables[TABLES];
  char names[COLUMNS][8], text[64];
  uint64_t random = 1;
  struct error error;

  (void) state;
  for (size_t i = 0; i < COLUMNS; i++) {
    snprintf (names[i], sizeof names[i], "c%zu", i);
    columns[i] = (struct columnar_column){ names[i], i % 8 ? COLUMNAR_DOUBLE : COLUMNAR_TEXT, false, "", "" };
  }
  for (size_t form = 0; form < 2; form++) {
    struct columnar_pool *pool = columnar_pool_create (forms[form]);
    struct columnar_plan plan = { "t", "", columns, COLUMNS };
    struct counted counted = { 0 };
    size_t most = 0;
    for (size_t i = 0; i < TABLES; i++)
      tables[i] = columnar_create (pool, &plan, &(struct columnar_sink){ &counted, count_put });
    for (size_t row = 0; row < ROWS; row++) {
      for (size_t i = 0; i < COLUMNS; i++) {
        random = random * UINT64_C (6364136223846793005) + 1442695040888963407u;
        memcpy (text + random % 6 * 8, &random, sizeof random);
        cells[i] = i % 8 ? (struct columnar_cell){ .known = true, .as.whole = (int64_t) random }
                         : (struct columnar_cell){ .known = true, .length = sizeof text, .as.text = text };
      }
      assert_int_equal (columnar_add (tables[row % TABLES], cells, &error), 0);
      most = pool->block_bytes + pool->form_bytes > most ? pool->block_bytes + pool->form_bytes : most;
    }
    assert_in_range (most, 30000000, 110000000);
    for (size_t i = 0; i < TABLES; i++) {
      assert_int_equal (columnar_finish (tables[i], &error), 0);
      columnar_destroy (tables[i]);
    }
    assert_int_equal (pool->block_bytes + pool->form_bytes, 0);
    assert_true (counted.bytes > ROWS * 800);
    columnar_pool_destroy (pool);
  }
}

/* Whichever put fails, it is reported, and nothing is left in memory. */
static void
test_sink_fails (void **state)
{
  const struct columnar_column columns[] = { { "node", COLUMNAR_TEXT, true, "", "" },
                                             { "value", COLUMNAR_INT64, false, "", "" } };
  const struct columnar_plan plan = { "t", "", columns, 2 };
  struct error error;

  (void) state;
  for (size_t form = 0; form < 2; form++) {
    uint64_t fail_at = 1, puts = 1;
    for (; fail_at <= puts; fail_at++) {
      struct columnar_pool *pool = columnar_pool_create (forms[form]);
      struct counted counted = { .fail_at = fail_at };
      struct columnar *table = columnar_create (pool, &plan, &(struct columnar_sink){ &counted, count_put });
      int result = 0;
      for (int64_t row = 0; row < 70000 && result == 0; row++) {
        const struct columnar_cell cells[] = { { true, 2, { .text = row % 2 ? "n1" : "n2" } }, { true, 0, { row } } };
        result = columnar_add (table, cells, &error);
      }
      if (result == 0)
        result = columnar_finish (table, &error);
      if (result < 0)
        assert_string_equal (error.text, "the disk is full");
      assert_int_equal (result < 0, counted.puts >= fail_at);
      puts = result < 0 ? fail_at + 1 : counted.puts;
      columnar_destroy (table);
      columnar_pool_destroy (pool);
    }
    assert_true (fail_at > 5);
  }
}

int
main (int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_hybrid),     cmocka_unit_test (test_hybrid_is_short),   cmocka_unit_test (test_thrift),
    cmocka_unit_test (test_dictionary), cmocka_unit_test (test_memory_is_bounded), cmocka_unit_test (test_sink_fails),
  };

  if (argc == 4 && strcmp (argv[1], "random") == 0)
    return made_random (argv[2], argv[3]);
  if (argc == 5 && strcmp (argv[1], "rows") == 0)
    return made_rows (argv[2], argv[3], argv[4]);
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
