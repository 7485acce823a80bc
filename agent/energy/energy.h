/* The energy of the node and what it is made of, added up for all groups about energy: one reading of the fast counters
 * (RAPL) for each instant, the last one of sensors that a worker reads, and what GPUs have used.
 *
 * No part counts twice: a package holds its cores and uncore, and only packages and memory are added; a sensor of the whole
 * machine holds them all, so what it measured beyond the other parts is the part OTHER. The node is the sum of its parts. */
#ifndef SYNOP_AGENT_ENERGY_H
#define SYNOP_AGENT_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/energy/meters.h"
#include "agent/energy/rapl.h"
#include "agent/sampling/sampler.h"
#include "agent/sampling/service.h"

enum energy_part { ENERGY_CPU, ENERGY_DRAM, ENERGY_GPU, ENERGY_OTHER, ENERGY_PARTS };

struct energy_of_part {
  bool known;         /* at the moment */
  uint64_t total_uj;  /* since the agent began; it never falls */
  double watts;       /* NaN: not known */
  const char *source; /* "RAPL" */
};

struct energy_view {
  struct energy_of_part parts[ENERGY_PARTS];
  const char *whole; /* what measures the whole machine; NULL: nothing, and what is in no other part is not known */
};

/* [energy] ipmi */
bool energy_asks_ipmi (const struct sampler_context *context);

/* Several threads may call these. */
struct energy {
  struct energy_state *state;
};
extern const struct service service_energy;
struct energy *energy_take (const struct sampler_context *context); /* its end: service_leave */

void energy_look (struct energy *energy, int64_t now_ns, struct energy_view *view);
void energy_put_meters (struct energy *energy, const struct meter_sum sums[METER_KINDS]);

/* RAPL's domains as of this instant, until energy_rapl_end. */
const struct rapl *energy_rapl_begin (struct energy *energy, int64_t now_ns);
void energy_rapl_end (struct energy *energy);

/* For --list-groups: why there is no RAPL; why there is neither RAPL nor another source. */
void energy_rapl_absent (const struct sampler_context *context, char *text, size_t size);
void energy_absent (const struct sampler_context *context, char *text, size_t size);

#endif
