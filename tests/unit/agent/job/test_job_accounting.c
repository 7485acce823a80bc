/* The accounting of totals: it outlives a kill at any moment, and a file that is anything else ends nothing. */
#include <errno.h>
#include <fcntl.h>

#include "agent/job/job_accounting.h"
#include "tests/unit/agent/sampler_test.h"

struct place {
  struct scratch scratch;
  char path[96];
};

static void
place_init (struct place *place)
{
  scratch_init (&place->scratch);
  snprintf (place->path, sizeof place->path, "%s/lib/jobs", place->scratch.root);
}

static struct job_accounting *
open_book (const char *path, const char *boot, const char *warning)
{
  struct error told;
  struct job_accounting *accounting = job_accounting_create (path, boot, 1000, &told);

  assert_non_null (accounting);
  if (warning ? strstr (told.text, warning) == NULL : told.text[0] != 0)
    fail_msg ("\"%s\"; expected \"%s\"", told.text, warning ? warning : "");
  return accounting;
}

static uint64_t
user_of (struct job_accounting *accounting, const char *label, uint32_t uid, uint64_t now_s)
{
  struct job_totals totals;
  size_t entry = job_accounting_take (accounting, label, uid, now_s, &totals);

  assert_int_not_equal (entry, SIZE_MAX);
  job_accounting_give_back (accounting, entry, now_s);
  return totals.total[PROCESS_USER];
}

static void
note (struct job_accounting *accounting, const char *label, uint64_t user)
{
  struct job_totals totals;
  size_t entry = job_accounting_take (accounting, label, 5, 1000, &totals);

  totals.total[PROCESS_USER] = user - 1;
  job_accounting_write (accounting, entry, &totals);
  totals.total[PROCESS_USER] = user;
  job_accounting_write (accounting, entry, &totals);
}

static mode_t
mode_of (const char *path)
{
  struct stat status;

  assert_int_equal (stat (path, &status), 0);
  return status.st_mode & 0777;
}

static void
test_is_its_users_alone (void **state)
{
  struct place place;
  mode_t umask_before = umask (0);
  char folder[512];

  (void) state;
  place_init (&place);
  snprintf (folder, sizeof folder, "%s/lib", place.scratch.root);
  assert_true (rmdir (folder) == 0 || errno == ENOENT);
  job_accounting_destroy (open_book (place.path, "boot", NULL));
  umask (umask_before);
  assert_int_equal (mode_of (place.path), 0600);
  assert_int_equal (mode_of (folder), 0750);
  scratch_free (&place.scratch);
}

/* Without the end that it would have: as after a kill. */
static void
test_goes_on (void **state)
{
  struct place place;
  struct job_accounting *accounting;

  (void) state;
  place_init (&place);
  accounting = open_book (place.path, "boot", NULL);
  note (accounting, "7", 70);
  note (accounting, "7/1", 71);
  job_accounting_destroy (accounting);
  accounting = open_book (place.path, "boot", NULL);
  assert_int_equal (user_of (accounting, "7", 5, 1000), 70);
  assert_int_equal (user_of (accounting, "7/1", 5, 1000), 71);
  assert_int_equal (user_of (accounting, "7/2", 5, 1000), 0);
  job_accounting_destroy (accounting);
  accounting = open_book (place.path, "another boot", NULL);
  assert_int_equal (user_of (accounting, "7", 5, 1000), 0);
  job_accounting_destroy (accounting);
  scratch_free (&place.scratch);
}

static void
test_kept_for_an_hour (void **state)
{
  struct job_accounting *accounting = open_book ("", "boot", NULL);

  (void) state;
  note (accounting, "7", 70);
  note (accounting, "8", 80);
  assert_int_equal (user_of (accounting, "9", 5, 1000), 0);
  for (int i = 0; i < 2; i++) { /* both are alive: others of that name would be new ones */
    struct job_totals totals;
    size_t entry = job_accounting_take (accounting, "10", 5, 1000, &totals);

    totals.total[PROCESS_USER] += 100;
    job_accounting_write (accounting, entry, &totals);
    job_accounting_give_back (accounting, entry, 1000);
  }
  assert_int_equal (user_of (accounting, "10", 5, 1000), 200);
  assert_int_equal (user_of (accounting, "10", 5, 1000 + JOB_ACCOUNTING_KEPT_S), 200);
  assert_int_equal (user_of (accounting, "10", 5, 1001 + 2 * JOB_ACCOUNTING_KEPT_S), 0);
  job_accounting_destroy (accounting);

  accounting = open_book ("", "boot", NULL);
  note (accounting, "7", 70);
  job_accounting_give_back (accounting, 0, 1000);
  assert_int_equal (user_of (accounting, "7", 6, 1000), 0); /* another user's */
  job_accounting_destroy (accounting);
}

static void
test_bounds (void **state)
{
  struct job_accounting *accounting = open_book ("", "boot", NULL);
  struct job_totals totals;
  char label[32];
  size_t entry;

  (void) state;
  for (int i = 0; i < JOB_ACCOUNTING_ENTRIES; i++) {
    snprintf (label, sizeof label, "j%d", i);
    note (accounting, label, (uint64_t) i + 1);
  }
  assert_int_equal (job_accounting_take (accounting, "more", 5, 1000, &totals), SIZE_MAX);
  job_accounting_give_back (accounting, 17, 1001);
  job_accounting_give_back (accounting, 16, 1000);
  entry = job_accounting_take (accounting, "more", 5, 1000, &totals); /* in the place of the one that ended first */
  assert_int_equal (entry, 16);
  assert_int_equal (totals.total[PROCESS_USER], 0);
  assert_int_equal (user_of (accounting, "j17", 5, 1001), 18);
  job_accounting_destroy (accounting);
}

/* ---- hostile files ---- */

static long
file_size (const char *path)
{
  struct stat status;

  assert_int_equal (stat (path, &status), 0);
  return status.st_size;
}

static void
spoil (const char *path, long at, const char *bytes, size_t length)
{
  int fd = open (path, O_WRONLY);

  assert_true (fd >= 0);
  assert_int_equal (pwrite (fd, bytes, length, at), length);
  close (fd);
}

/* A kill in the middle of writing leaves a copy half written: the one before counts. */
static void
test_torn_entry (void **state)
{
  struct place place;
  struct job_accounting *accounting;
  size_t record;
  bool fell = false;

  (void) state;
  place_init (&place);
  accounting = open_book (place.path, "boot", NULL);
  note (accounting, "7", 70); /* serials 1 (taken), 2 (69), 3 (70): the last is in the second copy */
  job_accounting_destroy (accounting);
  record = (size_t) (file_size (place.path) - 4096) / JOB_ACCOUNTING_ENTRIES / 2;
  for (size_t at = 0; at < record; at += 7) {
    spoil (place.path, (long) (4096 + record + at), "\252", 1);
    accounting = open_book (place.path, "boot", NULL);
    fell |= user_of (accounting, "7", 5, 1000) != 70;
    assert_in_range (user_of (accounting, "7", 5, 1000), 69, 70);
    job_accounting_destroy (accounting);
  }
  assert_true (fell);
  scratch_free (&place.scratch);
}

static void
test_strange_files (void **state)
{
  struct place place;
  struct job_accounting *accounting;
  char *aside;

  (void) state;
  place_init (&place);
  if (asprintf (&aside, "%s.broken", place.path) < 0)
    abort ();
  for (int kind = 0; kind < 4; kind++) {
    accounting = open_book (place.path, "boot", NULL);
    note (accounting, "7", 70);
    job_accounting_destroy (accounting);
    if (kind == 0)
      scratch_write (&place.scratch, "/lib/jobs", "not one of ours, but somebody's letter");
    else if (kind == 1)
      assert_int_equal (truncate (place.path, file_size (place.path) - 1), 0);
    else if (kind == 2)
      spoil (place.path, 8, "\377\377", 2); /* version */
    else
      assert_int_equal (truncate (place.path, 20), 0);
    accounting = open_book (place.path, "boot", "jobs are counted anew");
    assert_int_equal (user_of (accounting, "7", 5, 1000), 0);
    note (accounting, "8", 80);
    job_accounting_destroy (accounting);
    assert_int_equal (access (aside, F_OK), 0);
    accounting = open_book (place.path, "boot", NULL);
    assert_int_equal (user_of (accounting, "8", 5, 1000), 80);
    job_accounting_destroy (accounting);
    unlink (place.path);
  }
  free (aside);
  scratch_free (&place.scratch);
}

/* Any bytes in the place of records: none of them is believed, and nothing falls over. */
static void
test_garbage_records (void **state)
{
  struct place place;
  struct job_accounting *accounting;
  char garbage[4096];
  uint32_t random = 12345;

  (void) state;
  place_init (&place);
  accounting = open_book (place.path, "boot", NULL);
  job_accounting_destroy (accounting);
  for (int round = 0; round < 20; round++) {
    for (long at = 4096; at + (long) sizeof garbage <= file_size (place.path); at += (long) sizeof garbage) {
      for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char) (random = (random * 1103515245u + 12345u) >> 3);
      spoil (place.path, at, garbage, sizeof garbage);
    }
    accounting = open_book (place.path, "boot", NULL);
    for (int i = 0; i < 50; i++) {
      snprintf (garbage, sizeof garbage, "j%d", i);
      assert_int_equal (user_of (accounting, garbage, 5, 1000), 0);
    }
    job_accounting_destroy (accounting);
  }
  scratch_free (&place.scratch);
}

/* Where there can be no file it is in memory, and somebody is told what to do. */
static void
test_no_file (void **state)
{
  struct place place;
  struct job_accounting *accounting, *other;
  char path[128];

  (void) state;
  place_init (&place);
  accounting = open_book (place.path, "boot", NULL);
  other = open_book (place.path, "boot", "another agent uses it");
  note (other, "7", 70);
  job_accounting_give_back (other, 0, 1000);
  assert_int_equal (user_of (other, "7", 5, 1000), 70);
  job_accounting_destroy (other);
  job_accounting_destroy (accounting);
  job_accounting_destroy (open_book (place.scratch.root, "boot", "set [jobs] book"));
  snprintf (path, sizeof path, "%s/lib/jobs/below", place.scratch.root);
  job_accounting_destroy (open_book (path, "boot", "set [jobs] book"));
  snprintf (path, sizeof path, "%s/link", place.scratch.root);
  assert_int_equal (symlink (place.path, path), 0);
  job_accounting_destroy (open_book (path, "boot", "set [jobs] book"));
  snprintf (path, sizeof path, "%s/pipe", place.scratch.root);
  assert_int_equal (mkfifo (path, 0600), 0);
  job_accounting_destroy (open_book (path, "boot", "is no file"));
  scratch_free (&place.scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_is_its_users_alone), cmocka_unit_test (test_goes_on),
    cmocka_unit_test (test_kept_for_an_hour),   cmocka_unit_test (test_bounds),
    cmocka_unit_test (test_torn_entry),         cmocka_unit_test (test_strange_files),
    cmocka_unit_test (test_garbage_records),    cmocka_unit_test (test_no_file),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
