/* Values as bytes, for pictures of many nodes: 0 for the lowest to LEVEL_MAX for the highest, linear; LEVEL_MISSING for none. */
#ifndef SYNOP_AGGREGATOR_LEVELS_H
#define SYNOP_AGGREGATOR_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "synop/json.h"

#define LEVEL_MAX 250
#define LEVEL_MISSING 255

struct levels {
  double low, high;
};

/* Of values with that unit from `min` to `max` (NaN: there are none): 0 to 100 percent, else from 0, or `min` if that is below,
 * to `max`. */
struct levels levels_of (const char *unit, double min, double max);
uint8_t level_of (const struct levels *levels, double value);
void levels_write_ends (struct json *json, const struct levels *levels);   /* "low", "high" */
void levels_write (struct json *json, const uint8_t *bytes, size_t count); /* base64 */

#endif
