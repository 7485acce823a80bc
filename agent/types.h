/* The types of sections that users name in agent.ini, a line for each; NULL-terminated. */
#ifndef SYNOP_AGENT_TYPES_H
#define SYNOP_AGENT_TYPES_H

#include "synop/config.h"

extern const struct config_type *const agent_types[];

#endif
