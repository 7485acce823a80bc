/* What the JSON writer makes, byte for byte; reals are held against strtod. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "synop/json.h"

static struct json json;

static const char *
json_done (void)
{
  buffer_add (&json.out, "", 1);
  json.comma = false;
  buffer_clear (&json.out);
  return json.out.data;
}

static void
test_shape (void **state)
{
  (void) state;
  json_object (&json);
  json_key (&json, "a");
  json_uint (&json, 1);
  json_key (&json, "b");
  json_array (&json);
  json_int (&json, -2);
  json_null (&json);
  json_bool (&json, true);
  json_bool (&json, false);
  json_array (&json);
  json_array_end (&json);
  json_object (&json);
  json_object_end (&json);
  json_array_end (&json);
  json_key (&json, "c");
  json_object (&json);
  json_key (&json, "d");
  json_text (&json, NULL);
  json_object_end (&json);
  json_key (&json, "t");
  json_time (&json, 0);
  json_object_end (&json);
  json_newline (&json);
  json_object (&json);
  json_object_end (&json);
  json_newline (&json);
  assert_string_equal (json_done (), "{\"a\":1,\"b\":[-2,null,true,false,[],{}],\"c\":{\"d\":null},"
                                     "\"t\":\"1970-01-01T00:00:00.000000000Z\"}\n{}\n");
}

static void
test_text (void **state)
{
#define BAD "\xef\xbf\xbd"
  static const struct {
    const char *text, *json;
  } cases[] = {
    { "", "\"\"" },
    { "plain / text", "\"plain / text\"" },
    { "a\"b\\c", "\"a\\\"b\\\\c\"" },
    { "\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"" },
    { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
    { "\x80", "\"" BAD "\"" },
    { "\xc2\x9b"
      "31m\xe2\x80\xae"
      "x\xd8\x9c\xe2\x81\xa9",
      "\"\\u009b31m\\u202ex\\u061c\\u2069\"" },
    { "\xef\xbb\xbf\xf3\xa0\x80\x81", "\"\\ufeff\\udb40\\udc01\"" },
    { "\xc3", "\"" BAD "\"" },
    { "\xc3"
      "a",
      "\"" BAD "a\"" },
    { "\xc0\xaf", "\"" BAD BAD "\"" },
    { "\xe0\x80\x80", "\"" BAD BAD BAD "\"" },
    { "\xed\xa0\x80", "\"" BAD BAD BAD "\"" },
    { "\xf0\x80\x80\x80", "\"" BAD BAD BAD BAD "\"" },
    { "\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"" },
    { "\xf5\x80", "\"" BAD BAD "\"" },
    { "\xe2\x82", "\"" BAD BAD "\"" },
    { "\xff", "\"" BAD "\"" },
  };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    json_text (&json, cases[i].text);
    assert_string_equal (json_done (), cases[i].json);
  }
  json_key_n (&json, "k\0\"", 3);
  json_text_n (&json, "\0", 1);
  assert_string_equal (json_done (), "\"k\\u0000\\\"\":\"\\u0000\"");
}

/* Of each length, behind what the buffer held before. */
static void
test_names (void **state)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZ.-";
  char name[sizeof letters], expected[sizeof letters + 8];

  (void) state;
  for (int length = 0; length < (int) sizeof letters; length++) {
    snprintf (name, sizeof name, "%.*s", length, letters);
    snprintf (expected, sizeof expected, "\"%s\":7", name);
    json_key (&json, name);
    json_uint (&json, 7);
    assert_string_equal (json_done (), expected);
  }
}

static void
test_whole (void **state)
{
  static const uint64_t numbers[] = { 0, 9, 10, 99, 100, 12345678901, UINT64_MAX };
  char expected[40];

  (void) state;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    json_uint (&json, numbers[i]);
    snprintf (expected, sizeof expected, "%llu", (unsigned long long) numbers[i]);
    assert_string_equal (json_done (), expected);
    json_int (&json, (int64_t) numbers[i]);
    snprintf (expected, sizeof expected, "%lld", (long long) (int64_t) numbers[i]);
    assert_string_equal (json_done (), expected);
  }
  json_int (&json, INT64_MIN);
  assert_string_equal (json_done (), "-9223372036854775808");
}

static const char *
real (double number)
{
  json_real (&json, number);
  return json_done ();
}

static void
test_real (void **state)
{
  (void) state;
  assert_string_equal (real (0.0), "0");
  assert_string_equal (real (-0.0), "0");
  assert_string_equal (real (1), "1");
  assert_string_equal (real (-1.5), "-1.5");
  assert_string_equal (real (0.1), "0.1");
  assert_string_equal (real (0.1 + 0.2), "0.3");
  assert_string_equal (real (100), "100");
  assert_string_equal (real (0.001), "0.001");
  assert_string_equal (real (1e-7), "0.0000001");
  assert_string_equal (real (1.000012345), "1.000012345");
  assert_string_equal (real (123456789.123456), "123456789.123456");
  assert_string_equal (real (999999999999999), "999999999999999");
  assert_string_equal (real (99999999999999.9), "99999999999999.9");
  assert_string_equal (real (0.9999999999999999), "1");
  assert_string_equal (real (9.9999999999999999), "10");
  assert_string_equal (real (1.0 / 3), "0.333333333333333");
  assert_string_equal (real (1e15), "1e+15");
  assert_string_equal (real (1e-8), "1e-08");
  assert_string_equal (real (-1.7976931348623157e308), "-1.79769313486232e+308");
  assert_string_equal (real (5e-324), "4.94065645841247e-324");
  assert_string_equal (real ((double) NAN), "null");
  assert_string_equal (real ((double) INFINITY), "null");
}

/* Numbers as reports have them, raw * times / per, come back from the text as they were; any others within 15 digits. */
static void
test_real_round_trip (void **state)
{
  static const double divisors[] = { 1, 10, 100, 1000, 1000000, 1000000000 };
  uint64_t random = 88172645463325252u;

  (void) state;
  for (int i = 0; i < 200000; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;

    uint64_t raw = (random >> 16) % (UINT64_C (1) << (1 + random % 46));
    double exact = (double) raw / divisors[random % 6];
    const char *text = real (exact);

    if (raw < UINT64_C (100000000000000) && exact >= 1e-7 && strtod (text, NULL) != exact)
      fail_msg ("%.17g became %s", exact, text);

    double any = ldexp ((double) (random >> 11), (int) (random % 90) - 85);

    text = real (any);
    if (fabs (strtod (text, NULL) - any) > any * 5.2e-15)
      fail_msg ("%.17g became %s", any, text);
    if (any >= 1e-7 && any < 1e15 && strpbrk (text, "eE") != NULL)
      fail_msg ("%.17g became %s", any, text);
  }
}

static void
test_real_places (void **state)
{
  static const struct {
    double number;
    int places;
    const char *json;
  } cases[] = {
    { 99.98765, 4, "99.9877" },
    { 100, 4, "100" },
    { 0.00001, 4, "0" },
    { -0.00001, 4, "0" },
    { -0.5, 4, "-0.5" },
    { 0.05, 4, "0.05" },
    { 1.000012345, 9, "1.000012345" },
    { 2.5, 0, "3" },
    { 1e14, 4, "100000000000000" },
    { 0, 4, "0" },
  };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    json_real_places (&json, cases[i].number, cases[i].places);
    assert_string_equal (json_done (), cases[i].json);
  }
  json_real_places (&json, (double) NAN, 4);
  assert_string_equal (json_done (), "null");
}

static int
teardown (void **state)
{
  (void) state;
  json_free (&json);
  return 0;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_shape),       cmocka_unit_test (test_text), cmocka_unit_test (test_names),
    cmocka_unit_test (test_whole),       cmocka_unit_test (test_real), cmocka_unit_test (test_real_round_trip),
    cmocka_unit_test (test_real_places),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, teardown);
}
