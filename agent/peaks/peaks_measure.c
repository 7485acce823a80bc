/* A crew of threads, one on each CPU, works in rounds that all begin at once. What counts is the best round: others had
 * more work of other processes beside them. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/peaks/peaks.h"
#include "agent/peaks/peaks_kernels.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define ROUND_NS (50 * NS_PER_MS)
#define CHUNK 100000          /* rounds of a kernel between two looks at the clock: about a millisecond */
#define ARRAY_MOST (32 << 20) /* bytes of each of a thread's three arrays: far more than its share of any cache */
#define ARRAY_LEAST (4 << 20)
#define CPUS_MOST 65536

struct crew;

struct hand {
  struct crew *crew;
  pthread_t thread;
  int cpu;
  double *a, *b, *c;
  double work;          /* in this round */
  volatile double sink; /* what kernels return */
  int64_t begun_ns, ended_ns;
};

/* Does work for about ROUND_NS and returns how much that was. */
typedef double (*task_fn) (struct hand *hand);

struct crew {
  pthread_mutex_t start;     /* held until the barrier knows how many they are */
  pthread_barrier_t barrier; /* of the hands and of who leads them: twice a round */
  bool complete;             /* all hands are there; does not change once `start` is released */
  task_fn task;              /* NULL: the end */
  const struct peaks_kernel *kernel;
  size_t array_bytes;
  struct hand *hands;
  unsigned count;
};

/* ---- tasks ---- */

static double
triad (struct hand *hand)
{
  size_t elements = hand->crew->array_bytes / sizeof (double);
  double work = 0;

  do {
    peaks_triad (hand->a, hand->b, hand->c, elements);
    work += 3.0 * (double) hand->crew->array_bytes;
  } while (clock_monotonic () - hand->begun_ns < ROUND_NS);
  return work;
}

static double
compute (struct hand *hand, peaks_flops_fn kernel, unsigned operations)
{
  double work = 0;

  do {
    hand->sink = kernel (CHUNK);
    work += (double) CHUNK * operations;
  } while (clock_monotonic () - hand->begun_ns < ROUND_NS);
  return work;
}

static double
compute_double (struct hand *hand)
{
  return compute (hand, hand->crew->kernel->double_precision, hand->crew->kernel->double_operations);
}

static double
compute_single (struct hand *hand)
{
  return compute (hand, hand->crew->kernel->single_precision, hand->crew->kernel->single_operations);
}

/* ---- hands ---- */

static int
arrays_make (struct hand *hand, struct error *error)
{
  double **const arrays[] = { &hand->a, &hand->b, &hand->c };

  for (size_t i = 0; i < 3; i++) {
    *arrays[i] = aligned_alloc (4096, hand->crew->array_bytes);
    if (!*arrays[i])
      return error_set (error, "%zu MB of memory for thread %u: %s", hand->crew->array_bytes >> 20,
                        (unsigned) (hand - hand->crew->hands), strerror (errno));
  }
  return 0;
}

/* By the thread that uses them, so that they lie in its memory. */
static void
arrays_fill (struct hand *hand)
{
  double *const arrays[] = { hand->a, hand->b, hand->c };

  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < hand->crew->array_bytes / sizeof (double); j++)
      arrays[i][j] = (double) (i + j % 7);
}

static void *
hand_main (void *argument)
{
  struct hand *hand = argument;
  struct crew *crew = hand->crew;

  pthread_mutex_lock (&crew->start);
  pthread_mutex_unlock (&crew->start);
  if (crew->complete)
    arrays_fill (hand);
  for (;;) {
    pthread_barrier_wait (&crew->barrier);
    if (!crew->task)
      return NULL;
    hand->begun_ns = clock_monotonic ();
    hand->work = crew->task (hand);
    hand->ended_ns = clock_monotonic ();
    pthread_barrier_wait (&crew->barrier);
  }
}

/* ---- rounds ---- */

/* How much all did a second, from the first that began to the last that ended. */
static double
crew_round (struct crew *crew)
{
  int64_t begun_ns = INT64_MAX, ended_ns = 0;
  double work = 0;

  pthread_barrier_wait (&crew->barrier);
  pthread_barrier_wait (&crew->barrier);
  for (unsigned i = 0; i < crew->count; i++) {
    const struct hand *hand = &crew->hands[i];

    work += hand->work;
    begun_ns = hand->begun_ns < begun_ns ? hand->begun_ns : begun_ns;
    ended_ns = hand->ended_ns > ended_ns ? hand->ended_ns : ended_ns;
  }
  return work * 1e9 / (double) (ended_ns - begun_ns);
}

static double
crew_best (struct crew *crew, task_fn task, int64_t ns)
{
  int64_t end_ns = clock_monotonic () + ns;
  double best = 0;

  crew->task = task;
  do {
    double rate = crew_round (crew);

    best = rate > best ? rate : best;
  } while (clock_monotonic () < end_ns);
  return best;
}

/* A third of the time for each of the three; that of computing is shared by the kernels, since the widest is not always the
 * fastest. */
static void
crew_measure (struct crew *crew, struct peaks *peaks, int64_t ns)
{
  size_t supported = 0;

  for (size_t i = 0; i < peaks_kernel_count; i++)
    supported += peaks_kernels[i].is_supported ();
  peaks->memory_bandwidth = crew_best (crew, triad, ns / 3);
  for (size_t i = 0; i < peaks_kernel_count; i++) {
    double of_double, of_single;

    if (!peaks_kernels[i].is_supported ())
      continue;
    crew->kernel = &peaks_kernels[i];
    of_double = crew_best (crew, compute_double, ns / 3 / (int64_t) supported);
    of_single = crew_best (crew, compute_single, ns / 3 / (int64_t) supported);
    if (of_double > peaks->flops_double) {
      peaks->flops_double = of_double;
      snprintf (peaks->vectors, sizeof peaks->vectors, "%s", crew->kernel->name);
    }
    peaks->flops_single = of_single > peaks->flops_single ? of_single : peaks->flops_single;
  }
}

/* ---- the crew ---- */

static int
cpus_read (cpu_set_t **cpus, size_t *size, int *most, struct error *error)
{
  for (int count = 1024; count <= CPUS_MOST; count *= 2) {
    *cpus = CPU_ALLOC (count);
    *size = CPU_ALLOC_SIZE (count);
    *most = count;
    if (*cpus && sched_getaffinity (0, *size, *cpus) == 0)
      return 0;
    CPU_FREE (*cpus);
  }
  return error_set (error, "which CPUs may be used: %s", strerror (errno));
}

/* Half of the memory that is free stays so. */
static int
arrays_size (struct crew *crew, struct error *error)
{
  static const char key[] = "MemAvailable:";
  struct buffer text = { 0 };
  struct reader reader;
  uint64_t bytes = 0;
  const char *at;

  reader_init (&reader, "", "/proc/meminfo");
  if (reader_read (&reader, &text) == 0 && (at = strstr (text.data, key)))
    bytes = strtoull (at + sizeof key - 1, NULL, 10) * 1024;
  reader_free (&reader);
  buffer_free (&text);
  bytes = bytes / 2 / 3 / crew->count & ~(uint64_t) 4095;
  if (bytes < ARRAY_LEAST)
    return error_set (error, "%u threads need %u MB of free memory", crew->count,
                      crew->count * 6 * (ARRAY_LEAST >> 20));
  crew->array_bytes = bytes < ARRAY_MOST ? bytes : ARRAY_MOST;
  return 0;
}

static int
thread_start (struct hand *hand, struct error *error)
{
  int number = pthread_create (&hand->thread, NULL, hand_main, hand);

  return number == 0 ? 0 : error_set (error, "thread %u: %s", (unsigned) (hand - hand->crew->hands), strerror (number));
}

/* Each thread moves to its CPU. */
static void
crew_pin (struct crew *crew, const cpu_set_t *cpus, size_t size, int most)
{
  cpu_set_t *one = CPU_ALLOC (most);

  for (int cpu = 0, i = 0; cpu < most && i < (int) crew->count; cpu++) {
    if (!CPU_ISSET_S (cpu, size, cpus))
      continue;
    CPU_ZERO_S (size, one);
    CPU_SET_S (cpu, size, one);
    pthread_setaffinity_np (crew->hands[i++].thread, size, one);
  }
  CPU_FREE (one);
}

static int
crew_work (struct crew *crew, struct peaks *peaks, int64_t ns, struct error *error)
{
  cpu_set_t *cpus;
  size_t size;
  int most, rc;
  unsigned started = 0;

  if (cpus_read (&cpus, &size, &most, error) < 0)
    return -1;
  crew->count = (unsigned) CPU_COUNT_S (size, cpus);
  crew->hands = memory_new (crew->count, sizeof *crew->hands);
  rc = arrays_size (crew, error);
  pthread_mutex_lock (&crew->start);
  for (; rc == 0 && started < crew->count; started += rc == 0) {
    crew->hands[started].crew = crew;
    rc = arrays_make (&crew->hands[started], error);
    if (rc == 0)
      rc = thread_start (&crew->hands[started], error);
  }
  pthread_barrier_init (&crew->barrier, NULL, started + 1);
  if (rc == 0)
    crew_pin (crew, cpus, size, most);
  crew->complete = rc == 0;
  pthread_mutex_unlock (&crew->start);
  if (rc == 0)
    crew_measure (crew, peaks, ns);
  crew->task = NULL;
  pthread_barrier_wait (&crew->barrier);
  for (unsigned i = 0; i < started; i++)
    pthread_join (crew->hands[i].thread, NULL);
  pthread_barrier_destroy (&crew->barrier);
  CPU_FREE (cpus);
  return rc;
}

int
peaks_measure (struct peaks *peaks, int64_t ns, struct error *error)
{
  struct crew crew = { .start = PTHREAD_MUTEX_INITIALIZER };
  int rc;

  *peaks = (struct peaks){ .time_ns = clock_wall () };
  rc = crew_work (&crew, peaks, ns, error);
  peaks->threads = crew.count;
  for (unsigned i = 0; i < crew.count; i++) {
    free (crew.hands[i].a);
    free (crew.hands[i].b);
    free (crew.hands[i].c);
  }
  free (crew.hands);
  return rc;
}
