/* The page of a node, of the lines that the stream has of it. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synop/canvas.h"
#include "synop/node_screen.h"
#include "synop/terminal.h"

#define LINE(groups) "{\"type\":\"node\",\"time\":\"2026-11-23T04:05:06.7Z\",\"node\":\"n1\",\"report\":{" groups "}}"

static const char whole[] = LINE (
    "\"system_data\":{"
    "\"cpu_usage\":{\"period\":1,\"usage_data\":{\"0\":{\"busy\":100,\"user\":60,\"nice\":0,\"system\":40,\"irq\":0,"
    "\"soft_irq\":0,"
    "\"io_wait\":0,\"steal\":0},\"1\":{\"busy\":0,\"user\":0,\"nice\":0,\"system\":0,\"irq\":0,\"soft_irq\":0,\"io_"
    "wait\":5,"
    "\"steal\":0}}},"
    "\"memory_info\":{\"period\":1,\"total\":8589934592,\"used\":2147483648,\"cached\":1048576,\"shared\":0,\"dirty\":"
    "0,"
    "\"swap_total\":0,\"swap_used\":0},"
    "\"pressure\":{\"cpu_some_avg10\":1.5,\"memory_some_avg10\":0,\"io_some_avg10\":25},"
    "\"network\":{\"period\":2,\"devices\":{\"lo\":{\"rx_bytes\":0,\"tx_bytes\":0,\"rx_packets\":0,\"tx_packets\":0,"
    "\"rx_errors\":0,"
    "\"tx_errors\":0},\"eth0\":{\"rx_bytes\":4096,\"tx_bytes\":2048,\"rx_packets\":4,\"tx_packets\":2,\"rx_errors\":0,"
    "\"tx_errors\":"
    "0}}},"
    "\"gpu\":{\"period\":1,\"gpus\":{\"0\":{\"utilization\":50,\"memory_used\":1073741824,\"memory_total\":2147483648,"
    "\"temperature\":64,\"power\":250,\"state\":\"ok\"}}}},"
    "\"job_data\":[{\"job_id\":\"123\",\"error\":\"\",\"report\":{\"job_info\":{\"user\":\"ana\",\"name\":\"relax\"},"
    "\"job_cpu\":{"
    "\"period\":1,\"usage\":75,\"cpus\":2},\"job_memory\":{\"rss\":1048576},\"job_io\":{\"period\":2,\"read_bytes\":"
    "2048,"
    "\"write_bytes\":null}}},{\"job_id\":null,\"error\":\"cannot look\",\"report\":{}}]");

static const char *
drawn (struct node_screen *screen, int width, int rows, bool jobs)
{
  static struct buffer text;
  struct canvas canvas = { .unicode = true };

  canvas_begin (&canvas, width, rows);
  node_screen_draw (screen, &canvas, 0, rows, jobs);
  buffer_clear (&text);
  canvas_print (&canvas, &text);
  canvas_free (&canvas);
  return buffer_text (&text);
}

static void
expect_words (const char *text, const char *const *words)
{
  for (; *words; words++)
    if (!strstr (text, *words))
      fail_msg ("\"%s\" is not in\n%s", *words, text);
}

static void
test_page_shows_the_groups (void **state)
{
  struct node_screen *screen = node_screen_create ();

  (void) state;
  assert_false (node_screen_is_filled (screen));
  assert_int_equal (node_screen_take (screen, whole, strlen (whole)), 0);
  assert_true (node_screen_is_filled (screen));
  assert_memory_equal (node_screen_time (screen), "2026-11-23T04:05:06", 19);
  expect_words (drawn (screen, 80, 40, false),
                (const char *const[]){ "50.0%]  user 30.0%  system 20.0%  wait 2.5%", "2    █▁", "2.00G/8.00G]",
                                       "Wait CPU 1.5%  memory 0.0%  I/O 25.0%", "[||||||||   50.0%]",
                                       "64 °C   250 W ok", "123        ana       relax", NULL });
  node_screen_destroy (screen);
}

/* Changes are shown by the second; the busiest interface stands first. */
static void
test_rates_and_order (void **state)
{
  struct node_screen *screen = node_screen_create ();
  const char *text;

  (void) state;
  node_screen_take (screen, whole, strlen (whole));
  text = drawn (screen, 80, 40, false);
  expect_words (text, (const char *const[]){ "2.00K     1.00K         3        0", NULL });
  assert_true (strstr (text, "eth0") < strstr (text, "\nlo "));
  expect_words (drawn (screen, 80, 40, true), (const char *const[]){ "75.0%   1.00M   1.00K       -      -", NULL });
  node_screen_destroy (screen);
}

/* A group that was not sampled stays as it was; a job that is not named any more goes. */
static void
test_lines_are_merged (void **state)
{
  static const char later[] =
      LINE ("\"system_data\":{\"memory_info\":{\"total\":4096,\"used\":1024}},"
            "\"job_data\":[{\"job_id\":\"124\",\"report\":{\"job_cpu\":{\"usage\":1,\"cpus\":1}}}]");
  static const char memory[] = LINE ("\"job_data\":[{\"job_id\":\"123\",\"report\":{\"job_memory\":{\"rss\":4096}}}]");
  struct node_screen *screen = node_screen_create ();

  (void) state;
  node_screen_take (screen, whole, strlen (whole));
  node_screen_take (screen, memory, strlen (memory));
  expect_words (drawn (screen, 80, 40, true), (const char *const[]){ "relax", "75.0%   4.00K", NULL });
  node_screen_take (screen, later, strlen (later));
  expect_words (drawn (screen, 80, 40, false), (const char *const[]){ "1.00K/4.00K", "2    █▁", "124", NULL });
  assert_null (strstr (drawn (screen, 80, 40, true), "relax"));
  node_screen_clear (screen);
  assert_false (node_screen_is_filled (screen));
  assert_null (strstr (drawn (screen, 80, 40, false), "eth0"));
  node_screen_destroy (screen);
}

static void
test_other_lines_are_refused (void **state)
{
  static const char *const lines[] = { "",
                                       "{",
                                       "[]",
                                       "{\"type\":\"event\"}",
                                       "{\"type\":\"node\"}",
                                       "{\"type\":\"cluster\",\"report\":{}}",
                                       "{\"type\":\"node\",\"report\":[]}" };
  static const char odd[] =
      LINE ("\"system_data\":{\"cpu_usage\":7,\"network\":{\"devices\":[1]},\"gpu\":{\"gpus\":{\"0\":null}},"
            "\"load\":{\"load_1\":\"x\"}},\"job_data\":{\"a\":1}");
  struct node_screen *screen = node_screen_create ();

  (void) state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    assert_int_equal (node_screen_take (screen, lines[i], strlen (lines[i])), -1);
  assert_int_equal (node_screen_take (screen, odd, strlen (odd)), 0);
  drawn (screen, 80, 40, false);
  node_screen_destroy (screen);
}

static void
test_page_scrolls (void **state)
{
  struct node_screen *screen = node_screen_create ();

  (void) state;
  node_screen_take (screen, whole, strlen (whole));
  expect_words (drawn (screen, 60, 6, false), (const char *const[]){ "CPU ", "more below", NULL });
  assert_true (node_screen_key (screen, TERMINAL_END));
  expect_words (drawn (screen, 60, 6, false), (const char *const[]){ "relax", NULL });
  assert_null (strstr (drawn (screen, 60, 6, false), "more below"));
  assert_true (node_screen_key (screen, TERMINAL_HOME));
  expect_words (drawn (screen, 60, 6, false), (const char *const[]){ "CPU ", NULL });
  assert_false (node_screen_key (screen, 'x'));
  node_screen_destroy (screen);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_page_shows_the_groups), cmocka_unit_test (test_rates_and_order),
    cmocka_unit_test (test_lines_are_merged),      cmocka_unit_test (test_other_lines_are_refused),
    cmocka_unit_test (test_page_scrolls),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  setlocale (LC_CTYPE, "C.UTF-8");
  return cmocka_run_group_tests (tests, NULL, NULL);
}
