/* cpu_counters on a kernel that is played: batches, sums of sockets, turns on the hardware, and what goes wrong. */
#include "tests/unit/agent/counters/played_counters.h"

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

/* The clock of reference cycles runs at 2.5 GHz here: 2000 of its ticks are 800 ns. */
static void
test_unhalted_time (void **state)
{
  uint64_t cycles = rate (PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES);
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  machine_write (&scratch);
  played_init (&played, 16);
  played.reference_clock = 7000000000;
  open_played (&sampled, &scratch);
  sample (&sampled);
  assert_missing (&sampled, "0", "unhalted_time"); /* the frequency is not known yet */
  now_ns += NS_PER_MS;
  played.reference_clock += 2400000;
  sample (&sampled);
  assert_missing (&sampled, "0", "unhalted_time"); /* in so short a time it cannot be measured well */
  now_ns += NS_PER_S - NS_PER_MS;
  played.reference_clock += 2500000000 - 2400000;
  played_pass (&played, 1000);
  sample (&sampled);
  assert_uint (&sampled, "1", "unhalted_time", 1000 * cycles * 10 / 25);
  assert_uint (&sampled, "0", "unhalted_time", 2000 * cycles * 10 / 25);
  now_ns += NS_PER_S; /* it is measured once: time never goes back since it was measured anew */
  played.reference_clock += 2000000000;
  sample (&sampled);
  assert_uint (&sampled, "1", "unhalted_time", 1000 * cycles * 10 / 25);
  sampled_close (&sampled);

  played_init (&played, 16); /* a machine without such a clock */
  open_played (&sampled, &scratch);
  for (int i = 0; i < 2; i++, now_ns += NS_PER_S)
    sample (&sampled);
  assert_missing (&sampled, "0", "unhalted_time");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* CPUs 0 and 1 are of one kind, CPU 2 of the other; both have a unit of their own. */
static void
hybrid_write (const struct scratch *scratch)
{
#define UNIT "/sys/bus/event_source/devices/"
  scratch_write (scratch, UNIT "cpu_core/type", "4\n");
  scratch_write (scratch, UNIT "cpu_core/cpus", "0-1\n");
  scratch_write (scratch, UNIT "cpu_atom/type", "10\n");
  scratch_write (scratch, UNIT "cpu_atom/cpus", "2-3\n");
  scratch_write (scratch, UNIT "power/type", "9\n");
  scratch_write (scratch, UNIT "power/cpumask", "0\n");
  scratch_write (scratch, UNIT "cpu_core/format/event", "config:0-7\n");
  scratch_write (scratch, UNIT "cpu_core/format/umask", "config:8-15\n");
  scratch_write (scratch, UNIT "cpu_core/events/slots", "event=0x00,umask=0x04\n");
  scratch_write (scratch, UNIT "cpu_core/events/topdown-retiring", "event=0x00,umask=0x80\n");
  scratch_write (scratch, UNIT "cpu_atom/events/topdown-retiring", "event=0xc2\n");
}

static void
test_two_kinds_of_cores (void **state)
{
  uint64_t big = rate (PERF_TYPE_HARDWARE, UINT64_C (4) << 32 | PERF_COUNT_HW_INSTRUCTIONS),
           small = rate (PERF_TYPE_HARDWARE, UINT64_C (10) << 32 | PERF_COUNT_HW_INSTRUCTIONS);
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  assert_int_not_equal (big, small);
  machine_write (&scratch);
  hybrid_write (&scratch);
  played_init (&played, 16);
  open_played (&sampled, &scratch);
  sample_ten (&sampled);
  for (int i = 0; i < PLAYED_EVENTS; i++)
    if (played.events[i].open && played.events[i].attr.type == PERF_TYPE_HARDWARE)
      assert_int_equal (played.events[i].attr.config >> 32, played.events[i].cpu < 2 ? 4 : 10);
  assert_uint (&sampled, "0", "instructions", 10 * (big + small)); /* CPUs 0 and 2 */
  assert_uint (&sampled, "1", "instructions", 10 * big);
  assert_uint (&sampled, "0", "page_faults", 20 * rate (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
  assert_uint (&sampled, "1", "slots", 10 * rate (4, 0x400));
  assert_uint (&sampled, "0", "slots", 10 * rate (4, 0x400)); /* of the one that has them */
  assert_string_equal (sampled.table.error, "");
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
    cmocka_unit_test (test_unhalted_time),
    cmocka_unit_test (test_two_kinds_of_cores),
    cmocka_unit_test (test_turns_are_scaled),
    cmocka_unit_test (test_too_short_a_turn),
    cmocka_unit_test (test_batches_that_do_not_fit),
    cmocka_unit_test (test_absent_events),
    cmocka_unit_test (test_busy_cpu),
    cmocka_unit_test (test_cpus_come_and_go),
    cmocka_unit_test (test_hundreds_of_cpus),
    cmocka_unit_test (test_warm_sample_allocates_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
