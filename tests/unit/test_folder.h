/* A folder of a test's own, below $TMPDIR: tests/check gives one to each program, and removes what a program leaves that
 * is killed. */
#ifndef SYNOP_TESTS_TEST_FOLDER_H
#define SYNOP_TESTS_TEST_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

#define TEST_FOLDER_SIZE 64

static inline void
test_folder_make (char folder[TEST_FOLDER_SIZE])
{
  const char *above = getenv ("TMPDIR");
  int length = snprintf (folder, TEST_FOLDER_SIZE, "%s/synop-test.XXXXXX", above ? above : "/tmp");

  if (length < 0 || length >= TEST_FOLDER_SIZE || !mkdtemp (folder)) {
    perror (folder);
    abort ();
  }
}

/* With all that lies in it. */
static inline void
test_folder_remove (const char *folder)
{
  char command[TEST_FOLDER_SIZE + 16];

  snprintf (command, sizeof command, "rm -rf '%s'", folder);
  if (system (command) != 0)
    abort ();
}

#endif
