/* What OTLP's receivers answer, whatever its bytes are; and what answers mean. What is sent is tested with protoc's decoder:
 * tests/system/test_send_otlp.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/send/otlp.h"

static void
test_partial_success (void **state)
{
  static const char body[] = "\x0a\x0d\x08\xac\x02\x12\x08two\nlost";
  struct otlp_partial partial;

  (void) state;
  otlp_read_partial (body, sizeof body - 1, &partial);
  assert_int_equal (partial.rejected, 300);
  assert_string_equal (partial.message, "two lost");
  otlp_read_partial ("", 0, &partial);
  assert_int_equal (partial.rejected, 0);
  otlp_read_partial ("\x0a\x00", 2, &partial);
  assert_int_equal (partial.rejected, 0);
  for (size_t length = 0; length < sizeof body - 1; length++) {
    otlp_read_partial (body, length, &partial);
    assert_int_equal (partial.rejected, 0);
  }
}

static void
test_status (void **state)
{
  static const char body[] = "\x08\x03\x12\x04none\x1a\x02\x08\x01";
  char long_one[600] = "\x12\xc8\x02", message[64];

  (void) state;
  otlp_read_status (body, sizeof body - 1, message, sizeof message);
  assert_string_equal (message, "none");
  otlp_read_status ("<html>", 6, message, sizeof message);
  assert_string_equal (message, "");
  memset (long_one + 3, 'x', 328);
  otlp_read_status (long_one, 331, message, sizeof message);
  assert_int_equal (strlen (message), sizeof message - 1);
}

static void
test_answers (void **state)
{
  static const struct {
    long status;
    enum send_verdict verdict;
  } cases[] = { { 200, SEND_TAKEN },   { 202, SEND_TAKEN },   { 301, SEND_AGAIN }, { 400, SEND_REFUSED },
                { 401, SEND_AGAIN },   { 403, SEND_AGAIN },   { 404, SEND_AGAIN }, { 408, SEND_AGAIN },
                { 413, SEND_REFUSED }, { 415, SEND_REFUSED }, { 429, SEND_AGAIN }, { 500, SEND_REFUSED },
                { 501, SEND_REFUSED }, { 502, SEND_AGAIN },   { 503, SEND_AGAIN }, { 504, SEND_AGAIN } };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct send_answer answer = { .status = cases[i].status };
    struct send_options options = { .job = (char *) "synop", .labels = (char *) "" };
    struct send_setting setting = { "x", &options, NULL, -1 };
    void *open = send_otlp.open (&setting);
    assert_int_equal (send_otlp.judge (open, &answer), cases[i].verdict);
    send_otlp.close (open);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_partial_success),
    cmocka_unit_test (test_status),
    cmocka_unit_test (test_answers),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
