/* Which files of the Neuron driver's sysfs give which values; see neuron_sysfs.c for where they lie. */
#ifndef SYNOP_AGENT_NEURON_FILES_H
#define SYNOP_AGENT_NEURON_FILES_H

#include "agent/neuron/neuron_report.h"

enum neuron_place { OF_DEVICE, OF_CORE };
enum neuron_meaning {
  TOTAL,
  RATE,
  SHARE,
  POWER_MEAN,
  POWER_MOST
}; /* RATE: change a second; SHARE: of microseconds, in percent */

struct neuron_file { /* values of one metric are added up */
  const char *metric;
  const char *path; /* in the place's folder */
  enum neuron_place place;
  enum neuron_meaning meaning;
};

/* Of each kind: which row a value goes to, and the files, up to one without a metric; NULL: none. */
enum neuron_rows_of { NO_ROWS, ROW_OF_ALL, ROW_OF_CORE, ROW_OF_DEVICE };
struct neuron_plan {
  enum neuron_rows_of rows;
  const struct neuron_file *sources;
};
extern const struct neuron_plan neuron_plans[NEURON_KINDS];

#endif
