/* cpu_usage and cpu_frequency on recorded machines and on this one. */
#include <fcntl.h>
#include <sys/resource.h>

#include "tests/unit/agent/sampler_test.h"

static void
usage_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_cpu_usage, ROOT_SMALL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 4); /* not the line of all CPUs */
    assert_uint (&sampled, "0", "busy",
                 10000 * (1030 + 10 + 500 + 1 + 20 + 11)); /* in us; guests are in user and nice */
    assert_uint (&sampled, "0", "user", 1030);
    assert_uint (&sampled, "0", "nice", 10);
    assert_uint (&sampled, "0", "system", 500);
    assert_uint (&sampled, "0", "idle", 95200);
    assert_uint (&sampled, "0", "io_wait", 120);
    assert_uint (&sampled, "0", "irq", 1);
    assert_uint (&sampled, "0", "soft_irq", 20);
    assert_uint (&sampled, "0", "steal", 11);
    assert_uint (&sampled, "0", "guest", 12);
    assert_uint (&sampled, "0", "guest_nice", 3);
    assert_uint (&sampled, "3", "user", 1040);
    assert_uint (&sampled, NULL, "context_switch_count", 1800123);
    assert_uint (&sampled, NULL, "interrupts", 913377);
    assert_uint (&sampled, NULL, "forks", 40321);
    assert_uint (&sampled, NULL, "running", 3);
    assert_uint (&sampled, NULL, "blocked", 1);
  }
  sampled_close (&sampled);
}

/* A CPU that is there twice: the first row stays, and all behind it is read. */
static void
names_twice (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/stat", "cpu0 1 2 3 4\ncpu0 5 6 7 8\ncpu1 9 2 3 4\nctxt 10\n");
  scratch_write (&scratch, "/proc/cpuinfo",
                 "processor : 0\ncpu MHz : 1.0\nprocessor : 0\ncpu MHz : 2.0\nprocessor : 1\ncpu MHz : 3.0\n");
  sampled_open (&sampled, &sampler_cpu_usage, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "0", "user", 1);
  assert_uint (&sampled, "1", "user", 9);
  assert_uint (&sampled, NULL, "context_switch_count", 10);
  assert_memory_equal (sampled.table.error, "CPU \"0\" is there twice", 22);
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_cpu_frequency, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "0", "current", 1000);
  assert_uint (&sampled, "1", "current", 3000);
  assert_string_equal (sampled.table.error, "CPU \"0\" is there twice");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
usage_of_odd (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_cpu_usage, ROOT_ODD);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "0", "io_wait", 7);
  assert_uint (&sampled, "0", "busy", 610000); /* of what the kernel tells */
  assert_missing (&sampled, "0", "irq");
  assert_missing (&sampled, "0", "guest_nice");
  assert_missing (&sampled, "7", "io_wait"); /* "x9" */
  assert_uint (&sampled, "7", "irq", 3);     /* the columns after it are where they were */
  assert_missing (&sampled, NULL, "context_switch_count");
  assert_missing (&sampled, NULL, "interrupts");
  assert_missing (&sampled, NULL, "forks");
  assert_uint (&sampled, NULL, "running", 2);
  assert_missing (&sampled, NULL, "blocked");
  sampled_close (&sampled);
}

static void
usage_without_a_source (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_cpu_usage, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/stat: No such file"));
  scratch_write (&scratch, "/proc/stat", "\1\2\3 what is this\n\n");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/stat: Bad message"));
  scratch_write (&scratch, "/proc/stat", /* it heals */
                 "cpu0 1 2 3 4\nintr 5 1\nctxt 6\nprocesses 7\nprocs_running 1\nprocs_blocked 0\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "0", "idle", 4);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A CPU cannot be busy for longer than went by; nothing of what was counted is lost. */
static void
usage_is_a_share_of_time (void **state)
{
  /* Of a busy CPU, of one that was lent to others and has it counted all at once, of one that comes late. */
  static const struct {
    int64_t ms;
    const char *text;
    uint64_t busy[3]; /* us, in all; 0: not there */
  } samples[] = {
    { 1000, "cpu0 100 0 50 7\ncpu1 40 0 0 9\n", { 1500000, 400000 } },
    { 2000, "cpu0 200 0 56 7\ncpu1 50 0 0 99\n", { 2500000, 500000 } }, /* 106 ticks in 1 s */
    { 3001, "cpu0 290 0 60 7\ncpu1 50 0 0 99 0 0 0 300\ncpu2 5 0 0 0\n", { 3500000, 1501000, 50000 } },
    { 4001, "cpu0 390 0 60 8\ncpu1 50 0 0 199 0 0 0 300\ncpu2 6 0 0 0\n", { 4500000, 2501000, 60000 } },
    { 6001, "cpu0 390 0 60 208\ncpu2 7 0 0 0\n", { 4500000, 0, 70000 } },
    { 7001, "cpu0 390 0 60 308\ncpu1 55 0 0 199 0 0 0 300\n", { 4500000, 3550000 } }, /* it was away: as it is */
  };
  struct sampled sampled = { 0 };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/stat", samples[0].text);
  sampled_open (&sampled, &sampler_cpu_usage, scratch.root);
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    scratch_write (&scratch, "/proc/stat", samples[i].text);
    sampled.table.monotonic_ns = samples[i].ms * 1000000;
    sampled_again (&sampled);
    for (int cpu = 0; cpu < 3; cpu++) {
      const char label[2] = { (char) ('0' + cpu), '\0' };
      if (samples[i].busy[cpu])
        assert_uint (&sampled, label, "busy", samples[i].busy[cpu]);
      else
        assert_false (sampled_has_row (&sampled, label));
    }
  }
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A CPU that is taken offline loses its row, the others keep their labels. */
static void
usage_of_fewer_cpus (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/stat", "cpu 6 0 0 0\ncpu0 1 0 0 0\ncpu1 2 0 0 0\ncpu2 3 0 0 0\nctxt 5\n");
  sampled_open (&sampled, &sampler_cpu_usage, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 3);
  scratch_write (&scratch, "/proc/stat", "cpu 6 0 0 0\ncpu0 1 0 0 0\ncpu2 4 0 0 0\nctxt 6\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 2);
  assert_false (sampled_has_row (&sampled, "1"));
  assert_uint (&sampled, "2", "user", 4);
  assert_uint (&sampled, NULL, "context_switch_count", 6);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
usage_of_480_cpus (void **state)
{
  struct sampled sampled = { 0 };
  char label[8], want[16], line[4096];
  FILE *file;
  unsigned long long user, nice, system;
  size_t cpus = 0;

  (void) state;
  need_root (ROOT_BIG480);
  sampled_open (&sampled, &sampler_cpu_usage, ROOT_BIG480);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 480);
  file = fopen (ROOT_BIG480 "/proc/stat", "r"); /* by another way of reading: each CPU's first columns */
  assert_non_null (file);
  while (fgets (line, sizeof line, file)) {
    if (sscanf (line, "cpu%7[0-9] %llu %llu %llu", label, &user, &nice, &system) != 4)
      continue;
    snprintf (want, sizeof want, "%zu", cpus++);
    assert_string_equal (label, want);
    assert_uint (&sampled, label, "user", user);
    assert_uint (&sampled, label, "nice", nice);
    assert_uint (&sampled, label, "system", system);
  }
  fclose (file);
  assert_int_equal (cpus, 480);
  assert_int_equal (sampled_value (&sampled, NULL, "interrupts")->type, VALUE_UINT);
  sampled_close (&sampled);
}

static void
frequency_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_cpu_frequency, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 4);
  assert_uint (&sampled, "0", "current", 2100000); /* kHz, from /sys: /proc/cpuinfo says otherwise */
  assert_uint (&sampled, "3", "current", 3400000);
  sampled_close (&sampled);
}

static void
frequency_from_cpuinfo (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_cpu_frequency, ROOT_ODD); /* /sys reads "<unknown>" there */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 1);
  assert_uint (&sampled, "0", "current", 1000500);
  sampled_close (&sampled);
}

static void
frequency_without_a_source (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_cpu_frequency, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/cpuinfo: No such file"));
  scratch_write (&scratch, "/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_memory_equal (sampled.table.error, "neither ", 8);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
frequency_of_480_cpus (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_BIG480);
  sampled_open (&sampled, &sampler_cpu_frequency, ROOT_BIG480);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 480);
  assert_int_equal (sampled_value (&sampled, "479", "current")->type, VALUE_UINT);
  sampled_close (&sampled);
}

/* A driver that comes late is found, though not at once; files that tell nothing are left alone for as long. */
static void
frequency_may_block_where_there_are_files (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/devices/system/cpu/online", "0-1\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu0/topology/core_id", "0\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu1/topology/core_id", "1\n");
  scratch_write (&scratch, "/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1000.5\n");
  sampled_open (&sampled, &sampler_cpu_frequency, scratch.root);
  for (int i = 0; i < 60; i++) {
    assert_false (sampled_may_block (&sampled));
    assert_int_equal (sampled_again (&sampled), 0);
    assert_uint (&sampled, "0", "current", 1000500);
    if (i == 0)
      scratch_write (&scratch, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2100000\n");
  }
  for (int i = 0; i < 100; i++) {
    assert_true (sampled_may_block (&sampled));
    assert_int_equal (sampled_again (&sampled), 0);
    assert_uint (&sampled, "1", "current", 2100000);
  }
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "<unknown>\n");
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "0", "current", 1000500);
  assert_false (sampled_may_block (&sampled));

  scratch_write (&scratch, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2200000\n");
  scratch_write (&scratch, "/sys/devices/system/cpu/online", "0-2\n"); /* other CPUs: looked at again */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "1", "current", 2200000);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static size_t
count_descriptors (void)
{
  size_t count = 0;

  for (int fd = 0; fd < 400; fd++)
    count += fcntl (fd, F_GETFD) >= 0;
  return count;
}

/* More CPUs than half of the descriptors: their files are closed again, and yet all are read. */
static void
frequency_with_few_descriptors (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  struct rlimit limit, low;
  char path[100];
  size_t before;

  (void) state;
  scratch_init (&scratch);
  for (int cpu = 0; cpu < 100; cpu++) {
    snprintf (path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
    scratch_write (&scratch, path, "1000000\n");
  }
  assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
  low = limit;
  sampled_open (&sampled, &sampler_cpu_frequency, scratch.root);
  before = count_descriptors ();
  for (int i = 0; i < 2; i++) {
    low.rlim_cur = 120;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &low), 0);
    assert_int_equal (sampled_again (&sampled), 0);
    assert_int_equal (sampled.table.rows, 100);
    assert_int_equal (count_descriptors (), before);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
  }
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (count_descriptors (), before + 100);
  sampled_close (&sampled);
  assert_int_equal (count_descriptors (), before);
  scratch_free (&scratch);
}

static void
recorded_procfs (void **state)
{
  struct sampled usage = { 0 }, frequency = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  sampled_open (&usage, &sampler_cpu_usage, ROOT_PROCFS);
  assert_int_equal (sampled_again (&usage), 0);
  assert_int_equal (usage.table.rows, 8);
  assert_uint (&usage, "7", "user", 29098);
  assert_uint (&usage, NULL, "context_switch_count", 38014093);
  sampled_close (&usage);
  sampled_open (&frequency, &sampler_cpu_frequency, ROOT_PROCFS);
  assert_int_equal (sampled_again (&frequency), 0);
  assert_true (sampled_has_row (&frequency, "0"));
  sampled_close (&frequency);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_cpu_usage, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_cpu_frequency, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_cpu_frequency, ROOT_ODD);
  assert_warm_without_allocation (&sampler_cpu_usage, "");
  assert_warm_without_allocation (&sampler_cpu_frequency, "");
}

static void
live (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  assert_true (assert_counters_do_not_fall (&sampler_cpu_usage));
  sampled_open (&sampled, &sampler_cpu_usage, "");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, sysconf (_SC_NPROCESSORS_ONLN));
  assert_int_equal (sysconf (_SC_CLK_TCK), 100); /* what the declarations take for granted */
  sampled_close (&sampled);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (usage_of_small),
    cmocka_unit_test (usage_of_odd),
    cmocka_unit_test (names_twice),
    cmocka_unit_test (usage_without_a_source),
    cmocka_unit_test (usage_of_fewer_cpus),
    cmocka_unit_test (usage_is_a_share_of_time),
    cmocka_unit_test (usage_of_480_cpus),
    cmocka_unit_test (frequency_of_small),
    cmocka_unit_test (frequency_from_cpuinfo),
    cmocka_unit_test (frequency_without_a_source),
    cmocka_unit_test (frequency_of_480_cpus),
    cmocka_unit_test (frequency_may_block_where_there_are_files),
    cmocka_unit_test (frequency_with_few_descriptors),
    cmocka_unit_test (recorded_procfs),
    cmocka_unit_test (warm_samples_allocate_nothing),
    cmocka_unit_test (live),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
