/* Addresses, and lists of what a client takes. */
#include "common/http/http_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synop/http.h"

static void
check_address (const char *text, const char *shown, bool loopback)
{
  struct http_address address;
  struct error error;
  char made[HTTP_ADDRESS_SIZE];

  assert_int_equal (http_check_listen (text, &error), 0);
  assert_int_equal (http_address_parse (text, &address, &error), 0);
  http_address_text (&address, made);
  assert_string_equal (made, shown);
  assert_true (http_address_is_loopback (&address) == loopback);
}

static void
test_addresses (void **state)
{
  (void) state;
  check_address ("127.0.0.1:5580", "127.0.0.1:5580", true);
  check_address ("127.9.9.9:1", "127.9.9.9:1", true);
  check_address ("[::1]:65535", "[::1]:65535", true);
  check_address ("0.0.0.0:0", "0.0.0.0:0", false);
  check_address ("10.0.0.1:80", "10.0.0.1:80", false);
  check_address ("[::]:80", "[::]:80", false);
}

static void
test_what_is_none (void **state)
{
  static const char *const wrong[] = { "127.0.0.1",    "127.0.0.1:",  ":80",      "127.0.0.1:65536",
                                       "127.0.0.1:1a", "::1:80",      "[::1]",    "[::1]80",
                                       "[]:80",        "[::1:80",     "host:-1",  ":",
                                       "a:b",          "a:123456789", "a:80:90b", "]:80" };
  struct http_address address;
  struct error error;

  (void) state;
  assert_int_equal (http_check_listen ("", &error), 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (strcmp (wrong[i], "]:80") != 0 && http_check_listen (wrong[i], &error) == 0)
      fail_msg ("%s is taken", wrong[i]);
  assert_int_equal (http_address_parse ("no.such.host.invalid:80", &address, &error), -1);
}

static void
test_lists (void **state)
{
  (void) state;
  assert_true (http_list_has ("gzip", "gzip"));
  assert_true (http_list_has ("deflate, GZIP;q=0.5", "gzip"));
  assert_true (http_list_has ("a,gzip;x=1;q=0.001,b", "gzip"));
  assert_false (http_list_has (NULL, "gzip"));
  assert_false (http_list_has ("", "gzip"));
  assert_false (http_list_has ("gzipped, xgzip", "gzip"));
  assert_false (http_list_has ("gzip;q=0", "gzip"));
  assert_false (http_list_has ("gzip ; q=0.000 , b", "gzip"));
  assert_false (http_list_has ("identity;q=0,gzip;a=b; q=0.0", "gzip"));
  assert_true (http_list_has ("application/openmetrics-text;version=1.0.0,*/*;q=0", "application/openmetrics-text"));
  assert_false (http_list_has (",,;,;;q", "gzip"));
}

static void
test_host (void **state)
{
  struct http_address one, same, other;
  struct error error;

  (void) state;
  assert_int_equal (http_address_parse ("127.0.0.1:1", &one, &error), 0);
  assert_int_equal (http_address_parse ("127.0.0.1:2", &same, &error), 0);
  assert_int_equal (http_address_parse ("127.0.0.2:1", &other, &error), 0);
  assert_true (http_address_host ((void *) &one.socket) == http_address_host ((void *) &same.socket));
  assert_true (http_address_host ((void *) &one.socket) != http_address_host ((void *) &other.socket));
  assert_int_equal (http_address_parse ("[::1]:1", &one, &error), 0);
  assert_int_equal (http_address_parse ("[::1]:2", &same, &error), 0);
  assert_int_equal (http_address_parse ("[::2]:2", &other, &error), 0);
  assert_true (http_address_host ((void *) &one.socket) == http_address_host ((void *) &same.socket));
  assert_true (http_address_host ((void *) &one.socket) != http_address_host ((void *) &other.socket));
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_addresses), cmocka_unit_test (test_what_is_none),
                                      cmocka_unit_test (test_lists), cmocka_unit_test (test_host) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
