/* cpu_counters on a kernel that is played: what is denied, what fails, and when nothing is counted for others. */
#include "tests/unit/agent/counters/played_counters.h"

static void
test_without_rights (void **state)
{
  static const struct {
    int number;
    const char *remedy;
  } cases[] = {
    { EACCES, "CAP_PERFMON" }, { EPERM, "seccomp" }, { ENOSYS, "no perf events" }, { EMFILE, "LimitNOFILE" }
  };
  struct scratch scratch;

  (void) state;
  machine_write (&scratch);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct sampled sampled = { 0 };

    played_init (&played, 16);
    played.denied = cases[i].number;
    open_played (&sampled, &scratch);
    assert_true (sample (&sampled));
    assert_non_null (strstr (sampled.table.error, cases[i].remedy));
    if (cases[i].number == EACCES)
      assert_non_null (strstr (sampled.table.error, "it is 2"));
    assert_int_equal (sampled.table.rows, 0);
    assert_false (sample (&sampled)); /* not tried again at once */
    sampled_close (&sampled);
  }
  scratch_free (&scratch);
}

static void
test_read_fails (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  sample (&sampled);
  played.read_fails = EIO;
  sample (&sampled);
  assert_missing (&sampled, "0", "cycles");
  assert_non_null (strstr (sampled.table.error, "Input/output error"));
  played.read_fails = 0;
  played_pass (&played, 5);
  sample (&sampled);
  assert_uint (&sampled, "1", "cycles", 5 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_budget (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch)->budget.most = 10;
  sample (&sampled);
  assert_int_equal (played.opened, 10);
  assert_non_null (strstr (sampled.table.error, "LimitNOFILE"));
  assert_uint (&sampled, "0", "page_faults", 0);
  assert_missing (&sampled, "0", "branches");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Whoever reserves the counters for likwid has them; root's file reserves nothing. */
static void
test_likwid (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  char path[512];

  (void) state;
  if (geteuid () != 0) {
    print_message ("# skipped: only root can give a file to another user\n");
    skip ();
  }
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  scratch_write (&scratch, "/var/run/likwid.lock", "");
  sample (&sampled);
  assert_int_equal (sampled.table.rows, 2);
  snprintf (path, sizeof path, "%s/var/run/likwid.lock", scratch.root);
  assert_int_equal (chown (path, 1234, 0), 0);
  assert_false (sample (&sampled));
  assert_int_equal (sampled.table.rows, 0);
  assert_non_null (strstr (sampled.table.error, "user 1234 has reserved"));
  assert_int_equal (played.opened, played.closed);
  assert_int_equal (chown (path, 0, 0), 0);
  assert_true (sample (&sampled));
  assert_int_equal (sampled.table.rows, 2);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_quiet_time (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { .ini = ON "quiet = 00:00-24:00\n" };

  (void) state;
  assert_true (counters_is_quiet ("02:00-03:30", 120));
  assert_false (counters_is_quiet ("02:00-03:30", 119));
  assert_false (counters_is_quiet ("02:00-03:30", 210));
  assert_true (counters_is_quiet ("02:00-03:30,23:00-01:00", 30));
  assert_true (counters_is_quiet ("23:00-01:00", 23 * 60));
  assert_false (counters_is_quiet ("23:00-01:00", 60));
  assert_false (counters_is_quiet ("", 0));
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  sample (&sampled);
  assert_non_null (strstr (sampled.table.error, "quiet"));
  assert_int_equal (played.opened, 0);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_off_unless_asked_for (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { .ini = "" };
  char text[256];

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  assert_false (sample (&sampled));
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 0);
  assert_int_equal (played.opened, 0);
  sampler_cpu_counters.absent (&sampled.options->context, text, sizeof text);
  assert_non_null (strstr (text, "[counters] enabled"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_without_rights), cmocka_unit_test (test_read_fails),
    cmocka_unit_test (test_budget),         cmocka_unit_test (test_likwid),
    cmocka_unit_test (test_quiet_time),     cmocka_unit_test (test_off_unless_asked_for),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
