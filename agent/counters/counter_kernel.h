/* The kernel's perf events as the counters use them. Tests play them. */
#ifndef SYNOP_AGENT_COUNTER_KERNEL_H
#define SYNOP_AGENT_COUNTER_KERNEL_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct counter_kernel {
  void *context;
  /* All return -errno when they fail. */
  int (*open) (void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int leader, unsigned long flags);
  ssize_t (*read) (void *context, int fd, void *into, size_t size);
  int (*ioctl) (void *context, int fd, unsigned long request, unsigned long argument);
  void (*close) (void *context, int fd);
  /* The clock that reference cycles are counted by (x86: the time stamp counter); 0: it cannot be read here. */
  uint64_t (*reference_clock) (void *context);
};

extern const struct counter_kernel counter_kernel_live;

/* What to do about an event that could not be opened, for people: "no CAP_PERFMON ...". `root` as in sampler_context. */
void counter_remedy (char *text, size_t size, const char *root, int number);

#endif
