/* RAPL by perf; see rapl_perf.h.
 *
 *   /sys/bus/event_source/devices/power/type                       "9"
 *   /sys/bus/event_source/devices/power/cpumask                    "0,24": a CPU of each socket, or of each die
 *   /sys/bus/event_source/devices/power/events/energy-pkg          "event=0x02"
 *   /sys/bus/event_source/devices/power/events/energy-pkg.scale    "2.3283064365386962890625e-10" */
#include "agent/energy/rapl_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/source/facts.h"
#include "agent/source/parse.h"

#define PMU "/sys/bus/event_source/devices/power"

static const struct {
  const char *event, *domain;
} events[] = { { "energy-pkg", "package" },
               { "energy-cores", "core" },
               { "energy-gpu", "uncore" },
               { "energy-ram", "dram" },
               { "energy-psys", "psys" } };
#define EVENTS (sizeof events / sizeof events[0])

static int
kernel_open (uint32_t type, uint64_t config, int cpu)
{
  struct perf_event_attr attributes = { .type = type, .size = sizeof attributes, .config = config };

  return (int) syscall (SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int
kernel_read (int fd, uint64_t *value)
{
  return read (fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}

const struct rapl_kernel rapl_kernel = { kernel_open, kernel_read, close };

/* The number with that index in a list, "0,24" or "0-1". False: there are fewer. */
static bool
cpu_of_mask (const char *mask, size_t index, int *cpu)
{
  struct scan scan = scan_over (mask, strlen (mask));
  uint64_t first, last;

  for (; scan_list_next (&scan, &first, &last); index -= last - first + 1)
    if (index <= last - first) {
      *cpu = (int) (first + index);
      return true;
    }
  return false;
}

/* Dies of one socket have counters of their own. */
static void
domain_label (const char *root, const char *domain, int cpu, char label[48])
{
  uint64_t package = 0, die = 0;

  fact_uint (&package, root, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
  fact_uint (&die, root, "/sys/devices/system/cpu/cpu%d/topology/die_id", cpu);
  if (die > 0)
    snprintf (label, 48, "%s-%u-die-%u", domain, (unsigned) package, (unsigned) die);
  else if (package == 0 && strcmp (domain, "psys") == 0)
    snprintf (label, 48, "psys");
  else
    snprintf (label, 48, "%s-%u", domain, (unsigned) package);
}

static bool
event_read (const char *root, size_t index, int cpu, struct rapl_event *event)
{
  const char *name = events[index].event;
  char text[64];
  uint64_t type;
  struct scan scan;

  if (!fact_uint (&type, root, PMU "/type") || !fact_text (text, sizeof text, root, PMU "/events/%s", name))
    return false;
  scan = scan_over (text, strlen (text));
  if (!scan_prefix (&scan, "event=0x") || !scan_hex (&scan, &event->config) ||
      !fact_text (text, sizeof text, root, PMU "/events/%s.scale", name))
    return false;
  event->type = (uint32_t) type;
  event->cpu = cpu;
  event->scale = strtod (text, NULL);
  snprintf (event->path, sizeof event->path, PMU "/events/%s", name);
  domain_label (root, events[index].domain, cpu, event->label);
  return event->scale > 0;
}

bool
rapl_perf_next (const char *root, size_t *at, struct rapl_event *event)
{
  char mask[256];
  int cpu;

  if (!fact_text (mask, sizeof mask, root, PMU "/cpumask"))
    return false;
  while (cpu_of_mask (mask, *at / EVENTS, &cpu))
    if (event_read (root, (*at)++ % EVENTS, cpu, event))
      return true;
  return false;
}
