/* Events by the names that the kernel gave them in /sys/bus/event_source/devices. */
#ifndef SYNOP_AGENT_COUNTER_NAMES_H
#define SYNOP_AGENT_COUNTER_NAMES_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/counters/counter_set.h"
#include "agent/source/facts.h"
#include "synop/error.h"

/* The kernel's units of that name, with or without a number behind it: "uncore_imc" gives uncore_imc_0, uncore_imc_1 ... */
void counter_units (struct names *units, const char *root, const char *name);

/* The units of the cores where there are several kinds: "cpu_core" and "cpu_atom". None where all are alike. */
void counter_core_units (struct names *units, const char *root);

/* An event of a unit: the name of one of its events ("cas_count_read"), or terms of its format ("event=0x0a,rdwrmask=0x1").
 * `weight` is by how much a count is to be multiplied for bytes, as the unit says (1: it says nothing); `cpus` are those on
 * which it is counted ("": all). -1: the unit lacks it. */
int counter_name_kernel (struct perf_event_attr *attr, uint32_t *weight, char *cpus, size_t cpus_size, const char *root,
                         const char *unit, const char *event, struct error *error);

#endif
