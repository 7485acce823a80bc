/* A machine with energy counters, for the tests of this room: files that the test writes. */
#ifndef SYNOP_TESTS_POWERCAP_H
#define SYNOP_TESTS_POWERCAP_H

#include "tests/unit/agent/sampler_test.h"

#define RANGE_UJ UINT64_C (262143328850)

static inline void
energy_set (const struct scratch *scratch, const char *zone, uint64_t uj)
{
  char path[128], text[32];

  snprintf (path, sizeof path, "/sys/class/powercap/%s/energy_uj", zone);
  snprintf (text, sizeof text, "%llu\n", (unsigned long long) uj);
  scratch_write (scratch, path, text);
}

static inline void
zone_make (const struct scratch *scratch, const char *zone, const char *name, uint64_t uj)
{
  char path[128], text[64];

  snprintf (path, sizeof path, "/sys/class/powercap/%s/name", zone);
  snprintf (text, sizeof text, "%s\n", name);
  scratch_write (scratch, path, text);
  snprintf (path, sizeof path, "/sys/class/powercap/%s/max_energy_range_uj", zone);
  snprintf (text, sizeof text, "%llu\n", (unsigned long long) RANGE_UJ);
  scratch_write (scratch, path, text);
  energy_set (scratch, zone, uj);
}

/* Two sockets of Intel's with memory, psys, and the same packages once more. */
static inline void
intel_make (const struct scratch *scratch)
{
  scratch_write (scratch, "/sys/class/powercap/intel-rapl/enabled", "1\n");
  zone_make (scratch, "intel-rapl:0", "package-0", 1000000);
  zone_make (scratch, "intel-rapl:0:0", "core", 400000);
  zone_make (scratch, "intel-rapl:0:1", "dram", 200000);
  zone_make (scratch, "intel-rapl:1", "package-1", 2000000);
  zone_make (scratch, "intel-rapl:1:0", "core", 500000);
  zone_make (scratch, "intel-rapl:1:1", "dram", 300000);
  zone_make (scratch, "intel-rapl:2", "psys", 9000000);
  zone_make (scratch, "intel-rapl-mmio:0", "package-0", 1000001);
  zone_make (scratch, "intel-rapl-mmio:0:0", "dram", 200001);
}

static inline void
pmu_make (const struct scratch *scratch)
{
#define PMU "/sys/bus/event_source/devices/power/"
  scratch_write (scratch, PMU "type", "9\n");
  scratch_write (scratch, PMU "cpumask", "0,24\n");
  scratch_write (scratch, PMU "events/energy-pkg", "event=0x02\n");
  scratch_write (scratch, PMU "events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
  scratch_write (scratch, PMU "events/energy-pkg.unit", "Joules\n");
  scratch_write (scratch, PMU "events/energy-ram", "event=0x03\n");
  scratch_write (scratch, PMU "events/energy-ram.scale", "2.3283064365386962890625e-10\n");
  scratch_write (scratch, PMU "events/energy-psys", "event=0x05\n");
  scratch_write (scratch, PMU "events/energy-psys.scale", "2.3283064365386962890625e-10\n");
  scratch_write (scratch, "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
  scratch_write (scratch, "/sys/devices/system/cpu/cpu24/topology/physical_package_id", "1\n");
}

#endif
