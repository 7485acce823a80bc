/* Password files, and who is let in. */
#include "common/http/http_password.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/http.h"
#include "tests/unit/test_folder.h"

#define BASIC(base64) "Basic " base64
#define ANNA BASIC ("YW5uYTpzZWNyZXQ=") /* anna:secret */
#define HOST 7
#define WRONG BASIC ("YW5uYTp3cm9uZw==")
#define NOBODY BASIC ("bm9ib2R5OnNlY3JldA==")

static struct http_passwords *
passwords_of (const char *text, struct error *error)
{
  char folder[TEST_FOLDER_SIZE], path[TEST_FOLDER_SIZE + 16];
  FILE *file;
  struct http_passwords *passwords;

  test_folder_make (folder);
  snprintf (path, sizeof path, "%s/passwords", folder);
  file = fopen (path, "w");
  fputs (text, file);
  fclose (file);
  passwords = http_passwords_read (path, error);
  test_folder_remove (folder);
  return passwords;
}

static struct http_passwords *
anna (void)
{
  struct buffer line = { 0 };
  struct error error;
  struct http_passwords *passwords;

  buffer_add_string (&line, "# who\n\n");
  assert_int_equal (http_password_line ("anna", "secret", &line, &error), 0);
  buffer_add (&line, "", 1);
  passwords = passwords_of (line.data, &error);
  assert_non_null (passwords);
  buffer_free (&line);
  return passwords;
}

static void
test_check (void **state)
{
  struct http_passwords *passwords = anna ();
  static const char *const wrong[] = {
    NULL, "", "Basic", "Basic ", "Bearer x", BASIC ("!"), BASIC ("YW5uYQ=="), NOBODY
  };

  (void) state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal (http_passwords_check (passwords, wrong[i], HOST, (int64_t) i * NS_PER_S), HTTP_PASSWORD_WRONG);
  assert_int_equal (http_passwords_check (passwords, WRONG, HOST, 20 * NS_PER_S), HTTP_PASSWORD_WRONG);
  assert_int_equal (http_passwords_check (passwords, ANNA, HOST, 21 * NS_PER_S), HTTP_PASSWORD_GOOD);
  assert_int_equal (http_passwords_check (passwords, "basic YW5uYTpzZWNyZXQ=", HOST, 20 * NS_PER_S),
                    HTTP_PASSWORD_GOOD);
  http_passwords_free (passwords);
}

/* Only a few are tried in a second; what is known goes in all the same, and at no cost. */
static void
test_brake (void **state)
{
  struct http_passwords *passwords = anna ();
  clock_t before;

  (void) state;
  assert_int_equal (http_passwords_check (passwords, ANNA, HOST, NS_PER_S), HTTP_PASSWORD_GOOD);
  assert_int_equal (http_passwords_check (passwords, WRONG, HOST, 2 * NS_PER_S), HTTP_PASSWORD_WRONG);
  assert_int_equal (http_passwords_check (passwords, WRONG, HOST, 3 * NS_PER_S - 1), HTTP_PASSWORD_LATER);
  assert_int_equal (http_passwords_check (passwords, WRONG, HOST + 1, 3 * NS_PER_S - 1), HTTP_PASSWORD_WRONG);
  assert_int_equal (http_passwords_check (passwords, WRONG, HOST + 2, 3 * NS_PER_S - 1), HTTP_PASSWORD_LATER);
  before = clock (); /* of this process: the machine has other work */
  for (size_t i = 0; i < 1000; i++)
    assert_int_equal (http_passwords_check (passwords, ANNA, HOST, 2 * NS_PER_S), HTTP_PASSWORD_GOOD);
  assert_true (clock () - before < CLOCKS_PER_SEC);
  assert_int_equal (http_passwords_check (passwords, WRONG, HOST, 3 * NS_PER_S), HTTP_PASSWORD_WRONG);
  http_passwords_free (passwords);
}

static void
test_files (void **state)
{
  struct error error;

  (void) state;
  assert_null (passwords_of ("", &error));
  assert_non_null (strstr (error.text, "it is empty"));
  assert_null (passwords_of ("# nobody yet\n", &error));
  assert_non_null (strstr (error.text, "nobody"));
  assert_null (passwords_of ("# a\nanna\n", &error));
  assert_non_null (strstr (error.text, "passwords:2: "));
  assert_null (passwords_of ("anna:secret\n", &error));
  assert_null (passwords_of (":$argon2id$v=19$m=65536,t=2,p=1$a$b\n", &error));
  assert_null (passwords_of ("an na:$argon2id$v=19$m=65536,t=2,p=1$a$b\n", &error));
  assert_null (http_passwords_read ("/no/such/file", &error));
}

static void
test_lines (void **state)
{
  struct buffer line = { 0 };
  struct error error;

  (void) state;
  assert_int_equal (http_password_line ("", "x", &line, &error), -1);
  assert_int_equal (http_password_line ("a:b", "x", &line, &error), -1);
  assert_int_equal (http_password_line ("a b", "x", &line, &error), -1);
  assert_int_equal (http_password_line ("a", "", &line, &error), -1);
  assert_int_equal (line.length, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_check), cmocka_unit_test (test_brake),
                                      cmocka_unit_test (test_files), cmocka_unit_test (test_lines) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
