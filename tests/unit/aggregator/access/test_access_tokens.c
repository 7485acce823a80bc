/* Tokens: made, found, taken away; files that others can get at, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/access/access_tokens.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

struct scene {
  char folder[TEST_FOLDER_SIZE], path[96];
  struct access_tokens *tokens;
};

static int
set_up (void **state)
{
  struct scene *scene = *state = memory_new (1, sizeof *scene);

  test_folder_make (scene->folder);
  snprintf (scene->path, sizeof scene->path, "%s/tokens", scene->folder);
  scene->tokens = access_tokens_create ();
  access_tokens_set (scene->tokens, scene->path);
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  access_tokens_destroy (scene->tokens);
  test_folder_remove (scene->folder);
  free (scene);
  return 0;
}

static char *
make (struct scene *scene, const char *user)
{
  struct buffer token = { 0 };
  struct error error;

  if (access_token_make (scene->path, user, &token, &error) < 0)
    fail_msg ("%s", error.text);
  buffer_text (&token);
  return token.data;
}

static void
check_found (struct scene *scene, const char *token, const char *user)
{
  char name[VIEWER_NAME_MAX + 1];
  struct error error;

  if (access_tokens_find (scene->tokens, token, name, &error) < 0)
    fail_msg ("%s", error.text);
  assert_string_equal (name, user);
}

static void
check_refused (struct scene *scene, const char *token, const char *words)
{
  char name[VIEWER_NAME_MAX + 1];
  struct error error;

  assert_int_equal (access_tokens_find (scene->tokens, token, name, &error), -1);
  if (!strstr (error.text, words))
    fail_msg ("%s", error.text);
}

/* Each is its user's, at once; all of a user go together. */
static void
test_made (void **state)
{
  struct scene *scene = *state;
  char *one, *other, *second;
  struct stat status;
  struct error error;

  check_refused (scene, "synop_x", "nobody's");
  one = make (scene, "ana");
  other = make (scene, "bob");
  second = make (scene, "ana");
  assert_int_equal (stat (scene->path, &status), 0);
  assert_int_equal (status.st_mode & 0777, 0600);
  check_found (scene, one, "ana");
  check_found (scene, other, "bob");
  check_found (scene, second, "ana");
  one[strlen (one) - 1] ^= 1;
  check_refused (scene, one, "nobody's");
  one[strlen (one) - 1] ^= 1;
  check_refused (scene, "", "nobody's");
  assert_int_equal (access_token_revoke (scene->path, "ana", &error), 2);
  assert_int_equal (access_token_revoke (scene->path, "ana", &error), 0);
  check_refused (scene, one, "nobody's");
  check_refused (scene, second, "nobody's");
  check_found (scene, other, "bob");
  assert_int_equal (access_token_make (scene->path, "a b", &(struct buffer){ 0 }, &error), -1);
  free (one);
  free (other);
  free (second);
}

static void
put (const struct scene *scene, const char *text, mode_t mode)
{
  FILE *file = fopen (scene->path, "w");

  fputs (text, file);
  fclose (file);
  chmod (scene->path, mode);
}

/* What is wrong with the file keeps everybody out, and is said. */
static void
test_files (void **state)
{
  struct scene *scene = *state;
  char *token = make (scene, "ana");
  struct error error;

  check_found (scene, token, "ana");
  chmod (scene->path, 0640);
  check_refused (scene, token, "chmod 600");
  chmod (scene->path, 0600);
  check_found (scene, token, "ana");
  put (scene, "# nobody\n\n", 0600);
  check_refused (scene, token, "nobody's");
  put (scene, "ana abcdef\n", 0600);
  check_refused (scene, token, ":1: expected USER and a hash");
  put (scene, "a:b 0000000000000000000000000000000000000000000000000000000000000000\n", 0600);
  check_refused (scene, token, ":1: expected");
  unlink (scene->path);
  check_refused (scene, token, "nobody's");
  mkdir (scene->path, 0700);
  check_refused (scene, token, scene->path);
  access_tokens_set (scene->tokens, "");
  check_refused (scene, token, "nobody's");
  assert_int_equal (access_token_make ("", "ana", &(struct buffer){ 0 }, &error), -1);
  free (token);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_made, set_up, tear_down),
    cmocka_unit_test_setup_teardown (test_files, set_up, tear_down),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
