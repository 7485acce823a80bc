/* neuron-monitor, kept running by a thread that reads what it says; the samplers take from there what is known. */
#ifndef SYNOP_AGENT_NEURON_MONITOR_H
#define SYNOP_AGENT_NEURON_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/neuron/neuron_report.h"
#include "synop/table.h"

struct neuron_monitor_options { /* copied */
  const char *command;          /* see neuron_child.h */
  const char *configuration;    /* what it is given as its file; NULL: none */
  int64_t period_ns;            /* how often a report is expected as long as none has told */
};

struct neuron_monitor;

struct neuron_monitor *neuron_monitor_create (const struct neuron_monitor_options *options);
/* Ends the process and the thread, within a second; what is known stays. */
void neuron_monitor_stop (struct neuron_monitor *monitor);
void neuron_monitor_destroy (struct neuron_monitor *monitor); /* NULL is fine */

/* Fills the table with what is fresh. -1 and table->error: nothing was said for too long. Waits for nothing. */
int neuron_monitor_sample (struct neuron_monitor *monitor, enum neuron_kind kind, struct table *table);
/* Waits until something of that kind was told, at most until `deadline_ns`. False: nothing was. */
bool neuron_monitor_wait (struct neuron_monitor *monitor, enum neuron_kind kind, int64_t deadline_ns);

#endif
