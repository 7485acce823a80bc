/* The live kernel; see counter_kernel.h. */
#include "agent/counters/counter_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/source/facts.h"

static int
live_open (void *context, struct perf_event_attr *attr, pid_t pid, int cpu, int leader, unsigned long flags)
{
  long fd = syscall (SYS_perf_event_open, attr, pid, cpu, leader, flags | PERF_FLAG_FD_CLOEXEC);

  (void) context;
  return fd < 0 ? -errno : (int) fd;
}

static ssize_t
live_read (void *context, int fd, void *into, size_t size)
{
  ssize_t got = read (fd, into, size);

  (void) context;
  return got < 0 ? -errno : got;
}

static int
live_ioctl (void *context, int fd, unsigned long request, unsigned long argument)
{
  (void) context;
  return ioctl (fd, request, argument) < 0 ? -errno : 0;
}

static void
live_close (void *context, int fd)
{
  (void) context;
  close (fd);
}

static uint64_t
live_reference_clock (void *context)
{
  (void) context;
#if defined __x86_64__
  return __builtin_ia32_rdtsc ();
#else
  return 0;
#endif
}

const struct counter_kernel counter_kernel_live = { .open = live_open,
                                                    .read = live_read,
                                                    .ioctl = live_ioctl,
                                                    .close = live_close,
                                                    .reference_clock = live_reference_clock };

void
counter_remedy (char *text, size_t size, const char *root, int number)
{
  char paranoid[32];

  switch (number) {
  case EACCES:
    fact_text (paranoid, sizeof paranoid, root, "/proc/sys/kernel/perf_event_paranoid");
    snprintf (text, size,
              "perf events need CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN) or kernel.perf_event_paranoid below 1: it "
              "is %s",
              paranoid[0] ? paranoid : "not known");
    break;
  case EPERM:
    snprintf (
        text, size,
        "perf_event_open is not permitted: a seccomp filter (SystemCallFilter of the unit, a container's profile), "
        "or CAP_PERFMON is missing");
    break;
  case ENOSYS:
    snprintf (text, size, "this kernel has no perf events, or a seccomp filter hides them");
    break;
  case ENOENT:
  case ENODEV:
  case ENXIO:
  case EOPNOTSUPP:
    snprintf (text, size,
              "the kernel has no hardware counters here: a virtual machine has them only if its host passes "
              "the PMU on");
    break;
  case EMFILE:
  case ENFILE:
    snprintf (text, size, "no descriptor is left for counters: raise LimitNOFILE of the unit");
    break;
  case EBUSY:
    snprintf (text, size, "the hardware counters are in use by others (another profiler, the NMI watchdog)");
    break;
  default:
    snprintf (text, size, "perf events: %s", strerror (number));
  }
}
