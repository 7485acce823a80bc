/* What a sample of cpu_counters costs beyond the bare reads of the same descriptors, on a machine with hundreds of CPUs that
 * is made of this one's: events of CPU n are opened on one of those that there are, and those of hardware, where there is
 * none, are software events in groups of the same size.
 *
 *   bench_counters ROOT SAMPLES      one JSON object on standard output: us of a sample and of the bare reads, best of all;
 *                                    CPU time of work that is counted as a job's over that of the same work that is not:
 *                                    the median and its bounds, of work that only computes, and of work that waits too
 *
 * Counting is switched on and off every millisecond of the work, so that the machine's moods are in both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/counters/counter_events.h"
#include "agent/groups.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "tests/lib/options_for.h"

#define WARM_UP 3
#define PAIRS 4000

struct folded_kernel {
  int *leaders;
  size_t count, room, events;
  bool hardware;
};

static int
folded_open (void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int leader, unsigned long flags)
{
  struct folded_kernel *folded = context;
  int fd;

  if (!folded->hardware && attr->type != PERF_TYPE_SOFTWARE) {
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_CPU_MIGRATIONS;
  }
  fd = counter_kernel_live.open (NULL, attr, pid, (int) (cpu % sysconf (_SC_NPROCESSORS_ONLN)), leader, flags);
  if (fd >= 0 && leader < 0)
    *array_add (folded->leaders, folded->count, folded->room) = fd;
  folded->events += fd >= 0;
  return fd;
}

static void
spend (int64_t *best_ns, int64_t begin_ns)
{
  int64_t spent_ns = clock_monotonic () - begin_ns;

  *best_ns = *best_ns == 0 || spent_ns < *best_ns ? spent_ns : *best_ns;
}

static bool
has_hardware (void)
{
  struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .size = sizeof attr };
  int fd = counter_kernel_live.open (NULL, &attr, 0, -1, -1, 0);

  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static double
thread_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void
compute (void)
{
  static volatile double sum;

  for (int i = 0; i < 300000; i++)
    sum = sum * 0.999 + i;
}

/* Computing, memory that is new, and giving up the CPU. */
static void
compute_and_wait (void)
{
  char *memory;

  compute ();
  memory = mmap (NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; memory != MAP_FAILED && i < 16; i++)
    memory[4096 * i] = 1;
  if (memory != MAP_FAILED)
    munmap (memory, 16 * 4096);
  usleep (50);
}

/* The CPU time of the work. */
static double
time_of (void (*work) (void), bool counted)
{
  double begin, spent;

  prctl (counted ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
  begin = thread_seconds ();
  work ();
  spent = thread_seconds () - begin;
  prctl (PR_TASK_PERF_EVENTS_DISABLE);
  return spent;
}

static int
compare_doubles (const void *one, const void *other)
{
  const double *a = one, *b = other;

  return (*a > *b) - (*a < *b);
}

struct ratio {
  double median, low, high; /* between which the median lies with 95 % */
};

/* Of pairs, one right after the other, which of the two comes first by turns: what disturbs the machine for longer is in both
 * of a pair. The bounds are those of the order statistics of the pairs' ratios, whatever their distribution. */
static struct ratio
pairs_measure (void (*work) (void))
{
  static double ratios[PAIRS];
  size_t reach = (size_t) (0.98 * sqrt (PAIRS)) + 1;

  for (int i = 0; i < PAIRS; i++) {
    double first = time_of (work, i % 2), second = time_of (work, !(i % 2));

    ratios[i] = i % 2 ? first / second : second / first;
  }
  qsort (ratios, PAIRS, sizeof *ratios, compare_doubles);
  return (struct ratio){ ratios[PAIRS / 2], ratios[PAIRS / 2 - reach], ratios[PAIRS / 2 + reach] };
}

/* This process is counted as job_counters does it. */
static void
slow_down (struct counters *counters, struct ratio *computing, struct ratio *waiting)
{
  struct counter_set *set = counter_set_create (&counter_kernel_live, &counters->budget, 1);
  struct counter_plan plan = { 0 };

  counter_events_plan_jobs (&plan, "");
  for (size_t i = 0; i < plan.count; i++)
    counter_set_open (set, 0, &plan.batches[i],
                      &(struct counter_target){ .pid = getpid (), .cpu = -1, .inherit = true });
  *computing = pairs_measure (compute);
  *waiting = pairs_measure (compute_and_wait);
  counter_set_destroy (set);
  free (plan.batches);
}

int
main (int argc, char **argv)
{
  const struct sampler *sampler = &sampler_cpu_counters;
  struct folded_kernel folded = { .hardware = has_hardware () };
  struct counter_kernel kernel = counter_kernel_live;
  long samples = argc == 3 ? strtol (argv[2], NULL, 10) : 0;
  int64_t sample_ns = 0, bare_ns = 0;
  struct agent_options *options;
  struct counters *counters;
  struct rlimit limit;
  struct table table;
  struct ratio computing, waiting;
  void *state;

  if (samples <= 0) {
    fputs ("bench_counters ROOT SAMPLES\n", stderr);
    return 2;
  }
  getrlimit (RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit (RLIMIT_NOFILE, &limit);
  kernel.context = &folded;
  kernel.open = folded_open;
  options = options_for (argv[1], "[counters]\nenabled = yes\n");
  state = sampler->open (&options->context);
  counters = service_find (&options->context, &service_counters);
  slow_down (counters, &computing, &waiting); /* while there are no other events to be switched */
  counters->kernel = &kernel;
  table_init (&table, sampler->group);
  for (long round = 0; round < WARM_UP + samples; round++) {
    int64_t begin_ns = clock_monotonic ();

    table_begin (&table);
    sampler->may_block (state);
    sampler->sample (state, &table);
    if (round >= WARM_UP)
      spend (&sample_ns, begin_ns);
    begin_ns = clock_monotonic ();
    for (size_t i = 0; i < folded.count; i++) {
      uint64_t room[16];

      if (read (folded.leaders[i], room, sizeof room) <= 0)
        return 1;
    }
    if (round >= WARM_UP)
      spend (&bare_ns, begin_ns);
  }
  printf ("{\"sample_us\": %.1f, \"bare_us\": %.1f, \"reads\": %zu, \"events\": %zu, \"rows\": %zu, \"hardware\": %s, "
          "\"computing\": [%.5f, %.5f, %.5f], \"waiting\": [%.5f, %.5f, %.5f], \"error\": \"%s\"}\n",
          (double) sample_ns / 1e3, (double) bare_ns / 1e3, folded.count, folded.events, table.rows,
          folded.hardware ? "true" : "false", computing.median, computing.low, computing.high, waiting.median,
          waiting.low, waiting.high, table.error);
  table_free (&table);
  sampler->close (state);
  agent_options_destroy (options);
  free (folded.leaders);
  return 0;
}
