/* [group network], which holds for other groups of interfaces too. */
#ifndef SYNOP_AGENT_NETWORK_OPTIONS_H
#define SYNOP_AGENT_NETWORK_OPTIONS_H

#include "agent/sampling/sampler.h"

struct network_options {
  char *exclude; /* globs of interfaces to leave out */
};

extern const struct own_options network_own_options;

#endif
