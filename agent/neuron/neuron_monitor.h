/* neuron-monitor, kept running by a thread that reads its reports; samplers take their values from there. */
#ifndef SYNOP_AGENT_NEURON_MONITOR_H
#define SYNOP_AGENT_NEURON_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/neuron/neuron_report.h"
#include "synop/table.h"

struct neuron_monitor_options { /* copied */
  const char *command;          /* see neuron_child.h */
  const char *configuration;    /* the content of its file; NULL: none */
  int64_t period_ns;            /* the expected period of reports until a report has given it */
};

struct neuron_monitor;

struct neuron_monitor *neuron_monitor_create (const struct neuron_monitor_options *options);
/* Ends the process and the thread, within a second; the values stay. */
void neuron_monitor_stop (struct neuron_monitor *monitor);
void neuron_monitor_destroy (struct neuron_monitor *monitor); /* NULL is fine */

/* Fills the table with fresh values. -1 and table->error: there was no report for too long. Waits for nothing. */
int neuron_monitor_sample (struct neuron_monitor *monitor, enum neuron_kind kind, struct table *table);
/* Waits for a report with that kind, at most until `deadline_ns`. False: there was none. */
bool neuron_monitor_wait (struct neuron_monitor *monitor, enum neuron_kind kind, int64_t deadline_ns);

#endif
