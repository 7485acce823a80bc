/* See levels.h. */
#include "aggregator/query/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "synop/memory.h"

struct levels
levels_of (const char *unit, double min, double max)
{
  if (strcmp (unit, "percent") == 0)
    return (struct levels){ 0, 100 };
  return isnan (max) ? (struct levels){ 0, 0 } : (struct levels){ fmin (0, min), max };
}

uint8_t
level_of (const struct levels *levels, double value)
{
  double part = levels->high > levels->low ? (value - levels->low) / (levels->high - levels->low) : 0;

  return isnan (value) ? LEVEL_MISSING : (uint8_t) lround (fmin (1, fmax (0, part)) * LEVEL_MAX);
}

void
levels_write_ends (struct json *json, const struct levels *levels)
{
  json_real (json_key (json, "low"), levels->low);
  json_real (json_key (json, "high"), levels->high);
}

void
levels_write (struct json *json, const uint8_t *bytes, size_t count)
{
  size_t size = sodium_base64_encoded_len (count, sodium_base64_VARIANT_ORIGINAL);
  char *text = memory_new (size, 1);

  sodium_bin2base64 (text, size, bytes, count, sodium_base64_VARIANT_ORIGINAL);
  json_text (json, text);
  free (text);
}
