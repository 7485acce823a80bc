/* The options that samplers and services have of their own become options of the agent: each in the place that the lists of
 * groups.h give it. */
#ifndef SYNOP_AGENT_OWN_OPTIONS_H
#define SYNOP_AGENT_OWN_OPTIONS_H

#include "agent/options.h"

/* The bytes of all their values; adds how many rows they have. */
size_t own_options_size (size_t *rows);
/* Adds their rows to the table, which has room for them, and lists them in `own`. */
void own_options_add (struct agent_options *options);

#endif
