/* Lists of shell patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "synop/globs.h"

static void
test_list (void **state)
{
  (void) state;
  assert_true (globs_list_matches ("loop*,ram*", "ram12"));
  assert_true (globs_list_matches (" loop* , ram* ", "ram12"));
  assert_true (globs_list_matches (",,sd?,", "sda"));
  assert_true (globs_list_matches ("sd[a-c]", "sdb"));
  assert_true (globs_list_matches ("/var/lib/*", "/var/lib/docker/overlay2/x"));
  assert_false (globs_list_matches ("loop*,ram*", "sda"));
  assert_false (globs_list_matches ("loop", "loop0"));
  assert_false (globs_list_matches ("", ""));
  assert_false (globs_list_matches (" , ", ""));
  assert_false (globs_list_matches (NULL, "sda"));
}

static void
assert_filter (const char *list, size_t count, const char *name, bool expected)
{
  struct globs globs;

  globs_init (&globs, list);
  assert_int_equal (globs.count, count);
  assert_int_equal (globs_match (&globs, name), expected);
  globs_free (&globs);
}

static void
test_filter (void **state)
{
  (void) state;
  assert_filter ("", 0, "n1", true);
  assert_filter (" , ", 0, "n1", true);
  assert_filter ("n1", 1, "n1", true);
  assert_filter ("n1", 1, "n2", false);
  assert_filter ("gpu*, n[2-3],", 2, "n3", true);
  assert_filter ("gpu*,n[2-3]", 2, "gpu17", true);
  assert_filter ("gpu*,n[2-3]", 2, "n4", false);
}

/* A backslash takes the meaning of a comma, of a blank at an end, and of what patterns know. */
static void
test_escapes (void **state)
{
  (void) state;
  assert_filter ("a\\,b", 1, "a,b", true);
  assert_filter ("a\\,b", 1, "a", false);
  assert_filter ("a\\,*,c", 2, "a,x", true);
  assert_filter ("a\\,*,c", 2, "c", true);
  assert_filter ("a\\ , b", 2, "a ", true);
  assert_filter ("a\\  , b", 2, "a ", true);
  assert_filter ("\\ a", 1, " a", true);
  assert_filter ("two words ,c", 2, "two words", true);
  assert_filter ("a\\*", 1, "a*", true);
  assert_filter ("a\\*", 1, "ab", false);
  assert_filter ("a\\\\,b", 2, "a\\", true);
  assert_filter ("a\\", 1, "a", false);
  assert_true (globs_list_matches ("x,a\\,b", "a,b"));
  assert_false (globs_list_is_cheap ("*a\\,*a\\,*a\\,*a\\,*a"));
  assert_true (globs_list_is_cheap ("*a,*a,*a,*a,*a\\*"));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_list),
    cmocka_unit_test (test_filter),
    cmocka_unit_test (test_escapes),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
