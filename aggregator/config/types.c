#include "aggregator/config/types.h"

#include <stddef.h>

const struct config_type *const aggregator_types[] = { NULL };
