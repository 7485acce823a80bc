/* RAPL by perf: the events of the kernel's PMU `power`, one descriptor for each event and socket, for machines whose
 * powercap files are closed to the agent, or where no driver makes them. It needs CAP_PERFMON, or
 * /proc/sys/kernel/perf_event_paranoid at 0 or less. */
#ifndef SYNOP_AGENT_RAPL_PERF_H
#define SYNOP_AGENT_RAPL_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calls, which tests play. -1: errno. */
struct rapl_kernel {
  int (*open) (uint32_t type, uint64_t config, int cpu);
  int (*read) (int fd, uint64_t *value);
  int (*close) (int fd);
};
extern const struct rapl_kernel rapl_kernel;

struct rapl_event {
  char label[48]; /* "package-0" */
  char path[128]; /* "/sys/bus/event_source/devices/power/events/energy-pkg" */
  uint32_t type;
  uint64_t config;
  int cpu;
  double scale; /* joules of one count */
};

/* Returns the events one after the other, those of each socket. `at` begins with 0. False: no more. */
bool rapl_perf_next (const char *root, size_t *at, struct rapl_event *event);

#endif
