/* The Neuron driver's sysfs, the source without neuron-monitor: all runtimes together, "driver". Files are opened for
 * reading alone: writing to one would clear a counter, or reset the device. */
#ifndef SYNOP_AGENT_NEURON_SYSFS_H
#define SYNOP_AGENT_NEURON_SYSFS_H

#include <stdbool.h>

#include "agent/neuron/neuron_report.h"
#include "synop/table.h"

struct neuron_sysfs;

struct neuron_sysfs *neuron_sysfs_create (const char *root, enum neuron_kind kind);
void neuron_sysfs_destroy (struct neuron_sysfs *sysfs); /* NULL is fine */
bool neuron_sysfs_exists (const char *root);            /* whether the driver is loaded */

/* Fills a table of that kind's group, as far as the driver has values for it. -1: table->error. */
int neuron_sysfs_sample (struct neuron_sysfs *sysfs, struct table *table);

#endif
