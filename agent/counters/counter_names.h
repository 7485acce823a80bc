/* Events by the names that others gave them: the kernel's in /sys/bus/event_source/devices, and libpfm4's. No event is
 * known by its number here. */
#ifndef SYNOP_AGENT_COUNTER_NAMES_H
#define SYNOP_AGENT_COUNTER_NAMES_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/source/facts.h"
#include "synop/error.h"

/* The kernel's units of that name, with or without a number behind it: "uncore_imc" gives uncore_imc_0, uncore_imc_1 ... */
void counter_units (struct names *units, const char *root, const char *name);

/* An event of a unit: the name of one of its events ("cas_count_read"), or terms of its format ("event=0x0a,rdwrmask=0x1").
 * `weight` is by how much a count is to be multiplied for bytes, as the unit says (1: it says nothing); `cpus` are those on
 * which it is counted ("": all). -1: the unit lacks it. */
int counter_name_kernel (struct perf_event_attr *attr, uint32_t *weight, char *cpus, size_t cpus_size, const char *root,
                         const char *unit, const char *event, struct error *error);

/* An event of libpfm4: "icx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE". -1: it is of another CPU than this one, or there is no
 * libpfm4, and why. The library is loaded at the first call, which may block. */
int counter_name_pfm (struct perf_event_attr *attr, const char *event, struct error *error);

#endif
