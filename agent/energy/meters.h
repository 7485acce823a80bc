/* Sensors of power and energy beside RAPL: those of the hwmon class that stand for the machine or its CPUs, and the
 * management controller by IPMI. A read may take the firmware's time, so they are read in a worker.
 *
 * Sensors that measure power alone are integrated: each reading counts for the time since the one before. */
#ifndef SYNOP_AGENT_METERS_H
#define SYNOP_AGENT_METERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/energy/ipmi_dcmi.h"
#include "agent/source/facts.h"
#include "agent/source/reader.h"

enum meter_of { METER_NODE, METER_MODULES, METER_CPU, METER_KINDS }; /* a module: CPU, GPU and memory of a socket */

/* All sensors of a kind together, as of a reading. */
struct meter_sum {
  bool known;
  uint64_t total_uj; /* since the first reading */
  double watts;
  int64_t until_ns;   /* valid that long: readings come more often */
  const char *source; /* "acpi power meter" */
};

struct meter {
  enum meter_of of;
  const char *source;
  bool counts; /* energy; else it is power */
  struct reader reader;
  bool begun;
  uint64_t last, total_uj;
  double watts;
  int64_t last_ns;
};

struct meters {
  char *root;
  struct meter *list;
  size_t count;
  unsigned samples;
  struct names chips;
  struct ipmi_dcmi *ipmi; /* NULL: not asked for */
};

/* `ipmi` NULL: without; else it is owned. */
void meters_init (struct meters *meters, const char *root, struct ipmi_dcmi *ipmi);
void meters_free (struct meters *meters);
/* Are there any? To be called in the sampling thread, before a reading: it lists them now and then. */
bool meters_exist (struct meters *meters);
void meters_read (struct meters *meters, int64_t now_ns, struct meter_sum sums[METER_KINDS]);

#endif
