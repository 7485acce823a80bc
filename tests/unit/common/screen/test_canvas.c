/* What is drawn on a canvas, and how values are written. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synop/canvas.h"
#include "synop/quantity.h"
#include "synop/screen.h"

static void
expect_lines (struct canvas *canvas, const char *expected)
{
  struct buffer text = { 0 };

  canvas_print (canvas, &text);
  assert_string_equal (buffer_text (&text), expected);
  buffer_free (&text);
  canvas_free (canvas);
}

static void
test_text_is_cut_with_a_mark (void **state)
{
  struct canvas canvas = { .unicode = true }, plain = { .unicode = false };

  (void) state;
  canvas_begin (&canvas, 10, 2);
  assert_int_equal (canvas_text (&canvas, 0, 0, 5, STYLE_PLAIN, "abcdefgh"), 5);
  assert_int_equal (canvas_text (&canvas, 0, 1, 5, STYLE_PLAIN, "abcde"), 5);
  expect_lines (&canvas, "abcd…\nabcde\n");
  canvas_begin (&plain, 10, 1);
  canvas_text (&plain, 0, 0, 5, STYLE_PLAIN, "abcdefgh");
  expect_lines (&plain, "abcd~\n");
}

/* Escapes, marks of direction, broken UTF-8 and marks that combine: nothing of them reaches the terminal, and what stands
 * behind them stays in its column. */
static void
test_hostile_texts_are_harmless_and_aligned (void **state)
{
  static const char *const texts[] = { "a\x1b[31mb",
                                       "a\xe2\x80\xae"
                                       "b",
                                       "a\xff\xfe"
                                       "b",
                                       "a\xcc\x81\xcc\x81z\xcc\x81",
                                       "\xe5\x90\x8d\xe5\x89\x8d",
                                       "a\tb\nc\rd",
                                       "\xc2\x9b"
                                       "2J",
                                       "\xf0\x9f\x92\xa5!" };
  static const char *const shown[] = { "a�[31mb |\n", "a�b     |\n", "a��b    |\n", "az      |\n",
                                       "名前    |\n", "a�b�c�d |\n", "�2J     |\n", "💥!     |\n" };

  (void) state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct canvas canvas = { .unicode = true };
    canvas_begin (&canvas, 12, 1);
    canvas_text (&canvas, 0, 0, 8, STYLE_PLAIN, texts[i]);
    canvas_put (&canvas, 8, 0, STYLE_PLAIN, '|');
    expect_lines (&canvas, shown[i]);
  }
}

static void
test_without_unicode_all_is_ascii (void **state)
{
  struct canvas canvas = { .unicode = false };
  struct buffer text = { 0 };

  (void) state;
  canvas_begin (&canvas, 20, 3);
  canvas_text (&canvas, 0, 0, 20, STYLE_PLAIN, "名前 é \xff");
  canvas_bar (&canvas, 0, 1, 12, 0.5, "50%");
  for (int i = 0; i < 10; i++)
    canvas_block (&canvas, i, 2, (double) i / 9);
  canvas_print (&canvas, &text);
  for (size_t i = 0; i < text.length; i++)
    assert_in_range (text.data[i], '\n', '~');
  buffer_free (&text);
  canvas_free (&canvas);
}

/* A wide character has no room in the last column, and is not drawn by half. */
static void
test_wide_characters_are_not_halved (void **state)
{
  struct canvas canvas = { .unicode = true };

  (void) state;
  canvas_begin (&canvas, 3, 2);
  assert_int_equal (canvas_text (&canvas, 0, 0, 3, STYLE_PLAIN, "名前"), 3);
  assert_int_equal (canvas_text (&canvas, 2, 1, 5, STYLE_PLAIN, "名"), 0);
  expect_lines (&canvas, "名…\n");
}

static void
test_drawing_outside_is_cut (void **state)
{
  struct canvas canvas = { .unicode = true };

  (void) state;
  canvas_begin (&canvas, 4, 1);
  canvas_text (&canvas, -2, 0, 10, STYLE_PLAIN, "abcdefghij");
  canvas_text (&canvas, 0, 7, 10, STYLE_PLAIN, "x");
  canvas_restyle (&canvas, 3, 0, 100, STYLE_BAD);
  canvas_bar (&canvas, 2, 5, 100, 1, "100%");
  assert_null (canvas_at (&canvas, 4, 0));
  expect_lines (&canvas, "cdef\n");
}

static void
test_bars (void **state)
{
  struct canvas canvas = { .unicode = true };

  (void) state;
  canvas_begin (&canvas, 12, 6);
  canvas_bar (&canvas, 0, 0, 12, 0.5, "50.0%");
  canvas_bar (&canvas, 0, 1, 12, 0.001, "0.1%");
  canvas_bar (&canvas, 0, 2, 12, 0.01, "1.0%");
  canvas_bar (&canvas, 0, 3, 12, 7, "700%");
  canvas_bar (&canvas, 0, 4, 12, (double) NAN, "-");
  canvas_bar (&canvas, 0, 5, 2, 1, "no room");
  expect_lines (&canvas, "[|||||50.0%]\n[      0.1%]\n[|     1.0%]\n[||||||700%]\n[         -]\n");
}

static void
test_levels_and_blocks (void **state)
{
  struct canvas canvas = { .unicode = true };

  (void) state;
  assert_int_equal (canvas_level (0), STYLE_LEVEL);
  assert_int_equal (canvas_level (1), CANVAS_STYLES - 1);
  assert_int_equal (canvas_level (99), CANVAS_STYLES - 1);
  assert_int_equal (canvas_level (-1), STYLE_LEVEL);
  assert_int_equal (canvas_level ((double) NAN), STYLE_FAINT);
  canvas_begin (&canvas, 4, 1);
  canvas_block (&canvas, 0, 0, 0);
  canvas_block (&canvas, 1, 0, 0.5);
  canvas_block (&canvas, 2, 0, 1);
  canvas_block (&canvas, 3, 0, (double) NAN);
  expect_lines (&canvas, "▁▅█·\n");
}

/* ---- values ---- */

static void
test_quantities (void **state)
{
  static const struct {
    double value;
    const char *unit, *text, *narrow;
  } cases[] = { { 0, "bytes", "0 B", "0" },
                { 1023, "bytes", "1023 B", "1023" },
                { 1024, "bytes", "1.00 KiB", "1.00K" },
                { 1.5 * 1073741824, "bytes/s", "1.50 GiB/s", "1.50G" },
                { 999, "watts", "999 W", "999" },
                { 312400, "watts", "312 kW", "312k" },
                { 45.26, "%", "45.3%", "45.3%" },
                { 100, "percent", "100.0%", "100.0%" },
                { 12345, "%", "12345%", "12345%" },
                { 71, "celsius", "71 °C", "71" },
                { 2.5e9, "hertz", "2.50 GHz", "2.50G" },
                { 1234567, "", "1.23M", "1.23M" },
                { 0.25, NULL, "0.25", "0.25" },
                { -2048, "bytes", "-2.00 KiB", "-2.00K" },
                { (double) NAN, "bytes", "-", "-" },
                { (double) INFINITY, "%", "-", "-" },
                { 1e300, "bytes", NULL, NULL } };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct quantity text = quantity_text (cases[i].value, cases[i].unit),
                    narrow = quantity_short (cases[i].value, cases[i].unit);
    if (cases[i].text) {
      assert_string_equal (text.text, cases[i].text);
      assert_string_equal (narrow.text, cases[i].narrow);
    }
    assert_true (strlen (text.text) < QUANTITY_SIZE);
  }
  assert_string_equal (quantity_count (1024).text, "1024");
  assert_string_equal (quantity_count (128000).text, "128k");
  assert_string_equal (quantity_count (2.1).text, "2.10");
  assert_string_equal (quantity_age (59.9).text, "59 s");
  assert_string_equal (quantity_age (3605).text, "1 h 00 min");
  assert_string_equal (quantity_age (187).text, "3 min 07 s");
  assert_string_equal (quantity_age (90061).text, "1 d 01 h");
  assert_string_equal (quantity_age ((double) NAN).text, "-");
}

/* ---- keys ---- */

static void
test_lines_are_typed (void **state)
{
  struct screen_input input = { "" };
  static const int keys[] = { 'a', 0xe9, 0x540d, 0x1f4a5, TERMINAL_UP, '\t', 'z' };

  (void) state;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    screen_input_key (&input, keys[i]);
  assert_string_equal (input.text, "aé名💥z");
  screen_input_key (&input, TERMINAL_BACKSPACE);
  screen_input_key (&input, TERMINAL_BACKSPACE);
  assert_string_equal (input.text, "aé名");
  assert_true (screen_input_key (&input, 21));
  assert_string_equal (input.text, "");
  assert_false (screen_input_key (&input, TERMINAL_BACKSPACE));
  for (int i = 0; i < 1000; i++)
    screen_input_key (&input, 'x');
  assert_true (strlen (input.text) <= SCREEN_INPUT_MAX);
}

static void
test_lists_scroll (void **state)
{
  struct screen_list list = { 0 };

  (void) state;
  assert_true (screen_list_key (&list, TERMINAL_END, 100, 10));
  screen_list_fit (&list, 100, 10);
  assert_int_equal (list.selected, 99);
  assert_int_equal (list.first, 90);
  screen_list_key (&list, TERMINAL_PAGE_UP, 100, 10);
  screen_list_key (&list, TERMINAL_UP, 100, 10);
  screen_list_fit (&list, 100, 10);
  assert_int_equal (list.selected, 89);
  assert_int_equal (list.first, 89);
  screen_list_fit (&list, 5, 10); /* there are fewer now */
  assert_int_equal (list.selected, 4);
  assert_int_equal (list.first, 0);
  screen_list_key (&list, TERMINAL_DOWN, 5, 10);
  assert_int_equal (list.selected, 4);
  screen_list_fit (&list, 0, 10);
  assert_int_equal (list.selected, 0);
  assert_false (screen_list_key (&list, 'x', 5, 10));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_text_is_cut_with_a_mark),
    cmocka_unit_test (test_hostile_texts_are_harmless_and_aligned),
    cmocka_unit_test (test_without_unicode_all_is_ascii),
    cmocka_unit_test (test_wide_characters_are_not_halved),
    cmocka_unit_test (test_drawing_outside_is_cut),
    cmocka_unit_test (test_bars),
    cmocka_unit_test (test_levels_and_blocks),
    cmocka_unit_test (test_quantities),
    cmocka_unit_test (test_lines_are_typed),
    cmocka_unit_test (test_lists_scroll),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  setlocale (LC_CTYPE, "C.UTF-8");
  return cmocka_run_group_tests (tests, NULL, NULL);
}
