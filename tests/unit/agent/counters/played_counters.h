/* cpu_counters on a kernel that is played, on a machine of two sockets; its clock stands still but when a test moves it. */
#ifndef SYNOP_PLAYED_COUNTERS_H
#define SYNOP_PLAYED_COUNTERS_H

#include <math.h>

#include "agent/counters/counter_events.h"
#include "synop/clock.h"
#include "tests/unit/agent/counters/played_kernel.h"
#include "tests/unit/agent/sampler_test.h"

#define ON "[counters]\nenabled = yes\n"

static struct played_kernel played;
static int64_t now_ns = NS_PER_S;

int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  return now_ns;
}

/* A machine with 2 sockets of 2 CPUs each, the second one's last CPU being offline. */
static inline void
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

static inline struct counters *
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
static inline bool
sample (struct sampled *sampled)
{
  bool blocks = sampled_may_block (sampled);

  sampled_again (sampled);
  return blocks;
}

/* Twice: ten units of the played kernel's time lie between. */
static inline void
sample_ten (struct sampled *sampled)
{
  sample (sampled);
  played_pass (&played, 10);
  sample (sampled);
}

static inline uint64_t
rate (uint32_t type, uint64_t config)
{
  return played_rate (&(struct perf_event_attr){ .type = type, .config = config });
}

#endif
