/* What a refusal says. */
#include "aggregator/reach/reach_message.h"

#include <string.h>

#include <jansson.h>

#include "synop/memory.h"

char *
reach_message (const char *body)
{
  json_t *parsed = json_loads (body, 0, NULL);
  const char *message = json_string_value (json_object_get (json_object_get (parsed, "error"), "message"));
  char *copy = message ? memory_string (message) : memory_copy (body, strcspn (body, "\n"));

  json_decref (parsed);
  return copy;
}
