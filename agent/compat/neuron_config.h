/* The configuration of neuron-monitor: JSON, in both of its generations, which the names of the groups tell apart.
 *
 *    { "period": "1s",
 *      "neuron_runtimes": [{ "tag_filter": ".*", "period": "1s", "metrics": [{ "type": "memory_used", "period": "2s" }] }],
 *      "system_metrics": [{ "type": "vcpu_usage" }] }
 *
 * A period of a group goes before that of its runtime, which goes before that of the root. Without any it is 5 s; in the
 * older generation that is an error. What it has beside these is reported and left out. */
#ifndef SYNOP_AGENT_NEURON_CONFIG_H
#define SYNOP_AGENT_NEURON_CONFIG_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"

enum neuron_type {
  TYPE_CORES,
  TYPE_EXECUTIONS,
  TYPE_MEMORY,
  TYPE_RUNTIME_VCPU,
  TYPE_HARDWARE,
  TYPE_VCPU,
  TYPE_SYSTEM_MEMORY,
  NEURON_TYPES
};

/* Its name in the generation; NULL: it is not there. */
const char *neuron_type_name (enum neuron_type type, bool older);

/* Whether the group lies in "neuron_runtimes", not in "system_metrics". */
bool neuron_type_is_of_runtimes (enum neuron_type type, bool older);

/* The agent's groups that it is made of, ended by NULL; the first has its period and its error. */
const char *const *neuron_type_groups (enum neuron_type type);

/* An item of "neuron_runtimes". */
struct neuron_filter {
  regex_t tag;
  bool has_tag; /* else it takes all */
  bool types[NEURON_TYPES];
};

struct neuron_config {
  bool older;
  int64_t periods_ns[NEURON_TYPES]; /* 0: not asked for; the shortest, where runtimes differ */
  struct neuron_filter *filters;
  size_t filter_count;
};

/* `path` NULL: all groups each 5 s. Frees nothing on error but what it made. */
int neuron_config_read (struct neuron_config *config, const char *path, struct error *error);
int neuron_config_parse (struct neuron_config *config, const char *text, size_t length, struct error *error);
void neuron_config_free (struct neuron_config *config);

#endif
