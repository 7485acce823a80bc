/* cpu_counters on a kernel that is played: batches, sums of sockets, turns on the hardware, and what goes wrong. */
#include <math.h>

#include "agent/counters/counter_events.h"
#include "tests/unit/agent/counters/played_kernel.h"
#include "tests/unit/agent/sampler_test.h"

#define ON "[counters]\nenabled = yes\n"

static struct played_kernel played;

/* A machine with 2 sockets of 2 CPUs each, the second one's last CPU being offline. */
static void
machine_write (struct scratch *scratch)
{
  char path[128];

  scratch_init (scratch);
  scratch_write (scratch, "/sys/devices/system/cpu/online", "0-2\n");
  scratch_write (scratch, "/proc/sys/kernel/perf_event_paranoid", "2\n");
  for (int cpu = 0; cpu < 4; cpu++) {
    snprintf (path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    scratch_write (scratch, path, cpu % 2 ? "1\n" : "0\n");
  }
}

static struct counters *
open_played (struct sampled *sampled, const struct scratch *scratch)
{
  struct counters *counters;

  sampled->ini = sampled->ini ? sampled->ini : ON;
  sampled_open (sampled, &sampler_cpu_counters, scratch->root);
  counters = service_find (&sampled->options->context, &service_counters);
  counters->kernel = &played.kernel;
  return counters;
}

/* Returns whether it was to be done in a thread. */
static bool
sample (struct sampled *sampled)
{
  bool blocks = sampled_may_block (sampled);

  sampled_again (sampled);
  return blocks;
}

/* Twice: ten units of the played kernel's time lie between. */
static void
sample_ten (struct sampled *sampled)
{
  sample (sampled);
  played_pass (&played, 10);
  sample (sampled);
}

static uint64_t
rate (uint32_t type, uint64_t config)
{
  return played_rate (&(struct perf_event_attr){ .type = type, .config = config });
}

static void
test_sums_of_sockets (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  size_t reads;

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  assert_true (sample (&sampled));
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "0", "cycles", 0);
  played_pass (&played, 100);
  reads = played.reads;
  assert_false (sample (&sampled));
  assert_int_equal (played.reads - reads, 3 * 4); /* one for each batch and CPU */
  assert_uint (&sampled, "0", "cycles", 2 * 100 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
  assert_uint (&sampled, "1", "cycles", 100 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
  assert_uint (&sampled, "1", "instructions", 100 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS));
  assert_uint (&sampled, "1", "cache_misses", 100 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES));
  assert_uint (&sampled, "0", "page_faults", 200 * rate (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
  assert_real (&sampled, "0", "running", 1);
  assert_missing (&sampled, "0", "slots"); /* this unit has no top-down analysis */
  sampled_close (&sampled);
  assert_int_equal (played.opened, played.closed);
  scratch_free (&scratch);
}

/* With 6 counters, as AMD has them, 11 events take turns: what they count is scaled. */
static void
test_turns_are_scaled (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  double expected = 2 * 3000.0 * (double) rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), got, ran;

  (void) state;
  machine_write (&scratch);
  played_init (&played, 6);
  open_played (&sampled, &scratch);
  sample (&sampled);
  for (int i = 0; i < 3; i++) {
    played_pass (&played, 1000);
    sample (&sampled);
  }
  got = value_number (sampled_value (&sampled, "0", "cycles"));
  ran = value_number (sampled_value (&sampled, "0", "running"));
  assert_true (fabs (got - expected) < expected / 100);
  assert_true (ran > 0.2 && ran < 0.9);
  assert_uint (&sampled, "0", "page_faults", 6000 * rate (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Ran for 3 % of the time only: no value; the time is covered by the next that has one. */
static void
test_too_short_a_turn (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  sample (&sampled);
  played_pass (&played, 30);
  for (int i = 0; i < PLAYED_EVENTS; i++)
    if (played_is_hardware (&played.events[i].attr))
      played.events[i].enabled += 970 * 1000000;
  sample (&sampled);
  assert_missing (&sampled, "0", "cycles");
  assert_missing (&sampled, "1", "branches");
  assert_uint (&sampled, "0", "page_faults", 60 * rate (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
  assert_real (&sampled, "0", "running", 0.03);
  played_pass (&played, 1970);
  sample (&sampled);
  assert_uint (&sampled, "1", "cycles", 2000 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) * 2970 / 2000);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* The NMI watchdog has a counter: a batch of 4 does not fit as a group any more. */
static void
test_batches_that_do_not_fit (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  played.group_most = 3;
  open_played (&sampled, &scratch);
  sample_ten (&sampled);
  assert_uint (&sampled, "1", "cache_misses", 10 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES));
  assert_uint (&sampled, "1", "branches", 10 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS));
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_absent_events (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  played.absent_type = PERF_TYPE_HARDWARE;
  played.absent_config = PERF_COUNT_HW_REF_CPU_CYCLES;
  open_played (&sampled, &scratch);
  sample_ten (&sampled);
  assert_missing (&sampled, "0", "reference_cycles");
  assert_uint (&sampled, "1", "instructions", 10 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS));
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);

  played_init (&played, 0); /* a virtual machine without a PMU */
  open_played (&sampled, &scratch);
  sample_ten (&sampled);
  assert_missing (&sampled, "0", "cycles");
  assert_uint (&sampled, "1", "migrations", 10 * rate (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS));
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A sum without one of its CPUs would be wrong. */
static void
test_busy_cpu (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  played.busy_cpu = 2;
  open_played (&sampled, &scratch);
  sample_ten (&sampled);
  assert_non_null (strstr (sampled.table.error, "in use by others"));
  assert_missing (&sampled, "0", "cycles");
  assert_uint (&sampled, "1", "cycles", 10 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
  assert_uint (&sampled, "0", "page_faults", 20 * rate (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

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

static void
test_cpus_come_and_go (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  struct counters *counters;

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  counters = open_played (&sampled, &scratch);
  sample (&sampled);
  assert_false (sampled_may_block (&sampled));
  scratch_write (&scratch, "/sys/devices/system/cpu/online", "0-3\n");
  assert_true (sample (&sampled));
  played_pass (&played, 10);
  sample (&sampled);
  assert_uint (&sampled, "1", "cycles", 20 * rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
  assert_int_equal (counters->budget.used, played.opened - played.closed);
  sampled_close (&sampled);
  assert_int_equal (played.opened, played.closed);
  scratch_free (&scratch);
}

/* Each read asks another CPU, so hundreds of them wait in a thread. */
static void
test_hundreds_of_cpus (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  struct counters *counters;

  (void) state;
  machine_write (&scratch);
  scratch_write (&scratch, "/sys/devices/system/cpu/online", "0-63\n");
  played_init (&played, 16);
  counters = open_played (&sampled, &scratch);
  assert_true (sample (&sampled));
  assert_int_equal (counters->budget.used, 64 * 14);
  assert_int_equal (played.opened, 64 * 14);
  assert_true (sample (&sampled));
  assert_int_equal (played.opened, 64 * 14);
  sampled_close (&sampled);
  assert_int_equal (played.opened, played.closed);
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

static void
test_warm_sample_allocates_nothing (void **state)
{
#if COUNTS_ALLOCATIONS
  struct scratch scratch;
  struct sampled sampled = { 0 };
  size_t before;

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  for (int i = 0; i < 3; i++)
    sample (&sampled);
  before = allocations;
  for (int i = 0; i < 3; i++)
    sample (&sampled);
  assert_int_equal (allocations, before);
  sampled_close (&sampled);
  scratch_free (&scratch);
#else
  (void) state;
  skip ();
#endif
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_sums_of_sockets),
    cmocka_unit_test (test_turns_are_scaled),
    cmocka_unit_test (test_too_short_a_turn),
    cmocka_unit_test (test_batches_that_do_not_fit),
    cmocka_unit_test (test_absent_events),
    cmocka_unit_test (test_busy_cpu),
    cmocka_unit_test (test_without_rights),
    cmocka_unit_test (test_read_fails),
    cmocka_unit_test (test_budget),
    cmocka_unit_test (test_cpus_come_and_go),
    cmocka_unit_test (test_hundreds_of_cpus),
    cmocka_unit_test (test_likwid),
    cmocka_unit_test (test_quiet_time),
    cmocka_unit_test (test_off_unless_asked_for),
    cmocka_unit_test (test_warm_sample_allocates_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
