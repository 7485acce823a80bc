/* What all groups of counters share: whether and when they may count, their descriptors, and the CPUs. */
#ifndef SYNOP_AGENT_COUNTERS_H
#define SYNOP_AGENT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/counters/counter_set.h"
#include "agent/sampling/service.h"

struct counters {
  const struct counter_kernel *kernel;
  char *root;
  bool enabled;
  const char *quiet; /* times of the day, "02:00-03:30,12:00-13:00" */
  struct counter_budget budget;
  uint64_t reference_start, reference_hz; /* of the reference clock: its first reading; 0: not known yet */
  int64_t reference_start_ns;
};

extern const struct service service_counters;

/* May they count at this moment? Otherwise `text` says why not. */
bool counters_may_count (const struct counters *counters, int64_t wall_ns, char *text, size_t size);
/* Is that time of the day in the list? */
bool counters_is_quiet (const char *list, int minute);

/* The frequency of reference cycles, measured between the first call and the first one that is nearly a second later. 0: it
 * is not known. */
uint64_t counters_reference_hz (struct counters *counters);

/* The CPUs that are online, and the socket of each. */
struct counter_cpus { /* `{0}` is empty */
  char online[1024];  /* the kernel's list, as it was read */
  struct counter_cpu {
    int number;
    size_t socket; /* index into `sockets` */
  } * list;
  size_t count;
  unsigned *sockets; /* their numbers, in order */
  size_t socket_count;
};
/* Has the kernel's list changed since it was read? */
bool counter_cpus_changed (const struct counter_cpus *cpus, const char *root);
void counter_cpus_read (struct counter_cpus *cpus, const char *root);
void counter_cpus_free (struct counter_cpus *cpus);

#endif
