#include "aggregator/config/types.h"

#include <stddef.h>

#include "aggregator/send/send_options.h"

const struct config_type *const aggregator_types[] = { &send_config_type, NULL };
