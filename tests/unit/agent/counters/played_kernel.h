/* A kernel that is played: perf events of CPUs with some hardware counters, on which groups of events take turns as they
 * do in Linux (all of a group at once; in order, until one does not fit; every millisecond another is the first). */
#ifndef SYNOP_PLAYED_KERNEL_H
#define SYNOP_PLAYED_KERNEL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agent/counters/counter_kernel.h"

#define PLAYED_EVENTS 4096
#define PLAYED_CPUS 512
#define PLAYED_FIRST 1000 /* descriptor */

struct played_event {
  bool open;
  struct perf_event_attr attr;
  pid_t pid;
  int cpu, leader;
  unsigned long flags;
  uint64_t count, enabled, running;
};

struct played_kernel {
  struct counter_kernel kernel; /* what the counters are given */
  int hardware;                 /* counters of a CPU; 0: it has no unit */
  int group_most;               /* events of a group that fit at all; 0: as many as there are counters */
  int denied;                   /* errno of each open; 0: none */
  int busy_cpu;                 /* on which hardware events are EBUSY; -1: none */
  uint32_t absent_type;         /* events of that type and config are not there */
  uint64_t absent_config;
  int read_fails;   /* errno */
  int cgroups_fail; /* errno of events of cgroups */
  uint64_t reference_clock;
  pthread_mutex_t lock;
  pthread_mutex_t *gate; /* events are opened and closed with it; NULL: without */
  size_t opened, closed, reads;
  int turn;
  int ends; /* no event was ever at this place or behind it */
  struct played_event events[PLAYED_EVENTS];
};

/* How often each event happens in a millisecond. */
static inline uint64_t
played_rate (const struct perf_event_attr *attr)
{
  return 1000 * (attr->type + 1) + 10 * (attr->config % 97);
}

static inline bool
played_is_hardware (const struct perf_event_attr *attr)
{
  return attr->type != PERF_TYPE_SOFTWARE;
}

static inline struct played_event *
played_at (struct played_kernel *played, int fd)
{
  return &played->events[fd - PLAYED_FIRST];
}

/* The hardware counters that a leader's group needs. */
static inline int
played_needs (struct played_kernel *played, int leader)
{
  int needs = 0;

  for (int i = 0; i < played->ends; i++)
    needs += played->events[i].open && played->events[i].leader == leader + PLAYED_FIRST &&
             played_is_hardware (&played->events[i].attr);
  return needs;
}

static inline int
played_open_event (void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int leader, unsigned long flags)
{
  struct played_kernel *played = context;
  int most = played->group_most ? played->group_most : played->hardware;

  if (played->denied)
    return -played->denied;
  if (flags & PERF_FLAG_PID_CGROUP && played->cgroups_fail)
    return -played->cgroups_fail;
  if (played_is_hardware (attr) &&
      (played->hardware == 0 || (attr->type == played->absent_type && attr->config == played->absent_config)))
    return -ENOENT;
  if (played_is_hardware (attr) && cpu == played->busy_cpu)
    return -EBUSY;
  if (leader >= 0 && played_is_hardware (attr) && played_needs (played, leader - PLAYED_FIRST) >= most)
    return -EINVAL;
  for (int i = 0; i < PLAYED_EVENTS; i++)
    if (!played->events[i].open) {
      played->events[i] = (struct played_event){ .open = true, .attr = *attr, .pid = pid, .cpu = cpu, .flags = flags };
      played->events[i].leader = leader >= 0 ? leader : i + PLAYED_FIRST;
      played->ends = i >= played->ends ? i + 1 : played->ends;
      played->opened++;
      return i + PLAYED_FIRST;
    }
  return -EMFILE;
}

/* Events are opened and closed in one thread and read in another. */
static inline void
played_begin (struct played_kernel *played, bool changes)
{
  if (changes && played->gate) {
    pthread_mutex_lock (played->gate);
    pthread_mutex_unlock (played->gate);
  }
  pthread_mutex_lock (&played->lock);
}

static inline int
played_open (void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int leader, unsigned long flags)
{
  struct played_kernel *played = context;
  int fd;

  played_begin (played, true);
  fd = played_open_event (context, attr, pid, cpu, leader, flags);
  pthread_mutex_unlock (&played->lock);
  return fd;
}

static inline ssize_t
played_read_event (void *context, int fd, void *into, size_t size)
{
  struct played_kernel *played = context;
  uint64_t values[16] = { 0, played_at (played, fd)->enabled, played_at (played, fd)->running };

  played->reads++;
  if (played->read_fails)
    return -played->read_fails;
  for (int i = 0; i < played->ends; i++)
    if (played->events[i].open && played->events[i].leader == fd)
      values[3 + values[0]++] = played->events[i].count;
  if (size < 8 * (3 + values[0]))
    return -ENOSPC;
  memcpy (into, values, 8 * (3 + values[0]));
  return (ssize_t) (8 * (3 + values[0]));
}

static inline ssize_t
played_read (void *context, int fd, void *into, size_t size)
{
  struct played_kernel *played = context;
  ssize_t got;

  played_begin (played, false);
  got = played_read_event (context, fd, into, size);
  pthread_mutex_unlock (&played->lock);
  return got;
}

static inline int
played_ioctl (void *context, int fd, unsigned long request, unsigned long argument)
{
  (void) context;
  (void) fd;
  (void) request;
  (void) argument;
  return 0;
}

static inline void
played_close (void *context, int fd)
{
  struct played_kernel *played = context;

  played_begin (played, true);
  played_at (played, fd)->open = false;
  played->closed++;
  pthread_mutex_unlock (&played->lock);
}

static inline uint64_t
played_reference_clock (void *context)
{
  struct played_kernel *played = context;

  return played->reference_clock;
}

static inline void
played_init (struct played_kernel *played, int hardware)
{
  memset (played, 0, sizeof *played);
  pthread_mutex_init (&played->lock, NULL);
  played->hardware = hardware;
  played->busy_cpu = -2;
  played->absent_type = UINT32_MAX;
  played->kernel = (struct counter_kernel){ .context = played,
                                            .open = played_open,
                                            .read = played_read,
                                            .ioctl = played_ioctl,
                                            .close = played_close,
                                            .reference_clock = played_reference_clock };
}

/* The groups of one CPU, or of one process, run for a millisecond. */
static inline void
played_run_context (struct played_kernel *played, const int *leaders, int count)
{
  int left = played->hardware;
  bool full = false;

  for (int k = 0; k < count; k++) {
    int leader = leaders[(k + played->turn) % count], needs = played_needs (played, leader);
    bool runs = needs == 0 || (!full && needs <= left);

    left -= runs ? needs : 0;
    full |= !runs;
    for (int i = 0; i < played->ends; i++) {
      struct played_event *event = &played->events[i];

      if (!event->open || event->leader != leader + PLAYED_FIRST)
        continue;
      event->enabled += 1000000;
      event->running += runs ? 1000000 : 0;
      event->count += runs ? played_rate (&event->attr) : 0;
    }
  }
}

static inline void
played_pass (struct played_kernel *played, int milliseconds)
{
  static int leaders[PLAYED_EVENTS];
  int ends[PLAYED_CPUS], count = 0;

  for (int cpu = 0; cpu < PLAYED_CPUS; cpu++) {
    for (int i = 0; i < played->ends; i++)
      if (played->events[i].open && played->events[i].cpu == cpu && played->events[i].leader == i + PLAYED_FIRST)
        leaders[count++] = i;
    ends[cpu] = count;
  }
  for (; milliseconds > 0; milliseconds--, played->turn++)
    for (int cpu = 0, begin = 0; cpu < PLAYED_CPUS; begin = ends[cpu++])
      if (ends[cpu] > begin)
        played_run_context (played, leaders + begin, ends[cpu] - begin);
}

/* All processes run. */
static inline void
played_run_processes (struct played_kernel *played, int milliseconds)
{
  for (; milliseconds > 0; milliseconds--)
    for (int i = 0; i < played->ends; i++)
      if (played->events[i].open && played->events[i].cpu == -1 && played->events[i].leader == i + PLAYED_FIRST)
        played_run_context (played, &i, 1);
}

static inline size_t
played_count (const struct played_kernel *played, pid_t pid)
{
  size_t count = 0;

  for (int i = 0; i < played->ends; i++)
    count += played->events[i].open && played->events[i].pid == pid;
  return count;
}

#endif
