/* A group of ours as a group of neuron-monitor's, in either generation. */
#ifndef SYNOP_AGENT_NEURON_GROUPS_H
#define SYNOP_AGENT_NEURON_GROUPS_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/compat/neuron_config.h"

/* Puts its values into `to`; whether there was any. `groups`: ours, by their names. */
bool neuron_group_put (enum neuron_type type, bool older, const json_t *groups, json_t *to);

json_t *number_or_zero (const json_t *number); /* a reference of its own; 0 for what is none */

/* libjansson's json_object and json_array: these names are synop/json.h's in our programs. */
static inline json_t *
neuron_object (void)
{
  return json_pack ("{}");
}

static inline json_t *
neuron_list (void)
{
  return json_pack ("[]");
}

#endif
