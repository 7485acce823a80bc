/* The keyed hash of tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "synop/hash_table.h"

/* As another process has it. */
static uint64_t
hash_elsewhere (const char *text, size_t length)
{
  int ends[2], status;
  uint64_t hash = 0;
  pid_t child;

  assert_int_equal (pipe (ends), 0);
  child = fork ();
  if (child == 0) {
    hash = hash_keyed (text, length);
    _exit (write (ends[1], &hash, sizeof hash) != sizeof hash);
  }
  assert_int_equal (read (ends[0], &hash, sizeof hash), sizeof hash);
  assert_int_equal (waitpid (child, &status, 0), child);
  close (ends[0]);
  close (ends[1]);
  return hash;
}

static void
test_key (void **state)
{
  (void) state;
  assert_true (hash_elsewhere ("name", 4) != hash_elsewhere ("name", 4));
  assert_true (hash_keyed ("name", 4) == hash_keyed ("name", 4));
  assert_true (hash_keyed ("name", 4) != hash_keyed ("name", 3));
  assert_true (hash_elsewhere ("name", 4) == hash_keyed ("name", 4)); /* the key is drawn by now */
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_key) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
