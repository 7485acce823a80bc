/* cpu_counters on this machine: what it says grew lies between what bare events saw that were read within its two samples
 * and around them. Software events, which are there on every machine; and by root, or where the kernel lets anybody. */
#include "agent/counters/counter_kernel.h"
#include "tests/unit/agent/sampler_test.h"

#define CPUS_MAX 1024

struct bare {
  const char *metric;
  uint64_t config;
  int fds[CPUS_MAX];
  size_t count;
};

static bool
bare_open (struct bare *bare)
{
  long cpus = sysconf (_SC_NPROCESSORS_CONF);

  for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = bare->config };
    int fd = counter_kernel_live.open (NULL, &attr, -1, cpu, -1, 0);

    if (fd >= 0)
      bare->fds[bare->count++] = fd;
  }
  return bare->count > 0;
}

static uint64_t
bare_read (const struct bare *bare)
{
  uint64_t sum = 0, value;

  for (size_t i = 0; i < bare->count; i++)
    if (counter_kernel_live.read (NULL, bare->fds[i], &value, sizeof value) == sizeof value)
      sum += value;
  return sum;
}

static void
work (void)
{
  char *memory;

  for (int i = 0; i < 200; i++)
    usleep (100);
  memory = malloc (16 << 20);
  for (size_t i = 0; i < 16 << 20; i += 4096)
    ((volatile char *) memory)[i] = 1;
  free (memory);
}

static uint64_t
total_of (const struct sampled *sampled, const char *metric)
{
  size_t column = sampled_column (sampled, metric);
  uint64_t sum = 0;

  for (size_t row = 0; row < sampled->table.rows; row++)
    sum += table_get (&sampled->table, row, column)->as.u;
  return sum;
}

static void
sample (struct sampled *sampled)
{
  sampled_may_block (sampled);
  assert_int_equal (sampled_again (sampled), 0);
}

static void
test_between_bare_reads (void **state)
{
  static struct bare events[] = { { "context_switches", PERF_COUNT_SW_CONTEXT_SWITCHES },
                                  { "migrations", PERF_COUNT_SW_CPU_MIGRATIONS },
                                  { "page_faults", PERF_COUNT_SW_PAGE_FAULTS } };
  struct sampled sampled = { .ini = "[counters]\nenabled = yes\n" };
  uint64_t outer[3], inner[3], first[3];

  (void) state;
  for (int i = 0; i < 3; i++)
    if (!bare_open (&events[i])) {
      print_message ("# skipped: this kernel does not let this user count on CPUs\n");
      skip ();
    }
  sampled_open (&sampled, &sampler_cpu_counters, "");
  sample (&sampled);
  for (int i = 0; i < 3; i++)
    outer[i] = bare_read (&events[i]);
  sample (&sampled);
  for (int i = 0; i < 3; i++) {
    inner[i] = bare_read (&events[i]);
    first[i] = total_of (&sampled, events[i].metric);
  }
  work ();
  for (int i = 0; i < 3; i++)
    inner[i] = bare_read (&events[i]) - inner[i];
  sample (&sampled);
  for (int i = 0; i < 3; i++) {
    uint64_t grown = total_of (&sampled, events[i].metric) - first[i];

    outer[i] = bare_read (&events[i]) - outer[i];
    print_message ("# %s: %llu, between %llu and %llu\n", events[i].metric, (unsigned long long) grown,
                   (unsigned long long) inner[i], (unsigned long long) outer[i]);
    assert_in_range (grown, inner[i], outer[i]);
  }
  assert_true (inner[2] >= 4096);
  assert_true (inner[0] >= 200);
  for (size_t row = 0; row < sampled.table.rows; row++)
    assert_int_equal (table_get (&sampled.table, row, sampled_column (&sampled, "running"))->type, VALUE_REAL);
  sampled_close (&sampled);
  for (int i = 0; i < 3; i++)
    for (size_t k = 0; k < events[i].count; k++)
      counter_kernel_live.close (NULL, events[i].fds[k]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_between_bare_reads) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
