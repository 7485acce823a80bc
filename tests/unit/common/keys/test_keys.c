/* Keys: Z85 against libzmq's, the files, and who is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "synop/keys.h"
#include "tests/unit/test_folder.h"

static char folder[TEST_FOLDER_SIZE];
static char path[128], other[128];

#define assert_contains(text, part)                                                                                    \
  do {                                                                                                                 \
    if (strstr (text, part) == NULL)                                                                                   \
      fail_msg ("\"%s\" does not contain \"%s\"", text, part);                                                         \
  } while (0)

static int
folder_make (void **state)
{
  (void) state;
  umask (022);
  test_folder_make (folder);
  snprintf (path, sizeof path, "%s/agent.key", folder);
  snprintf (other, sizeof other, "%s/agent.pub", folder);
  return 0;
}

static int
files_remove (void **state)
{
  (void) state;
  unlink (path);
  rmdir (path);
  unlink (other);
  return 0;
}

static int
folder_remove (void **state)
{
  files_remove (state);
  return rmdir (folder); /* fails when a temporary file was left behind */
}

static void
file_put (const char *name, const char *text, mode_t mode)
{
  FILE *file = fopen (name, "w");
  assert_non_null (file);
  fputs (text, file);
  fclose (file);
  assert_int_equal (chmod (name, mode), 0);
}

static void
z85_and_back (void **state)
{
  (void) state;
  static const uint8_t hello[] = { 0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b }; /* RFC 32: "HelloWorld" */
  uint8_t key[KEY_SIZE], back[KEY_SIZE];
  char text[KEY_TEXT_SIZE];
  for (size_t i = 0; i < KEY_SIZE; i++)
    key[i] = hello[i % sizeof hello];
  key_text (key, text);
  assert_string_equal (text, "HelloWorldHelloWorldHelloWorldHelloWorld");
  assert_int_equal (key_from_text (text, strlen (text), back, NULL), 0);
  assert_memory_equal (key, back, KEY_SIZE);
  memset (key, 0xff, sizeof key);
  key_text (key, text);
  assert_int_equal (key_from_text (text, strlen (text), back, NULL), 0);
  assert_memory_equal (key, back, KEY_SIZE);
}

static void
z85_refuses (void **state)
{
  (void) state;
  static const struct {
    const char last[6];
    int result;
  } cases[] = { { "%nSc0", 0 }, /* 2^32 - 1 */
                { "%nSc1", -1 },  { "#####", -1 },    { "0000~", -1 },
                { "0000\0", -1 }, { "\0\0\0\0", -1 }, { "0000\xff", -1 } };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t key[KEY_SIZE];
    char text[KEY_TEXT_SIZE];
    memset (text, '0', sizeof text);
    memcpy (text + KEY_TEXT_SIZE - 1 - 5, cases[i].last, 5);
    assert_int_equal (key_from_text (text, KEY_TEXT_SIZE - 1, key, NULL), cases[i].result);
  }
}

static void
pair_is_that_of_zeromq (void **state)
{
  (void) state;
  struct key_pair pair, again;
  char secret[KEY_TEXT_SIZE], public[KEY_TEXT_SIZE], theirs[KEY_TEXT_SIZE];

  key_pair_make (&pair);
  key_text (pair.secret_key, secret);
  key_text (pair.public_key, public);
  assert_int_equal (zmq_curve_public (theirs, secret), 0);
  assert_string_equal (theirs, public);

  key_pair_make (&again);
  assert_memory_not_equal (pair.secret_key, again.secret_key, KEY_SIZE);
}

static void
files_are_read_back (void **state)
{
  (void) state;
  struct key_pair pair, read;
  uint8_t public[KEY_SIZE];
  struct error error;
  struct stat status;

  key_pair_make (&pair);
  assert_int_equal (key_secret_write (path, pair.secret_key, "made\nfor n1", &error), 0);
  assert_int_equal (key_public_write (other, pair.public_key, NULL, &error), 0);
  assert_int_equal (stat (path, &status), 0);
  assert_int_equal (status.st_mode & 07777, 0600);
  assert_int_equal (stat (other, &status), 0);
  assert_int_equal (status.st_mode & 07777, 0644);
  assert_int_equal (key_pair_read (path, &read, &error), 0);
  assert_memory_equal (&pair, &read, sizeof pair);
  assert_int_equal (key_public_read (other, public, &error), 0);
  assert_memory_equal (pair.public_key, public, KEY_SIZE);
}

static void
files_are_never_overwritten (void **state)
{
  (void) state;
  struct key_pair pair, read;
  struct error error;

  key_pair_make (&pair);
  assert_int_equal (key_secret_write (path, pair.secret_key, "", &error), 0);
  assert_int_equal (key_secret_write (path, pair.public_key, "", &error), -1);
  assert_contains (error.text, path);
  assert_contains (error.text, "is there already");
  assert_int_equal (key_pair_read (path, &read, &error), 0);
  assert_memory_equal (&pair, &read, sizeof pair);
  assert_int_equal (key_public_write ("/nonexistent/folder/x.pub", pair.public_key, "", &error), -1);
  assert_contains (error.text, "/nonexistent/folder/x.pub: No such file or directory");
}

static void
loose_secrets_are_refused (void **state)
{
  (void) state;
  static const mode_t loose[] = { 0640, 0604, 0620, 0602, 0610, 0666 };
  struct key_pair pair;
  struct error error;
  char chmod_text[160];

  key_pair_make (&pair);
  assert_int_equal (key_secret_write (path, pair.secret_key, "", &error), 0);
  snprintf (chmod_text, sizeof chmod_text, "run: chmod 600 %s", path);
  for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
    assert_int_equal (chmod (path, loose[i]), 0);
    assert_int_equal (key_pair_read (path, &pair, &error), -1);
    assert_contains (error.text, chmod_text);
  }
  assert_int_equal (chmod (path, 0400), 0);
  assert_int_equal (key_pair_read (path, &pair, &error), 0);
}

static void
strangers_files_are_refused (void **state)
{
  (void) state;
  struct key_pair pair;
  struct error error;

  if (geteuid () != 0)
    skip ();
  key_pair_make (&pair);
  assert_int_equal (key_secret_write (path, pair.secret_key, "", &error), 0);
  assert_int_equal (chown (path, 12345, 12345), 0);
  assert_int_equal (key_pair_read (path, &pair, &error), -1);
  assert_contains (error.text, "belongs to user 12345; expected user 0 or root");
}

static void
service_keys_are_for_root_too (void **state)
{
  (void) state;
  struct key_pair pair;
  struct error error;

  if (geteuid () != 0)
    skip ();
  key_pair_make (&pair);
  assert_int_equal (key_secret_write (path, pair.secret_key, "", &error), 0);
  assert_int_equal (chown (folder, 12345, 12345), 0);
  assert_int_equal (chown (path, 12345, 12345), 0);
  int of_service = key_pair_read (path, &pair, &error);
  assert_int_equal (chown (path, 12346, 12346), 0);
  int of_stranger = key_pair_read (path, &pair, &error);
  assert_int_equal (chown (folder, 0, 0), 0);
  assert_int_equal (of_service, 0);
  assert_int_equal (of_stranger, -1);
}

static void
who_holds_a_secret_leaves_no_core (void **state)
{
  (void) state;
  struct key_pair pair;
  struct error error;

  assert_int_equal (prctl (PR_SET_DUMPABLE, 1), 0);
  key_pair_make (&pair);
  assert_int_equal (prctl (PR_GET_DUMPABLE), 0);
  assert_int_equal (key_secret_write (path, pair.secret_key, "", &error), 0);
  assert_int_equal (prctl (PR_SET_DUMPABLE, 1), 0);
  assert_int_equal (key_pair_read (path, &pair, &error), 0);
  assert_int_equal (prctl (PR_GET_DUMPABLE), 0);
  assert_int_equal (prctl (PR_SET_DUMPABLE, 1), 0);
}

static void
what_is_no_file_is_refused (void **state)
{
  (void) state;
  struct key_pair pair;
  struct error error;

  assert_int_equal (key_pair_read (path, &pair, &error), -1);
  assert_contains (error.text, "agent.key: No such file or directory");
  assert_int_equal (mkfifo (path, 0600), 0);
  assert_int_equal (key_pair_read (path, &pair, &error), -1); /* and does not wait for a writer */
  assert_contains (error.text, "agent.key: not a regular file");
  unlink (path);
  assert_int_equal (mkdir (path, 0700), 0);
  assert_int_equal (key_pair_read (path, &pair, &error), -1);
  assert_contains (error.text, "agent.key: not a regular file");
}

static void
odd_public_files_are_refused (void **state)
{
  (void) state;
  static char large[5000];
  uint8_t key[KEY_SIZE];
  struct error error;

  file_put (other, "public = rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n", 0646);
  assert_int_equal (key_public_read (other, key, &error), -1);
  assert_contains (error.text, "everybody can write to this key");

  memset (large, '#', sizeof large - 1);
  file_put (other, large, 0644);
  assert_int_equal (key_public_read (other, key, &error), -1);
  assert_contains (error.text, "agent.pub: larger than 4096 bytes");

  file_put (other, "public = 0000000000000000000000000000000000000000\n", 0644); /* of small order */
  assert_int_equal (key_public_read (other, key, &error), -1);
  assert_contains (error.text, "agent.pub: not a key that can be used safely");
}

#define KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static void
parser_takes (void **state)
{
  (void) state;
  static const char *const good[] = {
    "public = " KEY,
    "public=" KEY "\n",
    "# a comment\n\n \t# another\r\n  public\t=\t" KEY "  \r\n\n",
  };
  uint8_t key[KEY_SIZE], expected[KEY_SIZE];
  struct error error;

  assert_non_null (zmq_z85_decode (expected, KEY));
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    if (key_file_parse (good[i], strlen (good[i]), "f", KEY_PUBLIC, key, &error) != 0)
      fail_msg ("%zu: %s", i, error.text);
    assert_memory_equal (key, expected, KEY_SIZE);
  }
}

static void
parser_refuses (void **state)
{
  (void) state;
  static const struct {
    enum key_half half;
    const char *text, *error;
  } bad[] = {
    { KEY_PUBLIC, "", "f.pub: holds no key; expected a line \"public = KEY\"" },
    { KEY_SECRET, "# nothing\n", "f.pub: holds no key; expected a line \"secret = KEY\"" },
    { KEY_PUBLIC, "hello\n", "f.pub:1: expected \"public = KEY\"" },
    { KEY_PUBLIC, "\npubic = " KEY, "f.pub:2: expected \"public = KEY\"" },
    { KEY_PUBLIC, "public = abc\n", "f.pub:1: expected a key of 40 characters of Z85, not of 3" },
    { KEY_PUBLIC, "public =\n", "f.pub:1: expected a key of 40 characters of Z85, not of 0" },
    { KEY_PUBLIC, "public = " KEY " # n1\n", "f.pub:1: expected a key of 40 characters of Z85, not of 45" },
    { KEY_PUBLIC, "public = rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf\"\n", "f.pub:1: expected a key in Z85" },
    { KEY_PUBLIC, "#\npublic = " KEY "\npublic = " KEY, "f.pub:3: a second key; line 2 holds one already" },
    { KEY_PUBLIC, "secret = " KEY, "f.pub:1: a secret key where a public one is due" },
    { KEY_SECRET, "public = " KEY, "f.pub:1: a public key where the secret one is due" },
  };
  uint8_t key[KEY_SIZE];
  struct error error;

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal (key_file_parse (bad[i].text, strlen (bad[i].text), "f.pub", bad[i].half, key, &error), -1);
    assert_contains (error.text, bad[i].error);
    assert_null (strstr (error.text, "rq:rM")); /* what may be secret is not told */
  }
  static const char with_nul[] = "public = \0" KEY;
  assert_int_equal (key_file_parse (with_nul, sizeof with_nul - 1, "f", KEY_PUBLIC, key, &error), -1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (z85_and_back),
    cmocka_unit_test (z85_refuses),
    cmocka_unit_test (pair_is_that_of_zeromq),
    cmocka_unit_test_teardown (files_are_read_back, files_remove),
    cmocka_unit_test_teardown (files_are_never_overwritten, files_remove),
    cmocka_unit_test_teardown (loose_secrets_are_refused, files_remove),
    cmocka_unit_test_teardown (strangers_files_are_refused, files_remove),
    cmocka_unit_test_teardown (service_keys_are_for_root_too, files_remove),
    cmocka_unit_test_teardown (who_holds_a_secret_leaves_no_core, files_remove),
    cmocka_unit_test_teardown (what_is_no_file_is_refused, files_remove),
    cmocka_unit_test_teardown (odd_public_files_are_refused, files_remove),
    cmocka_unit_test (parser_takes),
    cmocka_unit_test (parser_refuses),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, folder_make, folder_remove);
}
