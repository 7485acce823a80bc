/* Whose jobs a viewer may see: the decision, and viewers as words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synop/viewer.h"

static const struct viewer ana = { .uid = 1001, .name = "ana" };
static const struct viewer unknown = { .uid = VIEWER_UID_UNKNOWN, .name = "ana" };
static const struct viewer number = { .uid = 1001, .name = "1001" };

static void
test_decision (void **state)
{
  static const struct {
    const struct viewer *viewer;
    const char *user;
    bool sees;
  } cases[] = {
    { &viewer_all, "ana", true },    { &viewer_all, "", true }, { &viewer_nobody, "ana", false },
    { &viewer_nobody, "", false },   { &ana, "ana", true },     { &ana, "1001", true },
    { &ana, "bob", false },          { &ana, "", false },       { &ana, "an", false },
    { &ana, "anab", false },         { &ana, "ANA", false },    { &ana, "100", false },
    { &ana, "10011", false },        { &unknown, "ana", true }, { &unknown, "-1", false },
    { &unknown, "", false },         { &number, "1001", true }, { &number, "ana", false },
    { &viewer_nobody, "-1", false },
  };

  (void) state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (viewer_sees (cases[i].viewer, cases[i].user, strlen (cases[i].user)) != cases[i].sees)
      fail_msg ("case %zu: \"%s\"", i, cases[i].user);
}

static void
check_word (const struct viewer *viewer, const char *word)
{
  char text[VIEWER_TEXT_SIZE];
  struct viewer read;

  viewer_write (viewer, text);
  assert_string_equal (text, word);
  assert_int_equal (viewer_read (&read, text), 0);
  assert_int_equal (read.all, viewer->all);
  assert_true (read.uid == viewer->uid);
  assert_string_equal (read.name, viewer->name);
}

static void
test_words (void **state)
{
  static const char *const wrong[] = { "",      "ana",   "x:ana", "1001:", ":",  "-1:ana", "5000000000:ana",
                                       "1:a b", "1:a:b", "1:*",   "1:-",   "**", "1 :ana" };
  struct viewer read;

  (void) state;
  check_word (&viewer_all, "*");
  check_word (&viewer_nobody, "-");
  check_word (&ana, "1001:ana");
  check_word (&unknown, ":ana");
  check_word (&(struct viewer){ .uid = 4294967295, .name = "x" }, "4294967295:x");
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    if (viewer_read (&read, wrong[i]) == 0)
      fail_msg ("\"%s\" is taken", wrong[i]);
    assert_false (read.all);
  }
}

static void
test_names (void **state)
{
  char long_one[VIEWER_NAME_MAX + 2];

  (void) state;
  memset (long_one, 'a', sizeof long_one);
  long_one[VIEWER_NAME_MAX + 1] = '\0';
  assert_false (viewer_is_user (long_one));
  long_one[VIEWER_NAME_MAX] = '\0';
  assert_true (viewer_is_user (long_one));
  assert_true (viewer_is_user ("ana.b@site$"));
  assert_false (viewer_is_user (""));
  assert_false (viewer_is_user ("a\tb"));
  assert_false (viewer_is_user ("*"));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_decision),
    cmocka_unit_test (test_words),
    cmocka_unit_test (test_names),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
