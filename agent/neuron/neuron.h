/* The node's AWS Neuron devices, which all Neuron groups share: whether there are any, and from which source.
 *
 * neuron-monitor is the source where it is installed (or named by [neuron] command): a child process that a thread reads,
 * so that samples wait for nothing. Else the driver's sysfs is read, in workers, since a driver may hang. On a node without
 * Neuron there is neither thread nor process, and once a minute a check for the driver. */
#ifndef SYNOP_AGENT_NEURON_H
#define SYNOP_AGENT_NEURON_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/neuron/imds.h"
#include "agent/neuron/neuron_report.h"
#include "agent/sampling/sampler.h"
#include "agent/sampling/service.h"
#include "synop/table.h"

#define NEURON_PROGRAM "neuron-monitor"

extern const struct service service_neuron; /* its state is a struct neuron */

enum neuron_source { NEURON_ABSENT, NEURON_BY_MONITOR, NEURON_BY_SYSFS };

struct neuron;

/* The source. In the sampling thread: checks for the driver now and then, and starts neuron-monitor if the caller wants
 * values (`begin`). */
enum neuron_source neuron_source (struct neuron *neuron, bool begin);
const char *neuron_root (const struct neuron *neuron);

/* While neuron_source says NEURON_BY_MONITOR: see neuron_monitor.h. */
int neuron_sample (struct neuron *neuron, enum neuron_kind kind, struct table *table);
bool neuron_wait (struct neuron *neuron, enum neuron_kind kind, int64_t deadline_ns);
/* Waits for neuron-monitor's facts of the instance, and fills in missing ones. */
void neuron_instance (struct neuron *neuron, int64_t deadline_ns, struct imds_facts *facts);

/* Why the samplers of Neuron are absent. */
void neuron_absent (const struct sampler_context *context, char *text, size_t size);

#endif
