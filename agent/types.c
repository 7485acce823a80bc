#include "agent/types.h"

#include <stddef.h>

const struct config_type *const agent_types[] = { NULL };
