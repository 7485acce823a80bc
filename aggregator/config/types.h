/* The types of sections that users name in aggregator.ini, a line for each; NULL-terminated. */
#ifndef SYNOP_AGGREGATOR_TYPES_H
#define SYNOP_AGGREGATOR_TYPES_H

#include "synop/config.h"

extern const struct config_type *const aggregator_types[];

#endif
