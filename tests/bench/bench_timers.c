/* What the machine itself gives to threads that want to run at one instant:
 *
 *   bench_timers THREADS PERIOD_MS SECONDS      max - min of the instants of each round, in ms, a line each
 *
 * Each thread has the lowest real-time priority, where that is allowed, and sleeps until the multiples of the period and
 * half of it, so that whatever samples at the multiples has ended. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "synop/clock.h"
#include "synop/memory.h"

struct sleeper {
  pthread_t thread;
  int64_t first_ns, period_ns;
  size_t rounds;
  int64_t *woke_ns;
};

static void *
sleeper_run (void *context)
{
  struct sleeper *sleeper = context;
  struct sched_param parameter = { .sched_priority = sched_get_priority_min (SCHED_FIFO) };

  pthread_setschedparam (pthread_self (), SCHED_FIFO, &parameter);
  for (size_t i = 0; i < sleeper->rounds; i++) {
    int64_t due_ns = sleeper->first_ns + (int64_t) i * sleeper->period_ns;
    struct timespec due = { .tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S };

    while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0)
      ;
    sleeper->woke_ns[i] = clock_monotonic ();
  }
  return NULL;
}

static void
tell (const struct sleeper *sleepers, size_t count)
{
  for (size_t i = 0; i < sleepers[0].rounds; i++) {
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t k = 0; k < count; k++) {
      int64_t woke = sleepers[k].woke_ns[i];

      first = woke < first ? woke : first;
      last = woke > last ? woke : last;
    }
    printf ("%.6f\n", (double) (last - first) / NS_PER_MS);
  }
}

int
main (int argc, char **argv)
{
  size_t count = argc == 4 ? strtoul (argv[1], NULL, 10) : 0;
  int64_t period_ns = argc == 4 ? strtol (argv[2], NULL, 10) * NS_PER_MS : 0;
  int64_t seconds = argc == 4 ? strtol (argv[3], NULL, 10) : 0;

  if (count < 1 || count > 64 || period_ns < NS_PER_MS || seconds < 1 || seconds > 600) {
    fprintf (stderr, "usage: bench_timers THREADS PERIOD_MS SECONDS\n");
    return 2;
  }

  /* The multiples are those of cluster time, which on this machine is CLOCK_REALTIME. */
  int64_t wall_ns = clock_wall (), shift_ns = period_ns + period_ns / 2 - wall_ns % period_ns;
  struct sleeper *sleepers = memory_new (count, sizeof *sleepers);

  for (size_t i = 0; i < count; i++) {
    sleepers[i] = (struct sleeper){ .first_ns = clock_monotonic () + shift_ns,
                                    .period_ns = period_ns,
                                    .rounds = (size_t) (seconds * NS_PER_S / period_ns) };
    sleepers[i].first_ns = i ? sleepers[0].first_ns : sleepers[i].first_ns;
    sleepers[i].woke_ns = memory_new (sleepers[i].rounds, sizeof (int64_t));
  }
  for (size_t i = 0; i < count; i++)
    if (pthread_create (&sleepers[i].thread, NULL, sleeper_run, &sleepers[i]) != 0) {
      fprintf (stderr, "bench_timers: no thread\n");
      return 1;
    }
  for (size_t i = 0; i < count; i++)
    pthread_join (sleepers[i].thread, NULL);
  tell (sleepers, count);
  for (size_t i = 0; i < count; i++)
    free (sleepers[i].woke_ns);
  free (sleepers);
  return 0;
}
