/* neuron-monitor's reports as tables: read from its JSON, kept for the samplers.
 *
 * neuron-monitor reports what was counted in each of its periods. That is added up here, so that a line of ours shows all
 * that was counted since the line before, whatever the periods are. Each group of each runtime is a part. It is fresh while
 * reports have it, and no longer shown when it was in none for some of its periods. */
#ifndef SYNOP_AGENT_NEURON_REPORT_H
#define SYNOP_AGENT_NEURON_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "agent/neuron/neuron_parts.h"
#include "synop/error.h"
#include "synop/metric.h"
#include "synop/table.h"

enum neuron_kind {
  NEURON_RUNTIMES,
  NEURON_CORES,
  NEURON_EXECUTIONS,
  NEURON_MEMORY,
  NEURON_CORE_MEMORY,
  NEURON_MODELS,
  NEURON_VCPU,
  NEURON_DEVICES,
  NEURON_HARDWARE, /* one row, "": the facts common to all devices; the group's rows are the devices */
  NEURON_INSTANCE, /* not one of our groups: for instance_info */
  NEURON_KINDS
};

/* The groups. A metric's `source` is its place in the JSON of its row: "error_summary/generic"; several places, for both
 * generations, are separated by blanks; one that begins with '/' lies in the group around the rows. */
extern const struct group neuron_groups[NEURON_KINDS];

#define NEURON_COLUMN_NONE SIZE_MAX
size_t neuron_column (enum neuron_kind kind, const char *metric); /* NEURON_COLUMN_NONE */

struct neuron_reports { /* `{0}` is an empty one */
  struct neuron_parts of[NEURON_KINDS];
  int64_t reported_ns; /* the last report; 0: none */
  int64_t patience_ns; /* time without a report after which something is wrong; 0: not known */
};

void neuron_reports_free (struct neuron_reports *reports);

struct json_t;
/* Parses one line; NULL and error: it is no JSON object. For json_decref. */
struct json_t *neuron_report_parse (const char *line, size_t length, struct error *error);
/* -1 and error: it is no report of neuron-monitor. */
int neuron_reports_take (struct neuron_reports *reports, const struct json_t *report, int64_t now_ns,
                         struct error *error);

/* Adds the rows that are fresh to a table of that kind's group. */
void neuron_reports_fill (const struct neuron_reports *reports, enum neuron_kind kind, int64_t now_ns,
                          struct table *table);

#endif
