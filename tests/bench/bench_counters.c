/* What a sample of cpu_counters costs beyond the bare reads of the same descriptors, on a machine with hundreds of CPUs that
 * is made of this one's: events of CPU n are opened on one of those that there are, and those of hardware, where there is
 * none, are software events in groups of the same size.
 *
 *   bench_counters ROOT SAMPLES      one JSON object on standard output: us of a sample and of the bare reads, best of all;
 *                                    CPU time of work that is counted as a job's over that of the same work that is not
 *
 * Counting is switched on and off every few milliseconds of the work, so that the machine's moods are in both. */
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
#define TURNS 1000

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

/* Computing, memory that is new, and giving up the CPU. Returns its CPU time. */
static double
work_once (void)
{
  static volatile double sum;
  struct timespec begin, end;
  char *memory;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &begin);
  for (int i = 0; i < 100000; i++)
    sum = sum * 0.999 + i;
  memory = mmap (NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; memory != MAP_FAILED && i < 16; i++)
    memory[4096 * i] = 1;
  if (memory != MAP_FAILED)
    munmap (memory, 16 * 4096);
  usleep (50);
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &end);
  return (double) (end.tv_sec - begin.tv_sec) + (double) (end.tv_nsec - begin.tv_nsec) / 1e9;
}

static int
compare_doubles (const void *one, const void *other)
{
  const double *a = one, *b = other;

  return (*a > *b) - (*a < *b);
}

/* The lower quartile: what disturbs makes work longer, never shorter. */
static double
typical (double *seconds)
{
  qsort (seconds, TURNS, sizeof *seconds, compare_doubles);
  return seconds[TURNS / 4];
}

/* This process is counted as job_counters does it. */
static double
slow_down (struct counters *counters)
{
  static double counted[TURNS], plain[TURNS];
  struct counter_set *set = counter_set_create (&counter_kernel_live, &counters->budget, 1);
  struct counter_plan plan = { 0 };
  double result;

  counter_events_plan (&plan, "", false);
  for (size_t i = 0; i < plan.count; i++)
    counter_set_open (set, 0, &plan.batches[i],
                      &(struct counter_target){ .pid = getpid (), .cpu = -1, .inherit = true });
  for (int i = 0; i < TURNS; i++) {
    prctl (PR_TASK_PERF_EVENTS_ENABLE);
    counted[i] = work_once ();
    prctl (PR_TASK_PERF_EVENTS_DISABLE);
    plain[i] = work_once ();
  }
  result = typical (counted) / typical (plain);
  counter_set_destroy (set);
  free (plan.batches);
  return result;
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
  double slow;
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
  slow = slow_down (counters); /* while there are no other events to be switched */
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
          "\"slow_down\": %.4f, \"error\": \"%s\"}\n",
          (double) sample_ns / 1e3, (double) bare_ns / 1e3, folded.count, folded.events, table.rows,
          folded.hardware ? "true" : "false", slow, table.error);
  table_free (&table);
  sampler->close (state);
  agent_options_destroy (options);
  free (folded.leaders);
  return 0;
}
